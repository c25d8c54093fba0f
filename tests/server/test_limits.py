"""Limits and standard errors over HTTP: bodies, CSV, exports, entries, and what is refused."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import httpx
import pytest
from tests.server.live import begin, serving


@pytest.fixture
def client() -> Iterator[httpx.Client]:
    with serving() as client:
        yield client


def tell(client: httpx.Client, path: str, value: Any, **more: Any) -> httpx.Response:
    line = {"row": 0, "col": 0, "value": value} | more
    return client.post(f"{path}/tell", json={"lines": [line]})


@pytest.mark.parametrize(
    ("value", "limits", "number", "text"),
    [
        ({"below": 0.5}, [None, 0.5], 0.5, "<0.5"),
        ({"above": 100}, [100.0, None], 100.0, ">100"),
        ({"low": 0.5, "high": 0.75}, [0.5, 0.75], 0.625, "0.5..0.75"),
        ({"low": None, "high": 3}, [None, 3.0], 3.0, "<3"),
        ("≤ 0.5", [None, 0.5], 0.5, "<0.5"),
        ({"low": 2, "high": 2}, None, 2.0, "2.0"),
        (0.5, None, 0.5, "0.5"),
    ],
)
def test_values_of_a_request(
    client: httpx.Client, value: Any, limits: list[float | None] | None, number: float, text: str
) -> None:
    path = begin(client)
    assert tell(client, path, value).json()["told"] == 1
    (line,) = client.get(f"{path}/measurements").json()["items"]
    assert (line["value"], line["limits"], line["se"]) == (number, limits, None)
    (entry,) = client.get(f"{path}/cell?row=0&col=0").json()["measurements"]
    assert (entry["value"], entry["limits"], entry["se"]) == (number, limits, None)
    assert f",{text}," in client.get(f"{path}/export").text
    (line,) = client.get(f"{path}/export?form=json").json()["lines"]
    assert (line["limits"], line["se"]) == (limits, None)
    payload = client.get(f"{path}/events").json()["items"][-1]["payload"]
    assert ("low" in payload) == (limits is not None)


@pytest.mark.parametrize(
    ("value", "more", "words"),
    [
        ({"below": 1, "above": 2}, {}, "expected below, or above, or low and high"),
        ({}, {}, "expected below, or above, or low and high"),
        ({"low": 2, "high": 1}, {}, "the lower end comes first"),
        ({"under": 1}, {}, "under"),
        (1.0, {"se": 0.1}, "which campaigns do not use yet"),
        (1.0, {"se": -1}, "greater than or equal to 0"),
        ("0.5-0.7", {}, "Write a number, a limit as <0.5"),
    ],
)
def test_what_is_refused(client: httpx.Client, value: Any, more: dict[str, Any], words: str) -> None:
    path = begin(client)
    answer = tell(client, path, value, **more)
    assert answer.status_code == 422
    assert words in answer.text
    assert client.get(f"{path}/measurements").json()["total"] == 0


def test_a_correction_to_a_limit(client: httpx.Client) -> None:
    path = begin(client)
    tell(client, path, 5.0)
    body = {"number": 1, "value": {"below": 4.0}}
    assert client.post(f"{path}/correct", json=body).status_code == 200
    (line,) = client.get(f"{path}/measurements").json()["items"]
    assert (line["limits"], line["se"], line["corrected"]) == ([None, 4.0], None, True)
    assert client.get(f"{path}/history").json()["items"][-1]["what"] == "measurement 1 now <4"


def test_a_file_of_limits_and_a_key(client: httpx.Client) -> None:
    path = begin(client)
    csv = 'row,col,value\n0,0,<0.5\n1,1,"[1, 2]"\n'
    for _ in range(2):  # the same request again
        answer = client.post(
            f"{path}/tell/csv",
            content=csv.encode(),
            headers={"Idempotency-Key": "k", "Content-Type": "text/csv"},
        )
        assert answer.json()["told"] == 2
    items = client.get(f"{path}/measurements").json()["items"]
    assert [line["limits"] for line in items] == [[None, 0.5], [1.0, 2.0]]


def test_a_file_is_answered_with_the_columns_that_were_not_used(client: httpx.Client) -> None:
    path = begin(client)
    csv = "row,col,value,Operator\n0,0,<0.5,N\n"
    answer = client.post(f"{path}/tell/csv", content=csv, headers={"Content-Type": "text/csv"})
    assert answer.json() == {"told": 1, "failed": 0, "known": 0, "awaited": 0, "unused": ["Operator"]}
