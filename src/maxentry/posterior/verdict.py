"""Judge a run by its statistics: has it converged, and what to do if not; `Diagnostics` tells the rules."""

from math import ceil
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtr

from maxentry.posterior.convergence import MIN_DRAWS

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


def without_code(advice: str) -> str:
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
