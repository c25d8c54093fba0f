"""The script of `make wheel` runs every command, and judges refusals for want of an extra."""

from __future__ import annotations

import pytest
from tests.cli.run import APP

from release.commands import LONGEST, commands_without_line, find_problem


def test_every_command_has_a_line() -> None:
    assert commands_without_line(list(APP.commands)) == []
    assert commands_without_line(["ask", "new-command"]) == ["new-command"]


SENTENCE = "The server needs uvicorn: pip install 'maxentry[server]'."


@pytest.mark.parametrize(
    ("code", "said", "problem"),
    [
        (1, SENTENCE, ""),
        (1, f"Something before.\n{SENTENCE}\n", ""),
        (70, SENTENCE, "exit code 1, got 70"),
        (1, f"Traceback (most recent call last):\n{SENTENCE}", "traceback"),
        (1, SENTENCE.replace("[server]", ""), "expected the extra server"),
        (1, "", "expected the extra server"),
        (1, "x" * LONGEST + SENTENCE, "characters at most"),
    ],
)
def test_a_refusal_is_one_sentence_with_the_extra(code: int, said: str, problem: str) -> None:
    assert problem in find_problem(code, said, "server")
    assert bool(problem) == bool(find_problem(code, said, "server"))
