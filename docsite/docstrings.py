"""For the API reference: the lines `name: what it is` of our docstrings become a list."""

from __future__ import annotations

import re
from typing import Any

import griffe

# A name or several, a colon, a text; further lines of the text are indented.
ITEM = re.compile(r"^(\w+(?:, \w+)*): (\S.*)$")


def listed(text: str) -> str:
    """The docstring in Markdown."""
    made: list[str] = []
    inside = False
    for line in text.splitlines():
        if item := ITEM.match(line):
            if not inside:
                made.append("")
            names = ", ".join(f"`{name}`" for name in item[1].split(", "))
            made.append(f"- {names}: {item[2]}")
            inside = True
        elif inside and line.startswith("    "):
            made.append(line)
        else:
            if inside and line.strip():
                made.append("")
            inside = False
            made.append(line)
    return "\n".join(made)


class Listed(griffe.Extension):
    """Rewrites docstrings as they are read."""

    def on_instance(self, *, obj: Any, **_: Any) -> None:
        """Each module, class, function and attribute has one docstring at most."""
        if obj.docstring is not None:
            obj.docstring.value = listed(obj.docstring.value)
