"""The smallest things that are run, and the file that remembers them."""

import json
from pathlib import Path
from typing import Any, NamedTuple


class Cell(NamedTuple):
    """One process: a method on a problem."""

    problem: str
    method: str
    what: str
    threads: int
    repeat: int
    settings: dict[str, Any]
    versions: dict[str, str]

    @property
    def key(self) -> str:
        """The same for the same cell in another session."""
        return json.dumps(self._asdict(), sort_keys=True)

    @property
    def place(self) -> tuple[str, str, str, int, int]:
        """The cell whatever its settings and versions."""
        return self.problem, self.method, self.what, self.threads, self.repeat

    def __str__(self) -> str:
        return (
            f"{self.problem}, {self.method}, {self.what}, {self.threads} thread(s), repeat {self.repeat + 1}"
        )


class Store:
    """Results, one JSON line each, appended as they come."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.results: dict[str, dict[str, Any]] = {}
        self.latest: dict[tuple[str, str, str, int, int], dict[str, Any]] = {}
        if path.exists():
            for line in path.read_text().splitlines():
                self._take(json.loads(line))

    def _take(self, result: dict[str, Any]) -> None:
        cell = Cell(**result["cell"])
        self.results[cell.key] = self.latest[cell.place] = result

    def add(self, cell: Cell, outcome: str, limit: float, **found: Any) -> dict[str, Any]:
        """Remember what came of a cell: "ended", "over" (the limit) or "failed"."""
        result = {"cell": cell._asdict(), "outcome": outcome, "limit": limit, **found}
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self.path.open("a") as file:
            file.write(json.dumps(result) + "\n")
        self._take(result)
        return result

    def known(self, cell: Cell, limit: float) -> dict[str, Any] | None:
        """The result, unless the cell failed or was stopped at a shorter limit than it has now."""
        result = self.results.get(cell.key)
        if result is None or result["outcome"] == "failed":
            return None
        return None if result["outcome"] == "over" and result["limit"] < limit else result
