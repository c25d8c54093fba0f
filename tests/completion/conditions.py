"""The optimality conditions of Eq. (nuc), as a number, and data to try them on."""

import numpy as np
from tests.reference.nuclear_norm_slow import gradient

from maxentry.observations import Observations


def simulated(m1, m2, rank, observed, noise, seed=0, replicates=0):
    """A low-rank matrix with entries of variance 1, and observations of it; some entries measured again."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((m1, rank)) @ rng.standard_normal((rank, m2)) / np.sqrt(rank)
    i, j = np.nonzero(rng.random((m1, m2)) < observed)
    again = rng.integers(0, i.size, replicates)
    i, j = np.concatenate([i, i[again]]), np.concatenate([j, j[again]])
    y = X[i, j] + noise * rng.standard_normal(i.size)
    return Observations.from_triples(i, j, y, shape=(m1, m2)), X


def violation(U, d, V, observations, penalty):
    """How far from the subgradient conditions, relative to the penalty.

    G = 2 P_Omega(Y - X) must be lambda UV' + Z with U'Z = 0, ZV = 0 and |Z|_2 <= lambda.
    """
    G = gradient((U * d) @ V.T, observations)
    inside = max(np.abs(G @ V - penalty * U).max(initial=0.0), np.abs(G.T @ U - penalty * V).max(initial=0.0))
    Z = G - U @ (U.T @ G)
    Z -= (Z @ V) @ V.T
    return max(inside, np.linalg.norm(Z, 2) - penalty, 0.0) / penalty
