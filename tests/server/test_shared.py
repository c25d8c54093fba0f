"""Two servers on one storage, a file or PostgreSQL: what one does the other knows, and nothing is done twice."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from tests.server.live import begin, serving

import maxentry
from maxentry.server import service


@pytest.fixture
def both(lasting: str) -> Iterator[tuple[httpx.Client, httpx.Client]]:
    with serving(lasting) as one, serving(lasting) as other:
        yield one, other


def at_once(*works: Callable[[], Any]) -> list[Any]:
    """What came of all of these, begun at the same moment."""
    found: list[Any] = [None] * len(works)
    gate = threading.Barrier(len(works))

    def run(k: int) -> None:
        gate.wait(120)
        found[k] = works[k]()

    threads = [threading.Thread(target=run, args=(k,)) for k in range(len(works))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(250)
    return found


def told(client: httpx.Client, path: str, body: Any, key: str) -> Callable[[], httpx.Response]:
    return lambda: client.post(f"{path}/tell", json=body, headers={"Idempotency-Key": key})


def test_what_one_does_the_other_knows(both: tuple[httpx.Client, httpx.Client]) -> None:
    one, other = both
    path = begin(one)
    assert other.get(path).json()["events"] == 1
    ids = [entry["id"] for entry in other.post(f"{path}/ask", json={"n": 3}).json()["entries"]]
    one.post(f"{path}/tell", json={"lines": [{"id": ids[0], "value": 1.0}]})
    assert other.get(path).json() == one.get(path).json()
    assert other.get(f"{path}/measurements").json()["items"][0]["value"] == 1.0
    with other.stream("GET", f"{path}/changes?seconds=600") as stream:
        lines = (line for line in stream.iter_lines() if line.startswith("data: "))
        versions = (json.loads(line.removeprefix("data: "))["version"] for line in lines)
        assert next(versions) == 3
        one.post(f"{path}/fail", json={"ids": [ids[1]]})
        assert next(version for version in versions if version != 3) == 4


def test_a_key_is_known_to_both(both: tuple[httpx.Client, httpx.Client]) -> None:
    one, other = both
    path, headers = begin(one), {"Idempotency-Key": "k"}
    body = {"lines": [{"row": 0, "col": 0, "value": 1.0}], "again": True}
    for k in range(5):  # at the same moment, several times: the lock decides
        answers = at_once(*(told(c, path, body, f"tell {k}") for c in both * 2))
        assert [a.json() for a in answers] == [
            {"told": 1, "failed": 0, "known": 0, "awaited": 0, "notes": []}
        ] * 4
        assert one.get(f"{path}/measurements").json()["total"] == k + 1
    asked = at_once(
        *(lambda c=c: c.post(f"{path}/ask?wait=60", json={"n": 2}, headers=headers) for c in both)
    )
    assert asked[0].json() == asked[1].json()
    assert one.get(path).json()["pending"] == 2
    clash = at_once(told(one, path, body, "c"), told(other, path, body | {"again": False}, "c"))
    assert sorted(a.status_code for a in clash) == [200, 422]


def test_no_entry_is_handed_out_twice(both: tuple[httpx.Client, httpx.Client]) -> None:
    one, _ = both
    path = begin(one, rows=8, cols=8)
    answers = at_once(*(lambda c=c: c.post(f"{path}/ask?wait=60", json={"n": 5}) for c in both * 4))
    entries = [entry for a in answers for entry in a.json()["entries"]]
    assert sorted(entry["id"] for entry in entries) == list(range(1, 41))
    assert len({(entry["row"], entry["col"]) for entry in entries}) == 40


def test_one_campaign_of_a_name(both: tuple[httpx.Client, httpx.Client]) -> None:
    body = {"name": "x", "rows": 2, "cols": 2}
    answers = at_once(*(lambda c=c: c.post("/campaigns", json=body) for c in both * 3))
    assert sorted(a.status_code for a in answers) == [201, 409, 409, 409, 409, 409]
    assert [c.get("/campaigns").json()["total"] for c in both] == [1, 1]


def test_a_posterior_is_the_same_whoever_makes_it(both: tuple[httpx.Client, httpx.Client]) -> None:
    path = begin(both[0], rank=1)
    lines = [{"row": i, "col": j, "value": i + j / 7} for i in range(4) for j in range(5) if (i + j) % 3]
    both[0].post(f"{path}/tell", json={"lines": lines})
    maps = at_once(*(lambda c=c: c.get(f"{path}/map?what=sd&wait=60").json()["values"] for c in both))
    assert maps[0] == maps[1]


def test_pages_while_events_come_in(both: tuple[httpx.Client, httpx.Client]) -> None:
    """Every event once and in order, though others are told between pages; the client sees the latest."""
    one, other = both
    path = begin(one, rows=20, cols=20)
    numbers: list[int] = []
    after: int | None = 0
    while after is not None and len(numbers) < 30:
        if len(numbers) < 20:
            other.post(f"{path}/tell", json={"lines": [{"row": len(numbers), "col": 0, "value": 1.0}]})
        page = one.get(f"{path}/events", params={"after": after, "limit": 2}).json()
        numbers += [line["number"] for line in page["items"]]
        after = page["next"] if page["next"] is not None or len(numbers) >= 20 else numbers[-1]
    assert numbers == list(range(1, len(numbers) + 1))
    assert len(numbers) == one.get(path).json()["events"]
    told = [line["row"] for line in one.get(f"{path}/measurements?limit=1000").json()["items"]]
    assert len(told) == len(numbers) - 1
    with maxentry.connect(str(one.base_url).removesuffix("/api/v1/")) as remote:
        assert remote.state.version == len(numbers)


def test_campaigns_that_are_not_in_use_are_let_go_of(
    both: tuple[httpx.Client, httpx.Client], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(service, "MOST_OPEN", 2)
    one, other = both
    paths = [begin(one, f"campaign {k}") for k in range(5)]
    for path in paths:
        other.post(f"{path}/tell", json={"lines": [{"row": 0, "col": 0, "value": 1.0}]})
    for k, path in enumerate(paths):
        assert one.get(path).json()["told"] == 1
        assert one.get(f"/campaigns/campaign {k}").json()["id"] == path.rpartition("/")[2]
    assert len(one.app.state.service._open) == 2  # type: ignore[attr-defined]


def test_a_server_notices_that_its_file_is_gone(tmp_path: Path) -> None:
    with serving(str(tmp_path / "lab.db")) as client:
        path = begin(client)
        assert client.get("/health").status_code == 200
        (tmp_path / "lab.db").unlink()
        told = client.post(f"{path}/tell", json={"lines": [{"row": 0, "col": 0, "value": 1.0}]})
        assert told.status_code == 503, told.text
        assert told.json()["code"] == "storage_replaced"
        assert "try again" not in told.json()["detail"]
        assert client.get("/health").status_code == 503
