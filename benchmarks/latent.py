"""A sweep where every measurement is a limit, a yes or no, or a grade, beside a sweep of plain values.

    python benchmarks/latent.py            # writes benchmarks/latent.md
    python benchmarks/latent.py --quick    # fewer repetitions

All are measured in one process, in turns, in CPU seconds of one thread, medians. That is done nine times with arrays
of their own, since where these lie in memory counts: the middle is given, and the range of the ratios. The data are
draws of the model; limits are those of a scale that no value lies inside (each says "above zero" or "below"), so N
latent values are drawn in every sweep, and now and then the noise and the cuts without them.

The second table has the parts of a sweep at R = 8, each timed where it comes in the sweep: nanoseconds a measurement.
The last lines say what a chain of limits has in memory beyond one of plain values, for each limit: what it keeps, and
what a sweep works in besides.

"Written by rows" is a copy of the values from the order of columns into that of rows and nothing else, a part of the
draws.
"""

import argparse
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np
from measures import table
from numba import njit

from maxentry import Observations
from maxentry.kernels import gibbs as kernel
from maxentry.kernels.latent import entry_means, fill_latent, redraw_scales
from maxentry.kernels.rng import fill_normal
from maxentry.model.likelihood import Likelihood
from maxentry.posterior import chains, gibbs
from maxentry.posterior.chains import ModelSpec
from maxentry.posterior.gibbs import Workspace

HERE = Path(__file__).parent
SIZES = ((2_000, 1_000, 100_000, 8), (2_000, 1_000, 100_000, 16), (200, 100, 4_000, 4))
TIMES = 9
WARM_UP = 60  # sweeps until a chain has found the data: far from them rejection takes longer


def kinds_of(m1: int, m2: int, n: int) -> dict[str, tuple[Likelihood, Observations]]:
    """The same latent values as numbers, limits, yes or no, and grades."""
    rng = np.random.default_rng(0)
    i, j = rng.integers(m1, size=n), rng.integers(m2, size=n)
    x = np.einsum("nr,nr->n", rng.standard_normal((m1, 4))[i], rng.standard_normal((m2, 4))[j]) / 2
    z = x + 0.5 * rng.standard_normal(n)
    below, zero = z <= 0, np.zeros(n)
    ends = {"low": np.where(below, -np.inf, 0.0), "high": np.where(below, 0.0, np.inf)}
    grades = np.clip(np.round(z + 3), 1, 5)
    return {
        "plain values": (Likelihood(), Observations((m1, m2), i, j, z)),
        "limits": (Likelihood(), Observations((m1, m2), i, j, zero + np.where(below, -1e-9, 1e-9), **ends)),
        "yes/no": (Likelihood("yes/no"), Observations((m1, m2), i, j, (~below).astype(float))),
        "grades": (
            Likelihood("grades", levels=(1, 2, 3, 4, 5)),
            Observations((m1, m2), i, j, grades),
        ),
    }


class Begun(NamedTuple):
    """A chain and what its sweeps need."""

    data: gibbs.GibbsData
    state: gibbs.GibbsState
    hyper: np.ndarray
    rng: np.random.Generator
    workspace: Workspace


def begin(likelihood: Likelihood, observations: Observations, rank: int) -> Begun:
    units = gibbs.Units(0.0, 1.0)
    fit = ModelSpec(likelihood, units=units)
    data, priors = fit.data(observations), fit.priors_of(observations.shape)
    (chain,) = chains.spawn_chains(np.random.SeedSequence(0), data, [rank], priors)
    hyper = gibbs.hyperparameters(priors(rank))
    return Begun(data, chain.state, hyper, chain.generator(), Workspace.allocate(data, rank))


def chain_of(likelihood: Likelihood, observations: Observations, rank: int) -> Callable[[int], None]:
    """Return a chain that runs so many sweeps."""
    data, state, hyper, rng, workspace = begin(likelihood, observations, rank)
    nothing = gibbs.DrawBuffers(*(np.empty((0,) * d) for d in (3, 3, 2, 2, 2)))

    def sweep(n: int) -> None:
        nonlocal state
        state = gibbs.step(state, data, rank, hyper, rng, np.ones(n), nothing, 0, workspace)

    sweep(WARM_UP)
    return sweep


def measure(m1: int, m2: int, n: int, rank: int, rounds: int) -> dict[str, float]:
    """Return the CPU seconds of one sweep of each kind, in turns: the median of rounds of 32 sweeps."""
    sweeps = {name: chain_of(*given, rank) for name, given in kinds_of(m1, m2, n).items()}
    seconds: dict[str, list[float]] = {name: [] for name in sweeps}
    for _ in range(rounds):
        for name, sweep in sweeps.items():
            begin = time.thread_time()
            sweep(32)
            seconds[name].append((time.thread_time() - begin) / 32)
    return {name: float(np.median(times)) for name, times in seconds.items()}


def show_times(turns: list[dict[str, float]], name: str) -> str:
    """Return the middle of the times of one kind, and of how often it is that of plain values, with the range."""
    ms = 1e3 * float(np.median([turn[name] for turn in turns]))
    if name == "plain values":
        return f"{ms:.2f}"
    ratios = sorted(turn[name] / turn["plain values"] for turn in turns)
    return f"{ms:.2f} (**{np.median(ratios):.2f}**, {ratios[0]:.2f} to {ratios[-1]:.2f})"


def parts_of(likelihood: Likelihood, observations: Observations, rank: int, sweeps: int) -> dict[str, float]:
    """Return the mean CPU seconds of the parts of a sweep."""
    data, state, hyper, rng, workspace = begin(likelihood, observations, rank)
    workspace.fill(state, data)
    left, right, scratch, latent = workspace.left, workspace.right, workspace.scratch, workspace.latent
    rows, cols = (np.array([0, side.free.size]) for side in (left, right))
    source, scalars, nothing = data.by_col.source, state.scalars.copy(), np.empty(0)
    fixed = rank, data.effects, workspace.aligned
    found: dict[str, list[float]] = {}

    def sweep(timed: Callable[[str], None]) -> None:
        fill_normal(left.Z, rng)
        kernel.change_gauge(left, right, scratch, rank)
        kernel.begin_sweep(left, right, scratch, *fixed, 1.0, scalars, rng)
        fill_normal(right.Z, rng)
        kernel.draw_blocks(np.zeros(1, np.int64), rows, left, right, scratch, rank, data.effects, scalars)
        kernel.switch_sides(left, right, scratch, *fixed, hyper, scalars, rng)
        kernel.draw_blocks(np.zeros(1, np.int64), cols, right, left, scratch, rank, data.effects, scalars)
        kernel.finish_sweep(left, right, scratch, *fixed, source, nothing, hyper, scalars, rng)
        timed("as of plain values")
        if latent is None:
            return
        mean = scalars[kernel.MU]
        entry_means(
            latent.indptr, latent.rows, left.factors, right.factors, left.effect, right.effect, mean, latent.mean
        )  # fmt: skip
        timed("entries")
        if rng.random() < latent.often[0]:
            scalars[kernel.ETA2] = redraw_scales(
                latent, right.values, right.weights, 1.0, scalars[kernel.ETA2], hyper[kernel.H_ETA],
                hyper[kernel.H_ETA + 1], scalars[kernel.N_SCALARS :], rng,
            )  # fmt: skip
        timed("noise and cuts without z")
        fill_latent(latent, right.weights, 1 / scalars[kernel.ETA2], left.values, right.values, rng)
        timed("draws of z")
        copy_to_rows(source, right.values, left.values)
        timed("of them written by rows")

    for k in range(WARM_UP + sweeps):
        at = time.thread_time()

        def timed(part: str, k: int = k) -> None:
            nonlocal at
            now = time.thread_time()
            if k >= WARM_UP:
                found.setdefault(part, []).append(now - at)
            at = time.thread_time()

        sweep(timed)
    return {part: float(np.mean(seconds)) for part, seconds in found.items()}


def count_bytes(kind: tuple[Likelihood, Observations], rank: int) -> tuple[float, float]:
    """Return the bytes for each limit that a chain keeps, and those of the arrays its sweeps work in."""
    data, state, _, _, workspace = begin(*kind, rank)
    assert data.limits is not None
    assert workspace.latent is not None
    own = (workspace.left.values, workspace.right.values, workspace.latent.mean, workspace.latent.every)
    n = data.limits.rows.size
    return state.latent.nbytes / n, sum(array.nbytes for array in own) / n


@njit
def copy_to_rows(source: np.ndarray, right: np.ndarray, left: np.ndarray) -> None:
    for n in range(source.size):
        left[source[n]] = right[n]


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--quick", action="store_true")
    options.add_argument("--out", type=Path, default=HERE / "latent.md")
    given = options.parse_args()
    lines: list[list[object]] = []
    for m1, m2, n, rank in SIZES:
        turns = [measure(m1, m2, n, rank, 3 if given.quick else 9) for _ in range(TIMES)]
        cells = [show_times(turns, name) for name in turns[0]]
        lines.append([f"{m1:,} x {m2:,}, N = {n:,}, R = {rank}", *cells])
    header = ["matrix", *(f"{name}, ms (times plain)" for name in turns[0])]
    about = "Written by `python benchmarks/latent.py`, which says what is measured: CPU time of a sweep, one thread."
    m1, m2, n, rank = SIZES[0]
    parts = {
        name: parts_of(*kind, rank, 100 if given.quick else 400) for name, kind in kinds_of(m1, m2, n).items()
    }
    columns = list(parts["grades"])
    shares = [
        [name, *(f"{1e9 * part[key] / n:.1f}" if key in part else "–" for key in columns)]
        for name, part in parts.items()
    ]
    text = f"# Sweeps with latent values\n\n{about}\n\n{table(header, lines)}"
    text += f"\nParts of a sweep at R = {rank}, ns a measurement:\n\n{table(['kind', *columns], shares)}"
    kept, worked = count_bytes(kinds_of(m1, m2, n)["limits"], rank)
    text += (
        f"\nA chain keeps {kept:.0f} bytes a limit; its sweeps work in {worked:.0f} more while they run.\n"
    )
    given.out.write_text(text)
    print(text)


if __name__ == "__main__":
    main()
