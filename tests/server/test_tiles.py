"""Maps in cells: exact where they say so, near where they looked at some, and never a map of the whole matrix."""

from __future__ import annotations

import datetime as dt
import tracemalloc
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from tests.reference.tiles_slow import dense, in_cells

from maxentry.belief import Belief
from maxentry.campaign.campaign import Campaign
from maxentry.entries import Entries
from maxentry.errors import ParameterError
from maxentry.posterior.posterior import Posterior
from maxentry.server import believed, tiles
from maxentry.server.tiles import Recent, Window
from maxentry.transform import NONE, Transform

WHATS: tuple[believed.What, ...] = ("mean", "sd", "width")
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
    vars(made).update(
        belief=belief, observations=SimpleNamespace(shape=shape), fit=SimpleNamespace(transform=transform)
    )
    return made


def wanted(found: Posterior, what: str, window: Window) -> np.ndarray:
    rows, cols = window.bins()
    edges = [*rows, window.rows[1]], [*cols, window.cols[1]]
    return in_cells(dense(found.belief, found.transform, what, LEVEL), *edges, squared=what != "mean")


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
    shape: tuple[int, int], where: Any, transform: Transform, what: believed.What
) -> None:
    found, window = posterior(shape, transform), Window.of(shape, *where)
    tile = tiles.of_posterior(found, what, window, LEVEL)
    assert tile["share"] == 1.0
    np.testing.assert_allclose(tile["values"], wanted(found, what, window), rtol=1e-10, atol=1e-12)
    assert (tile["least"], tile["greatest"]) == (np.min(tile["values"]), np.max(tile["values"]))
    assert tile["binned"] is (len(tile["values"]) < tile["rows"][1] - tile["rows"][0])


def test_draws_in_single_precision_are_averaged_in_double() -> None:
    found = posterior((300, 200), dtype=np.float32)
    window = Window.of((300, 200), 0, None, 0, None, 2)
    tile = tiles.of_posterior(found, "mean", window, LEVEL)
    np.testing.assert_allclose(tile["values"], wanted(found, "mean", window), atol=1e-5)


def off(found: Posterior, what: believed.What, window: Window) -> tuple[float, float]:
    """How far the cells are from the dense ones, relatively, at the median; and the share looked at."""
    tile, exact = tiles.of_posterior(found, what, window, LEVEL), wanted(found, what, window)
    return float(np.median(np.abs(np.array(tile["values"]) / exact - 1))), tile["share"]


@pytest.mark.parametrize("what", ["sd", "width"])
def test_where_some_are_looked_at_the_share_is_told_and_cells_are_near(
    what: believed.What, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The more are looked at, the nearer; cells that are those of others (the control) are as far as they differ."""
    shape = (240, 240)
    found, window = posterior(shape), Window.of(shape, 0, None, 0, None, 8)
    errors = []
    for share in (0.01, 0.1, 0.5):
        monkeypatch.setitem(believed.WORK, what, share * 240 * 240 * found.belief.n_draws)
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
        rows, cols = Window.of(shape, 0, None, 0, None, cells).sides()
        each = believed.looked_at(rows, cols, entries)
        n = [len(rows.picked(k)[0]) * len(cols.picked(k)[0]) for k in (each, each + 1)]
        assert each == 1 or n[0] <= entries
        assert n[1] > entries or n[1] == n[0] == shape[0] * shape[1]


@pytest.mark.parametrize("what", WHATS)
def test_no_map_of_the_whole_matrix_is_formed(what: believed.What, monkeypatch: pytest.MonkeyPatch) -> None:
    """A tile of a large matrix takes less memory than a map of it; by way of the map (the control) it does not."""
    shape = (3000, 2000)
    found = posterior(shape, draws=4)
    whole = 8 * shape[0] * shape[1]
    for name in WHATS:
        monkeypatch.setitem(believed.WORK, name, 1e5 * found.belief.n_draws)

    def peak(work: Any) -> int:
        tracemalloc.start()
        work()
        _, most = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        return most

    window = Window.of(shape, 0, None, 0, None, 100)
    assert peak(lambda: tiles.of_posterior(found, what, window, LEVEL)) < whole / 2
    assert peak(found.belief.mean) >= whole


def test_a_tile_is_made_once(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[str] = []
    real = believed.cells

    def counted(found: Posterior, what: believed.What, *rest: Any) -> believed.Cells:
        made.append(what)
        return real(found, what, *rest)

    monkeypatch.setattr(believed, "cells", counted)
    one, other, recent = posterior((9, 9)), posterior((9, 9)), Recent()
    window = Window.of((9, 9), 0, None, 0, None, 3)
    for _ in range(3):
        recent.cells(one, "sd", window, 0.8)
        recent.cells(one, "sd", window, 0.5)  # has nothing to do with the level
        recent.cells(one, "width", window, 0.8)
    assert made == ["sd", "width"]
    recent.cells(one, "width", window, 0.5)
    recent.cells(other, "sd", window, 0.8)
    assert len(made) == 4
    for k in range(tiles.KEPT):
        recent.cells(one, "mean", Window.of((9, 9), k % 9, None, k // 9, None, 3), 0.8)
    assert len(recent._kept) == tiles.KEPT


# What was told


def test_windows() -> None:
    window = Window.of((10, 20), 4, 3, 15, 100, 200)
    assert (window.rows, window.cols) == ((4, 7), (15, 20))
    for row, col in ((10, 0), (0, 20)):
        with pytest.raises(ParameterError):
            Window.of((10, 20), row, None, col, None, 5)


@pytest.mark.parametrize(("shape", "cells"), [((7, 11), 3), ((5, 5), 5), ((2, 9), 4), ((10, 3), 200)])
def test_bins_hold_every_entry_once(shape: tuple[int, int], cells: int) -> None:
    rng = np.random.default_rng(1)
    window = Window.of(shape, 0, None, 0, None, cells)
    rows, cols = window.bins()
    entries = Entries.of(rng.integers(shape[0], size=40).tolist(), rng.integers(shape[1], size=40).tolist())
    counts = tiles._gathered(entries, np.ones(40), window)
    whole = np.zeros(shape)
    np.add.at(whole, tuple(entries), 1)
    sizes = np.diff([*rows, shape[0]])[:, None] * np.diff([*cols, shape[1]])
    means = in_cells(whole, [*rows, shape[0]], [*cols, shape[1]], squared=False)
    np.testing.assert_allclose(counts, means * sizes)
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
        window = Window.of(shape, *where)
        tile = tiles.of_state(state, "available", window, state.pending(dt.datetime.now(dt.UTC)))
        rows, cols = window.bins()
        edges = [*rows, window.rows[1]], [*cols, window.cols[1]]
        whole = in_cells(state.mask.astype(float), *edges, squared=False)
        np.testing.assert_allclose(tile["values"], whole)
