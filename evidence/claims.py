"""The paper's four claims, judged on every figure with our sampler, and with the paper's own where it was run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from typing import Literal, NamedTuple

import numpy as np

from evidence.strategies import STRATEGIES
from maxentry.compare import metrics
from maxentry.compare.metrics import Curves, Interval
from maxentry.compare.report import Mark, ResultCell, ResultTable, join_sentences
from maxentry.compare.store import Run

Judgement = Literal["holds", "does not hold", "within chance", "depends"]
Judged = dict[str, tuple[str, Judgement]]  # case -> numbers, judgement

FEW = 5  # replicates: below this, quantiles tell nothing
MARKS: dict[Judgement, Mark] = {
    "holds": "good", "does not hold": "bad", "within chance": "even", "depends": "even",
}  # fmt: skip
NOTE = (
    "Ratios, gaps and their 90% intervals are over paired replicates (t). Within chance: the interval contains what"
    " would be no difference. Depends: not the same on all figures. Errors, and so gaps, are in units of the spread of"
    " the matrix."
)


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
    """One claim of the paper on one figure, and what was found."""

    claim: str
    chosen_by: str
    figure: str
    found: str
    judgement: Judgement


def judge_claims(runs: Iterable[Run]) -> list[Claim]:
    """Judge each claim on every figure. After the figures of a claim comes "all": their common judgement."""
    study = metrics.gather(runs, STRATEGIES)
    rows: list[Claim] = []
    for text, judge in CLAIMS.items():
        for pair in PAIRS:
            both = {case: by for case, by in study.items() if pair.chosen in by and pair.uniform in by}
            judged = judge({case: (by[pair.chosen], by[pair.uniform]) for case, by in both.items()})
            rows += [Claim(text, pair.title, case, *found) for case, found in judged.items()]
            if len(judged) > 1:
                counts = Counter(judgement for _, judgement in judged.values())
                found = ", ".join(f"{judgement} on {n}" for judgement, n in counts.items())
                common = next(iter(counts)) if len(counts) == 1 else "depends"
                rows.append(Claim(text, pair.title, f"all {len(judged)}", found, common))
    return rows


def build_claims_table(claims: Iterable[Claim], note: str = "") -> ResultTable:
    """Return the claims as a table of the report."""
    rows = tuple(
        (
            ResultCell(c.claim),
            ResultCell(c.chosen_by),
            ResultCell(c.figure),
            ResultCell(c.judgement, MARKS[c.judgement]),
            ResultCell(c.found),
        )
        for c in claims
    )
    header = ("claim", "chosen by", "figure", "judgement", "found")
    return ResultTable("The paper's claims", join_sentences(NOTE, note), header, rows)


Pairs = dict[str, tuple[Curves, Curves]]  # case -> a way to choose, uniform


def judge_start(pairs: Pairs) -> Judged:
    """Compare errors after the initial entries: the balanced design's with the uniform one's."""
    judged: Judged = {}
    for case, (chosen, base) in pairs.items():
        chosen, base = metrics.pair(chosen, base)
        ratio = metrics.ratio_interval(chosen.at(0), base.at(0))
        judged[case] = (f"ratio at N_ini {ratio.text()}", _compare(ratio, 1.0, below=True))
    return judged


def judge_quantile(pairs: Pairs) -> Judged:
    """Compare uniform's mean at the end with the 75% quantile of the replicates of the other."""
    judged: Judged = {}
    for case, (chosen, base) in pairs.items():
        chosen, base = metrics.pair(chosen, base)
        errors, mean = chosen.at(-1), float(base.at(-1).mean())
        low, high = np.quantile(errors, [0.25, 0.75])
        found = f"uniform {mean:.3f}, chosen {errors.mean():.3f} (quartiles {low:.3f} to {high:.3f})"
        if len(errors) < FEW:
            judged[case] = (f"{found}; {len(errors)} replicates are too few for a quantile", "within chance")
        else:
            judged[case] = (found + _note_growth(base), "holds" if mean > high else "does not hold")
    return judged


def judge_growth(pairs: Pairs) -> Judged:
    """Compare the gap between uniform's error and the other's at the end with the gap after the initial entries."""
    judged: Judged = {}
    for case, (chosen, base) in pairs.items():
        growth = _gap_growth(chosen, base)
        judged[case] = (
            f"gap grows by {growth.text(3)}{_note_growth(base)}",
            _compare(growth, 0.0, below=False),
        )
    return judged


def judge_real_data(pairs: Pairs) -> Judged:
    """Compare the growth of the gap on each real matrix with that of all simulations."""
    growths = {case: _gap_growth(*both) for case, both in pairs.items()}
    simulated = {case: growth for case, growth in growths.items() if pairs[case][0].simulated}
    if not simulated:
        return {}
    listed = "; ".join(f"{case} by {growth.text(3)}" for case, growth in simulated.items())
    low, high = (np.array([getattr(g, end) for g in simulated.values()]) for end in ("low", "high"))
    judged: Judged = {}
    for case in growths.keys() - simulated.keys():
        growth = growths[case]
        judgement: Judgement = "within chance"
        if np.all(growth.low > high):
            judgement = "holds"
        elif np.all(growth.high < low):
            judgement = "does not hold"
        text = f"gap grows by {growth.text(3)}{_note_growth(pairs[case][1])}; against {listed}"
        judged[case] = (text, judgement)
    return {case: judged[case] for case in growths if case in judged}


CLAIMS: dict[str, Callable[[Pairs], Judged]] = {
    "a balanced start beats a uniform start": judge_start,
    "at the end, uniform's mean is above the 75% quantile of what chooses": judge_quantile,
    "the gap to uniform grows as entries are measured": judge_growth,
    "the gap grows more on real data than in simulations": judge_real_data,
}


def _gap_growth(chosen: Curves, base: Curves) -> Interval:
    """Return the growth of the gap from the initial entries to the end."""
    chosen, base = metrics.pair(chosen, base)
    first, last = (base.at(look) - chosen.at(look) for look in (0, -1))
    return metrics.mean_interval(last - first)


def _note_growth(base: Curves) -> str:
    """Say so if uniform's error grows with the number of entries: a gap then means something else."""
    first, last = (float(base.at(look).mean()) for look in (0, -1))
    return f"; uniform's own error grows, from {first:.3f} to {last:.3f}" if last > first else ""


def _compare(interval: Interval, bound: float, *, below: bool) -> Judgement:
    if not interval.known or interval.low <= bound <= interval.high:
        return "within chance"
    return "holds" if (interval.high < bound) == below else "does not hold"
