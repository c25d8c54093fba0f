"""What the figures say, in words: whether choosing helped, and which claims of the paper hold."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from typing import Literal, NamedTuple

import numpy as np

from maxentry.studies import metrics, notes
from maxentry.studies.metrics import BASELINE, DEFAULT, Curves, Interval, Study
from maxentry.studies.paper import FIGURES
from maxentry.studies.record import Run
from maxentry.studies.wording import digits_of, spelled, title

Effect = Literal["helps", "no difference shown", "harms", "unknown"]
Judgement = Literal["holds", "does not hold", "within chance", "depends"]

# What does not learn from measurements which entries to ask for.
NOT_ACTIVE = (
    "uniform",
    "balanced",
    "balanced_uniform",
    "cheapest",
    "means",
    "papers_uniform",
    "papers_balanced",
)


ENOUGH = 5  # replicates, below which quantiles tell nothing and intervals little
NOTHING = 0.98  # of the spread of a real matrix: an error of the mean of all values would be 1


class Pair(NamedTuple):
    """A way to choose, and uniform sampling judged by the same estimate."""

    title: str
    chosen: str
    uniform: str


PAIRS = (
    Pair("MaxEnt", "maxent", "uniform"),
    Pair("our default", "predictive_variance", "uniform"),
    Pair("MaxEnt, the paper's sampler", "papers_maxent", "papers_uniform"),
)


class Claim(NamedTuple):
    """One claim of the paper on one figure, and what became of it."""

    claim: str
    pair: str  # what chooses
    figure: str
    numbers: str
    judgement: Judgement


def effect(ratio: Interval) -> Effect:
    """What a ratio to uniform's error says: nothing, if its interval contains 1 or cannot be told."""
    if not ratio.known:
        return "unknown"
    if ratio.high < 1:
        return "helps"
    return "harms" if ratio.low > 1 else "no difference shown"


def sentence(runs: Iterable[Run], strategy: str = DEFAULT) -> str:
    """Would active sampling have helped on this matrix? Of runs of one case."""
    study = metrics.gather(runs)
    case = next(iter(study), "")
    by = study.get(case, {})
    uniform = metrics.baseline(by, strategy)
    if uniform is None or strategy not in by:
        return f"There are no runs of both {title(strategy)} and {title(BASELINE)} sampling to compare."
    chosen, base = metrics.paired(by[strategy], uniform)
    ratio = metrics.end_ratio(chosen, base)
    if not ratio.replicates:
        return f"There are no replicates that both {title(strategy)} and {title(BASELINE)} have."
    end = "at the same cost" if chosen.by_cost else f"after {np.median(base.at(-1, 'n')):,.0f} entries"
    alike = "" if base.strategy == BASELINE else ", judged by the same estimate,"
    digits = digits_of(ratio)
    error = f"{end} the error of {title(strategy)} is {ratio.value:.{digits}f} of uniform sampling's{alike}"
    who = helper(strategy)
    if not ratio.known:
        return f"One replicate cannot tell whether {who} would have helped: {error.rstrip(',')}."
    few = ", which are few" if ratio.replicates < ENOUGH else ""
    ends = f"{ratio.low:.{digits}f} to {ratio.high:.{digits}f}"
    spread = f"(90% interval {ends}, {ratio.replicates} replicates{few})"
    if notes.mixes(strategy):
        return _mixed(strategy, effect(ratio), f"{error} {spread}")
    if effect(ratio) == "helps":
        return f"Yes, {who} would have helped: {error} {spread}{_saved(chosen, base)}."
    if effect(ratio) == "harms":
        return f"No, {who} would have done worse than measuring at random: {error} {spread}{_nothing(base)}."
    return (
        f"No gain from {who} is shown: {error} {spread}, an interval that contains 1, so measuring at random"
        f" would have done about as well as far as these replicates can tell{_nothing(base)}."
    )


def _nothing(base: Curves) -> str:
    """Where not even the model predicts anything, no choice of entries can help it."""
    predicts = base.simulated or float(base.at(-1).mean()) < NOTHING
    return (
        ""
        if predicts
        else "; no structure was found, for the errors are as large as the spread of the values"
    )


def _mixed(strategy: str, found: Effect, numbers: str) -> str:
    """Of a strategy that is judged by an estimate of its own, where uniform is judged by our posterior."""
    does = {"helps": "done better", "harms": "done worse"}.get(found, "done no better or worse that is shown")
    text = (
        f"{title(strategy)}, judged by another estimate than uniform sampling, would have {does}: {numbers}, which does"
        " not tell the choice of entries from the estimate."
    )
    return text[:1].upper() + text[1:]


def subject(strategies: Iterable[str]) -> str:
    """The strategy that a comparison is about: the first that chooses; else the first that is not uniform."""
    names = list(strategies)
    others = [name for name in names if name != BASELINE]
    return next((name for name in names if name not in NOT_ACTIVE), others[0] if others else BASELINE)


def helper(strategy: str) -> str:
    """What would help if this strategy does."""
    return title(strategy) if strategy in NOT_ACTIVE or notes.mixes(strategy) else "active sampling"


def _saved(chosen: Curves, base: Curves) -> str:
    took = metrics.to_reach(chosen, base, chosen.spent)
    if not took.median < took.uniform:
        return ""
    amount = f"{took.median:,.0f} entries instead of {took.uniform:,.0f}"
    if chosen.by_cost:
        amount = f"{took.median / took.uniform:.0%} of the cost"
    return f", and it reaches uniform's final error after {amount} (median)"


class NoGain(NamedTuple):
    """A case where a strategy is not shown to help."""

    case: str  # with ", at one cost" where it goes by cost
    strategy: str
    ratio: Interval
    effect: Effect


def without_gain(study: Study, strategy: str) -> list[NoGain]:
    """The cases where this strategy's error at the end is not shown to be below uniform's."""
    found = []
    for case, by in study.items():
        base = metrics.baseline(by, strategy)
        if strategy in by and base is not None:
            ratio = metrics.end_ratio(by[strategy], base)
            if effect(ratio) != "helps":
                name = f"{case}, at one cost" if base.by_cost else case
                found.append(NoGain(name, strategy, ratio, effect(ratio)))
    return found


def active(study: Study) -> list[str]:
    """The strategies that choose, in the order they come."""
    return [name for name in metrics.strategies_of(study) if name not in NOT_ACTIVE]


def claims(runs: Iterable[Run]) -> list[Claim]:
    """The paper's four claims, each on every figure, with our sampler and with the paper's own where it was run.

    After each claim's figures comes "all": their common judgement, or "depends", and which of them are behind it.
    """
    study = metrics.gather(runs)
    rows: list[Claim] = []
    for text, judge in CLAIMS.items():
        for pair in PAIRS:
            both = {case: by for case, by in study.items() if pair.chosen in by and pair.uniform in by}
            found = judge(pair, both)
            rows += [Claim(text, pair.title, case, *judged) for case, judged in found.items()]
            if len(found) > 1:
                rows.append(Claim(text, pair.title, f"all {len(found)}", *together(found)))
    return rows


Judged = dict[str, tuple[str, Judgement]]  # case -> numbers, judgement


def together(found: Judged) -> tuple[str, Judgement]:
    """Several figures: which are judged how, and one word if all are judged alike."""
    by: dict[Judgement, list[str]] = {}
    for case, (_, judgement) in found.items():
        by.setdefault(judgement, []).append(case)
    listed = "; ".join(f"{judgement} on {len(cases)} ({'; '.join(cases)})" for judgement, cases in by.items())
    several = [f"{name} ({n})" for name, n in Counter(map(_figure, found)).items() if n > 1]
    variants = f"; variants of one figure are counted apart: {', '.join(several)}" if several else ""
    return listed + variants, next(iter(by)) if len(by) == 1 else "depends"


def _figure(case: str) -> str:
    """The paper's figure of which a case is a variant."""
    names = {panel.case.name: figure.name for figure in FIGURES.values() for panel in figure.panels}
    return names.get(case, case)


def better_start(pair: Pair, study: Study) -> Judged:
    """Error after the initial entries: the balanced design's against the uniform one's."""
    found: Judged = {}
    for case, by in study.items():
        ratio = metrics.start_ratio(by[pair.chosen], by[pair.uniform])
        found[case] = (f"ratio at N_ini {spelled(ratio)}", _below(ratio, 1.0))
    return found


def beyond_quantile(pair: Pair, study: Study) -> Judged:
    """At the end: uniform's mean against the 75% quantile of the replicates of the other."""
    found: Judged = {}
    for case, by in study.items():
        chosen, base = metrics.paired(by[pair.chosen], by[pair.uniform])
        errors, mean = chosen.at(-1), float(base.at(-1).mean())
        low, high = np.quantile(errors, [0.25, 0.75])
        numbers = f"uniform {mean:.3f}, chosen {errors.mean():.3f} (quartiles {low:.3f} to {high:.3f})"
        if len(errors) < ENOUGH:
            found[case] = (f"{numbers}; {len(errors)} replicates are too few for a quantile", "within chance")
            continue
        found[case] = (numbers + _failing(base), "holds" if mean > high else "does not hold")
    return found


def growing_gap(pair: Pair, study: Study) -> Judged:
    """Uniform's error minus the other's: at the end against after the initial entries, paired."""
    found: Judged = {}
    for case, by in study.items():
        chosen, base = metrics.paired(by[pair.chosen], by[pair.uniform])
        first, last = (float((base.at(look) - chosen.at(look)).mean()) for look in (0, -1))
        growth = _growth(chosen, base)
        numbers = f"gap {first:.3f} at first, {last:.3f} at the end: grows by {spelled(growth, 3)}"
        found[case] = (numbers + _failing(base), _above(growth, 0.0))
    return found


def _growth(chosen: Curves, base: Curves) -> Interval:
    """Of the gap between uniform's error and the other's, from the initial entries to the end."""
    chosen, base = metrics.paired(chosen, base)
    first, last = (base.at(look) - chosen.at(look) for look in (0, -1))
    return metrics.mean_interval(last - first)


def _failing(base: Curves) -> str:
    """A gap means another thing where the estimate gets worse by measuring."""
    first, last = (float(base.at(look).mean()) for look in (0, -1))
    return f"; uniform's own error grows, from {first:.3f} to {last:.3f}" if last > first else ""


def more_on_real_data(pair: Pair, study: Study) -> Judged:
    """Growth of the gap to uniform: each real matrix's interval against those of all simulations.

    The ratio at the end is given beside it; it also holds the gap of the start, which is the design's.
    """
    growths = {case: _growth(by[pair.chosen], by[pair.uniform]) for case, by in study.items()}
    simulations = {c: growth for c, growth in growths.items() if study[c][pair.chosen].simulated}
    if not simulations:
        return {}
    said = {case: _grown(study[case][pair.chosen], study[case][pair.uniform]) for case in study}
    listed = "; ".join(f"{case}: {said[case]}" for case in simulations)
    low, high = (np.array([getattr(g, end) for g in simulations.values()]) for end in ("low", "high"))
    found: Judged = {}
    for case, growth in growths.items():
        if case not in simulations:
            judgement: Judgement = "within chance"
            if np.all(growth.low > high):
                judgement = "holds"
            elif np.all(growth.high < low):
                judgement = "does not hold"
            failing = _failing(study[case][pair.uniform])
            found[case] = (f"{said[case]}{failing}; against {listed}", judgement)
    return found


def _grown(chosen: Curves, base: Curves) -> str:
    growth, ratio = _growth(chosen, base), metrics.end_ratio(chosen, base)
    batch = chosen.runs[0].identity.get("batch")
    batches = "" if batch is None else f", batches of {batch}"
    return f"gap grows by {spelled(growth, 3)}, ratio at the end {spelled(ratio)}{batches}"


CLAIMS: dict[str, Callable[[Pair, Study], Judged]] = {
    "a balanced start beats a uniform start": better_start,
    "at the end, uniform's mean is above the 75% quantile of what chooses": beyond_quantile,
    "the gap to uniform grows as entries are measured": growing_gap,
    "the gap grows more on real data than in simulations": more_on_real_data,
}


def _below(interval: Interval, bound: float) -> Judgement:
    if interval.known and interval.high < bound:
        return "holds"
    return "does not hold" if interval.known and interval.low > bound else "within chance"


def _above(interval: Interval, bound: float) -> Judgement:
    if interval.known and interval.low > bound:
        return "holds"
    return "does not hold" if interval.known and interval.high < bound else "within chance"
