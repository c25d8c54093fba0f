"""Results of long comparisons, one JSON line each, kept with a fingerprint of the code that made them."""

import hashlib
import json
from pathlib import Path

FOLDER = Path(__file__).parent / ".cache"


def fingerprint(*paths: Path) -> str:
    """A short hash of the files, and of the Python files in the folders."""
    files = [file for path in paths for file in (sorted(path.glob("*.py")) if path.is_dir() else [path])]
    return hashlib.sha256(b"\0".join(file.read_bytes() for file in files)).hexdigest()[:12]


class Cache:
    """Records of a comparison by (matrix, fraction, seed, method, settings)."""

    def __init__(self, name: str) -> None:
        FOLDER.mkdir(exist_ok=True)
        (FOLDER / ".gitignore").write_text("*\n")
        self.path = FOLDER / f"{name}.jsonl"
        self.known: dict[tuple[object, ...], dict] = {}
        if self.path.exists():
            for line in self.path.read_text().splitlines():
                self._take(json.loads(line))

    def _take(self, record: dict) -> None:
        key = ("matrix", "fraction", "seed", "method", "settings")
        self.known[tuple(record[k] for k in key)] = record

    def get(self, cell: tuple[object, ...], method: str, settings: str) -> dict | None:
        return self.known.get((*cell, method, settings))

    def add(self, records: list[dict]) -> None:
        """Take the records and append them to the file at once."""
        with self.path.open("a") as file:
            for record in records:
                self._take(record)
                file.write(json.dumps(record) + "\n")
