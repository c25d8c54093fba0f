"""Oboe's rule: greedy D-optimal design per unit cost (Yang, Akimoto, Kim and Udell, KDD 2019; greedy: Yang, Fan, Wu and
Udell, KDD 2020), for the rows that are not known from the start.

The rows told from the start are factorised, E ~ X Y, by a truncated singular value decomposition without centring; the
columns y_j of Y (k x m2) are the columns' embeddings. The rank k counts the singular values from 5% of the largest on,
as where Oboe starts. For each new row:

    first      k columns by QR with pivoting of Y, out of those with cost <= t_max / (2k); where there are fewer than k
               of those, the cheapest columns, as many as t_max pays for, and nothing else
    then       argmax_j  y_j' (sum over the row's columns of y y')^-1 y_j / cost_j   while t_max pays for it

Their own estimate of a row is the least-squares fit x Y to what is measured in it, of all its entries ("oboe_own");
the same entries judged by the campaign's posterior are "oboe".

What is different here: t_max, their time limit for one row, is the campaign's budget shared evenly by the new rows
(without a budget there is no limit); costs are known, where Oboe predicts run times; rows take turns, the row with
fewest entries next; a row that has been measured otherwise keeps its entries, and the pivoting goes on from them; k
stays, where theirs grows by one when the validation error of an ensemble falls, and a case's rank goes before; a row
with fewer entries than k, of which theirs makes no estimate yet, is estimated by the mean of the known rows.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from evidence.strategies.rule import Request, as_policy, build_choice
from maxentry._types import Array, Flags, Indices
from maxentry.acquisition import Problem, Selection
from maxentry.belief import Entries
from maxentry.campaign.state import State
from maxentry.compare.scenario import Case, Estimates, Estimator, Policy, Strategy, Style, Truth
from maxentry.errors import DataError, ParameterError
from maxentry.plots.style import GREEN
from maxentry.transform import Transform

SHARE = 0.05  # of the largest singular value: smaller ones do not count
DEPENDENT = 1e-8  # a column with less than this share of its length left is in the span of the others


class Embedding(NamedTuple):
    """What the known rows say."""

    Y: Array  # (k, m2) embeddings of the columns
    mean: Array  # (m2,) of the known rows
    new: Indices  # the other rows


def embed(E: Array, known: Flags, rank: int | None) -> Embedding:
    """Factorise the known rows of E; a rank that is None is chosen."""
    if not known.any():
        raise ParameterError("expected rows that are known from the start, got none.")
    training = E[known]
    if np.isnan(training).any():
        raise DataError("expected rows known from the start without gaps, got one with a missing entry.")
    _, s, Vt = np.linalg.svd(training, full_matrices=False)
    k = int(np.count_nonzero(s >= SHARE * s[0])) if rank is None else min(rank, len(s))
    return Embedding(Vt[:k], training.mean(0), np.flatnonzero(~known))


# Choosing


def next_column(Y: Array, taken: Indices, free: Flags, cost: Array, t_max: float, spent: float) -> int:
    """The next column of a row that has the columns `taken` and has spent so much; -1 if t_max pays for no other."""
    k = len(Y)
    free = free & (spent + cost <= t_max)
    free[taken] = False
    if not free.any():
        return -1
    cheap = cost <= t_max / (2 * k)
    if np.count_nonzero(cheap) < k:
        return int(np.argmin(np.where(free, cost, np.inf)))
    rest = residuals(Y, taken)
    if (rest[free & cheap] > 0).any():
        return int(np.argmax(np.where(free & cheap, rest, -1.0)))
    X = Y[:, taken] @ Y[:, taken].T
    gain = np.einsum("kj,kj->j", Y, np.linalg.pinv(X, hermitian=True) @ Y) / cost
    return int(np.argmax(np.where(free, gain, -np.inf)))


def residuals(Y: Array, taken: Indices) -> Array:
    """The length of each column of Y outside the span of those taken: the greatest is the next pivot of QR."""
    Q = np.linalg.qr(Y[:, taken])[0] if len(taken) else Y[:, :0]
    lengths = np.linalg.norm(Y - Q @ (Q.T @ Y), axis=0)
    return np.where(lengths > DEPENDENT * np.linalg.norm(Y, axis=0).max(), lengths, 0.0)


def choose_greedily(embedding: Embedding, problem: Problem, n: int, t_max: float) -> Selection:
    """n entries, rows in turn: of those that can pay for one, the row with fewest entries, the first of equals."""
    m2 = problem.shape[1]
    columns = np.arange(m2)
    taken = {i: problem.taken.cols[problem.taken.rows == i] for i in embedding.new.tolist()}
    free = problem.available(embedding.new, columns)
    cost = problem.costs.at(embedding.new[:, None], columns)
    place = {i: p for p, i in enumerate(embedding.new.tolist())}
    rows, cols = list[int](), list[int]()
    while len(rows) < n and taken:
        i = min(taken, key=lambda row: (len(taken[row]), row))
        p, row_cols = place[i], taken[i]
        j = next_column(embedding.Y, row_cols, free[p], cost[p], t_max, float(cost[p, row_cols].sum()))
        if j < 0:
            del taken[i]
            continue
        taken[i] = np.append(row_cols, j)
        rows.append(i)
        cols.append(j)
    return build_choice(problem, Entries.from_lists(rows, cols))


# Estimating


def least_squares(embedding: Embedding, told: Entries, values: Array) -> Array:
    """The new rows: x Y nearest to what is measured, or the mean of the known rows where that is too little."""
    Y, estimate = embedding.Y, np.tile(embedding.mean, (len(embedding.new), 1))
    for p, i in enumerate(embedding.new):
        here = told.rows == i
        if np.count_nonzero(here) >= len(Y):
            estimate[p] = np.linalg.lstsq(Y[:, told.cols[here]].T, values[here], rcond=None)[0] @ Y
    return estimate


def _embedding(truth: Truth, case: Case) -> Embedding:
    if truth.told is None:
        raise ParameterError("expected rows that are known from the start, got a case without any.")
    model, known = dict(case.model), np.asarray(truth.told.all(1))
    transform = Transform.parse(model.get("transform", "none"))
    E = np.full(truth.Y.shape, np.nan)
    E[known] = transform.forward(truth.Y[known])
    rank = model.get("rank")
    return embed(E, known, rank if isinstance(rank, int) and rank > 0 else None)


def _policy(truth: Truth, case: Case, seed: int) -> Policy:
    embedding = _embedding(truth, case)

    def rule(request: Request) -> Selection:
        budget = request.state.settings.budget
        t_max = np.inf if budget is None else budget / len(embedding.new)
        return choose_greedily(embedding, request.problem, request.n, t_max)

    return as_policy(rule, "Oboe's rule")


def _estimator(truth: Truth, case: Case, seed: int) -> Estimator:
    embedding = _embedding(truth, case)
    place = np.full(len(truth.Y), -1)
    place[embedding.new] = np.arange(len(embedding.new))

    def estimate(state: State, rows: Indices, cols: Indices, level: float) -> Estimates:
        transform = Transform.parse(state.settings.transform)
        new_rows = least_squares(embedding, state.told, transform.forward(state.values))
        known = np.where(place[rows] < 0, truth.Y[rows, cols], np.nan)
        found = transform.inverse(new_rows[place[rows], cols])
        return Estimates(np.where(place[rows] < 0, known, found))

    return estimate


OBOE = Strategy("oboe", "Oboe's rule", policy=_policy, needs=("told",), style=Style(GREEN, "solid", "*"))
OBOE_OWN = Strategy(
    "oboe_own",
    "Oboe's rule and estimate",
    policy=_policy,
    estimator=_estimator,
    needs=("told",),
    style=Style(GREEN, "dotted", "*"),
)
