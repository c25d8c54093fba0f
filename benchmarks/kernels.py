"""The inner loop against the machine: flops of accumulation and solve as a share of dgemm's, and threads in a chain.

    python benchmarks/kernels.py            # writes benchmarks/kernels.md
    python benchmarks/kernels.py --quick    # fewer sizes and repetitions

Both are measured in one process, in turns, in CPU seconds of one thread, best of several: the processor's clock and
whatever else runs hit both. Useful flops of a row with n observations and K = R + 1 coefficients are n K (K + 1), those
of the lower triangle of sum w f f'. All else (b, the Cholesky factors, normals to coefficients, residuals) is taken as
overhead: it is in the time and not in the flops. The last column counts the flops of the solve, too: K^3/3 of the
factors and 4 K^2 of two triangular solves a row, which are most of the work where observations are few.
"""

import argparse
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
from measures import table
from threadpoolctl import threadpool_limits

from maxentry import Observations
from maxentry.kernels import rows as half_sweep
from maxentry.model.likelihood import Likelihood
from maxentry.posterior import chains, gibbs
from maxentry.posterior.chains import ModelSpec
from maxentry.posterior.gibbs import DrawBuffers, ThreadTeam, Workspace

HERE = Path(__file__).parent
SIDE = 768  # of the matrices of dgemm
COLUMNS = 4000  # features: those of MovieLens 1M lie in the second cache, so do these
ML_1M = (6_000, 4_000, 1_000_000, 16)


def best(clock: Callable[[], float], *jobs: Callable[[], object], rounds: int) -> list[float]:
    """The least seconds of each job, in turns."""
    seconds = [np.inf] * len(jobs)
    for _ in range(rounds):
        for k, job in enumerate(jobs):
            begin = clock()
            job()
            seconds[k] = min(seconds[k], clock() - begin)
    return seconds


def rows_job(R: int, per_row: int, weighted: bool) -> tuple[Callable[[], None], float, float]:
    """Draw rows of `per_row` observations each; and their useful flops, of the sums and of the solves."""
    rng, K = np.random.default_rng(0), R + 1
    m = max(16, int(4e8 / (per_row * K * (K + 1) + K**3)) // 16 * 8)
    rows, cols = np.repeat(np.arange(m), per_row), rng.integers(0, COLUMNS, (m, per_row))
    cols.sort(axis=1)
    obs = Observations((m, COLUMNS), rows, cols.ravel(), rng.standard_normal(rows.size))
    law = Likelihood(noise="student" if weighted else "gaussian")
    workspace = Workspace.allocate(ModelSpec(law).in_units_of(obs).data(obs), R)
    workspace.right.F[:, :R] = rng.standard_normal((COLUMNS, R))
    workspace.scratch.Q[:K] = np.eye(K)
    workspace.left.Z[:] = rng.standard_normal((m, K))
    this, other = workspace.left, workspace.right

    def job() -> None:
        half_sweep.draw_rows(
            0, m, this.indptr, this.positions, this.values, this.weights, other.F, other.effect, 0.1, 1.0,
            workspace.scratch.Q, workspace.scratch.slope, R, True, this.Z, this.factors, this.free, this.aligned,
            this.residual_sums,
        )  # fmt: skip

    return job, float(m * per_row * K * (K + 1)), m * (K**3 / 3 + 4 * K * K)


def share_of_dgemm(R: int, per_row: int, weighted: bool, rounds: int) -> list[str]:
    """One line of the table."""
    rng = np.random.default_rng(0)
    A, B, out = rng.standard_normal((SIDE, SIDE)), rng.standard_normal((SIDE, SIDE)), np.empty((SIDE, SIDE))
    job, flops, of_solves = rows_job(R, per_row, weighted)
    with threadpool_limits(1):
        product, ours = best(time.thread_time, lambda: np.matmul(A, B, out=out), job, rounds=rounds)
    peak, rate = 2.0 * SIDE**3 / product / 1e9, flops / ours / 1e9
    noise = "Student" if weighted else "Gaussian"
    shares = [f"{100 * x / ours / 1e9 / peak:.0f}%" for x in (flops, flops + of_solves)]
    return [f"{R}", f"{per_row}", noise, f"{rate:.1f}", f"{peak:.1f}", *shares]


def dgemm_report(quick: bool) -> str:
    sizes = (
        [(8, 1000), (16, 1000)]
        if quick
        else [(8, 5), (8, 20)] + [(R, n) for R in (4, 8, 10, 16, 20, 32, 64) for n in (50, 200, 1000)]
    )
    lines = [share_of_dgemm(R, n, False, 3 if quick else 7) for R, n in sizes]
    lines += [share_of_dgemm(R, 1000, True, 3 if quick else 7) for R in (8, 16)]
    header = [
        "R",
        "observations a row",
        "noise",
        "Gflop/s, useful",
        "dgemm Gflop/s",
        "share",
        "with the solves",
    ]
    return "## One core against dgemm\n\n" + table(header, lines)


def chain_of(m1: int, m2: int, n: int, R: int) -> Callable[[ThreadTeam | None, int], None]:
    """A function that runs sweeps of one chain on uniform data, going on from where it stood."""
    rng = np.random.default_rng(0)
    obs = Observations.of(
        (rng.integers(m1, size=n), rng.integers(m2, size=n), rng.standard_normal(n)), shape=(m1, m2)
    )
    fit = ModelSpec().in_units_of(obs)
    data, priors = fit.data(obs), fit.priors_of(obs.shape)
    (chain,) = chains.spawn_chains(np.random.SeedSequence(0), data, [R], priors)
    generator, hyper, workspace = (
        chain.generator(),
        gibbs.hyperparameters(priors(R)),
        Workspace.allocate(data, R),
    )
    nothing, state = DrawBuffers(*(np.empty((0,) * d) for d in (3, 3, 2, 2, 2))), chain.state

    def sweep(team: ThreadTeam | None, sweeps: int) -> None:
        nonlocal state
        state = gibbs.step(state, data, R, hyper, generator, np.ones(sweeps), nothing, 0, workspace, team)

    return sweep


def threads_report(quick: bool) -> str:
    sizes = [(600, 400, 30_000, 16)] if quick else [ML_1M, (1_000, 1_000, 50_000, 10)]
    lines = []
    for m1, m2, n, R in sizes:
        sweep, sweeps = chain_of(m1, m2, n, R), max(1, int(2e6 / n))
        with ThreadTeam(2) as team:
            sweep(None, 1)
            sweep(team, 1)
            one, two = best(
                time.perf_counter, partial(sweep, None, sweeps), partial(sweep, team, sweeps), rounds=3 if quick else 15
            )  # fmt: skip
        size = f"{m1:,} x {m2:,}, {n:,}, R = {R}"
        lines.append([size, f"{1e3 * one / sweeps:.2f}", f"{1e3 * two / sweeps:.2f}", f"{one / two:.2f}"])
    header = ["matrix, observations", "ms a sweep, one thread", "two threads", "ratio"]
    return "## Threads inside a chain\n\nSeconds on the clock, in turns, best of several.\n\n" + table(
        header, lines
    )


def sweeps_report(quick: bool) -> str:
    sizes = [(30, 30, 450, 3), (60, 60, 1_800, 4), (500, 100, 2_000, 2), (1_000, 1_000, 50_000, 10)]
    if not quick:
        sizes += [ML_1M, (100_000, 100_000, 1_000_000, 4)]
    lines = []
    for m1, m2, n, R in sizes:
        sweep, sweeps = chain_of(m1, m2, n, R), max(1, int(2e5 / n))
        sweep(None, 1)
        (seconds,) = best(time.thread_time, partial(sweep, None, sweeps), rounds=3 if quick else 9)
        lines.append([f"{m1:,} x {m2:,}", f"{n:,}", R, f"{1e6 * seconds / sweeps:,.0f}"])
    return "## A sweep, one thread\n\n" + table(["matrix", "observations", "R", "CPU µs"], lines)


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--quick", action="store_true")
    options.add_argument("--out", type=Path, default=HERE / "kernels.md")
    given = options.parse_args()
    text = "# Kernels\n\nWritten by `python benchmarks/kernels.py`, which says what is counted.\n\n"
    for part in (dgemm_report, sweeps_report, threads_report):
        text += part(given.quick) + "\n"
        given.out.write_text(text)
    print(text)


if __name__ == "__main__":
    main()
