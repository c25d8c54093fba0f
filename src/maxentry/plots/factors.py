"""The low-rank part: its singular values, and the coherence of rows and columns with it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from maxentry.plots.bins import text
from maxentry.plots.colours import BLUE, GREY, VERMILLION
from maxentry.plots.records import Array, Chart, Panel, Series
from maxentry.plots.subject import Subject
from maxentry.plots.words import shares

if TYPE_CHECKING:
    from maxentry.posterior.posterior import Posterior

NAMED = 25  # rows or columns of a panel
BLOCK = 2_000_000  # numbers of draws looked at at once
RANK_0 = "the posterior rests on rank 0, row and column means alone: there is no low-rank part to show"


def singular_values(subject: Subject, level: float = 0.9) -> Chart:
    """Singular values of the low-rank part, without row and column means, with intervals."""
    from maxentry.posterior.draws import gram
    from maxentry.posterior.draws import singular_values as spectrum
    from maxentry.posterior.intervals import check_level, quantiles

    check_level(level)
    posterior = subject.posterior
    title = subject.headed("Singular values")
    if posterior.draws.rank == 0:
        return Chart(title, RANK_0, ())
    with threadpool_limits(1):
        drawn = spectrum(gram(posterior.draws.left), gram(posterior.draws.right))
    values = drawn.reshape(-1, posterior.draws.rank)
    middle = np.median(values, axis=0)
    low, high = quantiles(values, level)
    number = np.arange(1.0, len(middle) + 1)
    labels = tuple(
        f"{k:g}: {m:.4g} ({a:.4g} to {b:.4g})" for k, m, a, b in zip(number, middle, low, high, strict=True)
    )
    series = Series("", number, middle, low, high, "dots", BLUE, labels=labels)
    where = "on the scale of the model" if subject.scale_note() else subject.unit
    panel = Panel(
        "", "number", f"singular value{f' ({where})' if where else ''}", (series,), from_zero=True, whole=True
    )
    mixed = "; what a chain of lower rank lacks counts as 0" if len(posterior.rank_weights) > 1 else ""
    note = f"medians with {100 * level:g}% intervals; {shares(posterior)}{mixed}"
    return Chart(title, note, (panel,))


def coherence(subject: Subject, level: float = 0.9) -> Chart:
    """How much each row and column has of the low-rank part: diagonals of the projections (paper, section 3.2).

    Where ranks are mixed, of the chains of one rank: the one with the most chains among those with a low-rank part.
    """
    from maxentry.posterior.intervals import check_level

    check_level(level)
    posterior, title = subject.posterior, subject.headed("Coherence")
    R = _patterned_rank(posterior)
    if R == 0:
        return Chart(title, RANK_0, ())
    which = np.array([c for c, chain in enumerate(posterior.chains) if chain.rank == R])
    draws = posterior.draws.of_chains(which, R)
    panels = (
        _panel("rows", projections(draws.left, level), subject.row_labels, R),
        _panel("columns", projections(draws.right, level), subject.col_labels, R),
    )
    note = (
        f"means with {100 * level:g}% intervals, highest first; dotted: all alike. What has a high coherence is hard to"
        " foresee from the others, and worth measuring"
    )
    return Chart(title, note + _of_which_chains(posterior, R), panels)


def _patterned_rank(posterior: Posterior) -> int:
    """The rank with the most chains of those above 0; 0 where there is none."""
    weights = {rank: share for rank, share in posterior.rank_weights.items() if rank}
    return max(weights, key=lambda rank: weights[rank], default=0)


def mean_coherences(posterior: Posterior) -> tuple[Array, Array] | None:
    """Of rows and columns, in units of the average; None where no chain has a low-rank part."""
    R = _patterned_rank(posterior)
    if R == 0:
        return None
    which = np.array([c for c, chain in enumerate(posterior.chains) if chain.rank == R])
    draws = posterior.draws.of_chains(which, R)
    left, right = (projections(factors, 0.9)[0] for factors in (draws.left, draws.right))
    return left * len(left) / R, right * len(right) / R


def _of_which_chains(posterior: Posterior, rank: int) -> str:
    weights = posterior.rank_weights
    if len(weights) == 1:
        return ""
    without = f"; {weights[0]:.0%} of the chains have no low-rank part" if 0 in weights else ""
    return f". Of the chains of rank {rank} ({weights[rank]:.0%} of all){without}"


def projections(factors: NDArray[np.floating], level: float) -> tuple[Array, Array, Array]:
    """Mean, low and high of the diagonal of F (F'F)^-1 F', some rows at a time: (m,) each."""
    from maxentry.posterior.draws import coherences, gram
    from maxentry.posterior.intervals import quantiles

    chains, draws, m, R = factors.shape
    found = np.empty((3, m))
    with threadpool_limits(1):
        products = gram(factors)
        step = max(1, BLOCK // (chains * draws * R))
        for start in range(0, m, step):
            rows = slice(start, min(start + step, m))
            mu = coherences(factors[:, :, rows], products).reshape(chains * draws, -1)
            found[0, rows] = mu.mean(0)
            found[1:, rows] = quantiles(mu, level)
    return found[0], found[1], found[2]


def _panel(side: str, found: tuple[Array, Array, Array], labels: Sequence[Any] | None, rank: int) -> Panel:
    mean, low, high = found
    even = rank / len(mean)  # coherences add up to the rank
    order = np.argsort(-mean, kind="stable")[:NAMED]
    names = tuple(text(int(k) if labels is None else labels[k]) for k in order)
    y = np.arange(len(order), dtype=np.float64)
    said = tuple(
        f"{name}: coherence {mean[k]:.3g} ({low[k]:.3g} to {high[k]:.3g}), {mean[k] / even:.3g} times the average"
        for name, k in zip(names, order, strict=True)
    )
    color = BLUE if side == "rows" else VERMILLION
    middle, left, right = (x[order] / even for x in (mean, low, high))
    dots = Series("", middle, y, left, right, "dots", color, labels=said)
    line = Series(
        "", np.ones(2), np.array([-0.5, len(order) - 0.5]), kind="line", color=GREY, dashes="dotted"
    )
    more = f"the {NAMED} highest of {len(mean):,}" if len(mean) > NAMED else f"all {len(mean)}"
    return Panel(
        f"{side}, {more}", "coherence, in units of its average R/m", "", (line, dots), names, from_zero=True
    )
