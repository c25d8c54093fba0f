"""Record what users have and must not lose: draws, batches, the REST interface, commands, names, answers of files.

    python -m tests.frozen.record                 # all records of tests/frozen/data, from the code as it is
    python -m tests.frozen.record draws batches   # only these
    python -m tests.frozen.record --files FOLDER  # new files as of this version, in a folder beside those of before

Each module here says what is recorded and makes it anew; `test_*.py` compare that with the records. A test that fails
says that something a user may rely on has changed. If that was not wanted, the code is wrong. If it was (another law of
the sampler, another key of a document), record it again, read the difference in git, and say it in CHANGELOG.md.

Files that older versions wrote (`data/files-0.1.0`) are never recorded again, only what they answer.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from tests.frozen import batches, draws, files, surfaces
from tests.frozen.records import DATA, machine, write


def _in_a_folder(make: Callable[[Path], Any]) -> Any:
    with TemporaryDirectory() as folder:
        os.environ["MAXENTRY_CACHE"] = str(Path(folder) / "cache")
        return make(Path(folder))


def _campaigns(folder: Path) -> Any:
    return files.campaign_answers(files.copied("lab.db", folder), folder / "cache")


def _events(folder: Path) -> Any:
    files.write_campaigns(folder / "new.db")
    return files.payloads(files.events_in(folder / "new.db"))


def _posterior(folder: Path, name: str) -> Any:
    return files.posterior_answers(files.copied(name, folder))


RECORDS: dict[str, Callable[[], Any]] = {
    "draws": lambda: {"machine": machine(), "cases": {name: make() for name, make in draws.CASES.items()}},
    "batches": lambda: {name: make() for name, make in batches.CASES.items()},
    "openapi": surfaces.openapi,
    "commands": surfaces.commands,
    "evidence_commands": surfaces.evidence_commands,
    "names": surfaces.names,
    "schema": lambda: _in_a_folder(lambda folder: files.schema(folder / "new.db")),
    "campaigns": lambda: _in_a_folder(_campaigns),
    "events": lambda: _in_a_folder(_events),
    "posteriors": lambda: {
        "machine": machine(),
        "cases": _in_a_folder(lambda folder: {name: _posterior(folder, name) for name in files.POSTERIORS}),
    },
    "command_answers": lambda: _in_a_folder(files.command_answers),
    "request_answers": lambda: _in_a_folder(files.request_answers),
}


def main(words: list[str]) -> None:
    """Write the records that are named, or all."""
    if words[:1] == ["--files"]:
        folder = DATA / words[1]
        if folder.exists():
            sys.exit(
                f"expected a new folder, but {folder} is there: files of a version are never made again."
            )
        files.make_files(folder)
        return
    for name in words or RECORDS:
        write(name, RECORDS[name]())
        print(name, flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
