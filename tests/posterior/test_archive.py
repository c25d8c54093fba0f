"""Files that others made: refused by one error before anything is allocated; nothing outside of a folder is read."""

from __future__ import annotations

import io
import json
import tracemalloc
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from maxentry import Posterior, Sampling, complete
from maxentry.errors import DataError

TINY = Sampling("population", chains=2, anneal=1, settle=1, draws=2, thin=1)
MATRIX = np.array([[1.0, np.nan, 2.0], [0.5, 3.0, np.nan], [np.nan, 4.0, 5.0], [2.5, 6.0, 1.5]])
OPTIONS: dict[str, Any] = {"rank": 1, "sampling": TINY, "seed": 1, "threads": 1}


@pytest.fixture(scope="module")
def good(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    path = tmp_path_factory.mktemp("good") / "p.npz"
    complete(MATRIX, noise="student", watch=([0], [0]), **OPTIONS).save(path)
    return path.read_bytes()


def changed(data: bytes, changes: dict[str, Any], compress: int = zipfile.ZIP_STORED) -> bytes:
    """The file with other arrays (None: without one), or with other fields of its text."""
    with np.load(io.BytesIO(data)) as file:
        arrays = dict(file)
    for name, value in changes.items():
        if name.startswith("meta."):
            meta = json.loads(str(arrays["meta"]))
            meta[name.removeprefix("meta.")] = value
            arrays["meta"] = np.array(json.dumps(meta))
        elif value is None:
            del arrays[name]
        else:
            arrays[name] = value
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", compress) as archive:
        for name, array in arrays.items():
            part = io.BytesIO()
            np.save(part, array, allow_pickle=False)
            archive.writestr(f"{name}.npy", part.getvalue())
    return made.getvalue()


def refusal(path: Path, data: bytes) -> str:
    path.write_bytes(data)
    with pytest.raises(DataError) as caught:
        Posterior.load(path)
    assert len(str(caught.value)) <= 300
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_a_good_file_made_again_is_read(good: bytes, tmp_path: Path) -> None:
    """The control of all that follows."""
    (tmp_path / "p.npz").write_bytes(changed(good, {}))
    assert Posterior.load(tmp_path / "p.npz").more(1, progress=False).draws.mu.shape == (2, 3)


@pytest.mark.parametrize(
    "changes",
    [
        {"draws_left": np.zeros((2, 2, 4, 9))},
        {"draws_left": np.zeros((2, 2, 3, 1))},
        {"draws_row": np.zeros(3)},
        {"draws_mu": np.zeros((0, 0))},
        {"draws_eta2": np.full((2, 2), -1.0)},
        {"draws_col": np.full((2, 2, 3), np.nan)},
        {"draws_nu": None},
        {"chain0_left": np.zeros((4, 9))},
        {"chain1_weights": np.ones(4)},
        {"chain1_scalars": np.ones(3)},
        {"chain0_right": np.array([["text"]])},
        {"watched_rows": np.array([99])},
        {"watched_count": np.array([1])},
        {"rows": np.array([10**6] * 9)},
        {"meta.shape": [3, 10**12]},
        {"meta.chains": []},
        {"meta.chains": [{"rank": 1, "stream": {}}] * 2},
        {"meta.sampling": {"thin": "x"}},
        {"meta.frame_kind": "spark"},
        {"meta.fit": {}},
        {"meta.rank_choice": {"ranks": [1], "errors": [], "weights": [1.0], "n_held_out": 1}},
    ],
    ids=lambda changes: " ".join(changes),
)
def test_parts_that_do_not_agree_are_refused(good: bytes, tmp_path: Path, changes: dict[str, Any]) -> None:
    assert "expected a posterior written by maxentry" in refusal(tmp_path / "p.npz", changed(good, changes))


def test_a_small_file_that_unfolds_is_refused_before_it_is_allocated(good: bytes, tmp_path: Path) -> None:
    bomb = changed(good, {"draws_left": np.zeros((1, 1, 1, 4_000_000))}, zipfile.ZIP_DEFLATED)
    assert len(bomb) < 100_000
    tracemalloc.start()
    try:
        assert "not compressed" in refusal(tmp_path / "p.npz", bomb)
        assert tracemalloc.get_traced_memory()[1] < 8_000_000  # of 32,000,000
    finally:
        tracemalloc.stop()


def test_an_array_that_declares_more_than_it_holds_is_refused(good: bytes, tmp_path: Path) -> None:
    header = "{'descr': '<f8', 'fortran_order': False, 'shape': (500000000,), }".ljust(117) + "\n"
    part = b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header.encode()
    path = tmp_path / "p.npz"
    path.write_bytes(good)
    with zipfile.ZipFile(path, "a") as archive:
        archive.writestr("x.npy", part)
    assert "what it declares" in refusal(path, path.read_bytes())


def test_a_damaged_stream_is_no_error_of_zlib(good: bytes, tmp_path: Path) -> None:
    packed = bytearray(changed(good, {}, zipfile.ZIP_DEFLATED))
    packed[60:90] = bytes(30)
    refusal(tmp_path / "p.npz", bytes(packed))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    complete(MATRIX, store=tmp_path / "store", **OPTIONS)
    return tmp_path / "store"


@pytest.mark.parametrize("name", ["../left", "/etc/passwd", "left/../../left"])
def test_names_in_a_folder_are_no_paths(folder: Path, name: str) -> None:
    (folder / "left.npy").rename(folder.parent / "left.npy")
    rest = folder / "posterior.npz"
    with np.load(rest) as file:
        files = json.loads(str(file["meta"]))["files"]
    files[name] = files.pop("left")
    assert "files of the draws" in refusal(rest, changed(rest.read_bytes(), {"meta.files": files}))


def test_a_link_that_leads_out_of_a_folder_is_refused(folder: Path) -> None:
    (folder / "left.npy").rename(folder.parent / "left.npy")
    (folder / "left.npy").symlink_to(folder.parent / "left.npy")
    with pytest.raises(DataError, match="lies elsewhere"):
        Posterior.load(folder)


def test_a_file_of_draws_that_is_too_short_is_refused(folder: Path) -> None:
    np.save(folder / "left.npy", np.zeros(3))
    with pytest.raises(DataError, match="numbers of float64"):
        Posterior.load(folder)


def test_a_name_that_is_too_long_is_refused() -> None:
    posterior = complete(np.arange(12.0).reshape(4, 3), 1, sampling=Sampling("long", 2, 0, 1, 1, 1), seed=0)
    with pytest.raises(DataError, match=r"cannot write x{60}: File name too long"):
        posterior.save("x" * 5000)
