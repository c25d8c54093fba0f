"""What the comparisons share: a task, what a method says of it, and how that is judged."""

import time
from typing import NamedTuple

import numpy as np

import maxentry
from maxentry import Observations
from maxentry.model.likelihood import Likelihood, check_noise
from maxentry.posterior import chains, gibbs
from maxentry.posterior.chains import ModelSpec

LEVEL = 0.9


class Task(NamedTuple):
    """Some entries of a matrix to learn from, others to predict."""

    shape: tuple[int, int]
    rows: np.ndarray
    cols: np.ndarray
    values: np.ndarray
    test_rows: np.ndarray
    test_cols: np.ndarray

    @property
    def observations(self) -> Observations:
        return Observations.of((self.rows, self.cols, self.values), shape=tuple(self.shape))


class Estimate(NamedTuple):
    """Of the entries to predict: their mean, and the ends of the intervals of the entry and of a measurement."""

    mean: np.ndarray
    low: np.ndarray | None = None
    high: np.ndarray | None = None
    new_low: np.ndarray | None = None
    new_high: np.ndarray | None = None
    new_sd: np.ndarray | None = None
    seconds: float = np.nan
    cpu_seconds: float = np.nan
    sweep_seconds: float = np.nan
    note: str = ""


def ours(task: Task, seed: int, **options) -> Estimate:
    """`maxentry.complete` on one thread, like its peer."""
    begin, cpu = time.perf_counter(), time.process_time()
    posterior = maxentry.complete(task.observations, seed=seed, threads=1, progress=False, **options)
    p = posterior.predict(task.test_rows, task.test_cols, LEVEL)
    took = {"seconds": time.perf_counter() - begin, "cpu_seconds": time.process_time() - cpu}
    note = " ".join(f"{rank}:{share:.2f}" for rank, share in posterior.rank_weights.items())
    return Estimate(p.mean, p.low, p.high, p.new_low, p.new_high, note=note, **took)


def rmse(estimate: Estimate, truth: np.ndarray) -> float:
    return float(np.sqrt(np.mean((estimate.mean - truth) ** 2)))


def covered(low: np.ndarray | None, high: np.ndarray | None, truth: np.ndarray) -> float:
    """The share of the truth inside; NaN where there are no intervals."""
    return float("nan") if low is None else float(np.mean((low <= truth) & (truth <= high)))


def sweep_seconds(
    observations: Observations, rank: int, noise: str = "gaussian", *, least: float = 0.5, blocks: int = 5
) -> float:
    """CPU seconds of one compiled sweep of one chain: the best of a few blocks, `least` seconds together."""
    fit = ModelSpec(Likelihood(noise=check_noise(noise))).in_units_of(observations)
    data, priors = fit.data(observations), fit.priors_of(observations.shape)
    (chain,) = chains.spawn_chains(np.random.SeedSequence(0), data, [rank], priors)
    rng, state, hyper = chain.generator(), chain.state, gibbs.hyperparameters(priors(rank))
    nothing = gibbs.DrawBuffers(*(np.empty((0,) * d) for d in (3, 3, 2, 2, 2)))

    def run(n: int) -> float:
        nonlocal state
        begin = time.process_time()  # one thread, so the same as on the clock where nothing else runs
        state = gibbs.step(state, data, rank, hyper, rng, np.ones(n), nothing, 0)
        return time.process_time() - begin

    run(1)
    n = 1
    while (took := run(n)) < least / blocks:
        n *= 2
    return min(took, *(run(n) for _ in range(blocks))) / n


def mean_and_error(values: list[float], digits: int = 3) -> str:
    """Mean and its standard error over the seeds."""
    array = np.array(values, float)
    if array.size == 0 or np.isnan(array).all():
        return "–"
    error = array.std(ddof=1) / np.sqrt(array.size) if array.size > 1 else np.nan
    return f"{array.mean():.{digits}f}" + ("" if np.isnan(error) else f" ± {error:.{digits}f}")


def table(header: list[str], lines: list[list[object]]) -> str:
    texts = [header, ["---"] * len(header), *lines]
    return "".join("| " + " | ".join(map(str, line)) + " |\n" for line in texts)
