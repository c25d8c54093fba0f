"""Plates that are blocks of rows by columns: joint gain near the best of all blocks, available entries only, wells."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from tests.acquisition.beliefs import belief, problem

from maxentry import acquisition
from maxentry.acquisition import Limits, Problem
from maxentry.acquisition.draw_field import all_directions, choice_field
from maxentry.acquisition.plates import block_entries, score_block
from maxentry.acquisition.targets import GoalCriterion
from maxentry.errors import ParameterError
from maxentry.model.goal import Goal

SHAPE, BLOCK = (6, 7), (2, 3)
RNG = np.random.default_rng(0)


def choose(criterion, x, q):
    return acquisition.choose(criterion, x, q, 1, rng=np.random.default_rng(1))


def all_scores(x, q):
    """The joint gain over the mean cost, of every block."""
    field = choice_field(x)
    W = all_directions(field, q.pending)
    K = np.eye(field.p) - W.T @ W
    pairs = [
        (np.array(rows), np.array(cols))
        for rows in combinations(range(SHAPE[0]), BLOCK[0])
        for cols in combinations(range(SHAPE[1]), BLOCK[1])
    ]
    return {
        (tuple(rows), tuple(cols)): score_block(field, q, None, K, block_entries(q, rows, cols))
        for rows, cols in pairs
    }


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("costs", [False, True])
def test_the_block_is_near_the_best_of_all(seed, costs):
    x = belief(SHAPE, seed=seed)
    q = problem(SHAPE, seed, costs=costs, limits=Limits(plates="2x3"))
    chosen = choose("predictive_variance", x, q)
    scores = all_scores(x, q)
    rows, cols = (tuple(np.unique(side)) for side in (chosen.rows, chosen.cols))
    mine = chosen.gain.sum() / chosen.cost.mean()
    assert mine >= 0.9 * max(scores.values())
    assert mine > np.quantile([*scores.values()], 0.9)
    if (rows, cols) in scores:
        assert scores[rows, cols] == pytest.approx(mine)


@pytest.mark.parametrize(
    "criterion", [*acquisition.CRITERIA, GoalCriterion(Goal.parse("best"), None)], ids=str
)
def test_a_block_has_all_its_available_entries_and_no_other(criterion):
    q = problem(SHAPE, 3, limits=Limits(plates="3x4"))
    chosen = choose(criterion, belief(SHAPE), q)
    rows, cols = np.unique(chosen.rows), np.unique(chosen.cols)
    assert 1 <= len(rows) <= 3
    assert 1 <= len(cols) <= 4
    if not isinstance(criterion, GoalCriterion):
        expected = block_entries(q, rows, cols)
        assert [*zip(*expected, strict=True)] == [*zip(chosen.rows, chosen.cols, strict=True)]
    assert q.available(np.arange(SHAPE[0]), np.arange(SHAPE[1]))[chosen.rows, chosen.cols].all()


def test_a_block_that_is_larger_than_the_matrix_is_all_of_it():
    chosen = choose("predictive_variance", belief(SHAPE), Problem(SHAPE, limits=Limits(plates="16x24")))
    assert len(chosen.rows) == SHAPE[0] * SHAPE[1]
    assert (np.diff(chosen.rows * SHAPE[1] + chosen.cols) == 1).all()


@pytest.mark.parametrize("plates", ["0x3", "8x49", "8", "8xx2", (8, 12), "block"])
def test_what_is_no_plate_is_refused(plates):
    with pytest.raises(ParameterError, match="plate"):
        Limits(plates=plates)
