"""Leading triplets outside subspaces: all ways give the same, and tied singular values stop none."""

from importlib import import_module

import numpy as np
import pytest
from scipy import sparse
from scipy.sparse.linalg import ArpackNoConvergence, svds

from maxentry.completion.result import LowRank

solver = import_module("maxentry.completion.nuclear_norm")  # the package has the function of this name


def problem():
    rng = np.random.default_rng(0)
    G = sparse.random_array((60, 40), density=0.1, rng=rng, format="csr")
    U, V = (np.linalg.qr(rng.normal(size=(m, 2)))[0] for m in (60, 40))
    return G, LowRank(U, np.ones(2), V)


def expected(G, X, p):
    D = G.toarray()
    D = (np.eye(60) - X.U @ X.U.T) @ D @ (np.eye(40) - X.V @ X.V.T)
    u, s, vt = np.linalg.svd(D)
    return u[:, :p] * s[:p] @ vt[:p]


@pytest.mark.parametrize("way", ["dense", "lanczos", "dense at need", "again"])
def test_every_way_finds_the_leading_triplets(way, monkeypatch):
    G, X = problem()
    calls = []

    def stubborn(*args, **options):
        calls.append(options)
        if len(calls) == 1:
            raise ArpackNoConvergence("tied", np.empty(0), np.empty((0, 0)))
        return svds(*args, **options)

    if way != "dense":
        monkeypatch.setattr(solver, "DENSE_SIZE", 0)
    if way in ("dense at need", "again"):
        monkeypatch.setattr(solver, "svds", stubborn)
    if way == "again":
        monkeypatch.setattr(solver, "DENSE_FALLBACK", 0)
    found = solver.triplets_outside(G, X, 3, 1e-10)
    np.testing.assert_allclose(found.U * found.d @ found.V.T, expected(G, X, 3), atol=1e-7)
    assert len(calls) == {"dense at need": 1, "again": 2}.get(way, 0)
