"""Files are replaced whole or not at all."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from maxentry._io import to_json_data, write_atomically


def test_the_file_appears_when_the_block_ends(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("old")
    with write_atomically(path) as temporary:
        temporary.write_text("new")
        assert path.read_text() == "old"
    assert path.read_text() == "new"
    assert list(tmp_path.iterdir()) == [path]


def test_an_error_leaves_the_old_file_and_nothing_beside_it(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("old")

    def fail() -> None:
        with write_atomically(path) as temporary:
            temporary.write_text("half")
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fail()
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_json_data_has_no_arrays_and_no_nan() -> None:
    x = {
        1: np.array([1.0, np.nan]),
        "t": np.datetime64("2030-01-31"),
        "n": (np.int64(3), True, None, float("inf")),
    }
    assert to_json_data(x) == {"1": [1.0, None], "t": "2030-01-31", "n": [3, True, None, None]}
