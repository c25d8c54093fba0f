"""Results of attacks as data: every tool leaves one file for each line of the table, in build/attacks."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

FOLDER = Path(__file__).resolve().parents[2] / "build" / "attacks"


def save(
    name: str, attack: str, tries: int, found: Mapping[str, int], notes: str = "", folder: Path = FOLDER
) -> None:
    """Write one result: how often was tried, and how often was found what must not be."""
    folder.mkdir(parents=True, exist_ok=True)
    result = {"attack": attack, "tries": tries, "found": dict(found), "notes": notes}
    (folder / f"{name}.json").write_text(json.dumps(result) + "\n", encoding="utf-8")
