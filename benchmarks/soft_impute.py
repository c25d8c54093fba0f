"""The nuclear-norm estimate against fancyimpute's SoftImpute, in one run, at equal objective.

SoftImpute runs to its own convergence (its defaults), once with full and once with truncated SVDs of the
right rank (a gift: it would have to be guessed). Ours runs at the loosest tolerance of a ladder whose
objective is at least as low, and at a tight tolerance. The two alternate; each figure is the best of a few
runs.

    python benchmarks/soft_impute.py            # writes benchmarks/soft_impute.md
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

import numpy as np
from peers import environments

HERE = Path(__file__).parent
FULL, TRUNCATED = "full", "truncated"


class Case(NamedTuple):
    shape: tuple[int, int]
    rank: int
    observed: float
    noise: float  # where entries have sd 1
    fractions: tuple[int, ...]  # largest penalty over penalty; 50 is SoftImpute's default
    svds: tuple[str, ...]
    threads: tuple[int, ...] = (1,)  # of BLAS; 0 for its default


CASES = [
    Case((60, 60), 4, 0.25, 0.05, (5, 10, 50), (FULL, TRUNCATED), (1, 0)),
    Case((300, 100), 5, 0.30, 0.3, (5, 10, 50), (FULL, TRUNCATED), (1, 0)),
    Case((1000, 1000), 5, 0.05, 0.3, (5, 10), (FULL, TRUNCATED)),
    Case((2000, 2000), 5, 0.02, 0.3, (3, 5), (TRUNCATED,)),
]
LADDER = [0.3, 0.1, 0.03, 0.01, 3e-3, 1e-3, 1e-4, 1e-5, 1e-6]
TIGHT_TOL = 1e-4


def simulate(case, seed=0):
    rng, (m1, m2), rank = np.random.default_rng(seed), case.shape, case.rank
    X = rng.standard_normal((m1, rank)) @ rng.standard_normal((rank, m2)) / np.sqrt(rank)
    Y = X + case.noise * rng.standard_normal((m1, m2))
    return np.where(rng.random((m1, m2)) < case.observed, Y, np.nan)


def call(side, threads, **job):
    python = environments.python_of("fancyimpute") if side == "peer" else sys.executable
    limits = {k: str(threads) for k in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS")}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "job.npz"
        np.savez(path, **job)
        done = subprocess.run(
            [python, HERE / "soft_impute_worker.py", side, path],
            env=os.environ | (limits if threads else {}), capture_output=True, text=True, check=True,
        )  # fmt: skip
    record = json.loads(done.stdout.splitlines()[-1])
    # With one thread the processor's time is that of an idle machine; with more it would count waiting threads.
    return record | {"seconds": record["cpu" if threads == 1 else "wall"]}


def equal_tolerance(Y, penalty, target):
    """The loosest tolerance of the ladder that reaches the target."""
    for tol in LADDER:
        if call("ours", 1, Y=Y, penalty=penalty, tol=tol)["objective"] <= target:
            return tol
    raise RuntimeError("no tolerance reaches the objective of SoftImpute")


def compare(case, fraction, threads, repeats):
    """One line of the table for each kind of SVD."""
    Y = simulate(case)
    penalty = 2 / fraction * np.linalg.norm(np.nan_to_num(Y), 2)
    tight = call("ours", threads, Y=Y, penalty=penalty, tol=TIGHT_TOL)
    for svd in case.svds:
        max_rank = 0 if svd == FULL else tight["rank"] + 5
        theirs = [call("peer", threads, Y=Y, penalty=penalty, max_rank=max_rank)]
        tol = equal_tolerance(Y, penalty, theirs[0]["objective"])
        equal, certified = [], [tight]
        for _ in range(repeats):
            equal.append(call("ours", threads, Y=Y, penalty=penalty, tol=tol))
            theirs.append(call("peer", threads, Y=Y, penalty=penalty, max_rank=max_rank))
            certified.append(call("ours", threads, Y=Y, penalty=penalty, tol=TIGHT_TOL))
        best = [min(runs, key=lambda r: r["seconds"]) for runs in (theirs, equal, certified)]
        yield line(case, fraction, threads, svd, *best)


def line(case, fraction, threads, svd, theirs, equal, tight):
    cells = [
        f"{case.shape[0]} x {case.shape[1]}, {case.observed:.0%}",
        f"1/{fraction}",
        tight["rank"],
        threads or "default",
        svd,
        *(f"{run['objective']:.6g}" for run in (theirs, equal, tight)),
        f"{theirs['seconds']:.3f} ({theirs['steps']})",
        *(f"{run['seconds']:.4f}" for run in (equal, tight)),
        *(f"{theirs['seconds'] / run['seconds']:.1f}" for run in (equal, tight)),
        f"{os.getloadavg()[0]:.1f}",
    ]
    return "| " + " | ".join(map(str, cells)) + " |"


HEADER = """# Nuclear norm: maxentry against fancyimpute 0.7 SoftImpute

Written by `python benchmarks/soft_impute.py`: both sides in one run, alternating, best of the repetitions.
"Equal" is ours at the loosest tolerance whose objective is at least as low as SoftImpute's; "tight" is ours to a
relative duality gap of 1e-4, tighter than its default of 1e-3. Penalty as a fraction of the largest useful one.
"Truncated" is SoftImpute with `max_rank` set to the true rank of the solution plus 5.
Seconds are the processor's with one BLAS thread, and the clock's with BLAS's default threads. "Load" is the load
average of the machine ({cores} cores) at the end of the line: ours holds BLAS to one thread, while above as many
as the cores SoftImpute's default threads fight for them, so those lines say little about the methods.

"""
COLUMNS = [
    "matrix, observed", "penalty", "rank", "BLAS threads", "SVD", "objective theirs", "equal", "tight",
    "s theirs (steps)", "s equal", "s tight", "theirs / equal", "theirs / tight", "load",
]  # fmt: skip


def main():
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--cases", type=int, default=len(CASES), help="only the first so many sizes")
    options.add_argument("--repeats", type=int, default=2)
    options.add_argument("--out", type=Path, default=HERE / "soft_impute.md")
    given = options.parse_args()
    environments.ensure("fancyimpute")
    lines = ["| " + " | ".join(COLUMNS) + " |", "|---" * len(COLUMNS) + "|"]
    for threads in (1, 0):
        for case in (c for c in CASES[: given.cases] if threads in c.threads):
            for fraction in case.fractions:
                for text in compare(case, fraction, threads, given.repeats):
                    print(text, flush=True)
                    lines.append(text)
                given.out.write_text(HEADER.format(cores=os.cpu_count()) + "\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
