"""The law of the noise where the user leaves it open: one noise for all, or one for each row or column.

People grade alike or they do not, and so do judges and questions. Where grades abound, a noise of their own predicts
them better if rows (or columns) differ, and costs nothing if they do not (benchmarks/kinds.md). Where data are few the
noises of single lines can hardly be told. Of numbers a noise of their own may cost error. So it is taken where it
predicts measurements that were held out better, beyond chance, as ranks are chosen (benchmarks/honest.md,
`noise_by_default`).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple
from warnings import warn

import numpy as np

from maxentry._types import Array, Indices32
from maxentry.errors import is_choice
from maxentry.model.likelihood import DataKind, Likelihood, Noise, NoiseChoice, check_noise
from maxentry.observations import Observations
from maxentry.transform import Transform

ROUNDS = 3  # of subtracting means of rows and of columns
DOUBT = 5.0  # standard errors by which the variances of lines must differ
FEW = 20  # values, whose spread says little
NARROW = 0.5  # of the known noise: values of such a spread can hardly have it
BEYOND = 2.0  # standard errors by which a law of the noise must predict better, and may not be worse


def choose_noise(
    wish: NoiseChoice, kind: DataKind, observations: Observations, abundant: bool, known: Noise | None = None
) -> Noise:
    """Return the law that the user names; for "auto" rows or columns where many grades differ in it, else gaussian.

    abundant: whether data abound. known: the law for "auto" where something else settles it, as an earlier fit does
    that is continued.
    """
    if not is_choice(wish, ["auto"]):
        return check_noise(wish)
    if known is not None:
        return known
    if kind != "grades" or not abundant:
        return "gaussian"
    o = observations
    squares = subtract_means(o) ** 2
    by_row, by_column = (excess(squares, line, m) for line, m in zip((o.rows, o.cols), o.shape, strict=True))
    if max(by_row, by_column) <= 0:
        return "gaussian"
    return "rows" if by_row >= by_column else "columns"


def leaves_open(wish: NoiseChoice, likelihood: Likelihood, observations: Observations) -> bool:
    """Whether the data are to tell if columns or rows have a noise of their own: plain numbers alone can."""
    plain = likelihood.kind == "numbers" and likelihood.limits is None and not likelihood.split
    return is_choice(wish, ["auto"]) and plain and likelihood.noise == "gaussian" and observations.is_plain


def one_noise(noise: Noise) -> Noise:
    """Return the law by which a fit goes on where values have limits or standard errors, or a GPU draws them."""
    return "gaussian" if noise in ("columns", "rows") else noise


class HeldOut(NamedTuple):
    """How measurements that were held out are predicted: their places, squared errors and log densities."""

    rows: Indices32
    cols: Indices32
    squares: Array
    log_scores: Array

    @classmethod
    def join(cls, parts: Iterable[HeldOut]) -> HeldOut:
        """Put several parts together."""
        return cls(*(np.concatenate(columns) for columns in zip(*parts, strict=True)))


def find_differing(baseline: HeldOut, shape: tuple[int, int]) -> list[Noise]:
    """Return "columns" or "rows", or both, where errors of predictions with one noise differ by these beyond chance."""
    sides: tuple[tuple[Noise, Indices32, int], ...] = (
        ("columns", baseline.cols, shape[1]), ("rows", baseline.rows, shape[0])
    )  # fmt: skip
    return [noise for noise, line, m in sides if excess(baseline.squares, line, m, subtracted=0) > 0]


def compare_noises(baseline: HeldOut, candidates: dict[Noise, HeldOut]) -> Noise:
    """Return the law that gives measurements the most probability; gaussian unless another does so beyond chance.

    Nor may its squared errors be larger beyond chance.
    """
    gains: dict[Noise, float] = {"gaussian": 0.0}
    for noise, candidate in candidates.items():
        gained = candidate.log_scores - baseline.log_scores
        lost = candidate.squares - baseline.squares
        if _errors_above_zero(gained) > BEYOND and _errors_above_zero(lost) < BEYOND:
            gains[noise] = float(gained.mean())
    return max(gains, key=lambda noise: gains[noise])


def _errors_above_zero(differences: Array) -> float:
    """Return by how many standard errors the mean is above 0."""
    error = float(differences.std()) / np.sqrt(differences.size)
    return float(differences.mean()) / error if error > 0 else 0.0


def subtract_means(o: Observations) -> Array:
    """Return the values less the means of their rows and columns."""
    residuals = o.values - o.values.mean()
    for _ in range(ROUNDS):
        for line, m in zip((o.rows, o.cols), o.shape, strict=True):
            counts = np.bincount(line, minlength=m)
            residuals = residuals - (np.bincount(line, residuals, m) / np.maximum(counts, 1))[line]
    return np.asarray(residuals, dtype=np.float64)


def excess(squares: Array, line: Indices32, m: int, subtracted: int = 1) -> float:
    """Return how much the variances of lines differ, relative to their mean; 0 where that may be chance.

    subtracted: how many means were subtracted from the values of each line.

    With one law for all, the mean of n squares has variance v / n around the common mean, v that of a square. What the
    variances of lines vary beyond that is theirs.
    """
    if not squares.any():
        return 0.0
    counts = np.bincount(line, minlength=m).astype(np.float64)
    some, relative = counts > subtracted, squares / squares.mean()
    v = float(relative.var())
    means = np.bincount(line, relative, m)[some] / (counts[some] - subtracted)
    beyond = float((counts[some] * (means - 1) ** 2).sum() - v * some.sum())
    chance = v * float(np.sqrt(2 * some.sum()))
    return beyond / float(counts[some].sum()) if beyond > DOUBT * chance else 0.0


def warn_of_known_noise(o: Observations, likelihood: Likelihood, transform: Transform) -> None:
    """Warn of a known noise that would spread the values more than they are spread: it may be in another unit."""
    noise_sd = likelihood.noise_sd
    if noise_sd is None or o.n < FEW or likelihood.limits is not None or not (o.low is None and o.se is None):
        return
    spread = float(np.std(transform.forward(o.values)))
    if spread < NARROW * noise_sd:
        scale = "" if str(transform) == "none" else f" (on the scale of transform={str(transform)!r})"
        warn(
            f"noise_sd is {noise_sd:g}, but the values vary by less: their standard deviation is {spread:.3g}{scale}. "
            "Is noise_sd in their unit, and of a single measurement?",
            stacklevel=3,
        )
