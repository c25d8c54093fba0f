"""Draws in files of a folder: the same draws, read as they are needed, kept and tidied up."""

import errno
import mmap
import os

import numpy as np
import pytest
from tests.posterior.examples import SHORT, equal, low_rank

from maxentry import Posterior, Sampling, complete
from maxentry.errors import DataError, ParameterError
from maxentry.posterior.draws import MEMORY, FolderStore

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
    monkeypatch.setattr("maxentry.posterior.diagnostics.STUCK_RATIO", 1.0)
    monkeypatch.setattr("maxentry.posterior.diagnostics.STUCK_NATS", 0.0)
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
    folder = FolderStore.create(tmp_path / "fit")
    with folder.filled():
        array = folder.zeros("left", (5, 4, 6, 3), np.float64)
        array[:] = rng.normal(size=array.shape)
        expected = MEMORY.selected(array.copy(), [1, 2, 4], 3, top)
        np.testing.assert_array_equal(folder.selected(array, [1, 2, 4], 3, top), expected)
    np.testing.assert_array_equal(folder.read("left", expected.shape, "float64"), expected)


def test_what_fails_leaves_nothing_behind(tmp_path, monkeypatch) -> None:
    def broken(*_, **__):
        raise ParameterError("broken")

    monkeypatch.setattr("maxentry.posterior.complete.draws_in_user_units", broken)
    with pytest.raises(ParameterError, match="broken"):
        on_disk(tmp_path / "fit")
    assert list(tmp_path.iterdir()) == []


def test_a_full_disk_is_our_error(tmp_path, monkeypatch) -> None:
    def full(*_, **__):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("maxentry.posterior.draws.open_memmap", full)
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
    with pytest.raises(DataError, match="which does not exist"):
        Posterior.load(tmp_path / "fit")


def test_an_empty_folder_will_do(tmp_path) -> None:
    (tmp_path / "fit").mkdir()
    assert on_disk(
        tmp_path / "fit", sampling=Sampling(chains=2, anneal=2, settle=2, draws=2, thin=1)
    ).shape == (
        12,
        9,
    )


def test_a_folder_filled_by_others_since_is_refused_and_left(tmp_path) -> None:
    folder = FolderStore.create(tmp_path / "fit")
    (tmp_path / "fit").mkdir()
    (tmp_path / "fit" / "letters.txt").write_text("mine")
    with pytest.raises(DataError, match="new or empty folder"), folder.filled():
        raise AssertionError("it was filled")
    assert (tmp_path / "fit" / "letters.txt").read_text() == "mine"


@pytest.mark.parametrize("error", [KeyboardInterrupt, ParameterError, OSError])
def test_what_fails_leaves_what_others_made(tmp_path, error) -> None:
    def fill(folder):
        with folder.filled():
            folder.zeros("left", (2, 3), np.float64)
            (folder.path / "letters.txt").write_text("mine")
            raise error

    (tmp_path / "own").mkdir()
    for name in ("own", "new"):
        with pytest.raises(DataError if error is OSError else error):
            fill(FolderStore.create(tmp_path / name))
        assert [file.name for file in (tmp_path / name).iterdir()] == ["letters.txt"]


@pytest.mark.parametrize("store", [".", "../own"])
def test_what_fails_leaves_an_empty_folder_of_the_user(tmp_path, monkeypatch, store) -> None:
    def broken(*_, **__):
        raise ParameterError("broken")

    monkeypatch.setattr("maxentry.posterior.complete.draws_in_user_units", broken)
    (tmp_path / "own").mkdir()
    monkeypatch.chdir(tmp_path / "own")
    with pytest.raises(ParameterError, match="broken"):
        on_disk(store)
    assert list((tmp_path / "own").iterdir()) == []


def test_two_fits_into_one_folder_leave_each_others_files(tmp_path) -> None:
    one, two = FolderStore.create(tmp_path / "fit"), FolderStore.create(tmp_path / "fit")

    def fill_both():
        with two.filled():
            one.zeros("left", (2, 3), np.float64)[:] = 7.0
            two.zeros("right", (2, 3), np.float64)
            two.zeros("left", (2, 3), np.float64)

    with one.filled():
        with pytest.raises(DataError, match="exists"):
            fill_both()
        assert [file.name for file in (tmp_path / "fit").iterdir()] == ["left.npy"]
    assert (one.read("left", (2, 3), "float64") == 7.0).all()


def test_ctrl_c_after_the_last_file_leaves_nothing_behind(tmp_path, monkeypatch) -> None:
    save_rest = Posterior.save_rest

    def interrupted(self, folder):
        save_rest(self, folder)
        raise KeyboardInterrupt

    monkeypatch.setattr(Posterior, "save_rest", interrupted)
    with pytest.raises(KeyboardInterrupt):
        on_disk(tmp_path / "fit")
    assert list(tmp_path.iterdir()) == []


def test_a_disk_that_is_too_small_is_found_out_before_sampling(tmp_path, monkeypatch) -> None:
    def full(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    def never(*_, **__):
        raise AssertionError("it was sampled")

    monkeypatch.setattr(os, "posix_fallocate", full, raising=False)
    monkeypatch.setattr("maxentry.posterior.chains._run_chain", never)
    with pytest.raises(DataError, match="No space left"):
        on_disk(tmp_path / "fit")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(not hasattr(os, "posix_fallocate"), reason="there is no such call")
def test_the_bytes_of_a_file_are_taken_at_once(tmp_path, monkeypatch) -> None:
    taken = []
    monkeypatch.setattr(os, "posix_fallocate", lambda file, start, n: taken.append((start, n)))
    folder = FolderStore.create(tmp_path / "fit")
    with folder.filled():
        folder.zeros("left", (100, 1000), np.float64)
    assert taken == [(0, folder.file("left").stat().st_size)]
    assert taken[0][1] > 800_000


def test_a_file_system_that_cannot_take_bytes_will_do(tmp_path, monkeypatch) -> None:
    def unknown(*_):
        raise OSError(errno.EOPNOTSUPP, "Operation not supported")

    monkeypatch.setattr(os, "posix_fallocate", unknown, raising=False)
    folder = FolderStore.create(tmp_path / "fit")
    with folder.filled():
        assert folder.zeros("left", (2, 3), np.float64).sum() == 0.0


def test_the_draws_are_on_disk_before_the_folder_can_be_loaded(tmp_path, monkeypatch) -> None:
    seen, flush, save_rest = [], np.memmap.flush, Posterior.save_rest

    def flushed(array):
        seen.append("draws")
        flush(array)

    def saved(self, folder):
        assert not (tmp_path / "fit" / "posterior.npz").exists()
        seen.append("rest")
        save_rest(self, folder)

    monkeypatch.setattr(np.memmap, "flush", flushed)
    monkeypatch.setattr(Posterior, "save_rest", saved)
    on_disk(tmp_path / "fit")
    assert seen == ["draws"] * 4 + ["rest"]


def test_what_is_there_already_is_named(tmp_path):
    complete(Y, 1, sampling=SHORT, seed=1, store=tmp_path / "fit")
    with pytest.raises(DataError, match="holds a posterior"):
        complete(Y, 1, sampling=SHORT, seed=1, store=tmp_path / "fit")
    (tmp_path / "file").write_text("no posterior")
    for store, said in (
        (tmp_path / "file", "is a file"),
        (tmp_path / "file" / "fit", "file is not a folder"),
    ):
        with pytest.raises(DataError, match=said):
            complete(Y, 1, sampling=SHORT, seed=1, store=store)
    with pytest.raises(DataError, match=r"it is no \.npz file"):
        Posterior.load(tmp_path / "file")
    (tmp_path / "fit" / "left.npy").unlink()
    with pytest.raises(DataError, match=r"left\.npy, which does not exist"):
        Posterior.load(tmp_path / "fit")
    with pytest.raises(ParameterError, match="path of a posterior, got 5"):
        Posterior.load(5)
