"""Why an entry is worth measuring, in numbers: how uncertain it is, how its row and column stand, what it would teach.

With the draws as a Gaussian field (`acquisition/draw_field.py`), measuring entry a lowers the variance of entry b by
Cov(a, b)^2 / (Var(a) + noise). Summed over all b that is what a would teach; over its row and its column, about those.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from maxentry.acquisition.draw_field import Draws
from maxentry.acquisition.total_variance import gram
from maxentry.campaign.state import State
from maxentry.plots.factors import mean_coherences
from maxentry.posterior.posterior import Posterior
from maxentry.server.plain import plain

Array = NDArray[np.float64]
Indices = NDArray[np.int64]
NAMES = ("mean_now", "sd_now", "sd_ratio", "row_coherence", "col_coherence",
         "teaches", "teaches_itself", "teaches_row", "teaches_col")  # fmt: skip
SAMPLED = 2000  # entries among which a typical sd is looked for


class Lessons(NamedTuple):
    """Of each entry: by which share of all variance measuring it lowers that; and which shares of this are where."""

    total: Array
    itself: Array
    row: Array  # the others of its row
    col: Array  # the others of its column


def lessons(draws: Draws, rows: Indices, cols: Indices) -> Lessons:
    """What each of these entries would teach if it alone were measured."""
    G, S = gram(draws), draws.p
    F = draws.features(rows, cols)
    own = np.einsum("ns,ns->n", F, F)
    noisy = own + draws.eta2
    everywhere = np.einsum("ns,st,nt->n", F, G / S, F) / noisy
    m1, m2 = draws.shape
    itself = own**2 / noisy
    in_row, in_col = np.empty(len(rows)), np.empty(len(rows))
    for k, (i, j) in enumerate(zip(rows, cols, strict=True)):
        along = draws.features(np.full(m2, i), np.arange(m2)) @ F[k]
        down = draws.features(np.arange(m1), np.full(m1, j)) @ F[k]
        in_row[k], in_col[k] = along @ along / noisy[k] - itself[k], down @ down / noisy[k] - itself[k]
    total, known = np.trace(G) / S, everywhere > 0
    parts = (itself, in_row, in_col)
    shares = [np.divide(part, everywhere, out=np.zeros_like(part), where=known) for part in parts]
    return Lessons(everywhere / total if total > 0 else np.zeros_like(everywhere), *shares)


def reasons(state: State, posterior: Posterior | None, rows: Indices, cols: Indices) -> list[dict[str, Any]]:
    """One record an entry; without a posterior only what was counted."""
    counted = [
        {"row_told": int(state.row_counts[i]), "col_told": int(state.col_counts[j])}
        for i, j in zip(rows, cols, strict=True)
    ]
    nothing = dict.fromkeys(NAMES)
    if posterior is None or not len(rows):
        return [line | nothing for line in counted]
    m1, m2 = posterior.shape
    inside = (rows < m1) & (cols < m2)  # not those of rows and columns that came after the fit
    found = _of_posterior(posterior, rows[inside], cols[inside])
    place = np.cumsum(inside) - 1
    return [
        line | ({name: plain(float(x[place[k]])) for name, x in found.items()} if inside[k] else nothing)
        for k, line in enumerate(counted)
    ]


def _of_posterior(posterior: Posterior, rows: Indices, cols: Indices) -> dict[str, Array]:
    draws = Draws.of(posterior.belief)
    learnt = lessons(draws, rows, cols)
    sd = np.sqrt(np.einsum("ns,ns->n", *[draws.features(rows, cols)] * 2))
    typical = _typical_sd(draws)
    coherence = mean_coherences(posterior)
    nowhere = np.full(len(rows), np.nan)
    x = posterior.transform.inverse(posterior.belief.at(rows, cols))
    return {
        "mean_now": x.mean(0),
        "sd_now": x.std(0, ddof=min(1, len(x) - 1)),
        "sd_ratio": sd / typical if typical > 0 else nowhere,
        "row_coherence": nowhere if coherence is None else coherence[0][rows],
        "col_coherence": nowhere if coherence is None else coherence[1][cols],
        "teaches": learnt.total,
        "teaches_itself": learnt.itself,
        "teaches_row": learnt.row,
        "teaches_col": learnt.col,
    }


def _typical_sd(draws: Draws) -> float:
    """The median over entries evenly spread over the matrix, on the scale of the model."""
    m1, m2 = draws.shape
    keys = np.linspace(0, m1 * m2 - 1, min(m1 * m2, SAMPLED)).astype(np.int64)
    F = draws.features(*np.divmod(keys, m2))
    return float(np.median(np.sqrt(np.einsum("ns,ns->n", F, F))))
