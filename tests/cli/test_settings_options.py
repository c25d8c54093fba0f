"""Options of `new` and `set` say of a setting what its declaration says; `--help` is too quick to load that one."""

from dataclasses import fields
from enum import Enum
from typing import Any, get_args, get_type_hints

import pytest

from maxentry.campaign.settings import CHANGEABLE, Settings
from maxentry.cli import campaign

HINTS = {
    name: get_type_hints(command, include_extras=True)
    for name, command in (("new", campaign.new), ("set", campaign.change))
}
NAMES = {"range": "value_range"}  # `range` is a function of Python
DECLARED = {f.name: f.metadata for f in fields(Settings) if f.name not in ("name", "rows", "cols", "priors")}


def choices(kind: Any) -> list[str]:
    enums = [x for x in (kind, *get_args(kind)) if isinstance(x, type) and issubclass(x, Enum)]
    return [choice.value for choice in enums[0]] if enums else []


@pytest.mark.parametrize("command", ["new", "set"])
def test_every_setting_has_an_option_that_says_what_was_declared(command: str) -> None:
    wanted = set(DECLARED) if command == "new" else set(DECLARED) & set(CHANGEABLE)
    for name in wanted:
        kind, option = get_args(HINTS[command][NAMES.get(name, name)])
        declared = DECLARED[name]
        assert option.help == declared["help"], name
        assert choices(kind) == list(declared.get("choices", ())), name
        assert option.metavar == declared.get("metavar"), name
        if name != "rank":  # which is text, since it may be auto
            assert option.min == declared.get("least"), name


def test_set_has_no_option_for_what_cannot_change() -> None:
    assert not (set(DECLARED) - set(CHANGEABLE)) & set(HINTS["set"])
