"""Oboe's rule against pivoted QR and determinants by brute force, and its estimate where it must be exact."""

import numpy as np
import pytest
from scipy.linalg import qr
from tests.evidence.strategies.campaigns import NOW, told, truth

from evidence.strategies.oboe import (
    OBOE,
    OBOE_OWN,
    Embedding,
    choose_greedily,
    embed,
    least_squares,
    next_column,
)
from maxentry.acquisition import Costs, Problem
from maxentry.belief import Entries
from maxentry.compare.scenario import Case, Given
from maxentry.errors import DataError, ParameterError

K, M2 = 3, 9
RNG = np.random.default_rng(0)
LATENT = RNG.normal(size=(12, K)) @ RNG.normal(size=(K, M2))
KNOWN = np.arange(12) < 8
EMBEDDING = embed(np.where(KNOWN[:, None], LATENT, np.nan), KNOWN, K)
ALL = np.ones(M2, dtype=bool)


def columns(n, cost=None, t_max=np.inf, Y=EMBEDDING.Y):
    """The first n columns of a row."""
    cost, taken = np.ones(M2) if cost is None else cost, np.empty(0, dtype=np.int64)
    for _ in range(n):
        j = next_column(Y, taken, ALL, cost, t_max, float(cost[taken].sum()))
        if j < 0:
            break
        taken = np.append(taken, j)
    return taken.tolist()


def gain(taken, j, cost):
    """(det of the information with j) / (det without) - 1, per cost: slow and obvious."""
    Y = EMBEDDING.Y
    with_j = [*taken, j]
    dets = [np.linalg.det(Y[:, cols] @ Y[:, cols].T) for cols in (with_j, taken)]
    return (dets[0] / dets[1] - 1) / cost[j]


def test_embeddings_are_the_leading_right_singular_vectors_uncentred():
    _, _, Vt = np.linalg.svd(LATENT[KNOWN])
    np.testing.assert_allclose(EMBEDDING.Y.T @ EMBEDDING.Y, Vt[:K].T @ Vt[:K], atol=1e-10)
    assert EMBEDDING.new.tolist() == [8, 9, 10, 11]


def test_the_rank_counts_singular_values_from_a_twentieth_of_the_largest():
    rows = np.vstack([np.diag([1.0, 0.06, 0.04]), np.full(3, np.nan)])
    assert len(embed(rows, np.array([True] * 3 + [False]), None).Y) == 2
    assert len(embed(rows, np.array([True] * 3 + [False]), 3).Y) == 3


def test_the_first_columns_are_the_pivots_of_qr():
    assert columns(K) == qr(EMBEDDING.Y, pivoting=True)[2][:K].tolist()


def test_with_a_limit_the_pivots_are_of_the_cheap_columns():
    cost, t_max = np.ones(M2), 60.0
    dear = qr(EMBEDDING.Y, pivoting=True)[2][0]
    cost[dear] = 11.0  # above t_max / (2 k) = 10
    cheap = np.flatnonzero(cost <= 10.0)
    assert columns(K, cost, t_max) == cheap[qr(EMBEDDING.Y[:, cheap], pivoting=True)[2][:K]].tolist()
    assert dear not in columns(K, cost, t_max)


@pytest.mark.parametrize("seed", range(4))
def test_then_each_column_raises_the_determinant_most_per_cost(seed):
    cost = np.random.default_rng(seed).uniform(0.5, 3.0, M2)
    found = columns(M2, cost)
    for n in range(K, M2):
        taken, rest = found[:n], [j for j in range(M2) if j not in found[:n]]
        assert found[n] == max(rest, key=lambda j: gain(taken, j, cost))
    assert found != columns(M2)  # costs do change it


def test_with_too_few_cheap_columns_it_takes_the_cheapest_while_the_limit_pays():
    cost = np.array([9.0, 2.0, 8.0, 3.0, 7.0, 1.0, 6.0, 5.0, 4.0])
    assert columns(M2, cost, t_max=9.0) == [5, 1, 3]  # t_max / (2 k) = 1.5: one column; 1 + 2 + 3 + 4 > 9


def test_the_limit_ends_a_row():
    assert len(columns(M2, np.ones(M2), t_max=7.5)) == 7


def test_rows_take_turns_the_emptiest_first():
    problem = Problem((12, M2), observed=Entries.from_lists([8, 8, 10], [0, 1, 0]))
    found = choose_greedily(EMBEDDING, problem, 6, np.inf)
    assert found.rows.tolist() == [9, 11, 9, 10, 11, 8]
    assert choose_greedily(EMBEDDING, Problem((12, M2)), 3, np.inf).cols.tolist() == [columns(1)[0]] * 3


def test_only_available_columns_of_new_rows_are_taken():
    mask = np.ones((12, M2), dtype=bool)
    mask[9, 2:] = False
    found = choose_greedily(EMBEDDING, Problem((12, M2), mask=mask), 100, np.inf)
    assert len(found.rows) == 3 * M2 + 2
    assert found.rows.min() == 8
    assert sorted(found.cols[found.rows == 9].tolist()) == [0, 1]


def test_its_estimate_is_exact_where_the_rank_is_right_and_enough_is_measured():
    told_entries = Entries.from_lists([8] * K + [9] * (K - 1), [*columns(K), *columns(K - 1)])
    found = least_squares(EMBEDDING, told_entries, LATENT[tuple(told_entries)])
    np.testing.assert_allclose(found[0], LATENT[8], atol=1e-9)
    np.testing.assert_allclose(found[1], LATENT[KNOWN].mean(0))  # too little is measured
    np.testing.assert_allclose(found[2], LATENT[KNOWN].mean(0))
    short = embed(np.where(KNOWN[:, None], LATENT, np.nan), KNOWN, K - 1)
    assert not np.allclose(least_squares(short, told_entries, LATENT[tuple(told_entries)])[0], LATENT[8])


def test_the_policy_shares_the_budget_among_the_new_rows():
    cost = np.random.default_rng(5).uniform(0.5, 2.0, LATENT.shape)
    known = np.broadcast_to(KNOWN[:, None], LATENT.shape)
    case = Case("oboe", Given(LATENT), 0, 6, 24, model=(("rank", K),), spend=1.0)
    state = told(LATENT, Entries.from_lists(*np.nonzero(known)), costs=cost, budget=40.0)
    batch = OBOE.policy(truth(LATENT, cost=cost, told=known), case, 0)(state, 100, NOW)
    for i in range(8, 12):
        assert 10.0 - cost[i].max() < batch.cost[batch.rows == i].sum() <= 10.0
    wanted = choose_greedily(
        EMBEDDING, Problem(LATENT.shape, observed=state.told, costs=Costs(cost)), 100, 10.0
    )
    assert batch.cols.tolist() == wanted.cols.tolist()


def test_the_estimator_gives_known_rows_as_they_are_and_others_by_least_squares():
    known = np.broadcast_to(KNOWN[:, None], LATENT.shape)
    case = Case("oboe", Given(LATENT), 0, 6, 24, model=(("rank", K),))
    entries = Entries.from_lists(*np.nonzero(known)).joined(Entries.from_lists([8] * K, columns(K)))
    estimate = OBOE_OWN.estimator(truth(LATENT, told=known), case, 0)
    found = estimate(told(LATENT, entries), np.array([0, 8, 9]), np.array([4, 4, 4]), 0.9)
    np.testing.assert_allclose(found.mean, [LATENT[0, 4], LATENT[8, 4], LATENT[KNOWN, 4].mean()], atol=1e-9)
    assert found.low is None


def test_without_known_rows_or_with_gaps_in_them_it_says_so():
    case = Case("oboe", Given(LATENT), 0, 6, 24)
    with pytest.raises(ParameterError, match="known from the start"):
        OBOE.policy(truth(LATENT), case, 0)
    with pytest.raises(ParameterError, match="got none"):
        embed(LATENT, np.zeros(12, dtype=bool), None)
    gap = LATENT.copy()
    gap[0, 0] = np.nan
    with pytest.raises(DataError, match="missing entry"):
        embed(gap, KNOWN, None)


def test_a_row_measured_otherwise_goes_on_from_what_it_has():
    """Columns that are nearly those measured add nothing: the next pivot is outside their span."""
    Y = np.array([[1.0, 0.99, 0.0], [0.0, 0.0, 0.5]])
    found = choose_greedily(
        Embedding(Y, np.zeros(3), np.array([1])),
        Problem((2, 3), observed=Entries.from_lists([1], [0])),
        1,
        np.inf,
    )
    assert found.cols.tolist() == [2]
