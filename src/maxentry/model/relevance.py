"""Whether features say anything of the values: a permutation test, by which those of a side are used or left out.

    F      N x p    features of N measured rows (or columns), centred
    Z      N x d    what is left of their values without means of rows and of columns, in its d strongest directions
    r      N        their levels, the means that were taken away
    T_k    -        of feature k: sum over pairs of rows i < j of F_ik F_jk z_i'z_j, for patterns; r_i r_j for levels

T is the score of the variance of the link's coefficients at zero: of all statistics it finds weak links most often.
Permuting which row has which features leaves its law as it is where features say nothing and rows are exchangeable,
whatever the law of their values. A fit with features has another prior than the fit without, which costs error where
they say nothing (docs/mathematics.md, section 20).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from maxentry._types import Array, Indices, Indices32
from maxentry.labels import is_sparse
from maxentry.model.link import Basis
from maxentry.observations import Observations

LEVEL = 0.1  # of p, above which features are left out
PERMUTATIONS = (199, 1999)  # the fewest, for which p has an error of 0.02 at the level, and the most
STREAM = 20_191  # of permutations, rows and directions: the same for every table and seed
MOST_ROWS = 1000  # with a measurement that are looked at
FEWEST_ROWS = 6  # with fewer, hardly any arrangement of features is rare
MOST_WORK = 4e9  # multiplications of the fewest permutations, about ...
MORE_WORK = 4e8  # ... and of more
DIRECTIONS = (8, 48)  # of the values that are looked at, the least and the most
ROUNDS = 3  # of means of rows and of columns
SKETCHES = 3  # multiplications by Z Z' in the search for its strongest directions
FAR = 3.0  # ranges of nine tenths of the values beyond these, from where a value counts as one there
LARGE = 0.99  # quantile of the sizes of residuals, beyond which they count as it: no slip rules
KNOWN = 3.0  # measurements of a row that say as much of it as was known before
AT_ONCE = 2_000_000  # numbers of the arrangements that are scored together
SAME = 1e-9  # of the largest score: less is rounding


def find_p_value(basis: Basis, side: int, z: Observations) -> float | None:
    """Return the p-value of features of rows (side 0) or columns (1) given the values that are modelled.

    None where there is no test: with few measured rows, or features of which no basis is found. It is a function of
    the table alone.
    """
    if basis.iterates:
        return None
    rng = np.random.default_rng([STREAM, side])
    chosen = choose_lines(z, side, rng)
    if chosen.size < FEWEST_ROWS:
        return None
    F = basis.F[chosen]
    work = max(F.nnz if is_sparse(F) else F.size, 1)
    Z, r = read_values(z, side, chosen, int(np.clip(MOST_WORK / PERMUTATIONS[0] / work, *DIRECTIONS)), rng)
    n = int(np.clip(MORE_WORK / (work * (Z.shape[1] + 1)), *PERMUTATIONS))
    orders = [np.arange(chosen.size), *(rng.permutation(chosen.size) for _ in range(n))]
    return rank_scores(score(F, Z, r, np.array(orders)))


def choose_lines(z: Observations, side: int, rng: np.random.Generator) -> Indices:
    """The measured rows (or columns), at most `MOST_ROWS` of them, in their order."""
    lines = np.flatnonzero((z.row_counts, z.col_counts)[side])
    return lines if lines.size <= MOST_ROWS else np.sort(rng.permutation(lines)[:MOST_ROWS])


def read_values(
    z: Observations, side: int, chosen: Indices, most: int, rng: np.random.Generator
) -> tuple[Array, Array]:
    """Patterns Z (N, d), d at most `most`, and levels (N,) of the chosen lines, both around zero.

    Rows count by what their measurements say of them, as the model has it: few measurements say little.
    """
    from scipy.sparse import csr_array

    lines, others = (z.cols, z.rows) if side else (z.rows, z.cols)
    m, m_others = (z.shape[1], z.shape[0]) if side else z.shape
    counts, levels, residuals = subtract_levels(clip_far(z.values), lines, others, (m, m_others))
    size = np.quantile(np.abs(residuals), LARGE)
    values = np.clip(residuals, -size, size) / (counts + KNOWN)[lines]
    X: Any = csr_array((values, (lines, others)), shape=(m, m_others))[chosen]
    if min(X.shape) > most:  # the strongest directions, by repeated multiplication
        V, _ = np.linalg.qr(X.T @ rng.standard_normal((chosen.size, most)))
        for _ in range(SKETCHES):
            V, _ = np.linalg.qr(X.T @ (X @ V))
        Z = np.asarray(X @ V)
    else:
        Z = X.toarray()
    r = (levels * counts / (counts + 1))[chosen]
    return Z - Z.mean(axis=0), r - r.mean()


def clip_far(values: Array) -> Array:
    """Values that lie far beyond nine tenths of all, as slips do, moved to where these are far."""
    low, high = np.quantile(values, (0.05, 0.95))
    room = FAR * (high - low)
    return np.clip(values, low - room, high + room) if room else values


def subtract_levels(
    values: Array, lines: Indices32, others: Indices32, shape: tuple[int, int]
) -> tuple[Array, Array, Array]:
    """How many values lines have, their levels beside those of the others, and what is left of the values."""
    counts, times = (
        np.bincount(line, minlength=m).astype(float) for line, m in zip((lines, others), shape, strict=True)
    )
    levels, column = np.zeros(shape[0]), np.zeros(shape[1])
    for _ in range(ROUNDS):
        column = np.bincount(others, values - levels[lines], shape[1]) / np.maximum(times, 1)
        levels = np.bincount(lines, values - column[others], shape[0]) / np.maximum(counts, 1)
    return counts, levels, np.asarray(values - levels[lines] - column[others])


def score(F: Any, Z: Array, r: Array, orders: Indices) -> Array:
    """Scores of arrangements of the rows, (B, 4): of patterns and of levels, over all features and of the best one.

    F may be sparse; it need not be centred, since Z and r are.
    """
    N, d = Z.shape
    both, sizes = np.column_stack([Z, r]), np.column_stack([(Z**2).sum(axis=1), r**2])
    centre = np.asarray(F.mean(axis=0), dtype=float).ravel()
    if not is_sparse(F):
        F, centre = F - centre, np.zeros(F.shape[1])
    squares = F.multiply(F) if is_sparse(F) else F**2
    size = np.asarray(squares.sum(axis=0), dtype=float).ravel()
    varies = np.flatnonzero(size - N * centre**2 > SAME * size.max(initial=0.0))
    if not varies.size:
        return np.zeros((len(orders), 4))
    F, squares, centre, p = F[:, varies], squares[:, varies], centre[varies], varies.size
    unit = (size[varies] - N * centre**2)[:, None, None]
    found, step = np.empty((len(orders), 4)), max(1, AT_ONCE // (max(N, p) * (d + 1)))
    for first in range(0, len(orders), step):
        order = orders[first : first + step].T  # (N, b)
        b = order.shape[1]
        S = np.asarray(F.T @ both[order].reshape(N, -1)).reshape(p, b, d + 1)
        s = sizes[order].reshape(N, -1)
        own = squares.T @ s - 2 * centre[:, None] * (F.T @ s) + centre[:, None] ** 2 * s.sum(axis=0)
        T = np.stack([(S[..., :d] ** 2).sum(axis=2), S[..., d] ** 2], axis=2) - own.reshape(p, b, 2)
        found[first : first + b] = np.hstack([T.sum(axis=0), (T / unit).max(axis=0)])
    return found


def rank_scores(scores: Array) -> float:
    """The p-value of the first arrangement: how many have as small a least rank among their scores as it has."""
    same = SAME * np.abs(scores).max(axis=0)
    ranks = [(x[None] >= x[:, None] - gap).sum(axis=1) for x, gap in zip(scores.T, same, strict=True)]
    least = np.min(ranks, axis=0)
    return float((least <= least[0]).mean())
