"""Running the command line in a test: inside this process, or as a user would, in one of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Any

from typer import testing
from typer.main import get_command
from typer.testing import CliRunner, Result

from maxentry.cli.main import app

COMMAND = [sys.executable, "-m", "maxentry"]
build = cache(get_command)
APP: Any = build(app)
testing._get_command = build  # type: ignore[attr-defined]  # to build it takes longer than most commands


def run(*words: object, stdin: str | bytes | None = None, env: dict[str, str] | None = None) -> Result:
    """Run `maxentry …` in this process; nothing but our own endings may come out."""
    return CliRunner().invoke(app, [str(word) for word in words], input=stdin, env=env)


def good(*words: object, **options: Any) -> Result:
    """Run a command that must do what it says."""
    result = run(*words, **options)
    assert result.exit_code == 0, result.stderr + result.stdout
    return result


def answer(*words: object, **options: Any) -> Any:
    """What a command answers as JSON: one document on stdout and nothing else."""
    return json.loads(good(*words, "--json", **options).stdout)


def refused(*words: object, code: int = 1, **options: Any) -> str:
    """The one sentence of a command that must be refused, with nothing on stdout."""
    result = run(*words, **options)
    assert result.exit_code == code, (result.exit_code, result.stderr, result.stdout)
    assert result.stdout == ""
    assert "Traceback" not in result.stderr
    return result.stderr.strip()


def check_quiet(said: str) -> None:
    """Nothing went wrong in a process that said this on stderr; what libraries warn of is not held against it."""
    for sign in ("Traceback", "Exception ignored", "Broken pipe", "rror:"):
        assert sign not in said, said


def process(
    *words: object, stdin: bytes | None = None, cwd: Path | None = None, env: dict[str, str] | None = None
) -> subprocess.CompletedProcess[bytes]:
    """Run `python -m maxentry …` in a process of its own."""
    return subprocess.run(
        [*COMMAND, *map(str, words)],
        input=stdin,
        capture_output=True,
        cwd=cwd,
        env={**os.environ, **(env or {})},
        timeout=900,
        check=False,
    )
