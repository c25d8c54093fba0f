"""Options of `new` and `set`, and those settings that other commands have, come from the declarations in `Settings`."""

from dataclasses import fields
from typing import Any

import pytest
import typer
from tests.cli.run import APP, refused

from maxentry.campaign.settings import CHANGEABLE, Settings
from maxentry.cli.options import PANELS

DECLARED = {f.name: f for f in fields(Settings) if f.name not in ("name", "rows", "cols")}
COMMANDS = {
    "new": set(DECLARED),
    "set": set(CHANGEABLE),
    "ask": {"plates", "per_row", "per_col"},
    "complete": {"rank", "noise", "transform", "effects", "seed"},
    "design": {"seed"},
    "compare": {"rank", "noise", "transform"},
}


def options_of(command: str) -> dict[str, Any]:
    return {p.name: p for p in APP.commands[command].params if p.param_type_name == "option"}


@pytest.mark.parametrize("command", COMMANDS)
def test_every_setting_has_an_option_that_says_what_was_declared(command: str) -> None:
    known = options_of(command)
    assert COMMANDS[command] <= set(known)
    for name in COMMANDS[command]:
        declared, option = DECLARED[name].metadata, known[name]
        flag = "--" + name.replace("_", "-")
        both = isinstance(DECLARED[name].default, bool)
        assert [*option.opts, *option.secondary_opts] == ([flag, f"--no-{flag[2:]}"] if both else [flag])
        assert option.help.startswith(declared["help"]), name
        assert option.metavar == declared.get("metavar"), name
        assert not option.required
        context = typer.Context(APP.commands[command])
        shown = option.get_help_record(context)[0]
        assert all(choice in shown for choice in declared.get("choices", ())), name


def test_set_has_no_option_for_what_cannot_change() -> None:
    assert not (set(DECLARED) - set(CHANGEABLE)) & set(options_of("set"))


@pytest.mark.parametrize("command", ["new", "complete"])
def test_what_is_not_given_has_the_declared_default(command: str) -> None:
    for name, option in options_of(command).items():
        default = DECLARED[name].default if name in COMMANDS[command] else None
        if isinstance(default, str | bool):
            assert getattr(option.default, "value", option.default) == default
    assert all(options_of("set")[name].default is None for name in CHANGEABLE)


@pytest.mark.parametrize(
    ("option", "choices"),
    [
        ("--scale", "'auto', 'columns', 'rows', 'none'"),
        ("--effort", "'quick', 'normal', 'thorough'"),
        ("--noise", "'auto', 'gaussian', 'student', 'columns', 'rows'"),
    ],
)
def test_a_choice_that_is_none_is_answered_by_those_there_are(option: str, choices: str) -> None:
    for command in ("complete", "new"):
        text = refused(command, "x", option, "odd: is not one of it.", code=2)
        expected = f"Invalid value for '{option}': expected one of {choices}, got 'odd: is not one of it.'."
        assert text.splitlines()[-1] == expected


def test_every_setting_stands_in_one_panel_of_the_help() -> None:
    listed = [name for inside in PANELS.values() for name in inside]
    assert sorted(listed) == sorted(DECLARED)
    panels = {name: option.rich_help_panel for name, option in options_of("new").items()}
    assert all(panels[name] == panel for panel, inside in PANELS.items() for name in inside)
    assert options_of("ask")["per_row"].rich_help_panel is None
