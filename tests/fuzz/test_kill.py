"""A few kills of each kind; `make kill` makes a thousand."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from tests.campaign.postgres_server import binaries
from tests.campaign.stand_ins import campaign
from tests.campaign.worker import value_of
from tests.fuzz.__main__ import ROOT
from tests.fuzz.kill import Toll

POSTGRES = pytest.mark.postgres, pytest.mark.skipif(binaries() is None, reason="no PostgreSQL to be killed")


@pytest.mark.process
@pytest.mark.parametrize(
    ("kind", "kills"),
    [
        ("sqlite", 8),
        ("rest", 4),
        pytest.param("postgresql", 8, marks=POSTGRES),
        pytest.param("postmaster", 1, marks=POSTGRES),
    ],
)
def test_nothing_acknowledged_is_lost_or_there_twice(kind: str, kills: int, tmp_path: Path) -> None:
    words = [
        sys.executable,
        "-m",
        "tests.fuzz.kill",
        "--kills",
        str(kills),
        "--only",
        kind,
        "-o",
        str(tmp_path),
    ]
    subprocess.run(words, capture_output=True, text=True, cwd=ROOT, timeout=900, check=True)
    result = json.loads((tmp_path / f"kill-{kind}-1.json").read_text())
    assert result["tries"] == kills
    assert result["found"] == {"lost": 0, "twice": 0, "wrong": 0}
    assert not result["notes"].startswith("0 ")


def test_what_is_lost_or_there_twice_is_found(tmp_path: Path) -> None:
    """The control."""
    where = str(tmp_path / "lab.db")
    with campaign(where) as c:
        batch = c.ask(3, frame="columns")
        entries = list(zip(batch["id"], batch["row"], batch["col"], strict=True))
        told = [(id, value_of(row, col)) for id, row, col in entries]
        c.tell([id for id, _ in told], [value for _, value in told])

        def toll(said: list[dict[str, object]], exact: bool = True) -> dict[str, int]:
            counted = Toll("sqlite")
            counted.take(said)
            counted.check(where, "kinase", exact)
            return counted.found()

        all = [{"asked": entries}, {"told": told}]
        assert toll(all) == {"lost": 0, "twice": 0, "wrong": 0}
        assert toll([*all, {"asked": [(4, 0, 0)]}])["lost"] == 1
        assert toll([*all, {"told": [(1, -1.0)]}])["lost"] == 1
        assert toll([*all, {"asked": entries[:1]}])["twice"] == 1  # two were given the same
        assert toll([{"asked": entries[:2]}, {"told": told[:2]}])["twice"] == 2  # nobody knows of the third
        assert toll([{"asked": entries[:2]}], exact=False)["twice"] == 0
        c.tell([1], [told[0][1]], again=True)
        assert toll(all)["twice"] == 1
        c.correct(2, -1.0)
        assert toll(all)["wrong"] == 1
