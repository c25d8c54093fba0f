"""The default sampler in plain NumPy, one obvious line per step of docs/mathematics.md, with planted mistakes.

The state is X itself, not a pair of factors, and the aligned effects p and q are vectors in its column and row
spaces: every half-sweep starts from a *uniformly random* orthonormal basis of a side of X, which is the Gibbs sampler
that the compiled sweep claims to equal in law. Nothing is shared with it. The variances of the effects are drawn
given the effects, of both sides, where the compiled sweep integrates over them, on one side: the same law, more slowly.
"""

from typing import NamedTuple

import numpy as np
from scipy.special import gammaln

from maxentry.model.priors import HalfCauchy, Priors

MISTAKES = {
    "wishart df": "L ~ Wishart(m - R - 1, .) instead of Wishart(m - R, .)",
    "jacobian forgotten": "L ~ Wishart(m - R, .) although there are aligned effects",
    "slope forgotten": "the prior of the aligned effects, m m'/s2, not in the precision of the rows",
    "side forgotten": "s2 ~ IG(shape, scale) instead of IG(shape, scale m/R)",
    "sigma2 shape": "R/2 instead of R^2/2, as the paper prints",
    "tau2 shape": "m instead of m/2 in the variances of the effects",
    "tail forgotten": "the root of a variance of effects uniform instead of half-Cauchy",
    "rss unweighted": "the weights of Student noise forgotten in the draw of eta2",
    "beta forgotten": "the likelihood of the rows not tempered",
    "eigenvalues forgotten": "the density of an eigenvalue of L without its distances from the others",
    "choice forgotten": "an eigenvalue of L drawn as if it had been chosen whatever its size",
    "line once": "the weight of a column drawn as if it had one measurement",
    "replicates once": "an entry measured again counted once in the sums over a row",
}


class Model(NamedTuple):
    shape: tuple[int, int]
    R: int
    priors: Priors
    effects: bool = False
    nu_grid: np.ndarray | None = None  # Student noise where given
    beta: float = 1.0
    noise: str = "student"  # with a grid; or "columns", "rows": a weight for all measurements of one

    @property
    def aligned(self):
        return self.effects and 0 < 2 * self.R < min(self.shape)


class State(NamedTuple):
    X: np.ndarray  # (m1, m2), of rank R
    mu: float
    r: np.ndarray
    c: np.ndarray
    p: np.ndarray  # aligned effects of the rows, in the column space of X
    q: np.ndarray  # of the columns, in its row space
    sigma2: float
    eta2: float
    tau2_row: float
    tau2_col: float
    s2_row: float
    s2_col: float
    nu: float
    w: np.ndarray  # (N,), ones for Gaussian noise


def frames(n, m, R, rng):
    """n uniform frames."""
    Q, T = np.linalg.qr(rng.standard_normal((n, m, R)))
    return Q * np.sign(np.diagonal(T, axis1=1, axis2=2))[:, None, :]


def lines(model, i, j):
    """Which weight each measurement has."""
    return {"student": np.arange(len(i)), "columns": j, "rows": i}[model.noise]


def prior_draws(n, model, i, j, rng):
    """n draws of everything from the prior, stacked along the first axis of each field."""
    (m1, m2), R, p = model.shape, model.R, model.priors
    sigma2, eta2, tau2_row, tau2_col = (
        prior_variances(law, n, rng) for law in (p.signal, p.noise, p.rows, p.cols)
    )
    M = np.sqrt(sigma2)[:, None, None] * rng.standard_normal((n, R, R))
    U, V = (frames(n, m, R, rng) if R else np.zeros((n, m, 0)) for m in (m1, m2))
    s2_row, s2_col = (
        prior_variances(law, n, rng) * m / max(R, 1) if model.aligned else np.ones(n)
        for law, m in ((p.rows, m1), (p.cols, m2))
    )
    omega, kappa = (
        model.aligned * np.sqrt(s2)[:, None] * rng.standard_normal((n, R)) for s2 in (s2_row, s2_col)
    )
    on = float(model.effects)
    mu = on * np.sqrt(p.mu_var) * rng.standard_normal(n)
    r = on * np.sqrt(tau2_row)[:, None] * rng.standard_normal((n, m1))
    c = on * np.sqrt(tau2_col)[:, None] * rng.standard_normal((n, m2))
    nu, w = np.full(n, np.inf), np.ones((n, i.size))
    if model.nu_grid is not None:
        nu, line = rng.choice(model.nu_grid, n), lines(model, i, j)
        w = rng.gamma(nu[:, None] / 2, 2 / nu[:, None], (n, line.max() + 1))[:, line]
    return State(
        U @ M @ V.mT, mu, r, c, np.einsum("nir,nr->ni", U, omega), np.einsum("njr,nr->nj", V, kappa),
        sigma2, eta2, tau2_row, tau2_col, s2_row, s2_col, nu, w,
    )  # fmt: skip


def prior_variances(law, n, rng):
    if isinstance(law, HalfCauchy):
        return (law.width * rng.standard_cauchy(n)) ** 2
    return law.scale / rng.standard_gamma(law.shape, n)


def mean_of(s, i, j):
    return s.mu + s.r[i] + s.p[i] + s.c[j] + s.q[j] + s.X[i, j]


def measure(s, i, j, beta, rng):
    """y_n = mean + noise; with beta < 1 the noise has variance eta2 / (beta w)."""
    return mean_of(s, i, j) + np.sqrt(s.eta2 / (beta * s.w)) * rng.standard_normal(i.size)


def random_basis(X, R, rng):
    """A uniformly random orthonormal basis of the column space of X."""
    return np.linalg.svd(X)[0][:, :R] @ frames(1, R, R, rng)[0]


def draw_wishart(df, A, rng):
    """Wishart(df, (A'A)^-1), as the sum of df outer products of N(0, (A'A)^-1)."""
    g = np.linalg.solve(np.linalg.cholesky(A.T @ A).T, rng.standard_normal((A.shape[1], df)))
    return g @ g.T


def gaussian(P, b, rng):
    """N(P^-1 b, P^-1)."""
    root = np.linalg.cholesky(P)
    return np.linalg.solve(P, b) + np.linalg.solve(root.T, rng.standard_normal(b.size))


def side(own, other, y, precision, X, p, offset, tau2, s2, sigma2, model, rng, mistakes):
    """Rows of A, and their effects r, given the other side: new (X, r, p). X is (own side) x (other side).

    Aligned effects p = A m keep their slope m. Their law N(0, s2 I) of the coordinates in an orthonormal frame of A is
    m ~ N(0, s2 (A'A)^-1), whose density as a function of A is |A'A|^(1/2) exp(-m'A'Am / 2 s2).
    """
    m, R = X.shape[0], model.R
    V = random_basis(X.T, R, rng) if R else np.zeros((X.shape[1], 0))
    A = X @ V
    slope = np.linalg.lstsq(A, p, rcond=None)[0]
    F = np.hstack([V + slope, np.ones((len(V), 1))]) if model.effects else V
    Q = np.zeros((F.shape[1], F.shape[1]))
    if R:
        jacobian = model.aligned and "jacobian forgotten" not in mistakes
        df = m - R - jacobian - ("wishart df" in mistakes)
        Q[:R, :R] = draw_wishart(df, A, rng) + np.eye(R) / sigma2
    if model.aligned and "slope forgotten" not in mistakes:
        Q[:R, :R] += np.outer(slope, slope) / s2
    if model.effects:
        Q[R, R] = 1 / tau2
    G = np.empty((m, F.shape[1]))
    for i in range(m):
        n = np.flatnonzero(own == i)
        if "replicates once" in mistakes:
            n = n[np.unique(other[n], return_index=True)[1]]
        f, k = F[other[n]], precision[n]
        G[i] = gaussian(Q + f.T @ (k[:, None] * f), f.T @ (k * (y[n] - offset[other[n]])), rng)
    return G[:, :R] @ V.T, G[:, R] if model.effects else np.zeros(m), G[:, :R] @ slope


def redraw_strength(own, other, y, precision, X, r, p, offset, s2, sigma2, model, rng, mistakes):
    """An eigenvalue of L | A, and with it the coordinates of all rows along its eigenvector e: new (X, p).

    In eigenvalues and eigenvectors the law of L has the density |L|^((n-R-1)/2) prod |l_a - l_b|. Eigenvalue k is
    chosen with probability l_k / sum l, then moved by a Metropolis step with the coordinates integrated out.
    """
    m, R = X.shape[0], model.R
    V = random_basis(X.T, R, rng)
    A = X @ V
    slope = np.linalg.lstsq(A, p, rcond=None)[0]
    n = m - R - model.aligned
    values, vectors = np.linalg.eigh(draw_wishart(n, A, rng))
    k = rng.choice(R, p=values / values.sum())
    e, rest = vectors[:, k], np.delete(values, k)
    F, a = V + slope, A @ e
    f, residuals = (F @ e)[other], y - offset[other] - r[own] - (A @ F.T)[own, other]
    # of row i: exp(-P_i a^2 / 2 + c_i a) as a function of its coordinate a, for an eigenvalue of zero
    P = 1 / sigma2 + (slope @ e) ** 2 / s2 + np.bincount(own, precision * f**2, m)
    c = np.bincount(own, precision * f * (residuals + a[own] * f), m)
    c -= (slope @ e) * (p - a * (slope @ e)) / s2

    def log_density(x):  # of x = log l
        value = np.exp(x)
        total = (n - R - 1) / 2 * x + x - np.log(P + value).sum() / 2 + (c**2 / (P + value)).sum() / 2
        if "eigenvalues forgotten" not in mistakes:
            total += np.log(np.abs(value - rest)).sum()
        if "choice forgotten" not in mistakes:
            total += np.log(value / (value + rest.sum()))
        return total

    old = np.log(values[k])
    new = old + rng.standard_normal()
    if np.log(rng.random()) > log_density(new) - log_density(old):
        new = old
    P = P + np.exp(new)
    A = A + np.outer(c / P + rng.standard_normal(m) / np.sqrt(P) - a, e)
    return A @ V.T, A @ slope


def redraw_aligned(own, e, precision, X, s2, R, rng):
    """p = U omega given residuals e that leave it out, in a random orthonormal frame U of X."""
    U = random_basis(X, R, rng)
    f = U[own]
    return U @ gaussian(np.eye(R) / s2 + f.T @ (precision[:, None] * f), f.T @ (precision * e), rng)


def inverse_gamma(law, shape, scale, rng):
    return (law.scale + scale) / rng.standard_gamma(law.shape + shape)


def effect_variance(law, size, v, shape, rng, mistakes=()):
    """The variance of effects v given them, in units of `size`.

    A half-Cauchy root gives x = log variance the density e^(x (1/2 - shape)) exp(-s e^-x) / (1 + e^x / w^2), here
    summed up on a fine grid of x: below it exp(-s e^-x) is zero, above it no more than e^-30 of all is left.
    """
    s = (v**2).sum() / 2
    if not isinstance(law, HalfCauchy):
        return (law.scale * size + s) / rng.standard_gamma(law.shape + shape)
    width2 = law.width**2 * size
    x = np.linspace(np.log(s) - 5, max(np.log(s), np.log(width2)) + 30, 4_000)
    log_p = (0.5 - shape) * x - s * np.exp(-x)
    if "tail forgotten" not in mistakes:
        log_p -= np.log1p(np.exp(x) / width2)
    p = np.exp(log_p - log_p.max())
    sums = np.append(0.0, np.cumsum(p[1:] + p[:-1]))
    return np.exp(np.interp(rng.random() * sums[-1], sums, x))


def sweep(s, i, j, y, model, rng, mistakes=()):
    """One sweep given measurements y at (i, j)."""
    R, p, beta = model.R, model.priors, model.beta
    k = beta * s.w / s.eta2
    k_rows = s.w / s.eta2 if "beta forgotten" in mistakes else k
    shared = (s.sigma2, model, rng, mistakes)
    if R:
        X, aligned = redraw_strength(i, j, y - s.mu, k, s.X, s.r, s.p, s.c + s.q, s.s2_row, *shared)
        s = s._replace(X=X, p=aligned)
    X, r, aligned = side(i, j, y - s.mu, k_rows, s.X, s.p, s.c + s.q, s.tau2_row, s.s2_row, *shared)
    s = s._replace(X=X, r=r, p=aligned)
    if R:
        X, aligned = redraw_strength(j, i, y - s.mu, k, s.X.T, s.c, s.q, s.r + s.p, s.s2_col, *shared)
        s = s._replace(X=X.T, q=aligned)
    X, c, aligned = side(j, i, y - s.mu, k, s.X.T, s.q, s.r + s.p, s.tau2_col, s.s2_col, *shared)
    s = s._replace(X=X.T, c=c, q=aligned)
    if model.effects:
        e = y - mean_of(s._replace(mu=0.0), i, j)
        P = 1 / p.mu_var + k.sum()
        s = s._replace(mu=(k @ e) / P + rng.standard_normal() / np.sqrt(P))
        part = 1.0 if "tau2 shape" in mistakes else 0.5
        s = s._replace(
            tau2_row=effect_variance(p.rows, 1, s.r, part * s.r.size, rng, mistakes),
            tau2_col=effect_variance(p.cols, 1, s.c, part * s.c.size, rng, mistakes),
        )
    if model.aligned:
        s = sweep_aligned(s, i, j, y, k, model, rng, mistakes)
    e = y - mean_of(s, i, j)
    rss = (e**2).sum() if "rss unweighted" in mistakes else s.w @ e**2
    df = R if "sigma2 shape" in mistakes else R**2
    s = s._replace(
        eta2=inverse_gamma(p.noise, beta * y.size / 2, beta * rss / 2, rng),
        sigma2=inverse_gamma(p.signal, df / 2, (s.X**2).sum() / 2, rng) if R else s.sigma2,
    )
    return s if model.nu_grid is None else weights(s, e, lines(model, i, j), model, rng, mistakes)


def sweep_aligned(s, i, j, y, k, model, rng, mistakes):
    """p and q given everything, then their variances given them."""
    R, laws = model.R, (model.priors.rows, model.priors.cols)
    s = s._replace(p=redraw_aligned(i, y - mean_of(s, i, j) + s.p[i], k, s.X, s.s2_row, R, rng))
    s = s._replace(q=redraw_aligned(j, y - mean_of(s, i, j) + s.q[j], k, s.X.T, s.s2_col, R, rng))
    s2 = [
        effect_variance(law, 1 if "side forgotten" in mistakes else v.size / R, v, R / 2, rng, mistakes)
        for law, v in zip(laws, (s.p, s.q), strict=True)
    ]
    return s._replace(s2_row=s2[0], s2_col=s2[1])


def weights(s, e, line, model, rng, mistakes=()):
    """The weights given the residuals, then nu given the weights, on its grid."""
    _, line, n = np.unique(line, return_inverse=True, return_counts=True)
    n = np.ones_like(n) if "line once" in mistakes else n
    rate = (s.nu + model.beta * np.bincount(line, e**2) / s.eta2) / 2
    w = rng.gamma((s.nu + model.beta * n) / 2, 1 / rate)
    return s._replace(w=w[line], nu=rng.choice(model.nu_grid, p=nu_probabilities(w, model.nu_grid)))


def nu_probabilities(w, grid):
    """P(nu | w) on the grid, whose prior is uniform: the Gamma(nu/2, rate nu/2) density of every weight."""
    h = np.asarray(grid)[:, None] / 2
    log_p = (h * np.log(h) - gammaln(h) + (h - 1) * np.log(w) - h * w).sum(axis=1)
    p = np.exp(log_p - log_p.max())
    return p / p.sum()
