"""Every block of code in the documents runs, in order, in a folder of its own."""

import ast
import importlib
import json
import re
import shlex
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
import typer
from docsite import example
from docsite.blocks import PYTHON, SHELL, Block, blocks, shown, unfenced
from docsite.play import BlockFailed, play
from tests.cli.run import APP

DOCS = Path(__file__).parents[2] / "docs"
PAGES = sorted(DOCS.glob("*.md"))
TEXTS = {page.name: page.read_text(encoding="utf-8") for page in PAGES}
WITH_CODE = [name for name, text in TEXTS.items() if any(b.runs or b.title for b in blocks(text))]
USAGE = typer.BadParameter.__mro__[1]  # whichever copy of click Typer has: its UsageError
NOTEBOOKS = [path.name for path in sorted((DOCS / "notebooks").glob("*.ipynb"))]
# The languages of a block: two that run, and those that are shown.
KINDS = {*SHELL, *PYTHON, "csv", "text", "json"}
# Blocks that are not run, each with its reason on the page; more are not wanted.
NOT_RUN = 9


def code_of(name: str) -> list[Block]:
    """The blocks of a page, of the README, or the code cells of a notebook."""
    if name in NOTEBOOKS:
        cells = json.loads((DOCS / "notebooks" / name).read_text(encoding="utf-8"))["cells"]
        return [
            Block(k, "python", re.sub(r"^[%!].*$", "", "".join(cell["source"]), flags=re.MULTILINE))
            for k, cell in enumerate(cells)
            if cell["cell_type"] == "code"
        ]
    return blocks(TEXTS[name] if name in TEXTS else (DOCS.parent / name).read_text(encoding="utf-8"))


def missing_names(tree: ast.Module) -> list[str]:
    """Names that code imports from maxentry, or takes from it with a dot, and that are not there."""
    named = []
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and str(node.module).split(".")[0] == "maxentry":
            named += [(str(node.module), alias.name) for alias in node.names]
        elif isinstance(node, ast.Attribute) and ast.unparse(node.value) == "maxentry":
            named.append(("maxentry", node.attr))
    return [f"{module}.{name}" for module, name in named if not is_there(module, name)]


def is_there(module: str, name: str) -> bool:
    return hasattr(importlib.import_module(module), name) or find_spec(f"{module}.{name}") is not None


def misspelt(script: str) -> list[str]:
    """Lines of `maxentry` in a script that the command line has no command or option for."""
    wrong = []
    for words in re.findall(r"\bmaxentry ([a-z][^|;&><\n)]*)", re.sub(r"\\\n|#.*", " ", script)):
        try:
            parse(APP, shlex.split(words, comments=True))
        except USAGE:
            wrong.append(words.strip())
    return wrong


def parse(command: Any, words: list[str], parent: Any = None) -> None:
    """Read the words of a command, without their types and without running it."""
    # Under its parent: a command remembers the names of its help option, and they come from there.
    context = command.context_class(command, parent, "maxentry", **command.context_settings)
    if hasattr(command, "resolve_command"):
        _, found, rest = command.resolve_command(context, words)
        assert found is not None
        parse(found, rest, context)
    else:
        command.make_parser(context).parse_args(words)


def not_run(texts: dict[str, str]) -> list[tuple[str, Block]]:
    return [(name, block) for name, text in texts.items() for block in blocks(text) if block.not_run]


@pytest.mark.pages
@pytest.mark.parametrize("name", WITH_CODE)
def test_the_blocks_of_a_page_run(name: str, tmp_path: Path) -> None:
    played = list(play(TEXTS[name], tmp_path, f"docs/{name}"))
    assert len(played) == sum(block.runs for block in blocks(TEXTS[name]))


@pytest.mark.parametrize("name", [*WITH_CODE, "README.md", *NOTEBOOKS])
def test_code_compiles_and_names_what_there_is(name: str) -> None:
    for block in code_of(name):
        if block.kind in PYTHON:
            assert missing_names(ast.parse(block.code)) == [], f"{name}, line {block.line}"
        elif block.kind in SHELL:
            assert misspelt(block.code) == [], f"{name}, line {block.line}"


def test_what_is_missing_and_what_is_misspelt_is_seen() -> None:
    assert missing_names(ast.parse("import maxentry\nmaxentry.fill(1)")) == ["maxentry.fill"]
    assert missing_names(ast.parse("from maxentry import complete, fill")) == ["maxentry.fill"]
    assert misspelt("maxentry asc 8\nmaxentry ask 8 --jsn | cat\n") == ["asc 8", "ask 8 --jsn"]
    assert misspelt("PORT=1 maxentry ask 8 --json > x && maxentry study compare a.csv \\\n  --rank 2\n") == []


def test_few_blocks_are_not_run_and_each_says_why(capsys: pytest.CaptureFixture[str]) -> None:
    found = not_run(TEXTS)
    for name, block in found:
        print(f"{name}, line {block.line}: {block.not_run}")
    assert len(found) <= NOT_RUN
    assert all(len(str(block.not_run).split()) >= 3 for _, block in found)
    # A marker that belongs to no block would go unnoticed.
    marks = {name: len(re.findall("<!-- not run", text)) for name, text in TEXTS.items()}
    assert marks == {name: sum(b.not_run is not None for b in blocks(text)) for name, text in TEXTS.items()}


@pytest.mark.parametrize("name", TEXTS)
def test_code_is_in_blocks_that_are_run(name: str) -> None:
    assert unfenced(TEXTS[name]) == []
    assert {block.kind for block in blocks(TEXTS[name])} <= KINDS


def test_the_table_of_the_first_page_is_the_simulated_one() -> None:
    (table,) = (block for block in blocks(TEXTS["start.md"]) if block.title == "yields.csv")
    assert table.code == example.table()


BROKEN = """
```python
x = 1
```

```python
assert x == 2
```
"""


def test_a_broken_block_fails_and_its_line_is_named(tmp_path: Path) -> None:
    with pytest.raises(BlockFailed, match="page, line 7: AssertionError"):
        list(play(BROKEN, tmp_path))
    assert len(list(play(BROKEN.replace("== 2", "== 1"), tmp_path))) == 2


@pytest.mark.pages
@pytest.mark.parametrize("line", ["maxentry nonsense", "false; true", "false | cat", "maxentry ask 2"])
def test_a_broken_command_fails(line: str, tmp_path: Path) -> None:
    with pytest.raises(BlockFailed, match=r"line 2: exit code \d"):
        list(play(f"```sh\n{line}\n```\n", tmp_path))


@pytest.mark.pages
def test_files_environment_and_marks(tmp_path: Path) -> None:
    page = """
```csv title="a.csv"
1
```
<!-- somebody does this
```sh
export WHO=$(cat a.csv)
```
-->

    ```sh
    echo "$WHO and more"
    ```

<!-- not run: it would never end -->
```sh
sleep 1000
```
"""
    assert [played.said for played in play(page, tmp_path)] == ["", "1 and more\n"]
    assert "somebody" not in shown(page)
    assert "echo" in shown(page)
    assert "sleep" in shown(page + page)  # a mark is no beginning of what is hidden
    assert shown(page + page).count("sleep") == 2
    assert [block.not_run for _, block in not_run({"page": page})] == ["it would never end"]


@pytest.mark.parametrize("name", TEXTS)
def test_only_what_is_within_comments_is_hidden(name: str) -> None:
    hidden = len(re.findall(r"^```\n-->$", TEXTS[name], flags=re.MULTILINE))
    assert len(blocks(shown(TEXTS[name]))) == len(blocks(TEXTS[name])) - hidden


def test_code_that_is_only_indented_is_found() -> None:
    assert unfenced("Text:\n\n    x = a + b\n\n    maxentry ask 8\n") == ["maxentry ask 8"]
    assert unfenced("Text:\n\n    maxentry ask 8\n    x = 1\n") == ["maxentry ask 8"]
    assert unfenced("Text:\n\n```sh\n    maxentry ask 8\n```\n") == []
