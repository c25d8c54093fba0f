"""What is compared: a matrix (`Source`), how much of it is measured (`Case`) and a way to choose (`Strategy`).

A `Cell` is one run: a case, a strategy and a seed. The same settings and seed give the same result under the same law
(`LAW`), so results are stored by a key made of these.

M       m1 x m2   the truth, NaN where it is unknown
Y       m1 x m2   what a measurement returns: M, plus noise if the matrix is simulated
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, Protocol

import numpy as np

from maxentry._types import Array, Flags, Indices
from maxentry.campaign.campaign import Campaign
from maxentry.campaign.policy import Batch
from maxentry.campaign.settings import WITHOUT_MODEL
from maxentry.campaign.state import State
from maxentry.errors import DataError, ParameterError
from maxentry.plots.style import BLUE, GREEN, GREY, INK, ORANGE, SKY, VERMILLION, Dashes
from maxentry.transform import NONE, Transform

# Increase it when the same settings and seed give another result, such as after a change of the sampler's draws.
# Law 1: results of the fingerprints listed in `store.FINGERPRINTS`. Law 2: as of version 0.1.
# Law 3: with a mask, the default takes random entries where choosing promises little more.
# Law 4: row and column effects have a half-Cauchy prior.
# Law 5: the variance of effects along X mixes, and chains settle for longer.
# Law 6: fits begin anew where a tell ends.
LAW = 6


class Truth(NamedTuple):
    """The matrix of one replicate: what strategies cannot see, and what they are told."""

    M: Array  # NaN where it is unknown
    Y: Array  # what measurements return, NaN where none is possible
    center: float  # errors are scaled by the spread around it: 0 for a simulated matrix, as in the paper
    simulated: bool
    cost: Array | None = None  # of each entry
    told: Flags | None = None  # entries that every strategy knows from the start

    @property
    def judged(self) -> Flags:
        """The entries that count in the error: known, and not told from the start."""
        known = ~np.isnan(self.M)
        return known if self.told is None else known & ~self.told

    @property
    def scale(self) -> float:
        """The unit of errors: root mean square of M - center over the judged entries."""
        return float(np.sqrt(np.mean((self.M[self.judged] - self.center) ** 2)))


class Source(Protocol):
    """Gives a matrix for each replicate."""

    def identity(self) -> Mapping[str, Any]:
        """Return everything the matrices depend on, as JSON-able data."""

    def truth(self, seed: int) -> Truth:
        """Return the matrix of one replicate."""

    def prepare(self) -> None:
        """Fetch what the matrices are made from. Called once, before worker processes start."""


@dataclass(frozen=True, eq=False)
class Given:
    """A user's matrix, the same in all replicates. Only its known entries can be measured."""

    M: Array
    cost: Array | None = None

    def __post_init__(self) -> None:
        if self.M.ndim != 2 or not np.isfinite(self.M).any():
            raise ParameterError("expected a matrix with known entries, got none.")

    def identity(self) -> dict[str, Any]:
        """Return a digest of the values, so that results do not contain the values."""
        digest = hashlib.sha256(repr(self.M.shape).encode())
        for array in (self.M, self.cost):
            digest.update(b"-" if array is None else np.ascontiguousarray(array, dtype=np.float64).tobytes())
        return {"kind": "given", "digest": digest.hexdigest()[:24]}

    def truth(self, seed: int) -> Truth:
        """Return the matrix, whatever the seed."""
        return Truth(self.M, self.M, float(np.nanmean(self.M)), False, self.cost)

    def prepare(self) -> None:
        """Do nothing: the matrix is already in memory."""


@dataclass(frozen=True)
class Case:
    """Measure `initial` entries at once, then `budget` more in batches of `batch`; take the error `looks` times.

    model: settings of the campaign (rank, effects, priors, noise, transform), as pairs.
    spend: if entries have costs, campaigns end when they have spent what this many entries cost on average. `budget`
        then only limits the number of entries, and error curves go by cost.
    """

    name: str
    source: Source
    initial: int
    batch: int
    budget: int
    looks: int = 20
    model: tuple[tuple[str, Any], ...] = ()
    spend: float | None = None

    def __post_init__(self) -> None:
        for name, least in (("initial", 0), ("batch", 1), ("budget", 1), ("looks", 1)):
            if getattr(self, name) < least:
                raise ParameterError(f"expected {name} to be at least {least}, got {getattr(self, name)}.")

    @property
    def batches(self) -> int:
        """The number of batches after the initial entries."""
        return -(-self.budget // self.batch)

    def look_after(self) -> frozenset[int]:
        """Return after which batches the error is taken. 0 is after the initial entries; the last is included."""
        return frozenset(np.unique(np.round(np.linspace(0, self.batches, self.looks)).astype(int)).tolist())

    def identity(self) -> dict[str, Any]:
        """Return everything a run depends on except strategy, seed and law, as JSON-able data."""
        sizes = {name: getattr(self, name) for name in ("initial", "batch", "budget", "looks")}
        return {
            "source": dict(self.source.identity()), **sizes, "model": dict(self.model), "spend": self.spend,
        }  # fmt: skip


# Strategies


class Estimates(NamedTuple):
    """Estimates of some entries, with interval ends if the estimator has them."""

    mean: Array
    low: Array | None = None
    high: Array | None = None


# The next entries from the state of a campaign, as `campaign.policy.next_batch`.
Policy = Callable[..., Batch]
# (state, rows, cols, level): intervals cover the entry if the matrix is simulated, a measurement if it is real.
Estimator = Callable[[State, Indices, Indices, float], Estimates]


class Style(NamedTuple):
    """How a strategy's curve is drawn. Dashes and markers differ too, so that curves differ without colours."""

    color: str
    dashes: Dashes
    marker: str  # as matplotlib calls it


PLAIN = Style(GREY, "solid", "<")  # of strategies without a style of their own


@dataclass(frozen=True)
class Strategy:
    """A way to choose entries. Without a policy it is the campaign's own, with this acquisition.

    Policies and estimators are built for each run from its truth (only costs and what is told from the start may be
    used), its case and its seed.
    """

    name: str
    title: str
    acquisition: str = "uniform"
    start: Literal["uniform", "balanced"] = "balanced"
    policy: Callable[[Truth, Case, int], Policy] | None = None
    estimator: Callable[[Truth, Case, int], Estimator] | None = None
    fits: bool = False  # whether the policy chooses by the fit that its estimator uses
    learns: bool = True  # whether the policy uses the measured values
    needs: tuple[str, ...] = ()  # "cost" or "told": cases without these cannot run it
    check: Callable[[], None] | None = None  # raises if it cannot run on this machine
    baseline: str = "uniform"  # the strategy it is compared with
    style: Style = PLAIN

    @property
    def active(self) -> bool:
        """Whether it learns from measurements which entries to ask for."""
        return self.learns if self.policy is not None else self.acquisition not in WITHOUT_MODEL

    @property
    def chooses_by_fit(self) -> bool:
        """Whether an ask needs the same fit as a look at the error."""
        return self.acquisition not in WITHOUT_MODEL if self.policy is None else self.fits

    @property
    def mixes(self) -> bool:
        """Whether its ratio to uniform mixes choice and estimate: it has its own estimate, its baseline does not."""
        return self.estimator is not None and self.baseline == "uniform"


BASELINE = Strategy("uniform", "uniform", start="uniform", style=Style(INK, "dashed", ""))
DEFAULT = Strategy(
    "predictive_variance", "predictive variance (default)", "predictive_variance", style=Style(BLUE, "solid", "o")
)  # fmt: skip
OURS = (
    BASELINE,
    Strategy("balanced", "balanced", "balanced", style=Style(SKY, "dotted", "P")),
    Strategy("balanced_uniform", "balanced, then uniform", style=Style(SKY, "dashed", "v")),
    Strategy("maxent", "MaxEnt", "maxent", style=Style(VERMILLION, "long", "s")),
    Strategy(
        "maxent_nearest", "MaxEnt, nearest projections", "maxent_nearest", style=Style(ORANGE, "dotted", "D")
    ),
    DEFAULT,
    Strategy(
        "integrated_variance",
        "integrated variance",
        "integrated_variance",
        style=Style(GREEN, "dashdot", "^"),
    ),
)


class Cell(NamedTuple):
    """One run of a comparison."""

    case: Case
    strategy: Strategy
    seed: int

    def key(self, law: int = LAW) -> str:
        """Return the name of the result: the same for the same settings, strategy, seed and law."""
        return run_key(self.case.identity(), self.strategy.name, self.seed, law)


def run_key(identity: Mapping[str, Any], strategy: str, seed: int, law: int) -> str:
    """Return a digest of everything a result depends on."""
    parts = [dict(identity), strategy, seed, law]
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()[:32]


# The cells of a comparison on a user's matrix

Labels = tuple[Sequence[str], Sequence[str]]

USUAL = ("uniform", "balanced", "predictive_variance")
PER_INITIAL = 3  # default budget: this many entries for each initial one
MOST = 0.6  # of the known entries, by default: errors are judged on the others too
BATCHES, QUICK_BATCHES = 10, 2
LEAST_SIDE = 3


class Sizes(NamedTuple):
    """How many entries are measured at first, how many at a time after that, and how many in all after that."""

    initial: int
    batch: int
    budget: int


def compare_cells(
    M: Array,
    *,
    name: str = "your matrix",
    initial: int | None = None,
    budget: int | None = None,
    batch: int | None = None,
    strategies: Sequence[str] = (),
    replicates: int = 5,
    costs: Array | None = None,
    labels: Labels | None = None,
    quick: bool = False,
    among: Sequence[Strategy] = OURS,
    **model: Any,
) -> list[Cell]:
    """Return the runs of these strategies, and of uniform sampling to compare with, on the known entries of M.

    labels: names of rows and columns, for error messages. quick: fewer batches, unless their size is given.
    costs: strategies are then compared when they have spent what initial + budget entries cost on average.
    among: the strategies that names refer to.
    model: settings of the campaigns, as `Campaign.create` takes them (rank, noise, effects, transform).
    """
    if replicates < 1:
        raise ParameterError(f"expected at least 1 replicate, got {replicates}.")
    wanted = _add_baselines([find_strategy(name, among) for name in strategies or USUAL], among)
    for strategy in wanted:
        _check_applicable(strategy, costs)
    _check_scale(np.asarray(M, dtype=np.float64), model.get("transform", NONE), labels)
    M, costs = _drop_empty(M, costs)
    Campaign.create("sqlite://", "study", *M.shape, **model).close()  # refuses settings that cannot work
    sizes = choose_sizes(M, initial, budget, batch, QUICK_BATCHES if quick else BATCHES)
    looks, spend = BATCHES + 1, None
    if costs is not None:  # cheap entries may be many: go on until all are measured or the money is spent
        spend = float(sizes.initial + sizes.budget)
        sizes = sizes._replace(budget=int(np.isfinite(M).sum()) - sizes.initial)
        looks = -(-sizes.budget // sizes.batch) + 1
    case = Case(name, Given(M, costs), *sizes, looks=looks, model=tuple(sorted(model.items())), spend=spend)
    return [Cell(case, strategy, seed) for strategy in wanted for seed in range(replicates)]


def find_strategy(name: str, among: Iterable[Strategy] = OURS) -> Strategy:
    """Return the strategy of this name."""
    known = {strategy.name: strategy for strategy in among}
    if name not in known:
        raise ParameterError(f"expected one of the strategies {', '.join(known)}, got {name!r}.")
    return known[name]


def _add_baselines(strategies: Sequence[Strategy], among: Sequence[Strategy]) -> list[Strategy]:
    """Put uniform first, and add what each is compared with."""
    if all(strategy.name == BASELINE.name for strategy in strategies):
        raise ParameterError(
            f"expected a strategy to compare with {BASELINE.name}, got only {BASELINE.name}."
        )
    names = (BASELINE.name, *(s.baseline for s in strategies), *(s.name for s in strategies))
    return [find_strategy(name, among) for name in dict.fromkeys(names)]


def choose_sizes(
    M: Array,
    initial: int | None = None,
    budget: int | None = None,
    batch: int | None = None,
    batches: int = BATCHES,
) -> Sizes:
    """Use what was asked for; by default the longer side at first, then three times that, at most 60% in all.

    If more than these 60% are asked for at first, what follows may go up to all but one.
    """
    known = int(np.isfinite(M).sum())
    for name, n in (("initial", initial), ("budget", budget), ("batch", batch)):
        if n is not None and n < 1:
            raise ParameterError(f"expected {name} to be at least 1, got {n}.")
    first = max(M.shape) if initial is None else initial
    left = known - 1 - first
    if budget is None and (initial is None or first < int(MOST * known)):
        left = int(MOST * known) - first
    if left < 1 and initial is None:
        raise DataError(
            f"expected more known entries, got {known} of {M.shape[0]} x {M.shape[1]}: the first design alone takes "
            f"{first}, and errors are judged on entries that are left over. Ask for fewer initial entries."
        )
    more = min(PER_INITIAL * first, left) if budget is None else budget
    if more > left or more < 1:
        raise ParameterError(
            f"expected initial entries and budget to leave known entries to judge by, got {first} and "
            f"{'at least 1' if budget is None else budget} of {known} known entries."
        )
    return Sizes(first, -(-more // batches) if batch is None else batch, more)


def _drop_empty(M: Array, costs: Array | None) -> tuple[Array, Array | None]:
    """Drop rows and columns without a known entry: nothing can be measured or judged there."""
    M = np.asarray(M, dtype=np.float64)
    if M.ndim != 2:
        raise DataError(f"expected a matrix, got an array of {M.ndim} dimensions.")
    if costs is not None and costs.shape != M.shape:
        raise DataError(f"expected costs of the shape {M.shape}, got {costs.shape}.")
    known = np.isfinite(M)
    i, j = np.flatnonzero(known.any(1)), np.flatnonzero(known.any(0))
    if min(len(i), len(j)) < LEAST_SIDE:
        raise DataError(
            f"expected known entries in at least {LEAST_SIDE} rows and {LEAST_SIDE} columns, got {len(i)} and "
            f"{len(j)}."
        )
    part = np.where(known, M, np.nan)[np.ix_(i, j)]
    if np.nanmin(part) == np.nanmax(part):
        raise DataError(f"expected values that differ, got only {np.nanmin(part):g}.")
    return part, None if costs is None else costs[np.ix_(i, j)]


def _check_applicable(strategy: Strategy, costs: Array | None) -> None:
    if "told" in strategy.needs:
        raise ParameterError(f"expected strategies that need no training rows, got {strategy.name!r}.")
    if "cost" in strategy.needs and costs is None:
        raise ParameterError(f"the strategy {strategy.name!r} needs costs of the entries, got none.")
    if strategy.check is not None:
        strategy.check()


def _check_scale(M: Array, transform: str | Transform, labels: Labels | None) -> None:
    """Refuse values outside the model's scale now, rather than in each run that measures them."""
    known = ~np.isnan(M)
    at = np.argwhere(known)

    def where(k: int) -> str:
        i, j = at[k]
        return f"row {labels[0][i]!r}, column {labels[1][j]!r}" if labels else f"row {i}, column {j}"

    Transform.parse(transform).forward(M[known], where)
