"""Scores of the default of commit b121af5, the Gaussian fit that was "today's" where kinds of data were asked for.

    git worktree add --detach ../b121af5 b121af5
    PYTHONPATH=../b121af5/src:. python -m benchmarks.kinds.before

Written for the names of that commit. The same tables, splits, ranks and scores as in `limits`, `grades` and
`campaigns`; their lines take what is found here.
"""

from functools import partial

import numpy as np
from benchmarks import matrices
from benchmarks.kinds.campaigns import run_limits
from benchmarks.kinds.grades import RANK, score_grades, splits
from benchmarks.kinds.grades import SEEDS as GRADES_SEEDS
from benchmarks.kinds.limits import FRACTIONS, SEEDS, TABLES, score_limits, split
from benchmarks.kinds.scores import remember, round_probabilities

import maxentry

CAMPAIGNS = 8  # of each table; the page has those that were run


def score_table(name: str, fraction: float, seed: int) -> list[float]:
    shape, train, test = split(name, fraction, seed)
    p = maxentry.complete(train, shape=shape, seed=seed, progress=False, threads=1)
    draws = p.belief.at(*test[:2])
    return score_limits(draws, np.sqrt(p.belief.noise_var), test[2], TABLES[name][:2], seed, clipped=False)


def score_ratings(name: str, seed: int) -> list[float]:
    triples, (train, test) = matrices.movielens_100k(), splits(name, seed)
    shape, rows, cols, values = triples
    data, at = (rows[train], cols[train], values[train]), (rows[test], cols[test])
    p = maxentry.complete(data, RANK, shape=shape, seed=seed, threads=1, progress=False)
    sd = np.sqrt(p.belief.noise_var)[:, None]
    probabilities = round_probabilities(p.belief.at, *at, lambda rows, cols: sd)
    return score_grades(probabilities, values[test].astype(int), p.belief.mean_at(*at))


def score_campaigns(name: str, seed: int) -> list[float]:
    """CRPS of what was not asked for, by default and of uniform entries."""
    return [round(run_limits(name, TABLES[name][:2], way, seed, False), 6) for way in (None, "uniform")]


if __name__ == "__main__":
    for name in TABLES:
        for seed in range(CAMPAIGNS):
            remember("campaigns before", f"{name}, seed {seed}", partial(score_campaigns, name, seed))
    for fraction in FRACTIONS:
        for name in TABLES:
            for seed in range(SEEDS):
                cell = f"{name}, {fraction:.0%}, seed {seed}"
                remember("limits before", cell, partial(score_table, name, fraction, seed))
    for name in ("MovieLens 100K, u1", "MovieLens 100K, 80/20"):
        for seed in range(GRADES_SEEDS):
            remember("grades before", f"{name}, seed {seed}", partial(score_ratings, name, seed))
