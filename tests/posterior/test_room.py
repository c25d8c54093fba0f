"""Draws in files of a folder: the same draws, read as they are needed, kept and tidied up."""

import mmap

import numpy as np
import pytest
from tests.posterior.examples import SHORT, equal, low_rank

from maxentry import Posterior, Sampling, complete
from maxentry.errors import DataError, ParameterError
from maxentry.posterior.room import MEMORY, Folder

X, Y = low_rank((12, 9), rank=2, noise=0.1, missing=0.3, seed=1)


def on_disk(folder, **options):
    return complete(
        Y, **{"rank": 2, "sampling": SHORT, "seed": 3, "progress": False, **options}, store=folder
    )


def mapped(array: np.ndarray) -> bool:
    while array.base is not None:
        if isinstance(array.base, mmap.mmap):
            return True
        array = array.base
    return False


@pytest.mark.parametrize(
    "options",
    [{}, {"dtype": np.float32}, {"rank": 0}, {"noise": "student"}, {"rank": 1, "transform": "none"}],
    ids=["plain", "single precision", "rank 0", "student", "rank 1"],
)
def test_the_draws_are_those_in_memory(tmp_path, options) -> None:
    plain = complete(Y, **{"rank": 2, "sampling": SHORT, "seed": 3, "progress": False, **options})
    stored = on_disk(tmp_path / "fit", **options)
    assert equal(plain, stored)
    assert mapped(stored.draws.row)
    assert not mapped(plain.draws.row)
    np.testing.assert_array_equal(plain.mean, stored.mean)
    np.testing.assert_array_equal(plain.sd, stored.sd)
    assert plain.diagnostics.summary() == stored.diagnostics.summary()


def test_pooling_the_draws_copies_nothing(tmp_path) -> None:
    stored = on_disk(tmp_path / "fit")
    assert np.shares_memory(stored.belief.left, stored.draws.left)
    assert np.shares_memory(stored.belief.col, stored.draws.col)


def test_the_folder_is_a_posterior(tmp_path) -> None:
    stored = on_disk(tmp_path / "fit", watch=([0, 1], [2, 3]))
    again = Posterior.load(tmp_path / "fit")
    assert equal(stored, again)
    assert mapped(again.draws.left)
    np.testing.assert_array_equal(stored.watched.mean, again.watched.mean)
    assert equal(again.more(3), stored.more(3))
    assert not mapped(again.more(3).draws.left)
    again.save(tmp_path / "one.npz")
    assert equal(again, Posterior.load(tmp_path / "one.npz"))
    warm = complete(Y, start=again, sampling=SHORT, seed=9, progress=False)
    assert equal(warm, complete(Y, start=stored, sampling=SHORT, seed=9, progress=False))


def test_chains_left_out_leave_the_same_on_disk_as_in_memory(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr("maxentry.posterior.chains.STUCK_RATIO", 1.0)
    monkeypatch.setattr("maxentry.posterior.chains.STUCK_NATS", 0.0)
    plain = complete(Y, 2, sampling=SHORT, seed=3, progress=False)
    stored = on_disk(tmp_path / "fit")
    assert len(stored.chains) < SHORT.chains
    assert equal(plain, stored)
    assert mapped(stored.draws.left)
    assert np.shares_memory(stored.belief.left, stored.draws.left)
    assert equal(stored, Posterior.load(tmp_path / "fit"))


@pytest.mark.parametrize("top", [None, 3, 1])
def test_selecting_moves_within_the_file_as_a_copy_would(tmp_path, top) -> None:
    rng = np.random.default_rng(0)
    folder = Folder.of(tmp_path / "fit")
    with folder.filled():
        array = folder.zeros("left", (5, 4, 6, 3), np.float64)
        array[:] = rng.normal(size=array.shape)
        expected = MEMORY.selected(array.copy(), [1, 2, 4], 3, top)
        np.testing.assert_array_equal(folder.selected(array, [1, 2, 4], 3, top), expected)
    np.testing.assert_array_equal(folder.read("left", expected.shape, "float64"), expected)


def test_what_fails_leaves_nothing_behind(tmp_path, monkeypatch) -> None:
    def broken(*_, **__):
        raise ParameterError("broken")

    monkeypatch.setattr("maxentry.posterior.complete.user_draws", broken)
    with pytest.raises(ParameterError, match="broken"):
        on_disk(tmp_path / "fit")
    assert list(tmp_path.iterdir()) == []


def test_a_full_disk_is_our_error(tmp_path, monkeypatch) -> None:
    def full(*_, **__):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("maxentry.posterior.room.open_memmap", full)
    with pytest.raises(DataError, match="No space left"):
        on_disk(tmp_path / "fit")
    assert list(tmp_path.iterdir()) == []


def test_folders_that_hold_something_are_refused_before_sampling(tmp_path) -> None:
    (tmp_path / "fit").mkdir()
    (tmp_path / "fit" / "letters.txt").write_text("mine")
    with pytest.raises(DataError, match="new or empty folder"):
        on_disk(tmp_path / "fit")
    assert (tmp_path / "fit" / "letters.txt").read_text() == "mine"
    with pytest.raises(DataError, match="does not exist"):
        on_disk(tmp_path / "no" / "fit")
    with pytest.raises(ParameterError, match="path of a folder"):
        on_disk(3)
    with pytest.raises(DataError, match="no file"):
        Posterior.load(tmp_path / "fit")


def test_an_empty_folder_will_do(tmp_path) -> None:
    (tmp_path / "fit").mkdir()
    assert on_disk(
        tmp_path / "fit", sampling=Sampling(chains=2, anneal=2, settle=2, draws=2, thin=1)
    ).shape == (
        12,
        9,
    )
