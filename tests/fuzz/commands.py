"""Commands of the command line with odd words, in process; files lie in the scratch folder."""

from __future__ import annotations

import contextlib
import os
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from random import Random
from typing import Any, NoReturn
from unittest.mock import patch

from tests.cli.run import APP, good, run
from tests.fuzz import values
from tests.fuzz.cases import Case, Foreign, Refusal

from maxentry import compare, demo
from maxentry.cli.output import ExitCode
from maxentry.errors import DataError
from maxentry.server.app import Server

AS_NEW = 60
WORDS = (
    "1", "0", "-1", "2", "0.5", "nan", "inf", "1e300", "a", "r1", "c1", "r1,r2", "a,b,c", "3", "x", "x.csv",
    "bad.csv", "rows.txt", "x.npz", "lab.db", "nowhere/x.csv", ".", "/", "/dev/null", "/dev/zero", "-", "--", "auto",
    "log", "logit(0,1)", "percent", "balanced", "rows", "cols", "0,100", ",", "12h", "99999999999999999999w",
    "row,col,value", "parquet", "é", "\x00", "\ud800", "x" * 400, "a\nb", "=1+1", "sqlite://", "postgresql://x@/y",
    "sqlite:////", "http://x", "~", "~nobody/x",
)  # fmt: skip
ARGUMENTS = {
    "n": ("1", "2"), "name": ("y", "z"), "labels": ("r9", "c9"), "ids": ("1", "2"), "id": ("1", "2"), "value": ("0.5",),
    "data": ("x.csv", "wide.csv"), "table": ("x.csv", "wide.csv"), "words": ("1", "0.5"), "shape": ("3x4",),
    "file": ("b.db", "c.db"), "source": ("lab.db",), "target": ("d.db", "e.db"),
}  # fmt: skip
SLOW = {"report": 0.05, "posterior": 0.3, "complete": 0.3, "status": 0.5}  # how often, beside the others
BALANCED = ("--acquisition", "balanced")
TABLE = "row,col,value\nr1,c1,0.5\nr2,c2,1.5\nr3,c1,2.5\n"


class Commands:
    """Every command, with words and options drawn from lists."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "desk"
        self.made = 0
        self.commands = {
            (name, *inner): each
            for name, group in APP.commands.items()
            for inner, each in (
                [((k,), v) for k, v in getattr(group, "commands", {}).items()] or [((), group)]
            )
        }
        self.lay_out()

    def lay_out(self) -> None:
        """Lay out the desk anew: a campaign with values and a batch, and tables."""
        os.chdir(self.folder.parent)
        shutil.rmtree(self.folder, ignore_errors=True)
        self.folder.mkdir()
        os.chdir(self.folder)
        Path("x.csv").write_text(TABLE)
        Path("bad.csv").write_bytes(b"row;col\n\xff\x00,,,\n")
        Path("wide.csv").write_text("row,c1,c2,c3\nr1,1,,2\nr2,,3,4\nr3,5,6,\n")
        Path("rows.txt").write_text("r1\nr2\nr3\n")
        good(
            "new",
            "x",
            "--rows",
            "rows.txt",
            "--col",
            "c1",
            "--col",
            "c2",
            "--seed",
            "1",
            *BALANCED,
            "-s",
            "lab.db",
        )
        good("ask", "3", "-s", "lab.db")
        good("tell", "x.csv", "-s", "lab.db")

    def case(self, rng: Random) -> Case:
        self.made += 1
        if self.made % AS_NEW == 0:
            self.lay_out()
        names = tuple(self.commands)
        (name,) = rng.choices(names, [SLOW.get(each[0], 1.0) for each in names])
        words: list[str] = [*name]
        for parameter in self.commands[name].params:
            if parameter.name == "help" or rng.random() < (
                0.85 if parameter.param_type_name == "option" else 0.3
            ):
                continue
            words += (
                self.option(rng, parameter)
                if parameter.param_type_name == "option"
                else [self.argument(rng, parameter.name)]
            )
        if "--storage" in {o for p in self.commands[name].params for o in p.opts} and rng.random() < 0.98:
            words += ["--storage", "lab.db" if rng.random() < 0.92 else self.word(rng)]
        stdin = values.change_bytes(rng, TABLE.encode()) if rng.random() < 0.2 else b""
        return Case(f"maxentry {' '.join(map(ascii, words))}", lambda: command(words, stdin), self.digest)

    def option(self, rng: Random, parameter: Any) -> list[str]:
        name = rng.choice((*parameter.opts, *parameter.secondary_opts))
        if parameter.is_flag or parameter.name in ("storage",):
            return [name] if parameter.is_flag else []
        choices = getattr(getattr(parameter, "type", None), "choices", None)
        if choices and rng.random() < 0.8:
            return [name, str(getattr(rng.choice(list(choices)), "value", "x"))]
        return [name, self.word(rng)]

    def argument(self, rng: Random, name: str) -> str:
        return rng.choice(ARGUMENTS.get(name, WORDS)) if rng.random() < 0.5 else self.word(rng)

    def word(self, rng: Random) -> str:
        return rng.choice(WORDS) if rng.random() < 0.8 else rng.choice(values.TEXTS)

    def digest(self) -> object:
        """What lies on the desk: files by their bytes, databases by what they hold."""
        found = {}
        for path in sorted(self.folder.rglob("*")):
            if path.is_file() and not path.name.endswith(("-wal", "-shm")):
                found[str(path)] = contents(path)
        return found


def contents(path: Path) -> object:
    """The rows of a database, whatever its name; the bytes of any other file."""
    if not path.read_bytes().startswith(b"SQLite format 3\0"):
        return path.read_bytes()
    with (
        contextlib.suppress(sqlite3.Error),
        contextlib.closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as db,
    ):
        return "\n".join(db.iterdump())
    return path.read_bytes()


@contextlib.contextmanager
def ended_early() -> Iterator[None]:
    """Leave out what waits or takes long by design: serving, the demonstration, the runs of a comparison."""
    with ExitStack() as changes:
        changes.enter_context(patch.object(Server, "run", lambda self, sockets=None: None))
        changes.enter_context(patch.object(demo, "main", lambda: None))
        changes.enter_context(patch.object(compare, "run_all", refuse_runs))
        yield


def refuse_runs(cells: list[Any], **options: Any) -> NoReturn:
    raise DataError(f"expected to run nothing, got {len(cells)} runs.")


def command(words: list[str], stdin: bytes) -> None:
    """Run a command; a refusal and a fault are raised as such."""
    with ended_early():
        result = run(*words, stdin=stdin)
    said = result.stderr.strip()
    if result.exit_code == ExitCode.BUG or "Traceback" in result.output + said:
        raise Foreign(said)
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise Foreign(f"{type(result.exception).__name__}: {result.exception}") from result.exception
    if result.exit_code:
        # Two lines on how a command is used, or one on what is compared, come before it.
        more = result.exit_code == ExitCode.USAGE or "compare" in words
        raise Refusal(said.splitlines()[-1] if more and said else said)
