"""An order of rows and columns in which like ones are neighbours."""

from __future__ import annotations

import numpy as np

from maxentry.belief import Belief
from maxentry.plots.bins import bins, part
from maxentry.plots.records import Array, Indices

PROFILE = 200  # columns by which rows are compared, evenly spread; and rows for columns
TREE, BEST_TREE = 2000, 400  # rows of which a tree is made; of which its best order is found


def clustered(belief: Belief) -> tuple[Indices, Indices]:
    """Rows and columns ordered by their posterior means, on the scale of the model."""
    m1, m2 = belief.shape
    some_rows, some_cols = (bins(m, most=PROFILE).picked(1)[0] for m in (m1, m2))
    by_row = part(belief, np.arange(m1), some_cols).mean()
    by_col = part(belief, some_rows, np.arange(m2)).mean().T
    return alike(by_row), alike(by_col)


def alike(profiles: Array) -> Indices:
    """Leaves of a tree of average linkage; by the first principal component where there are very many."""
    # Here, since loading them takes its time, and few maps are clustered.
    from scipy.cluster.hierarchy import leaves_list, linkage, optimal_leaf_ordering
    from scipy.spatial.distance import pdist

    m = len(profiles)
    if m < 3:
        return np.arange(m)
    if m > TREE:
        centred = profiles - profiles.mean(0)
        leading = np.linalg.eigh(centred.T @ centred)[1][:, -1]
        return np.argsort(centred @ leading, kind="stable").astype(np.int64)
    distances = pdist(profiles)
    tree = linkage(distances, "average")
    if m <= BEST_TREE:
        tree = optimal_leaf_ordering(tree, distances)
    return np.asarray(leaves_list(tree), dtype=np.int64)
