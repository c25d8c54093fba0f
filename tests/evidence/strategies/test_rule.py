"""A rule as a policy: it is asked only for what may be measured, and the budget ends it."""

import numpy as np
import pytest
from tests.evidence.strategies.campaigns import NOW, told

from evidence.strategies.rule import as_policy, build_choice, build_problem, find_candidates
from maxentry.belief import Entries
from maxentry.campaign.campaign import Campaign
from maxentry.errors import ParameterError

Y = np.array([[1.0, 2.0, np.nan], [4.0, 5.0, 6.0]])
FIRST = Entries.from_lists([0], [1])


def all_of_them(request):
    open_entries = find_candidates(request.problem)
    return build_choice(request.problem, Entries(*(index[: request.n] for index in open_entries)))


def test_candidates_are_what_can_be_measured_and_is_not_told():
    i, j = find_candidates(build_problem(told(Y, FIRST), NOW))
    assert list(zip(i, j, strict=True)) == [(0, 0), (1, 0), (1, 1), (1, 2)]


def test_what_is_pending_is_not_offered_again():
    mask = ~np.isnan(Y)
    with Campaign.create("sqlite://", "pending", 2, 3, seed=3, mask=mask, acquisition="uniform") as campaign:
        asked = campaign.ask(2, frame="columns")
        state = campaign.state
    i, j = find_candidates(build_problem(state, state.changed_at))
    waited_for = set(zip(asked["row"], asked["col"], strict=True))
    assert len(i) == 3
    assert not waited_for & set(zip(i.tolist(), j.tolist(), strict=True))


def test_a_batch_is_what_the_rule_chose_by_name():
    batch = as_policy(all_of_them, "all")(told(Y, FIRST), 2, NOW)
    assert (batch.rows.tolist(), batch.cols.tolist(), batch.why) == ([0, 1], [0, 0], "all")
    assert np.isnan(batch.mean).all()
    assert np.isnan(batch.sd).all()


def test_the_budget_pays_for_the_first_of_them_and_then_for_nothing():
    cost = np.full(Y.shape, 2.0)
    batch = as_policy(all_of_them, "all")(told(Y, FIRST, costs=cost, budget=5.0), 4, NOW)
    assert batch.cost.tolist() == [2.0, 2.0]
    batch = as_policy(all_of_them, "all")(told(Y, FIRST, costs=cost, budget=1.0), 4, NOW)
    assert len(batch.rows) == 0
    assert "budget" in batch.why


def test_entries_that_the_budget_cannot_pay_are_not_offered():
    cost = np.array([[1.0, 1.0, 1.0], [9.0, 1.0, 1.0]])
    batch = as_policy(all_of_them, "all")(told(Y, FIRST, costs=cost, budget=5.0), 4, NOW)
    assert (1, 0) not in set(zip(batch.rows.tolist(), batch.cols.tolist(), strict=True))
    assert len(batch.rows) == 3


def test_limits_are_refused():
    with pytest.raises(ParameterError, match="no limits"):
        as_policy(all_of_them, "all")(told(Y, FIRST), 1, NOW, per_row=1)
