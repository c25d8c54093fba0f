"""The code blocks of a page, as they stand in its Markdown."""

from __future__ import annotations

import re
import textwrap
from typing import NamedTuple

FENCE = re.compile(r"^(?P<indent> *)```(?P<kind>[\w-]+)(?P<rest>.*)$")
NOT_RUN = re.compile(r"<!-- not run: (?P<why>.+?) -->")
# What nobody needs to see, such as somebody filling in a plate: a block inside a comment. It is run like any other.
HIDDEN = re.compile(r"^<!-- (?:(?!-->)[^\n])*\n```.*?^```\n-->\n", flags=re.MULTILINE | re.DOTALL)
INDENTED = re.compile(r"(?:^|\n\n)((?: {4}[^\n]*\n?|\n(?= {4}))+)")
SHELL, PYTHON = ("sh",), ("python",)
COMMANDS = ("maxentry ", "pip ", "python ", "make ", "curl ", "mkdocs ", ".venv/bin/", "import ", "from ")


class Block(NamedTuple):
    """A fenced block: the line its code begins on, its language, the file it is to be kept in, why it is not run."""

    line: int
    kind: str
    code: str
    title: str | None = None
    not_run: str | None = None

    @property
    def runs(self) -> bool:
        """Whether it is code, and can be run."""
        return self.kind in SHELL + PYTHON and self.title is None and self.not_run is None


def blocks(text: str) -> list[Block]:
    """The blocks in order, hidden ones too."""
    found, lines, k = [], text.splitlines(), 0
    while k < len(lines):
        fence = FENCE.match(lines[k])
        if fence is None:
            k += 1
            continue
        end = next(e for e in range(k + 1, len(lines)) if lines[e].strip() == "```")
        code = textwrap.dedent("\n".join(lines[k + 1 : end])) + "\n"
        title = re.search(r'title="(.+?)"', fence["rest"])
        marked = NOT_RUN.search(lines[k - 1]) if k else None
        found.append(Block(k + 2, fence["kind"], code, title and title[1], marked["why"] if marked else None))
        k = end + 1
    return found


def end_of(block: Block) -> int:
    """The number of lines up to and with the block's closing fence."""
    return block.line + block.code.count("\n")


def unfenced(text: str) -> list[str]:
    """Indented blocks that look like code: these would be shown and never run."""
    without = re.sub(r"^( *)```.*?^\1```$", "", text, flags=re.MULTILINE | re.DOTALL)
    lines = [line.strip() for found in INDENTED.findall(without) for line in found.splitlines()]
    return [line for line in lines if line.startswith(COMMANDS)]


def shown(text: str) -> str:
    """The page without its hidden blocks."""
    return HIDDEN.sub("", text)
