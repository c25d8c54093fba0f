"""Why these entries: what is known of each that is next, in words and numbers that a user can check on the maps."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from maxentry.plots.bins import bins, part, text
from maxentry.plots.factors import mean_coherences
from maxentry.plots.subject import Subject

if TYPE_CHECKING:
    from maxentry.campaign.policy import BatchLike


class Reason(NamedTuple):
    """One entry of the next batch."""

    row: str
    col: str
    mean: float
    sd: float
    gain: float
    cost: float
    why: str


def reasons(subject: Subject, batch: BatchLike) -> list[Reason]:
    """The entries of a batch in their order, each with why it is worth measuring."""
    state = subject.state
    assert state is not None
    with_model = bool(np.isfinite(batch.sd).any())
    typical = _typical_sd(subject) if with_model else np.nan
    shares = mean_coherences(subject.posterior) if with_model else None
    found = []
    for k, (i, j) in enumerate(zip(batch.rows.tolist(), batch.cols.tolist(), strict=True)):
        parts = []
        if np.isfinite(batch.sd[k]) and typical > 0:
            parts.append(f"its sd is {batch.sd[k] / typical:.2g} times the typical entry's")
        parts.append(_counted(int(state.row_counts[i]), int(state.col_counts[j])))
        if shares is not None:
            parts += _unlike(float(shares[0][i]), float(shares[1][j]))
        mean, sd, gain, cost = (float(x[k]) for x in (batch.mean, batch.sd, batch.gain, batch.cost))
        labels = text(state.row_labels[i]), text(state.col_labels[j])
        found.append(Reason(*labels, mean, sd, gain, cost, "; ".join(parts)))
    return found


def _counted(in_row: int, in_col: int) -> str:
    """How often its row and column were measured."""
    if in_row == in_col == 0:
        return "nothing of its row or column is measured"
    row = "nothing" if in_row == 0 else f"{in_row}"
    col = "nothing" if in_col == 0 else f"{in_col}"
    return f"{row} of its row and {col} of its column measured"


def _unlike(row: float, col: float) -> list[str]:
    """Where a row or a column is coherent well above the average, which is 1 here."""
    return [f"its {side} is unlike others (coherence {c:.2g} times the average)"
             for side, c in (("row", row), ("column", col)) if c >= 1.5]  # fmt: skip


def _typical_sd(subject: Subject) -> float:
    """The median sd of entries evenly spread over the matrix."""
    from maxentry.posterior.intervals import mean_map, sd_map

    rows, cols = (bins(m).picked(1)[0] for m in subject.shape)
    some = part(subject.posterior.belief, rows, cols)
    return float(np.median(sd_map(some, mean_map(some, subject.transform), subject.transform)))
