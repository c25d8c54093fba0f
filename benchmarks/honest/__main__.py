"""Each promise of the defaults as a line of a table: asked, before, now.

    python -m benchmarks.honest                      # all checks that have no result yet, then benchmarks/honest.md
    python -m benchmarks.honest coverage --again     # one check, computed anew
    python -m benchmarks.honest coverage --quick     # small; prints only
    PYTHONPATH=../old/src python -m benchmarks.honest coverage --label before

A check is a function of a module beside this one: it takes `quick` and returns lines. Results are kept in
`benchmarks/honest/results`, one file a check and version. "Before" is commit b121af5.
"""

import argparse
import json
from pathlib import Path

from benchmarks.honest.line import Check, Line

RESULTS = Path(__file__).parent / "results"
PAGE = Path(__file__).parents[1] / "honest.md"
MODULES = ("ranks", "scales", "chains", "promises", "choosing")


def find_checks() -> dict[str, Check]:
    from contextlib import suppress
    from importlib import import_module

    checks: dict[str, Check] = {}
    for name in MODULES:
        with suppress(ImportError):  # an older version may lack what a module needs
            checks |= import_module(f"benchmarks.honest.{name}").CHECKS
    return checks


def read(name: str, label: str) -> list[Line] | None:
    file = RESULTS / f"{name}.{label}.json"
    return [Line(**line) for line in json.loads(file.read_text())] if file.is_file() else None


def write_page(names: list[str]) -> str:
    text = f"{__doc__.splitlines()[0]}\n\nWritten by `python -m benchmarks.honest`. Before: commit b121af5.\n"
    for name in names:
        now, before = read(name, "now"), {line.what: line for line in read(name, "before") or []}
        if now is None:
            continue
        text += f"\n## {name}\n\n| | asked | before | now |\n|---|---|---|---|\n"
        for line in now:
            old = before.get(line.what)
            text += f"| {line.what} | {line.asked} | {old.value if old else '–'} | {line.value} |\n"
    return text


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("check", nargs="*")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--again", action="store_true")
    parser.add_argument("--label", default="now", choices=["now", "before"])
    wish, checks = parser.parse_args(), find_checks()
    for name in wish.check or checks:
        if not wish.again and not wish.quick and read(name, wish.label) is not None:
            continue
        lines = checks[name](wish.quick)
        for line in lines:
            print(f"{name}: {line.what}: {line.value} (asked {line.asked})", flush=True)
        if not wish.quick:
            RESULTS.mkdir(exist_ok=True)
            kept = json.dumps([line._asdict() for line in lines], indent=1, ensure_ascii=False)
            (RESULTS / f"{name}.{wish.label}.json").write_text(kept + "\n")
    if not wish.quick:
        PAGE.write_text(write_page(list(checks)))


if __name__ == "__main__":
    main()
