"""Why an entry is worth measuring, in numbers: its uncertainty, its row and column, what a measurement would teach.

Everything is on the scale of the model, where choices are made: under a transform, an sd in the user's units follows
the size of the value, and would call a large value uncertain that is known to the percent.

With the draws as a Gaussian field, measuring entry a lowers the variance of entry b by Cov(a, b)^2 / (Var(a) + noise).
The sum over all b is what a would teach; part of it is about a itself, about its row and about its column.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from maxentry._types import Array, Indices
from maxentry.posterior.draws import coherences, gram_matrices

if TYPE_CHECKING:
    from maxentry.acquisition.draw_field import DrawField
    from maxentry.campaign.state import State
    from maxentry.posterior.posterior import Posterior


# An sd or a coherence stands out from here on, in units of the typical one. Posterior means of coherences are pulled
# towards 1 while little is measured: on simulated campaigns 1.25 marks as many rows as there are with a true
# coherence of 1.5 or more (a quarter of them), and finds more of these than 1.5 would.
STANDS_OUT = 1.25
SAMPLED = 2000  # entries of which a typical sd is taken
BLOCK = 2_000_000  # numbers of draws in memory at once


class Reason(NamedTuple):
    """Why one entry is worth measuring; None for what needs a posterior that does not have the entry.

    mean_now, sd_now: the prediction, in the user's units. sd_ratio: its sd in units of the median sd of all entries.
    row_coherence, col_coherence: in units of the average; None too at rank 0. teaches: by which share measuring this
    entry alone would lower the variance of the whole matrix. teaches_itself, teaches_row, teaches_col: how much of
    that is about the entry, the rest of its row and the rest of its column. row_told, col_told: measurements there.
    """

    row_told: int
    col_told: int
    mean_now: float | None = None
    sd_now: float | None = None
    sd_ratio: float | None = None
    row_coherence: float | None = None
    col_coherence: float | None = None
    teaches: float | None = None
    teaches_itself: float | None = None
    teaches_row: float | None = None
    teaches_col: float | None = None


def reasons(state: State, posterior: Posterior | None, rows: Indices, cols: Indices) -> list[Reason]:
    """One reason for each entry; without a posterior only how much is measured in its row and column."""
    m1, m2 = (0, 0) if posterior is None else posterior.shape
    inside = (rows < m1) & (cols < m2)  # rows and columns may have been added after the fit
    figures = np.full((len(rows), len(Reason._fields) - 2), np.nan)
    if posterior is not None and inside.any():
        figures[inside] = np.transpose(_model_figures(posterior, rows[inside], cols[inside]))
    return [
        Reason(int(in_row), int(in_col), *(x if np.isfinite(x) else None for x in line))
        for in_row, in_col, line in zip(
            state.row_counts[rows], state.col_counts[cols], figures.tolist(), strict=True
        )
    ]


def _model_figures(posterior: Posterior, rows: Indices, cols: Indices) -> tuple[Array, ...]:
    """The figures of `Reason` that need a posterior, in their order."""
    from maxentry.acquisition.draw_field import DrawField  # here, since loading the kernels takes its time

    field = DrawField.from_belief(posterior.belief)
    unknown = np.full(len(rows), np.nan)
    typical = _typical_sd(field)
    sd_ratio = np.sqrt(field.variances_at(rows, cols)) / typical if typical > 0 else unknown
    of_rows, of_cols = mean_coherences(posterior) or (None, None)
    values = posterior.entries_at(rows, cols)
    return (
        values.mean(0),
        values.std(0, ddof=min(1, len(values) - 1)),
        sd_ratio,
        unknown if of_rows is None else of_rows[rows],
        unknown if of_cols is None else of_cols[cols],
        *information_gain(field, rows, cols, posterior.belief.share_at(rows, cols)),
    )


def _typical_sd(field: DrawField) -> float:
    """The median sd of entries that are evenly spread over the matrix; of all of them while they are few."""
    m1, m2 = field.shape
    keys = np.linspace(0, m1 * m2 - 1, min(m1 * m2, SAMPLED)).astype(np.int64)
    return float(np.median(np.sqrt(field.variances_at(*np.divmod(keys, m2)))))


def information_gain(
    field: DrawField, rows: Indices, cols: Indices, told: Array | float = 1.0
) -> list[Array]:
    """What each of these entries would teach if it alone were measured.

    told: the noise over each entry's own (`Belief.share_at`).

    By which share the variance of the matrix falls, and which parts of that are the entry's own, of the rest of its
    row, and of the rest of its column.
    """
    from maxentry.acquisition import total_variance

    G, S = total_variance.gram_matrix(field), field.p
    F = field.features(rows, cols)
    own = np.einsum("ns,ns->n", F, F)
    noisy = own + field.eta2 / told
    everywhere = np.einsum("ns,st,nt->n", F, G / S, F) / noisy
    m1, m2 = field.shape
    itself = own**2 / noisy
    in_row, in_col = np.empty(len(rows)), np.empty(len(rows))
    for k, (i, j) in enumerate(zip(rows, cols, strict=True)):
        along = field.features(np.full(m2, i), np.arange(m2)) @ F[k]
        down = field.features(np.arange(m1), np.full(m1, j)) @ F[k]
        in_row[k], in_col[k] = along @ along / noisy[k] - itself[k], down @ down / noisy[k] - itself[k]
    shares = [
        np.divide(part, everywhere, out=np.zeros_like(part), where=everywhere > 0)
        for part in (itself, in_row, in_col)
    ]
    total = np.trace(G) / S
    return [everywhere / total if total > 0 else np.zeros_like(everywhere), *shares]


# Coherence


def mean_coherences(posterior: Posterior) -> tuple[Array, Array] | None:
    """The posterior mean coherence of rows and columns, in units of the average; None without a low-rank part."""
    if (R := leading_rank(posterior)) == 0:
        return None
    left, right = (
        np.concatenate([block.mean(0) for block in coherence_blocks(factors)])
        for factors in factors_of_rank(posterior, R)
    )
    return left * len(left) / R, right * len(right) / R


def leading_rank(posterior: Posterior) -> int:
    """The rank above 0 with the most chains; 0 if no chain has a low-rank part."""
    weights = {rank: share for rank, share in posterior.rank_weights.items() if rank}
    return max(weights, key=lambda rank: weights[rank], default=0)


def factors_of_rank(posterior: Posterior, rank: int) -> tuple[NDArray[np.floating], NDArray[np.floating]]:
    """The left and right factors (chain, draw, m, R) of the chains of this rank."""
    which = np.array([c for c, chain in enumerate(posterior.chains) if chain.rank == rank])
    draws = posterior.draws.select_chains(which, rank)
    return draws.left, draws.right


def coherence_blocks(factors: NDArray[np.floating]) -> Iterator[Array]:
    """Draws of the coherences, the diagonal of F (F'F)^-1 F', some rows at a time: (S, rows) each."""
    chains, draws, m, R = factors.shape
    with threadpool_limits(1):
        products = gram_matrices(factors)
    step = max(1, BLOCK // (chains * draws * R))
    for start in range(0, m, step):
        with threadpool_limits(1):
            block = coherences(factors[:, :, start : start + step], products)
        yield block.reshape(chains * draws, -1)
