"""Sweeps with features in plain NumPy, one obvious line per step of docs/mathematics.md, section 20, with mistakes.

Nothing is integrated out: the coefficients of the features and the precision are part of the state, drawn one after the
other. It is the same law as that of the compiled sweep, more slowly.
"""

from typing import NamedTuple

import numpy as np

from maxentry.model.link import LinkPrior
from maxentry.model.priors import Priors

MISTAKES = {
    "mean forgotten": "rows drawn as if features said zero",
    "ridge forgotten": "coefficients of features by least squares, without the ridge",
    "coefficients uncounted": "Q drawn without the coefficients of the features, which have it as their precision",
    "one factor": "rho drawn as if there were one coefficient of each feature, not one for every factor",
}


class Model(NamedTuple):
    shape: tuple[int, int]
    R: int
    priors: Priors
    link: LinkPrior
    features: tuple[np.ndarray, np.ndarray]  # centred, mean squared length 1
    effects: bool = True

    @property
    def K(self):
        return self.R + self.effects


class Side(NamedTuple):
    G: np.ndarray  # (m, K)
    Q: np.ndarray
    W: np.ndarray  # (1 + p, K), the constant first
    rho: float


class State(NamedTuple):
    rows: Side
    cols: Side
    mu: float
    eta2: float


def design(F):
    return np.column_stack([np.ones(len(F)), F])


def draw_wishart(df, scale, rng):
    """Wishart(df, scale^-1) for a whole number df, as a sum of outer products."""
    g = np.linalg.solve(np.linalg.cholesky(scale).T, rng.standard_normal((len(scale), df)))
    return g @ g.T


def normals(n, Q, rng):
    """n rows of N(0, Q^-1)."""
    return np.linalg.solve(np.linalg.cholesky(Q).T, rng.standard_normal((len(Q), n))).T


def scale_matrix(model):
    return np.diag([model.link.factors] * model.R + [model.link.effect] * model.effects)


def prior_side(model, F, rng):
    link, K = model.link, model.K
    rho = link.scale / rng.standard_gamma(link.shape)
    Q = draw_wishart(int(link.df) + K - 1, scale_matrix(model), rng)
    W = normals(1 + F.shape[1], Q, rng) * np.sqrt(np.append(1.0, np.full(F.shape[1], rho)))[:, None]
    return Side(design(F) @ W + normals(len(F), Q, rng), Q, W, rho)


def prior_draw(model, rng):
    p = model.priors
    mu = model.effects * np.sqrt(p.mu_var) * rng.standard_normal()
    sides = (prior_side(model, F, rng) for F in model.features)
    return State(*sides, mu, p.noise.scale / rng.standard_gamma(p.noise.shape))


def matrix(s, model):
    """The mean of every entry."""
    R, A, B = model.R, s.rows.G, s.cols.G
    X = s.mu + A[:, :R] @ B[:, :R].T
    return X + A[:, [R]] + B[:, R] if model.effects else X


def measure(s, i, j, model, rng):
    return matrix(s, model)[i, j] + np.sqrt(s.eta2) * rng.standard_normal(i.size)


def sweep_side(this, other, own, theirs, y, s, model, F, rng, mistakes):
    """The link given G, then G given it and the other side."""
    R, D, (m, K), p = model.R, design(F), this.G.shape, F.shape[1]
    ridge = np.append(1.0, np.full(p, 0.0 if "ridge forgotten" in mistakes else 1 / this.rho))
    H = D.T @ D + np.diag(ridge)
    W = np.linalg.solve(H, D.T @ this.G)
    W = W + np.linalg.solve(np.linalg.cholesky(H).T, normals(1 + p, this.Q, rng))
    E, over = this.G - D @ W, W / np.sqrt(np.append(1.0, np.full(p, this.rho)))[:, None]
    S = scale_matrix(model) + E.T @ E + over.T @ over
    df = int(model.link.df) + K - 1 + m + 1 + p
    if "coefficients uncounted" in mistakes:
        S, df = S - over.T @ over, df - 1 - p
    Q = draw_wishart(df, S, rng)
    squares, shape = np.einsum("pk,kl,pl->", W[1:], Q, W[1:]), p * K / 2
    if "one factor" in mistakes:
        shape = p / 2
    rho = (model.link.scale + squares / 2) / rng.standard_gamma(model.link.shape + shape)
    mean = 0 * this.G if "mean forgotten" in mistakes else D @ W
    f = np.column_stack([other.G[:, :R], np.ones(len(other.G))])[:, :K]
    offset = s.mu + (other.G[:, R] if model.effects else np.zeros(len(other.G)))
    G = np.empty((m, K))
    for i in range(m):
        n = np.flatnonzero(own == i)
        x, t = f[theirs[n]], y[n] - offset[theirs[n]]
        P = Q + x.T @ x / s.eta2
        G[i] = np.linalg.solve(P, Q @ mean[i] + x.T @ t / s.eta2) + normals(1, P, rng)[0]
    return Side(G, Q, W, rho)


def sweep(s, i, j, y, model, rng, mistakes=()):
    p, (F, E) = model.priors, model.features
    s = s._replace(rows=sweep_side(s.rows, s.cols, i, j, y, s, model, F, rng, mistakes))
    s = s._replace(cols=sweep_side(s.cols, s.rows, j, i, y, s, model, E, rng, mistakes))
    if model.effects:
        e = y - matrix(s._replace(mu=0.0), model)[i, j]
        P = 1 / p.mu_var + y.size / s.eta2
        s = s._replace(mu=e.sum() / s.eta2 / P + rng.standard_normal() / np.sqrt(P))
    rss = ((y - matrix(s, model)[i, j]) ** 2).sum()
    return s._replace(eta2=(p.noise.scale + rss / 2) / rng.standard_gamma(p.noise.shape + y.size / 2))


def draw_given_noise(F, G, Q, rho, Z1, Z2):
    """The coefficients of centred features given G and Q, made of the normals Z1 (m, K) and Z2 (p, K), by Cholesky."""
    C, P = np.linalg.cholesky(Q), F.T @ F + np.eye(F.shape[1]) / rho
    E1, E2 = (np.linalg.solve(C.T, Z.T).T for Z in (Z1, Z2))  # rows of N(0, Q^-1)
    root = np.linalg.cholesky(P)
    return np.linalg.solve(root.T, np.linalg.solve(root, F.T @ (G + E1) + E2 / np.sqrt(rho)))
