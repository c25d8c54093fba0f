"""Memory of a fit: 24 bytes an observation and half, the draws asked for, and what rows and columns need."""

import tracemalloc

import numpy as np
import pytest

from maxentry import Observations, Sampling, complete
from maxentry.posterior.chains import ModelSpec

SHAPE, N, RANK = (800, 600), 300_000, 3
PLAN = Sampling("long", chains=2, anneal=2, settle=2, draws=10, thin=1)
# For each row and column: pointers and counts (24 bytes a half), and the arrays of a chain's state and workspace:
# fewer than 12 numbers for each of R + 2 columns.
LINES = sum(SHAPE) * (2 * 24 + PLAN.chains * 12 * (RANK + 2) * 8)
SPARE = 200_000  # Python's own: threads, modules that are loaded late


def triples() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Each entry once: replicates are held as their means beside the measurements."""
    rng = np.random.default_rng(0)
    rows, cols = np.divmod(rng.choice(SHAPE[0] * SHAPE[1], N, replace=False), SHAPE[1])
    return rows, cols, rng.normal(size=N)


@pytest.fixture
def observations() -> Observations:
    """Sorted by column, too; kernels and modules are loaded."""
    small = Observations.of(np.random.default_rng(0).normal(size=(8, 6)))
    complete(small, 1, sampling=PLAN, seed=0, progress=False).predict([0], [0])
    made = Observations.of(triples(), shape=SHAPE)
    assert made.by_row.values.size == made.by_col.values.size == N
    return made


def held_and_peak(work) -> tuple[int, int]:
    tracemalloc.start()
    kept = work()
    held, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    del kept
    return held, peak


@pytest.mark.usefixtures("observations")
def test_the_data_of_a_fit_take_at_most_24_bytes_an_observation_and_half() -> None:
    def work():
        observations = Observations.of(triples(), shape=SHAPE)
        fit = ModelSpec().in_units_of(observations)
        return observations, fit.data(observations)

    held, _ = held_and_peak(work)
    assert held < 2 * 24 * N + LINES + SPARE
    # The control: the halves in the user's units, kept as well, would not fit.
    held, _ = held_and_peak(lambda: (kept := work(), kept[0].by_col))
    assert held > 2 * 24 * N + LINES + SPARE


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_a_fit_holds_the_draws_and_no_more(observations: Observations, dtype: type[np.floating]) -> None:
    def fit(draws: int):
        plan = Sampling("long", chains=2, anneal=2, settle=2, draws=draws, thin=1)
        return complete(observations, RANK, sampling=plan, seed=0, dtype=dtype, progress=False)

    (few, few_peak), (many, many_peak) = (held_and_peak(lambda d=d: fit(d)) for d in (5, 105))
    a_draw = sum(SHAPE) * (RANK + 1) * np.dtype(dtype).itemsize
    # Only the hundred draws more of each chain, with their scalars; a copy of them would be seen.
    assert many - few > 2 * 100 * a_draw - SPARE
    assert many - few < 2 * 100 * (a_draw + 200) + SPARE
    assert many_peak - few_peak < 2 * 100 * (a_draw + 200) + SPARE < 2 * 2 * 100 * a_draw


def test_sampling_takes_no_memory_that_grows_with_the_observations(observations: Observations) -> None:
    fit = ModelSpec().in_units_of(observations)
    data, priors = fit.data(observations), fit.priors_of(SHAPE)
    from maxentry.posterior import chains
    from maxentry.progress import track

    begun = chains.spawn_chains(np.random.SeedSequence(0), data, [RANK] * 2, priors)

    def work():
        with track(1, "", False) as bar:
            return chains.run_chains(begun, data, priors, PLAN, bar)

    draws = 2 * PLAN.draws * (sum(SHAPE) * (RANK + 1) + 20) * 8
    _, peak = held_and_peak(work)
    assert peak < draws + LINES + SPARE
    assert LINES + SPARE < 8 * N  # so a single number for each observation would be seen
