"""Diagnostics: has the fit converged, and if not, what to do. R-hat and ESS of X, eta2, sigma2 and the spectrum.

`diagnose` computes the statistics (`rhat_ess`) of the monitored quantities (`draws.monitor`), `judge_long` and
`judge_population` apply the rules, `Diagnostics` holds the result. A rule is a line of a table: a condition and the
advice given where it holds. `find_stuck_chains` finds chains that annealing left in a mode without mass.
"""

from dataclasses import dataclass
from html import escape
from math import ceil
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtr

from maxentry import frames
from maxentry._types import Array, Flags
from maxentry.observations import Observations
from maxentry.posterior.draws import Draws, monitor
from maxentry.posterior.rhat_ess import MIN_DRAWS, drift, ess_between, ess_bulk, ess_tail, split_rhat
from maxentry.posterior.schedule import Kind

ANNEAL_LONGER = "sampling=dataclasses.replace(posterior.sampling, anneal=…)"
THIN_MORE = "thin=…"
NOTHING_TO_DO = "Nothing to do."
LONG_RHAT = 1.01  # Vehtari et al. (2021)
LONG_ESS_PER_CHAIN = 100  # the same: 50 for each half-chain
POPULATION_RHAT = 1.1
POPULATION_ESS = 50  # Monte Carlo error then adds 1% to the root mean square error of a posterior mean
DRIFT_LEVEL = 0.01  # chance of a false alarm over all quantities together
MARGIN = 1.5  # advised over the estimated length, which would be enough only half the time
STUCK_RATIO = 2.0  # a chain is stuck if its noise sd is this many times that of the median chain, ...
STUCK_NATS = 30.0  # ... and its mode has this much less log mass
LONGEST_ADVICE = 50  # beyond this factor "run longer" is no advice
_COLUMNS = ("quantity", "count", "median R-hat", "worst R-hat", "least bulk ESS", "least tail ESS")


@dataclass(frozen=True, repr=False, eq=False)
class Diagnostics:
    """R-hat and ESS of each monitored quantity, whether the fit has converged, and advice.

    Two kinds of runs are judged by different rules.

    `kind="long"`, a few long chains: converged if every R-hat is below 1.01 and every bulk and tail ESS is at
    least 100 a chain (Vehtari et al. 2021).

    `kind="population"`, dozens of short chains, each annealed on its own from the prior. They are
    independent by construction, so the spread of their means is an honest Monte Carlo error and the ESS
    comes from it (`ess_between`), never below the number of chains. Converged if
    - the median R-hat of X, over the watched observed and over the unobserved entries, and that of eta2 are
      below 1.1. Half-chains of a few draws leave an error of 0.02-0.03 in R-hat itself, so 1.01 would refuse
      perfect draws; at 1.1 the chains' means hold a sixth of an entry's variance, and as all chains are
      pooled, intervals include it;
    - the median ESS of X is at least 50;
    - no quantity drifts between the early and the late half of the kept draws (a t-test over the chains): a
      drift means that annealing was too short, which R-hat cannot tell from several modes.
    A large R-hat here means that chains sit in different modes, or that the kept draws are too close together
    to tell. Nested R-hat (Margossian et al. 2024) needs groups of chains with a common start; chains started
    independently form no such groups, and any grouping of them agrees whether or not they have converged.
    """

    kind: Kind
    n_chains: int
    n_draws: int
    names: tuple[str, ...]
    groups: tuple[str, ...]
    rhat: Array
    ess_bulk: Array
    ess_tail: Array
    converged: bool
    advice: str
    frame_kind: str | None = None

    def in_group(self, group: str) -> Flags:
        """Which quantities belong to a group; "X" stands for "X observed" and "X unobserved"."""
        return members(self.groups, group)

    @property
    def worst_rhat(self) -> float:
        """The largest R-hat of X."""
        return largest(self.rhat[self.in_group("X")])

    @property
    def median_rhat(self) -> float:
        """The median R-hat of X."""
        return median(self.rhat[self.in_group("X")])

    def to_frame(self) -> Any:
        """One line a monitored quantity: quantity, group, rhat, ess_bulk, ess_tail."""
        columns: dict[str, Any] = {"quantity": list(self.names), "group": list(self.groups)}
        columns |= {name: getattr(self, name) for name in ("rhat", "ess_bulk", "ess_tail")}
        return frames.make_frame(columns, self.frame_kind)

    def summary(self) -> str:
        """The verdict, a table of the groups, and the advice."""
        lines = [_COLUMNS, *self._table()]
        widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
        padded = [[cell.rjust(width) for cell, width in zip(line, widths, strict=True)] for line in lines]
        return "\n".join([self._headline(), *("  ".join(line) for line in padded), self.advice])

    def __str__(self) -> str:
        return f"{self._headline()} {self.advice}"

    def __repr__(self) -> str:
        return f"<Diagnostics: {self._headline()}>"

    def _repr_html_(self) -> str:
        lines = [("th", _COLUMNS), *(("td", line) for line in self._table())]
        cells = ("".join(f"<{tag}>{escape(cell)}</{tag}>" for cell in line) for tag, line in lines)
        table = "".join(f"<tr>{line}</tr>" for line in cells)
        return f"<p><b>{escape(self._headline())}</b></p><table>{table}</table><p>{escape(self.advice)}</p>"

    def _headline(self) -> str:
        state = "converged" if self.converged else "not converged"
        chains = f"{self.kind} run, {self.n_chains} chains x {self.n_draws} draws"
        return (
            f"{chains}: {state}; R-hat of X {self.median_rhat:.2f} (median), {self.worst_rhat:.2f} (worst)."
        )

    def _table(self) -> list[tuple[str, ...]]:
        return [self._table_line(group) for group in dict.fromkeys(self.groups)]

    def _table_line(self, group: str) -> tuple[str, ...]:
        inside = self.in_group(group)
        rhat = self.rhat[inside]
        least = (-largest(-ess[inside]) for ess in (self.ess_bulk, self.ess_tail))
        figures = f"{median(rhat):.3f}", f"{largest(rhat):.3f}", *(f"{ess:.0f}" for ess in least)
        return group, str(inside.sum()), *figures


def diagnose(draws: Draws, observations: Observations, kind: Kind, seed: int = 0) -> Diagnostics:
    """Monitor up to 200 entries of X (half unobserved), eta2, sigma2, spectrum and coherences; judge the run.

    `seed` fixes which quantities are monitored. The cost is O(chains draws (m1 + m2) R^2).
    """
    names, groups, watched, _ = monitor(draws, observations, seed)
    bulk, tail = ess_between(watched) if kind == "population" else (ess_bulk(watched), ess_tail(watched))
    n_chains, n_draws = watched.shape[:2]
    statistics = Statistics(
        n_chains=n_chains,
        n_draws=n_draws,
        names=names,
        groups=groups,
        finite=np.asarray(np.isfinite(watched).all(axis=(0, 1))),
        rhat=split_rhat(watched),
        ess_bulk=bulk,
        ess_tail=tail,
        drift=drift(watched),
        shape=draws.shape,
        rank=draws.rank,
        n_observed=observations.observed.nnz,
    )
    judge = judge_population if kind == "population" else judge_long
    return Diagnostics(
        kind, n_chains, n_draws, names, groups, statistics.rhat, bulk, tail, *judge(statistics),
        observations.frame_kind,
    )  # fmt: skip


class Statistics(NamedTuple):
    """R-hat, ESS and drift of each monitored quantity (NaN where it never changes), and the size of the problem."""

    n_chains: int
    n_draws: int
    names: tuple[str, ...]
    groups: tuple[str, ...]
    finite: Flags
    rhat: Array
    ess_bulk: Array
    ess_tail: Array
    drift: Array
    shape: tuple[int, int]
    rank: int
    n_observed: int

    @property
    def freedom(self) -> int:
        """Degrees of freedom of X, R(m1 + m2 - R)."""
        return self.rank * (sum(self.shape) - self.rank)

    @property
    def cause(self) -> str:
        """Why chains may disagree."""
        if self.n_observed < self.freedom:
            return (
                f"the data leave several explanations ({self.n_observed} entries observed, fewer than the "
                f"{self.freedom} degrees of freedom R(m1 + m2 - R))"
            )
        return "they sit in different modes, or the stored draws are too close together to tell"

    @property
    def remedy(self) -> str:
        """What to do about it."""
        if self.n_observed < self.freedom:
            return f"for sharper ones measure more, lower the rank, or anneal longer ({ANNEAL_LONGER})"
        lower = ", or lower the rank" if self.rank else ""
        return f"anneal longer ({ANNEAL_LONGER}), keep draws further apart ({THIN_MORE}){lower}"


class Verdict(NamedTuple):
    """Whether the run has converged, and advice in plain words."""

    converged: bool
    advice: str


def judge_long(s: Statistics) -> Verdict:
    """All R-hat < 1.01 and all bulk and tail ESS >= 100 a chain."""
    if reason := _unusable(s):
        return Verdict(False, reason)
    ess = np.minimum(s.ess_bulk, s.ess_tail)
    rhat, enough = largest(s.rhat), LONG_ESS_PER_CHAIN * s.n_chains
    if np.isnan(rhat) or (rhat < LONG_RHAT and ess.min() >= enough):
        return Verdict(True, NOTHING_TO_DO)
    figures = f"R-hat {rhat:.3g} at {_worst(s.rhat, s)}, ESS {ess.min():.0f} at {_worst(-ess, s)}"
    # R-hat^2 - 1 and 1/ESS both fall as one over the length, once the chains mix.
    factor = max((rhat**2 - 1) / (LONG_RHAT**2 - 1), enough / ess.min())
    if factor <= LONGEST_ADVICE:
        longer = max(2, ceil(MARGIN * factor))
        return Verdict(
            False, f"Run about {longer} times longer, {longer * s.n_draws} draws a chain ({figures})."
        )
    return Verdict(
        False,
        f"The chains disagree ({figures}): {s.cause}. Longer chains will hardly help: "
        "use a population of short annealed chains, whose intervals include the disagreement.",
    )


def judge_population(s: Statistics) -> Verdict:
    """Median R-hat of X and that of eta2 < 1.1, median ESS of X >= 50, no drift."""
    if reason := _unusable(s):
        return Verdict(False, reason)
    x, eta2 = members(s.groups, "X"), largest(s.rhat[members(s.groups, "eta2")])
    halves = [median(s.rhat[members(s.groups, f"X {half}")]) for half in ("observed", "unobserved")]
    on_x, ess = largest(np.array(halves)) >= POPULATION_RHAT, median(s.ess_bulk[x])
    rules = (
        (
            _drifts(s),
            f"The chains were still moving when draws were stored (drift of {_worst(np.abs(s.drift), s)}): "
            f"anneal longer ({ANNEAL_LONGER}).",
        ),
        (
            on_x,
            f"The chains disagree on X (R-hat {largest(s.rhat[x]):.2f} at the worst entry, "
            f"{_worst(np.where(x, s.rhat, np.nan), s)}): {s.cause}. Intervals include this; {s.remedy}.",
        ),
        (
            not on_x and eta2 >= POPULATION_RHAT,
            f"The estimate of the noise, eta2, is uncertain (R-hat {eta2:.2f}: several explanations fit equally "
            f"well). Predictions and intervals account for this; to settle it, anneal longer ({ANNEAL_LONGER}).",
        ),
        (
            ess < POPULATION_ESS,
            f"The Monte Carlo error is large (ESS {ess:.0f} for the median entry): "
            f"run {np.ceil(s.n_chains * POPULATION_ESS / ess):.0f} chains or more.",
        ),
    )
    advice = [sentence for holds, sentence in rules if holds]
    return Verdict(False, " ".join(advice)) if advice else Verdict(True, _note_on_entries(s.rhat[x]))


def _unusable(s: Statistics) -> str:
    """Why the draws cannot be judged; empty if they can."""
    rules = (
        (
            not s.finite.all(),
            f"Draws of {s.names[int(np.argmin(s.finite))]} are not finite: "
            "rescale the data or check them for extreme values.",
        ),
        (
            s.n_draws < MIN_DRAWS,
            f"Too few draws to judge: {s.n_draws} a chain, at least {MIN_DRAWS} are needed; run longer.",
        ),
        (s.n_chains < 2, "One chain cannot show that it is stuck: run at least 4."),
    )
    return next((sentence for holds, sentence in rules if holds), "")


def _drifts(s: Statistics) -> bool:
    """Whether any quantity moves between the two halves: a t-test, corrected for the number of quantities."""
    t = np.abs(s.drift[~np.isnan(s.drift)])
    return bool(t.size and 2 * stdtr(s.n_chains - 1, -t.max()) * t.size < DRIFT_LEVEL)


def _note_on_entries(rhat: Array) -> str:
    above = int((rhat >= POPULATION_RHAT).sum())
    if not above:
        return NOTHING_TO_DO
    return (
        f"{NOTHING_TO_DO} On {above} of {rhat.size} watched entries the chains disagree "
        f"(R-hat up to {largest(rhat):.2f}); their intervals include it."
    )


def _worst(values: Array, s: Statistics) -> str:
    """The name of the quantity with the largest value; "none" where all are NaN."""
    return "none" if np.isnan(values).all() else s.names[int(np.nanargmax(values))]


def strip_code(advice: str) -> str:
    """The advice without Python code, for those who read it elsewhere."""
    for code in (ANNEAL_LONGER, THIN_MORE):
        advice = advice.replace(f" ({code})", "")
    return advice


def find_stuck_chains(
    eta2: Array, ranks: NDArray[np.int64], n: int, shape: tuple[int, int], effects: bool
) -> Flags:
    """Find chains left by annealing in a mode without mass, where others of their rank found a better one.

    eta2: (chains, draws), the noise variance. n: the number of observations.
    By Laplace's approximation the log mass of a mode is about -(N - p) log eta, p the degrees of freedom. A chain with
    twice the noise sd of the median chain, worth 30 nats or more, has no weight in the posterior; pooled with the
    others it would get one. With N <= p no chain is stuck: there every mode may interpolate the data.
    """
    log_eta, (m1, m2) = 0.5 * np.log(eta2).mean(1), shape
    free = n - (ranks * (m1 + m2 - ranks) + effects * (m1 + m2))
    above = log_eta - np.array([np.median(log_eta[ranks == rank]) for rank in ranks])
    return np.asarray((above > np.log(STUCK_RATIO)) & (free * above > STUCK_NATS))


def median(values: Array) -> float:
    """Median without NaN; NaN if nothing is left."""
    values = values[~np.isnan(values)]
    return float(np.median(values)) if values.size else np.nan


def largest(values: Array) -> float:
    """Maximum without NaN; NaN if nothing is left."""
    values = values[~np.isnan(values)]
    return float(values.max()) if values.size else np.nan


def members(groups: tuple[str, ...], group: str) -> Flags:
    """Which quantities belong to a group; "X" stands for "X observed" and "X unobserved"."""
    return np.array([g == group or g.split(" ")[0] == group for g in groups], dtype=bool)
