"""The scale on which values are modelled: as they are, their logarithm, or the logit of their place in an interval.

The model is additive with noise of one size, so values that vary by factors (concentrations, counts, prices) belong
on the log scale, and values with limits at both ends (shares, percentages) on the logit scale. Every transform is
increasing, so it takes quantiles to quantiles.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import expit, xlogy

from maxentry._types import Array, Flags
from maxentry.errors import DataError, ParameterError, is_choice
from maxentry.wording import show

Kind = Literal["none", "log", "logit"]

SMALLEST, LARGEST = 1e-150, 1e150  # of a value with a logarithm here: their squares are still numbers
PERCENT = "percent"
EXPECTED = "transform must be 'none', 'log', 'logit', 'logit(low, high)' or 'percent'"


@dataclass(frozen=True, slots=True)
class Transform:
    """`forward` maps the user's units to the scale of the model, `inverse` maps back.

    kind: "none", "log", or "logit" of (y - low) / (high - low)
    low, high: the interval of a logit, its ends left out

    As text ("log", "logit(0, 100)"; also "percent", which is that one): `Transform.parse(text)`, and back by `str`.
    """

    kind: Kind = "none"
    low: float = 0.0
    high: float = 1.0

    def __post_init__(self) -> None:
        if not is_choice(self.kind, get_args(Kind)):
            raise ParameterError(f"{EXPECTED}, got {show(self.kind)}")
        try:
            low, high = float(self.low), float(self.high)
        except Exception:  # no number, one too large, or a class of somebody else's
            low = high = np.nan
        if not (np.isfinite(high - low) and low < high):
            raise ParameterError(
                f"a logit needs an interval with low < high, got low = {show(self.low)} and high = {show(self.high)}"
            )
        if self.kind != "logit" and (low, high) != (0.0, 1.0):
            raise ParameterError(f"only a logit has an interval, got {show(self.kind)} with ({low}, {high})")
        object.__setattr__(self, "low", low)
        object.__setattr__(self, "high", high)

    @classmethod
    def parse(cls, wish: str | Transform) -> Transform:
        """A transform as it is, or read from its text."""
        if isinstance(wish, Transform):
            return wish
        text = wish.strip().lower() if isinstance(wish, str) else ""
        if text in get_args(Kind):
            return cls(text)  # type: ignore[arg-type]
        if text == PERCENT:
            return cls("logit", 0.0, 100.0)
        if match := re.fullmatch(r"logit\s*\(([^,()]+),([^,()]+)\)", text):
            return cls("logit", *match.groups())  # type: ignore[arg-type]
        raise ParameterError(f"{EXPECTED}, got {show(wish)}")

    def __str__(self) -> str:
        if self.kind != "logit" or (self.low, self.high) == (0.0, 1.0):
            return self.kind
        return f"logit({_number(self.low)}, {_number(self.high)})"

    def inside(self, values: ArrayLike) -> Flags:
        """Return which values the scale can represent; NaN and infinity never."""
        y = np.asarray(values, dtype=np.float64)
        if self.kind == "log":
            return np.asarray((y >= SMALLEST) & (y <= LARGEST))
        if self.kind == "logit":
            return np.asarray((y > self.low) & (y < self.high))
        return np.isfinite(y)

    def forward(self, values: ArrayLike, where: Callable[[int], str] | None = None) -> Array:
        """Return the values on the scale of the model; raise DataError for one outside, named by `where`."""
        y = np.asarray(values, dtype=np.float64)
        outside = ~self.inside(y)
        if outside.any():
            k = int(np.argmax(outside))
            got = f"{_number(float(y.flat[k]))}{f' at {where(k)}' if where else ''}"
            expected, advice = self._refusal()
            raise DataError(f"{expected}, got {got}{advice}.")
        if self.kind == "log":
            return _log(y)
        if self.kind == "logit":
            return _log((y - self.low) / (self.high - y))
        return y

    def inverse(self, z: ArrayLike) -> Array:
        """Return values in the user's units; the log scale stops at 1e150, so that nothing overflows."""
        x = np.asarray(z, dtype=np.float64)
        if self.kind == "log":
            return np.asarray(np.exp(np.clip(x, np.log(SMALLEST), np.log(LARGEST))))
        if self.kind == "logit":
            share = expit(x)
            return np.clip(self.low * (1.0 - share) + self.high * share, self.low, self.high)
        return x

    def _refusal(self) -> tuple[str, str]:
        """What is expected of values, and what to do about those outside."""
        if self.kind == "log":
            expected = "expected positive values (1e-150 to 1e150) for the log scale"
            return expected, "; values that can be zero or negative are best left as they are"
        if self.kind == "logit":
            width = 0.01 * (self.high - self.low)
            low, high, lower, higher = map(
                _number, (self.low, self.high, self.low - width, self.high + width)
            )
            advice = f"; a wider interval, like transform='logit({lower}, {higher})', has room for values at its ends"
            return f"expected values above {low} and below {high} for the {self} scale", advice
        return "expected finite numbers", ""


NONE = Transform()


def _log(x: Array) -> Array:
    """The C library's logarithm: NumPy's rounds differently on other processors, which chains would magnify."""
    return np.asarray(xlogy(1.0, x))


def _number(x: float) -> str:
    return repr(x).removesuffix(".0")
