"""Did the sampler arrive: traces of the chains, and R-hat of all that is watched."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from maxentry.plots.colours import BLUE, GREEN, GREY, PURPLE, VERMILLION
from maxentry.plots.records import Array, Chart, Panel, Series
from maxentry.plots.subject import Subject
from maxentry.plots.words import shares
from maxentry.posterior.diagnostics import LONG_RHAT, POPULATION_RHAT

if TYPE_CHECKING:
    from maxentry.posterior.posterior import Posterior

CHAINS = 32  # lines of a panel
LIMITS = {"population": POPULATION_RHAT, "long": LONG_RHAT}


def trace(subject: Subject) -> Chart:
    """Noise, level and leading singular value, a line for each chain; they should overlap and not drift."""
    from maxentry.posterior.draws import gram, singular_values

    posterior = subject.posterior
    draws = posterior.draws
    shown = {"noise sd": np.sqrt(draws.eta2), "overall mean": draws.mu}
    if draws.rank:
        spectrum = singular_values(gram(draws.left), gram(draws.right))
        shown["leading singular value"] = spectrum[..., 0]
    colors = (VERMILLION, BLUE, GREEN)
    panels = tuple(
        Panel(name, "kept draw", "" if subject.scale_note() else subject.unit, (_lines(values, color),))
        for (name, values), color in zip(shown.items(), colors, strict=False)
    )
    chains = min(len(draws.mu), CHAINS)
    of = "" if chains == len(draws.mu) else f" of {len(draws.mu)}"
    note = f"{chains}{of} chains, a line each: {_expected(posterior)}"
    scale = f"; on the {subject.transform} scale" if subject.scale_note() else ""
    return Chart(subject.headed("Traces"), note + scale, panels)


def _expected(posterior: Posterior) -> str:
    if len(posterior.rank_weights) == 1:
        return "they should cover the same range and not drift"
    return (
        "those of one rank should cover the same range and not drift, those of different ranks differ by design; "
        f"{shares(posterior)}"
    )


def _lines(values: Array, color: str) -> Series:
    """All chains as one line with gaps."""
    kept = np.asarray(values, dtype=np.float64)[:CHAINS]
    n_chains, n = kept.shape
    gap = np.full((n_chains, 1), np.nan)
    x = np.tile(np.append(np.arange(1.0, n + 1), np.nan), n_chains)
    return Series("", x, np.concatenate([kept, gap], axis=1).ravel(), kind="line", color=color)


def rhat(subject: Subject) -> Chart:
    """R-hat of every watched quantity, group by group; 1 is perfect agreement of the chains."""
    found = subject.posterior.diagnostics
    groups = tuple(dict.fromkeys(found.groups))
    limit = LIMITS[found.kind]
    heights = np.array([groups.index(group) for group in found.groups], dtype=np.float64)
    # Points of a group beside each other, by a fixed rule: nothing of chance in a figure.
    apart = 0.28 * (2 * np.modf(np.arange(len(heights)) * 0.618034)[0] - 1)
    labels = tuple(f"{name}: {value:.3f}" for name, value in zip(found.names, found.rhat, strict=True))
    medians = np.array([np.median(found.rhat[found.of(group)]) for group in groups])
    y = np.arange(len(groups), dtype=np.float64)
    ends = np.array([-0.5, len(groups) - 0.5])
    series = (
        Series("", np.full(2, limit), ends, kind="line", color=GREY, dashes="dotted"),
        Series("each", found.rhat, heights + apart, kind="dots", color=BLUE, labels=labels),
        Series("median", medians, y, kind="dots", color=PURPLE, labels=tuple(f"{m:.3f}" for m in medians)),
    )
    what = "medians of X and of eta2" if found.kind == "population" else "all"
    note = f"{'converged' if found.converged else 'not converged'}; dotted: {limit:g}, below which {what} should lie"
    return Chart(subject.headed("R-hat"), note, (Panel("", "R-hat", "", series, groups),))
