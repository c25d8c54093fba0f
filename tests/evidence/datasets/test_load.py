"""Where `load` looks, what it refuses, and what it tells once."""

import re

import numpy as np
import pytest
from tests.evidence.datasets.samples import SHARED, TABLE, VALUES, about, small_matrix

from evidence.datasets import catalogue, explain_by_hand, files, find_file, info, load
from evidence.datasets.dataset import digest_values, shorten_decimals
from evidence.datasets.files import cache_folder, matrix_path
from evidence.datasets.load import read
from evidence.datasets.parsers import read_npz, write_copy
from maxentry.errors import DataError, MissingDependencyError, ParameterError

here = pytest.mark.skipif(not SHARED.is_dir(), reason="no local copies of the data beside the repository")


@here
@pytest.mark.parametrize("name", [i.name for i in catalogue()])
def test_the_local_copies_are_what_the_catalogue_says(name, monkeypatch):
    monkeypatch.setenv("MAXENTRY_DATA", str(SHARED))
    known, data = info(name), load(name)
    assert data.M.shape == known.shape == (len(set(data.rows)), len(set(data.cols)))
    assert np.count_nonzero(~np.isnan(data.M)) == known.known
    assert (data.title, data.unit, data.licence) == (known.title, known.unit, known.licence)
    assert not np.isinf(data.M).any()
    assert find_file(known) == SHARED / known.copy


@here
def test_values_of_known_entries(monkeypatch):
    """A rating, a run time and an affinity that can be looked up in the publishers' files."""
    monkeypatch.setenv("MAXENTRY_DATA", str(SHARED))
    u = load("movielens-100k")
    assert u.M[u.rows.index("196"), u.cols.index("242")] == 3  # the first line of u.data
    davis = load("davis")
    assert 10 ** (9 - davis.M[0, davis.cols.index("AAK1")]) == pytest.approx(43, rel=1e-6)
    assert load("jester").M[0, 0] == 4.08


def test_the_catalogue_is_complete():
    names = [i.name for i in catalogue()]
    assert len(set(names)) == len(names) == 10
    for known in catalogue():
        assert known.url.startswith("https://")
        assert known.size > 1000
        assert len(known.digest) == 64
        assert known.citation
        assert known.licence
        assert all(registry not in known.url for registry in ("pypi", "conda", "npmjs", "cran"))
        assert all(f.checksum is None or f.checksum.startswith(("md5:", "sha256:")) for f in known.files)


@pytest.mark.parametrize("name", ["movielens-100k", "movielens-1m"])
def test_what_movielens_does_not_allow_is_said(name):
    for condition in ("no commercial use", "no redistribution", "without permission", "no endorsement"):
        assert condition in info(name).licence


@pytest.mark.parametrize(("name", "scenario"), [("sat11", "SAT11-INDU"), ("sat20", "SAT20-MAIN")])
def test_what_the_scenarios_of_aslib_have_in_common(name, scenario):
    known = info(name)
    assert known.known == known.shape[0] * known.shape[1]
    assert known.files[0].name == f"{scenario}/algorithm_runs.arff"
    assert re.fullmatch(rf"https://\S+/coseal/aslib_data/[0-9a-f]{{40}}/{known.files[0].name}", known.url)
    assert known.copy == f"aslib/{scenario}.npz"


def test_an_unknown_name_is_answered_with_those_there_are():
    with pytest.raises(ParameterError, match=r"jester, movielens-100k.*got 'netflix'"):
        load("netflix")


def test_a_copy_in_the_folder_comes_first(folder):
    write_copy(small_matrix(), folder / "folder" / "small.npz")
    (folder / "other.csv").write_bytes(b"not looked at")
    data = read(about())
    np.testing.assert_array_equal(data.M, VALUES)
    assert (data.rows, data.cols) == (("1", "2"), ("a", "b"))


@pytest.mark.parametrize(
    "name", ["small/table.csv", "other.csv", "folder/small/table.csv", "folder/other.csv"]
)
def test_the_publishers_file_in_the_folder_is_read_and_kept(folder, name):
    (folder / name).parent.mkdir(parents=True, exist_ok=True)
    (folder / name).write_bytes(TABLE)
    known = about()
    assert find_file(known) == folder / name
    np.testing.assert_array_equal(read(known).M, VALUES)
    (folder / name).unlink()
    assert find_file(known) == matrix_path(known)
    again = read(known)
    np.testing.assert_array_equal(again.M, VALUES)
    assert (again.rows, again.cols) == (("1", "2"), ("a", "b"))


def test_a_spoilt_cache_is_made_anew(folder):
    known = about()
    (folder / "other.csv").write_bytes(TABLE)
    for spoilt in (b"", b"PK\x03\x04 cut off", None):
        path = matrix_path(known)
        path.parent.mkdir(parents=True, exist_ok=True)
        if spoilt is None:
            write_copy(small_matrix()._replace(M=VALUES + 1), path)
        else:
            path.write_bytes(spoilt)
        np.testing.assert_array_equal(read(known).M, VALUES)
        np.testing.assert_array_equal(read_npz(path).M, VALUES)


@pytest.mark.parametrize("change", [1e-5, -0.5, np.nan])
def test_other_values_are_refused_and_not_kept(folder, change):
    (folder / "other.csv").write_bytes(TABLE.replace(b"7", str(7 + change).encode()))
    with pytest.raises(
        DataError, match=r"expected small \(2 x 2, 3 known entries, digest .*other\.csv has other values"
    ):
        read(about())
    assert not matrix_path(about()).exists()
    assert (folder / "other.csv").exists()


def test_a_copy_with_other_values_is_refused(folder):
    write_copy(small_matrix()._replace(M=VALUES[::-1]), folder / "folder" / "small.npz")
    with pytest.raises(DataError, match=r"small\.npz has other values"):
        read(about())


@pytest.mark.parametrize("data", [b"", b"nothing", b"PK\x03\x04"])
def test_a_broken_copy_is_refused(folder, data):
    (folder / "folder").mkdir()
    (folder / "folder" / "small.npz").write_bytes(data)
    with pytest.raises(DataError, match=r"expected a matrix in .*small\.npz"):
        read(about())


def test_a_copy_with_pickled_objects_is_refused(folder):
    (folder / "folder").mkdir()
    np.savez(folder / "folder" / "small.npz", M=np.array([{}]), rows=np.array(["a"]), cols=np.array(["b"]))
    with pytest.raises(DataError, match="cannot read it"):
        read(about())


def test_a_copy_that_is_one_array_is_refused(folder):
    (folder / "folder").mkdir()
    with (folder / "folder" / "small.npz").open("wb") as file:
        np.save(file, VALUES)
    with pytest.raises(DataError, match=r"expected a matrix in .*small\.npz"):
        read(about())


@pytest.mark.parametrize(
    "change", [{"M": VALUES[0]}, {"rows": ("1",)}, {"cols": ("a", "b", "c")}, {"M": VALUES[None]}]
)
def test_a_copy_whose_labels_do_not_fit_is_refused(folder, change):
    write_copy(small_matrix()._replace(**change), folder / "folder" / "small.npz")
    with pytest.raises(DataError, match="labels do not match"):
        read(about())


@pytest.mark.filterwarnings("error")
def test_values_too_large_to_be_right_are_refused_without_a_warning(folder):
    (folder / "other.csv").write_bytes(TABLE.replace(b"7", b"7e300"))
    with pytest.raises(DataError, match="has other values"):
        read(about())


def test_a_folder_that_is_not_there_is_named(monkeypatch, tmp_path):
    monkeypatch.setenv("MAXENTRY_DATA", str(tmp_path / "nowhere"))
    with pytest.raises(DataError, match=r"MAXENTRY_DATA to name a folder, got .*nowhere'"):
        load("jester")


def test_licence_and_citation_are_told_once_a_machine(folder, capsys):
    (folder / "other.csv").write_bytes(TABLE)
    known = about(name="told")
    read(known)
    out, err = capsys.readouterr()
    assert out == ""
    assert err == "A small table\n  licence: yours\n  please cite: Nobody (2020)\n"
    read(known)
    assert capsys.readouterr().err == ""


def test_nothing_is_told_of_data_that_could_not_be_read(folder, capsys):
    (folder / "other.csv").write_bytes(b"nothing")
    with pytest.raises(DataError):
        read(about(name="untold"))
    assert capsys.readouterr().err == ""


def test_where_the_cache_cannot_be_written_data_are_read_all_the_same(folder, monkeypatch, capsys, tmp_path):
    (tmp_path / "a file").touch()
    monkeypatch.setenv("MAXENTRY_DATA_CACHE", str(tmp_path / "a file" / "cache"))
    (folder / "other.csv").write_bytes(TABLE)
    known = about(name="unwritable")
    for _ in range(2):
        np.testing.assert_array_equal(read(known).M, VALUES)
    assert capsys.readouterr().err.count("please cite") == 1


def test_copies_are_read_without_pooch(folder, monkeypatch):
    def without(name):
        raise ImportError(name)

    monkeypatch.delenv("MAXENTRY_DATA_CACHE")
    monkeypatch.setattr(files, "import_module", without)
    write_copy(small_matrix(), folder / "folder" / "small.npz")
    np.testing.assert_array_equal(read(about(name="without pooch")).M, VALUES)
    with pytest.raises(MissingDependencyError, match=r"pip install"):
        cache_folder()


def test_publishers_files_are_found_and_read_without_pooch(folder, monkeypatch):
    def without(name):
        raise ImportError(name)

    monkeypatch.delenv("MAXENTRY_DATA_CACHE")
    monkeypatch.setattr(files, "import_module", without)
    known = about(name="by hand, without pooch")
    assert find_file(known) is None
    with pytest.raises(MissingDependencyError, match=r"pip install"):
        read(known)
    (folder / "other.csv").write_bytes(TABLE)
    assert find_file(known) == folder / "other.csv"
    np.testing.assert_array_equal(read(known).M, VALUES)
    (folder / "other.csv").write_bytes(b"nothing")
    with pytest.raises(DataError, match="expected a table"):
        read(known)


def test_a_digest_is_of_values_in_single_precision():
    assert digest_values(VALUES) == digest_values(VALUES.astype(np.float32).astype(float))
    assert digest_values(np.array([[0.0]])) == digest_values(np.array([[-0.0]]))
    assert digest_values(VALUES) != digest_values(VALUES.T)
    assert digest_values(VALUES) != digest_values(np.nan_to_num(VALUES))
    assert digest_values(np.zeros((2, 3))) != digest_values(np.zeros((3, 2)))


def test_values_are_as_the_publisher_wrote_them():
    written = np.array([[7.82, -9.95], [np.nan, 0.1]])
    np.testing.assert_array_equal(shorten_decimals(written.astype(np.float32).astype(float)), written)
    np.testing.assert_array_equal(shorten_decimals(written), written)


def test_what_to_do_by_hand_names_each_file_its_address_and_the_folder():
    says = explain_by_hand(info("davis"))
    for file in info("davis").files:
        assert f"{file.name} from {file.urls[0]}" in says
    assert "MAXENTRY_DATA" in says
