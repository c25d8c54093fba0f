"""The table of attacks says what was found, and what was not tried."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

from tests.fuzz import attacks


def test_the_page_shows_what_must_not_be(tmp_path: Path) -> None:
    attacks.save("kill-rest-1", "kills", 1000, {"lost": 0, "twice": 2}, "a minute", tmp_path / "attacks")
    attacks.save("kill-rest-12", "kills", 500, {"lost": 0, "twice": 0}, "an hour", tmp_path / "attacks")
    attacks.save("soak", "soak", 10, {"failed": 0}, folder=tmp_path / "attacks")
    (tmp_path / "fuzz").mkdir()
    for name, foreign in (("fuzz", 1), ("fuzz/files-2", 2)):
        surface = {
            "surface": "files",
            "tries": 20,
            "accepted": 5,
            "foreign": foreign,
            "seconds": 1.5,
            "slowest": [],
        }
        (tmp_path / f"{name}.json").write_text(json.dumps({"seed": 1, "surfaces": [surface]}))
    counts = {name: Counter(passed=2) for line in attacks.LINES.values() for name in line.tests}
    counts["cli/test_formulas"] = Counter(passed=1, failed=1)
    counts["server/test_full_disk"] = Counter()
    text = attacks.report(attacks.load(tmp_path), counts)
    assert "| kills | 1,500 | not tried | **2 twice** | a minute; an hour |" in text
    assert "| soak | 10 | not tried | none failed | |" in " ".join(text.split("  "))
    assert "| damaged and hostile files | 40 | (in the line above) | **3 foreign** |" in text
    assert "| kill-sqlite | 0 | 602 kills: 0 lost, 0 twice | not run | |" in text
    assert "| **1 failed, 1 passed** | `cli/test_formulas` |" in text
    assert "| nothing could be read | **** |" not in text
    assert "| nothing could be read | not run | `server/test_full_disk` |" in text
    assert "| deleted by one `ask` | 2 passed | `campaign/test_durability` |" in text


def test_every_line_has_its_tests() -> None:
    assert list(attacks.LINES) == list(range(1, 18))
    for line in attacks.LINES.values():
        assert line.tests
        assert all((attacks.ROOT / "tests" / f"{name}.py").is_file() for name in line.tests)
