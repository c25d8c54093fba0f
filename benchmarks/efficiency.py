"""Effective samples a second: the default sampler over the paper's Algorithm 2 (corrected), both compiled.

The paper's simulation: 30 x 30, R = 3, N = 80, sigma2 = 1, eta2 = 1e-4, its priors. Both samplers start from the
same states, which the default sampler has annealed and settled, so neither pays for a burn-in. They alternate in
one process, chain by chain, one thread, timed by CPU. Bulk ESS (rank-normalised, over the chains) of random
unobserved entries of X, of eta2 and of sigma2. Algorithm 2 moves by steps of the size of the noise: where its ESS is
so small that it cannot be measured well, the figure flatters it, since a chain that has not moved far looks as if it
had seen everything. Every sweep of the default sampler is kept, since its draws are nearly independent after a few
and thinning would throw effective samples away; of Algorithm 2 every 10th, which loses nothing.

    python -m benchmarks.efficiency            # from the root: writes benchmarks/efficiency.md
    python -m benchmarks.efficiency --quick    # one data set, shorter chains, writes nothing
"""

import argparse
import time
from pathlib import Path
from typing import NamedTuple

import numpy as np

from maxentry import Priors, Sampling, complete
from maxentry.model.likelihood import GAUSSIAN
from maxentry.model.smg import Simulation, simulate
from maxentry.observations import Observations
from maxentry.posterior import algorithm2, gibbs
from maxentry.posterior.diagnostics import ess_bulk, split_rhat

SHAPE, RANK, N = (30, 30), 3, 80
PRIORS = Priors.paper()
CHAINS, ENTRIES = 4, 200
TARGET = 300


class Figures(NamedTuple):
    """Of one sampler on one data set."""

    ess: np.ndarray  # (quantity,)
    rhat: np.ndarray
    seconds: float
    sweep_us: float

    def rates(self):
        """Effective samples a second: median and worst entry of X, eta2, sigma2."""
        x, eta2, sigma2 = self.ess[:-2], self.ess[-2], self.ess[-1]
        return np.array([np.median(x), x.min(), eta2, sigma2]) / self.seconds


QUANTITIES = ("X, median entry", "X, worst entry", "eta2", "sigma2")


def starts(data: Simulation, seed: int) -> list[gibbs.GibbsState]:
    """Annealed and settled states, one for each chain."""
    plan = Sampling("long", CHAINS, anneal=1000, settle=20_000, draws=1, thin=1)
    posterior = complete(
        (data.rows, data.cols, data.values), RANK, shape=SHAPE, effects=False, priors=PRIORS, sampling=plan,
        seed=seed, progress=False,
    )  # fmt: skip
    return [chain.state for chain in posterior.chains]


def unobserved(data: Simulation, rng: np.random.Generator):
    mask = np.ones(SHAPE, dtype=bool)
    mask[data.rows, data.cols] = False
    return np.divmod(rng.choice(np.flatnonzero(mask), ENTRIES, replace=False), SHAPE[1])


def at(left, right, eta2, sigma2, i, j):
    """Draws (draw, quantity): unobserved entries of X, then eta2, then sigma2."""
    return np.column_stack([np.einsum("snr,snr->sn", left[:, i], right[:, j]), eta2, sigma2])


def conjugate_chain(data: Simulation, start: gibbs.GibbsState, draws: int, thin: int, entries, rng):
    observations = Observations(SHAPE, data.rows, data.cols, data.values)
    prepared = gibbs.prepare(observations, False, GAUSSIAN, False, None)
    room = gibbs.DrawBuffers(
        *(np.empty((draws, m, RANK)) for m in SHAPE),
        *(np.empty((draws, m)) for m in SHAPE),
        np.empty((draws, start.scalars.size)),
    )
    hyper, ones = gibbs.hyperparameters(PRIORS), np.ones(draws * thin)
    begin = time.process_time()
    gibbs.step(start, prepared, RANK, hyper, rng, ones, room, thin)
    seconds = time.process_time() - begin
    sigma2, eta2 = room.scalars[:, 1], room.scalars[:, 2]
    return at(room.left, room.right, eta2, sigma2, *entries), seconds


def algorithm2_chain(data: Simulation, start: gibbs.GibbsState, draws: int, thin: int, entries, rng):
    U, D, Vt = np.linalg.svd(start.left @ start.right.T, full_matrices=False)
    state = algorithm2.Algorithm2State(U[:, :RANK], D[:RANK], Vt[:RANK].T, *map(float, start.scalars[1:3]))
    measured = algorithm2.entry_means(data.rows, data.cols, data.values, SHAPE)
    begin = time.process_time()
    _, kept = algorithm2.sweeps(state, measured, PRIORS, draws * thin, rng, thin)
    seconds = time.process_time() - begin
    return at(kept.A, kept.V, kept.eta2, kept.sigma2, *entries), seconds


SAMPLERS = {"conjugate": conjugate_chain, "Algorithm 2": algorithm2_chain}
THIN = {"conjugate": 1, "Algorithm 2": 10}


def measure(seed: int, sweeps: dict[str, int]) -> dict[str, Figures]:
    """Both samplers on one data set, chain by chain in turn."""
    rng = np.random.default_rng(seed)
    data = simulate(SHAPE, RANK, N, rng, sigma2=1.0, eta2=1e-4)
    entries, begun = unobserved(data, rng), starts(data, seed)
    parts: dict[str, list] = {name: [] for name in SAMPLERS}
    for start in begun:
        for name, run in SAMPLERS.items():
            parts[name].append(run(data, start, sweeps[name] // THIN[name], THIN[name], entries, rng))
    figures = {}
    for name, chains in parts.items():
        x, seconds = np.array([c[0] for c in chains]), sum(c[1] for c in chains)
        figures[name] = Figures(ess_bulk(x), split_rhat(x), seconds, 1e6 * seconds / (CHAINS * sweeps[name]))
    return figures


def report(results: list[dict[str, Figures]], sweeps: dict[str, int]) -> str:
    lines = [
        "# Effective samples a second",
        "",
        "30 x 30, R = 3, N = 80, sigma2 = 1, eta2 = 1e-4, the paper's priors; data sets: "
        f"{len(results)}, each with {CHAINS} chains of",
        f"{sweeps['conjugate']:,} sweeps (conjugate) and {sweeps['Algorithm 2']:,} sweeps (Algorithm 2), from the same",
        "settled states, one thread, CPU time. Bulk ESS; geometric mean over the data sets, in brackets the range.",
        "Made by `python -m benchmarks.efficiency`.",
        "",
        "| | conjugate: ESS/s | Algorithm 2: ESS/s | ratio | its ESS in all |",
        "|---|---|---|---|---|",
    ]
    rates = {name: np.array([r[name].rates() for r in results]) for name in SAMPLERS}
    ratio = rates["conjugate"] / rates["Algorithm 2"]
    spent = np.array([[r["Algorithm 2"].seconds] for r in results])
    for k, what in enumerate(QUANTITIES):
        own, paper = (np.exp(np.log(rates[name][:, k]).mean()) for name in SAMPLERS)
        total = (rates["Algorithm 2"] * spent)[:, k]
        lines.append(
            f"| {what} | {own:,.0f} | {paper:,.3g} | **{np.exp(np.log(ratio[:, k]).mean()):,.0f}** "
            f"({ratio[:, k].min():,.0f}–{ratio[:, k].max():,.0f}) | {np.median(total):,.0f} |"
        )
    lines += [
        "",
        "| | µs a sweep | sweeps for one effective sample (median entry) | R-hat of X, median / worst |",
        "|---|---|---|---|",
    ]
    for name in SAMPLERS:
        us = np.median([r[name].sweep_us for r in results])
        rhat = np.median([[np.median(r[name].rhat[:-2]), r[name].rhat[:-2].max()] for r in results], axis=0)
        per = 1e6 / us / np.exp(np.log(rates[name][:, 0]).mean())
        lines.append(f"| {name} | {us:.1f} | {per:,.0f} | {rhat[0]:.3f} / {rhat[1]:.3f} |")
    middle = np.exp(np.log(ratio[:, 0]).mean())
    verdict = "reached" if middle >= TARGET else "NOT reached"
    lines += [
        "",
        f"Target: a ratio of at least {TARGET} for the median entry of X: {verdict} ({middle:,.0f}).",
    ]
    return "\n".join(lines) + "\n"


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data-sets", type=int, default=5)
    parser.add_argument("--sweeps", type=int, default=400_000, help="of Algorithm 2, a chain")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--quick", action="store_true")
    options = parser.parse_args()
    if options.quick:
        options.data_sets, options.sweeps = 1, 160_000
    sweeps = {"conjugate": options.sweeps // 10, "Algorithm 2": options.sweeps}
    measure(options.seed, {name: 100 for name in SAMPLERS})  # compile
    results = []
    for k in range(options.data_sets):
        results.append(measure(options.seed + k, sweeps))
        print(
            f"data set {k + 1}: ESS/s",
            {name: results[-1][name].rates().round(3) for name in SAMPLERS},
            flush=True,
        )
    text = report(results, sweeps)
    print("\n" + text)
    if not options.quick:
        (Path(__file__).parent / "efficiency.md").write_text(text)


if __name__ == "__main__":
    main()
