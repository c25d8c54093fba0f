"""Notebooks, executed and written as pages."""

from __future__ import annotations

import base64
import os
import tempfile
from pathlib import Path
from typing import Any, NamedTuple

import nbformat
from nbclient import NotebookClient
from traitlets.config import Config

SECONDS = 900  # for one cell, on a busy machine


class Page(NamedTuple):
    """A notebook in Markdown, and its pictures by name."""

    text: str
    pictures: dict[str, bytes]


def executed(path: Path, folder: Path) -> Any:
    """The notebook run from its first cell to its last, in this folder; a cell that fails raises."""
    notebook = nbformat.read(path, as_version=4)
    with tempfile.TemporaryDirectory() as place:
        # Sockets in a folder: a port that is free when it is chosen may be taken by the time it is opened.
        sockets = {} if os.name == "nt" else {"transport": "ipc", "ip": f"{place}/kernel"}
        client = NotebookClient(
            notebook, timeout=SECONDS, startup_timeout=SECONDS, kernel_name="python3",
            resources={"metadata": {"path": str(folder)}}, config=Config(KernelManager=sockets),
        )  # fmt: skip
        client.execute()
    return notebook


def page(notebook: Any, name: str) -> Page:
    """The cells in order, each with what came out of it."""
    parts: list[str] = []
    pictures: dict[str, bytes] = {}
    for cell in notebook.cells:
        if cell.cell_type == "markdown":
            parts.append(cell.source)
            continue
        parts.append(f"```python\n{cell.source}\n```")
        for output in cell.get("outputs", []):
            parts.append(_shown(output, f"{name}-{len(pictures) + 1}.png", pictures))
    return Page("\n\n".join(part for part in parts if part) + "\n", pictures)


def _shown(output: Any, name: str, pictures: dict[str, bytes]) -> str:
    if output.output_type == "stream":
        return _text(output.text) if output.name == "stdout" else ""
    data = output.get("data", {})
    if "image/png" in data:
        pictures[name] = base64.b64decode(data["image/png"])
        return f"![What the cell above draws]({name}){{ .drawn }}"
    if "text/html" in data:
        return f'<div class="cell-output">{_one_block(data["text/html"])}</div>'
    return _text(data.get("text/plain", ""))


def _one_block(html: str) -> str:
    """Without blank lines, at which Markdown would end the block."""
    return "\n".join(line for line in html.splitlines() if line.strip())


def _text(text: str) -> str:
    return f"```text\n{text.rstrip()}\n```" if text.strip() else ""
