"""Is this the right law? Thresholds for fixed seeds: a right sampler passes, a wrong one misses by far."""

import numpy as np
from scipy.stats import ks_2samp, kstest

ACCEPT = 1e-3  # a right sampler falls below this p-value once in a thousand seeds
REJECT = 1e-6  # a negative control must fall below this


def ks(draws, other):
    """p-value of Kolmogorov-Smirnov: against a second sample, or against a distribution function."""
    return (kstest if callable(other) else ks_2samp)(np.ravel(draws), other).pvalue


def z_score(draws, expected):
    """Standardised distance of the mean of independent draws from its expectation, element by element."""
    draws = np.asarray(draws)
    return (draws.mean(axis=0) - expected) / (draws.std(axis=0, ddof=1) / np.sqrt(len(draws)))
