"""Choosing 96 of 20,000 x 20,000 with 2e6 observations, R = 10, from a warm posterior: time, memory, share evaluated.

    .venv/bin/python benchmarks/asking_at_scale.py            # writes benchmarks/asking_at_scale.md
    .venv/bin/python benchmarks/asking_at_scale.py --even     # the worst case, too: more than ten minutes more
    .venv/bin/python benchmarks/asking_at_scale.py --quick    # 2,000 x 2,000 with 100,000; writes nothing

The posterior is sampled once, by default settings, and kept in a folder (`complete(..., store=)`); each criterion
then chooses in a process of its own from that folder, so that its peak memory is its own. The matrix is a draw from
the model, observed uniformly at random. Its rows and columns differ in size (coherence 0.5: the standard deviation of
the logarithm of their sizes, as in choosing.py). Where they are alike, or differ in the number of observations only,
scores of millions of entries lie close together: exact search then is at its worst, and is stopped after LIMIT seconds
of the clock.
"""

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from measures import table

import maxentry
from maxentry.acquisition import Problem, choose
from maxentry.belief import Entries

RANK, NOISE, BATCH = 10, 0.3, 96
LIMIT = 600
MB = 1e6


def peak() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / MB


def cpu() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def fitted(m: int, n: int, folder: str, coherence: float) -> dict[str, float]:
    """Sample the posterior into the folder, and go on from it with BATCH observations more."""
    rng = np.random.default_rng(0)
    left, right = rng.standard_normal((2, m, RANK))
    left, right = (X * np.exp(coherence * rng.standard_normal((m, 1))) for X in (left, right))
    rows, cols = rng.integers(m, size=(2, n + BATCH))
    values = np.einsum("nr,nr->n", left[rows], right[cols]) / np.sqrt(RANK)
    values += NOISE * rng.standard_normal(n + BATCH)
    start, used = time.perf_counter(), cpu()
    first = maxentry.complete(
        (rows[:n], cols[:n], values[:n]), RANK, shape=(m, m), seed=0, dtype=np.float32, progress=False
    )
    cold = time.perf_counter() - start, cpu() - used
    start, used = time.perf_counter(), cpu()
    maxentry.complete(
        (rows, cols, values),
        shape=(m, m),
        start=first,
        seed=1,
        dtype=np.float32,
        progress=False,
        store=folder,
    )
    warm = time.perf_counter() - start, cpu() - used
    return {"cold": cold[0], "cold_cpu": cold[1], "warm": warm[0], "warm_cpu": warm[1], "peak": peak()}


def chosen(name: str, folder: str) -> dict[str, float]:
    """Choose from the posterior in the folder."""
    posterior = maxentry.Posterior.load(folder)
    data = posterior.observations
    small = maxentry.Observations((8, 6), [0, 1, 2], [0, 1, 2], [1.0, 2.0, 3.0])
    tiny = maxentry.complete(small, 1, sampling=maxentry.Sampling(chains=2, draws=2), seed=0, progress=False)
    choose(name, tiny.belief, Problem((8, 6)), 1, rng=np.random.default_rng(0))  # loads the compiled kernels
    before = peak()
    start, used = time.perf_counter(), cpu()
    question = Problem(posterior.shape, Entries.from_lists(data.rows, data.cols))
    batch = choose(name, posterior.belief, question, BATCH, rng=np.random.default_rng(0))
    m1, m2 = posterior.shape
    return {
        "seconds": time.perf_counter() - start,
        "cpu": cpu() - used,
        "before": before,
        "peak": peak(),
        "evaluated": batch.evaluated / (m1 * m2),
        "draws": posterior.belief.n_draws,
        "draws_mb": sum(a.nbytes for a in posterior.draws if a is not None) / MB,
        "rows": len(set(batch.rows.tolist())),
    }


def part(name: str, *arguments: object) -> dict[str, float] | None:
    """What a process of its own finds; None where it takes too long."""
    command = [sys.executable, __file__, "--part", json.dumps([name, *arguments])]
    try:
        done = subprocess.run(
            command,
            check=True,
            stdout=subprocess.PIPE,
            text=True,
            timeout=LIMIT if name == "chosen" else None,
        )
    except subprocess.TimeoutExpired:
        print(name, *arguments, "stopped", flush=True)
        return None
    print(name, *arguments, done.stdout.strip(), flush=True)
    found: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return found


def line(name: str, f: dict[str, float] | None) -> list[object]:
    if f is None:
        return [name, f"more than {LIMIT}", *["–"] * 6]
    return [
        name, f"{f['seconds']:.1f}", f"{f['cpu']:.1f}", f"{f['before']:.0f}", f"{f['peak']:.0f}",
        f"{f['evaluated']:.2%}", int(f["rows"]), f"{f['draws']:.0f}",
    ]  # fmt: skip


HEADER = [
    "criterion", "seconds", "CPU seconds", "MB before", "MB at the peak", "evaluated", "rows chosen from", "draws",
]  # fmt: skip


def section(m: int, n: int, coherence: float) -> str:
    with tempfile.TemporaryDirectory() as place:
        folder = f"{place}/fit"
        fit = part("fitted", m, n, folder, coherence)
        assert fit is not None
        names = ("predictive_variance", "maxent", "maxent_nearest")
        lines = [line(name, part("chosen", name, folder)) for name in names]
    return (
        f"\n## Coherence {coherence}\n\n{m:,} x {m:,}, {n:,} observations; draws in single "
        f"precision. The fit: {fit['cold']:.0f} s from scratch ({fit['cold_cpu']:.0f} CPU s), {fit['warm']:.0f} s "
        f"({fit['warm_cpu']:.0f} CPU s) for {BATCH} observations more; {fit['peak']:.0f} MB at the peak of both.\n\n"
        + table(HEADER, lines)
    )


def report(m: int, n: int, even: bool) -> str:
    text = f"# {__doc__.splitlines()[0]}\n\n{''.join(__doc__.partition('The posterior is')[1:])}"
    return text.replace("LIMIT", f"{LIMIT}") + section(m, n, 0.5) + (section(m, n, 0.0) if even else "")


def main() -> None:
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("--quick", action="store_true")
    options.add_argument("--even", action="store_true", help="the worst case, too")
    options.add_argument("--part", help=argparse.SUPPRESS)
    given = options.parse_args()
    if given.part:
        name, *rest = json.loads(given.part)
        print(json.dumps({"fitted": fitted, "chosen": chosen}[name](*rest)))
        return
    text = report(*((2000, 100_000) if given.quick else (20_000, 2_000_000)), given.even)
    print(text)
    if not given.quick:
        Path(__file__).with_suffix(".md").write_text(text)


if __name__ == "__main__":
    main()
