"""Values of settings as users give them: read, checked, and brought into the order of the labels.

NumPy is imported when it is used: the command line's `--help` reads the declarations of settings without it.
"""

from __future__ import annotations

import json
import math
import warnings
from collections.abc import Hashable, Iterable
from dataclasses import Field
from typing import TYPE_CHECKING, Any

from maxentry.errors import DataError, ParameterError, is_choice, is_positive, is_whole
from maxentry.wording import count, show

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from maxentry.features import FeatureTable
    from maxentry.labels import Labels

MOST_FEATURES = 2_000_000  # numbers in the features of a side: they are part of an event


def check_noun(setting: str, name: object) -> None:
    """Refuse what cannot be a word for rows, columns or units."""
    if name is not None and not (isinstance(name, str) and 0 < len(name) <= 200 and name.isprintable()):
        raise ParameterError(f"expected {setting} of 1 to 200 printable characters, got {show(name)}.")


def check_name(name: object) -> None:
    """Refuse what cannot be the name of a campaign."""
    if not (isinstance(name, str) and name.strip() == name and 0 < len(name) <= 200 and name.isprintable()):
        raise ParameterError(f"expected a name of 1 to 200 printable characters, got {show(name)}.")


def read_labels(labels: Any, name: str) -> Labels:
    """Check labels and make sure that JSON preserves them; a whole number n stands for the labels 0 to n - 1."""
    from maxentry.labels import check_labels

    if is_whole(labels):
        labels = range(int(labels))
    known = check_labels(labels, name)
    if len(known) < 2:
        raise DataError(f"expected at least 2 {name}s, got {len(known)}.")
    return _round_trip(known)


def read_names(labels: Any, name: str) -> Labels:
    """Check other labels of some rows or columns, as `read_labels` does those of all."""
    from maxentry.labels import check_labels

    return _round_trip(check_labels(labels, name))


def _round_trip(labels: Labels) -> Labels:
    """Return the labels as JSON will give them back, so that a reopened campaign has the same labels."""
    from maxentry.labels import decode, encode

    plain = encode(labels)
    try:
        return decode(json.loads(json.dumps(plain, allow_nan=False))) or ()
    except ValueError:
        raise DataError("expected finite numbers among the labels, got an infinite one.") from None


def append_labels(known: Labels, new: Iterable[Hashable], name: str) -> Labels:
    """Return labels with new ones after them, as JSON will give them back."""
    from maxentry.labels import check_labels

    more = check_labels(new, name)
    if not more:
        raise DataError(f"expected {name} labels to add, got none.")
    return _round_trip(check_labels((*known, *more), name))


def check_declared(declared: Field[Any], value: Any) -> Any:
    """Return the value of a setting if it is within its declared limits; the default always is."""
    name, limits = declared.name, declared.metadata
    if isinstance(value, type(declared.default)) and value == declared.default:
        return value
    if isinstance(declared.default, bool):
        import numpy as np

        if not isinstance(value, (bool, np.bool_)):
            raise ParameterError(f"expected {name} to be True or False, got {show(value)}.")
        return bool(value)
    if "choices" in limits and not is_choice(value, limits["choices"]):
        default = () if declared.default in limits["choices"] else (declared.default,)
        known = ", ".join(repr(choice) for choice in (*default, *limits["choices"]))
        raise ParameterError(f"expected {name} to be one of {known}, got {show(value)}.")
    if "least" in limits:
        least = limits["least"]
        if not is_whole(value, least):
            raise ParameterError(f"expected {name} to be a whole number from {least} on, got {show(value)}.")
        return int(value)
    if "positive" in limits:
        if not is_positive(value):
            raise ParameterError(f"expected {name} to be a positive finite number, got {show(value)}.")
        return float(value)
    return value


def read_goal(value: Any) -> str:
    """Return a goal as text."""
    if value == "fill" or value is None:
        return "fill"
    from maxentry.model.goal import Goal

    return str(Goal.parse(value))


def read_weights(value: Any, goal: str, rows: Labels, cols: Labels) -> tuple[float, ...] | None:
    """Read the weights of a ranking, in order or by label."""
    if value is None:
        return None
    from maxentry.labels import Axis
    from maxentry.model.goal import Goal

    axes = Axis("row", len(rows), rows), Axis("column", len(cols), cols)
    return Goal.parse(goal).weighted(value, *axes).weights


def read_levels(value: Any) -> tuple[Any, ...] | None:
    """Read the grades in their order."""
    if value is None:
        return None
    from maxentry.frames import is_sequence, to_list

    if not is_sequence(value):
        raise ParameterError(f"expected levels as a list of the grades in their order, got {show(value)}.")
    return tuple(to_list(value))


def read_range(value: Any, name: str) -> tuple[float, float] | None:
    """Read the ends of a range; of limits, None is an open end."""
    if value is None:
        return None
    from maxentry.frames import is_sequence, to_float, to_list

    given = to_list(value) if is_sequence(value) else []
    if name == "limits" and len(given) == 2:  # None: open at that end
        given = [end if x is None else x for x, end in zip(given, (-math.inf, math.inf), strict=True)]
    ends = [to_float(x) for x in given]
    low, high = (math.nan if x is None else x for x in (ends if len(ends) == 2 else (None, None)))
    if not low < high:
        raise ParameterError(f"expected {name} as (low, high) with low below high, got {show(value)}.")
    return low, high


def read_mask(mask: Any, rows: Labels, cols: Labels) -> NDArray[np.bool_] | None:
    """Read which entries can be measured, in order or by label."""
    if mask is None:
        return None
    import numpy as np

    from maxentry.frames import parse_flags
    from maxentry.labels import align_matrix, as_array

    ordered, shape = align_matrix(mask, rows, cols, "mask"), (len(rows), len(cols))
    array = np.array(as_array(mask) if ordered is mask else parse_flags(ordered))
    if array.dtype != np.bool_ or array.shape != shape:
        got = f"an array of {array.dtype} of shape {array.shape}"
        raise ParameterError(f"expected a mask of {shape[0]} x {shape[1]} booleans, got {got}.")
    if not array.any():
        raise ParameterError("expected a mask that leaves something to measure, got False everywhere.")
    array.setflags(write=False)
    return array


def read_features_of(value: Any, labels: Labels, side: str) -> FeatureTable | None:
    """Read the features of rows or columns, in order or by label; warn of what is left out."""
    if value is None:
        return None
    if is_choice(value, ("observed",)):
        raise ParameterError(
            f"expected {side} features as a table, got 'observed'. A campaign chooses what is measured, so that it "
            "says nothing of the values: 'observed' is for complete() only"
        )
    from maxentry.features import Features, FeatureTable, read_features
    from maxentry.labels import Axis

    axis = Axis(side, len(labels), labels)
    if isinstance(value, FeatureTable):  # it was read before
        return _check_size(read_features(value, axis)[0], side)
    features = Features.of(value, axis)
    for note in features.notes:
        warnings.warn(note, stacklevel=5)
    return _check_size(features.table, side)


def _check_size(table: FeatureTable, side: str) -> FeatureTable:
    if table.n_stored > MOST_FEATURES:
        raise DataError(
            f"expected at most {MOST_FEATURES:,} numbers in the {side} features of a campaign, got "
            f"{table.n_stored:,}.",
            hint="Choose fewer features, or use complete() in Python.",
        )
    return table


def append_features(
    known: FeatureTable | None, features: FeatureTable | None, n_known: int, n_new: int
) -> FeatureTable:
    """Return the features of known rows (or columns) and of new ones after them; either may have none."""
    if known is not None and features is not None:
        return known.append(features)
    some = known if known is not None else features
    assert some is not None
    blank = [-1] * (n_new if known is not None else n_known)
    own = [*range(len(some))]
    return some.take([*own, *blank] if known is not None else [*blank, *own])


def read_more_features(
    given: Any, labels: Labels, side: str, known: FeatureTable | None
) -> FeatureTable | None:
    """Read the features of rows (or columns) that are added, in the columns that are known; warn of missing ones."""
    table, notes = look_at_features(given, labels, side, known)
    for note in notes:
        warnings.warn(note, stacklevel=6)
    return table


def look_at_features(
    given: Any, labels: Labels, side: str, known: FeatureTable | None
) -> tuple[FeatureTable | None, list[str]]:
    """Return the features of rows (or columns) that are added, and what to say of those that are missing."""
    from maxentry.features import describe_missing, describe_slips, read_features
    from maxentry.labels import Axis

    axis = Axis(side, len(labels), labels)
    if given is None:
        some = ", ".join(axis.show(i) for i in range(min(3, axis.size))) + (", ..." if axis.size > 3 else "")
        without = f"{side} features: {count(axis.size, f'new {side}')} without features: {some}"
        return None, [] if known is None else [without]
    table, notes = read_features(given, axis, known=known)
    dense = known is not None and not known.is_sparse and not table.is_sparse
    missing = describe_missing(table.match(known) if known is not None and dense else table)
    levels = table.new_levels(known) if known is not None and dense else []
    alone = (
        [f"no other {side} has features; until others have some, these say nothing"] if known is None else []
    )
    said = (*notes, *alone, *missing, *levels, *describe_slips(table, known))
    return _check_size(table, side), [f"{side} features: {note}" for note in said]


def read_new_costs(cost: Any, n: int) -> tuple[float, ...] | None:
    """Read the costs of n rows (or columns) that are added: one for all, or one each."""
    if cost is None:
        return None
    import numpy as np

    try:
        return tuple(np.broadcast_to(np.asarray(cost, dtype=np.float64), n).tolist())
    except Exception:  # frames and arrays of other libraries have errors of their own
        raise DataError(f"expected one cost, or {n}, as numbers, got {show(cost)}.") from None
