"""What MkDocs calls while it builds the site."""

from __future__ import annotations

import re
import sys
import tempfile
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT))  # `mkdocs build` does not put it there

from docsite import blocks, commands, formulas, notebooks  # noqa: E402
from docsite.play import Played, play  # noqa: E402

OUTPUTS = "outputs"  # set at the head of a page whose blocks are shown with what they say
_command = "build"
_letters: set[str] = set()  # of all formulas


def on_startup(command: str, dirty: bool) -> None:
    """Remember whether somebody is writing (`mkdocs serve`): then nothing is run."""
    global _command
    _command = command


def on_files(files: Files, config: Any) -> Files:
    """Notebooks become pages, and the tables of the benchmarks join them."""
    for table in sorted((ROOT / "benchmarks").glob("*.md")):
        text = table.read_text(encoding="utf-8").replace("](../docs/", "](../")
        files.append(File.generated(config, f"benchmarks/{table.name}", content=text))
    for picture in sorted((ROOT / "benchmarks").glob("*.png")):
        files.append(File.generated(config, f"benchmarks/{picture.name}", abs_src_path=str(picture)))
    for notebook in sorted((ROOT / "docs" / "notebooks").glob("*.ipynb")):
        _add_notebook(notebook, files, config)
    return files


def _add_notebook(path: Path, files: Files, config: Any) -> None:
    if _command == "build":
        with tempfile.TemporaryDirectory() as folder:
            made = notebooks.page(notebooks.executed(path, Path(folder)), path.stem)
    else:
        import nbformat

        made = notebooks.page(nbformat.read(path, as_version=4), path.stem)
    download = f"\n\n[Download this notebook]({path.name})\n"
    files.append(File.generated(config, f"notebooks/{path.stem}.md", content=made.text + download))
    for name, content in made.pictures.items():
        files.append(File.generated(config, f"notebooks/{name}", content=content))


def on_page_markdown(markdown: str, page: Any, config: Any, files: Files) -> str:
    """Show what code says, write out the commands, and point links at the pages of this site."""
    if page.meta.get(OUTPUTS) and _command == "build":
        markdown = _with_outputs(markdown, page, config, files)
    markdown = blocks.shown(markdown).replace(commands.PLACE, commands.reference())
    markdown = markdown.replace("](../benchmarks/", "](benchmarks/")
    return re.sub(r"\]\((notebooks/\w+)\.ipynb\)", r"](\1.md)", markdown)


def _with_outputs(markdown: str, page: Any, config: Any, files: Files) -> str:
    lines, grown = markdown.splitlines(), 0
    with tempfile.TemporaryDirectory(prefix="maxentry-docs-") as folder:
        for played in play(markdown, Path(folder), page.file.src_uri):
            said = _shown(played, page.file.src_uri.removesuffix(".md"), config, files)
            at = blocks.end_of(played.block) + grown
            lines[at:at] = said
            grown += len(said)
    return "\n".join(lines) + "\n"


def _shown(played: Played, name: str, config: Any, files: Files) -> list[str]:
    """Lines that show what a block said and drew."""
    made: list[str] = []
    if played.said.strip():
        made += ["", '```{ .text .output title="Output" }', *played.said.rstrip().splitlines(), "```"]
    for picture in played.pictures:
        uri = f"pictures/{name}-{picture.name}"
        files.append(File.generated(config, uri, content=picture.read_bytes()))
        made += ["", f"![{picture.stem}]({uri}){{ .drawn }}"]
    return [*made, ""] if made else []


def on_page_content(html: str, page: Any, config: Any, files: Files) -> str:
    """Draw the formulas."""
    made = formulas.drawn(html)
    _letters.update(formulas.letters(made))
    return made


def on_post_build(config: Any) -> None:
    """Put the font of the formulas beside the style sheet."""
    (Path(config.site_dir) / "math.woff").write_bytes(formulas.font(_letters))
