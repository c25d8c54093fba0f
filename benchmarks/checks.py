"""Checks whose results are lines of a page: what was measured, what was asked, before and now.

A check is a function: it takes `quick` and returns lines. Results are kept in a folder `results` beside the checks, one
file a check and version, so that a page can be written again without running anything.
"""

import argparse
import json
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple


class Line(NamedTuple):
    """What was measured, the figure with its error, and what was asked."""

    what: str
    value: str
    asked: str = ""


Check = Callable[[bool], list[Line]]  # quick -> lines


def read(results: Path, name: str, label: str) -> list[Line] | None:
    file = results / f"{name}.{label}.json"
    return [Line(**line) for line in json.loads(file.read_text())] if file.is_file() else None


def recall(file: Path, key: list[str | float], compute: Callable[[], list[float]]) -> list[float]:
    """The numbers that a file of JSON lines has under this key; computed and added to it where it has none.

    So a long check that was interrupted goes on, and more seeds of it can be added.
    """
    if file.is_file():
        for known, numbers in map(json.loads, file.read_text().splitlines()):
            if known == key:
                return [float(x) for x in numbers]
    numbers = compute()
    file.parent.mkdir(parents=True, exist_ok=True)
    with file.open("a") as lines:
        lines.write(json.dumps([key, numbers]) + "\n")
    print(f"  {key} {numbers}", flush=True)
    return numbers


def write_page(head: str, results: Path, names: list[str]) -> str:
    text = f"{head}\n"
    for name in names:
        now = read(results, name, "now")
        before = {line.what: line for line in read(results, name, "before") or []}
        if now is None:
            continue
        text += f"\n## {name}\n\n| | asked | before | now |\n|---|---|---|---|\n"
        for line in now:
            old = before.get(line.what)
            text += f"| {line.what} | {line.asked} | {old.value if old else '–'} | {line.value} |\n"
    return text


def main(doc: str, head: str, page: Path, results: Path, checks: dict[str, Check]) -> None:
    parser = argparse.ArgumentParser(description=doc, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("check", nargs="*")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--again", action="store_true")
    parser.add_argument("--label", default="now", choices=["now", "before"])
    wish = parser.parse_args()
    for name in wish.check or checks:
        if not wish.again and not wish.quick and read(results, name, wish.label) is not None:
            continue
        lines = checks[name](wish.quick)
        for line in lines:
            print(f"{name}: {line.what}: {line.value} (asked {line.asked})", flush=True)
        if not wish.quick:
            results.mkdir(exist_ok=True)
            kept = json.dumps([line._asdict() for line in lines], indent=1, ensure_ascii=False)
            (results / f"{name}.{wish.label}.json").write_text(kept + "\n")
    if not wish.quick:
        page.write_text(write_page(head, results, list(checks)))
