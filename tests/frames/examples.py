"""A small matrix with holes in every form a user may have it in, and what the forms must give back."""

from __future__ import annotations

import datetime as dt
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
from numpy.typing import NDArray

KINDS = ("pandas", "polars", "arrays")
SHAPE = (6, 5)
ROW_LABELS: dict[str, list[Any]] = {
    "text": [f"L{i}" for i in range(6)],
    "numbers": [12, 7, 30, 1, 5, 2],
    "dates": [dt.date(2031, 5, day) for day in (3, 1, 2, 9, 8, 20)],
}
COLS = ["S1", "S2", "S3", "S4", "S5"]


def matrix() -> NDArray[np.float64]:
    """Rank one with means, a third of it missing."""
    rng = np.random.default_rng(5)
    Y = 3.0 + np.outer(rng.normal(size=6), rng.normal(size=5)) + 0.1 * rng.normal(size=SHAPE)
    Y[rng.random(SHAPE) < 0.3] = np.nan
    return Y


def wide(kind: str, labels: str, cells: NDArray[Any] | None = None) -> Any:
    """The matrix as its users have it: labels in pandas' index, in polars' first column, or nowhere."""
    Y = matrix() if cells is None else cells
    rows = ROW_LABELS[labels]
    if kind == "arrays":
        return Y
    if kind == "pandas":
        index = pd.DatetimeIndex(rows) if labels == "dates" else pd.Index(rows)
        return pd.DataFrame(Y, index=index.rename("ligand"), columns=pd.Index(COLS, name="substrate"))
    return pl.DataFrame({"ligand": rows} | {name: Y[:, j] for j, name in enumerate(COLS)})


def row_column(kind: str) -> dict[str, Any]:
    """How to say where polars' labels are; needed only where they are numbers."""
    return {"row_column": "ligand"} if kind == "polars" else {}


def check_map(found: Any, expected: NDArray[np.float64], came: Any) -> None:
    """The map is of the form of what came: its index and columns, its names, their types; and these values."""
    assert type(found) is type(came)
    if isinstance(came, np.ndarray):
        np.testing.assert_array_equal(found, expected)
        return
    if isinstance(came, pd.DataFrame):
        pd.testing.assert_index_equal(found.index, came.index, exact=True)
        pd.testing.assert_index_equal(found.columns, came.columns, exact=True)
        np.testing.assert_array_equal(found.to_numpy(), expected)
        return
    assert found.columns == came.columns
    assert found["ligand"].equals(came["ligand"])
    assert found["ligand"].dtype == came["ligand"].dtype
    np.testing.assert_array_equal(found.drop("ligand").to_numpy(), expected)


def check_table(found: Any, came: Any, kind: str, *sides: str) -> None:
    """The table is a frame of the kind that came (of pandas for arrays), its labels of the types that came."""
    library = pl if kind == "polars" else pd
    assert isinstance(found, library.DataFrame)
    if kind == "arrays":
        return
    wanted = {
        "row": came.index.dtype if kind == "pandas" else came["ligand"].dtype,
        "col": came.columns.dtype if kind == "pandas" else pl.String,
    }
    for side in sides:
        assert found[side].dtype == wanted[side]
