"""RESULTS.md from what the store knows."""

import os
from collections.abc import Iterator, Sequence
from pathlib import Path

from benchmarks.peers import start_up
from benchmarks.peers.cells import Store
from benchmarks.peers.figures import WITHIN, Figures, best_error, figures
from benchmarks.peers.methods import METHODS, OURS, PEERS, Method
from benchmarks.peers.problems import Problem
from benchmarks.peers.tables import both, ratio, ratios, table

TITLE = """# maxentry beside its peers

Held-out RMSE, seconds until the error is within {within:.0%} of the best that anybody ends with, and peak memory; one
thread. A dash: not reached, or not run.

"""
HEADER = """
## How it was measured

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


def line(method: Method, f: Figures, ours: Figures | None, threads: int) -> list[str]:
    mine = ours or Figures()
    there, chains = f.chains_there
    never = "–" if not chains else f"not reached by {chains - there} of {chains} chains"
    effective = "no draws" if not method.draws else "–"
    sweep = both(f.sweep, f.said or "–")
    cells = [method.title, sweep, both(f.effective, effective), both(f.to_error, never)]
    cells.append(f"{f.peak:.0f}" if f.peak else "–")
    if method is not OURS:
        cells[1] += f" → {ratios(f.sweep, mine.sweep, threads)}" if f.sweep else ""
        cells[2] += f" → {ratios(f.effective, mine.effective, threads)}" if f.effective else ""
        cells[3] += f" → {ratios(f.to_error, mine.to_error, threads)}" if f.to_error else ""
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
    lines = [line(m, f, ours, threads) for m in METHODS if (f := found[m.name]) is not None]
    if ours is None or ours.sweep is None:
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


def overview(store: Store, problems: Sequence[Problem]) -> str:
    """The table that the page opens with: error, seconds and memory of every method on every problem, one thread."""
    lines = []
    for problem in problems:
        best = best_error(store, problem, METHODS)
        for method in METHODS:
            f = figures(store, problem, method, 1, best)
            if f is None or f.error is None:
                continue
            seconds = "–" if f.to_error is None else f"{f.to_error[0]:.2g}"
            peak = f"{f.peak:.0f}" if f.peak else "–"
            name = problem.title.partition(" with ")[0].partition(" (")[0] if method is OURS else ""
            lines.append([name, method.title, f"{f.error:.4f}", seconds, peak])
    return table(["data", "method", "RMSE", "seconds", "MB"], lines)


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


def compared(
    store: Store, problems: Sequence[Problem], threads: Sequence[int]
) -> Iterator[tuple[Problem, int, Figures, dict[str, Figures]]]:
    """Wherever ours was timed: the problem, the threads, ours and the peers' figures by title."""
    for problem in problems:
        best = best_error(store, problem, METHODS)
        for t in threads:
            ours = figures(store, problem, OURS, t, best)
            if ours is not None and ours.sweep is not None:
                yield (
                    problem,
                    t,
                    ours,
                    {m.title: f for m in PEERS if (f := figures(store, problem, m, t, best))},
                )


KINDS = {
    "sweep": "a sweep",
    "effective": "an effective sample",
    "to_error": "to the error",
    "peak": "peak memory",
}


def ratios_by_peer(ours: Figures, peers: dict[str, Figures], kind: str, threads: int) -> dict[str, float]:
    """Theirs over ours by title, of the processor's seconds with one thread, the clock's with all."""
    clock = 1 if threads == 1 else 0

    def value(f: Figures) -> float | None:
        found = getattr(f, kind)
        return found[clock] if isinstance(found, tuple) else found

    mine = value(ours)
    return {title: theirs / mine for title, f in peers.items() if mine and (theirs := value(f))}


def smallest(store: Store, problems: Sequence[Problem], threads: Sequence[int]) -> str:
    """Where the ratios stand, at a glance: the least over the peers; and what is below 1, with the reason."""
    lines, below, done = [], [], set()
    for problem, t, ours, peers in compared(store, problems, threads):
        done.add((problem.name, t))
        cells = [problem.name, str(t)]
        for kind in KINDS:
            known = ratios_by_peer(ours, peers, kind, t)
            least = min(known, key=lambda title: known[title], default="")
            cells.append(f"{known[least]:.3g} ({least.split()[0]})" if known else "nobody else")
            below += [
                (kind, (problem.name, str(t), title, f"{r:.2f}")) for title, r in known.items() if r < 1
            ]
        lines.append(cells)
    missing = [f"{p.name} with {t} thread(s)" for p in problems for t in threads if (p.name, t) not in done]
    text = (
        "\n## The least ratio over the peers, and whose it is\n\nOf the processor's seconds with one thread, the "
        "clock's with all. *Nobody else*: no peer has such a figure, or none reached the error.\n\n"
    )
    text += table(["", "threads", *KINDS.values()], lines)
    if missing:
        text += f"\nNot run yet: {'; '.join(missing)}. `make bench` goes on.\n"
    return text + below_one(below)


REASONS = {
    "sweep": "A sweep of myFM updates one coordinate at a time, N R steps where a draw of whole rows takes N R²/2, and "
    "mixes more slowly for it; an iteration of a point estimate draws nothing.",
    "effective": "Where our R-hat is above 1.01 a chain, annealed over a few sweeps only, has stayed in a mode without "
    "mass, and the effective size of all pays for it; a fit by default anneals for longer and leaves such chains out.",
    "to_error": "What ours does before its first sweep (Numba makes itself ready and fetches compiled kernels, the "
    "same for any size) and the annealing of its first sweeps then count more than its sweeps.",
    "peak": "NumPy, SciPy, Numba and LLVM are nearly all of our process before there are any data; the peers are "
    "compiled beforehand and carry no compiler. That is the limit; with 1e7 entries cmfrec, in single precision, holds "
    "less, too.",
}


def below_one(below: Sequence[tuple[str, tuple[str, ...]]]) -> str:
    """Every ratio below 1, and why: a table of each kind."""
    if not below:
        return ""
    text = "\n## Where ours is behind\n"
    for kind, reason in REASONS.items():
        found = [list(where) for k, where in below if k == kind]
        if found:
            text += f"\n**{KINDS[kind].capitalize()}.** {reason}\n\n"
            text += table(["data", "threads", "peer", "ratio"], found)
    return text


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
    text = TITLE.format(within=WITHIN - 1) + overview(store, problems)
    text += smallest(store, problems, threads)
    text += HEADER.format(within=WITHIN - 1) + f"\n{os.cpu_count()} processors.\n"
    for problem in problems:
        best = best_error(store, problem, METHODS)
        parts = [section(store, problem, t, best) for t in threads]
        if any(parts):
            text += about(problem, best) + "".join(parts)
    text += start_up.imports(store, repeats) + start_up.first_fits(store, problems[0], repeats)
    text += published(store, problems) + settings(store, absent)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return text
