"""Cells partition rows and columns, and what is shown of them is what is in them."""

import numpy as np
import pytest

from maxentry.plots import bins as binning
from maxentry.plots.bins import averaged, bins, counted


@pytest.mark.parametrize(("m", "most"), [(1, 5), (5, 5), (6, 5), (17, 5), (1000, 200), (401, 200)])
def test_cells_partition_the_rows_evenly_and_in_order(m: int, most: int) -> None:
    order = np.random.default_rng(m).permutation(m)
    cells = bins(m, order, most)
    assert cells.n == min(m, most)
    assert cells.edges[0] == 0
    assert cells.edges[-1] == m
    assert set(cells.sizes) <= {m // cells.n, m // cells.n + 1}
    for k in range(cells.n):
        inside = cells.order[cells.edges[k] : cells.edges[k + 1]]
        assert (cells.cell_of[inside] == k).all()


@pytest.mark.parametrize("each", [1, 2, 3])
def test_picked_rows_are_of_their_cell_distinct_and_all_where_a_cell_is_small(each: int) -> None:
    cells = bins(23, np.arange(23)[::-1], 6)
    rows, starts = cells.picked(each)
    groups = np.split(rows, starts[1:])
    assert len(groups) == cells.n
    for k, group in enumerate(groups):
        assert len(set(group)) == len(group) == min(each, cells.sizes[k])
        assert (cells.cell_of[group] == k).all()
    everything, _ = bins(6).picked(each)
    assert everything.tolist() == list(range(6))


def test_averages_and_counts_are_those_of_the_entries_one_by_one() -> None:
    rng = np.random.default_rng(0)
    X, rows, cols = rng.normal(size=(11, 7)), bins(11, rng.permutation(11), 4), bins(7, None, 3)
    keys = rng.choice(77, 20, replace=False)
    i, j = (cells.picked(each=100) for cells in (rows, cols))
    found = averaged(X[np.ix_(i[0], j[0])], i[1], j[1])
    count = counted(keys, (11, 7), rows, cols)
    for a in range(rows.n):
        for b in range(cols.n):
            inside = np.outer(rows.cell_of == a, cols.cell_of == b)
            assert found[a, b] == pytest.approx(X[inside].mean())
            assert count[a, b] == inside.ravel()[keys].sum()


def test_names_say_what_a_cell_stands_for() -> None:
    side = bins(5, np.array([4, 3, 2, 1, 0]), 2).side("rows", ["a", "b", "c", "d", "  e\n f"])
    assert side.names == ("e f + 1", "c + 2")  # "c … a" would look like a range
    assert bins(5, None, 2).side("rows", list("abcde")).names == ("a … b", "c … e")
    assert side.binned
    assert not bins(5).side("rows", None).binned
    assert bins(2).side("rows", None).names == ("0", "1")
    assert binning.text("") == "''"
