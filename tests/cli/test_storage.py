"""`maxentry check`, `backup` and `copy`."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest
from tests.cli.run import answer, good, refused, run


@pytest.fixture
def lab(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MAXENTRY_STORAGE", "lab.db")
    good("new", "one", "--shape", "3x4", "--seed", 1)
    good("new", "two", "--shape", "3x4", "--seed", 1)
    good("tell", "-c", "two", "--row", "r1", "--col", "c2", "--value", 1.25)
    return tmp_path / "lab.db"


def damage(lab: Path) -> None:
    with sqlite3.connect(lab) as connection:
        connection.execute("UPDATE maxentry_events SET payload = replace(payload, '1.25', '1.26')")
    connection.close()


def test_check_prints_a_line_a_campaign(lab: Path) -> None:
    assert good("check").stdout == "one: 1 event, intact.\ntwo: 2 events, intact.\n"
    document = answer("check")
    assert (document["intact"], document["problem"], len(document["campaigns"])) == (True, None, 2)
    damage(lab)
    result = run("check")
    assert result.exit_code == 1
    first, second = result.stdout.splitlines()
    assert first == "one: 1 event, intact."
    assert second.startswith("two: 2 events, DAMAGED: expected event 2 of campaign 'two'")
    assert run("check", "--json").exit_code == 1
    assert "restore a backup" in refused("check", "--storage", str(_truncated(lab)))


def _truncated(lab: Path) -> Path:
    file = lab.with_name("half.db")
    file.write_bytes(lab.read_bytes()[:5000])
    return file


def test_backup_writes_a_new_file(lab: Path) -> None:
    assert answer("backup", "copy.db")["output"] == "copy.db"
    assert "exists" in refused("backup", "copy.db")
    assert "Wrote copy.db." in good("backup", "copy.db", "--force").stderr
    assert good("check", "--storage", "copy.db").stdout == good("check").stdout
    damage(lab)
    assert "is damaged" in refused("backup", "copy.db", "--force")
    assert good("check", "--storage", "copy.db").stdout == "one: 1 event, intact.\ntwo: 2 events, intact.\n"


def test_copy_takes_all_campaigns_to_another_storage(lab: Path) -> None:
    good("new", "three", "--shape", "3x4", "--storage", "other.db")
    assert good("copy", "lab.db", "other.db").stdout.splitlines()[1:] == [
        "one: 1 event, intact.",
        "two: 2 events, intact.",
    ]
    assert "'one', which it has" in refused("copy", "lab.db", "other.db")
    assert "in memory" in refused("copy", "lab.db", "sqlite://")
    assert "r1,c2,1.25" in good("export", "-c", "two", "--storage", "other.db").stdout
    damage(lab)
    assert "Not copied" in refused("copy", "lab.db", "new.db")
    assert not Path("new.db").exists()
