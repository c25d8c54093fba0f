"""Memory on MovieLens 1M, time a sweep from 1e4 to 1e7 observations, and a matrix of 100,000 x 100,000.

    python benchmarks/scale.py            # writes benchmarks/scale.md
    python benchmarks/scale.py --quick    # up to 3e5 observations, 50 draws, 20,000 x 20,000

Each measurement runs in a process of its own (`scale.py --part NAME`), so that its peak memory is its own.
"""

import argparse
import json
import resource
import subprocess
import sys
import time
from pathlib import Path

import matrices
import numpy as np
from measures import sweep_seconds, table

import maxentry
from maxentry import Observations, Sampling

HERE = Path(__file__).parent
RANK = 10
SHAPE = (10_000, 5_000)
PER_ROW = 100  # where the matrix grows with the data
MB = 1e6


def peak() -> float:
    """The largest resident size so far, in MB (Linux counts in KiB)."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / MB


def resident() -> float:
    """The resident size now, in MB; what was freed no longer counts."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmRSS"):
            return int(line.split()[1]) * 1024 / MB
    return float("nan")


def size(*arrays: np.ndarray) -> float:
    """MB of the arrays, each buffer once."""
    owners = {id(a if a.base is None else a.base): a.nbytes for a in arrays}
    return sum(owners.values()) / MB


def warm_up(dtype: type) -> None:
    """Load the compiled kernels, which take memory of their own."""
    rng = np.random.default_rng(0)
    small = Sampling("long", chains=2, anneal=2, settle=2, draws=4, thin=1)
    maxentry.complete(rng.normal(size=(8, 6)), rank=2, sampling=small, seed=0, dtype=dtype, progress=False)


# (a) memory


def memory(draws: int, dtype: str) -> dict[str, float]:
    """Where the memory goes: 2 chains x `draws` draws of MovieLens 1M at R = 10."""
    kind = np.dtype(dtype).type
    imported = resident()
    warm_up(kind)
    compiled = resident()
    shape, rows, cols, values = matrices.movielens_1m()
    observations = Observations.of((rows, cols, values), shape=shape)
    del rows, cols, values
    halves = observations.by_row, observations.by_col
    observed = resident()
    plan = Sampling("long", chains=2, anneal=20, settle=20, draws=draws, thin=1)
    begin = time.perf_counter()
    posterior = maxentry.complete(
        observations, RANK, sampling=plan, seed=0, dtype=kind, progress=False, threads=2
    )
    seconds, fitted, fit_peak = time.perf_counter() - begin, resident(), peak()
    posterior.predict(observations.rows[:1000], observations.cols[:1000])
    o, d = observations, posterior.draws
    arrays = [a for half in halves for a in (half.indptr, half.index, half.values, half.source)]
    return {
        "import": imported,
        "kernels": compiled - imported,
        "observations": size(o.rows, o.cols, o.values, *arrays),
        "observations, resident": observed - compiled,
        "chains": size(*(a for chain in posterior.chains for a in chain.state)),
        "draws": size(*(a for a in d if a is not None)),
        "fit, resident": fitted - observed,
        "peak of the fit": fit_peak,
        "peak with predict": peak(),
        "seconds": seconds,
    }


def memory_report(draws: int) -> str:
    found = {dtype: child("memory", draws, dtype) for dtype in ("float64", "float32")}
    m1, m2 = matrices.movielens_1m()[0]
    names = {
        "import": "interpreter, numpy, scipy, numba, maxentry (resident after import)",
        "kernels": "compiled kernels (resident after a first tiny run)",
        "observations": "observations: triples and both sorted halves (their arrays)",
        "observations, resident": "the same, as the resident size grew (with what the loading left behind)",
        "chains": "state of 2 chains",
        "draws": f"2 x {draws} draws: ({m1} + {m2}) x ({RANK} + 1) numbers each",
        "fit, resident": "growth of the resident size by the fit: draws, chains, standardised copy of the values",
        "peak of the fit": "**peak of the process** (ru_maxrss) after the fit",
        "peak with predict": "peak after `.predict` of 1,000 entries",
    }
    lines = [[text, *(f"{found[dtype][name]:.0f}" for dtype in found)] for name, text in names.items()]
    lines.append(["seconds of the fit (2 threads)", *(f"{f['seconds']:.1f}" for f in found.values())])
    return (
        f"## Peak memory: MovieLens 1M, 2 chains x {draws} draws, R = {RANK}\n\nMB (1e6 bytes).\n\n"
        + table(["", *(f"dtype={dtype}" for dtype in found)], lines)
    )


# (b) time a sweep


def sweep(n: int, m1: int, m2: int) -> dict[str, float]:
    rng = np.random.default_rng(0)
    rows, cols = (rng.integers(m, size=n) for m in (m1, m2))
    observations = Observations.of((rows, cols, rng.standard_normal(n)), shape=(m1, m2))
    return {"seconds": sweep_seconds(observations, RANK, least=2.0), "peak": peak()}


def sweep_report(sizes: list[int]) -> str:
    found = [child("sweep", n, *SHAPE) for n in sizes]
    seconds = np.array([f["seconds"] for f in found])
    N = np.array(sizes, float)
    local, slope = exponents(N, seconds)
    # t = a + b N, every relative error weighing the same
    (a, b), *_ = np.linalg.lstsq(np.column_stack([1 / seconds, N / seconds]), np.ones(N.size), rcond=None)
    lines = [
        [
            f"{n:.0e}", f"{1000 * t:.2f}", f"{1e9 * t / n:.0f}", "–" if np.isnan(s) else f"{s:.2f}",
            f"{1000 * (a + b * n):.2f}", f"{f['peak']:.0f}",
        ]
        for n, t, s, f in zip(N, seconds, local, found, strict=True)
    ]  # fmt: skip
    header = ["N", "ms a sweep", "ns an observation", "local exponent", "ms by the line", "peak MB"]
    work = sum(SHAPE) * RANK**3
    return (
        f"## Time a sweep: {SHAPE[0]:,} x {SHAPE[1]:,}, R = {RANK}, one thread\n\n"
        "Entries uniformly at random; the compiled sweeps of one chain, best of several blocks.\n\n"
        + table(header, lines)
        + f"\nAll sizes, nothing subtracted: time grows as N^{slope:.2f}. The line through them, "
        f"{1000 * a:.2f} ms + {1e9 * b:.1f} ns x N, has the rows and columns' own part as its intercept: "
        f"{1e9 * a / sum(SHAPE):.0f} ns for each of the {sum(SHAPE):,} rows and columns, "
        f"{1e9 * a / work:.2f} ns for each of the (m1 + m2) R^3 = {work:.1e} steps.\n"
    )


def exponents(N: np.ndarray, seconds: np.ndarray) -> tuple[list[float], float]:
    """Of time in N: from each size to the next, and over all."""
    x, t = np.log(N), np.log(seconds)
    return [np.nan, *(np.diff(t) / np.diff(x))], float(np.polyfit(x, t, 1)[0])


def growing_report(sizes: list[int]) -> str:
    """The same where the matrix grows with the data, as it does in practice."""
    found = [child("sweep", n, n // PER_ROW, n // PER_ROW) for n in sizes]
    seconds, N = np.array([f["seconds"] for f in found]), np.array(sizes, float)
    local, slope = exponents(N, seconds)
    lines = [
        [
            f"{n:.0e}", f"{n // PER_ROW:,}", f"{1000 * t:.2f}", f"{1e9 * t / n:.0f}",
            "–" if np.isnan(s) else f"{s:.2f}", f"{f['peak']:.0f}",
        ]
        for n, t, s, f in zip(sizes, seconds, local, found, strict=True)
    ]  # fmt: skip
    header = ["N", "rows = columns", "ms a sweep", "ns an observation", "local exponent", "peak MB"]
    return (
        f"## Time a sweep: {PER_ROW} observations a row and a column, R = {RANK}, one thread\n\n"
        + table(header, lines)
        + f"\nTime grows as N^{slope:.2f}.\n"
    )


# (c) a large sparse matrix


def large(side: int, n: int) -> dict[str, float]:
    rng = np.random.default_rng(0)
    warm_up(np.float64)
    left, right = (rng.standard_normal((side, 4)) for _ in range(2))
    rows, cols = (rng.integers(side, size=n) for _ in range(2))
    values = np.einsum("nr,nr->n", left[rows], right[cols]) / 2 + 0.1 * rng.standard_normal(n)
    before = peak()
    begin = time.perf_counter()
    posterior = maxentry.complete((rows, cols, values), 4, shape=(side, side), seed=0, progress=False)
    fitted = time.perf_counter()
    posterior.predict(rng.integers(side, size=1000), rng.integers(side, size=1000))
    return {
        "fit": fitted - begin,
        "predict": time.perf_counter() - fitted,
        "before": before,
        "draws": size(*(a for a in posterior.draws if a is not None)),
        "peak": peak(),
        "chains": len(posterior.chains),
        "kept": posterior.sampling.draws,
        "sweeps": posterior.sampling.sweeps,
    }


def large_report(side: int, n: int) -> str:
    f = child("large", side, n)
    lines = [
        [f"seconds of `complete(rank=4)` ({f['chains']} chains of {f['sweeps']} sweeps)", f"{f['fit']:.1f}"],
        ["seconds of `.predict` of 1,000 entries", f"{f['predict']:.2f}"],
        [f"MB of the draws ({f['chains']} x {f['kept']})", f"{f['draws']:.0f}"],
        ["MB resident before the fit (data included), at most", f"{f['before']:.0f}"],
        ["MB at the peak", f"{f['peak']:.0f}"],
    ]
    return f"## {side:,} x {side:,} with {n:,} observations, all defaults\n\n" + table(["", ""], lines)


# Processes

PARTS = {"memory": memory, "sweep": sweep, "large": large}


def child(part: str, *arguments: object) -> dict[str, float]:
    """Run one measurement in a fresh process."""
    command = [sys.executable, __file__, "--part", json.dumps([part, *arguments])]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    print(part, *arguments, done.stdout.strip(), flush=True)
    return json.loads(done.stdout.splitlines()[-1])


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--quick", action="store_true")
    options.add_argument("--part", help=argparse.SUPPRESS)
    options.add_argument("--out", type=Path, default=HERE / "scale.md")
    given = options.parse_args()
    if given.part:
        name, *arguments = json.loads(given.part)
        print(json.dumps(PARTS[name](*arguments)))
        return
    sizes = [10_000, 30_000, 100_000, 300_000, 1_000_000, 3_000_000, 10_000_000]
    if given.quick:
        sizes = sizes[:4]
    draws, side, n = (50, 20_000, 200_000) if given.quick else (500, 100_000, 1_000_000)
    text = "# Scale\n\nWritten by `python benchmarks/scale.py`, each measurement in a process of its own.\n\n"
    for part in (
        lambda: memory_report(draws),
        lambda: sweep_report(sizes),
        lambda: growing_report(sizes),
        lambda: large_report(side, n),
    ):
        text += part() + "\n"
        given.out.write_text(text)
    print(text)


if __name__ == "__main__":
    main()
