"""A posterior comes back from its file as it was; other files are refused; a failed save leaves the old file."""

import datetime
import json
import os
import stat
import sys

import numpy as np
import pandas as pd
import pytest
from tests.posterior.examples import SHORT, equal, low_rank

from maxentry import InverseGamma, Posterior, Priors, Sampling, complete
from maxentry.errors import DataError

Y = low_rank()[1]
ROWS, COLS = [f"r{i}" for i in range(12)], list(range(100, 109))


@pytest.fixture(scope="module")
def posterior():
    return complete(pd.DataFrame(Y, ROWS, COLS), 2, sampling=SHORT, seed=1)


def there_and_back(posterior, folder):
    posterior.save(folder / "fit.npz")
    return Posterior.load(folder / "fit.npz")


@pytest.mark.parametrize("noise", ["gaussian", "student"])
@pytest.mark.parametrize("rank", [0, 2])
def test_everything_comes_back_and_goes_on_the_same(tmp_path, rank, noise):
    fitted = complete(pd.DataFrame(Y, ROWS, COLS), rank, noise=noise, sampling=SHORT, seed=1)
    loaded = there_and_back(fitted, tmp_path)
    assert equal(loaded, fitted)
    assert equal(loaded.more(3), fitted.more(3))
    assert loaded.fit == fitted.fit
    assert loaded.sampling == fitted.sampling
    assert loaded.interrupted == fitted.interrupted
    assert loaded.rank_weights == fitted.rank_weights
    assert repr(loaded) == repr(fitted)
    data, given = loaded.observations, fitted.observations
    assert (data.shape, data.row_labels, data.col_labels) == (given.shape, given.row_labels, given.col_labels)
    for name in ("rows", "cols", "values"):
        np.testing.assert_array_equal(getattr(data, name), getattr(given, name))
    pd.testing.assert_frame_equal(loaded.to_frame(), fitted.to_frame())
    assert loaded.predict("r3", 105).mean == fitted.predict("r3", 105).mean


def test_priors_and_single_precision_come_back(tmp_path):
    fitted = complete(Y, 1, effects=False, priors=Priors.paper(), dtype=np.float32, sampling=SHORT, seed=1)
    loaded = there_and_back(fitted, tmp_path)
    assert loaded.fit == fitted.fit
    assert loaded.draws.left.dtype == np.float32
    assert equal(loaded.more(2), fitted.more(2))
    assert loaded.observations.row_labels is None


def test_the_choice_of_rank_comes_back(tmp_path, monkeypatch):
    monkeypatch.setattr("maxentry.posterior.schedule.WORK", 1e6)
    fitted = complete(Y, sampling=SHORT, seed=1)
    loaded = there_and_back(fitted, tmp_path)
    assert loaded.rank_choice.__dict__ == fitted.rank_choice.__dict__
    assert str(loaded.rank_choice) == str(fitted.rank_choice)
    assert loaded.rank_weights == fitted.rank_weights


def test_a_loaded_posterior_is_a_start(tmp_path, posterior):
    frame = pd.DataFrame(Y, ROWS, COLS)
    loaded = there_and_back(posterior, tmp_path)
    one, other = (complete(frame, start=p, sampling=SHORT, seed=3) for p in (loaded, posterior))
    assert equal(one, other)


@pytest.mark.parametrize(
    "labels",
    [
        [np.int64(i) for i in range(12)],
        [("site", i) for i in range(12)],
        pd.date_range("2020-01-01", periods=12),
        [datetime.date(2020, 1, 1 + i) for i in range(12)],
        [True, False, *range(2, 12)],
        [0.5 + i for i in range(12)],
    ],
    ids=["numpy integers", "tuples", "timestamps", "dates", "truth values", "floats"],
)
def test_labels_come_back_as_what_they_were(tmp_path, labels):
    fitted = complete(Y, 1, sampling=SHORT, seed=1, row_labels=labels)
    loaded = there_and_back(fitted, tmp_path)
    assert loaded.observations.row_labels == fitted.observations.row_labels
    ask = fitted.observations.row_labels[3]
    assert loaded.predict([ask], [0]).mean == fitted.predict([ask], [0]).mean


def test_numpy_numbers_in_options_can_be_saved(tmp_path):
    plan = Sampling(chains=np.int64(4), anneal=np.int32(5), settle=5, draws=4, thin=1)
    law = InverseGamma(np.float32(2), np.int64(1))
    fitted = complete(Y, 1, sampling=plan, priors=Priors(law, law, law, law, 1.0), seed=1)
    assert equal(there_and_back(fitted, tmp_path), fitted)


# Files that are no posteriors


def files(folder):
    """Files that look less and less unlike a posterior."""
    yield "empty", b""
    yield "text", b"row,col,value\na,b,1\n"
    np.save(folder / "array.npy", np.zeros(3))
    yield "an array", (folder / "array.npy").read_bytes()
    metas = {
        "no meta": {"x": np.zeros(2)},
        "meta is no JSON": {"meta": np.array("{")},
        "meta is a number": {"meta": np.array("5")},
        "meta without the rest": {"meta": np.array('{"maxentry_posterior": 1}')},
    }
    for name, arrays in metas.items():
        np.savez(folder / "other.npz", **arrays)
        yield name, (folder / "other.npz").read_bytes()


NAMES = "empty", "text", "an array", "no meta", "meta is no JSON", "meta is a number", "meta without the rest"


@pytest.mark.parametrize("name", NAMES)
def test_foreign_files_are_refused(tmp_path, name):
    path = tmp_path / "foreign.npz"
    path.write_bytes(dict(files(tmp_path))[name])
    with pytest.raises(DataError, match=r"foreign\.npz"):
        Posterior.load(path)


def test_a_pickle_is_not_opened(tmp_path):
    class Trap:
        def __reduce__(self):
            return os.mkdir, (str(tmp_path / "opened"),)

    np.savez(tmp_path / "trap.npz", meta=np.array([Trap()], dtype=object))
    with pytest.raises(DataError):
        Posterior.load(tmp_path / "trap.npz")
    assert not (tmp_path / "opened").exists()


def test_a_file_of_another_version_is_refused_with_its_number(tmp_path, posterior):
    posterior.save(tmp_path / "fit.npz")
    with np.load(tmp_path / "fit.npz") as file:
        arrays = dict(file)
    meta = json.loads(str(arrays["meta"])) | {"maxentry_posterior": 99}
    np.savez(tmp_path / "later.npz", **(arrays | {"meta": np.array(json.dumps(meta))}))
    with pytest.raises(DataError, match="99"):
        Posterior.load(tmp_path / "later.npz")


def test_a_damaged_file_is_refused_or_still_right(tmp_path, posterior):
    """Cut short it is refused; with a byte changed it is refused, or the byte was of no account."""
    posterior.save(tmp_path / "fit.npz")
    whole = (tmp_path / "fit.npz").read_bytes()
    damaged = tmp_path / "damaged.npz"
    for size in range(0, len(whole), len(whole) // 25):
        damaged.write_bytes(whole[:size])
        with pytest.raises(DataError):
            Posterior.load(damaged)
    refused = 0
    for place in range(50, len(whole), len(whole) // 100):
        changed = bytearray(whole)
        changed[place] ^= 0xFF
        damaged.write_bytes(changed)
        try:
            assert equal(Posterior.load(damaged), posterior)
        except DataError:
            refused += 1
    assert refused > 50


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(DataError, match=r"absent\.npz, which does not exist"):
        Posterior.load(tmp_path / "absent.npz")
    with pytest.raises(DataError):
        Posterior.load(tmp_path)


# Saving


def test_a_failed_save_leaves_the_old_file_and_nothing_else(tmp_path, posterior, monkeypatch):
    path = tmp_path / "fit.npz"
    posterior.save(path)
    old = path.read_bytes()

    def full_disk(file, **arrays):
        file.write(b"half")
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(np, "savez", full_disk)
        with pytest.raises(DataError, match="No space left"):
            posterior.save(path)
    assert path.read_bytes() == old
    assert os.listdir(tmp_path) == ["fit.npz"]
    posterior.more(1).save(path)
    assert Posterior.load(path).draws.mu.shape[1] == SHORT.draws + 1


def test_the_name_is_taken_as_it_is(tmp_path, posterior):
    posterior.save(str(tmp_path / "fit"))
    assert os.listdir(tmp_path) == ["fit"]
    assert equal(Posterior.load(str(tmp_path / "fit")), posterior)


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such modes")
def test_others_may_read_what_the_umask_lets_them(tmp_path, posterior):
    before = os.umask(0o022)
    try:
        posterior.save(tmp_path / "fit.npz")
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "fit.npz").stat().st_mode) == 0o644


def test_a_folder_that_cannot_be_written_is_named(tmp_path, posterior):
    with pytest.raises(DataError, match=r"absent.*does not exist"):
        posterior.save(tmp_path / "absent" / "fit.npz")
    with pytest.raises(DataError, match="folder"):
        posterior.save(tmp_path)
    assert os.listdir(tmp_path) == []
