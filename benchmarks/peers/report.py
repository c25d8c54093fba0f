"""RESULTS.md from what the store knows."""

import os
from collections.abc import Sequence
from pathlib import Path

from benchmarks.peers.cells import Store
from benchmarks.peers.figures import WITHIN, Figures, Pair, best_error, figures
from benchmarks.peers.methods import METHODS, OURS, PEERS, Method
from benchmarks.peers.problems import Problem

HEADER = """# maxentry beside its peers

Written by `make bench` (`python -m benchmarks.peers`), from the cells in `benchmarks/peers/cells.jsonl`: each figure
comes from processes of their own, the methods in turns. **Ratios are theirs over ours: above 1, ours is better.**
Every time is given twice, on the clock and (in brackets) of the processor, since other work ran on the machine; the
best of the repeats counts. With one thread look at the processor's, with all threads at the clock's.

* *A sweep*: one update of everything, with the same number of latent dimensions; of a point estimate an iteration,
  of NUTS a transition.
* *An effective sample*: seconds of sweeps for one effective sample (bulk ESS by ArviZ, after the burn-in, over all
  recorded chains) of the median of 200 unobserved entries. Peers without posterior draws have none.
* *To the error*: seconds from triples in memory until the held-out error is within {within:.0%} of the best that
  anybody ends with; set-up included, imports not. A sampler's estimate is the mean over the second half of its
  sweeps so far. Median of the chains.
* *Peak*: the largest resident size of the process (VmHWM) while sampling; nobody keeps draws. Interpreter and
  libraries are in it.
"""


def table(header: Sequence[object], lines: Sequence[Sequence[object]]) -> str:
    texts = [header, ["---"] * len(header), *lines]
    return "".join("| " + " | ".join(map(str, line)) + " |\n" for line in texts)


def seconds(value: float) -> str:
    for size, unit in ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs")):
        if value >= size:
            return f"{value / size:.3g} {unit}"
    return f"{value / 1e-6:.2g} µs"


def both(pair: Pair | None, otherwise: str = "–") -> str:
    return otherwise if pair is None else f"{seconds(pair[0])} ({seconds(pair[1])})"


def ratio(theirs: float | None, ours: float | None) -> str:
    return "–" if theirs is None or not ours else f"{theirs / ours:.3g}"


def ratios(theirs: Pair | None, ours: Pair | None) -> str:
    if theirs is None or ours is None:
        return "–"
    return f"**{ratio(theirs[0], ours[0])}** ({ratio(theirs[1], ours[1])})"


def line(method: Method, f: Figures, ours: Figures | None) -> list[str]:
    mine = ours or Figures()
    there, chains = f.chains_there
    never = "–" if not chains else f"not reached by {chains - there} of {chains} chains"
    effective = "no draws" if not method.draws else "–"
    sweep = both(f.sweep, f.said or "–")
    cells = [method.title, sweep, both(f.effective, effective), both(f.to_error, never)]
    cells.append(f"{f.peak:.0f}" if f.peak else "–")
    if method is not OURS:
        cells[1] += f" → {ratios(f.sweep, mine.sweep)}" if f.sweep else ""
        cells[2] += f" → {ratios(f.effective, mine.effective)}" if f.effective else ""
        cells[3] += f" → {ratios(f.to_error, mine.to_error)}" if f.to_error else ""
        cells[4] += f" → **{ratio(f.peak, mine.peak)}**" if f.peak else ""
    cells.append("–" if f.error is None else f"{f.error:.4f}")
    cells.append("–" if f.sweeps_to_error is None else f"{f.sweeps_to_error:.0f}")
    cells.append("–" if f.ess_share is None else f"{1 / f.ess_share:.1f}")
    cells.append("–" if f.rhat is None else f"{f.rhat:.2f}")
    return cells


COLUMNS = [
    "", "a sweep", "an effective sample", "to the error", "peak, MB", "RMSE at the end", "sweeps to the error",
    "sweeps an effective sample", "R-hat, median",
]  # fmt: skip


def section(store: Store, problem: Problem, threads: int, best: float) -> str:
    found = {m.name: figures(store, problem, m, threads, best) for m in METHODS}
    ours = found[OURS.name]
    lines = [line(m, f, ours) for m in METHODS if (f := found[m.name]) is not None]
    if not any(f is not None and (f.sweep or f.said) for f in found.values()):
        return ""
    loads = [load for f in found.values() if f for load in f.loads]
    many = "one thread" if threads == 1 else f"all {threads} threads"
    text = f"\n### {many[0].upper() + many[1:]}\n\n" + table(COLUMNS, lines)
    text += "".join(
        f"\n{m.title}: {f.said}.\n" for m in METHODS if (f := found[m.name]) and f.said and f.sweep
    )
    if loads:
        text += f"\nLoad of the machine (with the run itself): {min(loads):.1f} to {max(loads):.1f}.\n"
    return text


def about(problem: Problem, best: float) -> str:
    text = (
        f"\n## {problem.title}\n\nR = {problem.rank}; recorded: {problem.chains} chain(s) of {problem.sweeps} sweeps, "
        f"{problem.burnin} of them burn-in; timed: {problem.repeats} times {problem.timed} sweeps; at most "
        f"{problem.seconds:.0f} s of the processor for each thread of a cell. Best held-out RMSE: {best:.4f}, so the "
        f"target is {WITHIN * best:.4f}.\n"
    )
    reasons = [(m, m.why_not(problem)) for m in PEERS if m.why_not(problem)]
    text += "".join(f"\nNot run: {m.title}: {why}.\n" for m, why in reasons)
    return text


def smallest(store: Store, problems: Sequence[Problem], threads: Sequence[int]) -> str:
    """Where the ratios stand, at a glance: the least over the peers."""
    lines = []
    for problem in problems:
        best = best_error(store, problem, METHODS)
        for t in threads:
            ours = figures(store, problem, OURS, t, best)
            if ours is None or ours.sweep is None:
                continue
            clock = 1 if t == 1 else 0
            peers = {m.title: f for m in PEERS if (f := figures(store, problem, m, t, best))}
            cells = [problem.name, str(t)]
            for what in ("sweep", "effective", "to_error", "peak"):
                cells.append(_least(peers, ours, what, clock))
            lines.append(cells)
    header = ["", "threads", "a sweep", "an effective sample", "to the error", "peak memory"]
    return (
        "\n## The least ratio over the peers, and whose it is\n\n"
        "Of the processor's seconds with one thread, the clock's with all.\n\n" + table(header, lines)
    )


def _least(peers: dict[str, Figures], ours: Figures, what: str, clock: int) -> str:
    def value(f: Figures) -> float | None:
        found = getattr(f, what)
        return found[clock] if isinstance(found, tuple) else found

    mine = value(ours)
    known = {title: theirs / mine for title, f in peers.items() if mine and (theirs := value(f))}
    if not known:
        return "–" if mine else "ours did not get there"
    title = min(known, key=lambda name: known[name])
    return f"{known[title]:.3g} ({title.split()[0]})"


def best_of(store: Store, problem: str, name: str, what: str, repeats: int) -> Pair | None:
    """The least seconds of whole processes, on the clock and of the processor."""
    places = [(problem, name, what, 1, repeat) for repeat in range(repeats)]
    found = [store.latest[place] for place in places if place in store.latest]
    ended = [result for result in found if result["outcome"] == "ended"]
    return (min(r["wall"] for r in ended), min(r["cpu"] for r in ended)) if ended else None


def start_up(store: Store, repeats: int) -> str:
    """What it takes to import each."""

    def best(name: str) -> Pair | None:
        return best_of(store, "start-up", name, "imported", repeats)

    bare, numpy, ours = best("nothing"), best("numpy"), best(OURS.name)
    if bare is None or numpy is None or ours is None:
        return ""

    def net(pair: Pair) -> Pair:
        return max(pair[0] - bare[0], 1e-9), max(pair[1] - bare[1], 1e-9)

    names = [("import numpy", "numpy"), ("import maxentry", "import maxentry")]
    names += [(m.imports, m.name) for m in METHODS]
    lines = [
        [f"`{statement}`", both(net(pair)), ratios(net(pair), net(numpy)), ratios(net(pair), net(ours))]
        for statement, name in names
        if (pair := best(name))
    ]
    return (
        "\n## Start-up\n\nFresh processes, warm caches of files and kernels, less the bare interpreter, best of "
        f"{repeats}. `import maxentry` fetches its parts when they are first used; `from maxentry import complete` has "
        "all that a fit needs.\n\n"
        + table(["", "seconds", "over `import numpy`", "over `from maxentry import complete`"], lines)
    )


def first_fits(store: Store, problem: Problem, repeats: int) -> str:
    """Whole processes from their start to an estimate."""
    ours = best_of(store, problem.name, OURS.name, "first", repeats)
    if ours is None:
        return ""
    pairs = [(m, best_of(store, problem.name, m.name, "first", repeats)) for m in METHODS]
    lines = [[m.title, both(pair), ratios(pair, ours)] for m, pair in pairs if pair]
    return (
        f"\nA first small fit: a whole process, from its start to the estimate of {problem.title.split(',')[0]} after "
        "100 sweeps, one thread; ours is `maxentry.complete` with compiled kernels in the cache.\n\n"
        + table(["", "seconds", "ratio"], lines)
    )


PUBLISHED = {
    "ml-100k": "0.896 by myFM (its README: rank 8, 100 sweeps, groups, split u3); 0.936 by the SVD of Surprise (its "
    "README: five folds)",
    "ml-1m": "nothing for this choice of movies",
}


def published(store: Store, problems: Sequence[Problem]) -> str:
    """Whether the peers do as well here as elsewhere."""
    lines = []
    for problem in problems:
        found = [(m, figures(store, problem, m, 1, float("nan"))) for m in METHODS]
        errors = "; ".join(f"{m.title} {f.error:.4f}" for m, f in found if f and f.error)
        if problem.name in PUBLISHED and errors:
            lines.append([problem.name, errors, PUBLISHED[problem.name]])
    if not lines:
        return ""
    return "\n## Are the peers as good here as elsewhere?\n\n" + table(
        ["", "held-out RMSE here", "published"], lines
    )


def settings(store: Store, absent: dict[str, str]) -> str:
    text = "\n## Settings\n\n"
    text += "".join(f"* **{m.title}**: {m.settings}.\n" for m in METHODS)
    chosen = [
        f"{name} on {problem}: {result['figures']['tuned']}"
        for (problem, name, what, *_), result in store.latest.items()
        if what == "tuned" and result["outcome"] == "ended"
    ]
    if chosen:
        text += (
            "\nChosen beforehand (cmfrec: penalty scaled by the number of observations or not, penalty; SoftImpute: "
            "share of the largest singular value, largest rank): " + "; ".join(chosen) + ".\n"
        )
    text += "".join(f"\nNot installed: {why}\n" for why in absent.values())
    found = {}
    for result in store.latest.values():
        cell = result["cell"]
        if cell["method"] in {m.name for m in METHODS}:
            found[cell["method"]] = cell["versions"]
    listed = ("; ".join(f"{k} {v}" for k, v in v.items() if k != "worker") for v in found.values())
    return text + "\nVersions (of maxentry a fingerprint of its source): " + " · ".join(listed) + ".\n"


def write(
    path: Path, store: Store, problems: Sequence[Problem], threads: Sequence[int], absent: dict[str, str], repeats: int
) -> str:  # fmt: skip
    text = HEADER.format(within=WITHIN - 1) + f"\n{os.cpu_count()} processors.\n"
    text += smallest(store, problems, threads)
    for problem in problems:
        best = best_error(store, problem, METHODS)
        parts = [section(store, problem, t, best) for t in threads]
        if any(parts):
            text += about(problem, best) + "".join(parts)
    text += start_up(store, repeats) + first_fits(store, problems[0], repeats)
    text += published(store, problems) + settings(store, absent)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return text
