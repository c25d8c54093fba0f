"""Settings: the matrix of a campaign and how entries are chosen, checked when they are set and stored as JSON.

New settings are checked for their form by `Settings` and for combinations that cannot work by `check_settings`. Stored
settings are read without these checks, so that a stricter rule never makes an existing campaign unreadable.

The command line builds its options from the declarations here, also for `--help`: NumPy is imported when it is used.
"""

from __future__ import annotations

import json
import math
from collections.abc import Hashable, Iterable, Mapping
from dataclasses import MISSING, Field, dataclass, field, fields, replace
from typing import TYPE_CHECKING, Any, Literal, get_type_hints

from maxentry._io import pack, unpack
from maxentry.acquisition import CRITERION_NAMES, WITHOUT_BELIEF
from maxentry.errors import DataError, ParameterError, is_choice, is_positive, is_whole
from maxentry.model.likelihood import KIND_NAMES, NOISE_NAMES, DataKind, Likelihood, Noise, kind_words
from maxentry.wording import show

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from maxentry.acquisition.problem import Costs
    from maxentry.cells import Reading, Words
    from maxentry.labels import Labels
    from maxentry.model.goal import Goal

WITHOUT_MODEL = WITHOUT_BELIEF
LATER = {
    "scale": "auto",
    "effort": "normal",
    "kind": "numbers",
    "levels": None,
    "limits": None,
    "goal": "fill",
    "enough": None,
    "row_name": None,
    "noise_sd": None,
    "weights": None,
    "col_name": None,
    "unit": None,
}  # defaults of settings that came later: campaigns without them are stored as ever


def _setting(
    default: Any = None, help: str = "", *, changeable: bool = True, factory: Any = MISSING, **limits: Any
) -> Any:
    """Declare one setting: its default, and what the command line, the server and the client need to know.

    help: one sentence for users. changeable: whether `set` may change it in a running campaign.
    limits: `choices`; `least`, for whole numbers; `positive`, for finite numbers above 0; and `metavar`, what the
    command line shows in place of the value where that is not a plain number or word.
    """
    metadata = {"help": help, "changeable": changeable, **limits}
    if factory is not MISSING:
        return field(default_factory=factory, metadata=metadata)
    return field(default=default, metadata=metadata)


def _no_costs() -> Costs:
    from maxentry.acquisition.problem import Costs

    return Costs()


@dataclass(frozen=True, eq=False)
class Settings:
    """The matrix of a campaign and how entries are chosen. Every setting is declared here, and only here.

    `name`, `rows`, `cols` and `seed` are set when a campaign is created. Values are always in the user's
    units; `rank`, `noise`, `effects`, `priors`, `transform`, `scale` and `effort` mean the same as in `complete`.
    Changing a setting that is not `changeable` would change the meaning of values recorded earlier.
    """

    name: str
    rows: Labels
    cols: Labels
    seed: int = field(metadata={"help": "The same seed gives the same answer.", "least": 0})
    rank: int | Literal["auto"] = _setting(
        "auto", "The rank, or auto: chosen by prediction.", least=0, metavar="auto|R"
    )
    acquisition: str = _setting("predictive_variance", "How entries are chosen.", choices=CRITERION_NAMES)
    noise: Noise = _setting(  # noqa: RUF009
        "gaussian",
        "student where single measurements go wrong; columns or rows where each has a noise of its own.",
        choices=NOISE_NAMES,
    )
    effects: bool = _setting(True, "Whether rows and columns have means of their own.")
    priors: Literal["paper"] | None = _setting(
        None, "The paper's priors instead of ours.", choices=("paper",)
    )
    transform: str = _setting(
        "none",
        "The scale of the model: none, log, logit, percent, or logit(LOW,HIGH). Results stay in your units.",
        changeable=False,
    )
    range: tuple[float, float] | None = _setting(
        None, "Values that can be told: 0,100 or 0, or ,1.", metavar="LOW,HIGH"
    )
    costs: Costs = _setting(  # noqa: RUF009
        help="row,cost or col,cost; or a matrix, or row,col,cost, for every entry. Given again, they add up.",
        factory=_no_costs,
        metavar="FILE",
    )
    mask: NDArray[np.bool_] | None = _setting(  # noqa: RUF009
        None,
        "A matrix of 1 and 0, or row,col,available: only 1 can be measured. A list of 0 alone bars those entries and "
        "no others.",
        metavar="FILE",
    )
    lease: float | None = _setting(
        None, "What is asked goes back after 90m, 12h, 3d, 2w.", positive=True, metavar="TIME"
    )
    n_initial: int | None = _setting(
        None, "Entries of the first design; the longer side if not given.", changeable=False, least=0
    )
    again: bool = _setting(False, "Whether what was told may be asked again.")
    target_sd: float | None = _setting(
        None, "Good enough: the typical sd to reach, in your units.", positive=True
    )
    budget: float | None = _setting(None, "Ask until this much is spent.", positive=True)
    per_row: int | None = _setting(None, "At most so many in a row.", least=1)
    per_col: int | None = _setting(None, "At most so many in a column.", least=1)
    plates: Literal["rows", "cols"] | None = _setting(
        None, "Whole rows or columns: N counts them.", choices=("rows", "cols")
    )
    scale: Literal["auto", "columns", "rows", "none"] = _setting(
        "auto",
        "Scales of their own for columns or rows in other units: auto, where they differ beyond doubt.",
        choices=("auto", "columns", "rows", "none"),
    )
    effort: Literal["quick", "normal", "thorough"] = _setting(
        "normal",
        "How long to sample: thorough takes about four times as long.",
        choices=("quick", "normal", "thorough"),
    )
    kind: DataKind = _setting(  # noqa: RUF009
        "numbers", "What values are: numbers, yes/no, or grades.", changeable=False, choices=KIND_NAMES
    )
    levels: tuple[str | int | float, ...] | None = _setting(
        None, "The grades in their order, like A,B,C or 1,2,3,4,5.", changeable=False, metavar="A,B,…"
    )
    limits: tuple[float, float] | None = _setting(
        None,
        "The ends of the scale, 0,100 or 0, or ,1: a value there means at or beyond.",
        metavar="LOW,HIGH",
    )
    goal: str = _setting(
        "fill",
        "What is wanted: fill, best, best per row, smallest 3 per column, rank rows, rank columns, threshold 6.5.",
        metavar="GOAL",
    )
    enough: float | None = _setting(
        None,
        "Good enough: the expected regret (best), or the share of pairs or entries that are wrong, to reach.",
        positive=True,
    )
    row_name: str | None = _setting(
        None, "What rows are called, as the first column of a wide export.", metavar="NAME"
    )
    noise_sd: float | None = _setting(
        None, "The known sd of a measurement around its entry, on the scale of the transform.", positive=True
    )
    weights: tuple[float, ...] | None = _setting(
        None, "Of a ranking: col,weight (or row,weight); those not named count once.", metavar="FILE"
    )
    col_name: str | None = _setting(
        None, "What columns are called, in answers: 'Best model for S4'.", metavar="NAME"
    )
    unit: str | None = _setting(None, "What values are measured in, like '% yield'.", metavar="UNIT")

    def __post_init__(self) -> None:
        from maxentry.acquisition.problem import read_costs
        from maxentry.transform import Transform

        _check_name(self.name)
        for side in ("row_name", "col_name", "unit"):
            _check_noun(side, getattr(self, side))
        self._set("rows", _read_labels(self.rows, "row"))
        self._set("cols", _read_labels(self.cols, "column"))
        for declared in fields(self):
            self._set(declared.name, _check_limits(declared, getattr(self, declared.name)))
        self._set("transform", str(Transform.parse(self.transform)))
        self._set("range", _read_range(self.range, "range"))
        self._set("limits", _read_range(self.limits, "limits"))
        self._set("levels", _read_levels(self.levels))
        self._set("goal", _read_goal(self.goal))
        self._set("weights", _read_weights(self.weights, self.goal, self.rows, self.cols))
        self._set("costs", read_costs(self.costs, self.rows, self.cols))
        self._set("mask", _read_mask(self.mask, self.rows, self.cols))

    def _set(self, name: str, value: object) -> None:
        object.__setattr__(self, name, value)

    @property
    def shape(self) -> tuple[int, int]:
        """(m1, m2)."""
        return len(self.rows), len(self.cols)

    @property
    def likelihood(self) -> Likelihood:
        """What a measurement says of its entry."""
        return Likelihood(self.kind, self.noise, self.levels or (), self.limits, self.noise_sd)

    @property
    def wanted(self) -> Goal:
        """The goal, with its weights."""
        from maxentry.model.goal import Goal

        return replace(Goal.parse(self.goal), weights=self.weights)

    @property
    def words(self) -> Words | None:
        """The words that stand for numbers in what is told."""
        return kind_words(self.kind, self.levels)

    # Values that are told

    def check_value(self, value: float | Reading, name: str) -> None:
        """Raise unless a value is finite, in the range and valid for the transform; so the ends of a limit."""
        import numpy as np

        from maxentry.transform import Transform

        if isinstance(value, float):
            low, high, said = value, value, f"{value:g}"
        else:
            low, high, said = value.low, value.high, str(value)
            if value.se and self.noise != "gaussian":
                wanted = f"expected values without standard errors with noise={self.noise!r}"
                raise DataError(f"{wanted}, got {said} at {name}; leave them out, or set noise to gaussian.")
        if self.likelihood.discrete:
            if not isinstance(value, float):
                raise DataError(f"expected a value of the kind {self.likelihood}, got {said} at {name}.")
            self.likelihood.check_value(value, name)
        least, most = self.range or (-math.inf, math.inf)
        for end in (low, high):
            if not math.isfinite(end) and low == high:
                raise DataError(f"expected finite numbers, got {end} at {name}.")
            if math.isfinite(end) and not least <= end <= most:
                raise DataError(f"expected values from {least:g} to {most:g}, got {said} at {name}.")
        transform = Transform.parse(self.transform)
        if low == high:
            transform.forward([low], lambda _: name)
        else:
            transform.check_limits(np.array([low]), np.array([high]), lambda _: name)

    def accepts(self, values: Iterable[float]) -> bool:
        """Return whether `check_value` would accept all of these; False where it must be asked for each."""
        import numpy as np

        from maxentry.transform import Transform

        if self.likelihood.discrete:
            return False
        told = np.array([*values], dtype=np.float64)
        low, high = self.range or (-math.inf, math.inf)
        valid = Transform.parse(self.transform).inside(told) & np.isfinite(told)
        return bool((valid & (told >= low) & (told <= high)).all())

    # Changes

    def changed(self, changes: Mapping[str, Any]) -> Settings:
        """Return a copy with these changes, which were checked when they were made."""
        return _restore({**self._all(), **changes})

    def with_rows(self, labels: Iterable[Hashable], cost: Any = None) -> Settings:
        """Return a copy with more rows at the end. They are available and cost `cost`, or the mean of the others."""
        return self._extended("row", labels, cost)

    def with_cols(self, labels: Iterable[Hashable], cost: Any = None) -> Settings:
        """Return a copy with more columns at the end. They are available and cost `cost`, or the mean of the others."""
        return self._extended("col", labels, cost)

    def _extended(self, side: Literal["row", "col"], labels: Iterable[Hashable], cost: Any) -> Settings:
        rows, cols = self.rows, self.cols
        if side == "row":
            rows = _append_labels(rows, labels, "row")
        else:
            cols = _append_labels(cols, labels, "column")
        shape, mask = (len(rows), len(cols)), self.mask
        if mask is not None:
            import numpy as np

            mask = np.ones(shape, dtype=bool)
            mask[: self.shape[0], : self.shape[1]] = self.mask
        costs = self.costs if cost is None else self.costs.with_part(side, self.shape)
        costs, weights = costs.extended(shape, **{side: cost}), self.weights
        if weights is not None:  # new lines count once
            weights += (1.0,) * (shape[self.wanted.averaged == "column"] - len(weights))
        return self.changed({"rows": rows, "cols": cols, "mask": mask, "costs": costs, "weights": weights})

    def without(self, side: Literal["row", "col"], gone: Any) -> Settings:
        """Return a copy without these rows (or columns), by position; `n_initial` is at most all that is left."""
        import numpy as np

        axis = 0 if side == "row" else 1
        drop = set(np.asarray(gone).tolist())
        labels = tuple(x for k, x in enumerate((self.rows, self.cols)[axis]) if k not in drop)
        mask = None if self.mask is None else np.delete(self.mask, gone, axis)
        costs, weights = self.costs.without(side, gone), self.weights
        if weights is not None and (self.wanted.averaged == "column") == (side == "col"):
            weights = tuple(x for k, x in enumerate(weights) if k not in drop)
        after = self.changed({f"{side}s": labels, "mask": mask, "costs": costs, "weights": weights})
        n, most = self.n_initial, math.prod(after.shape)
        return after if n is None or n <= most else after.changed({"n_initial": most})

    def _all(self) -> dict[str, Any]:
        return {f.name: getattr(self, f.name) for f in fields(self)}

    # JSON

    def to_json(self) -> dict[str, Any]:
        """Return the settings as JSON data; those of LATER only where they are not at their default."""
        stored = {
            name: value for name, value in self._all().items() if name not in LATER or value != LATER[name]
        }
        return {name: encode_setting(name, value) for name, value in stored.items()}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Settings:
        """Read stored settings, without checks: they were checked by the rules of their time."""
        return _restore({name: decode_setting(name, value) for name, value in data.items()})

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Settings) and self.to_json() == other.to_json()

    __hash__ = None  # type: ignore[assignment]


def _restore(values: Mapping[str, Any]) -> Settings:
    """Build settings without checks; settings that an older version did not have get their defaults."""
    defaults = {f.name: f.default for f in fields(Settings) if f.default is not MISSING}
    known = {"costs": _no_costs(), **defaults, **values}
    restored = object.__new__(Settings)
    for f in fields(Settings):
        object.__setattr__(restored, f.name, known[f.name])
    return restored


def encode_setting(name: str, value: Any) -> Any:
    """Return the value of one setting as JSON data."""
    from maxentry import labels

    if name in ("rows", "cols"):
        return labels.encode(value)
    if name == "costs":
        return {part: pack(array) for part, array in value.parts.items()} or None
    if name in ("range", "limits") and value is not None:
        return [x if math.isfinite(x) else None for x in value]  # JSON has no infinity
    return pack(value) if name == "mask" else value


def decode_setting(name: str, value: Any) -> Any:
    """Read the value of one setting from JSON data."""
    from maxentry import labels
    from maxentry.acquisition.problem import Costs

    if name not in Settings.__dataclass_fields__:
        raise ValueError(f"no such setting as {name!r}")
    if name in ("rows", "cols"):
        return labels.decode(value)
    if name == "costs":
        return Costs(**{part: unpack(array) for part, array in (value or {}).items()})
    if name in ("levels", "weights") and value is not None:
        return tuple(value)
    if name in ("range", "limits") and value is not None:
        low, high = value
        return (-math.inf if low is None else low), (math.inf if high is None else high)
    return unpack(value) if name == "mask" else value


def _check_noun(setting: str, name: object) -> None:
    if name is not None and not (isinstance(name, str) and 0 < len(name) <= 200 and name.isprintable()):
        raise ParameterError(f"expected {setting} of 1 to 200 printable characters, got {show(name)}.")


def _check_name(name: object) -> None:
    if not (isinstance(name, str) and name.strip() == name and 0 < len(name) <= 200 and name.isprintable()):
        raise ParameterError(f"expected a name of 1 to 200 printable characters, got {show(name)}.")


def _read_labels(labels: Any, name: str) -> Labels:
    """Check labels and make sure that JSON preserves them; a whole number n stands for the labels 0 to n - 1."""
    from maxentry.labels import check_labels

    if is_whole(labels):
        labels = range(int(labels))
    known = check_labels(labels, name)
    if len(known) < 2:
        raise DataError(f"expected at least 2 {name}s, got {len(known)}.")
    return _round_trip(known)


def _round_trip(labels: Labels) -> Labels:
    """Return the labels as JSON will give them back, so that a reopened campaign has the same labels."""
    from maxentry.labels import decode, encode

    plain = encode(labels)
    try:
        return decode(json.loads(json.dumps(plain, allow_nan=False))) or ()
    except ValueError:
        raise DataError("expected finite numbers among the labels, got an infinite one.") from None


def _append_labels(known: Labels, new: Iterable[Hashable], name: str) -> Labels:
    from maxentry.labels import check_labels

    more = check_labels(new, name)
    if not more:
        raise DataError(f"expected {name} labels to add, got none.")
    return _round_trip(check_labels((*known, *more), name))


def _check_limits(declared: Field[Any], value: Any) -> Any:
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


def _read_goal(value: Any) -> str:
    if value == "fill" or value is None:
        return "fill"
    from maxentry.model.goal import Goal

    return str(Goal.parse(value))


def _read_weights(value: Any, goal: str, rows: Labels, cols: Labels) -> tuple[float, ...] | None:
    if value is None:
        return None
    from maxentry.labels import Axis
    from maxentry.model.goal import Goal

    axes = Axis("row", len(rows), rows), Axis("column", len(cols), cols)
    return Goal.parse(goal).weighted(value, *axes).weights


def _read_levels(value: Any) -> tuple[Any, ...] | None:
    if value is None:
        return None
    from maxentry.frames import is_sequence, to_list

    if not is_sequence(value):
        raise ParameterError(f"expected levels as a list of the grades in their order, got {show(value)}.")
    return tuple(to_list(value))


def _read_range(value: Any, name: str) -> tuple[float, float] | None:
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


def _read_mask(mask: Any, rows: Labels, cols: Labels) -> NDArray[np.bool_] | None:
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


CHANGEABLE = tuple(sorted(f.name for f in fields(Settings) if f.metadata.get("changeable")))
LONGEST_LEASE = 100 * 365.25 * 86400.0  # seconds


def setting_types() -> dict[str, Any]:
    """Return the type of each setting."""
    import numpy as np
    from numpy.typing import NDArray

    from maxentry.acquisition.problem import Costs
    from maxentry.labels import Labels

    return get_type_hints(Settings, localns={"Costs": Costs, "Labels": Labels, "NDArray": NDArray, "np": np})


def change_settings(settings: Settings, changes: Mapping[str, Any]) -> Settings:
    """Return changed settings, checked. Only those in CHANGEABLE may change."""
    for name in changes:
        if name not in CHANGEABLE:
            known = ", ".join(CHANGEABLE)
            raise ParameterError(f"expected a setting that may change ({known}), got {show(name)}.")
    if settings.weights is not None and "weights" not in changes and "goal" in changes:
        settings.wanted.keep_weights(_read_goal(changes["goal"]))
    return check_settings(replace(settings, **changes))


def check_settings(settings: Settings) -> Settings:
    """Return the settings; raise if a campaign with them could not work, before anything is measured."""
    from maxentry.posterior.rank import check_rank

    for labels in (settings.rows, settings.cols):
        _check_text(labels)
    if settings.rank != "auto":
        check_rank(settings.rank, settings.shape, settings.effects)
    _check_batch_limits(settings)
    _check_values(settings)
    _check_kind(settings)
    return settings


def _check_kind(settings: Settings) -> None:
    """Raise unless kind, levels, limits, noise, transform and scale go together."""
    from maxentry.transform import Transform

    if settings.kind == "grades" and settings.levels is None:
        wanted = "levels with kind='grades', like ['A', 'B', 'C'] (--levels A,B,C)"
        raise ParameterError(f"expected {wanted}, got none: later grades may be other ones than the first.")
    settings.likelihood.check_scale(Transform.parse(settings.transform), settings.scale)
    if settings.words is not None and settings.range is not None:
        raise ParameterError(
            f"expected a range of numbers only, got range={settings.range} with {settings.kind}."
        )


def _check_text(labels: Labels) -> None:
    from maxentry.labels import encode

    try:
        json.dumps(encode(labels), ensure_ascii=False).encode()
    except UnicodeEncodeError as error:
        wrong = error.object[error.start : error.end]
        raise DataError(f"expected labels that can be written in UTF-8, got {wrong!a} in one.") from None


def _check_batch_limits(settings: Settings) -> None:
    m1, m2 = settings.shape
    limits = [f"{name}={x}" for name in ("per_row", "per_col") if (x := getattr(settings, name)) is not None]
    if settings.plates is not None and limits:
        raise ParameterError(
            f"expected plates or limits per row and column, got plates={settings.plates!r} and {limits[0]}."
        )
    if (n := settings.n_initial) is not None and n > m1 * m2:
        raise ParameterError(f"expected n_initial of at most all {m1 * m2} entries, got {n}.")
    if settings.lease is not None and settings.lease > LONGEST_LEASE:
        raise ParameterError(f"expected a lease of at most 100 years, got {settings.lease:g} seconds.")


def _check_values(settings: Settings) -> None:
    """Raise if no value is both in the range and valid for the transform."""
    from maxentry.transform import LARGEST, SMALLEST, Transform

    low, high = settings.range or (-math.inf, math.inf)
    scale = Transform.parse(settings.transform)
    if scale.kind == "log":
        some = low <= LARGEST and high >= SMALLEST
    elif scale.kind == "logit":
        some = low < scale.high and high > scale.low
    else:
        some = low < math.inf and high > -math.inf
    if not some:
        raise ParameterError(
            f"expected a range with values for the {scale} scale, got {low:g} to {high:g}, which has none."
        )
