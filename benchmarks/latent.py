"""A sweep where every measurement is a limit, a yes or no, or a grade, beside a sweep of plain values.

    python benchmarks/latent.py            # writes benchmarks/latent.md
    python benchmarks/latent.py --quick    # fewer repetitions

All are measured in one process, in turns, in CPU seconds of one thread, medians. The data are draws of the
model; limits are those of a scale that no value lies inside (each says "above zero" or "below"), so N latent values are
drawn in every sweep, and now and then the noise and the cuts without them.
"""

import argparse
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
from measures import table

from maxentry import Observations
from maxentry.model.likelihood import Likelihood
from maxentry.posterior import chains, gibbs
from maxentry.posterior.chains import ModelSpec
from maxentry.posterior.gibbs import Workspace

HERE = Path(__file__).parent
SIZES = ((2_000, 1_000, 100_000, 8), (2_000, 1_000, 100_000, 16), (200, 100, 4_000, 4))
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


def chain_of(likelihood: Likelihood, observations: Observations, rank: int) -> Callable[[int], None]:
    """Return a chain that runs so many sweeps."""
    units = gibbs.Units(0.0, 1.0)
    fit = ModelSpec(likelihood, units=units)
    data, priors = fit.data(observations), fit.priors_of(observations.shape)
    (chain,) = chains.spawn_chains(np.random.SeedSequence(0), data, [rank], priors)
    rng, state, hyper = chain.generator(), chain.state, gibbs.hyperparameters(priors(rank))
    workspace = Workspace.allocate(data, rank)
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


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--quick", action="store_true")
    options.add_argument("--out", type=Path, default=HERE / "latent.md")
    given = options.parse_args()
    lines: list[list[object]] = []
    for m1, m2, n, rank in SIZES:
        found = measure(m1, m2, n, rank, 3 if given.quick else 9)
        plain = found["plain values"]
        cells = [f"{1e3 * took:.2f} ({took / plain:.2f})" for took in found.values()]
        lines.append([f"{m1:,} x {m2:,}, N = {n:,}, R = {rank}", *cells])
    header = ["matrix", *(f"{name}, ms (times plain)" for name in found)]
    about = "Written by `python benchmarks/latent.py`, which says what is measured: CPU time of a sweep, one thread."
    text = f"# Sweeps with latent values\n\n{about}\n\n{table(header, lines)}"
    given.out.write_text(text)
    print(text)


if __name__ == "__main__":
    main()
