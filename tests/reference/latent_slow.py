"""Truncated normals and their probabilities by the textbook: inverse distribution functions, log-space sums."""

import numpy as np
from scipy.special import log_ndtr, logsumexp, ndtr, ndtri_exp


def log_probability(low, high):
    """log P(low < Z <= high), from whichever tail loses no digits."""
    low, high = (-high, -low) if low + high > 0 else (low, high)
    if low == -np.inf:
        return log_ndtr(high)
    return float(logsumexp([log_ndtr(high), log_ndtr(low)], b=[1, -1]))


def draw(mean, sd, low, high, rng):
    """One draw of N(mean, sd^2) between low and high, by the inverse of log Phi in the lower tail."""
    a, b = (low - mean) / sd, (high - mean) / sd
    mirror = -1 if a + b > 0 else 1
    a, b = (-b, -a) if mirror < 0 else (a, b)
    u = rng.random()
    log_p = logsumexp([log_ndtr(a), log_ndtr(b)], b=[1 - u, u])
    return mean + sd * mirror * float(np.clip(ndtri_exp(log_p), a, b))


def cdf(x, mean, sd, low, high):
    """P(X <= x) of that law, with all digits in either tail."""
    a, b = (low - mean) / sd, (high - mean) / sd
    t = np.clip((np.asarray(x) - mean) / sd, a, b)
    if a + b > 0:  # from above
        upper = np.array([np.exp(log_ndtr(-t_) - log_ndtr(-a)) for t_ in t])
        last = np.exp(log_ndtr(-b) - log_ndtr(-a))
        return (1 - upper) / (1 - last)
    lower = np.array([np.exp(log_ndtr(t_) - log_ndtr(b)) for t_ in t])
    first = np.exp(log_ndtr(a) - log_ndtr(b))
    return (lower - first) / (1 - first)


def probabilities_of_grades(x, cuts, sd):
    """P(grade k | x), k = 1..K."""
    edges = np.concatenate([[-np.inf], cuts, [np.inf]])
    return np.diff(ndtr((edges - x) / sd))
