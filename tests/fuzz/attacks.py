"""The table of attacks: docs/attacks.md, from the results of the tools and from tests that this command runs.

    make kill fuzz soak together    # each leaves its results in build/
    python -m tests.fuzz.attacks [-o docs/attacks.md] [--marks EXPRESSION] [--again]

Every tool leaves a file for each line of the table, by `save`; `make fuzz` leaves build/fuzz.json (or,
with -o, files in build/fuzz).
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple
from xml.etree import ElementTree

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "build" / "attacks"
MARKS = "not (slow or browser or pages)"

# What was found by the same attack on commit b121af5.
BEFORE = {
    "kill-sqlite": "602 kills: 0 lost, 0 twice",
    "kill-postgresql": "352 kills: 0 lost, 0 twice",
    "kill-rest": "not tried",
    "kill-postmaster": "5 kills: 0 lost",
    "together-sqlite": "p99 of an ask and a tell: 5 s",
    "together-postgresql": "0 lost, 0 twice",
    "soak": "not tried",
    "fuzz-python": "34,000 calls in all: about 900 errors of others",
    "fuzz-cli": "(in the line above)",
    "fuzz-rest": "(in the line above)",
    "fuzz-files": "(in the line above)",
}
FUZZ = {
    "python": "odd values into Python",
    "cli": "odd words on the command line",
    "rest": "odd requests to the server",
    "files": "damaged and hostile files",
}
HARMLESS = ("accepted", "refused")  # endings of a call with odd values


class Line(NamedTuple):
    """What broke on commit b121af5, and the tests that show that it holds now."""

    what: str
    before: str
    tests: tuple[str, ...]


LINES = {
    1: Line(
        "an accepted value makes `ask` and `posterior` run for ever",
        "never ended; no cancelling",
        ("posterior/test_extreme_values", "server/test_jobs"),
    ),
    2: Line("a foreign database deletes files", "deleted by one `ask`", ("campaign/test_durability",)),
    3: Line(
        "the database is removed or replaced in use",
        "8 of 8 tells acknowledged and lost",
        ("campaign/test_durability", "server/test_shared"),
    ),
    4: Line("output over existing files", "overwritten", ("cli/test_replacing",)),
    5: Line(
        "a copy of the file while it is in use",
        "a copy without the campaign; no backup",
        ("campaign/test_backup", "cli/test_storage"),
    ),
    6: Line("digits changed in the file", "112 of 123 opened in silence", ("campaign/test_chain",)),
    7: Line(
        "a million lines and events",
        "tell dropped by PostgreSQL; opened in 26.7 s and 1 GB",
        ("campaign/test_large",),
    ),
    8: Line("a clock 50 years ahead", "leases frozen for 50 years", ("campaign/test_clocks",)),
    9: Line(
        "a repeated request",
        "a repeated correction undid a later one",
        ("server/test_idempotency", "client/test_client"),
    ),
    10: Line("a made-up `X-Forwarded-For`", "0 of 1,500 requests refused", ("server/test_clients",)),
    11: Line(
        "one client takes all streams, connections or memory",
        "others starved; 2,000,000 x 2 in 16.7 s",
        ("server/test_clients", "campaign/test_many_labels"),
    ),
    12: Line("formulas in CSV", "written as they are", ("cli/test_formulas",)),
    13: Line("a full disk", "nothing could be read", ("server/test_full_disk",)),
    14: Line(
        "odd values",
        "about 900 errors of others in 34,000 calls; a corrupted heap",
        ("test_odd_values", "fuzz/test_inputs", "posterior/test_archive"),
    ),
    15: Line("a command that fuzzes everything", "none", ("fuzz/test_fuzz",)),
    16: Line(
        "kills, and many who write at once",
        "p99 of an ask and a tell: 5 s with 8 processes",
        ("fuzz/test_kill", "campaign/test_crashes", "campaign/test_together", "test_io"),
    ),
    17: Line(
        "oldest and newest dependencies, wheel and sdist",
        "no lower bound of llvmlite; not tested",
        ("release/test_commands", "release/test_dependencies", "release/test_requirements"),
    ),
}


def save(
    name: str, attack: str, tries: int, found: Mapping[str, int], notes: str = "", folder: Path = FOLDER
) -> None:
    """Write one result: how often was tried, and how often was found what must not be."""
    folder.mkdir(parents=True, exist_ok=True)
    result = {"attack": attack, "tries": tries, "found": dict(found), "notes": notes}
    (folder / f"{name}.json").write_text(json.dumps(result) + "\n", encoding="utf-8")


def load(build: Path) -> dict[str, dict[str, Any]]:
    """Return all results by name. Runs with other seeds add up: their files end in a number."""
    results: dict[str, dict[str, Any]] = {}
    for file in sorted((build / "attacks").glob("*.json")):
        add(results, re.sub(r"-\d+$", "", file.stem), json.loads(file.read_text()))
    for file in sorted([*build.glob("fuzz*.json"), *build.glob("fuzz/*.json")]):
        for each in json.loads(file.read_text())["surfaces"]:
            found = {kind: n for kind, n in each.items() if isinstance(n, int) and kind not in HARMLESS}
            result = {"attack": FUZZ[each["surface"]], "tries": found.pop("tries"), "found": found}
            add(results, f"fuzz-{each['surface']}", result | {"notes": f"{each['seconds']:.0f} s"})
    return results


def add(results: dict[str, dict[str, Any]], name: str, result: dict[str, Any]) -> None:
    """Add a result to those of the same name."""
    if (known := results.setdefault(name, result)) is not result:
        known["tries"] += result["tries"]
        known["found"] = {kind: n + known["found"].get(kind, 0) for kind, n in result["found"].items()}
        known["notes"] += f"; {result['notes']}"


def run_tests(marks: str, report: Path) -> None:
    """Run the tests of all lines, and leave pytest's report."""
    report.parent.mkdir(parents=True, exist_ok=True)
    options = ["-q", "-p", "no:cacheprovider", "-m", marks, f"--junit-xml={report}"]
    files = sorted({f"tests/{name}.py" for line in LINES.values() for name in line.tests})
    subprocess.run([sys.executable, "-m", "pytest", *options, *files], cwd=ROOT, check=False)


def count_tests(report: Path) -> dict[str, Counter[str]]:
    """Return how many tests passed, failed and were skipped, by file."""
    counts: dict[str, Counter[str]] = {name: Counter() for line in LINES.values() for name in line.tests}
    for case in ElementTree.parse(report).iter("testcase"):
        name = case.get("classname", "").removeprefix("tests.").replace(".", "/")
        kinds = {child.tag for child in case}
        ending = "failed" if kinds & {"failure", "error"} else "skipped" if "skipped" in kinds else "passed"
        counts.get(name, Counter())[ending] += 1
    return counts


def attack_lines(results: Mapping[str, dict[str, Any]]) -> Iterator[str]:
    """The lines of the table of attacks; one that was not run says so."""
    for name, before in BEFORE.items():
        if (result := results.get(name)) is None:
            yield f"| {name} | 0 | {before} | not run | |"
            continue
        found = ", ".join(f"{n} {kind}" for kind, n in result["found"].items() if n)
        after = f"**{found}**" if found else f"none {', none '.join(result['found'])}"
        yield f"| {result['attack']} | {result['tries']:,} | {before} | {after} | {result['notes']} |"


def numbered_lines(counts: Mapping[str, Counter[str]]) -> Iterator[str]:
    """The numbered lines, with what came of their tests."""
    for number, line in LINES.items():
        total = sum((counts[name] for name in line.tests), Counter[str]())
        after = ", ".join(f"{total[kind]} {kind}" for kind in ("failed", "passed", "skipped") if total[kind])
        after = f"**{after}**" if total["failed"] else after
        tests = ", ".join(f"`{name}`" for name in line.tests)
        yield f"| {number} | {line.what} | {line.before} | {after or 'not run'} | {tests} |"


def report(results: Mapping[str, dict[str, Any]], counts: Mapping[str, Counter[str]]) -> str:
    """The page."""
    attacks, tests = "\n".join(attack_lines(results)), "\n".join(numbered_lines(counts))
    return f"""# Attacks

Written by `make attacks`, from what `make kill`, `make fuzz`, `make soak` and `make together` found, and from the tests
of every fault that had been found before (commit b121af5). Anything that must not be is in bold.

## Under load

A call counts as acknowledged once it has returned, or its request was answered. It is lost if it is not in the storage
afterwards, and twice if it is there more than once.

| attack | tries | before | after | |
|---|---|---|---|---|
{attacks}

## What had broken

| | attack | before | tests now | in tests/ |
|---|---|---|---|---|
{tests}
"""


def main() -> int:
    """Run the command."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.fuzz.attacks", description=__doc__.partition("\n")[0]
    )
    parser.add_argument("-o", "--output", type=Path, default=ROOT / "docs" / "attacks.md")
    parser.add_argument("--build", type=Path, default=ROOT / "build", help="where the results are")
    parser.add_argument("--marks", default=MARKS, help="the tests to run, as pytest's -m")
    parser.add_argument(
        "--again", action="store_true", help="run no tests, and take the report of the last time"
    )
    given = parser.parse_args()
    tests = given.build / "attacks.xml"
    if not given.again:
        run_tests(given.marks, tests)
    text = report(load(given.build), count_tests(tests))
    given.output.write_text(text, encoding="utf-8")
    print(text)
    return int("**" in text)


if __name__ == "__main__":
    sys.exit(main())
