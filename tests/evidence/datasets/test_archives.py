"""What comes in place of a publisher's file, or of the file in its archive, is told from it."""

import struct
import tracemalloc

import pytest
from tests.evidence.datasets.samples import archive, with_headers, written, xlsx

from evidence.datasets import parsers
from evidence.datasets.parsers import buchwald_hartwig, complete_raters, movielens_100k, solver_runs, wide_csv
from maxentry.errors import DataError

U_DATA = b"2\t3\t5\t881250949\n1\t1\t3\t891717742\n2\t1\t1\t878887116\n"
PAGE = b"\n <!DOCTYPE html><html>Please log in</html>"


@pytest.mark.parametrize("parse", [movielens_100k, complete_raters, wide_csv, solver_runs, buchwald_hartwig])
def test_a_web_page_in_place_of_data_is_called_so(tmp_path, parse):
    with pytest.raises(DataError, match="web page, as a network that asks for a login"):
        parse(written(tmp_path / "data.zip", PAGE))


@pytest.mark.parametrize(
    "page",
    [
        b"<html>", b" \r\n<!DOCTYPE HTML PUBLIC '-//W3C'>", b"\xef\xbb\xbf<!doctype html>", b"<head><title>",
        b"<?xml version='1.0'?>\n<!DOCTYPE html>", b"<!-- hotel --><html>", b"\n" * 500 + b"<html>",
        b"<script>location='http://login'</script>",
    ],
)  # fmt: skip
def test_web_pages_begin_in_many_ways(page):
    assert parsers.is_web_page(page)


@pytest.mark.parametrize(
    "data", [b"", b"PK\x03\x04", b"\xd0\xcf\x11\xe0<html>", b",a\n1,<2\n", b"%\n@RELATION RUNS\n", U_DATA]
)
def test_data_are_no_web_page(data):
    assert not parsers.is_web_page(data)


def test_bytes_that_are_no_text_are_refused(tmp_path):
    with pytest.raises(DataError, match="not UTF-8"):
        wide_csv(written(tmp_path / "error_matrix.csv", b"\xff\xfe\x00"))


def test_a_zip_that_is_cut_off_is_refused(tmp_path):
    path = archive(tmp_path / "ml-100k.zip", **{"ml-100k__u_data": U_DATA * 50})
    whole = path.read_bytes()
    for kept in (0, 10, len(whole) // 2, len(whole) - 1):
        path.write_bytes(whole[:kept])
        with pytest.raises(DataError, match="broken or cut off"):
            movielens_100k(path)


def test_a_zip_with_a_changed_byte_is_refused(tmp_path):
    path = archive(tmp_path / "ml-100k.zip", **{"ml-100k__u_data": U_DATA * 50})
    data = bytearray(path.read_bytes())
    data[60] ^= 0xFF
    path.write_bytes(data)
    with pytest.raises(DataError, match="broken or cut off"):
        movielens_100k(path)


def test_another_zip_is_refused(tmp_path):
    with pytest.raises(DataError, match=r"expected one file u\.data in .*, got 0"):
        movielens_100k(archive(tmp_path / "other.zip", **{"readme_txt": b"x"}))


def test_a_folder_in_place_of_a_file_is_refused(tmp_path):
    with pytest.raises(DataError, match="cannot read"):
        wide_csv(tmp_path)


def test_a_file_that_would_fill_the_memory_is_not_unpacked(tmp_path, monkeypatch):
    zipped = archive(tmp_path / "ml-100k.zip", **{"ml-100k__u_data": U_DATA})
    book = xlsx(tmp_path / "data.xlsx", {"Plates1-3": [["Ligand"]]})
    monkeypatch.setattr(parsers, "LARGEST_FILE", len(U_DATA) - 1)
    with pytest.raises(
        DataError, match=rf"expected at most {len(U_DATA) - 1} bytes of ml-100k/u\.data in .*zip"
    ):
        movielens_100k(zipped)
    with pytest.raises(DataError, match=rf"expected at most {len(U_DATA) - 1} bytes of .* in .*xlsx"):
        buchwald_hartwig(book)
    monkeypatch.setattr(parsers, "LARGEST_FILE", len(U_DATA))
    assert movielens_100k(zipped).M.shape == (2, 3)


def test_a_file_that_lies_about_its_size_is_not_unpacked_either(tmp_path):
    path = archive(tmp_path / "ml-100k.zip", **{"ml-100k__u_data": bytes(30_000_000)})
    with_headers(path, 22, lambda _: struct.pack("<I", 100), 4)
    tracemalloc.start()
    try:
        with pytest.raises(DataError, match="broken or cut off"):
            movielens_100k(path)
        assert tracemalloc.get_traced_memory()[1] < 5_000_000
    finally:
        tracemalloc.stop()
