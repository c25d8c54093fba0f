"""Choosing by dense covariances and exhaustive search: slow, obvious twins of `maxentry.acquisition`."""

import numpy as np
from scipy.special import xlogy
from scipy.stats import norm, t

from maxentry.belief import Entries

TIE = 1e-10


def dense_draws(belief):
    """(S, m1 m2)."""
    return np.array([belief.draw(s).ravel() for s in range(belief.n_draws)])


def draw_covariance(belief):
    D = dense_draws(belief)
    D = D - D.mean(0)
    return D.T @ D / len(D)


def projections(belief):
    """Mean over the draws of the projections on their column and row spaces, the mean rank, and sigma2."""
    P_U, P_V, ranks, sigma2 = 0.0, 0.0, [], []
    for s in range(belief.n_draws):
        u, d, vt = np.linalg.svd(belief.draw(s))
        q = int(np.sum(d > 1e-10 * d[0])) if d[0] > 0 else 0
        P_U = P_U + u[:, :q] @ u[:, :q].T / belief.n_draws
        P_V = P_V + vt[:q].T @ vt[:q] / belief.n_draws
        ranks.append(q)
        sigma2.append(np.sum(d**2) / max(q, 1) ** 2)
    return P_U, P_V, np.mean(ranks), np.mean(sigma2)


def nearest(P, q):
    vectors = np.linalg.eigh(P)[1][:, len(P) - q :]
    return vectors @ vectors.T


def prior(name, belief, question):
    """The covariance of all entries, and the entries that are measured beside it."""
    if name in ("predictive_variance", "integrated_variance"):
        return draw_covariance(belief), question.pending
    P_U, P_V, rank, sigma2 = projections(belief)
    if name == "maxent_nearest":
        P_U, P_V = nearest(P_U, round(rank)), nearest(P_V, round(rank))
    return sigma2 * np.kron(P_U, P_V), question.observed.joined(question.pending)


def given(cov, keys, noise):
    """The covariance of all entries once those with these keys are measured; one noise for all, or one an entry."""
    if len(keys) == 0:
        return cov
    R = np.diag(np.broadcast_to(noise, len(cov))[keys])
    return cov - cov[:, keys] @ np.linalg.solve(cov[np.ix_(keys, keys)] + R, cov[keys])


def gain_of(name, before, more, noise):
    """What measuring `more` gains where all entries have the covariance `before`."""
    if name == "integrated_variance":
        return np.mean(np.diag(before) - np.diag(given(before, more, noise)))
    R = np.diag(np.broadcast_to(noise, len(before))[more])
    return (np.linalg.slogdet(R + before[np.ix_(more, more)])[1] - np.linalg.slogdet(R)[1]) / 2


def noise_of(x, eta2, cuts, seen=None, nu=None):
    """The noise of a value that tells as much of draws x (S,) as a measurement of which only the cell is seen.

    cuts: between the cells; in the cell `seen` the value is seen, too.
    """
    law = norm() if nu is None else t(nu)
    edges = (np.array([-np.inf, *cuts, np.inf]) - x[:, None]) / np.sqrt(eta2)
    p = np.diff(law.cdf(edges), axis=1)
    told = -xlogy(p.mean(0), p.mean(0)).sum() + xlogy(p, p).sum(1).mean()
    if seen is not None:
        w = p[:, seen] / p[:, seen].sum()
        v = w @ (x - w @ x) ** 2
        inside = [cut_information(law, nu, *edges[s, seen : seen + 2]) for s in range(len(x))]
        told += 0.5 * p[:, seen].mean() * np.log1p(v * np.mean(inside) / p[:, seen].mean() / eta2)
    return x.var() / np.expm1(2 * told)


def cut_information(law, nu, a, b):
    """What a value tells of the mean if it lies between a and b, times the probability that it does."""

    def score(z):
        return z if nu is None else (nu + 1) * z / (nu + z * z)

    p, z = law.cdf(b) - law.cdf(a), np.linspace(max(a, -60.0), min(b, 60.0), 20_001)
    squares, first = (np.trapezoid(score(z) ** k * law.pdf(z), z) for k in (2, 1))
    whole = 1.0 if nu is None else (nu + 1) / (nu + 3)
    return (squares - first**2 / p) / whole if p > 0 and z[0] < z[-1] else 0.0


def available(question):
    free = np.ones(question.shape, bool) if question.mask is None else question.mask.copy()
    if not question.again:
        for i, j in zip(*question.observed.joined(question.pending), strict=True):
            free[i, j] = False
    return free


def sets(question, batch):
    """The keys of each single choice still possible: entries, or the entries of each plate."""
    m1, m2 = question.shape
    free, limits = available(question), question.limits
    keys = np.arange(m1 * m2).reshape(m1, m2)
    if limits.plates is not None:
        lines = [(keys[i][free[i]]) for i in range(m1)]
        if limits.plates == "cols":
            lines = [keys[:, j][free[:, j]] for j in range(m2)]
        return [line for line in lines if len(line) and line[0] not in batch]
    rows, cols = np.array(batch, int) // m2, np.array(batch, int) % m2
    for i in range(m1):
        for j in range(m2):
            full = limits.per_row is not None and np.sum(rows == i) >= limits.per_row
            full |= limits.per_col is not None and np.sum(cols == j) >= limits.per_col
            full |= not question.again and keys[i, j] in batch
            free[i, j] &= not full
    return [np.array([key]) for key in keys[free]]


def choose(name, belief, question, n, eta2=None, follow=(), rounding=0.0):
    """Keys in the order chosen, and the gain of each given those before it.

    Where the best choice and the next one in `follow` gain the same but for rounding, that one is taken.
    """
    eta2, m2 = np.mean(belief.noise_var) if eta2 is None else eta2, question.shape[1]
    cov, measured = prior(name, belief, question)
    known, batch, gains = list(measured.keys(m2)), [], []
    for _ in range(n):
        candidates = sets(question, batch)
        if not candidates:
            break
        costs = [question.costs.at(*Entries.from_keys(keys, m2)).sum() for keys in candidates]
        before = given(cov, known, eta2)
        scores = np.array([gain_of(name, before, list(keys), eta2) for keys in candidates]) / costs
        best = int(np.argmax(scores >= scores.max() * (1 - TIE)))
        for k, keys in enumerate(candidates):
            same_but_rounding = scores[k] >= scores.max() - rounding / costs[k]
            if same_but_rounding and list(keys) == list(follow[len(batch) : len(batch) + len(keys)]):
                best = k
        for key in candidates[best]:
            gains.append(gain_of(name, given(cov, known, eta2), [key], eta2))
            known.append(key)
            batch.append(key)
    return np.array(batch, int), np.array(gains)
