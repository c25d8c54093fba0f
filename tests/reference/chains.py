"""Means of Markov chains with their Monte Carlo error."""

import numpy as np

BATCHES = 40


def mean_and_error(chain):
    """Mean over the first axis and its standard error by batch means (right for independent draws too)."""
    chain = np.asarray(chain, dtype=float)
    n = len(chain) // BATCHES * BATCHES
    batches = chain[:n].reshape(BATCHES, -1, *chain.shape[1:]).mean(axis=1)
    return chain.mean(axis=0), batches.std(axis=0, ddof=1) / np.sqrt(BATCHES)


def z_between(a, b):
    """Standardised difference of the means of two independent chains, column by column."""
    (mean_a, error_a), (mean_b, error_b) = mean_and_error(a), mean_and_error(b)
    return (mean_a - mean_b) / np.hypot(error_a, error_b)
