"""Entries that are watched: mean and sd over every sweep, as if all of them had been kept."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from tests.posterior.examples import equal, low_rank
from tests.reference.watched_slow import every_sweep, moments

from maxentry import Observations, Posterior, Sampling, complete
from maxentry.errors import LabelError, ParameterError
from maxentry.posterior import chains, streaming
from maxentry.posterior.streaming import Watched

X, Y = low_rank((12, 9), rank=1, noise=0.2, missing=0.3, seed=2)
ROWS, COLS = np.array([0, 3, 3, 11]), np.array([8, 0, 5, 2])
PLAN = Sampling("long", chains=3, anneal=10, settle=10, draws=3, thin=7)


def watched(data=Y, rows=ROWS, cols=COLS, plan=PLAN, **options):
    return complete(data, 1, sampling=plan, seed=4, watch=(rows, cols), progress=False, **options)


@pytest.mark.parametrize(
    ("data", "options"),
    [(Y, {}), (np.exp(Y), {"transform": "log"}), (Y, {"noise": "student"}), (1e6 + Y, {})],
    ids=["plain", "log", "student", "far from zero"],
)
@pytest.mark.parametrize("shown_together", [1, 4_000_000])
def test_moments_are_those_of_all_sweeps(data, options, shown_together, monkeypatch) -> None:
    monkeypatch.setattr(chains, "OBSERVED_NUMBERS", shown_together)
    found = watched(data, **options).watched
    mean, sd = moments(every_sweep(data, 1, PLAN, 4, **options), ROWS, COLS)
    assert found.n == 3 * 3 * 7
    np.testing.assert_allclose(found.mean, mean, rtol=1e-10)
    np.testing.assert_allclose(found.sd, sd, rtol=1e-7)
    # The control: the draws kept alone say something else.
    few, _ = moments(watched(data, **options), ROWS, COLS)
    assert abs(few - mean).max() > 1e-3 * sd.max()


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_many_entries_are_those_of_the_whole_matrix(dtype, monkeypatch) -> None:
    one_by_one = watched(dtype=dtype).watched
    monkeypatch.setattr(streaming, "DENSE", 1_000)
    found = watched(dtype=dtype).watched
    for part in ("mean", "sd"):
        np.testing.assert_allclose(getattr(found, part), getattr(one_by_one, part), rtol=1e-9)
    monkeypatch.setattr(Watched, "_places", property(lambda self: self.cols))  # the control: other entries
    assert abs(watched(dtype=dtype).watched.mean - found.mean).max() > 0.1


def test_watching_changes_no_draw() -> None:
    plain = complete(Y, 1, sampling=PLAN, seed=4, progress=False)
    assert plain.watched is None
    assert equal(plain, watched())
    assert equal(plain, watched(threads=1))


def test_going_on_goes_on_watching_and_a_file_keeps_it(tmp_path) -> None:
    first = watched()
    before = first.watched.mean.copy()
    longer = first.more(2)
    at_once = watched(plan=Sampling("long", chains=3, anneal=10, settle=10, draws=5, thin=7))
    np.testing.assert_allclose(longer.watched.mean, at_once.watched.mean, rtol=1e-12)
    np.testing.assert_allclose(longer.watched.sd, at_once.watched.sd, rtol=1e-9)
    np.testing.assert_array_equal(first.watched.mean, before)
    longer.save(tmp_path / "fit.npz")
    again = Posterior.load(tmp_path / "fit.npz").watched
    np.testing.assert_array_equal(again.mean, longer.watched.mean)
    np.testing.assert_array_equal(again.sd, longer.watched.sd)


def test_entries_are_named_by_label_and_come_back_in_a_frame() -> None:
    frame = pd.DataFrame(Y, [f"r{i}" for i in range(12)], [f"c{j}" for j in range(9)])
    found = watched(frame, "r3", ["c0", "c5"]).watched.to_frame()
    assert found["row"].tolist() == ["r3", "r3"]
    assert found["col"].tolist() == ["c0", "c5"]
    expected = watched(Y, [3, 3], [0, 5]).watched
    np.testing.assert_allclose(found["mean"], expected.mean)
    np.testing.assert_allclose(found["sd"], expected.sd)
    assert (found["mcse"] > 0).all()


def test_chains_left_out_are_left_out_here_too(monkeypatch) -> None:
    monkeypatch.setattr("maxentry.posterior.diagnostics.STUCK_RATIO", 1.0)
    monkeypatch.setattr("maxentry.posterior.diagnostics.STUCK_NATS", 0.0)
    found = watched(plan=Sampling(chains=3, anneal=10, settle=10, draws=3, thin=7))
    assert len(found.watched.count) == len(found.chains) < 3


def test_what_cannot_be_watched_is_refused() -> None:
    with pytest.raises(ParameterError, match="a pair"):
        complete(Y, 1, watch=[0, 1, 2], sampling=PLAN)
    with pytest.raises(ParameterError, match="same length"):
        watched(rows=[0, 1], cols=[0, 1, 2])
    with pytest.raises(LabelError):
        watched(rows=[99], cols=[0])


def test_the_error_of_a_mean_is_never_below_that_of_independent_states() -> None:
    """Two chains may end with the same mean by chance."""
    two = Watched.from_labels(Observations((2, 2), [0], [0], [1.0]), ([0], [0])).for_chains(2)
    two.count[:], two.squares[:], two.chain_mean[:] = 8, 7.5, 0.25
    assert two.sd == pytest.approx([1.0])
    assert two.mcse == pytest.approx([1 / 4])
    one = two.select_chains([0])
    assert np.isnan(one.mcse).all()
    one.count[:], one.squares[:] = 1, 0.0
    assert np.isnan(replace(one).sd).all()
    assert "1 entries over 1 states" in repr(one)
