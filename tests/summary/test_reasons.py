"""Why entries are worth measuring: the figures of the dense draws, and the same ones on every page."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import numpy as np
import pytest
from tests.campaign.examples import answer, ask, begun, truth
from tests.plots.examples import mixed, small
from tests.reference.reasons_slow import coherences_slow, information_gain_slow, sd_ratio_slow

import maxentry
from maxentry.acquisition.draw_field import DrawField
from maxentry.belief import Belief
from maxentry.campaign.campaign import Campaign
from maxentry.model.entropy import coherence
from maxentry.summary.reasons import STANDS_OUT, information_gain, mean_coherences, reasons

TRANSFORMS = {
    "none": lambda x: x,
    "log": lambda x: np.exp(12 * x),  # over many orders of magnitude
    "percent": lambda x: 100 / (1 + np.exp(-4 * x)),
}


@cache
def measured(transform: str) -> Campaign:
    """A campaign of 12 x 9 in which 24 entries are told."""
    campaign, X = begun(transform=transform), TRANSFORMS[transform](truth())
    for _ in range(3):
        answer(campaign, ask(campaign, 8), X)
    return campaign


def belief(m1: int, m2: int, R: int, S: int = 60, seed: int = 1) -> Belief:
    rng = np.random.default_rng(seed)
    return Belief(
        rng.normal(size=(S, m1, R)),
        rng.normal(size=(S, m2, R)),
        rng.normal(size=(S, m1)),
        0.5 * rng.normal(size=(S, m2)),
        rng.normal(size=S),
        rng.uniform(0.1, 0.4, size=S),
    )


@pytest.mark.parametrize(("m1", "m2", "R"), [(5, 4, 2), (3, 9, 1), (12, 2, 0)])
def test_information_gain_is_that_of_the_covariance(m1: int, m2: int, R: int) -> None:
    known = belief(m1, m2, R)
    rows, cols = np.divmod(np.arange(m1 * m2), m2)
    found = np.array(information_gain(DrawField.from_belief(known), rows, cols)).T
    entries = list(zip(rows, cols, strict=True))
    expected = np.array([information_gain_slow(known, i, j) for i, j in entries])
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-12)
    other = np.array([information_gain_slow(belief(m1, m2, R, seed=2), i, j) for i, j in entries])
    assert not np.allclose(found, other, rtol=1e-3)  # the comparison can fail


@pytest.mark.parametrize("transform", TRANSFORMS)
def test_figures_are_those_of_the_dense_draws(transform: str) -> None:
    campaign = measured(transform)
    state, posterior = campaign.state, campaign.posterior()
    rows, cols = np.divmod(np.arange(0, 108, 7), 9)
    by_row, by_col = coherences_slow(posterior)
    for i, j, reason in zip(rows, cols, reasons(state, posterior, rows, cols), strict=True):
        assert reason.sd_ratio == pytest.approx(sd_ratio_slow(posterior.belief, i, j))
        assert reason.row_coherence == pytest.approx(by_row[i], rel=1e-6)
        assert reason.col_coherence == pytest.approx(by_col[j], rel=1e-6)
        gain = reason.teaches, reason.teaches_itself, reason.teaches_row, reason.teaches_col
        assert gain == pytest.approx(information_gain_slow(posterior.belief, i, j), rel=1e-6)
        assert (reason.mean_now, reason.sd_now) == pytest.approx((posterior.mean[i, j], posterior.sd[i, j]))
        assert (reason.row_told, reason.col_told) == (state.row_counts[i], state.col_counts[j])


def test_uncertainty_is_judged_on_the_scale_of_the_model() -> None:
    """In the user's units other entries would be the ten most uncertain: the figure cannot be of those."""
    campaign = measured("log")
    posterior = campaign.posterior()
    rows, cols = np.divmod(np.arange(108), 9)
    ratio = np.array([reason.sd_ratio for reason in reasons(campaign.state, posterior, rows, cols)])
    in_units = np.asarray(posterior.sd).ravel() / np.median(posterior.sd)
    assert {*np.argsort(in_units)[-10:]} != {*np.argsort(ratio)[-10:]}
    assert np.max(np.abs(np.log(in_units / ratio))) > np.log(5)


def test_without_a_posterior_there_are_only_counts() -> None:
    state = measured("none").state
    rows, cols = np.array([0, 1]), np.array([0, 8])
    for i, j, reason in zip(rows, cols, reasons(state, None, rows, cols), strict=True):
        assert reason[:2] == (state.row_counts[i], state.col_counts[j])
        assert set(reason[2:]) == {None}
    assert reasons(state, None, rows[:0], cols[:0]) == []


def test_rows_that_came_after_the_fit_have_only_counts() -> None:
    campaign, X = begun(), truth()
    answer(campaign, ask(campaign, 20), X)
    posterior = campaign.posterior()
    campaign.add_rows(["new"])
    old, new = reasons(campaign.state, posterior, np.array([3, 12]), np.array([4, 0]))
    assert old.sd_ratio is not None
    assert new == (0, campaign.state.col_counts[0], *[None] * 9)


def test_coherence_is_that_of_the_chains_with_a_low_rank_part() -> None:
    posterior = mixed((0.5, 0.0, 0.5))
    which = [c for c, chain in enumerate(posterior.chains) if chain.rank == 2]
    left = posterior.draws.left[which].reshape(-1, 12, 2)
    expected = np.mean([coherence(np.linalg.qr(A)[0]) for A in left], axis=0)
    found = mean_coherences(posterior)
    assert found is not None
    np.testing.assert_allclose(found[0], expected * 12 / 2, rtol=1e-6)
    assert mean_coherences(small(rank=0)) is None


def test_the_dashboard_has_the_same_threshold() -> None:
    script = Path(maxentry.__file__).parent / "server/static/js/reasons.js"
    assert 'stands_out: STANDS_OUT } = embedded("thresholds")' in script.read_text()
    assert pytest.importorskip("maxentry.server.routes.dashboard").THRESHOLDS["stands_out"] == STANDS_OUT
