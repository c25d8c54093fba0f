"""The tables of `real_matrices.py` from its records, and what they come to."""

from collections import defaultdict
from itertools import groupby

import numpy as np
from measures import mean_and_error, table

HEADER = """# Ten real matrices: error and coverage on held-out entries

Written by `python benchmarks/real_matrices.py`. Of each matrix the given share of all entries is observed at random;
of the other known entries 3,000 (all, where there are fewer) are predicted. Relative error is RMSE over the standard
deviation of those entries (1 = no better than their mean); coverage is that of 90% predictive intervals.
Mean ± standard error over the seeds.

Matrices: Jester (users who rated all jokes) and AutoML (error, log seconds) are random 300 x 100 parts, another one for
each seed; SAT11 (300 x 18), SAT20 (400 x 67), kinase pKd (68 x 442), Buchwald-Hartwig (45 x 88) and direct arylation
(48 x 36) are whole. MovieLens holds only what was rated, and a random 300 x 100 part has too few ratings for 10% and
30%: the 300 most active users and the 100 most rated movies are taken, and errors are over rated entries.

Methods: plain means (mu + row deviation + column deviation, nothing shrunk), rank 0 (the shrunken row-and-column-means
model), one chain of 4,100 sweeps (rank 4), the population (rank 4), rank "auto", rank "auto" with Student noise,
SMURFF 1.1 (400 sweeps of burn-in, 800 draws, k = 4 and k = 10, values less their global mean), soft-impute (nuclear
norm after row and column means, penalty by hold-out).
"""

Grouped = dict[tuple[str, float], dict[str, list[dict]]]
INTERVALS = (0.85, 0.95)


def grouped(records: list[dict]) -> Grouped:
    cases: Grouped = defaultdict(lambda: defaultdict(list))
    for record in records:
        cases[record["matrix"], record["fraction"]][record["method"]].append(record)
    return cases


def report(records: list[dict]) -> str:
    cases = grouped(records)
    names = list(dict.fromkeys(record["method"] for record in records))
    seeds = len({record["seed"] for record in records})
    fewer = {
        name: n for name in names if (n := len({r["seed"] for r in records if r["method"] == name})) < seeds
    }
    note = "".join(
        f" `{name}` on the first {n} only, and compared with others on those." for name, n in fewer.items()
    )
    parts = [HEADER, f"{seeds} seed(s).{note}\n"]
    parts += ["## Relative error\n", _table(cases, names, "error")]
    with_intervals = [
        n for n in names if any(r["coverage"] == r["coverage"] for c in cases.values() for r in c[n])
    ]
    parts += ["## Coverage of 90% predictive intervals\n", _table(cases, with_intervals, "coverage")]
    parts += ["## In short\n", *_summary(cases, names)]
    parts += ["## CPU seconds a fit, one thread\n", _seconds(cases, names)]
    return "\n".join(parts)


def _label(case: tuple[str, float]) -> list[object]:
    return [case[0], f"{case[1]:.0%}"]


def _table(cases: Grouped, names: list[str], what: str) -> str:
    lines = [
        [*_label(case), *(mean_and_error([r[what] for r in found[name]]) for name in names)]
        for case, found in cases.items()
    ]
    return table(["matrix", "observed", *names], lines)


def _mean(found: dict[str, list[dict]], name: str, what: str = "error") -> float:
    return float(np.mean([r[what] for r in found[name]]))


def _common(found: dict[str, list[dict]], names: list[str]) -> dict[str, list[dict]]:
    """The records of the seeds that all the methods have."""
    seeds = set.intersection(*({r["seed"] for r in found[name]} for name in names))
    return {name: [r for r in found[name] if r["seed"] in seeds] for name in names}


def _summary(cases: Grouped, names: list[str]) -> list[str]:
    lines = []
    for auto in ("auto", "auto, Student"):
        if auto not in names:
            continue
        for rival in ("rank 0", "plain means"):
            if rival in names:
                lines.append(_worst_ratio(cases, auto, rival))
        peers = [name for name in names if name.startswith("SMURFF")]
        for rival in [*peers, "population", "one chain", "soft-impute"]:
            if rival in names and auto == "auto":
                lines.append(_wins(cases, auto, [rival]))
        if len(peers) > 1:
            lines.append(_wins(cases, auto, peers))
    lines += _coverage(cases, names)
    return lines


def _worst_ratio(cases: Grouped, name: str, rival: str) -> str:
    cases = {case: _common(found, [name, rival]) for case, found in cases.items()}
    ratio = {case: _mean(found, name) / _mean(found, rival) for case, found in cases.items()}
    single = {
        (*case, a["seed"]): a["error"] / b["error"]
        for case, found in cases.items()
        for a, b in zip(found[name], found[rival], strict=True)
    }
    worst, worst_single = max(ratio, key=ratio.__getitem__), max(single, key=single.__getitem__)
    over = sorted((case for case in ratio if ratio[case] > 1.01), key=ratio.__getitem__, reverse=True)
    text = (
        f"- `{name}` over `{rival}`: worst ratio {ratio[worst]:.3f} ({worst[0]}, {worst[1]:.0%}); "
        f"worst of a single seed {single[worst_single]:.3f} ({worst_single[0]}, {worst_single[1]:.0%})."
    )
    if over:
        text += " More than 1% worse: " + "; ".join(f"{c[0]} {c[1]:.0%} {ratio[c]:.3f}" for c in over) + "."
    return text + "\n"


def _wins(cases: Grouped, name: str, rivals: list[str]) -> str:
    cases = {case: _common(found, [name, *rivals]) for case, found in cases.items()}
    lost = [
        (case, _mean(found, name) / min(_mean(found, r) for r in rivals))
        for case, found in cases.items()
        if _mean(found, name) >= min(_mean(found, r) for r in rivals)
    ]
    rival = (
        f"`{rivals[0]}`" if len(rivals) == 1 else "the better of " + " and ".join(f"`{r}`" for r in rivals)
    )
    text = f"- `{name}` has the smaller error than {rival} in {len(cases) - len(lost)} of {len(cases)} cases."
    if lost:
        text += " Not in: " + "; ".join(f"{c[0]} {c[1]:.0%} (ratio {q:.3f})" for c, q in lost) + "."
    return text + "\n"


def _coverage(cases: Grouped, names: list[str]) -> list[str]:
    """Where `auto` leaves 85-95%, and what the Student noise does there; how often each method does."""
    lines = []
    low, high = INTERVALS
    for name in names:
        means = {case: _mean(found, name, "coverage") for case, found in cases.items()}
        if any(np.isnan(list(means.values()))):
            continue
        out = [case for case, c in means.items() if not low <= c <= high]
        lines.append(
            f"- `{name}` covers {low:.0%}–{high:.0%} in {len(cases) - len(out)} of {len(cases)} cases.\n"
        )
        if name == "auto" and "auto, Student" in names:
            both = {case: _common(cases[case], ["auto", "auto, Student"]) for case in out}
            lines += [
                f"  - {case[0]} {case[1]:.0%}: {means[case]:.1%}; with Student noise "
                f"{_mean(found, 'auto, Student', 'coverage'):.1%}, error "
                f"{_mean(found, 'auto'):.3f} -> {_mean(found, 'auto, Student'):.3f}\n"
                for case, found in both.items()
            ]
    return lines


def _seconds(cases: Grouped, names: list[str]) -> str:
    """Mean CPU seconds of a fit by the share observed, and the total over all cells."""
    lines = []
    by_fraction = {
        fraction: list(group)
        for fraction, group in groupby(sorted(cases, key=lambda case: case[1]), key=lambda case: case[1])
    }
    for name in names:
        means = [
            f"{np.mean([r['cpu_seconds'] for case in group for r in cases[case][name]]):.2f}"
            for group in by_fraction.values()
        ]
        total = sum(r["cpu_seconds"] for found in cases.values() for r in found[name])
        lines.append([name, *means, f"{total:.0f}"])
    return table(["method", *(f"{fraction:.0%} observed" for fraction in by_fraction), "all cells"], lines)
