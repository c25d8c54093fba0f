"""The reference of the command line has every command, option and word of `--help`."""

import re

import pytest
from docsite.commands import PLACE, _commands, reference
from tests.cli.run import good
from typer.main import get_command

from maxentry.cli.main import app

REFERENCE = reference()
NAMES = [name for name, _ in _commands(get_command(app))]


def part(name: str, text: str = REFERENCE) -> str:
    found = re.search(rf"^### maxentry {name}\n(.*?)(?=^##|\Z)", text, flags=re.MULTILINE | re.DOTALL)
    return found[1] if found else ""


def missing(name: str, text: str) -> set[str]:
    """Options that the help of a command names and its part of the reference does not."""
    shown = good(*name.split(), "--help", env={"COLUMNS": "200"}).stdout
    options = set(re.findall(r"(?<![\w-])--[a-z][\w-]*", shown)) - {"--help"}
    return options - set(re.findall(r"--[a-z][\w-]*", text))


def test_there_are_the_commands_of_the_lab_loop_and_those_of_studies() -> None:
    assert {"new", "ask", "tell", "status", "serve", "report", "compare"} <= set(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_a_command_is_there_with_all_its_options(name: str) -> None:
    assert "| `" in part(name) or name in ("study", "version", "demo")
    assert missing(name, part(name)) == set()


def test_an_option_that_is_left_out_is_noticed() -> None:
    assert missing("ask", part("ask").replace("--plates", "")) == {"--plates"}


def test_the_page_has_a_place_for_it() -> None:
    from tests.docs.test_pages import TEXTS

    assert TEXTS["commands.md"].count(PLACE) == 1
