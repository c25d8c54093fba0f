"""What is compared: a matrix (`Source`), how much of it is measured (`Case`) and a way to choose (`Strategy`).

A `Cell` is one run: a case, a strategy and a seed. The same settings and seed give the same result under the same law
(`LAW`), so results are stored by a key made of these.

M       m1 x m2   the truth, NaN where it is unknown
Y       m1 x m2   what a measurement returns: M, plus noise if the matrix is simulated
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from maxentry.campaign.policy import Batch
from maxentry.campaign.settings import WITHOUT_MODEL
from maxentry.campaign.state import State
from maxentry.errors import ParameterError
from maxentry.plots.style import BLUE, GREEN, GREY, INK, ORANGE, SKY, VERMILLION

Array = NDArray[np.float64]
Bools = NDArray[np.bool_]
Indices = NDArray[np.int64]

# Increase it when the same settings and seed give another result, such as after a change of the sampler's draws.
# Law 1: results of the fingerprints listed in `store.FINGERPRINTS`. Law 2: as of version 0.1.
LAW = 2


class Truth(NamedTuple):
    """The matrix of one replicate: what strategies cannot see, and what they are told."""

    M: Array  # NaN where it is unknown
    Y: Array  # what measurements return, NaN where none is possible
    center: float  # errors are scaled by the spread around it: 0 for a simulated matrix, as in the paper
    simulated: bool
    cost: Array | None = None  # of each entry
    told: Bools | None = None  # entries that every strategy knows from the start

    @property
    def judged(self) -> Bools:
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


Policy = Callable[
    ..., Batch
]  # the next entries from the state of a campaign, as `campaign.policy.next_batch`
# (state, rows, cols, level): intervals cover the entry if the matrix is simulated, a measurement if it is real.
Estimator = Callable[[State, Indices, Indices, float], Estimates]


class Style(NamedTuple):
    """How a strategy's curve is drawn. Dashes and markers differ too, so that curves differ without colours."""

    color: str
    dashes: str | tuple[int, tuple[float, ...]]
    marker: str


SOLID, DASHED, DOTTED = "-", (0, (5.0, 2.0)), (0, (1.0, 1.2))
LONG, DASHDOT = (0, (10.0, 1.5)), (0, (6.0, 1.5, 1.0, 1.5))
PLAIN = Style(GREY, SOLID, "<")  # of strategies without a style of their own


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


BASELINE = Strategy("uniform", "uniform", start="uniform", style=Style(INK, DASHED, ""))
DEFAULT = Strategy(
    "predictive_variance", "predictive variance (default)", "predictive_variance", style=Style(BLUE, SOLID, "o")
)  # fmt: skip
OURS = (
    BASELINE,
    Strategy("balanced", "balanced", "balanced", style=Style(SKY, DOTTED, "P")),
    Strategy("balanced_uniform", "balanced, then uniform", style=Style(SKY, DASHED, "v")),
    Strategy("maxent", "MaxEnt", "maxent", style=Style(VERMILLION, LONG, "s")),
    Strategy(
        "maxent_nearest", "MaxEnt, nearest projections", "maxent_nearest", style=Style(ORANGE, DOTTED, "D")
    ),
    DEFAULT,
    Strategy(
        "integrated_variance", "integrated variance", "integrated_variance", style=Style(GREEN, DASHDOT, "^")
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
