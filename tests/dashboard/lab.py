"""A laboratory to look at: a server, campaigns on it, and what the dashboard says of them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from tests.server.live import CONTEXT, begin, httpx, running

ROWS, COLS = [f"L{i}" for i in range(1, 8)], [f"S{j}" for j in range(1, 6)]
SHAPE = len(ROWS), len(COLS)
QUICK = {"rank": 1, "acquisition": "balanced"}  # fits of a second, and choices without one


@contextmanager
def laboratory(storage: str = "sqlite://", **options: Any) -> Iterator[Any]:
    """A client of a server over this storage, which knows where the server is."""
    token = options.pop("token", None)
    headers = {} if token is None else {"Authorization": f"Bearer {token}"}
    with (
        running(storage, **options) as (url, app),
        httpx.Client(base_url=f"{url}/api/v1", headers=headers, timeout=120, verify=CONTEXT) as client,
    ):
        client.url, client.app = url, app
        yield client


def campaign(client: Any, name: str = "yields", told: int = 0, pending: int = 0, **given: Any) -> str:
    """A campaign with so many entries told and pending; the path to it."""
    path = begin(client, name, **({"rows": ROWS, "cols": COLS} | QUICK | given))
    if told + pending:
        entries = client.post(f"{path}/ask?wait=60", json={"n": told + pending}).json()["entries"]
        lines = [{"id": e["id"], "value": value(e["row"], e["col"])} for e in entries[:told]]
        assert client.post(f"{path}/tell", json={"lines": lines, "who": "ann"}).status_code == 200
    return path


def value(row: Any, col: Any) -> float:
    """What measuring gives: rank 1 and a little noise, the same every time."""
    i, j = (int(re.sub(r"\D", "", str(x)) or 0) for x in (row, col))
    noise = np.random.default_rng([i, j]).normal()
    return round(float(50 + 12 * np.sin(1.3 * i) * np.cos(0.9 * j) + 0.5 * noise), 3)


def address(path: str) -> str:
    """Of a campaign's page, within the server."""
    return f"/#/c/{path.rpartition('/')[2]}"


def fitted(page: Any, version: int | str = r"\d+") -> None:
    """Wait until the page shows a fit of all that was told (up to this event)."""
    from playwright.sync_api import expect

    pattern = re.compile(rf"^({version}) \1$")
    expect(page.locator("#main")).to_have_attribute("data-version", pattern, timeout=120_000)


def shown(page: Any, version: int) -> None:
    """Wait until the page shows the campaign as of this event, fitted or not."""
    from playwright.sync_api import expect

    pattern = re.compile(rf"^{version} ")
    expect(page.locator("#main")).to_have_attribute("data-version", pattern, timeout=60_000)


def fact(page: Any, title: str, figure: str) -> None:
    """Wait until this figure stands under a title at the top of a campaign."""
    from playwright.sync_api import expect

    box = page.locator(".facts div", has=page.locator("dt", has_text=re.compile(f"^{title}$")))
    expect(box.locator("dd").first).to_have_text(figure, timeout=60_000)


def colours_of_map(page: Any, shape: tuple[int, int] = SHAPE) -> list[list[int]]:
    """The colour of every entry on the map, away from marks, when all of the matrix is shown."""
    found: list[list[int]] = page.evaluate(
        """([m1, m2]) => {
          const canvas = document.querySelector('.stage .cells'), ratio = window.devicePixelRatio;
          const copy = document.createElement('canvas');
          [copy.width, copy.height] = [canvas.width, canvas.height];
          const seen = copy.getContext('2d', { willReadFrequently: true });
          seen.drawImage(canvas, 0, 0);
          const box = document.querySelector('.map').area;
          return Array.from({ length: m1 * m2 }, (_, k) => {
            const [i, j] = [Math.floor(k / m2), k % m2];
            const x = box.x + (j + 0.2) * box.width / m2, y = box.y + (i + 0.2) * box.height / m1;
            return [...seen.getImageData(x * ratio, y * ratio, 1, 1).data];
          });
        }""",
        list(shape),
    )
    return found
