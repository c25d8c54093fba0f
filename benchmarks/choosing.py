"""Choosing entries: the score map beside its one product, time and memory of every criterion, and what screening saves.

    python benchmarks/choosing.py            # writes benchmarks/choosing.md
    python benchmarks/choosing.py --quick    # 2,000 x 2,000 in place of 20,000 x 20,000
    python benchmarks/choosing.py --large    # only the 20,000 x 20,000, put behind what is recorded

Each measurement runs in a process of its own (`choosing.py --part NAME ...`), so that its peak memory is its own.
CPU seconds are those of all threads together; on a machine that has other work they say more than the seconds passed.
"""

import argparse
import json
import resource
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
from measures import table

from maxentry.acquisition import CRITERIA, Problem, choose
from maxentry.belief import Belief, Entries
from maxentry.model.entropy import core_covariance, score_map

HERE = Path(__file__).parent
BY_BELIEF = [name for name in CRITERIA if name not in ("uniform", "balanced")]
R = 10


def belief(m1: int, m2: int, S: int, rank: int = R, coherence: float = 0.0) -> Belief:
    """Draws around one matrix, single precision as long fits keep them; each turned at random, as samplers leave them.

    coherence: standard deviation of the log size of rows and columns; 0 for rows and columns alike.
    """
    rng = np.random.default_rng(0)
    sides = []
    for m in (m1, m2):
        size = np.exp(coherence * rng.normal(size=(m, 1)))
        sides.append((size, size * rng.normal(size=(m, rank)), np.empty((S, m, rank), np.float32)))
    for s in range(S):
        turn = np.linalg.qr(rng.normal(size=(rank, rank)))[0]
        for size, centre, draws in sides:
            draws[s] = (centre + 0.3 * size * rng.normal(size=centre.shape)) @ turn
    effects = [0.1 * rng.normal(size=(S, m)).astype(np.float32) for m in (m1, m2)]
    return Belief(sides[0][2], sides[1][2], *effects, rng.normal(size=S), np.full(S, 0.1))


def question(m1: int, m2: int, per_row: int = 20) -> Problem:
    """Some entries observed, at random."""
    rng = np.random.default_rng(1)
    observed = Entries.from_lists(rng.integers(m1, size=per_row * m1), rng.integers(m2, size=per_row * m1))
    return Problem((m1, m2), observed)


def chosen(name: str, m1: int, m2: int, S: int, rank: int, n: int, coherence: float) -> dict[str, float]:
    """Seconds, CPU seconds, peak memory and the share of entries evaluated, for one batch."""
    rng = np.random.default_rng(0)
    choose(name, belief(6, 5, 3, 2), question(6, 5, 2), 1, rng=rng)  # loads the compiled kernels
    b, q = belief(m1, m2, S, rank, coherence), question(m1, m2)
    start, cpu = time.perf_counter(), time.process_time()
    batch = choose(name, b, q, n, rng=rng)
    return {
        "seconds": time.perf_counter() - start,
        "cpu": time.process_time() - cpu,
        "peak": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e6,
        "evaluated": batch.evaluated / (m1 * m2),
        "rows": len(set(batch.rows.tolist())),
    }


def maps(m: int) -> dict[str, float]:
    """Lemma 2 at every entry, and the product of the same size alone."""
    rng = np.random.default_rng(0)
    U, V = (np.linalg.qr(rng.normal(size=(m, R)))[0] for _ in range(2))
    rows, cols = rng.integers(m, size=(2, 2000))
    S = core_covariance(U, V, rows, cols, 1e-3)
    left, right = rng.normal(size=(m, R * (R + 1) // 2)), rng.normal(size=(m, R * (R + 1) // 2))
    return {"map": best_of(lambda: score_map(U, V, S, 1e-3)), "product": best_of(lambda: left @ right.T)}


def best_of(work, times: int = 7) -> float:
    seconds = []
    for _ in range(times):
        start = time.perf_counter()
        work()
        seconds.append(time.perf_counter() - start)
    return min(seconds)


def part(name: str, *arguments) -> dict[str, float]:
    """One measurement in a process of its own."""
    print(name, *arguments, file=sys.stderr)
    command = [sys.executable, __file__, "--part", json.dumps([name, *arguments])]
    return json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def score_maps(m: int) -> list[str]:
    found = part("maps", m)
    return [
        f"## The score map: {m:,} x {m:,}, R = {R}",
        "",
        f"Lemma 2 at every entry: {found['map']:.2f} s; the one matrix product it needs (inner dimension "
        f"{R * (R + 1) // 2}): {found['product']:.2f} s; ratio {found['map'] / found['product']:.2f}. Best of 7.",
        "",
    ]


def criteria(cases) -> list[str]:
    lines = [
        "## Every criterion",
        "",
        "20 observed entries a row; rows and columns alike, so that screening saves least.",
        "",
    ]
    rows = []
    for m1, m2, S, rank, n in cases:
        for name in CRITERIA:
            found = part("chosen", name, m1, m2, S, rank, n, 0.0)
            rows.append([f"{n} of {m1:,} x {m2:,}, R = {rank}, S = {S}", name, *figures(found)])
    header = ["", "criterion", "seconds", "CPU seconds", "peak MB"]
    return [*lines, table(header, rows), ""]


def large(m: int, S: int, n: int) -> list[str]:
    """Without integrated variance: its shortlists of a matrix so large take more than five CPU minutes."""
    rows = []
    for name in ("predictive_variance", "maxent_nearest", "maxent"):
        found = part("chosen", name, m, m, S, R, n, 0.5)
        rows.append([name, *figures(found), f"{found['evaluated']:.1%}", int(found["rows"])])
    header = ["criterion", "seconds", "CPU seconds", "peak MB", "evaluated", "rows chosen from"]
    return [f"## {n} of {m:,} x {m:,}, R = {R}, S = {S}, coherence 0.5", "", table(header, rows), ""]


def shares(name: str, m: int, S: int) -> list[list[object]]:
    """The share of the entries evaluated, by coherence and size of the batch."""
    found, q, rng = [], question(m, m), np.random.default_rng(0)
    for coherence in (0.0, 0.5, 1.0):
        b = belief(m, m, S, 3, coherence)
        evaluated = [choose(name, b, q, n, rng=rng).evaluated / m**2 for n in (1, 8, 24)]
        found.append([name, coherence, *(f"{share:.1%}" for share in evaluated)])
    return found


def screening(m: int, S: int) -> list[str]:
    rows = [row for name in ("maxent_nearest", "predictive_variance") for row in part("shares", name, m, S)]
    return [
        f"## What screening leaves: share of the entries evaluated, {m:,} x {m:,}, R = 3, S = {S}",
        "",
        "Coherence: standard deviation of the log size of rows and columns. The choice is that of exhaustive search.",
        "",
        table(["criterion", "coherence", "1 entry", "8 entries", "24 entries"], rows),
        "",
    ]


def figures(found: dict[str, float]) -> list[str]:
    return [f"{found['seconds']:.2f}", f"{found['cpu']:.2f}", f"{found['peak']:.0f}"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--large", action="store_true")
    parser.add_argument("--part")
    arguments = parser.parse_args()
    if arguments.part:
        name, *rest = json.loads(arguments.part)
        print(json.dumps({"maps": maps, "chosen": chosen, "shares": shares}[name](*rest)))
        return
    lines = [
        "# Choosing",
        "",
        "Written by `python benchmarks/choosing.py`, each measurement in a process of its own.",
        "",
    ]
    quick, recorded = arguments.quick, HERE / "choosing.md"
    if arguments.large:
        kept = recorded.read_text().split("## 96 of")[0].rstrip()
        recorded.write_text("\n".join([kept, "", *large(20_000, 128, 96)]).rstrip() + "\n")
        return
    sections = [
        lambda: score_maps(1000 if quick else 5000),
        lambda: criteria([(300, 100, 384, 8, 24), (1000, 1000, 384, R, 8)]),
        lambda: screening(500 if quick else 2000, 64),
        lambda: large(2000 if quick else 20_000, 128, 96),
    ]
    for section in sections:  # written as they come: the last takes the longest
        lines += section()
        recorded.write_text("\n".join(lines).rstrip() + "\n")


if __name__ == "__main__":
    main()
