"""The policy on whole campaigns: cold, tiny, full, all pending, over; and the paper's Algorithm 1 as a special case."""

import datetime as dt
import re
import shutil
from pathlib import Path

import numpy as np
import pytest
from tests.campaign.examples import answer, ask, begun, places, truth, until_over
from tests.reference.entropy_slow import lemma2_score

from maxentry import Sampling, complete
from maxentry.acquisition import greedy, total_variance
from maxentry.belief import Entries
from maxentry.campaign import fits, policy
from maxentry.campaign.campaign import Campaign
from maxentry.design import balanced, uniform
from maxentry.errors import NothingToAskError

NOW = dt.datetime(2026, 1, 1, tzinfo=dt.UTC)


def last_why(campaign: Campaign) -> str:
    return campaign.history(frame="columns")["what"][-1]


def test_a_cold_campaign_is_given_a_balanced_design_piece_by_piece() -> None:
    campaign = begun()
    taken = [*places(ask(campaign, 5)), *places(ask(campaign, 7))]
    assert len(set(taken)) == 12
    assert np.array_equal(np.bincount([i for i, _ in taken]), np.ones(12))
    columns = np.bincount([j for _, j in taken], minlength=9)
    assert columns.max() - columns.min() <= 1
    assert "initial design" in last_why(campaign)


@pytest.mark.parametrize(
    ("settings", "rows"),
    [
        ({}, [0] * 6 + [1] * 8 + [2] * 6),
        ({"effects": False}, [1] * 20),  # the paper's design
        ({"n_initial": 22}, [0] * 4 + [1] * 10 + [2] * 6),
        ({"n_initial": 30}, [1] * 10 + [2] * 10),
        ({"n_initial": 10}, [0] * 13 + [1] * 4 + [2] * 3),
    ],
)
def test_the_initial_design_measures_three_tenths_of_the_rows_and_columns_twice(
    settings: dict, rows: list
) -> None:
    campaign, taken = begun((20, 20), **settings), []
    while len(taken) < sum(rows):
        taken += places(ask(campaign, min(7, sum(rows) - len(taken))))
    assert len(set(taken)) == sum(rows)
    for axis in (0, 1):
        assert sorted(np.bincount([entry[axis] for entry in taken], minlength=20)) == rows


def test_imported_values_that_double_rows_serve_as_well() -> None:
    lines = np.repeat(np.arange(6), 2)
    known = {"row": lines.tolist(), "col": np.roll(lines, 1).tolist(), "value": [1.0] * 12}
    taken = places(ask(begun((20, 20), values=known), 8))
    counts = np.bincount([i for i, _ in taken], minlength=20)
    assert counts.max() <= 2
    assert (counts[6:] == 2).sum() <= 2  # of six; some of those known would have been among them


@pytest.mark.parametrize(("level", "noise"), [(1.0, 0.3), (0.3, 1.0)])
def test_a_doubled_start_learns_levels_as_well_as_random_entries(level: float, noise: float) -> None:
    """And where noise is large, better than one entry a row, which cannot tell the two apart."""
    errors = np.empty((4, 3))
    for seed in range(4):
        rng = np.random.default_rng(seed)
        X = level * rng.normal(size=(60, 1)) * np.ones(24)
        M = X + noise * rng.normal(size=X.shape)
        asked = places(ask(begun(M.shape, seed=seed), 60))
        designs = np.array(asked).T, *(make(M.shape, 60, seed=seed) for make in (uniform, balanced))
        for k, (i, j) in enumerate(designs):
            sampling = Sampling(chains=8, draws=4)
            mean = complete((i, j, M[i, j]), 0, shape=M.shape, sampling=sampling, seed=1, progress=False).mean
            errors[seed, k] = np.sqrt(np.mean((mean - X) ** 2))
    doubled, at_random, level_or_noise = errors.mean(0)
    assert doubled < 1.02 * at_random
    assert doubled < 0.75 if level > noise else doubled < 0.7 * level_or_noise  # the mean alone: 1.0, 0.3


def test_nothing_is_believed_before_anything_is_told() -> None:
    asked = ask(begun(), 3)
    assert np.isnan(asked["mean"]).all()
    assert np.isnan(asked["gain"]).all()


def test_the_posterior_chooses_once_half_of_the_initial_design_is_told() -> None:
    X, campaign = truth(), begun()
    first = ask(campaign, 12)
    campaign.tell(first["id"][:5], X[first["row"][:5], first["col"][:5]])
    ask(campaign, 1)
    assert last_why(campaign).endswith("balanced, 5 of 12 of the initial design told yet")
    campaign.tell(first["id"][5:6], X[first["row"][5:6], first["col"][5:6]])
    asked = ask(campaign, 4)
    assert last_why(campaign).endswith(": predictive_variance")
    assert np.isfinite([asked[name] for name in ("mean", "sd", "gain")]).all()
    assert asked["gain"] == sorted(asked["gain"], reverse=True)  # scores only fall, no costs


@pytest.mark.parametrize("acquisition", ["predictive_variance", "maxent", "integrated_variance"])
def test_a_batch_says_that_it_was_chosen_from_a_sample(acquisition: str, monkeypatch) -> None:
    X, batches = truth(), []
    for module in (greedy, total_variance):
        monkeypatch.setattr(module, "MOST_WORK", -1)
    monkeypatch.setattr(greedy, "MOST_SAMPLED", 40)
    for seed in (1, 1, 2):
        campaign = begun(seed=seed, acquisition=acquisition, rank=1)
        answer(campaign, ask(campaign, 12), X)
        batches.append(places(ask(campaign, 5)))
        said = (
            rf": {acquisition}, best of \d\d sampled candidates \(at most [0-9]+% of all entries gain more\)$"
        )
        assert re.search(said, last_why(campaign))
    assert batches[0] == batches[1] != batches[2]


@pytest.mark.parametrize("acquisition", ["uniform", "balanced"])
def test_choices_without_a_posterior_need_no_design_and_fit_nothing(acquisition: str, monkeypatch) -> None:
    monkeypatch.setattr(fits, "fit_posterior", lambda *_, **__: pytest.fail("a posterior was fitted"))
    X, campaign = truth(), begun(acquisition=acquisition)
    for _ in range(3):
        asked = ask(campaign, 5)
        assert last_why(campaign).endswith(f": {acquisition}")
        answer(campaign, asked, X)
    assert campaign.status().told == 15


@pytest.mark.parametrize("rank", ["auto", 1])
def test_a_tiny_matrix_is_measured_to_its_end(rank: object) -> None:
    X, campaign = truth((5, 4), 1), begun((5, 4), rank=rank)
    seen: list[tuple[int, int]] = []
    for _ in range(7):
        asked = ask(campaign, 3)
        seen += places(asked)
        answer(campaign, asked, X)
    assert len(set(seen)) == len(seen) == 20
    with pytest.raises(NothingToAskError, match=r"every entry has been told \(20\). The setting `again`"):
        ask(campaign, 1)


def test_a_full_campaign_goes_on_where_replicates_are_allowed() -> None:
    X, campaign = truth((5, 4), 1), begun((5, 4), rank=1, again=True)
    asked = ask(campaign, 20)
    answer(campaign, asked, X)
    more = ask(campaign, 6)
    assert len(more["id"]) == 6


def test_with_everything_pending_the_sentence_says_so() -> None:
    campaign = begun((5, 4), rank=1)
    assert len(ask(campaign, 100)["id"]) == 20
    with pytest.raises(NothingToAskError, match=r"all are told or pending \(20 pending\). Tell those first"):
        ask(campaign, 1)


def test_pending_entries_count_as_measured() -> None:
    X, campaign = truth(), begun()
    answer(campaign, ask(campaign, 12), X)
    first, second = ask(campaign, 4), ask(campaign, 4)
    assert not set(places(first)) & set(places(second))
    at_once = policy.next_batch(_earlier(campaign, 2), 8, NOW)
    # the subspaces do not hang on values not told yet, so two asks are one: same posterior, greedy goes on
    assert [*places(first), *places(second)] == [
        (int(i), int(j)) for i, j in zip(at_once.rows, at_once.cols, strict=True)
    ]


def _earlier(campaign: Campaign, less: int):
    """The state before the last events."""
    from maxentry.campaign.state import replay

    return replay(campaign.records()[:-less])


def test_the_policy_is_a_function_of_the_state() -> None:
    X, campaign = truth(), begun()
    answer(campaign, ask(campaign, 14), X)
    state = campaign.state
    one, two = (policy.next_batch(state, 5, NOW) for _ in range(2))
    for a, b in zip(one, two, strict=True):
        assert np.array_equal(a, b)
    other = policy.next_batch(begun(seed=4).state, 5, NOW)
    assert not np.array_equal(policy.next_batch(begun().state, 5, NOW).rows, other.rows)


def test_a_reopened_campaign_asks_the_same_on_another_machine(tmp_path: Path) -> None:
    X, file = truth(), tmp_path / "lab.db"
    campaign = begun(storage=str(file), cache=tmp_path / "here")
    for n in (12, 3, 4):
        answer(campaign, ask(campaign, n), X)
    campaign.close()
    copy = tmp_path / "copy.db"
    shutil.copy(file, copy)
    here = ask(Campaign.open(str(file), cache=tmp_path / "here"), 5)  # with what was cached
    there = ask(Campaign.open(str(copy), cache=tmp_path / "there"), 5)  # from nothing
    assert here == there
    told = set(zip(*campaign.state.told, strict=True))
    assert not set(places(here)) & told


def test_plates_are_whole_and_paid_whole() -> None:
    X = truth()
    campaign = begun(budget=20)
    answer(campaign, ask(campaign, 12), X)
    with pytest.raises(NothingToAskError, match="left of the budget, 8, does not pay for whole cols"):
        ask(campaign, 1, plates="cols")  # ten or eleven entries of a column are left
    asked = ask(campaign, 1, plates="rows")  # eight of a row
    assert len(asked["id"]) == 8
    assert len(set(asked["row"])) == 1


def test_a_plate_that_can_be_paid_is_found_among_those_that_cannot() -> None:
    X = truth()
    campaign = begun(budget=23)
    campaign.tell(row=[0] * 7, col=list(range(7)), value=X[0, :7])  # two entries of row 0 are left
    answer(campaign, ask(campaign, 17), X)
    left = 9 - campaign.state.row_counts
    asked = ask(campaign, 1, plates="rows")
    (row,) = set(asked["row"])
    assert len(asked["id"]) == left[row] <= 6
    assert left.max() > 6


def test_a_plate_does_not_leave_out_what_is_dear() -> None:
    X, costs = truth(), np.ones((12, 9))
    costs[:, 0] = 30.0  # no row can be paid whole
    campaign = begun(budget=20, costs=costs, n_initial=4)
    campaign.tell(row=list(range(8)), col=[1] * 8, value=X[:8, 1])
    with pytest.raises(NothingToAskError, match="does not pay for whole rows"):
        ask(campaign, 1, plates="rows")


def test_a_budget_is_never_overdrawn_and_its_end_is_said() -> None:
    campaign = begun(budget=17.5, costs={"row": np.linspace(1, 2, 12)}, n_initial=4)
    assert "the budget is spent" in until_over(campaign, 4, truth())
    assert 16.5 < campaign.status().spent <= 17.5


def test_a_target_ends_a_campaign_when_the_error_is_small_enough() -> None:
    campaign = begun((8, 6), rank=1, target_sd=0.05)
    why = until_over(campaign, 4, truth((8, 6), 1))
    assert why.startswith("the target is reached: the expected error is ")
    assert why.endswith("and 0.05 was asked for.")
    posterior = campaign.posterior(progress=False)
    assert np.sqrt(np.mean(posterior.sd**2)) <= 0.05
    assert campaign.status().told < 48
    campaign.set(target_sd=1e-9)
    assert len(ask(campaign, 1)["id"]) == 1


@pytest.mark.parametrize("acquisition", ["uniform", "balanced"])
def test_a_target_ends_campaigns_that_choose_without_a_posterior(acquisition: str) -> None:
    campaign = begun((8, 6), rank=1, target_sd=0.05, acquisition=acquisition)
    assert until_over(campaign, 8, truth((8, 6), 1)).startswith("the target is reached")
    assert campaign.status().told < 48


def test_an_initial_design_ends_where_the_mask_leaves_fewer_entries() -> None:
    mask = np.zeros((12, 9), dtype=bool)
    mask[:3, :3] = True
    campaign = begun(mask=mask, again=True, rank=1)
    for _ in range(3):
        answer(campaign, ask(campaign, 4), truth())
    ask(campaign, 2)
    assert "design" not in last_why(campaign)


def test_an_initial_design_has_no_replicates_while_there_is_something_new() -> None:
    campaign = begun((10, 4), again=True, n_initial=40)
    asked = [*places(ask(campaign, 15)), *places(ask(campaign, 15)), *places(ask(campaign, 10))]
    assert len(set(asked)) == 40
    assert len(ask(campaign, 3)["id"]) == 3  # all are pending, so replicates it is


def test_with_the_papers_settings_it_is_algorithm_1() -> None:
    """One entry at a time by Lemma 2 as printed, with posterior-mean projections, worked out here the slow way."""
    X = truth((10, 8))
    campaign = begun((10, 8), effects=False, priors="paper", acquisition="maxent")
    first = ask(campaign, 10)
    assert len(set(first["row"])) == 10  # the initial design has max(m1, m2) entries, one in each row
    answer(campaign, first, X)
    posterior = campaign.posterior(progress=False)
    asked = ask(campaign, 1)
    left, right = (
        [_frame(side[s], 2) for s in range(len(side))]
        for side in (posterior.belief.left, posterior.belief.right)
    )
    P_U, P_V = (np.mean([Q @ Q.T for Q in frames], axis=0) for frames in (left, right))
    F, G = (_root(P) for P in (P_U, P_V))
    sigma2 = np.mean([np.sum(posterior.belief.draw(s) ** 2) for s in range(posterior.belief.n_draws)]) / 4
    gamma2 = posterior.belief.noise_var.mean() / sigma2
    i, j = np.divmod(np.arange(80), 8)
    scores = lemma2_score(F, G, np.array(first["row"]), np.array(first["col"]), gamma2, i, j)
    scores[np.isin(i * 8 + j, np.array(first["row"]) * 8 + np.array(first["col"]))] = -np.inf
    assert (asked["row"][0], asked["col"][0]) == divmod(int(np.argmax(scores)), 8)


def _frame(A: np.ndarray, rank: int) -> np.ndarray:
    return np.linalg.svd(A, full_matrices=False)[0][:, :rank]


def _root(P: np.ndarray) -> np.ndarray:
    w, Q = np.linalg.eigh(P)
    return Q * np.sqrt(np.maximum(w, 0))


def test_measurements_nobody_asked_for_take_the_place_of_the_design() -> None:
    X, campaign = truth(), begun()
    entries: Entries = balanced((12, 9), 14, seed=1)
    campaign.tell(row=entries.rows.tolist(), col=entries.cols.tolist(), value=X[entries.rows, entries.cols])
    ask(campaign, 2)
    assert "initial design" not in last_why(campaign)
