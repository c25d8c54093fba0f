"""What must be known to read a table right, in a sentence each; nothing where it does not apply."""

from __future__ import annotations

from collections.abc import Iterable

from maxentry.studies.matrices import one_matrix
from maxentry.studies.metrics import BASELINE, OWN_BASELINE, Study
from maxentry.studies.strategies import STRATEGIES
from maxentry.studies.wording import title

RATIO = (
    "Ratio of the means over paired replicates, with the 90% interval of its logarithm (t): below 1 is better than"
    " uniform. Marked where the interval is all below 1 (better) or all above (worse)."
)
BY_COST = (
    "Campaigns end when the money does. In each replicate all strategies are compared at one cost: where the first of"
    " them ended, so that one which ends early sets it for all, and one more strategy may move it. The share of the"
    " money is that of the most that any of them spent: median over replicates (least to most). Between looks errors"
    " are taken as linear in the cost, which overstates those of a strategy with few looks, such as uniform."
)


def joined(*sentences: str) -> str:
    """Those that say something."""
    return " ".join(sentence for sentence in sentences if sentence)


def own_estimates(strategies: Iterable[str]) -> str:
    """Ratios that do not tell a choice from an estimate, and those that do although they might not seem to."""
    names = list(strategies)
    mixed = [name for name in names if mixes(name)]
    said = []
    if any(name in OWN_BASELINE for name in names):
        said.append("MaxEnt with the paper's sampler is compared with uniform judged by that sampler too.")
    if mixed:
        listed = "; ".join(title(name) for name in mixed)
        said.append(
            f"Judged by an estimate of their own, where uniform is judged by our posterior: {listed}. Their figures mix"
            " choice and estimate."
        )
    return joined(*said)


def brings_estimate(strategy: str) -> bool:
    """Whether a strategy is judged by another estimate than the campaign's posterior."""
    return strategy != BASELINE and strategy in STRATEGIES and STRATEGIES[strategy].estimator is not None


def mixes(strategy: str) -> bool:
    """Whether its ratio to uniform is of another estimate, too, since there is no uniform judged by its own."""
    return brings_estimate(strategy) and strategy not in OWN_BASELINE


def same_matrix(study: Study) -> str:
    """Where the intervals are not over matrices."""
    cases = [case for case, by in study.items() if one_matrix(next(iter(by.values())).runs[0].identity)]
    if not cases:
        return ""
    where = "" if len(cases) == len(study) else f" on {'; '.join(cases)}"
    return (
        f"All replicates are of the same matrix{where}: the interval{' there' if where else ''} is over designs and"
        " chains only, and says nothing of other matrices of the kind."
    )
