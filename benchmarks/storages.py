"""The storages that campaigns are measured on: a SQLite file and a PostgreSQL server that runs for the occasion."""

import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))  # for the tests' server and workers

from tests.campaign.postgres_server import database, server  # noqa: E402

KINDS = ("SQLite", "PostgreSQL")


@contextmanager
def storages() -> Iterator[dict[str, str]]:
    """A fresh storage of each kind; PostgreSQL is left out where there is no server."""
    with tempfile.TemporaryDirectory(prefix="maxentry-") as folder, server() as url:
        if url is None:
            yield {"SQLite": f"{folder}/lab.db"}
            return
        with database(url) as fresh:
            yield {"SQLite": f"{folder}/lab.db", "PostgreSQL": fresh}
