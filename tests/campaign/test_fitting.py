"""The posterior of a campaign: a function of seed and told values, with or without its cache."""

import itertools
from pathlib import Path

import numpy as np
import pytest
from tests.campaign.examples import answer, ask, begun, truth

from maxentry.campaign import fits as caching
from maxentry.campaign import fits as fitting
from maxentry.campaign.campaign import Campaign
from maxentry.errors import DataError
from maxentry.posterior import complete as completing
from maxentry.posterior.posterior import Posterior


def told(n: int, **settings: object) -> Campaign:
    """A campaign that was told one value after the other."""
    campaign = begun(acquisition="balanced", **settings)
    asked = ask(campaign, n)
    for k in range(n):
        answer(campaign, {name: column[k : k + 1] for name, column in asked.items()}, truth())
    return campaign


def anchor(n: int) -> int:
    """The largest anchor where values are told one by one."""
    return fitting.largest_anchor(range(1, n + 1), n)


def same(one: Posterior, two: Posterior) -> bool:
    return bool(np.array_equal(one.mean, two.mean) and np.array_equal(one.sd, two.sd))


@pytest.mark.parametrize("n", [1, 7, 8, 9, 10, 11, 13, 14, 15, 50, 399])
def test_anchors_grow_by_about_a_third_and_never_pass_the_data(n: int) -> None:
    a = anchor(n)
    assert a <= n < max(1.3 * a + 1, fitting.FIRST_ANCHOR)
    assert anchor(a) == a


def test_what_is_told_at_once_is_fitted_at_once() -> None:
    assert fitting.largest_anchor([219], 219) == 219
    assert fitting.largest_anchor([219], 100) == 100  # before any tell has ended
    assert fitting.largest_anchor([219, 225], 225) == 219
    assert fitting.largest_anchor([219, 225, 230], 230) == 230
    assert fitting.largest_anchor([219, 225, 230, 300], 229) == 219
    assert fitting.largest_anchor([3, 7, 20], 20) == 20


def test_the_same_values_told_otherwise_are_other_fits_in_the_same_cache(tmp_path: Path) -> None:
    Y, found = truth(), []
    for sizes in ([30, 5], [28, 7], [30, 5]):
        campaign = begun(Y.shape)
        for start, n in zip((0, sizes[0]), sizes, strict=True):
            k = np.arange(start, start + n)
            campaign.tell(row=(k // 9).tolist(), col=(k % 9).tolist(), value=Y.ravel()[k])
        alone = fitting.fit_posterior(campaign.state)
        found.append(fitting.fit_posterior(campaign.state, tmp_path))
        assert same(alone, found[-1])
    assert same(found[0], found[2])
    assert not same(found[0], found[1])


def test_a_campaign_that_is_told_a_table_has_the_ranks_of_complete_in_any_order() -> None:
    Y = truth()
    rows, cols = (index.tolist() for index in np.nonzero(np.random.default_rng(0).random(Y.shape) < 0.6))
    found = []
    for order in (1, -1):
        campaign = begun(Y.shape, seed=order + 2, rank="auto")
        i, j = rows[::order], cols[::order]
        campaign.tell(row=i, col=j, value=[Y[a, b] for a, b in zip(i, j, strict=True)])
        found.append(campaign.posterior(progress=False).rank_weights)
    data = np.array(rows), np.array(cols), Y[rows, cols]
    fitted = completing.complete(data, shape=Y.shape, seed=9, progress=False)
    assert found == [fitted.rank_weights] * 2


@pytest.mark.parametrize("n", [2001, 2391, 2392, 2600, 3108, 50_000, 55_741])
def test_stations_are_two_per_cent_apart_and_end_just_before_the_data(n: int) -> None:
    a = anchor(n)
    path = fitting.list_stations(a, n)
    assert path[0] == a
    assert path[-1] <= n < 1.02 * path[-1] + 1 or a < fitting.FIRST_STATION
    assert all(one < two <= 1.02 * one + 1 for one, two in itertools.pairwise(path))
    assert fitting.list_stations(a, n + 1)[: len(path)] == path


def test_few_measurements_have_no_stations() -> None:
    assert fitting.list_stations(1839, 2390) == [1839]


@pytest.fixture
def stations_from_eight(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fitting, "FIRST_STATION", 8)
    monkeypatch.setattr(fitting, "STEP", 1.05)


def test_looking_on_the_way_changes_nothing_with_stations_either(
    stations_from_eight: None, tmp_path: Path
) -> None:
    assert fitting.list_stations(anchor(18), 18) == [15, 16, 17, 18]
    campaign = begun(acquisition="balanced")
    memory = caching.Memory()
    for n in (11, 5, 1, 1):
        answer(campaign, ask(campaign, n), truth())
        looked = fitting.fit_posterior(campaign.state, memory)
    without = fitting.fit_posterior(campaign.state)
    filling = fitting.fit_posterior(campaign.state, tmp_path)
    assert same(looked, without)
    assert same(looked, filling)
    for file in sorted(tmp_path.glob("*.npz"))[::2]:
        file.unlink()
    assert same(looked, fitting.fit_posterior(campaign.state, tmp_path))


def test_a_station_in_the_cache_saves_those_before(
    stations_from_eight: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[object] = []
    complete = completing.complete
    monkeypatch.setattr(completing, "complete", lambda *a, **k: made.append(k["seed"]) or complete(*a, **k))
    memory, state = caching.Memory(), told(17).state
    fitting.fit_posterior(state, memory)
    assert len(made) == 4  # the anchor of 15, stations of 16 and 17, and the posterior
    del memory._fits[next(reversed(memory._fits))]
    fitting.fit_posterior(state, memory)
    assert len(made) == 5


@pytest.mark.parametrize("folder", [False, True])
def test_the_anchor_outlives_its_stations_in_the_cache(
    stations_from_eight: None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, folder: bool
) -> None:
    """A value that is corrected after the anchor then needs no fit from nothing."""
    monkeypatch.setattr(caching, "KEPT", 3)
    monkeypatch.setattr(fitting, "KEPT", 3)
    cache = tmp_path if folder else caching.Memory()
    campaign = told(18)
    fitting.fit_posterior(campaign.state, cache)
    campaign.correct(17, 0.5)
    made: list[object] = []
    complete = completing.complete
    monkeypatch.setattr(completing, "complete", lambda *a, **k: made.append(k["start"]) or complete(*a, **k))
    fitting.fit_posterior(campaign.state, cache)
    assert made
    assert None not in made


def test_the_cache_changes_nothing_and_may_vanish_or_rot(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fitting, "GROWTH", 1.3)  # so that few measurements lie between two anchors
    state = told(14).state
    assert anchor(14) != 14
    without = fitting.fit_posterior(state)
    filling = fitting.fit_posterior(state, tmp_path / "cache")
    files = list((tmp_path / "cache").glob("*.npz"))
    assert len(files) == 2
    cached = fitting.fit_posterior(state, tmp_path / "cache")
    assert same(without, filling)
    assert same(without, cached)
    files[0].write_bytes(b"not a posterior")
    files[1].unlink()
    assert same(without, fitting.fit_posterior(state, tmp_path / "cache"))


def test_a_memory_changes_nothing_saves_the_fit_and_stays_small() -> None:
    memory = caching.Memory()
    campaign = begun(acquisition="balanced")
    for _ in range(6):
        answer(campaign, ask(campaign, 3), truth())
        made = fitting.fit_posterior(campaign.state, memory)
    assert len(memory) == caching.KEPT
    assert fitting.fit_posterior(campaign.state, memory) is made
    assert same(made, fitting.fit_posterior(campaign.state))


def test_a_memory_lets_go_of_what_was_used_longest_ago(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(caching, "KEPT", 2)
    memory, fits = caching.Memory(), [object(), object(), object()]
    memory.put("a", fits[0])  # type: ignore[arg-type]
    memory.put("b", fits[1])  # type: ignore[arg-type]
    assert memory.get("a") is fits[0]
    memory.put("c", fits[2])  # type: ignore[arg-type]
    assert memory.get("b") is None
    assert memory.get("a") is fits[0]


def test_a_cache_that_cannot_be_written_is_no_misfortune(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    assert np.isfinite(fitting.fit_posterior(told(9).state, tmp_path / "file").mean).all()


def test_the_cache_stays_small(tmp_path: Path) -> None:
    campaign = begun(acquisition="balanced")
    for _ in range(6):
        answer(campaign, ask(campaign, 2), truth())
        fitting.fit_posterior(campaign.state, tmp_path)
    assert len(list(tmp_path.glob("*.npz"))) == caching.KEPT


def test_asking_does_not_change_the_posterior_and_looking_does_not_either() -> None:
    looked, not_looked = (told(9) for _ in range(2))
    looked.posterior(progress=False)
    for campaign in (looked, not_looked):
        answer(campaign, ask(campaign, 3), truth())
    before = looked.posterior(progress=False)
    assert same(before, not_looked.posterior(progress=False))
    ask(looked, 2)
    assert same(before, looked.posterior(progress=False))


def test_another_seed_or_a_corrected_value_is_another_posterior() -> None:
    campaign = told(12)
    before = campaign.posterior(progress=False)
    assert not same(before, told(12, seed=4).posterior(progress=False))
    row, col = (int(index[0]) for index in campaign.state.told)
    campaign.correct(row=row, col=col, value=float(truth()[row, col]) + 1.0)
    assert not same(before, campaign.posterior(progress=False))


@pytest.mark.parametrize(
    "other",
    [
        {"seed": 4},
        {"rank": 1},
        {"noise": "student"},
        {"effects": False},
        {"priors": "paper"},
        {"transform": "log"},
    ],
    ids=str,
)
def test_a_fit_of_other_settings_is_not_taken_from_the_cache(other: dict[str, object]) -> None:
    memory, means = caching.Memory(), []
    for settings in ({}, other):
        campaign = begun(**settings)
        campaign.tell(row=list(range(9)), col=list(range(9)), value=np.exp(truth()[range(9), range(9)]))
        means.append(fitting.fit_posterior(campaign.state, memory).mean)
    assert not np.array_equal(*means)


def test_values_come_back_in_the_users_units() -> None:
    X = np.exp(truth())
    campaign = begun(transform="log", rank=1)
    for n in (12, 30, 30):
        answer(campaign, ask(campaign, n), X)
    asked = ask(campaign, 3)
    posterior = campaign.posterior(progress=False)
    expected = posterior.predict(asked["row"], asked["col"])
    assert np.allclose(asked["mean"], expected.mean)
    assert np.allclose(asked["sd"], expected.sd)
    assert (np.array(asked["mean"]) > 0).all()


def test_an_interrupted_fit_chooses_nothing(monkeypatch, tmp_path: Path) -> None:
    class Interrupted:
        interrupted = True

    campaign = told(14)
    monkeypatch.setattr(completing, "complete", lambda *_, **__: Interrupted())
    with pytest.raises(KeyboardInterrupt):
        fitting.fit_posterior(campaign.state, tmp_path)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("first", "extreme"),
    [(list(range(15)), 1e60), ([2.0] * 7, 1e7), ([2.0] * 8, 1e7)],
    ids=["16th value", "8th, after replicates", "9th, after replicates"],
)
def test_values_of_another_magnitude_start_the_fit_anew(first: list[float], extreme: float) -> None:
    campaign = Campaign.create("sqlite://", "x", 5, 5, seed=1, rank=1)
    if len(set(first)) == 1:
        campaign.tell(row=[0] * len(first), col=[0] * len(first), value=first)
    else:
        campaign.tell(row=[k // 5 for k in first], col=[k % 5 for k in first], value=first)
    campaign.tell(row=[4], col=[4], value=[extreme])
    assert len(campaign.ask(2, frame="columns")["id"]) == 2
    assert np.isfinite(campaign.posterior(progress=False).mean).all()


def test_a_value_that_cannot_be_fitted_is_refused_by_its_name() -> None:
    campaign = Campaign.create("sqlite://", "x", 5, 5, seed=1, rank=1)
    cells = range(15)
    campaign.tell(row=[k // 5 for k in cells], col=[k % 5 for k in cells], value=[float(k) for k in cells])
    campaign.tell(row=[4], col=[4], value=[1e160])
    with pytest.raises(DataError, match=r"1e\+160 in row 4, column 4"):
        campaign.ask(2)
