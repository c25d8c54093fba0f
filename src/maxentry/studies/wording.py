"""How a report writes names and numbers."""

from __future__ import annotations

import math
from collections.abc import Callable

from maxentry.studies.metrics import Interval, Reached
from maxentry.studies.strategies import STRATEGIES


def title(strategy: str) -> str:
    """A strategy as readers know it; its name, if it is not one of ours."""
    return STRATEGIES[strategy].title if strategy in STRATEGIES else strategy.replace("_", " ")


def spelled(interval: Interval, digits: int = 2) -> str:
    """0.77 (0.70 to 0.85)."""
    if math.isnan(interval.value):
        return ""
    if not interval.known:
        return f"{interval.value:.{digits}f} (one replicate)"
    digits = max(digits, digits_of(interval))
    return f"{interval.value:.{digits}f} ({interval.low:.{digits}f} to {interval.high:.{digits}f})"


def digits_of(interval: Interval) -> int:
    """Two, but where an end would be written as 1.00 and one must see on which side of 1 it is."""
    return 3 if "1.00" in (f"{interval.low:.2f}", f"{interval.high:.2f}") else 2


def count(x: float) -> str:
    """Entries or a cost: 1,234, 5.6; "never" if infinite."""
    if math.isnan(x):
        return ""
    if math.isinf(x):
        return "never"
    return f"{x:,.0f}" if abs(x) >= 10 else f"{x:.3g}"


def took(reached: Reached, write: Callable[[float], str] = count) -> str:
    """55 (50 to 61); "never" alone if no quartile ever did."""
    if math.isnan(reached.median) or math.isinf(reached.low):
        return write(reached.median)
    return f"{write(reached.median)} ({write(reached.low)} to {write(reached.high)})"


def seconds(x: float) -> str:
    """Two or three digits."""
    return "" if math.isnan(x) else f"{x:.2g}" if x < 10 else f"{x:,.0f}"


def share(x: float) -> str:
    """91%, 0.3%; "never" if infinite."""
    if not math.isfinite(x):
        return count(x)
    return f"{x:.0%}" if x >= 0.1 else f"{100 * x:.2g}%"
