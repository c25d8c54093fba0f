"""Idempotency keys: a request that comes again is done once, over restarts, races and crashes."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import httpx
import pytest
from tests.server.live import begin, serving

from maxentry.campaign.backup import copy_campaigns
from maxentry.campaign.campaign import Campaign
from maxentry.campaign.storage import Storage
from maxentry.server import idempotency
from maxentry.server.idempotency import Claim, Repeated


def told(
    client: httpx.Client, path: str, key: str | None, *values: float, again: bool = True
) -> httpx.Response:
    lines = [{"row": k, "col": 0, "value": value} for k, value in enumerate(values)]
    headers = {} if key is None else {"Idempotency-Key": key}
    return client.post(f"{path}/tell", json={"lines": lines, "again": again}, headers=headers)


def count(client: httpx.Client, path: str) -> int:
    return client.get(f"{path}/measurements").json()["total"]


def test_a_slip_is_noted_when_it_is_told_again_too() -> None:
    rows = [f"r{i}" for i in range(6)]
    with serving() as client:
        path = begin(client, rows=rows, cols=["a", "b", "c", "d"])
        values = [
            {"row": r, "col": c, "value": 20 + 3 * i + j}
            for i, r in enumerate(rows)
            for j, c in enumerate("abcd")
        ]
        assert client.post(f"{path}/tell", json={"lines": values[1:]}).json()["notes"] == []
        slip = {"lines": [{"row": "r0", "col": "a", "value": 2000}]}
        first, second = (
            client.post(f"{path}/tell", json=slip, headers={"Idempotency-Key": "s"}).json() for _ in range(2)
        )
        assert first == second
        said = "Row 'r0', column 'a': 2000, but all other values lie between 21 and 38. Correct it if that is a slip."
        assert first["notes"] == client.get(path).json()["notes"] == [said]
        client.post(f"{path}/correct", json={"row": "r0", "col": "a", "value": 20})
        assert client.get(path).json()["notes"] == []
        values[0]["value"] = 2000
        body = {"name": "slip", "rows": rows, "cols": ["a", "b", "c", "d"], "values": values}
        assert client.post("/campaigns", json=body).json()["notes"] == [said]


def test_former_labels_are_understood_and_noted() -> None:
    with serving() as client:
        path = begin(client, rows=["a", "b", "c"], cols=["x", "y"])
        log = {"lines": [{"row": "a", "col": "x", "value": 1}]}
        client.post(f"{path}/tell", json=log).raise_for_status()
        renamed = client.post(f"{path}/rows/rename", json={"labels": ["a"], "names": ["A"]})
        renamed.raise_for_status()
        note = "Rows were renamed: 'a' is read as 'A'."
        again = client.post(f"{path}/tell", json=log).json()
        assert again == {"told": 0, "failed": 0, "known": 1, "awaited": 0, "notes": [note]}
        text = client.post(
            f"{path}/tell/csv", content=b"row,col,value\na,x,1\n", headers={"Content-Type": "text/csv"}
        )
        assert (text.json()["known"], text.json()["notes"]) == (1, [note])


def test_the_same_key_tells_once_and_answers_the_same() -> None:
    with serving() as client:
        path = begin(client)
        first, second = (told(client, path, "plate 17", 1.0, 2.0) for _ in range(2))
        assert (
            first.json() == second.json() == {"told": 2, "failed": 0, "known": 0, "awaited": 0, "notes": []}
        )
        assert count(client, path) == 2
        assert client.get(path).json()["events"] == 2


def test_without_a_key_it_is_told_twice() -> None:
    """The control: `again` makes every telling a measurement."""
    with serving() as client:
        path = begin(client)
        for _ in range(2):
            told(client, path, None, 1.0, 2.0)
        told(client, path, "a key of its own", 1.0, 2.0)
        assert count(client, path) == 6


def test_the_same_key_asks_once() -> None:
    with serving() as client:
        path = begin(client)
        one, other = (
            client.post(f"{path}/ask", json={"n": 3}, headers={"Idempotency-Key": "k"}) for _ in range(2)
        )
        assert (one.status_code, other.status_code) == (201, 201)
        assert one.json() == other.json()
        assert client.post(f"{path}/ask", json={"n": 3}).json() != one.json()
        assert client.get(path).json()["pending"] == 6


def test_a_key_is_for_one_request() -> None:
    with serving() as client:
        path = begin(client)
        told(client, path, "k", 1.0)
        for other in (
            told(client, path, "k", 2.0),
            client.post(f"{path}/ask", json={}, headers={"Idempotency-Key": "k"}),
        ):
            assert other.status_code == 422
            assert "used for another" in other.json()["detail"]
        assert count(client, path) == 1
        assert told(client, begin(client, "another campaign"), "k", 2.0).status_code == 200


def test_what_was_refused_leaves_the_key_free() -> None:
    with serving() as client:
        path = begin(client, range=[0, 5])
        assert told(client, path, "k", 9.0).status_code == 422
        assert told(client, path, "k", 4.0).status_code == 200


def test_a_receipt_is_what_it_was() -> None:
    with serving() as client:
        path = begin(client)
        client.post(f"{path}/ask", json={"n": 4})
        client.post(f"{path}/tell", json={"lines": [{"id": 1, "value": 1.0}]})
        lines = [{"id": 1, "value": 1.0}, {"id": 2, "value": 2.0}, {"id": 3, "failed": True}, {"id": 4}]
        answers = [
            client.post(f"{path}/tell", json={"lines": lines}, headers={"Idempotency-Key": "k"}).json()
            for _ in range(2)
        ]
        assert answers == [{"told": 1, "failed": 1, "known": 1, "awaited": 1, "notes": []}] * 2
        bare = client.post(f"{path}/tell", json={"lines": lines}).json()
        assert bare == {"told": 0, "failed": 0, "known": 3, "awaited": 1, "notes": []}


def test_a_plate_with_a_key() -> None:
    with serving() as client:
        path = begin(client)
        client.post(f"{path}/ask", json={"n": 2})
        headers = {"Content-Type": "text/csv", "Idempotency-Key": "k"}
        for _ in range(2):
            answer = client.post(
                f"{path}/tell/csv",
                params={"again": True},
                content="id;value\n1;0,5\n2;1,5\n",
                headers=headers,
            )
            assert answer.json()["told"] == 2, answer.text
        assert count(client, path) == 2


def test_keys_outlive_the_server(lasting: str) -> None:
    where = lasting
    with serving(where) as client:
        path = begin(client)
        asked = client.post(f"{path}/ask", json={"n": 3}, headers={"Idempotency-Key": "a"}).json()
        told(client, path, "t", 1.0)
    with serving(where) as client:
        assert client.post(f"{path}/ask", json={"n": 3}, headers={"Idempotency-Key": "a"}).json() == asked
        assert told(client, path, "t", 1.0).json()["told"] == 1
        assert count(client, path) == 1
    with Campaign.open(where) as campaign:  # who knows nothing of keys goes on as ever
        campaign.tell(row=3, col=3, value=1.0)


def test_a_copy_of_the_storage_has_the_keys(lasting: str, tmp_path: Path) -> None:
    """Whoever sends a request again after a move to another storage gets the answer of before."""
    first = tmp_path / "first.db"
    with serving(str(first)) as client:
        path = begin(client)
        answer = told(client, path, "k", 1.0, 2.0).json()
        body = {"name": "other", "rows": 3, "cols": 3}
        made = client.post(path.rpartition("/")[0], json=body, headers={"Idempotency-Key": "new"})
    with Campaign.create(lasting, "there before", 3, 3, seed=1):
        pass
    with Storage(first) as old, Storage(lasting) as new:
        copy_campaigns(old, new, idempotency.copy_claims)
    with serving(lasting) as client:
        assert told(client, path, "k", 1.0, 2.0).json() == answer
        assert count(client, path) == 2
        again = client.post(path.rpartition("/")[0], json=body, headers={"Idempotency-Key": "new"})
        assert (again.status_code, again.json()["id"]) == (made.status_code, made.json()["id"])


def test_many_at_once_with_one_key(lasting: str) -> None:
    with serving(lasting) as client:
        path = begin(client)
        answers: list[object] = []

        def work() -> None:
            answers.append(told(client, path, "k", 1.0, 2.0).json())
            ask = client.post(f"{path}/ask?wait=60", json={"n": 2}, headers={"Idempotency-Key": "a"})
            answers.append([entry["id"] for entry in ask.json()["entries"]])

        threads = [threading.Thread(target=work) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(250)
        assert answers.count({"told": 2, "failed": 0, "known": 0, "awaited": 0, "notes": []}) == 8
        assert answers.count([1, 2]) == 8
        assert count(client, path) == 2


def test_the_key_and_the_events_are_written_together_or_not_at_all(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Storage(tmp_path / "lab.db", create=True) as storage:
        idempotency.create_table(storage)
        campaign = Campaign.create(storage, "x", 3, 3)
        claim = Claim.from_request("k", "request")
        assert claim is not None

        def breaks(*_: object) -> None:
            raise ZeroDivisionError

        with monkeypatch.context() as patch:
            patch.setattr(idempotency, "_write", breaks)
            with pytest.raises(ZeroDivisionError):
                idempotency.with_claim(campaign, claim).tell(row=0, col=0, value=1.0)
        assert campaign.state.measurements == ()
        assert idempotency.find(storage, campaign.key, claim) is None
        idempotency.with_claim(campaign, claim).tell(row=0, col=0, value=1.0)
        with pytest.raises(Repeated):
            idempotency.with_claim(campaign, claim).tell(row=0, col=0, value=1.0, again=True)
        assert len(campaign.state.measurements) == 1


@pytest.mark.parametrize("key", ["", "x" * 201, "tab\there", "ümlaut"])
def test_keys_that_will_not_do(key: str) -> None:
    with serving() as client:
        path = begin(client)
        answer = client.post(
            f"{path}/tell", json={"lines": []}, headers={"Idempotency-Key": key.encode("latin-1")}
        )
        assert answer.status_code in (400, 422)


WRITES = {
    "fail": ("POST", {"ids": [1], "reason": "no colour"}, {"ids": [2]}),
    "withdraw": ("POST", {"ids": [2]}, {"ids": [1]}),
    "correct": ("POST", {"id": 3, "value": 9.0}, {"id": 3, "value": 8.0}),
    "rows": ("POST", {"labels": ["new"]}, {"labels": ["newer"]}),
    "cols": ("POST", {"labels": ["new"]}, {"labels": ["newer"]}),
    "settings": ("PATCH", {"budget": 7}, {"budget": None}),
}


@pytest.mark.parametrize("what", WRITES)
def test_every_write_with_a_key_is_done_once(what: str) -> None:
    method, body, other = WRITES[what]

    def write(body: object) -> httpx.Response:
        return client.request(method, f"{path}/{what}", json=body, headers={"Idempotency-Key": "k"})

    with serving() as client:
        path = begin(client)
        client.post(f"{path}/ask", json={"n": 3})
        client.post(f"{path}/tell", json={"lines": [{"id": 3, "value": 1.0}]})
        first = write(body)
        assert first.json() | {"notes": []} == {"version": 4, "notes": []}, first.text
        told(client, path, None, 5.0)  # another event in between
        second = write(body)
        assert (second.status_code, second.json()) == (200, first.json())
        refused = write(other)
        assert refused.status_code == 422
        assert "used for another" in refused.json()["detail"]
        assert client.get(path).json()["events"] == 5
        assert client.request(method, f"{path}/{what}", json=other).status_code == 200  # without the key


def test_a_repeated_correction_does_not_undo_a_later_one() -> None:
    with serving() as client:
        path, key = begin(client), {"Idempotency-Key": "k"}
        told(client, path, None, 1.0)
        mine = {"number": 1, "value": 2.0, "who": "ann"}
        answers = [client.post(f"{path}/correct", json=mine, headers=key)]  # whose answer is lost
        client.post(f"{path}/correct", json={"number": 1, "value": 3.0, "who": "bob"})
        answers += [client.post(f"{path}/correct", json=mine, headers=key)]
        assert answers[0].json() == answers[1].json() == {"version": 3}
        assert client.get(f"{path}/measurements").json()["items"][0]["value"] == 3.0


CREATE = {"name": "x", "rows": 3, "cols": 4, "seed": 1, "values": [{"row": 0, "col": 0, "value": 2.0}]}


@pytest.mark.parametrize("exist_ok", [False, True])
def test_a_campaign_is_created_once(lasting: str, exist_ok: bool) -> None:
    body, key = CREATE | {"exist_ok": exist_ok}, {"Idempotency-Key": "k"}
    with serving(lasting) as client:
        first = client.post("/campaigns", json=body, headers=key)
        assert first.status_code == 201, first.text
        told(client, "/campaigns/x", None, 5.0)
        second = client.post("/campaigns", json=body, headers=key)
        assert (second.status_code, second.json()) == (201, first.json())
        assert second.headers["Location"] == first.headers["Location"]
        for other in (body | {"name": "y"}, body | {"cols": 5}):
            refused = client.post("/campaigns", json=other, headers=key)
            assert "used for another" in refused.json()["detail"]
        assert client.get("/campaigns").json()["total"] == 1
        assert client.get("/campaigns/x").json()["events"] == 3
    with serving(lasting) as client:  # keys outlive the server
        assert client.post("/campaigns", json=body, headers=key).json() == first.json()


def test_a_key_holds_where_the_campaign_was_there_before() -> None:
    bare = {name: x for name, x in CREATE.items() if name != "values"} | {"exist_ok": True}
    key = {"Idempotency-Key": "k"}
    with serving() as client:
        assert client.post("/campaigns", json=CREATE).status_code == 201
        first = client.post("/campaigns", json=bare, headers=key).json()
        told(client, "/campaigns/x", None, 5.0)
        assert client.post("/campaigns", json=bare, headers=key).json() == first
        refused = client.post("/campaigns", json=bare | {"name": "y"}, headers=key)
        assert "used for another" in refused.json()["detail"]
        assert client.post("/campaigns", json=CREATE, headers={"Idempotency-Key": "new"}).status_code == 409
        assert client.post("/campaigns", json=CREATE | {"name": "z"}, headers=key).status_code == 422


def test_one_key_creates_one_campaign_however_many_ask_at_once(lasting: str) -> None:
    with serving(lasting) as client:
        answers: list[tuple[int, object]] = []

        def work() -> None:
            made = client.post("/campaigns", json=CREATE, headers={"Idempotency-Key": "k"})
            answers.append((made.status_code, made.json()))

        threads = [threading.Thread(target=work) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(250)
        assert answers == [(201, answers[0][1])] * 8


def test_a_key_is_refused_where_it_would_be_ignored() -> None:
    with serving() as client:
        path = begin(client)
        key = {"Idempotency-Key": "k"}
        lookup = client.post(f"{path}/lookup", json={"rows": [0], "cols": [0]}, headers=key)
        cancel = client.delete("/jobs/x", headers=key)
        read = client.post("/tables", content=b"row,a\nr,1\n", headers=key | {"Content-Type": "text/csv"})
        for answer in (lookup, cancel, read):
            assert answer.status_code == 422, answer.text
            assert "expected no Idempotency-Key" in answer.json()["detail"]


def test_no_route_ignores_a_key() -> None:
    """Of the routes that are not for reading, all but these take one."""
    with serving() as client:
        paths = client.get("/openapi.json").json()["paths"]
    without = {
        path
        for path, methods in paths.items()
        for method, about in methods.items()
        if method != "get" and "Idempotency-Key" not in [p["name"] for p in about.get("parameters", ())]
    }
    deleting = {"/api/v1/jobs/{job}", "/api/v1/campaigns/{campaign}"}  # twice is no more than once
    assert without == {*deleting, "/api/v1/campaigns/{campaign}/lookup", "/api/v1/tables"}


def test_removing_and_renaming_again_change_nothing_more() -> None:
    with serving() as client:
        path = begin(client, rows=["a", "b", "c", "d"], cols=["x", "y"])
        lines = [{"row": row, "col": "x", "value": 1.0} for row in "abcd"]
        client.post(f"{path}/tell", json={"lines": lines})
        for route, body in (("rows/remove", {"labels": ["b"]}), ("rename", {"name": "other"})):
            send = {"json": body, "headers": {"Idempotency-Key": route}}
            first, second = (client.post(f"{path}/{route}", **send) for _ in range(2))
            assert (first.status_code, first.json()) == (200, second.json())
        assert client.post(f"{path}/rows/remove", json={"labels": ["c"]}).json() == {
            "version": 5,
            "struck": 1,
        }
        assert client.get(path).json()["name"] == "other"
        kinds = [line["kind"] for line in client.get(f"{path}/history").json()["items"]]
        assert kinds == ["created", "told", "rows_removed", "renamed", "rows_removed"]
        assert (
            client.post(f"{path}/rows/remove", json={"labels": ["b"]}).status_code == 422
        )  # the control: no key


def test_notes_on_features_are_those_of_the_first_answer() -> None:
    """The present labels may not fit the request any more."""
    size = {"columns": {"size": [1.0, 2.5, None]}}  # in order, without labels
    made = {"name": "lab", "rows": ["a", "b", "c"], "cols": ["x", "y"], "row_features": size}
    table = b"row,size\na,1\nb,2\nc,\n"
    with serving() as client:
        id = client.post("/campaigns", json=made, headers={"Idempotency-Key": "make"}).json()["id"]
        path = f"/campaigns/{id}"
        writes = [
            ("POST", "/campaigns", {"json": made}, "make"),
            ("PATCH", f"{path}/settings", {"json": {"row_features": size}}, "set"),
            ("POST", f"{path}/features/rows", {"content": table}, "file"),
            (
                "POST",
                f"{path}/rows",
                {"json": {"labels": ["d"], "features": {"columns": {"size": [None]}}}},
                "add",
            ),
            ("POST", f"{path}/rows", {"json": {"labels": ["e"]}}, "without"),
        ]

        def send(method: str, address: str, body: dict[str, Any], key: str) -> httpx.Response:
            headers = {"Idempotency-Key": key} | ({"Content-Type": "text/csv"} if "content" in body else {})
            return client.request(method, address, headers=headers, **body)

        first = [send(*write) for write in writes]
        assert all(answer.is_success and answer.json()["notes"] for answer in first)
        client.post(f"{path}/rows/remove", json={"labels": ["a", "b"]}).raise_for_status()
        client.patch(f"{path}/settings", json={"row_features": None}).raise_for_status()
        again = [send(*write) for write in writes]
        assert [answer.status_code for answer in again] == [answer.status_code for answer in first]
        assert [answer.json() for answer in again] == [answer.json() for answer in first]
