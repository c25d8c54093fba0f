"""Downloads from a publisher, who is here a server on this machine: right ones are kept, wrong ones leave nothing."""

import dataclasses
import hashlib
import os
import socket
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import numpy as np
import pytest
from tests.evidence.datasets.samples import TABLE, VALUES, about

from evidence.datasets import files
from evidence.datasets.files import cache_folder, download_path, matrix_path
from evidence.datasets.load import find_file, read
from maxentry.errors import DataError, MissingDependencyError

MD5 = f"md5:{hashlib.md5(TABLE, usedforsecurity=False).hexdigest()}"
SHA256 = f"sha256:{hashlib.sha256(TABLE).hexdigest()}"


class Publisher(BaseHTTPRequestHandler):
    """Gives the table, a page to log in, less than it promised, or an error."""

    def do_GET(self):
        self.server.asked.append(self.path)
        body = {"/page": b"<html>Welcome to the hotel</html>", "/other": TABLE + b"3,1,1\n"}.get(
            self.path, TABLE
        )
        self.send_response(404 if self.path == "/gone" else 302 if self.path == "/moved" else 200)
        if self.path == "/moved":
            self.send_header("Location", "/table")
        self.send_header("Content-Length", str(len(body) + 100 * (self.path == "/short")))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args):
        pass


@pytest.fixture
def publisher(monkeypatch):
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    with ThreadingHTTPServer(("127.0.0.1", 0), Publisher) as server:
        server.asked = []
        server.daemon_threads = True
        threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
        server.url = f"http://127.0.0.1:{server.server_port}"
        yield server
        server.shutdown()


def nothing_left(known):
    files = download_path(known, known.files[0]).parent
    return not list(files.glob("*")) and not matrix_path(known).exists()


@pytest.mark.parametrize("checksum", [None, MD5, SHA256])
@pytest.mark.parametrize("path", ["/table", "/moved"])
def test_a_download_is_read_kept_and_not_repeated(publisher, checksum, path, capsys):
    known = about(f"{publisher.url}{path}", checksum=checksum)
    assert find_file(known) is None
    np.testing.assert_array_equal(read(known).M, VALUES)
    assert download_path(known, known.files[0]).read_bytes() == TABLE
    assert capsys.readouterr().err.count("please cite: Nobody") == 1
    asked = list(publisher.asked)
    np.testing.assert_array_equal(read(known).M, VALUES)
    matrix_path(known).unlink()
    np.testing.assert_array_equal(read(known).M, VALUES)  # from the download
    assert publisher.asked == asked


@pytest.mark.parametrize(
    ("path", "checksum", "says"),
    [
        ("/gone", None, "answered 404"),
        ("/page", None, "gave a web page, as a network that asks for a login"),
        ("/page", MD5, "gave a web page"),
        ("/short", None, "could not be reached or broke off"),
        ("/other", MD5, rf"gave {len(TABLE) + 6} bytes with md5 \w+…, expected {MD5[4:16]}…"),
        ("/other", SHA256, rf"with sha256 \w+…, expected {SHA256[7:19]}…"),
    ],
)
def test_a_wrong_download_leaves_nothing_and_says_what_to_do(publisher, path, checksum, says, capsys):
    url = f"{publisher.url}{path}"
    known = about(url, checksum=checksum)
    with pytest.raises(DataError, match=says) as caught:
        read(known)
    assert f"put small/table.csv from {url} into a folder and name that folder in MAXENTRY_DATA" in str(
        caught.value
    )
    assert nothing_left(known)
    assert capsys.readouterr().err == ""


def test_a_download_without_checksum_is_known_by_its_content(publisher):
    known = about(f"{publisher.url}/other")
    with pytest.raises(DataError, match=r"has other values \(3 x 2"):
        read(known)
    assert nothing_left(known)


def test_a_download_that_no_parser_foresaw_is_not_left_behind(publisher):
    def surprised(path):
        raise ZeroDivisionError

    known = dataclasses.replace(about(f"{publisher.url}/table"), parse=surprised)
    with pytest.raises(ZeroDivisionError):
        read(known)
    assert nothing_left(known)
    assert publisher.asked == ["/table"]


def test_a_download_is_kept_where_only_a_library_is_missing(publisher):
    def helpless(path):
        raise MissingDependencyError("expected a library.")

    known = dataclasses.replace(about(f"{publisher.url}/table"), parse=helpless)
    for _ in range(2):
        with pytest.raises(MissingDependencyError):
            read(known)
    assert download_path(known, known.files[0]).read_bytes() == TABLE
    assert publisher.asked == ["/table"]


@pytest.mark.parametrize("spoilt", [b"", TABLE[:-3], TABLE.replace(b"7", b"8"), b"x" * 200_000, b"<html>"])
def test_a_download_that_was_spoilt_later_is_fetched_again(publisher, spoilt):
    known = about(f"{publisher.url}/table")
    read(known)
    matrix_path(known).unlink()
    download_path(known, known.files[0]).write_bytes(spoilt)
    np.testing.assert_array_equal(read(known).M, VALUES)
    assert download_path(known, known.files[0]).read_bytes() == TABLE
    assert publisher.asked == ["/table", "/table"]


def test_a_spoilt_download_is_fetched_again_only_once(publisher):
    known = about(f"{publisher.url}/other")
    path = download_path(known, known.files[0])
    path.parent.mkdir(parents=True)
    path.write_bytes(b"spoilt")
    with pytest.raises(DataError, match=r"has other values \(3 x 2"):
        read(known)
    assert nothing_left(known)
    assert publisher.asked == ["/other"]


def test_a_users_wrong_file_spoils_no_download(publisher, folder):
    known = about(f"{publisher.url}/table")
    path = download_path(known, known.files[0])
    path.parent.mkdir(parents=True)
    path.write_bytes(TABLE)
    (folder / "other.csv").write_bytes(TABLE + b"3,1,1\n")
    with pytest.raises(DataError, match=r"other\.csv has other values"):
        read(known)
    assert (folder / "other.csv").exists()
    assert path.exists()
    assert publisher.asked == []


def test_without_network_the_sentence_says_which_file_from_where_goes_where():
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))  # nobody listens
        url = f"http://127.0.0.1:{unused.getsockname()[1]}/table.csv"
        with pytest.raises(DataError, match="could not be reached") as caught:
            read(about(url))
    assert f"put small/table.csv from {url} into a folder and name that folder in MAXENTRY_DATA" in str(
        caught.value
    )
    assert "Traceback" not in str(caught.value)
    assert caught.value.__suppress_context__ or caught.value.__context__ is None


def test_addresses_are_tried_in_turn(publisher):
    known = about(
        *(f"{publisher.url}{path}" for path in ("/gone", "/other", "/table", "/never")), checksum=MD5
    )
    np.testing.assert_array_equal(read(known).M, VALUES)
    assert publisher.asked == ["/gone", "/other", "/table"]


def test_a_silent_publisher_is_given_up(monkeypatch):
    monkeypatch.setattr(files, "TIMEOUT_S", 0.2)
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        with pytest.raises(DataError, match="could not be reached"):
            read(about(f"http://127.0.0.1:{silent.getsockname()[1]}/table.csv"))


def test_a_cache_that_cannot_be_written_is_named_before_anything_is_asked(publisher, monkeypatch, tmp_path):
    (tmp_path / "a file").touch()
    monkeypatch.setenv("MAXENTRY_DATA_CACHE", str(tmp_path / "a file"))
    with pytest.raises(DataError, match=r"cannot write into .*MAXENTRY_DATA_CACHE, or put small/table\.csv"):
        read(about(f"{publisher.url}/table"))
    assert publisher.asked == []


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may write anywhere")
def test_a_cache_without_permission_is_named(publisher):
    cache_folder().mkdir()
    cache_folder().chmod(0o500)
    with pytest.raises(DataError, match=r"Permission denied.*MAXENTRY_DATA_CACHE"):
        read(about(f"{publisher.url}/table"))


def test_pooch_is_asked_for_by_the_name_of_the_extra(publisher, monkeypatch):
    def without(name):
        raise ImportError(name)

    monkeypatch.setattr(files, "import_module", without)
    with pytest.raises(MissingDependencyError, match=r"pip install"):
        read(about(f"{publisher.url}/table"))
