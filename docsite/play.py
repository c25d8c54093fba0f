"""Running the code blocks of a page in order, in a folder of its own, as a reader would."""

from __future__ import annotations

import contextlib
import io
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from docsite.blocks import PYTHON, Block, blocks

ADDRESS = "127.0.0.1:8765"  # where pages say that the server is; it runs on a port that is free
PATIENCE = 900  # seconds for a block of shell commands, on a busy machine
PICTURES = (".png", ".svg")
COMPILING = re.compile(r"^maxentry: compiling kernels.*\n", flags=re.MULTILINE)


class Played(NamedTuple):
    """A block that ran: what it said, and the pictures that it made."""

    block: Block
    said: str
    pictures: tuple[Path, ...]


class BlockFailed(Exception):
    """A block did not run to its end."""


def play(text: str, folder: Path, name: str = "page") -> Iterator[Played]:
    """Run the blocks of a page one after the other; a block with a title is kept as the file that it names.

    Python blocks share their names, shell blocks their environment; both share the folder.
    """
    session = _Session(folder, name)
    with contextlib.ExitStack() as until_the_end:
        until_the_end.callback(session.close)
        for block in blocks(text):
            if block.title is not None and block.not_run is None:
                (folder / block.title).write_text(block.code, encoding="utf-8")
            elif block.runs:
                before = session.pictures()
                with contextlib.chdir(folder):
                    said = session.python(block) if block.kind in PYTHON else session.shell(block)
                yield Played(block, COMPILING.sub("", said), tuple(sorted(session.pictures() - before)))


class _Session:
    def __init__(self, folder: Path, name: str) -> None:
        self.folder, self.name = folder, name
        self.names: dict[str, Any] = {"__name__": "__main__"}
        self.address = ADDRESS
        self.servers: list[subprocess.Popen[str]] = []
        self.environment = os.environ | {
            "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
            "MAXENTRY_CACHE": str(folder / ".cache"),
            "COLUMNS": "110",
            "PYTHONUTF8": "1",
        }
        for variable in ("MAXENTRY_STORAGE", "MAXENTRY_CAMPAIGN", "MAXENTRY_TOKEN"):
            self.environment.pop(variable, None)

    def pictures(self) -> set[Path]:
        return {path for path in self.folder.iterdir() if path.suffix in PICTURES}

    def python(self, block: Block) -> str:
        # Blank lines in front, so that a failure names the page's own line.
        code = "\n" * (block.line - 1) + self._here(block.code)
        said, kept = io.StringIO(), os.environ.get("MAXENTRY_CACHE")
        os.environ["MAXENTRY_CACHE"] = self.environment["MAXENTRY_CACHE"]
        try:
            with contextlib.redirect_stdout(said):
                exec(compile(code, self.name, "exec"), self.names)
        except Exception as error:
            raise BlockFailed(f"{self.name}, line {block.line}: {type(error).__name__}: {error}") from error
        finally:
            os.environ.pop("MAXENTRY_CACHE")
            if kept is not None:
                os.environ["MAXENTRY_CACHE"] = kept
        return said.getvalue()

    def shell(self, block: Block) -> str:
        code = self._here(block.code)
        if re.search(r"^maxentry serve\b", code, flags=re.MULTILINE):
            self._serve(block, code)
            return ""
        keep = self.folder / ".environment"
        before = "source .environment; " if keep.exists() else ""
        script = f"{before}set -euo pipefail\n{code}\nexport -p > .environment"
        done = subprocess.run(
            ["bash", "-c", script], env=self.environment, text=True, timeout=PATIENCE,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False,
        )  # fmt: skip
        if done.returncode:
            raise BlockFailed(f"{self.name}, line {block.line}: exit code {done.returncode}\n{done.stdout}")
        return done.stdout

    def _here(self, code: str) -> str:
        return code.replace(ADDRESS, self.address).replace("localhost:8765", self.address)

    def _serve(self, block: Block, code: str) -> None:
        """Start the server, which goes on until the page is done, on a port that is free."""
        line = next(line for line in code.splitlines() if line.startswith("maxentry serve"))
        words = line.split("#")[0].split()
        server = subprocess.Popen([*words, "--port", "0"], env=self.environment, text=True,
                                  stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)  # fmt: skip
        self.servers.append(server)
        assert server.stderr is not None
        said = ""
        for line in server.stderr:
            said += line
            if found := re.search(r"maxentry at https?://(\S+?)/?;", line):
                self.address = found[1]
                return
        raise BlockFailed(f"{self.name}, line {block.line}: the server did not start\n{said}")

    def close(self) -> None:
        for server in self.servers:
            server.terminate()
            server.wait(120)
            if server.stderr is not None:
                server.stderr.close()
