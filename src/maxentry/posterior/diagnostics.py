"""Has the fit converged, and if not, what to do: R-hat and ESS of X, eta2, sigma2 and the spectrum."""

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from math import ceil
from typing import Any, Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtr

from maxentry import frames
from maxentry.errors import ParameterError
from maxentry.posterior.draws import Draws as Draws
from maxentry.posterior.draws import monitor
from maxentry.posterior.rhat_ess import MIN_DRAWS, drift, ess_between
from maxentry.posterior.rhat_ess import ess_bulk as ess_bulk
from maxentry.posterior.rhat_ess import ess_tail as ess_tail
from maxentry.posterior.rhat_ess import split_rhat as split_rhat

# Judge a run by its statistics: has it converged, and what to do if not; `Diagnostics` tells the rules.
LONG_RHAT = 1.01  # Vehtari et al. (2021)
LONG_ESS_PER_CHAIN = 100  # the same: 50 for each half-chain
POPULATION_RHAT = 1.1
POPULATION_ESS = 50  # Monte Carlo error then adds 1% to the root mean square error of a posterior mean
DRIFT_LEVEL = 0.01  # chance of a false alarm over all quantities together
MARGIN = 1.5  # advised over the estimated length, which would be enough only half the time
LONGEST_ADVICE = 50  # beyond this factor "run longer" is no advice
ANNEAL_LONGER = "sampling=dataclasses.replace(posterior.sampling, anneal=…)"
THIN_MORE = "thin=…"
NOTHING_TO_DO = "Nothing to do."
Array = NDArray[np.float64]


class Statistics(NamedTuple):
    """R-hat, ESS, drift of each watched quantity (NaN where it never changes); the size of the problem."""

    n_chains: int
    n_draws: int
    names: tuple[str, ...]
    groups: tuple[str, ...]
    finite: NDArray[np.bool_]
    rhat: Array
    ess_bulk: Array
    ess_tail: Array
    drift: Array
    shape: tuple[int, int]
    rank: int
    n_observed: int


class Verdict(NamedTuple):
    """Whether the run has converged, and advice in plain words."""

    converged: bool
    advice: str


def strip_code(advice: str) -> str:
    """The advice in words alone, for those who read it without writing Python."""
    for code in (ANNEAL_LONGER, THIN_MORE):
        advice = advice.replace(f" ({code})", "")
    return advice


def median(values: Array) -> float:
    """Median of what is not NaN; NaN if nothing is left."""
    values = values[~np.isnan(values)]
    return float(np.median(values)) if values.size else np.nan


def largest(values: Array) -> float:
    """Maximum of what is not NaN; NaN if nothing is left."""
    values = values[~np.isnan(values)]
    return float(values.max()) if values.size else np.nan


def members(groups: tuple[str, ...], group: str) -> NDArray[np.bool_]:
    """Which quantities belong to a group; "X" stands for "X observed" and "X unobserved"."""
    return np.array([g == group or g.split(" ")[0] == group for g in groups], dtype=bool)


def judge_long(s: Statistics) -> Verdict:
    """All R-hat < 1.01 and all bulk and tail ESS >= 100 a chain."""
    if reason := _unusable(s):
        return Verdict(False, reason)
    ess = np.minimum(s.ess_bulk, s.ess_tail)
    rhat, enough = largest(s.rhat), LONG_ESS_PER_CHAIN * s.n_chains
    if np.isnan(rhat) or (rhat < LONG_RHAT and ess.min() >= enough):
        return Verdict(True, NOTHING_TO_DO)
    worst, least = _worst_name(s.rhat, s.names), _worst_name(-ess, s.names)
    found = f"R-hat {rhat:.3g} at {worst}, ESS {ess.min():.0f} at {least}"
    # R-hat^2 - 1 and 1/ESS both fall as one over the length, once the chains mix.
    factor = max((rhat**2 - 1) / (LONG_RHAT**2 - 1), enough / ess.min())
    if factor <= LONGEST_ADVICE:
        longer = max(2, ceil(MARGIN * factor))
        return Verdict(
            False, f"Run about {longer} times longer, {longer * s.n_draws} draws a chain ({found})."
        )
    return Verdict(
        False,
        f"The chains disagree ({found}): {_cause(s)}. Longer chains will hardly help: "
        "use a population of short annealed chains, whose intervals include the disagreement.",
    )


def judge_population(s: Statistics) -> Verdict:
    """Median R-hat of X and that of eta2 < 1.1, median ESS of X >= 50, no drift."""
    if reason := _unusable(s):
        return Verdict(False, reason)
    reasons = [r for r in (_drifts(s), _disagreement(s), _few_chains(s)) if r]
    return Verdict(False, " ".join(reasons)) if reasons else Verdict(True, _remaining(s))


def _unusable(s: Statistics) -> str:
    if not s.finite.all():
        return (
            f"Draws of {s.names[int(np.argmin(s.finite))]} are not finite: "
            "rescale the data or check them for extreme values."
        )
    if s.n_draws < MIN_DRAWS:
        return f"Too few draws to judge: {s.n_draws} a chain, at least {MIN_DRAWS} are needed; run longer."
    if s.n_chains < 2:
        return "One chain cannot show that it is stuck: run at least 4."
    return ""


def _drifts(s: Statistics) -> str:
    t = np.abs(s.drift[~np.isnan(s.drift)])
    if not t.size or 2 * stdtr(s.n_chains - 1, -t.max()) * t.size >= DRIFT_LEVEL:
        return ""
    where = _worst_name(np.abs(s.drift), s.names)
    return (
        f"The chains were still moving when they were kept (drift of {where}): "
        f"anneal longer ({ANNEAL_LONGER})."
    )


def _disagreement(s: Statistics) -> str:
    x = members(s.groups, "X")
    halves = [median(s.rhat[members(s.groups, f"X {half}")]) for half in ("observed", "unobserved")]
    eta2 = largest(s.rhat[members(s.groups, "eta2")])
    if largest(np.array(halves)) >= POPULATION_RHAT:
        worst = _worst_name(np.where(x, s.rhat, np.nan), s.names)
        return (
            f"The chains disagree on X (R-hat {largest(s.rhat[x]):.2f} at the worst entry, {worst}): "
            f"{_cause(s)}. Intervals include this; {_remedy(s)}."
        )
    if eta2 >= POPULATION_RHAT:
        return (
            f"The chains disagree on the noise variance eta2 (R-hat {eta2:.2f}): "
            f"{_cause(s)}. Predictive intervals include this; {_remedy(s)}."
        )
    return ""


def _freedom(s: Statistics) -> int:
    m1, m2 = s.shape
    return s.rank * (m1 + m2 - s.rank)


def _cause(s: Statistics) -> str:
    if s.n_observed < _freedom(s):
        return (
            f"the data leave several explanations ({s.n_observed} entries observed, fewer than the "
            f"{_freedom(s)} degrees of freedom R(m1 + m2 - R))"
        )
    return "they sit in different modes, or the kept draws are too close together to tell"


def _remedy(s: Statistics) -> str:
    if s.n_observed < _freedom(s):
        return f"for sharper ones measure more, lower the rank, or anneal longer ({ANNEAL_LONGER})"
    lower = ", or lower the rank" if s.rank else ""
    return f"anneal longer ({ANNEAL_LONGER}), keep draws further apart ({THIN_MORE}){lower}"


def _few_chains(s: Statistics) -> str:
    ess = median(s.ess_bulk[members(s.groups, "X")])
    if np.isnan(ess) or ess >= POPULATION_ESS:
        return ""
    needed = ceil(s.n_chains * POPULATION_ESS / ess)
    return (
        f"The Monte Carlo error is large (ESS {ess:.0f} for the median entry): run {needed} chains or more."
    )


def _remaining(s: Statistics) -> str:
    x = s.rhat[members(s.groups, "X")]
    above = int((x >= POPULATION_RHAT).sum())
    if not above:
        return NOTHING_TO_DO
    return (
        f"{NOTHING_TO_DO} On {above} of {x.size} watched entries the chains disagree "
        f"(R-hat up to {largest(x):.2f}); their intervals include it."
    )


def _worst_name(values: Array, names: tuple[str, ...]) -> str:
    return names[int(np.nanargmax(values))]


Kind = Literal["long", "population"]
_COLUMNS = ("quantity", "count", "median R-hat", "worst R-hat", "least bulk ESS", "least tail ESS")


@dataclass(frozen=True, repr=False, eq=False)
class Diagnostics:
    """The record of a fit: R-hat and ESS of each watched quantity, a verdict and advice.

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

    def in_group(self, group: str) -> NDArray[np.bool_]:
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
        """One line a watched quantity: quantity, group, rhat, ess_bulk, ess_tail."""
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
        verdict = "converged" if self.converged else "not converged"
        chains = f"{self.kind} run, {self.n_chains} chains x {self.n_draws} draws"
        return (
            f"{chains}: {verdict}; R-hat of X {self.median_rhat:.2f} (median), {self.worst_rhat:.2f} (worst)."
        )

    def _table(self) -> list[tuple[str, ...]]:
        return [self._table_line(group) for group in dict.fromkeys(self.groups)]

    def _table_line(self, group: str) -> tuple[str, ...]:
        inside = self.in_group(group)
        rhat = self.rhat[inside]
        least = (-largest(-ess[inside]) for ess in (self.ess_bulk, self.ess_tail))
        figures = f"{median(rhat):.3f}", f"{largest(rhat):.3f}", *(f"{ess:.0f}" for ess in least)
        return group, str(inside.sum()), *figures


def diagnose(
    draws: Draws,
    rows: NDArray[np.integer],
    cols: NDArray[np.integer],
    kind: Kind,
    *,
    seed: int = 0,
    row_labels: Sequence[object] | None = None,
    col_labels: Sequence[object] | None = None,
    frame_kind: str | None = None,
) -> Diagnostics:
    """Watch up to 200 entries of X (half unobserved), eta2, sigma2, spectrum and coherences; judge the run.

    `rows`, `cols` are the indices of the observed entries; `seed` fixes which quantities are watched. The
    cost is O(chains draws (m1 + m2) R^2).
    """
    if kind not in get_args(Kind):
        raise ParameterError(f'kind should be "long" or "population", got {kind!r}')
    labels = tuple(
        range(m) if names is None else names
        for m, names in zip(draws.shape, (row_labels, col_labels), strict=True)
    )
    rng = np.random.default_rng(seed)
    observed = np.unique(np.asarray(rows, dtype=np.int64) * draws.shape[1] + cols)
    names, groups, watched = monitor(draws, observed, rng, (labels[0], labels[1]))
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
        n_observed=observed.size,
    )
    verdict = judge_population(statistics) if kind == "population" else judge_long(statistics)
    return Diagnostics(
        kind, n_chains, n_draws, names, groups, statistics.rhat, bulk, tail, verdict.converged, verdict.advice,
        frame_kind,
    )  # fmt: skip
