"""Two independent samplers of one posterior: the default (conjugate) and the paper's Algorithm 2, corrected.

They share no step: one draws rows of X given its columns without imputing anything, the other imputes the missing
measurements and moves frames and singular values. On a small matrix, half of it measured, their means of every
entry of X, of sigma2 and of eta2 must agree within Monte Carlo error, and so must their laws.

    python -m benchmarks.agreement            # from the root of the repository: writes benchmarks/agreement.md
"""

import argparse
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import numpy as np
from scipy.stats import ks_2samp
from tests.reference.chains import mean_and_error, z_between

from maxentry import InverseGamma, Priors, Sampling, complete
from maxentry.model.smg import Simulation, simulate
from maxentry.posterior import algorithm2

SHAPE, RANK, N = (8, 6), 2, 24
_EFFECTS = InverseGamma(2.0, 1.0)  # not in this model
PRIORS = Priors(InverseGamma(5.0, 0.4), InverseGamma(6.0, 50.0), _EFFECTS, _EFFECTS, 1.0)
CHAINS = 4
PASS, ACCEPT = (
    4.0,
    1e-3 / (SHAPE[0] * SHAPE[1] + 2),
)  # |z| of a mean; K-S p-value, Bonferroni over the quantities


class Draws(NamedTuple):
    """Draws of everything compared, chain after chain, and of some so far apart that they are independent."""

    all: np.ndarray  # (S, quantity)
    apart: np.ndarray


class Comparison(NamedTuple):
    names: list[str]
    conjugate: tuple[np.ndarray, np.ndarray]  # means and their errors
    algorithm2: tuple[np.ndarray, np.ndarray]
    z: np.ndarray
    p: np.ndarray  # of Kolmogorov-Smirnov

    @property
    def agrees(self):
        return bool(np.abs(self.z).max() < PASS and self.p.min() > ACCEPT)


def problem(seed: int) -> Simulation:
    rng = np.random.default_rng(seed)
    return simulate(SHAPE, RANK, N, rng, sigma2=PRIORS.signal.mean, eta2=PRIORS.noise.mean)


def quantities(X, sigma2, eta2, apart):
    values = np.column_stack([X.reshape(len(X), -1), np.log(sigma2), np.log(eta2)])
    return Draws(values, values[::apart])


def by_conjugate(data: Simulation, priors: Priors, draws: int, seed: int) -> Draws:
    """`draws` draws, 10 sweeps between two, of `CHAINS` chains; every 20th goes to the test of the law."""
    plan = Sampling("long", CHAINS, anneal=200, settle=500, draws=draws // CHAINS, thin=10)
    posterior = complete(
        (data.rows, data.cols, data.values), RANK, shape=SHAPE, effects=False, priors=priors, sampling=plan,
        seed=seed, progress=False,
    )  # fmt: skip
    d = posterior.draws
    X = d.left @ d.right.mT
    return quantities(X.reshape(-1, *SHAPE), d.sigma2.ravel(), d.eta2.ravel(), 20)


def by_algorithm2(data: Simulation, priors: Priors, draws: int, seed: int) -> Draws:
    """The same number of draws, 50 sweeps between two, since it moves more slowly."""
    rng, entries = np.random.default_rng(seed), algorithm2.entry_means(*data[1:4], SHAPE)
    chains = []
    for _ in range(CHAINS):
        state = algorithm2.init(entries, RANK, priors, rng)
        state = algorithm2.sweeps(state, entries, priors, 10_000, rng, thin=10_000)[0]
        chains.append(algorithm2.sweeps(state, entries, priors, 50 * (draws // CHAINS), rng, thin=50)[1])
    A, V, sigma2, eta2 = (np.concatenate(parts) for parts in zip(*chains, strict=True))
    return quantities(A @ V.mT, sigma2, eta2, 20)


def compare(a: Draws, b: Draws) -> Comparison:
    """z of the means by batch means over all draws, K-S over those that are far apart."""
    m1, m2 = SHAPE
    names = [f"x[{i}, {j}]" for i in range(m1) for j in range(m2)] + ["log sigma2", "log eta2"]
    p = np.array([ks_2samp(x, y).pvalue for x, y in zip(a.apart.T, b.apart.T, strict=True)])
    return Comparison(names, mean_and_error(a.all), mean_and_error(b.all), z_between(a.all, b.all), p)


def printed_slip(priors: Priors, rank: int = RANK) -> Priors:
    """Priors that make a right sampler draw sigma2 as the paper prints it, with R/2 in the shape: a control.

    The shape of sigma2's conditional is alpha + R^2/2, so alpha + (R - R^2)/2 in place of alpha gives alpha + R/2.
    """
    signal = InverseGamma(priors.signal.shape + (rank - rank**2) / 2, priors.signal.scale)
    return replace(priors, signal=signal)


def report(right: Comparison, slipped: Comparison, draws: int) -> str:
    lines = [
        "# Two samplers, one posterior",
        "",
        f"{SHAPE[0]} x {SHAPE[1]}, R = {RANK}, N = {N}; {draws} draws of each in {CHAINS} chains. z: difference of the",
        "means over its Monte Carlo error (batch means); p: Kolmogorov-Smirnov on every 20th draw.",
        "Made by `python -m benchmarks.agreement`.",
        "",
        "| quantity | conjugate | Algorithm 2 | z | p |",
        "|---|---|---|---|---|",
    ]
    for k, name in enumerate(right.names):
        (m, e), (m2, e2) = ((side[0][k], side[1][k]) for side in (right.conjugate, right.algorithm2))
        lines.append(
            f"| {name} | {m:.4f} ± {e:.4f} | {m2:.4f} ± {e2:.4f} | {right.z[k]:+.2f} | {right.p[k]:.3f} |"
        )
    lines += ["", summary("Conjugate and corrected Algorithm 2", right)]
    lines += ["", summary("Control, sigma2 drawn with the paper's R/2", slipped)]
    return "\n".join(lines) + "\n"


def summary(what: str, c: Comparison) -> str:
    verdict = "agree" if c.agrees else "DISAGREE"
    return (
        f"{what}: largest |z| {np.abs(c.z).max():.2f} (allowed {PASS}), root mean square z "
        f"{np.sqrt((c.z**2).mean()):.2f}, smallest p {c.p.min():.2g} (allowed {ACCEPT:.1g}): {verdict}."
    )


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--draws", type=int, default=40_000)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    data = problem(options.seed)
    reference = by_algorithm2(data, PRIORS, options.draws, options.seed + 1)
    right = compare(by_conjugate(data, PRIORS, options.draws, options.seed + 2), reference)
    slipped = compare(by_conjugate(data, printed_slip(PRIORS), options.draws, options.seed + 3), reference)
    text = report(right, slipped, options.draws)
    print(text)
    (Path(__file__).parent / "agreement.md").write_text(text)


if __name__ == "__main__":
    main()
