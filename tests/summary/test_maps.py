"""Maps in cells: exact where they say so, near where they looked at some, and never a map of the whole matrix."""

from __future__ import annotations

import datetime as dt
import gc
import tracemalloc
import weakref
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from tests.reference.maps_slow import dense, in_cells

from maxentry.belief import Belief, Entries
from maxentry.campaign.campaign import Campaign
from maxentry.errors import ParameterError
from maxentry.posterior.chains import ModelSpec
from maxentry.posterior.posterior import Posterior
from maxentry.summary import maps
from maxentry.summary.maps import Bins, MapCache, PosteriorMap, Window
from maxentry.transform import NONE, Transform

WHATS: tuple[PosteriorMap, ...] = ("mean", "sd", "width")
LEVEL = 0.8


def posterior(
    shape: tuple[int, int],
    transform: Transform = NONE,
    draws: int = 24,
    rank: int = 2,
    dtype: Any = np.float64,
) -> Posterior:
    """A posterior of which only the draws are known; rows differ in how uncertain they are."""
    rng, (m1, m2) = np.random.default_rng([7, *shape]), shape
    spread = rng.uniform(0.05, 0.5, size=(m1, 1))
    belief = Belief(
        (0.3 * rng.normal(size=(m1, rank)) + spread * rng.normal(size=(draws, m1, rank))).astype(dtype),
        rng.normal(size=(draws, m2, rank)).astype(dtype),
        rng.normal(size=(draws, m1)).astype(dtype),
        rng.normal(size=(draws, m2)).astype(dtype),
        rng.normal(size=draws),
        np.ones(draws),
    )
    made = Posterior.__new__(Posterior)
    nothing = SimpleNamespace(nu=None, cuts=None, omega2=None, spread=None, eta2=belief.noise_var)
    vars(made).update(
        draws=nothing,
        belief=belief,
        observations=SimpleNamespace(shape=shape),
        fit=ModelSpec(transform=transform),
    )
    return made


def wanted(found: Posterior, what: str, window: Window) -> np.ndarray:
    values = dense(found.belief, found.transform, what, LEVEL)
    return in_cells(values, *edges(window), squared=what != "mean")


def edges(window: Window) -> tuple[list[int], list[int]]:
    """Where cells begin, and where the last one ends."""
    rows, cols = ([*bins.order[bins.edges[:-1]], bins.order[-1] + 1] for bins in window.bins())
    return rows, cols


WINDOWS = {
    "in cells": ((23, 31), (0, None, 0, None, 4)),
    "as it is": ((6, 9), (0, None, 0, None, 50)),
    "a part": ((23, 31), (5, 11, 20, 100, 3)),
    "rows alone": ((40, 3), (1, None, 0, None, 7)),
    "one cell": ((8, 8), (0, None, 0, None, 1)),
}


@pytest.mark.parametrize("what", WHATS)
@pytest.mark.parametrize("transform", [NONE, Transform("log"), Transform("logit", 0, 100)], ids=str)
@pytest.mark.parametrize(("shape", "where"), WINDOWS.values(), ids=WINDOWS)
def test_cells_are_those_of_the_dense_map(
    shape: tuple[int, int], where: Any, transform: Transform, what: PosteriorMap
) -> None:
    found, window = posterior(shape, transform), Window.select(shape, *where)
    tile = maps.posterior_map(found, what, window, LEVEL).to_dict()
    assert tile["share"] == 1.0
    np.testing.assert_allclose(tile["values"], wanted(found, what, window), rtol=1e-10, atol=1e-12)
    assert (tile["least"], tile["greatest"]) == (np.min(tile["values"]), np.max(tile["values"]))
    assert tile["binned"] is (len(tile["values"]) < tile["rows"][1] - tile["rows"][0])


def test_draws_in_single_precision_are_averaged_in_double() -> None:
    found = posterior((300, 200), dtype=np.float32)
    window = Window.select((300, 200), 0, None, 0, None, 2)
    tile = maps.posterior_map(found, "mean", window, LEVEL).to_dict()
    np.testing.assert_allclose(tile["values"], wanted(found, "mean", window), atol=1e-5)


def off(found: Posterior, what: PosteriorMap, window: Window) -> tuple[float, float]:
    """How far the cells are from the dense ones, relatively, at the median; and the share looked at."""
    tile, exact = maps.posterior_map(found, what, window, LEVEL).to_dict(), wanted(found, what, window)
    return float(np.median(np.abs(np.array(tile["values"]) / exact - 1))), tile["share"]


@pytest.mark.parametrize("what", ["sd", "width"])
def test_where_some_are_looked_at_the_share_is_told_and_cells_are_near(
    what: PosteriorMap, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The more are looked at, the nearer; cells that are those of others (the control) are as far as they differ."""
    shape = (240, 240)
    found, window = posterior(shape), Window.select(shape, 0, None, 0, None, 8)
    errors = []
    for share in (0.01, 0.1, 0.5):
        monkeypatch.setitem(maps.WORK, what, share * 240 * 240 * found.belief.n_draws)
        error, told = off(found, what, window)
        assert 0.5 * share < told <= share
        errors.append(error)
    # A cell has 30 rows, whose squared widths vary by some 80%: 3 of them leave an error of some 0.8 / sqrt(3) / 2.
    assert errors[0] < 0.8 / np.sqrt(3)
    assert errors[2] < errors[1] < errors[0]
    assert errors[2] < 0.05
    exact = wanted(found, what, window)
    assert np.median(np.abs(exact[::-1] / exact - 1)) > 2 * errors[2]


def test_as_many_entries_as_allowed_and_one_a_cell_at_least() -> None:
    for shape, cells, entries in (
        ((100, 100), 10, 2500),
        ((100, 30), 7, 500),
        ((50, 50), 50, 10),
        ((9, 7), 3, 1e9),
    ):
        rows, cols = Window.select(shape, 0, None, 0, None, cells).bins()
        each = maps.sample_size(rows, cols, entries)
        n = [len(rows.sample(k)[0]) * len(cols.sample(k)[0]) for k in (each, each + 1)]
        assert each == 1 or n[0] <= entries
        assert n[1] > entries or n[1] == n[0] == shape[0] * shape[1]


@pytest.mark.parametrize("what", WHATS)
def test_no_map_of_the_whole_matrix_is_formed(what: PosteriorMap, monkeypatch: pytest.MonkeyPatch) -> None:
    """A tile of a large matrix takes less memory than a map of it; by way of the map (the control) it does not."""
    shape = (3000, 2000)
    found = posterior(shape, draws=4)
    whole = 8 * shape[0] * shape[1]
    for name in WHATS:
        monkeypatch.setitem(maps.WORK, name, 1e5 * found.belief.n_draws)

    def peak(work: Any) -> int:
        tracemalloc.start()
        work()
        _, most = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        return most

    window = Window.select(shape, 0, None, 0, None, 100)
    assert peak(lambda: maps.posterior_map(found, what, window, LEVEL).to_dict()) < whole / 2
    assert peak(found.belief.mean) >= whole


def test_a_map_is_computed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    computed: list[str] = []
    real = maps.posterior_cells

    def count(posterior: Posterior, what: PosteriorMap, *rest: Any) -> maps.Cells:
        computed.append(what)
        return real(posterior, what, *rest)

    monkeypatch.setattr(maps, "posterior_cells", count)
    one, other, cache = posterior((9, 9)), posterior((9, 9)), MapCache()
    window = Window.select((9, 9), 0, None, 0, None, 3)
    for _ in range(3):
        cache.posterior_map(one, "sd", window, 0.8)
        cache.posterior_map(one, "sd", window, 0.5)  # does not depend on the level
        cache.posterior_map(one, "width", window, 0.8)
    assert computed == ["sd", "width"]
    cache.posterior_map(one, "width", window, 0.5)
    cache.posterior_map(other, "sd", window, 0.8)
    assert len(computed) == 4
    for k in range(maps.CACHED_MAPS):
        cache.posterior_map(one, "mean", Window.select((9, 9), k % 9, None, k // 9, None, 3), 0.8)
    assert len(cache) == maps.CACHED_MAPS
    cache.clear()
    assert len(cache) == 0


def test_maps_keep_no_posterior_but_the_last() -> None:
    """The draws of a large one fill much memory, and every new value makes another."""
    one, other, cache = posterior((9, 9)), posterior((9, 9)), MapCache()
    window, alive = Window.select((9, 9), 0, None, 0, None, 3), weakref.ref(one)
    cache.posterior_map(one, "sd", window, 0.8)
    cache.posterior_map(other, "sd", window, 0.8)
    del one
    gc.collect()
    assert alive() is None


# What was told


def test_windows() -> None:
    window = Window.select((10, 20), 4, 3, 15, 100, 200)
    assert (window.rows, window.cols) == ((4, 7), (15, 20))
    for row, col in ((10, 0), (0, 20)):
        with pytest.raises(ParameterError):
            Window.select((10, 20), row, None, col, None, 5)


@pytest.mark.parametrize(("shape", "cells"), [((7, 11), 3), ((5, 5), 5), ((2, 9), 4), ((10, 3), 200)])
def test_cells_hold_every_entry_once(shape: tuple[int, int], cells: int) -> None:
    rng = np.random.default_rng(1)
    window = Window.select(shape, 0, None, 0, None, cells)
    rows, cols = window.bins()
    entries = Entries.from_lists(
        rng.integers(shape[0], size=40).tolist(), rng.integers(shape[1], size=40).tolist()
    )
    counts = maps.sum_entries(entries, np.ones(40), rows, cols)
    whole = np.zeros(shape)
    np.add.at(whole, tuple(entries), 1)
    means = in_cells(whole, *edges(window), squared=False)
    np.testing.assert_allclose(counts, means * rows.sizes[:, None] * cols.sizes)
    assert counts.sum() == 40


@pytest.mark.parametrize("masked", [True, False])
def test_what_can_be_measured(masked: bool) -> None:
    shape, rng = (9, 7), np.random.default_rng(3)
    mask = rng.random(shape) < 0.7 if masked else None
    with Campaign.create("sqlite://", "x", *shape, seed=1, acquisition="balanced", mask=mask) as campaign:
        ids = campaign.ask(12, frame="columns")["id"]
        campaign.fail(ids[:5])
        campaign.fail(ids[5:7], retry=True)
        state = campaign.state
    assert state.mask is not None
    for where in ((0, None, 0, None, 3), (2, 5, 1, 4, 2), (0, None, 0, None, 50)):
        window = Window.select(shape, *where)
        pending = state.pending(dt.datetime.now(dt.UTC))
        shown = maps.state_map(state, "available", window, pending)
        whole = in_cells(state.mask.astype(float), *edges(window), squared=False)
        np.testing.assert_allclose(shown.values, whole)


# Cells


@pytest.mark.parametrize(("m", "most"), [(1, 5), (5, 5), (6, 5), (17, 5), (1000, 200), (401, 200)])
def test_cells_partition_the_rows_evenly_and_in_order(m: int, most: int) -> None:
    order = np.random.default_rng(m).permutation(m)
    cells = Bins.split(order, most)
    assert cells.n == min(m, most)
    assert cells.edges[0] == 0
    assert cells.edges[-1] == m
    assert set(cells.sizes) <= {m // cells.n, m // cells.n + 1}
    for k in range(cells.n):
        inside = cells.order[cells.edges[k] : cells.edges[k + 1]]
        assert (cells.cells_at(inside) == k).all()


@pytest.mark.parametrize("each", [1, 2, 3])
def test_sampled_rows_are_of_their_cell_distinct_and_all_where_a_cell_is_small(each: int) -> None:
    cells = Bins.split(np.arange(23)[::-1], 6)
    rows, starts = cells.sample(each)
    groups = np.split(rows, starts[1:])
    assert len(groups) == cells.n
    for k, group in enumerate(groups):
        assert len(set(group)) == len(group) == min(each, cells.sizes[k])
        assert (cells.cells_at(group) == k).all()
    everything, _ = Bins.split(np.arange(6)).sample(each)
    assert everything.tolist() == list(range(6))


def test_averages_and_counts_are_those_of_the_entries_one_by_one() -> None:
    rng = np.random.default_rng(0)
    X, rows, cols = rng.normal(size=(11, 7)), Bins.split(rng.permutation(11), 4), Bins.split(np.arange(7), 3)
    keys = rng.choice(77, 20, replace=False)
    i, j = (cells.sample(each=100) for cells in (rows, cols))
    found = maps.cell_means(X[np.ix_(i[0], j[0])], i[1], j[1])
    count = maps.sum_entries(Entries.from_keys(keys, 7), np.ones(20), rows, cols)
    for a in range(rows.n):
        for b in range(cols.n):
            inside = np.outer(rows.cells_at(np.arange(11)) == a, cols.cells_at(np.arange(7)) == b)
            assert found[a, b] == pytest.approx(X[inside].mean())
            assert count[a, b] == inside.ravel()[keys].sum()


@pytest.mark.parametrize("what", WHATS)
def test_rows_in_any_order_make_the_same_cells(what: PosteriorMap) -> None:
    found, rng = posterior((23, 17)), np.random.default_rng(5)
    rows, cols = Bins.split(rng.permutation(23), 5), Bins.split(rng.permutation(17), 4)
    shown = maps.posterior_cells(found, what, rows, cols, LEVEL)
    moved = dense(found.belief, found.transform, what, LEVEL)[np.ix_(rows.order, cols.order)]
    exact = in_cells(moved, rows.edges.tolist(), cols.edges.tolist(), squared=what != "mean")
    np.testing.assert_allclose(shown.values, exact, rtol=1e-10)


def test_rows_outside_a_window_are_in_no_cell() -> None:
    rows, cols = Window.select((9, 8), 3, 4, 0, 5, 2).bins()
    assert rows.cells_at(np.array([2, 3, 6, 7, 40])).tolist() == [-1, 0, 1, -1, -1]
    outside = Entries.from_lists([0, 8, 4], [0, 1, 7])
    assert maps.sum_entries(outside, np.ones(3), rows, cols).sum() == 0
