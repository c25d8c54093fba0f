"""A posterior as a table, without a data frame library."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import typer

from maxentry import tables
from maxentry.cli import codes, output
from maxentry.errors import SizeError
from maxentry.tables import Format, Table, cell_text

if TYPE_CHECKING:
    from maxentry.posterior.posterior import Posterior

FACTS = "shape, n_observed, rank, rank_weights, noise_sd, transform, converged, advice, interrupted"
LONG = "row, col, mean, sd, low, high, new_low, new_high, observed"
LARGEST = 20_000_000  # lines of a long table


def posterior_table(
    posterior: Posterior, *, wide: bool, what: str = "mean", level: float = 0.9, corner: str = "row"
) -> Table:
    """Wide: `what` by row and column. Long: one line an entry, as in LONG."""
    data, (m1, m2) = posterior.observations, posterior.shape
    rows = list(range(m1)) if data.row_labels is None else list(data.row_labels)
    cols = list(range(m2)) if data.col_labels is None else list(data.col_labels)
    if wide:
        grid = _map(posterior, what, level)
        columns = [rows, *(grid[:, j].tolist() for j in range(m2))]
        return Table([corner, *(cell_text(col) for col in cols)], columns)
    if m1 * m2 > LARGEST:
        raise SizeError(
            f"expected at most {LARGEST} entries for a long table, but {m1} x {m2} came; --wide is smaller."
        )
    import numpy as np

    found = posterior.arrays
    low, high = found.interval(level)
    times = np.bincount(data.rows.astype(np.int64) * m2 + data.cols, minlength=m1 * m2)
    maps = [found.mean, found.sd, low, high, *found.predictive_interval(level), times]
    columns = [[row for row in rows for _ in cols], cols * m1, *(grid.ravel().tolist() for grid in maps)]
    return Table(LONG.split(", "), columns)


def _map(posterior: Posterior, what: str, level: float) -> Any:
    maps = posterior.arrays
    if what in ("low", "high"):
        return maps.interval(level)[what == "high"]
    if what in ("new_low", "new_high"):
        return maps.predictive_interval(level)[what == "new_high"]
    return maps.mean if what == "mean" else maps.sd


def posterior_facts(posterior: Posterior) -> dict[str, Any]:
    """What was found about the model, for machines."""
    from maxentry.posterior.diagnostics import strip_code

    diagnostics = posterior.diagnostics
    return {
        "shape": list(posterior.shape),
        "n_observed": posterior.observations.n,
        "rank": posterior.rank,
        "rank_weights": posterior.rank_weights,
        "noise_sd": posterior.noise_sd,
        "transform": str(posterior.transform),
        "converged": bool(diagnostics.converged),
        "advice": strip_code(diagnostics.advice),
        "interrupted": posterior.interrupted,
    }


def in_short(posterior: Posterior) -> str:
    """What was found, in a line; and, where the chains have not come to agree, what to do from the shell."""
    (m1, m2), n = posterior.shape, posterior.observations.n
    found = f"{m1} x {m2}, {output.count(n, 'value')}, rank {posterior.rank}"
    if posterior.diagnostics.converged:
        return f"{found}: converged."
    lower = ", or try a lower --rank" if posterior.rank else ""
    return (
        f"{found}.\nnot converged: the chains disagree somewhat, which the intervals include; for sharper ones "
        f"measure more{lower} (--verbose: details)."
    )


def hand_over(
    posterior: Posterior, out: str | None, form: Format | None, *, wide: bool, what: str, level: float,
    as_json: bool, save: str | None, campaign: str | None = None, corner: str = "row",
    verbose: bool = False,
) -> None:  # fmt: skip
    """Write the completed matrix, say what was found, and end as interrupted if the sampling was."""
    from maxentry.posterior.diagnostics import strip_code

    if save is not None:
        posterior.save(save)
    entries = as_json and out is None  # JSON has everything about an entry in one place
    table = posterior_table(posterior, wide=wide and not entries, what=what, level=level, corner=corner)
    named = {} if campaign is None else {"campaign": campaign}
    document = named | posterior_facts(posterior)
    if not entries and tables.choose_format(out, form) is not Format.parquet:
        labels = 1 if wide else 2
        figures = map(tables.round_numbers, table.columns[labels:])
        table = Table(table.names, [*table.columns[:labels], *figures])
    output.deliver(table, out, form, as_json=as_json, document=document, title=what if wide else "")
    if not as_json:
        output.say(strip_code(repr(posterior)) if verbose else in_short(posterior), "dim")
    if posterior.interrupted:
        output.warn("Interrupted: this is what had been drawn by then.")
        raise typer.Exit(codes.INTERRUPTED)
