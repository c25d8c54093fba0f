"""A server in a thread of this process, on a port that is free."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

import pytest

from maxentry.campaign.storage import Storage

httpx = pytest.importorskip("httpx", reason="needs maxentry[server]")
pytest.importorskip("uvicorn", reason="needs maxentry[server]")
pytest.importorskip("fastapi", reason="needs maxentry[server]")

from maxentry.server.app import (  # noqa: E402
    Server,
    address,
    create_app,
    listen,
)
from maxentry.server.options import Options, ServerLimits, Tokens  # noqa: E402

READ, WRITE = "read-" + "r" * 30, "write-" + "w" * 30
TOKENS = Tokens(READ, WRITE)
FAST = ServerLimits(rate=0)
CONTEXT = httpx.create_ssl_context()  # once: to read the certificates takes longer than most requests
# However busy the machine is:
get, post = (partial(call, timeout=120, verify=CONTEXT) for call in (httpx.get, httpx.post))


@contextmanager
def running(storage: Storage | str = "sqlite://", **options: Any) -> Iterator[tuple[str, Any]]:
    """The address of a server over this storage, and its application; both end with the block."""
    kept = storage if isinstance(storage, Storage) else Storage(storage, create=True)
    given = Options(**{"limits": FAST, "port": 0} | options)
    app = create_app(kept, given)
    listening = listen(given)
    server = Server(app, given)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]}, daemon=True)
    thread.start()
    end = time.monotonic() + 120
    while not server.started and thread.is_alive() and time.monotonic() < end:
        time.sleep(0.005)
    assert server.started
    try:
        yield address(given, listening.getsockname()[1]), app
    finally:
        server.should_exit = True
        thread.join(120)
        listening.close()


@contextmanager
def serving(
    storage: Storage | str = "sqlite://", token: str | None = None, **options: Any
) -> Iterator[httpx.Client]:
    """A client of a server over this storage."""
    headers = {} if token is None else {"Authorization": f"Bearer {token}"}
    with (
        running(storage, **options) as (url, app),
        httpx.Client(
            base_url=f"{url}/api/v1",
            headers=headers,
            timeout=150,
            verify=CONTEXT,
            event_hooks={"request": [_patient]},
        ) as client,
    ):
        client.app = app  # type: ignore[attr-defined]
        yield client


def _patient(request: httpx.Request) -> None:
    """An ask that says nothing of how long it waits has its entries, however busy the machine is."""
    if request.url.path.endswith("/ask") and "wait" not in request.url.params:
        request.url = request.url.copy_merge_params({"wait": 60})


def begin(client: httpx.Client, name: str = "yields", rows: Any = 4, cols: Any = 5, **given: Any) -> str:
    """A campaign on the server: the path to it."""
    body = {"name": name, "rows": rows, "cols": cols, "seed": 1, "acquisition": "balanced"} | given
    made = client.post("/campaigns", json=body)
    assert made.status_code == 201, made.text
    return f"/campaigns/{made.json()['id']}"
