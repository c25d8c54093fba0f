"""Labels of rows and columns: the user knows a row by its label, everything inside by its position."""

import difflib
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from maxentry.errors import DataError, LabelError
from maxentry.frames import is_missing, is_number, listed, object_array
from maxentry.observations.numbers import as_array, positions_within

Labels = tuple[Hashable, ...]


@dataclass(frozen=True)
class Axis:
    """The rows, or the columns: how many, and by which labels they are known (None: their positions)."""

    name: str
    size: int
    labels: Labels | None

    @classmethod
    def of(cls, name: str, size: int, labels: Iterable[Hashable] | None) -> "Axis":
        """An axis of this size whose labels, if any, are as many, distinct and present."""
        known = None if labels is None else checked_labels(labels, name)
        if known is not None and len(known) != size:
            raise DataError(f"expected {size} {name} labels, but {len(known)} came.")
        return cls(name, size, known)

    @cached_property
    def positions(self) -> dict[Hashable, int]:
        """Position by label."""
        return {label: i for i, label in enumerate(self.labels or ())}

    def show(self, i: int) -> str:
        """The label at a position, as written in Python."""
        return show(int(i) if self.labels is None else self.labels[i])

    def index(self, labels: Any) -> NDArray[np.int64]:
        """Positions of one label (an array of no dimension) or of a sequence of labels (of its shape)."""
        if self._is_one_label(labels):
            return self.look_up([labels.item() if isinstance(labels, np.ndarray) else labels]).reshape(())
        if isinstance(labels, np.ndarray):
            return self.look_up(labels.ravel()).reshape(labels.shape)
        return self.look_up(listed(labels))

    def look_up(self, labels: Sequence[Any] | NDArray[Any]) -> NDArray[np.int64]:
        """Positions of a list of labels."""
        if self.labels is None:
            found, bad = positions_within(labels, self.size)
            if bad.any():
                self._refuse([labels[int(k)] for k in np.flatnonzero(bad)])
            return found
        wanted = listed(labels)
        try:
            return np.fromiter(map(self.positions.__getitem__, wanted), dtype=np.int64, count=len(wanted))
        except (KeyError, TypeError):
            self._refuse([x for x in wanted if not self._knows(x)])

    def within(self, items: NDArray[Any]) -> NDArray[np.int64]:
        """Items that must be positions on this axis."""
        found, bad = positions_within(items, self.size)
        if bad.any():
            k = int(np.argmax(bad))
            wanted = f"{self.name} indices from 0 to {self.size - 1}"
            raise DataError(f"expected {wanted}, but measurement {k} has {show(items[k])}.")
        return found

    def extended(self, labels: Iterable[Hashable]) -> "Axis":
        """This axis with more labels after its own."""
        own = range(self.size) if self.labels is None else self.labels
        known = checked_labels((*own, *listed(labels)), self.name)
        counted = self.labels is None and known == tuple(range(len(known)))
        return Axis(self.name, len(known), None if counted else known)

    def _is_one_label(self, labels: Any) -> bool:
        if isinstance(labels, np.ndarray):
            return labels.ndim == 0
        # A tuple is a sequence of labels unless it is itself a label.
        return isinstance(labels, (str, bytes)) or not hasattr(labels, "__iter__") or self._knows(labels)

    def _knows(self, label: Any) -> bool:
        try:
            return label in self.positions
        except TypeError:
            return False

    def _refuse(self, labels: list[Any]) -> NoReturn:
        more = f" and {len(labels) - 3} more" if len(labels) > 3 else ""
        came = ", ".join(show(x) for x in labels[:3]) + more
        if self.labels is None:
            raise LabelError(f"expected {self.name} positions from 0 to {self.size - 1}, but {came} came.")
        by_text = {str(label): label for label in self.labels}
        near = difflib.get_close_matches(str(labels[0]), by_text, n=1)
        hint = f" (did you mean {show(by_text[near[0]])}?)" if near else ""
        raise LabelError(f"expected known {self.name} labels, but {came} came{hint}.")


def place(row_axis: Axis, i: int, col_axis: Axis, j: int) -> str:
    """An entry as errors name it."""
    return f"row {row_axis.show(i)}, column {col_axis.show(j)}"


def show(label: object) -> str:
    """A label as written in Python, without NumPy's wrapping."""
    return repr(label.item() if isinstance(label, np.generic) and label.dtype.kind in "iufbU" else label)


def checked_labels(labels: Iterable[Hashable], name: str) -> Labels:
    """The labels as a tuple; one that is missing, not hashable or there twice is an error."""
    if isinstance(labels, (str, bytes)) or not hasattr(labels, "__iter__"):
        raise DataError(f"expected a sequence of {name} labels, but {show(labels)} came.")
    known = tuple(listed(labels))
    first: dict[Hashable, int] = {}
    for i, label in enumerate(known):
        if is_missing(label):
            raise DataError(f"expected a label for every {name}, but {name} {i} has {show(label)}.")
        if first.setdefault(_hashable(label, name), i) != i:
            twice = f"{show(label)} came twice, at {first[label]} and {i}"
            raise DataError(f"expected distinct {name} labels, but {twice}.")
    return known


def coded(
    items: Sequence[Any] | NDArray[Any], labels: Iterable[Hashable] | None, name: str
) -> tuple[NDArray[np.int64], Labels]:
    """Positions of the items, and all labels: those given, else those that came, in order of appearance."""
    wanted = listed(items)
    try:
        came = dict.fromkeys(wanted)
    except TypeError:
        came = {_hashable(x, name): None for x in wanted}  # raises, naming the label
    if any(is_missing(x) for x in came):
        k = next(k for k, x in enumerate(wanted) if is_missing(x))
        raise DataError(
            f"expected a {name} label with every measurement, but measurement {k} has {show(wanted[k])}."
        )
    known = tuple(came) if labels is None else checked_labels(labels, name)
    return Axis(name, len(known), known).look_up(wanted), known


def column_of(items: Any, name: str) -> NDArray[Any]:
    """One column of triples: whole numbers as they are, anything else as objects."""
    if isinstance(items, (str, bytes)) or not hasattr(items, "__iter__"):
        raise DataError(f"expected a sequence of {name}s, but {show(items)} came.")
    array = items.to_numpy() if hasattr(items, "to_numpy") else items
    if isinstance(array, np.ndarray) and (array.dtype.kind in "iu" or array.ndim != 1):
        return as_array(array)
    return object_array(listed(items))


def positions_or_labels(
    items: NDArray[Any], labels: Iterable[Hashable] | None, shape: tuple[int, int] | None, side: str
) -> tuple[NDArray[Any], Labels | None]:
    """Positions stand for themselves where only a shape is given; anything else is a label."""
    if labels is None and shape is not None:
        return items, None
    name = {"row": "row", "col": "column"}[side]
    numbered = items.dtype.kind in "iu" or all(is_number(x) for x in items)
    if labels is None and numbered:
        raise DataError(f"expected shape= or {side}_labels= with numbered {name}s, but neither came.")
    return coded(items, labels, name)


def _hashable(label: Any, name: str) -> Hashable:
    try:
        hash(label)
    except TypeError:
        kind = type(label).__name__
        raise DataError(f"expected hashable {name} labels, but {label!r} ({kind}) came.") from None
    return label  # type: ignore[no-any-return]
