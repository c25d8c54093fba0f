"""What a measurement says when its cells are put together: value, low, high and se, or how many of how many trials."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from maxentry.cells import (
    YES_NO,
    Statement,
    Words,
    is_empty,
    parse_id,
    parse_measurement,
    parse_number,
    read_cells,
)
from maxentry.errors import DataError
from maxentry.labels import NOTHING as NO_MEASUREMENT
from maxentry.labels import as_array, floats
from maxentry.tables import DecimalComma
from maxentry.wording import as_text, show

MOST_TRIALS = 100_000  # in one line


class Reading(NamedTuple):
    """One measurement as a line of a table has it: its ends and its standard error."""

    low: float
    high: float
    se: float = 0.0

    @property
    def statement(self) -> Statement:
        """What it says of the value."""
        return Statement(self.low, self.high)

    @property
    def is_value(self) -> bool:
        """Whether it is a plain value, perhaps with a standard error."""
        return self.low == self.high

    @property
    def is_plain(self) -> bool:
        """Whether it is a plain value without a standard error."""
        return self.low == self.high and not self.se

    def __str__(self) -> str:
        """The statement, and the standard error in words where there is one."""
        said = f"{self.low:g}" if self.is_value else str(self.statement)
        return f"{said} (se {self.se:g})" if self.se else said


def check_reading(reading: Reading, where: str) -> Reading:
    """Return a reading whose standard error is finite and not negative; raise for others."""
    if not 0 <= reading.se < math.inf:
        wanted = "a standard error that is finite and not negative"
        raise DataError(f"{where}: expected {wanted}, got {reading.se:g}.")
    return reading


def parse_line(
    cell: Mapping[str, Any],
    where: Callable[[str], str],
    decimal_comma: DecimalComma = "never",
    words: Words | None = None,
) -> list[Reading]:
    """Read the measurements of a line: none where it is empty, several where it counts successes of trials.

    cell: the cells by role (see `frames.BESIDE`); where: the name of a role's cell for errors.
    """
    statement = parse_measurement(cell.get("value"), where("value"), decimal_comma, words)
    if words is YES_NO and cell.keys() & {"successes", "trials"}:
        counts = _parse_counts(cell, where)
        if counts and statement is not None:
            raise DataError(f"{where('value')}: expected a value, or successes and trials, got both.")
        if counts and not is_empty(cell.get("se")):
            raise DataError(
                f"{where('se')}: expected no standard error beside counts, got {as_text(cell['se'])}."
            )
        if counts:
            return [Reading(1.0, 1.0)] * counts[0] + [Reading(0.0, 0.0)] * (counts[1] - counts[0])
    if "low" in cell or "high" in cell:
        statement = _within(statement, cell, where, decimal_comma)
    if statement is None:
        return []
    se = parse_number(cell["se"], where("se"), decimal_comma) if "se" in cell else None
    return [check_reading(Reading(*statement, se or 0.0), where("se"))]


def _within(
    statement: Statement | None,
    cell: Mapping[str, Any],
    where: Callable[[str], str],
    decimal_comma: DecimalComma,
) -> Statement | None:
    """Put a value together with cells of its ends: an empty end is open, a value must be one of them."""
    low, high = (parse_number(cell.get(name), where(name), decimal_comma) for name in ("low", "high"))
    if low is None and high is None:
        return statement
    ends = Statement(-math.inf if low is None else low, math.inf if high is None else high)
    if not ends.low <= ends.high or (math.isinf(ends.low) and math.isinf(ends.high)):
        wanted = "low at or below high, and one of them finite"
        raise DataError(f"{where('low')}: expected {wanted}, got {ends.low:g} and {ends.high:g}.")
    one_sided = ends.is_value or math.isinf(ends.low) or math.isinf(ends.high)
    if statement is None or statement == ends or (one_sided and statement == (ends.value, ends.value)):
        return ends
    raise DataError(
        f"{where('value')}: expected a value, or its limits low and high, got both. Leave the value empty where only "
        "the limits are known; rename low and high if they are a confidence interval."
    )


def _parse_counts(cell: Mapping[str, Any], where: Callable[[str], str]) -> tuple[int, int] | None:
    """Read how many of how many trials were a success; None where both are empty."""
    names = ("successes", "trials")
    successes, trials = (parse_id(cell.get(x), where(x), f"a whole number of {x}") for x in names)
    if successes is None and trials is None:
        return None
    if successes is None or trials is None or not 0 <= successes <= trials <= MOST_TRIALS:
        wanted = f"successes from 0 to trials, and at most {MOST_TRIALS} trials"
        got = " of ".join("none" if x is None else str(x) for x in (successes, trials))
        raise DataError(f"{where('trials')}: expected {wanted}, got {got}.")
    return successes, trials


def read_lines(
    values: NDArray[Any],
    beside: Mapping[str, Sequence[Any]],
    rows: Sequence[Any],
    cols: Sequence[Any],
    words: Words | None,
) -> tuple[NDArray[np.int64] | None, Any, Any, Any, Any]:
    """Read the measurements of a long frame: the line of each (None: one for every line), value, low, high and se."""

    def place(k: int) -> str:
        return f"row {show(rows[k])}, column {show(cols[k])}"

    if not beside:
        return None, *read_cells(values, place, words), None
    at, found = [], []
    for k, cell in enumerate(values):
        line = {"value": cell} | {name: column[k] for name, column in beside.items()}
        readings = parse_line(line, lambda name, k=k: f"{place(k)}, {name}", words=words)  # type: ignore[misc]
        at += [k] * len(readings)
        found += readings
    if not found:
        raise DataError(NO_MEASUREMENT)
    low, high, se = np.array(found, dtype=np.float64).T
    return np.array(at, dtype=np.int64), np.full(len(at), np.nan), low, high, se


def check_ends(
    low: Any, high: Any, values: NDArray[np.float64], where: Callable[[int], str]
) -> tuple[NDArray[np.float64] | None, NDArray[np.float64] | None]:
    """Check the ends of the measurements; a value that is NaN becomes a number between its ends, in place."""
    low, high = (_read_beside(end, values.size, name, where) for end, name in ((low, "low"), (high, "high")))
    plain = np.isnan(low) & np.isnan(high)
    low[plain] = high[plain] = values[plain]
    with np.errstate(invalid="ignore"):
        wrong = ~plain & (
            ~(low <= high) | (low == np.inf) | (high == -np.inf) | (np.isinf(low) & np.isinf(high))
        )
        representative = np.where(np.isinf(low), high, np.where(np.isinf(high), low, low / 2 + high / 2))
        unset = np.isnan(values) & ~plain
        values[unset] = np.where(low == high, low, representative)[unset]
        outside = ~plain & ~wrong & ~((low <= values) & (values <= high))
    if wrong.any():
        k = int(np.argmax(wrong))
        wanted = "a lower end at or below the upper one, at least one of them finite (-inf, inf: open)"
        raise DataError(f"expected {wanted}, got {low[k]:g} and {high[k]:g} at {where(k)}.")
    if outside.any():
        k = int(np.argmax(outside))
        raise DataError(
            f"expected a value between its ends {low[k]:g} and {high[k]:g}, got {values[k]:g} at {where(k)}."
        )
    return low, high


def check_errors(
    se: Any, values: NDArray[np.float64], where: Callable[[int], str]
) -> NDArray[np.float64] | None:
    """Check the standard errors; a missing one is 0."""
    errors = _read_beside(se, values.size, "se", where)
    errors[np.isnan(errors)] = 0.0
    wrong = ~((errors >= 0) & (errors < np.inf))
    if wrong.any():
        k = int(np.argmax(wrong))
        raise DataError(
            f"expected standard errors that are finite and not negative, got {errors[k]:g} at {where(k)}."
        )
    return errors


def _read_beside(given: Any, n: int, name: str, where: Callable[[int], str]) -> NDArray[np.float64]:
    """Return numbers given beside the values, one for each."""
    if given is None:
        raise DataError("expected low= and high= together, got one of them (-inf and inf are open ends).")
    array = as_array(given)
    if array.shape != (n,):
        raise DataError(f"expected {name}= of length {n}, one for each value, got shape {array.shape}.")
    return floats(array, where)


def count_limits(low: NDArray[np.float64], high: Any) -> str:
    """Say how many measurements are below a limit, above one or between two."""
    below, above = np.isinf(low), np.isinf(high)
    between = int((~below & ~above & (low < high)).sum())
    counts = (int(below.sum()), "below a limit"), (int(above.sum()), "above one"), (between, "between two")
    return ", ".join(f"{count} {words}" for count, words in counts if count)
