"""Settings: what a campaign is about and how it chooses, checked once, written as JSON."""

from __future__ import annotations

import json
import math
from collections.abc import Hashable, Iterable, Mapping
from dataclasses import MISSING, dataclass, field, fields, replace
from numbers import Integral, Real
from typing import Any, Literal, cast

import numpy as np
from numpy.typing import NDArray

from maxentry import labels as label_codec
from maxentry.campaign import costs as aligned
from maxentry.campaign.costs import Prices, frozen, pack, unpack
from maxentry.errors import DataError, ParameterError, RankError
from maxentry.labels import Labels, checked_labels
from maxentry.transform import LARGEST, SMALLEST, Transform

ACQUISITIONS = (
    "maxent",
    "maxent_nearest",
    "predictive_variance",
    "integrated_variance",
    "uniform",
    "balanced",
)
WITHOUT_MODEL = ("uniform", "balanced")  # of them
DEFAULT_ACQUISITION = "predictive_variance"
# What may change while a campaign runs. The others would change what earlier values mean.
CHANGEABLE = (
    "acquisition", "again", "budget", "costs", "effects", "lease", "mask", "noise", "per_col", "per_row",
    "plates", "priors", "range", "rank", "target_sd",
)  # fmt: skip


@dataclass(frozen=True, eq=False)
class Settings:
    """Everything a campaign knows before it is told anything.

    rows, cols: the labels, in order. mask: m1 x m2, True where an entry may be measured (None: everywhere); of a
    frame, by its labels.
    rank, noise, effects, priors: of the model, as in `complete`; priors may be None or "paper".
    transform: the scale on which the model holds, as text ("none", "log", "logit", …); values are always in
        the user's units. range: the least and the greatest value that can be told.
    costs: of an entry, of its row and of its column. budget: of all that is asked. target_sd: good enough.
    lease: seconds until an asked entry goes back. again: whether an entry may be asked again once told.
    n_initial: entries of the initial design (None: the larger of m1 and m2).
    per_row, per_col, plates: limits on every batch, unless `ask` gives others.
    """

    name: str
    rows: Labels
    cols: Labels
    seed: int
    rank: int | Literal["auto"] = "auto"
    acquisition: str = DEFAULT_ACQUISITION
    noise: Literal["gaussian", "student"] = "gaussian"
    effects: bool = True
    priors: Literal["paper"] | None = None
    transform: str = "none"
    range: tuple[float, float] | None = None
    costs: Prices = field(default_factory=Prices)
    mask: NDArray[np.bool_] | None = None
    lease: float | None = None
    n_initial: int | None = None
    again: bool = False
    target_sd: float | None = None
    budget: float | None = None
    per_row: int | None = None
    per_col: int | None = None
    plates: Literal["rows", "cols"] | None = None

    def __post_init__(self) -> None:
        _check_name(self.name)
        self._set("rows", _labels(self.rows, "row"))
        self._set("cols", _labels(self.cols, "column"))
        self._set("seed", _whole(self.seed, "seed", 0))
        _one_of(self.acquisition, "acquisition", ACQUISITIONS)
        _one_of(self.noise, "noise", ("gaussian", "student"))
        _one_of(self.priors, "priors", (None, "paper"))
        _one_of(self.plates, "plates", (None, "rows", "cols"))
        for name in ("effects", "again"):
            self._set(name, _truth(getattr(self, name), name))
        if self.rank != "auto":
            self._set("rank", _whole(self.rank, "rank", 0))
        for name, least in (("n_initial", 0), ("per_row", 1), ("per_col", 1)):
            if getattr(self, name) is not None:
                self._set(name, _whole(getattr(self, name), name, least))
        for name in ("lease", "target_sd", "budget"):
            if getattr(self, name) is not None:
                self._set(name, _positive(getattr(self, name), name))
        self._set("transform", str(Transform.of(self.transform)))
        self._set("range", _range(self.range))
        self._set("costs", Prices.of(self.costs, self.rows, self.cols))
        self._set("mask", _mask(aligned.flags(self.mask, self.rows, self.cols), self.shape))

    def _set(self, name: str, value: object) -> None:
        object.__setattr__(self, name, value)

    @property
    def shape(self) -> tuple[int, int]:
        """(m1, m2)."""
        return len(self.rows), len(self.cols)

    # Others like these

    def changed(self, changes: Mapping[str, Any]) -> Settings:
        """These settings with others, checked when they were chosen, in their place."""
        return _as_written(Settings, {**self._all(), **changes})

    def with_rows(self, labels: Iterable[Hashable], cost: Any = None) -> Settings:
        """These settings with more rows after those there are: available, and costing `cost` or the mean."""
        return self._extended(rows=_joined(self.rows, labels, "row"), row_cost=cost)

    def with_cols(self, labels: Iterable[Hashable], cost: Any = None) -> Settings:
        """These settings with more columns after those there are: available, and costing `cost` or the mean."""
        return self._extended(cols=_joined(self.cols, labels, "column"), col_cost=cost)

    def _extended(
        self,
        rows: Labels | None = None,
        cols: Labels | None = None,
        row_cost: Any = None,
        col_cost: Any = None,
    ) -> Settings:
        rows, cols = rows or self.rows, cols or self.cols
        shape, mask = (len(rows), len(cols)), self.mask
        if mask is not None:
            mask = np.ones(shape, dtype=bool)
            mask[: self.shape[0], : self.shape[1]] = self.mask
        for cost, part, side in ((row_cost, self.costs.row, "row"), (col_cost, self.costs.col, "col")):
            if cost is not None and part is None:
                raise ParameterError(
                    f"expected a campaign with {side} costs, but this one has none to add to."
                )
        costs = self.costs.extended(shape, row_cost, col_cost)
        return self.changed({"rows": rows, "cols": cols, "mask": mask, "costs": costs})

    def _all(self) -> dict[str, Any]:
        return {f.name: getattr(self, f.name) for f in fields(self)}

    # JSON

    def to_json(self) -> dict[str, Any]:
        """As JSON can hold them."""
        return {name: to_json(name, value) for name, value in self._all().items()}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Settings:
        """The settings that were written. They were checked then; no rule of today may keep a campaign closed."""
        return _as_written(cls, {name: from_json(name, value) for name, value in data.items()})

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Settings) and self.to_json() == other.to_json()

    __hash__ = None  # type: ignore[assignment]


def _as_written(cls: type[Settings], values: Mapping[str, Any]) -> Settings:
    """Settings without the checks of new ones; those that an older maxentry did not have are as by default."""
    made = object.__new__(cls)
    for f in fields(cls):
        if f.name in values:
            value = values[f.name]
        elif f.default_factory is not MISSING:
            value = f.default_factory()
        elif f.default is not MISSING:
            value = f.default
        else:
            raise KeyError(f.name)
        object.__setattr__(made, f.name, value)
    return made


def to_json(name: str, value: Any) -> Any:
    """One setting as JSON can hold it."""
    if name in ("rows", "cols"):
        return label_codec.encode(value)
    if name == "costs":
        return cast(Prices, value).to_json()
    if name == "range" and value is not None:
        return [x if math.isfinite(x) else None for x in value]  # JSON has no infinity
    return pack(value) if name == "mask" else value


def from_json(name: str, value: Any) -> Any:
    """One setting as it was written."""
    if name not in Settings.__dataclass_fields__:
        raise ValueError(f"no such setting as {name!r}")
    if name in ("rows", "cols"):
        return label_codec.decode(value)
    if name == "costs":
        return Prices.from_json(value)
    if name == "range" and value is not None:
        low, high = value
        return (-math.inf if low is None else low), (math.inf if high is None else high)
    return unpack(value) if name == "mask" else value


def _check_name(name: object) -> None:
    if not (isinstance(name, str) and name.strip() == name and 0 < len(name) <= 200 and name.isprintable()):
        raise ParameterError(f"expected a name of 1 to 200 printable characters, but {name!r:.80} came.")


def _labels(labels: Any, name: str) -> Labels:
    """Labels that JSON keeps; a whole number n stands for the labels 0 to n - 1."""
    if isinstance(labels, Integral) and not isinstance(labels, bool):
        labels = range(int(labels))
    known = checked_labels(labels, name)
    if len(known) < 2:
        raise DataError(f"expected at least 2 {name}s, but {len(known)} came.")
    return _kept(known)


def _kept(labels: Labels) -> Labels:
    """The labels as they will be read again, so that a campaign is the same before and after it is opened."""
    plain = label_codec.encode(labels)
    try:
        return label_codec.decode(json.loads(json.dumps(plain, allow_nan=False))) or ()
    except ValueError:
        raise DataError("expected finite numbers among the labels, but an infinite one came.") from None


def _joined(known: Labels, new: Iterable[Hashable], name: str) -> Labels:
    more = checked_labels(new, name)
    if not more:
        raise DataError(f"expected {name} labels to add, but none came.")
    return _kept(checked_labels((*known, *more), name))


def _one_of(value: object, name: str, choices: tuple[str | None, ...]) -> None:
    if value not in choices:
        known = ", ".join(repr(choice) for choice in choices)
        raise ParameterError(f"expected {name} to be one of {known}, but {value!r} came.")


def _truth(value: Any, name: str) -> bool:
    if not isinstance(value, (bool, np.bool_)):
        raise ParameterError(f"expected {name} to be True or False, but {value!r} came.")
    return bool(value)


def _whole(value: Any, name: str, least: int) -> int:
    if not isinstance(value, Integral) or isinstance(value, bool) or value < least:
        raise ParameterError(f"expected {name} to be a whole number from {least} on, but {value!r} came.")
    return int(value)


def _positive(value: Any, name: str) -> float:
    if not isinstance(value, Real) or isinstance(value, bool) or not 0 < float(value) < math.inf:
        raise ParameterError(f"expected {name} to be a positive finite number, but {value!r} came.")
    return float(value)


def _range(value: Any) -> tuple[float, float] | None:
    if value is None:
        return None
    try:
        low, high = (float(x) for x in value)
    except (TypeError, ValueError):
        low, high = math.nan, math.nan
    if not low < high:
        raise ParameterError(f"expected range as (low, high) with low below high, but {value!r} came.")
    return low, high


def _mask(mask: Any, shape: tuple[int, int]) -> NDArray[np.bool_] | None:
    if mask is None:
        return None
    array = np.array(mask)
    if array.dtype != np.bool_ or array.shape != shape:
        came = f"an array of {array.dtype} of shape {array.shape}"
        raise ParameterError(f"expected a mask of {shape[0]} x {shape[1]} booleans, but {came} came.")
    if not array.any():
        raise ParameterError("expected a mask that leaves something to measure, but all of it is False.")
    return frozen(array)


# Settings that are well-formed and still cannot work: refused when they are chosen, before anything is paid for.
#
# Events of older versions are replayed without these checks, so that a stricter one closes no campaign.
LONGEST_LEASE = 100 * 365.25 * 86400.0  # seconds


def changed(settings: Settings, changes: Mapping[str, Any]) -> Settings:
    """These settings with others in their place, checked: only those in CHANGEABLE, and only what can work."""
    for name in changes:
        if name not in CHANGEABLE:
            known = ", ".join(CHANGEABLE)
            raise ParameterError(f"expected a setting that may change ({known}), but {name!r} came.")
    return checked(replace(settings, **changes))


def checked(settings: Settings) -> Settings:
    """The settings, if a campaign with them can be asked, told and fitted."""
    for labels in (settings.rows, settings.cols):
        _check_text(labels)
    _check_rank(settings)
    _check_limits(settings)
    _check_values(settings)
    return settings


def _check_text(labels: Labels) -> None:
    try:
        json.dumps(label_codec.encode(labels), ensure_ascii=False).encode()
    except UnicodeEncodeError as error:
        wrong = error.object[error.start : error.end]
        raise DataError(f"expected labels that are text in UTF-8, but {wrong!a} came in one.") from None


def _check_rank(settings: Settings) -> None:
    """As `posterior.conjugate.check_rank`, which cannot be had without loading the sampler."""
    m1, m2 = settings.shape
    most = min(m1, m2) // 2
    if settings.rank == "auto":
        return
    if settings.rank > most:
        raise RankError(
            f"expected rank 'auto' or at most {most}, half the shorter side of a {m1} x {m2} matrix, but "
            f"{settings.rank} came."
        )
    if settings.rank == 0 and not settings.effects:
        raise RankError(
            "expected row and column effects with rank 0, but effects=False leaves nothing to fit."
        )


def _check_limits(settings: Settings) -> None:
    m1, m2 = settings.shape
    limits = [f"{name}={x}" for name in ("per_row", "per_col") if (x := getattr(settings, name)) is not None]
    if settings.plates is not None and limits:
        raise ParameterError(
            f"expected plates or limits per row and column, but plates={settings.plates!r} and {limits[0]} came."
        )
    if settings.n_initial is not None and settings.n_initial > m1 * m2:
        raise ParameterError(
            f"expected n_initial of at most all {m1 * m2} entries, but {settings.n_initial} came."
        )
    if settings.lease is not None and settings.lease > LONGEST_LEASE:
        raise ParameterError(f"expected a lease of at most 100 years, but {settings.lease:g} seconds came.")


def _check_values(settings: Settings) -> None:
    """Some value must be in the range and on the scale."""
    low, high = settings.range or (-math.inf, math.inf)
    scale = Transform.of(settings.transform)
    if scale.kind == "log":
        some = low <= LARGEST and high >= SMALLEST
    elif scale.kind == "logit":
        some = low < scale.high and high > scale.low
    else:
        some = low < math.inf and high > -math.inf
    if not some:
        raise ParameterError(
            f"expected a range with values for the {scale} scale, but none from {low:g} to {high:g} has a place there."
        )
