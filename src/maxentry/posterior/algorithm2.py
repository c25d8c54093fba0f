"""The paper's Algorithm 2 (BayeSMG), with its three slips corrected: the reference sampler, not the default.

Model: y = x_ij + noise, X = U D V', U and V uniform frames, D ~ QL(0, sigma2), inverse gamma priors on
both variances. QL is the paper's quadrant law, Eq. (ql), and MF the matrix von Mises-Fisher law, Eq. (mf):

    QL(mu, delta2)   R, d_k >= 0     exp(-sum (d_k - mu_k)^2 / (2 delta2)) prod_{k<l} |d_k^2 - d_l^2|
    MF(m, R, F)      m x R frame W   etr(F'W)

A sweep draws

    Y missing  ~ N(X, eta2)                                      at the current X
    U          ~ MF(m1, R, Y V D / eta2)                         by a Gibbs pass
    V          ~ MF(m2, R, Y'U D / eta2)                         by a Gibbs pass
    D          ~ QL(mu, delta2)                                  by slice updates
               mu_k = sigma2 u_k'Y v_k / (eta2 + sigma2),  delta2 = eta2 sigma2 / (eta2 + sigma2)
    sigma2     ~ IG(alpha_sigma + R^2/2, beta_sigma + tr D^2/2)
    eta2       ~ IG(alpha_eta + m1 m2/2, beta_eta + |Y - X|_F^2/2)

U, V and D are updated by kernels that leave these conditionals exactly invariant, so the sweep leaves the
posterior exactly invariant. It moves by steps of the size of eta: exact, but slow where the noise is small.
Entries measured repeatedly: all are completed to the largest number c of measurements of any entry, and the
means of the c measurements, with noise eta2/c, take the place of Y.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from maxentry._types import Array
from maxentry.errors import DataError, ParameterError, RankError
from maxentry.kernels import algorithm2 as kernel
from maxentry.model.priors import InverseGamma, Priors
from maxentry.model.smg import uniform_frame


class Algorithm2State(NamedTuple):
    """Where the chain is: X = U diag(D) V'."""

    U: Array  # (m1, R), orthonormal columns
    D: Array  # (R,), non-negative, in any order
    V: Array  # (m2, R), orthonormal columns
    sigma2: float
    eta2: float


class EntryMeans(NamedTuple):
    """The measurements, as their sufficient statistics."""

    mean: Array  # (m1, m2) mean of the measurements of each entry, zero where there is none
    counts: NDArray[np.int64]  # (m1, m2) how many there are
    within: float  # sum of squares of the measurements about these means


class Algorithm2Draws(NamedTuple):
    """S posterior draws of X = A V', A = U D, and of the two variances."""

    A: Array  # (S, m1, R)
    V: Array  # (S, m2, R)
    sigma2: Array  # (S,)
    eta2: Array  # (S,)


def entry_means(rows: ArrayLike, cols: ArrayLike, values: ArrayLike, shape: tuple[int, int]) -> EntryMeans:
    """Collect the measurements y_n of entries (i_n, j_n); an entry may be measured more than once."""
    i, j = (np.asarray(index, dtype=np.intp) for index in (rows, cols))
    y = np.asarray(values, dtype=float)
    if not (i.ndim == 1 and i.shape == j.shape == y.shape):
        raise DataError(
            f"rows, cols and values must be vectors of one length, got {i.shape}, {j.shape}, {y.shape}"
        )
    if not np.isfinite(y).all():
        raise DataError("values must be finite, got NaN or inf among them")
    for name, index, m in (("row", i, shape[0]), ("column", j, shape[1])):
        if index.size and not (index.min() >= 0 and index.max() < m):
            raise DataError(f"{name} indices must lie in 0..{m - 1}, got {index.min()}..{index.max()}")
    count, total = np.zeros(shape, dtype=np.int64), np.zeros(shape)
    np.add.at(count, (i, j), 1)
    np.add.at(total, (i, j), y)
    mean = total / np.maximum(count, 1)
    return EntryMeans(mean, count, float(((y - mean[i, j]) ** 2).sum()))


def init(
    data: EntryMeans, R: int, priors: Priors, rng: np.random.Generator, X0: ArrayLike | None = None
) -> Algorithm2State:
    """Start from the singular value decomposition of a completion X0, as the paper does, or from the prior.

    With X0, both variances are drawn from their conditionals. A small amount is added to the singular values
    of X0 where it has fewer than R, because the quadrant law has no density at ties.
    """
    m1, m2 = data.mean.shape
    if not 1 <= R <= min(m1, m2):
        raise RankError(f"the rank of a {m1} x {m2} matrix must lie in 1..{min(m1, m2)}, got {R}")
    if X0 is None:
        sigma2, eta2 = priors.signal.draw(rng), priors.noise.draw(rng)
        U, V = uniform_frame(m1, R, rng), uniform_frame(m2, R, rng)
        return Algorithm2State(U, draw_core(R, sigma2, rng), V, sigma2, eta2)
    X = np.asarray(X0, dtype=float)
    if X.shape != (m1, m2) or not np.isfinite(X).all():
        raise DataError(f"X0 must be a finite {m1} x {m2} matrix, got shape {X.shape} or values not finite")
    left, d, right = np.linalg.svd(X, full_matrices=False)
    D = d[:R] + 1e-6 * (d[0] + np.sqrt(priors.signal.scale)) * np.arange(R, 0, -1)
    X = left[:, :R] * D @ right[:R]
    rss = data.within + float((data.counts * (data.mean - X) ** 2).sum())
    noise, signal = priors.noise, priors.signal
    eta2 = InverseGamma(noise.shape + data.counts.sum() / 2, noise.scale + rss / 2).draw(rng)
    sigma2 = InverseGamma(signal.shape + R**2 / 2, signal.scale + (D**2).sum() / 2).draw(rng)
    return Algorithm2State(left[:, :R], D, right[:R].T, sigma2, eta2)


def draw_core(R: int, sigma2: float, rng: np.random.Generator) -> Array:
    """Draw D ~ QL(0, sigma2): the singular values of an R x R matrix of iid N(0, sigma2), in random order."""
    M = np.sqrt(sigma2) * rng.standard_normal((R, R))
    return rng.permutation(np.linalg.svd(M, compute_uv=False))


def step(
    state: Algorithm2State, data: EntryMeans, priors: Priors, rng: np.random.Generator
) -> Algorithm2State:
    """Return the state after one sweep."""
    return sweeps(state, data, priors, 1, rng)[0]


def sweeps(
    state: Algorithm2State,
    data: EntryMeans,
    priors: Priors,
    n_sweeps: int,
    rng: np.random.Generator,
    thin: int = 1,
) -> tuple[Algorithm2State, Algorithm2Draws]:
    """Run n_sweeps sweeps, keeping every thin-th; return the last state and what was kept."""
    if n_sweeps < 1 or thin < 1 or n_sweeps % thin:
        raise ParameterError(
            f"n_sweeps must be a positive multiple of thin, got n_sweeps = {n_sweeps} and thin = {thin}"
        )
    U, V = np.array(state.U.T, order="C"), np.array(state.V.T, order="C")
    D, scales = state.D.copy(), np.array([state.sigma2, state.eta2])
    hyper = np.array([priors.noise.shape, priors.noise.scale, priors.signal.shape, priors.signal.scale])
    (m1, m2), R, S = data.mean.shape, D.size, n_sweeps // thin
    draws = Algorithm2Draws(np.empty((S, m1, R)), np.empty((S, m2, R)), np.empty(S), np.empty(S))
    kernel.run_sweeps(U, D, V, scales, data.mean, data.counts, data.within, hyper, thin, *draws, rng)
    return Algorithm2State(U.T, D, V.T, float(scales[0]), float(scales[1])), draws


def sample(
    rows: ArrayLike,
    cols: ArrayLike,
    values: ArrayLike,
    shape: tuple[int, int],
    rank: int,
    priors: Priors,
    n_sweeps: int,
    rng: np.random.Generator,
    X0: ArrayLike | None = None,
    thin: int = 1,
) -> Algorithm2Draws:
    """Draw from the posterior given the measurements, keeping the first draws, which depend on the start."""
    data = entry_means(rows, cols, values, shape)
    return sweeps(init(data, rank, priors, rng, X0), data, priors, n_sweeps, rng, thin)[1]
