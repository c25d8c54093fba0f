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
    assert tell(client, path, value, se=0.25).json()["told"] == 1
    (line,) = client.get(f"{path}/measurements").json()["items"]
    assert (line["value"], line["limits"], line["se"]) == (number, limits, 0.25)
    (entry,) = client.get(f"{path}/cell?row=0&col=0").json()["measurements"]
    assert (entry["value"], entry["limits"], entry["se"]) == (number, limits, 0.25)
    assert f",{text},0.25," in client.get(f"{path}/export").text
    (line,) = client.get(f"{path}/export?form=json").json()["lines"]
    assert (line["limits"], line["se"]) == (limits, 0.25)
    payload = client.get(f"{path}/events").json()["items"][-1]["payload"]
    assert ("low" in payload) == (limits is not None)


@pytest.mark.parametrize(
    ("value", "more", "words"),
    [
        ({"below": 1, "above": 2}, {}, "expected below, or above, or low and high"),
        ({}, {}, "expected below, or above, or low and high"),
        ({"low": 2, "high": 1}, {}, "the lower end comes first"),
        ({"under": 1}, {}, "under"),
        (1.0, {"se": -1}, "expected at least 0, got -1"),
        ("0.5-0.7", {}, "Write a number, a limit as <0.5"),
        (True, {}, "Values that are yes or no need kind='yes/no'"),
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
    body = {"number": 1, "value": {"below": 4.0}, "se": 0.5}
    assert client.post(f"{path}/correct", json=body).status_code == 200
    (line,) = client.get(f"{path}/measurements").json()["items"]
    assert (line["limits"], line["se"], line["corrected"]) == ([None, 4.0], 0.5, True)
    what = client.get(f"{path}/history").json()["items"][-1]["what"]
    assert what == "measurement 1 now <4 (row 0, column 0, was 5)"


def test_a_file_of_limits_and_a_key(client: httpx.Client) -> None:
    path = begin(client)
    csv = 'row,col,value,se\n0,0,<0.5,0.1\n1,1,"[1, 2]",\n'
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
    counts = {"told": 1, "failed": 0, "known": 0, "awaited": 0, "notes": []}
    assert answer.json() == counts | {"unused": ["Operator"], "encoding": "utf-8"}


def yes_no(client: httpx.Client, name: str = "yields") -> str:
    path = begin(client, name, kind="yes/no")
    lines = [{"row": 0, "col": 0, "value": "fail"}, {"row": 1, "col": 1, "value": "yes"}]
    assert client.post(f"{path}/tell", json={"lines": lines}).status_code == 200
    return path


def test_measurements_carry_what_was_told(client: httpx.Client) -> None:
    path = yes_no(client)
    assert client.post(f"{path}/correct", json={"number": 1, "value": "pass"}).status_code == 200
    items = client.get(f"{path}/measurements").json()["items"]
    assert [(line["value"], line["text"]) for line in items] == [(1.0, "yes"), (1.0, "yes")]
    (entry,) = client.get(f"{path}/cell?row=0&col=0").json()["measurements"]
    assert (entry["text"], entry["before"], entry["before_text"]) == ("yes", [0.0], ["no"])
    assert client.post(f"{path}/correct", json={"number": 1, "value": None}).status_code == 200
    (entry,) = client.get(f"{path}/cell?row=0&col=0").json()["measurements"]
    assert (entry["value"], entry["text"], entry["before_text"]) == (None, None, ["no", "yes"])
    assert client.get(f"{path}/measurements?everything=true").json()["items"][0]["text"] is None


def test_a_limit_before_a_correction_is_shown_as_one(client: httpx.Client) -> None:
    path = begin(client)
    tell(client, path, {"below": 0.5})
    client.post(f"{path}/correct", json={"number": 1, "value": 0.4})
    (entry,) = client.get(f"{path}/cell?row=0&col=0").json()["measurements"]
    assert (entry["text"], entry["before"], entry["before_text"]) == ("0.4", [0.5], ["<0.5"])


def test_every_page_of_the_history_has_the_words(client: httpx.Client) -> None:
    path = yes_no(client)
    client.post(f"{path}/correct", json={"number": 1, "value": "yes"})
    (line,) = client.get(f"{path}/history?after=2").json()["items"]
    assert line["what"] == "measurement 1 now yes (row 0, column 0, was no)"
    client.post(f"{path}/correct", json={"number": 1, "value": None})
    client.post(f"{path}/correct", json={"number": 1, "value": "no"})
    for after, was in ((2, "no"), (3, "yes"), (4, "struck out")):  # what was is on an earlier page
        (line,) = client.get(f"{path}/history?after={after}&limit=1").json()["items"]
        assert line["what"].endswith(f"(row 0, column 0, was {was})")


def test_a_wide_export_in_json_has_limits_and_words(client: httpx.Client) -> None:
    path = begin(client)
    tell(client, path, {"below": 0.5})
    wide = client.get(f"{path}/export?wide=true&form=json").json()
    assert wide["values"][0][0] == "<0.5"
    assert wide["values"][1][1] is None
    named = client.get(f"{yes_no(client, 'trials')}/export?wide=true&form=json").json()
    assert (named["values"][0][0], named["values"][1][1]) == ("no", "yes")


def test_true_and_false_are_yes_and_no_alone(client: httpx.Client) -> None:
    path = begin(client, "trials", kind="yes/no")
    lines = [{"row": 0, "col": 0, "value": True}, {"row": 1, "col": 1, "value": False}]
    assert client.post(f"{path}/tell", json={"lines": lines}).json()["told"] == 2
    assert client.post(f"{path}/correct", json={"number": 1, "value": False}).status_code == 200
    assert [line["text"] for line in client.get(f"{path}/measurements").json()["items"]] == ["no", "no"]
    answer = tell(client, begin(client), True)
    assert (answer.status_code, "'true' is not a number" in answer.json()["detail"]) == (422, True)
    answer = tell(client, begin(client, "g", kind="grades", levels=["A", "B", "C"]), True)
    assert "expected one of A, B, C, got 'true'" in answer.json()["detail"]


@pytest.mark.parametrize(
    ("words", "code", "advice"),
    [
        (["B", "C"], "needs_grades", "Grades need kind='grades' and their order in levels."),
        (["yes", "no"], "needs_yes_no", "Values that are yes or no need kind='yes/no'."),
    ],
)
def test_values_of_another_kind_are_refused_by_their_labels(
    client: httpx.Client, words: list[str], code: str, advice: str
) -> None:
    lines = [{"row": f"L{k}", "col": "S2", "value": word} for k, word in enumerate(words, 1)]
    body = {"name": "letters", "rows": ["L1", "L2"], "cols": ["S1", "S2"], "values": lines}
    refused = client.post("/campaigns", json=body)
    found, (first, second) = refused.json(), words
    assert (refused.status_code, found["code"], found["line"]) == (422, code, 1)
    wrong = f"row 'L1', column 'S2': '{first}' is not a number. Likewise row 'L2', column 'S2' ('{second}')."
    assert (found["reason"], found["said"]) == (wrong, f"'{first}' is not a number.")
    assert found["detail"].startswith(wrong)
    assert found["detail"].endswith(advice)
    assert "--" not in found["detail"]


def test_limits_beside_the_entry(client: httpx.Client) -> None:
    path = begin(client)
    lines = [{"row": 0, "col": 0, "below": 0.5}, {"row": 1, "col": 1, "low": 1, "high": 2}]
    assert client.post(f"{path}/tell", json={"lines": lines}).json()["told"] == 2
    assert client.post(f"{path}/correct", json={"number": 1, "above": 3}).status_code == 200
    items = client.get(f"{path}/measurements").json()["items"]
    assert [line["text"] for line in items] == [">3", "1..2"]
    both = client.post(f"{path}/tell", json={"lines": [{"row": 0, "col": 1, "value": 1, "below": 2}]})
    assert both.json()["detail"] == "body.lines.0: expected a value, or its limits, got value and below."


def test_limits_beside_a_value_are_those_of_a_table(client: httpx.Client) -> None:
    path = begin(client)
    lines = [{"row": 0, "col": 0, "value": "0.5", "high": 0.5}, {"row": 1, "col": 1, "low": 1, "high": None}]
    assert client.post(f"{path}/tell", json={"lines": lines}).json()["told"] == 2
    assert [m["text"] for m in client.get(f"{path}/measurements").json()["items"]] == ["<0.5", ">1"]
    both = client.post(
        f"{path}/tell", json={"lines": [{"row": 0, "col": 1, "value": 5, "low": 4, "high": 6}]}
    )
    assert both.status_code == 422
    assert "expected a value, or its limits low and high, got both" in both.json()["detail"]


INTERNAL = (
    "literal",
    "Strict",
    "dict[",
    "nullable",
    "function",
    "float:",
    "extra inputs",
    "Value error",
    "validation",
)


@pytest.mark.parametrize(
    ("line", "detail"),
    [
        ({"value": [1]}, "body.lines.0.value: expected true or false, a number, text or an object, got [1]."),
        ({"value": {"below": "x"}}, 'body.lines.0.value.below: expected a number, got "x".'),
        ({"value": {"nil": 1}}, "body.lines.0.value.nil: expected 'below', 'above', 'low' or 'high', got \"nil\"."),
        ({"vlaue": 1}, 'body.lines.0.vlaue: expected a known name, got "vlaue".'),
        ({"se": -1, "value": 1}, "body.lines.0.se: expected at least 0, got -1."),
        ({"failed": 1}, "body.lines.0.failed: expected true or false, got 1."),
        ({"below": {}}, "body.lines.0.value.below: expected a number, got {}."),
    ],
)  # fmt: skip
def test_a_wrong_line_is_refused_in_our_words(
    client: httpx.Client, line: dict[str, Any], detail: str
) -> None:
    answer = client.post(f"{begin(client)}/tell", json={"lines": [{"row": 0, "col": 0} | line]})
    assert (answer.status_code, answer.json()["detail"]) == (422, detail)
    assert not any(word in answer.text for word in INTERNAL)


@pytest.mark.parametrize(
    ("settings", "detail"),
    [
        ({"kind": 1}, "body.kind: expected text, got 1."),
        ({"levels": "A,B"}, 'body.levels: expected a list, got "A,B".'),
        ({"kind": "grades", "levels": ["A", None]}, "body.levels.1: expected text or a number, got null."),
        ({"limits": [0]}, "body.limits: expected at least 2 items, got [0]."),
        ({"limits": ["a", 1]}, 'body.limits.0: expected a number, got "a".'),
    ],
)
def test_wrong_settings_are_refused_in_our_words(
    client: httpx.Client, settings: dict[str, Any], detail: str
) -> None:
    answer = client.post("/campaigns", json={"name": "c", "rows": 3, "cols": 3} | settings)
    assert (answer.status_code, answer.json()["detail"]) == (422, detail)
    assert not any(word in answer.text for word in INTERNAL)


def test_a_kind_stays(client: httpx.Client) -> None:
    answer = client.patch(f"{begin(client)}/settings", json={"kind": "yes/no"})
    assert "expected settings that may change, got kind, which stays" in answer.json()["detail"]


def test_trials_in_one_line(client: httpx.Client) -> None:
    path = begin(client, kind="yes/no")
    line = {"row": 0, "col": 0, "successes": 2, "trials": 3}
    body = {"lines": [line, {"row": 1, "col": 1, "value": "no"}]}
    counts = {"told": 4, "failed": 0, "known": 0, "awaited": 0, "notes": []}
    assert client.post(f"{path}/tell", json=body).json() == counts
    assert client.post(f"{path}/tell", json=body).json()["known"] == 4
    items = client.get(f"{path}/measurements").json()["items"]
    assert [item["value"] for item in items] == [1.0, 1.0, 0.0, 0.0]
    for wrong in ({"successes": 4}, {"trials": None}, {"successes": -1}):
        assert client.post(f"{path}/tell", json={"lines": [line | wrong]}).status_code == 422
    for refused in (
        client.post(f"{begin(client, 'numbers')}/tell", json={"lines": [line]}),
        client.post("/campaigns", json={"name": "c", "rows": 2, "cols": 2, "values": [line]}),
    ):
        assert "got successes and trials, which need kind='yes/no'" in refused.json()["detail"]
    csv = "row,col,successes,trials\n0,1,1,2\n"
    for _ in range(2):  # the same request again
        headers = {"Idempotency-Key": "k", "Content-Type": "text/csv"}
        answer = client.post(f"{path}/tell/csv", content=csv, headers=headers)
        counts = {"told": 2, "failed": 0, "known": 0, "awaited": 0, "notes": []}
        assert answer.json() == counts | {"unused": [], "encoding": "utf-8"}


def test_booleans_begin_no_campaign_of_numbers(client: httpx.Client) -> None:
    body = {"name": "c", "rows": 2, "cols": 2, "values": [{"row": 0, "col": 0, "value": True}]}
    answer = client.post("/campaigns", json=body)
    assert answer.status_code == 422
    assert "Values that are yes or no need kind='yes/no'" in answer.text
    assert client.post("/campaigns", json=body | {"kind": "yes/no"}).status_code == 201
