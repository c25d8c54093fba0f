"""How far a matrix is from the optimum of Eq. (nuc), and which directions would improve it.

The dual of  min_X sum w (y - x)^2 + lambda |X|_*  is

    max_Theta  sum (theta y - theta^2 / (4 w))    over Theta on the observed entries with |Theta|_2 <= lambda,

and G = 2 W (Y - X), scaled into the ball, is such a Theta. The gap between the two values bounds the excess
of the objective at X over the optimum.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from maxentry.completion import spectrum
from maxentry.completion.entries import Entries, LowRank

Floats = NDArray[np.float64]


class Certificate(NamedTuple):
    """The state of X against the optimality conditions U'GV = lambda I and |G outside U, V| <= lambda."""

    objective: float
    gap: float  # (primal - dual) / primal
    inside: Floats  # (k,) u_r' G v_r, equal to lambda at the optimum
    outside: LowRank  # leading triplets of G outside U and V, all at most lambda at the optimum


def certify(entries: Entries, X: LowRank, penalty: float, directions: int, accuracy: float) -> Certificate:
    """The duality gap at X, and up to this many leading directions outside its subspaces.

    The norm outside is found to the relative `accuracy` and padded by it, so the gap can be too large by that.
    """
    y, w = entries.by_row.y, entries.by_row.w
    r = entries.residual(X)
    G = entries.sparse(2.0 * w * r)
    GV, GtU = G @ X.V, G.T @ X.U
    core = X.U.T @ GV
    # |G|_2 is at most the norm of the 2 x 2 matrix of the norms of its blocks, inside and outside U and V.
    energy = float(G.data @ G.data) - np.sum(GV**2) - np.sum(GtU**2) + np.sum(core**2)
    beyond = float(np.sqrt(max(energy, 0.0)))
    out = LowRank.zero(entries.shape)
    if beyond > penalty:
        out = spectrum.outside(G, X, directions, accuracy)
        beyond = min(beyond, float(out.d.max(initial=0.0)) * (1.0 + accuracy))
    blocks = [
        [spectrum.spectral_norm(core), spectrum.spectral_norm(GtU - X.V @ core.T)],
        [spectrum.spectral_norm(GV - X.U @ core), beyond],
    ]
    norm = float(np.linalg.norm(blocks, 2))
    rss, inner = float(w @ r**2), float((w * r) @ y)
    largest = penalty / norm if norm > 0 else 1.0
    scale = float(np.clip(inner / rss, -largest, largest)) if rss > 0 else 0.0
    dual = scale * (2.0 * inner - scale * rss) + entries.scatter
    primal = rss + penalty * float(X.d.sum()) + entries.scatter
    gap = max(primal - dual, 0.0) / primal if primal > 0 else 0.0
    return Certificate(primal, gap, np.diagonal(core).copy(), out)
