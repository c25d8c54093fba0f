"""`ask(96)` at 20,000 x 20,000 with 2e6 observations, R = 10, from a warm posterior: time, memory, share evaluated.

    .venv/bin/python benchmarks/asking_at_scale.py            # writes benchmarks/asking_at_scale.md
    .venv/bin/python benchmarks/asking_at_scale.py --quick    # 2,000 x 2,000 with 100,000; writes nothing

The posterior is sampled once, by default settings, and kept in a folder (`complete(..., store=)`); each criterion
then chooses in a process of its own from that folder, so that its peak memory is its own. The matrix is a draw from
the model, rows and columns alike, observed uniformly at random: where rows and columns differ, screening saves more.
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
from maxentry.acquisition import Question, choose
from maxentry.entries import Entries

RANK, NOISE, BATCH = 10, 0.3, 96
MB = 1e6


def peak() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / MB


def cpu() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def fitted(m: int, n: int, folder: str) -> dict[str, float]:
    """Sample the posterior into the folder, and go on from it with BATCH observations more."""
    rng = np.random.default_rng(0)
    left, right = rng.standard_normal((2, m, RANK))
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
    choose(name, tiny.belief, Question((8, 6)), 1, rng=np.random.default_rng(0))  # loads the compiled kernels
    before = peak()
    start, used = time.perf_counter(), cpu()
    question = Question(posterior.shape, Entries.of(data.rows, data.cols))
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


def part(name: str, *arguments: object) -> dict[str, float]:
    command = [sys.executable, __file__, "--part", json.dumps([name, *arguments])]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    print(name, *arguments, done.stdout.strip(), flush=True)
    return json.loads(done.stdout.splitlines()[-1])


def report(m: int, n: int) -> str:
    with tempfile.TemporaryDirectory() as place:
        folder = f"{place}/fit"
        fit = part("fitted", m, n, folder)
        found = {
            name: part("chosen", name, folder) for name in ("predictive_variance", "maxent", "maxent_nearest")
        }
    any_of = found["predictive_variance"]
    lines = [
        [
            name, f"{f['seconds']:.1f}", f"{f['cpu']:.1f}", f"{f['before']:.0f}", f"{f['peak']:.0f}",
            f"{f['evaluated']:.2%}", int(f["rows"]),
        ]
        for name, f in found.items()
    ]  # fmt: skip
    header = [
        "criterion",
        "seconds",
        "CPU seconds",
        "MB before",
        "MB at the peak",
        "evaluated",
        "rows chosen from",
    ]
    return (
        f"# {__doc__.splitlines()[0]}\n\n{''.join(__doc__.partition('The posterior is')[1:])}\n"
        f"{m:,} x {m:,}, {n:,} observations, S = {any_of['draws']:.0f} draws in single precision "
        f"({any_of['draws_mb']:.0f} MB). The fit: {fit['cold']:.0f} s from scratch ({fit['cold_cpu']:.0f} CPU s), "
        f"{fit['warm']:.0f} s ({fit['warm_cpu']:.0f} CPU s) for {BATCH} observations more; "
        f"{fit['peak']:.0f} MB at the peak of both.\n\n" + table(header, lines)
    )


def main() -> None:
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("--quick", action="store_true")
    options.add_argument("--part", help=argparse.SUPPRESS)
    given = options.parse_args()
    if given.part:
        name, *rest = json.loads(given.part)
        print(json.dumps({"fitted": fitted, "chosen": chosen}[name](*rest)))
        return
    text = report(2000, 100_000) if given.quick else report(20_000, 2_000_000)
    print(text)
    if not given.quick:
        Path(__file__).with_suffix(".md").write_text(text)


if __name__ == "__main__":
    main()
