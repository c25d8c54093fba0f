"""Simulation-based calibration of the posterior (Talts et al. 2018) on the paper's simulated matrices.

Draw sigma2 and eta2 from the paper's priors, X from the SMG, measure N of its entries, complete. If the posterior
is exact, the rank of the truth among independent posterior draws is uniform, for whatever is looked at, and
intervals cover what they say. Three ways of sampling go through the same test:

    long        four long chains with draws far apart: must be uniform. This is the proof that the sampler is exact.
    population  the default, as users get it: reported as it comes out. Its chains are short, so the modes have the
                weights with which annealing finds them (docs/mathematics.md, section 6).
    slip        long, with sigma2 drawn from IG(alpha + R/2, .) as the paper prints instead of R^2/2: must fail.

    python -m benchmarks.calibration            # from the root: writes benchmarks/calibration.md and .png
    python -m benchmarks.calibration --quick    # a minute or two, writes nothing
"""

import argparse
import os
from collections.abc import Iterable
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np
from benchmarks.agreement import printed_slip
from scipy.stats import chisquare, kstest, norm
from threadpoolctl import threadpool_limits

from maxentry import Priors, Sampling, complete
from maxentry.model.smg import Simulation, simulate
from maxentry.posterior.diagnostics import ess_between, ess_bulk

PAPER = Priors.paper()
LEVELS = (0.5, 0.8, 0.95)
N_UNSEEN = 3  # unobserved entries whose ranks are looked at, each in a test of its own
BINS = 10
SIZE = 0.01  # a right sampler is called wrong this often, all tests of a table together
LONG = Sampling("long", chains=4, anneal=1000, settle=0, draws=20, thin=500)


class Case(NamedTuple):
    shape: tuple[int, int]
    rank: int
    N: int


class Way(NamedTuple):
    """A way to sample: the priors that are fitted (the truth has the paper's) and how long."""

    priors: Priors
    sampling: str | Sampling


class Replicate(NamedTuple):
    """What one simulated matrix says."""

    u: (
        np.ndarray
    )  # (statistic,) randomised rank of the truth among the draws, uniform on (0, 1) if all is well
    ess: np.ndarray  # (statistic,) effective over actual number of draws
    covered: np.ndarray  # (level,) share of the unobserved entries inside their intervals
    seen: np.ndarray  # (level,) the same of the observed entries


class Study(NamedTuple):
    """Many replicates of a case: arrays (matrix, ...)."""

    case: Case
    u: np.ndarray
    ess: np.ndarray
    covered: np.ndarray
    seen: np.ndarray

    def p_values(self) -> np.ndarray:
        """(test, statistic): Kolmogorov-Smirnov, chi-square, spread; matrices are independent of each other.

        The spread, the mean of (u - 1/2)^2, whose variance is 1/180, sees draws too wide or too narrow best.
        """
        ks = [kstest(column, "uniform").pvalue for column in self.u.T]
        counts = [np.bincount((column * BINS).astype(int), minlength=BINS) for column in self.u.T]
        z = (((self.u - 0.5) ** 2).mean(axis=0) - 1 / 12) * np.sqrt(180 * len(self.u))
        return np.array([ks, [chisquare(c).pvalue for c in counts], 2 * norm.sf(np.abs(z))])

    def coverage(self) -> tuple[np.ndarray, np.ndarray]:
        """Coverage of unobserved entries and its standard error, clustered by matrix."""
        return self.covered.mean(axis=0), self.covered.std(axis=0, ddof=1) / np.sqrt(len(self.covered))


def statistic_names(rank: int) -> list[str]:
    entries = [f"x unobserved {k + 1}" for k in range(N_UNSEEN)] + ["x observed"]
    return [*entries, "sigma2", "eta2", "‖X‖²", "d_1", f"d_{rank}", "mu_U(1)", "mu_V(1)"]


def statistics(left, right, sigma2, eta2, i, j):
    """(draw, statistic) of X = left right' (draw, ...), by way of the QR decompositions of both factors."""
    (U, S), (V, T) = np.linalg.qr(left), np.linalg.qr(right)
    d = np.linalg.svd(S @ T.mT, compute_uv=False)
    x = np.einsum("snr,snr->sn", left[:, i], right[:, j])
    parts = [x, sigma2, eta2, (d**2).sum(axis=1), d[:, 0], d[:, -1], (U[:, 0] ** 2).sum(axis=1)]
    return np.column_stack([*parts, (V[:, 0] ** 2).sum(axis=1)])


def replicate(case: Case, way: Way, seed: np.random.SeedSequence) -> Replicate:
    """Simulate a matrix, complete it and rank the truth among the draws."""
    for_data, for_ranks, for_fit = seed.spawn(3)
    truth = simulate(
        case.shape, case.rank, case.N, np.random.default_rng(for_data), sigma2=PAPER.signal, eta2=PAPER.noise
    )
    posterior = complete(
        (truth.rows, truth.cols, truth.values), case.rank, shape=case.shape, effects=False, priors=way.priors,
        sampling=way.sampling, seed=int(for_fit.generate_state(1)[0]), threads=1, progress=False,
    )  # fmt: skip
    rng = np.random.default_rng(for_ranks)
    i, j, mask = looked_at(truth, rng)
    d, S = posterior.draws, posterior.belief.n_draws
    factors = (array.reshape(S, *array.shape[2:]) for array in (d.left, d.right))
    drawn = statistics(*factors, d.sigma2.ravel(), d.eta2.ravel(), i, j)
    X = truth.X
    true = statistics((X.U @ X.M)[None], X.V[None], [truth.sigma2], [truth.eta2], i, j)
    u = ((drawn < true).sum(axis=0) + rng.random(true.size)) / (S + 1)
    by_chain = drawn.reshape(*d.eta2.shape, -1)
    # chains of a dozen draws show no autocorrelation, but there are enough of them to compare
    ess = (ess_bulk(by_chain) if posterior.sampling.kind == "long" else ess_between(by_chain)[0]) / S
    inside = [((low <= X.matrix()) & (X.matrix() <= high)) for low, high in map(posterior.interval, LEVELS)]
    return Replicate(
        u, ess, np.array([m[~mask].mean() for m in inside]), np.array([m[mask].mean() for m in inside])
    )


def looked_at(truth: Simulation, rng: np.random.Generator):
    """Random entries to rank: `N_UNSEEN` unobserved ones and then an observed one; and the mask of observed ones."""
    mask = np.zeros(truth.X.shape, dtype=bool)
    mask[truth.rows, truth.cols] = True
    unseen, seen = (
        rng.choice(np.flatnonzero(~mask), N_UNSEEN, replace=False),
        rng.choice(np.flatnonzero(mask)),
    )
    return *np.divmod(np.append(unseen, seen), mask.shape[1]), mask


def study(case: Case, way: Way, matrices: int, seed: int, workers: int = 1) -> Study:
    """`matrices` independent replicates; the same seed simulates the same matrices for every way."""
    seeds = np.random.SeedSequence([seed, case.N]).spawn(matrices)
    work = partial(_replicate_alone, case, way)
    if workers == 1:
        done: Iterable[Replicate] = map(work, seeds)
        return Study(case, *(np.array(field) for field in zip(*done, strict=True)))
    with ProcessPoolExecutor(workers) as pool:
        done = list(pool.map(work, seeds, chunksize=2))
    return Study(case, *(np.array(field) for field in zip(*done, strict=True)))


def _replicate_alone(case: Case, way: Way, seed: np.random.SeedSequence) -> Replicate:
    with threadpool_limits(1):
        return replicate(case, way, seed)


def threshold(studies: list[Study]) -> float:
    """The smallest p-value that is no surprise: Bonferroni over the studies, statistics and tests."""
    return SIZE / sum(s.p_values().size for s in studies)


def uniform(studies: list[Study]) -> bool:
    """Whether no test rejects uniform ranks."""
    return min(s.p_values().min() for s in studies) > threshold(studies)


def ways(thin: int) -> dict[str, Way]:
    long = Sampling("long", LONG.chains, LONG.anneal, LONG.settle, LONG.draws, thin)
    return {
        "long": Way(PAPER, long),
        "population": Way(PAPER, "population"),
        "slip": Way(printed_slip(PAPER, rank=3), long),
    }


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--matrices", type=int, default=200)
    parser.add_argument("--measured", type=int, nargs="+", default=[80, 200, 300], metavar="N")
    parser.add_argument("--ways", nargs="+", default=["long", "population", "slip"])
    parser.add_argument(
        "--thin", type=int, default=LONG.thin, help="sweeps between two draws of a long chain"
    )
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--workers", type=int, default=os.cpu_count())
    parser.add_argument(
        "--quick", action="store_true", help="16 matrices, draws 200 sweeps apart; writes nothing"
    )
    options = parser.parse_args()
    if options.quick:
        options.matrices, options.thin = 16, 200
    from benchmarks import calibration_report as report

    results: dict[str, list[Study]] = {}
    chosen = {name: ways(options.thin)[name] for name in options.ways}
    study(Case((30, 30), 3, 80), Way(PAPER, Sampling("long", 4, 1, 0, 4, 1)), 1, 0)  # compile before forking
    for name, way in chosen.items():
        results[name] = []
        for N in options.measured:
            results[name].append(
                study(Case((30, 30), 3, N), way, options.matrices, options.seed, options.workers)
            )
            print(report.line(name, results[name][-1]), flush=True)
    text = report.markdown(results, chosen)
    print("\n" + text)
    if not options.quick:
        here = Path(__file__).parent
        (here / "calibration.md").write_text(text)
        report.picture(results, here / "calibration.png")


if __name__ == "__main__":
    main()
