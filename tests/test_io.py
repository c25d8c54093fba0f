"""Files are replaced whole or not at all."""

from __future__ import annotations

import os
import stat
from contextlib import ExitStack
from pathlib import Path

import numpy as np
import pytest

from maxentry import _io
from maxentry._io import in_queue, open_output, to_json_data, write_atomically
from maxentry.errors import DataError, ParameterError


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


@pytest.mark.parametrize("mode", [0o600, 0o664])
def test_a_file_that_is_replaced_keeps_its_mode_while_it_is_written_too(tmp_path: Path, mode: int) -> None:
    path = tmp_path / "a.txt"
    path.write_text("old")
    path.chmod(mode)
    with write_atomically(path) as temporary:
        temporary.write_text("new")
        assert stat.S_IMODE(temporary.stat().st_mode) == mode
    assert stat.S_IMODE(path.stat().st_mode) == mode


def test_a_file_that_appears_meanwhile_is_not_replaced(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"

    def write() -> None:
        with open_output(str(path)) as stream:
            stream.write(b"new")
            path.write_text("of somebody else")

    with pytest.raises(ParameterError, match="exists"):
        write()
    assert path.read_text() == "of somebody else"
    assert list(tmp_path.iterdir()) == [path]


def test_a_link_stays_and_what_it_points_to_is_replaced(tmp_path: Path) -> None:
    path, link = tmp_path / "a.txt", tmp_path / "link"
    path.write_text("old")
    link.symlink_to(path)
    with open_output(str(link), replace=True) as stream:
        stream.write(b"new")
    assert link.is_symlink()
    assert path.read_text() == "new"
    with pytest.raises(ParameterError, match="exists"), open_output(str(link)) as stream:
        stream.write(b"newer")


def test_a_device_is_written_to_as_it_is(tmp_path: Path) -> None:
    with open_output("/dev/null") as stream:
        stream.write(b"anything")
    assert not Path("/dev/null").is_file()
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reading = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    with open_output(str(pipe)) as stream:
        stream.write(b"through")
    assert os.read(reading, 99) == b"through"
    os.close(reading)
    assert pipe.is_fifo()


def test_an_open_file_by_its_number_is_no_file_to_replace(tmp_path: Path) -> None:
    with (tmp_path / "a.txt").open("wb") as file, open_output(f"/dev/fd/{file.fileno()}") as stream:
        stream.write(b"written")
    assert (tmp_path / "a.txt").read_text() == "written"


def test_a_folder_that_is_not_there_is_refused_in_a_sentence(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="cannot write"), open_output(str(tmp_path / "no" / "a")):
        pass


def test_json_data_has_no_arrays_and_no_nan() -> None:
    x = {
        1: np.array([1.0, np.nan]),
        "t": np.datetime64("2030-01-31"),
        "n": (np.int64(3), True, None, float("inf")),
    }
    assert to_json_data(x) == {"1": [1.0, None], "t": "2030-01-31", "n": [3, True, None, None]}


def test_a_queue_goes_by_the_order_of_arrival(tmp_path: Path) -> None:
    file = tmp_path / "a"
    file.write_text("a")
    places = [ExitStack() for _ in range(4)]
    ahead = [place.enter_context(in_queue(file)) for place in places[:3]]
    assert [count() for count in ahead] == [0, 1, 2]
    places[0].close()
    assert [count() for count in ahead[1:]] == [0, 1]
    ahead.append(places[3].enter_context(in_queue(file)))  # behind all, though the first place is free
    assert [count() for count in ahead[1:]] == [0, 1, 2]
    places[2].close()
    places[1].close()
    assert ahead[3]() == 0
    places[3].close()
    with in_queue(tmp_path / "nothing") as count:
        assert count() == 0
    assert [f.name for f in tmp_path.iterdir()] == ["a"]
    assert file.read_text() == "a"


def test_without_such_locks_nobody_is_ever_ahead(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Other systems have another struct: theirs would be read as nonsense."""
    file = tmp_path / "a"
    file.write_text("a")
    monkeypatch.setattr(_io, "HAS_QUEUES", False)
    monkeypatch.setattr("fcntl.fcntl", None)
    with in_queue(file) as first, in_queue(file) as second:
        assert first() == second() == 0
