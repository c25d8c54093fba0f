"""Settings: the matrix of a campaign and how entries are chosen, checked when they are set and stored as JSON.

New settings are checked for their form by `Settings` and for combinations that cannot work by `check_settings`. Stored
settings are read without these checks, so that a stricter rule never makes an existing campaign unreadable.

The command line builds its options from the declarations here, also for `--help`: NumPy is imported when it is used.
"""

from __future__ import annotations

import difflib
import json
import math
from collections.abc import Hashable, Iterable, Mapping
from dataclasses import MISSING, dataclass, field, fields, replace
from typing import TYPE_CHECKING, Any, Literal, get_type_hints

from maxentry._io import pack, unpack
from maxentry.acquisition import CRITERION_NAMES, WITHOUT_BELIEF
from maxentry.campaign.setting_values import (
    append_features,
    append_labels,
    check_declared,
    check_name,
    check_noun,
    read_features_of,
    read_goal,
    read_labels,
    read_levels,
    read_mask,
    read_range,
    read_weights,
)
from maxentry.errors import DataError, ParameterError
from maxentry.model.likelihood import KIND_NAMES, NOISE_NAMES, DataKind, Likelihood, NoiseChoice, kind_words
from maxentry.wording import show

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from maxentry.acquisition.problem import Costs
    from maxentry.cells import Words
    from maxentry.features import FeatureTable
    from maxentry.labels import Labels
    from maxentry.model.goal import Goal
    from maxentry.readings import Reading

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
    "row_features": None,
    "col_features": None,
    "engine": "cpu",
    "value_name": None,
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
    units; `rank`, `noise`, `effects`, `priors`, `transform`, `scale` and `effort` mean the same as in `complete`;
    so does `engine`, but that "auto" looks at the data alone and not at the machine (`fits.choose_engine_of`).
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
    noise: NoiseChoice = _setting(  # noqa: RUF009
        "auto",
        "student where single measurements go wrong; columns or rows where each has a noise of its own; auto is "
        "gaussian, but rows or columns for many grades that differ in it, and for the numbers of a table that "
        "`maxentry complete` fills where they predict better.",
        choices=("auto", *NOISE_NAMES),
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
        None, "Values that can be told: 0,100 or 0, or ,1. Estimates may lie beyond.", metavar="LOW,HIGH"
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
        "Good enough: the expected regret (best), or the share of pairs or entries that are wrong (0.05), to reach.",
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
    row_features: FeatureTable | None = _setting(  # noqa: RUF009
        None,
        "What is known of rows: a table with their labels first, then numbers, yes or no, and (--categories) words.",
        metavar="FILE",
    )
    col_features: FeatureTable | None = _setting(  # noqa: RUF009
        None, "What is known of columns, one line a column of the matrix, as of rows.", metavar="FILE"
    )
    engine: Literal["cpu", "gpu", "auto"] = _setting(
        "cpu",
        "Where sweeps run: on the processor or on a GPU (JAX); auto: on a GPU where that is worth it.",
        choices=("cpu", "gpu", "auto"),
    )
    value_name: str | None = _setting(
        None, "What the column of values is called, in lists that are told later.", metavar="NAME"
    )

    def __post_init__(self) -> None:
        from maxentry.acquisition.problem import read_costs
        from maxentry.transform import Transform

        check_name(self.name)
        for noun in ("row_name", "col_name", "value_name", "unit"):
            check_noun(noun, getattr(self, noun))
        self._set("rows", read_labels(self.rows, "row"))
        self._set("cols", read_labels(self.cols, "column"))
        for declared in fields(self):
            self._set(declared.name, check_declared(declared, getattr(self, declared.name)))
        self._set("transform", str(Transform.parse(self.transform)))
        self._set("range", read_range(self.range, "range"))
        self._set("limits", read_range(self.limits, "limits"))
        self._set("levels", read_levels(self.levels))
        self._set("goal", read_goal(self.goal))
        self._set("weights", read_weights(self.weights, self.goal, self.rows, self.cols))
        self._set("costs", read_costs(self.costs, self.rows, self.cols))
        self._set("mask", read_mask(self.mask, self.rows, self.cols))
        self._set("row_features", read_features_of(self.row_features, self.rows, "row"))
        self._set("col_features", read_features_of(self.col_features, self.cols, "column"))

    def _set(self, name: str, value: object) -> None:
        object.__setattr__(self, name, value)

    @property
    def shape(self) -> tuple[int, int]:
        """(m1, m2)."""
        return len(self.rows), len(self.cols)

    @property
    def likelihood(self) -> Likelihood:
        """What a measurement says of its entry."""
        noise = "gaussian" if self.noise == "auto" else self.noise
        return Likelihood(self.kind, noise, self.levels or (), self.limits, self.noise_sd)

    @property
    def wanted(self) -> Goal:
        """The goal, with its weights."""
        from maxentry.model.goal import Goal

        return replace(Goal.parse(self.goal), weights=self.weights)

    @property
    def words(self) -> Words | None:
        """The words that stand for numbers in what is told."""
        return kind_words(self.kind, self.levels)

    def features_of(self, side: str) -> FeatureTable | None:
        """What is known of rows ("row") or of columns ("column", "col")."""
        return self.row_features if side == "row" else self.col_features

    # Values that are told

    def check_value(self, value: float | Reading, name: str) -> None:
        """Raise unless a value is finite, in the range, on the scale and can be transformed; so the ends of a limit."""
        import numpy as np

        from maxentry.transform import Transform

        if isinstance(value, float):
            low, high, said = value, value, f"{value:g}"
        else:
            low, high, said = value.low, value.high, str(value)
            if value.se and self.likelihood.weighted:
                wanted = f"expected values without standard errors with noise={self.noise!r}"
                raise DataError(f"{wanted}, got {said} at {name}; leave them out, or set noise to gaussian.")
        if self.likelihood.discrete and not isinstance(value, float):
            raise DataError(f"expected a value of the kind {self.likelihood}, got {said} at {name}.")
        if low == high:
            self.likelihood.check_value(low, name)
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

        from maxentry.transform import Transform, is_beyond

        if self.likelihood.discrete:
            return False
        told = np.array([*values], dtype=np.float64)
        low, high = self.range or (-math.inf, math.inf)
        valid = (
            Transform.parse(self.transform).inside(told) & np.isfinite(told) & ~is_beyond(told, self.limits)
        )
        return bool((valid & (told >= low) & (told <= high)).all())

    # Changes

    def changed(self, changes: Mapping[str, Any]) -> Settings:
        """Return a copy with these changes, which were checked when they were made."""
        return _restore({**self._all(), **changes})

    def extended(
        self,
        side: Literal["row", "col"],
        labels: Iterable[Hashable],
        cost: Any = None,
        features: FeatureTable | None = None,
        by_line: bool = False,
    ) -> Settings:
        """Return a copy with more rows (or columns) at the end.

        They are available and cost `cost`, or the mean of the others (by_line: where every entry has a cost, each that
        of its column or row); features: what is known of them.
        """
        rows, cols = self.rows, self.cols
        if side == "row":
            rows = append_labels(rows, labels, "row")
        else:
            cols = append_labels(cols, labels, "column")
        shape, mask = (len(rows), len(cols)), self.mask
        if mask is not None:
            import numpy as np

            mask = np.ones(shape, dtype=bool)
            mask[: self.shape[0], : self.shape[1]] = self.mask
        costs = self.costs if cost is None else self.costs.with_part(side, self.shape)
        costs, weights = costs.extended(shape, **{side: cost}, by_line=by_line), self.weights
        if weights is not None:  # new lines count once
            weights += (1.0,) * (shape[self.wanted.averaged == "column"] - len(weights))
        known, new = self.features_of(side), len(rows) + len(cols) - sum(self.shape)
        if known is not None or features is not None:
            known = append_features(known, features, self.shape[side == "col"], new)
        changes = {"rows": rows, "cols": cols, "mask": mask, "costs": costs, "weights": weights}
        return self.changed(changes | {f"{side}_features": known})

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
        known = self.features_of(side)
        if known is not None:
            known = known.take([k for k in range(self.shape[axis]) if k not in drop])
        changes = {f"{side}s": labels, "mask": mask, "costs": costs, "weights": weights}
        after = self.changed(changes | {f"{side}_features": known})
        n, most = self.n_initial, math.prod(after.shape)
        return after if n is None or n <= most else after.changed({"n_initial": most})

    def relabelled(self, side: Literal["row", "col"], names: Mapping[Any, Any]) -> Settings:
        """Return a copy in which rows (or columns) have other labels, which `names` gives by the old ones."""
        labels = (self.rows, self.cols)[side == "col"]
        return self.changed({f"{side}s": tuple(names.get(label, label) for label in labels)})

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
    if name in ("row_features", "col_features") and value is not None:
        return value.to_json()
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
    if name in ("row_features", "col_features") and value is not None:
        from maxentry.features import FeatureTable

        return FeatureTable.from_json(value)
    return unpack(value) if name == "mask" else value


CHANGEABLE = tuple(sorted(f.name for f in fields(Settings) if f.metadata.get("changeable")))
LONGEST_LEASE = 100 * 365.25 * 86400.0  # seconds


def setting_types() -> dict[str, Any]:
    """Return the type of each setting."""
    import numpy as np
    from numpy.typing import NDArray

    from maxentry.acquisition.problem import Costs
    from maxentry.features import FeatureTable
    from maxentry.labels import Labels

    known = {"Costs": Costs, "FeatureTable": FeatureTable, "Labels": Labels, "NDArray": NDArray, "np": np}
    return get_type_hints(Settings, localns=known)


def read_settings(settings: Mapping[str, Any], values: Any) -> dict[str, Any]:
    """Return the settings of a new campaign, with the kind that its first values have (see `complete`).

    Refuse unknown settings, suggesting the nearest known one.
    """
    from maxentry.observations import find_kind

    known = [declared.name for declared in fields(Settings)]
    for name in settings:
        if name not in known:
            near = difflib.get_close_matches(name, known, n=1)
            hint = f" (did you mean {near[0]!r}?)" if near else ""
            raise ParameterError(f"expected settings of a campaign, got {show(name)}{hint}.")
    _check_enough(settings.get("enough"), read_goal(settings.get("goal", "fill")))
    kind, levels = find_kind(values, settings.get("kind"), settings.get("levels"))
    found = ({} if kind == "numbers" else {"kind": kind}) | ({} if levels is None else {"levels": levels})
    return {**settings, **found}


def change_settings(settings: Settings, changes: Mapping[str, Any]) -> Settings:
    """Return changed settings, checked. Only those in CHANGEABLE may change."""
    for name in changes:
        if name not in CHANGEABLE:
            known = ", ".join(CHANGEABLE)
            raise ParameterError(f"expected a setting that may change ({known}), got {show(name)}.")
    if settings.weights is not None and "weights" not in changes and "goal" in changes:
        settings.wanted.keep_weights(read_goal(changes["goal"]))
    after = check_settings(replace(settings, **changes))
    if {"goal", "enough"} & changes.keys():
        _check_enough(after.enough, after.goal, None if "enough" in changes else settings.wanted.kind)
    return after


def check_settings(settings: Settings) -> Settings:
    """Return the settings; raise if a campaign with them could not work, before anything is measured."""
    from maxentry.posterior.rank import check_rank

    for labels in (settings.rows, settings.cols):
        _check_text(labels)
    if settings.rank != "auto":
        check_rank(settings.rank, settings.shape, settings.effects)
    if settings.priors is not None and (settings.row_features or settings.col_features) is not None:
        raise ParameterError(
            "expected features, or the paper's priors, which are of the model without, got both."
        )
    _check_batch_limits(settings)
    _check_values(settings)
    _check_kind(settings)
    _check_engine(settings)
    return settings


def _check_enough(enough: Any, goal: str, before: str | None = None) -> None:
    """Refuse a share of pairs or entries that is none, and one that was asked for a goal of another kind (`before`)."""
    from maxentry.model.goal import Goal

    kind = Goal.parse(goal).kind
    if enough is not None and before not in (None, kind):
        said = f"enough ({enough:g}) was asked for another goal ({before})"
        raise ParameterError(
            f"{said}. Set it anew together with the goal '{goal}', or to None (--drop enough)."
        )
    if kind in ("rank", "threshold") and isinstance(enough, int | float) and enough >= 1:
        of = "pairs in the wrong order" if kind == "rank" else "entries on the wrong side"
        raise ParameterError(f"enough is the share of {of}, below 1, got {enough:g}; for 5% say 0.05.")


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


def _check_engine(settings: Settings) -> None:
    """Raise where a GPU is wanted for what it cannot do."""
    if settings.engine != "gpu":
        return
    from maxentry.gpu.engine import why_no_model

    features = (settings.row_features or settings.col_features) is not None
    ranks = () if settings.rank == "auto" else (settings.rank,)
    reason = why_no_model(settings.likelihood, features, ranks)
    if reason is not None:
        raise ParameterError(f"engine='gpu' {reason}; expected engine 'auto' or 'cpu' with these settings.")


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
