"""Run every command of a wheel that was installed without extras."""

from __future__ import annotations

import csv
import subprocess
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from release.environments import StepError, run

LONGEST = 300  # characters of a refusal
LIST = """
import typer
from maxentry.cli.main import app
print(*typer.main.get_command(app).commands)
"""
PLACE = "import maxentry; print(maxentry.__file__)"


class Line(NamedTuple):
    """A command; `extra` is the one it must name in its refusal, `before` prepares the folder."""

    words: str
    extra: str = ""
    before: Callable[[Path], None] | None = None


def fill_plate(folder: Path) -> None:
    """Write a value for every entry of plate.csv, as people do by hand."""
    path = folder / "plate.csv"
    with path.open(encoding="utf-8", newline="") as file:
        lines = list(csv.DictReader(file))
    for k, line in enumerate(lines):
        line["value"] = str(1.5 + 0.5 * (k % 5) + 0.1 * k)
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, lines[0])
        writer.writeheader()
        writer.writerows(lines)


SCRIPT = (
    Line("version"),
    Line("design 6x5 12 -o first.csv"),
    Line("new lab --shape 6x5 --seed 1"),
    Line("list"),
    Line("ask 14 -o plate.csv"),
    Line("withdraw 13"),
    Line("fail 14"),
    Line("tell plate.csv", before=fill_plate),
    Line("correct 1 2.5"),
    Line("add-rows extra"),
    Line("add-cols extra"),
    Line("remove-rows extra"),
    Line("remove-cols extra"),
    Line("set --budget 40"),
    Line("status"),
    Line("ask 2 -o more.csv"),
    Line("history"),
    Line("export -o values.csv"),
    Line("posterior -o full.csv"),
    Line("posterior -o full.xlsx"),
    Line("ask 2 -o more.xlsx"),
    Line("tell more.xlsx"),
    Line("answer best -o best.csv"),
    Line("complete values.csv -o complete.csv"),
    Line("check"),
    Line("backup saved.db"),
    Line("copy saved.db copy.db"),
    Line("rename other --storage copy.db"),
    Line("delete other --confirm other --storage copy.db"),
    Line("demo"),
    Line("report -o page.html", extra="plots"),
    Line("compare complete.csv", extra="studies"),
    Line("study compare complete.csv", extra="studies"),
    Line("serve", extra="server"),
    Line("ask 1 -o plate.parquet", extra="parquet"),
    Line("list --storage postgresql://localhost/none", extra="postgres"),
)


def commands_without_line(commands: Sequence[str]) -> list[str]:
    """Return the commands that the script does not run."""
    return sorted(set(commands) - {line.words.split()[0] for line in SCRIPT})


def check_commands(python: Path, folder: Path) -> Iterator[str]:
    """Show the help of every command, then run the script in `folder`; yield a line about each run."""
    place = Path(run([python, "-c", PLACE], cwd=folder).strip())
    if python.parents[1] not in place.parents:
        raise StepError(f"expected maxentry of {python.parents[1]}, got {place}")
    commands = run([python, "-c", LIST], cwd=folder).split()
    missing = commands_without_line(commands)
    if missing:
        raise StepError(
            f"expected a line of release/commands.py for every command, got none for {', '.join(missing)}"
        )
    program = python.with_name("maxentry")
    for command in ["", *commands]:
        text = run([program, *command.split(), "--help"], cwd=folder)
        if "Usage:" not in text:
            raise StepError(f"expected a help of {command}, got {text[:LONGEST]!r}")
    yield f"--help of {len(commands)} commands"
    for line in SCRIPT:
        yield check_line(program, line, folder)


def check_line(program: Path, line: Line, folder: Path) -> str:
    """Run one line; raise StepError unless it succeeds or, with `extra`, refuses in one sentence that names it."""
    if line.before is not None:
        line.before(folder)
    if not line.extra:
        run([program, *line.words.split()], cwd=folder)
        return f"{line.words}: done"
    done = subprocess.run(
        [program, *line.words.split()], cwd=folder, capture_output=True, text=True, timeout=900, check=False
    )
    problem = find_problem(done.returncode, done.stderr, line.extra)
    if problem:
        raise StepError(f"{line.words}: {problem}\n{done.stderr[-2000:]}")
    return f"{line.words}: {done.stderr.strip().splitlines()[-1]}"


def find_problem(code: int, stderr: str, extra: str) -> str:
    """Return what is wrong with a refusal for want of an extra, or an empty text."""
    last = (stderr.strip().splitlines() or [""])[-1]
    if code != 1:
        return f"expected exit code 1, got {code}"
    if "Traceback" in stderr:
        return "expected a sentence, got a traceback"
    if f"pip install 'maxentry[{extra}]'" not in last:
        return f"expected the extra {extra} in the last line, got {last!r}"
    return f"expected {LONGEST} characters at most, got {len(last)}" if len(last) > LONGEST else ""
