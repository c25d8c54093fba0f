"""No command replaces a file that exists, unless it is told to."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest
from tests.cli.run import answer, good, refused

from maxentry import tables

MATRIX = "x,a,b,c\nr,1,2,3\ns,2,,6\nt,3,6,\nu,,8,12\n"
NOTES = "notes of somebody\n"
FIT = ("--rank", 1, "--seed", 1)
COMMANDS: dict[str, tuple[object, ...]] = {
    "history": ("history",),
    "export": ("export",),
    "export wide": ("export", "--wide"),
    "export pending": ("export", "--pending"),
    "export asked": ("export", "--asked"),
    "ask": ("ask", 1),
    "posterior": ("posterior",),
    "report": ("report", "--points", 0),
    "complete": ("complete", "yields.csv", *FIT),
    "design": ("design", "4x4", 3),
}


@pytest.fixture(autouse=True)
def lab(folder: Path) -> None:
    (folder / "yields.csv").write_text(MATRIX)
    good("new", "lab", "--from", "yields.csv", *FIT)


def make_file(name: str, mode: int = 0o640) -> Path:
    path = Path(name)
    path.write_text(NOTES)
    path.chmod(mode)
    return path


@pytest.mark.parametrize("command", COMMANDS)
def test_a_file_that_exists_is_refused_before_anything_is_done(command: str) -> None:
    name = "there.html" if command == "report" else "there.csv"
    path, events = make_file(name), answer("status", "--fast")["events"]
    said = refused(*COMMANDS[command], "-o", name)
    assert said == f"{name} exists. Name another file, or add --force to replace it."
    assert path.read_text() == NOTES
    assert answer("status", "--fast")["events"] == events


@pytest.mark.parametrize("command", COMMANDS)
def test_force_replaces_the_file_and_keeps_its_mode(command: str) -> None:
    path = make_file("there.html" if command == "report" else "there.csv")
    good(*COMMANDS[command], "-o", path, "--force")
    assert path.read_text() != NOTES
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    assert not list(Path().glob(".*.part"))


@pytest.mark.parametrize("words", [("posterior",), ("complete", "yields.csv", *FIT)])
def test_a_saved_posterior_replaces_nothing_either(words: tuple[object, ...]) -> None:
    path = make_file("fit.npz")
    assert "fit.npz exists" in refused(*words, "--save", "fit.npz")
    assert path.read_text() == NOTES
    good(*words, "--save", "fit.npz", "--force")
    assert path.read_bytes()[:2] == b"PK"
    assert stat.S_IMODE(path.stat().st_mode) == 0o640


def test_the_former_name_of_the_option_is_understood() -> None:
    make_file("there.csv")
    good("ask", 1, "-o", "there.csv", "--overwrite")
    make_file("told.csv")
    good("export", "-o", "told.csv", "--overwrite")


@pytest.mark.parametrize("line", ["1,,,5", "1,r,a,", "1,r,a,failed", "x,r,a,5"])
def test_a_plate_is_not_replaced_whatever_became_of_its_values(line: str) -> None:
    good("ask", 1)
    plate = f"id,row,col,value\n{line}\n"
    Path("plate.csv").write_text(plate)
    refused("ask", 1, "-o", "plate.csv")
    assert Path("plate.csv").read_text() == plate


def test_a_link_to_a_file_that_is_gone_is_there_too() -> None:
    Path("link.csv").symlink_to("gone.csv")
    assert "link.csv exists" in refused("history", "-o", "link.csv")
    assert not Path("gone.csv").exists()


def test_devices_are_no_files_that_exist() -> None:
    good("history", "-o", "/dev/null")
    assert good("history", "-o", "-").stdout.startswith("event,at")


def test_a_plate_that_cannot_be_written_any_more_is_pending_and_said_so(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Somebody makes a file of this name while the entries are chosen."""
    write = tables.write

    def be_late(*args: object, **options: object) -> None:
        make_file("plate.csv")
        write(*args, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(tables, "write", be_late)
    said = refused("ask", 1, "-o", "plate.csv")
    assert "`maxentry export --pending` writes them again" in said
    assert "plate.csv exists" in said
    assert Path("plate.csv").read_text() == NOTES


def test_the_demo_replaces_no_picture() -> None:
    make_file("demo.png")
    assert "demo.png exists" in refused("demo")


@pytest.mark.parametrize("name", ["report.html", "runs.csv", "tables.md", "curves.png"])
def test_a_comparison_replaces_and_deletes_no_file_of_others(name: str) -> None:
    Path("out").mkdir()
    path = make_file(f"out/{name}")
    assert f"{path} exists, and it is not of an earlier" in refused("compare", "yields.csv", "-o", "out")
    assert path.read_text() == NOTES
    assert len(list(Path("out").iterdir())) == 1
