"""A server, a browser and a reader. Without Chromium or Playwright the tests that need them are skipped."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from tests.campaign.conftest import cache  # noqa: F401
from tests.dashboard.browser import REQUIRED, Watched, chromium, missing, required

collect_ignore_glob = [] if all(map(find_spec, ("fastapi", "uvicorn", "httpx"))) else ["test_*.py"]


@pytest.fixture(scope="module")  # Playwright's loop runs as long as it is open, and no other may beside it
def browser() -> Iterator[Any]:
    if (why := missing()) is not None:
        if required():
            pytest.fail(f"{why}, and {REQUIRED} is set")
        pytest.skip(why)
    with chromium() as found:
        yield found


@pytest.fixture
def storage(tmp_path: Path) -> str:
    return str(tmp_path / "lab.db")


@pytest.fixture
def lab(storage: str) -> Iterator[Any]:
    """A client of a server over a file; `client.url` is for browsers."""
    from tests.dashboard.lab import laboratory

    with laboratory(storage) as client:
        yield client


@pytest.fixture
def reader(browser: Any) -> Iterator[Callable[..., Watched]]:
    """Makes readers; whatever goes wrong in their tabs fails the test."""
    made: list[Watched] = []

    def begin(url: str, **options: Any) -> Watched:
        made.append(Watched(browser, url, **options))
        return made[-1]

    yield begin
    for one in made:
        one.close()
