"""What the server shows: pages, exports, entries, maps; and how it refuses."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from typing import Any

import httpx
import numpy as np
import pytest
from tests.server.live import begin, serving

from maxentry.campaign.campaign import Campaign
from maxentry.campaign.storage import Storage
from maxentry.cli.complete import make_entry_table
from maxentry.posterior.diagnostics import NOTHING_TO_DO, THOROUGH, Diagnostics


@pytest.fixture
def client() -> Iterator[httpx.Client]:
    with serving() as client:
        yield client


def told(client: httpx.Client, path: str, shape: tuple[int, int] = (4, 5), n: int = 12) -> np.ndarray:
    """n values of the matrix i + j/7, told; the matrix."""
    X = np.add.outer(np.arange(shape[0]), np.arange(shape[1]) / 7)
    keys = np.random.default_rng(0).permutation(X.size)[:n]
    lines = [
        {"row": int(k) // shape[1], "col": int(k) % shape[1], "value": float(X.ravel()[k])} for k in keys
    ]
    assert client.post(f"{path}/tell", json={"lines": lines}).json()["told"] == n
    return X


# Pages


@pytest.mark.parametrize(
    ("place", "number"),
    [("/history", "event"), ("/events", "number"), ("/asked", "id"), ("/measurements", "number")],
)
def test_pages_are_all_of_it_once(client: httpx.Client, place: str, number: str) -> None:
    path = begin(client)
    for _ in range(7):
        client.post(f"{path}/ask", json={"n": 1})
    for k in range(1, 8):
        client.post(f"{path}/tell", json={"lines": [{"id": k, "value": 0.5}]})
    whole = client.get(path + place).json()
    assert whole["next"] is None
    assert whole["total"] == len(whole["items"])
    found: list[Any] = []
    address: str | None = f"{path}{place}?limit=3"
    while address is not None:
        page = client.get(address)
        assert len(page.json()["items"]) <= 3
        found += page.json()["items"]
        link = page.links.get("next")
        assert (link is None) == (page.json()["next"] is None)
        address = None if link is None else link["url"].removeprefix("/api/v1")
    assert found == whole["items"]
    assert [line[number] for line in found] == list(range(1, len(found) + 1))


def test_pages_stay_in_place_when_a_line_goes(client: httpx.Client) -> None:
    path = begin(client)
    told(client, path, n=6)
    first = client.get(f"{path}/measurements?limit=3").json()
    client.post(f"{path}/correct", json={"number": 1, "value": None})
    second = client.get(f"{path}/measurements?limit=3&after={first['next']}").json()
    assert [line["number"] for line in second["items"]] == [4, 5, 6]
    everything = client.get(f"{path}/measurements?everything=true").json()
    assert everything["items"][0]["value"] is None


def test_only_those_of_a_status(client: httpx.Client) -> None:
    path = begin(client)
    client.post(f"{path}/ask", json={"n": 5})
    client.post(f"{path}/fail", json={"ids": [2, 4], "reason": "empty"})
    found = client.get(f"{path}/asked?status=failed").json()
    assert [line["id"] for line in found["items"]] == [2, 4]
    assert found["total"] == 2


def test_by_name_or_by_id(client: httpx.Client) -> None:
    begin(client, "plain name")
    odd = begin(client, "../odd/name")
    assert client.get("/campaigns/plain%20name").json()["name"] == "plain name"
    assert client.get(odd).json()["name"] == "../odd/name"
    assert client.get("/campaigns", params={"name": "../odd/name"}).json()["total"] == 1
    missing = client.get("/campaigns/no such")
    assert missing.status_code == 404
    assert (
        missing.json()["detail"]
        == "expected the name of a campaign ('plain name', '../odd/name'), got 'no such'."
    )


# Rows that were removed


@pytest.mark.parametrize("side", ["row", "col"])
def test_a_fit_from_before_a_removal_is_not_shown_under_other_labels(side: str) -> None:
    names, others = list("ABCDEF"), list("wxyz")
    rows, cols = (names, others) if side == "row" else (others, names)
    values = {(name, other): 10.0 * i + j for i, name in enumerate(names) for j, other in enumerate(others)}
    with Storage("sqlite://", create=True) as storage, serving(storage) as client:
        path = begin(client, rows=rows, cols=cols, effort="quick")
        lines = [
            {"row": n if side == "row" else o, "col": o if side == "row" else n, "value": value}
            for (n, o), value in values.items()
        ]
        assert client.post(f"{path}/tell", json={"lines": lines}).json()["told"] == 24
        assert client.get(f"{path}/posterior?wait=60").status_code == 200
        campaign = Campaign.open(storage)
        getattr(campaign, f"remove_{side}s")(["A"])
        getattr(campaign, f"add_{side}s")(["Z"])
        campaign.ask(1)

        where = {"row": "Z", "col": "w"} if side == "row" else {"row": "w", "col": "Z"}
        entry = client.get(f"{path}/entry", params=where)
        assert entry.status_code == 200
        assert (entry.json()["fit"], entry.json()["believed"]) == (None, None)
        reasons = client.get(f"{path}/reasons").json()
        assert (reasons["fit"], reasons["items"][0]["mean_now"]) == (None, None)

        table = client.get(f"{path}/completed?stale=true&wait=60")
        assert table.status_code == 200
        assert "Z" in table.text
        assert "A" not in table.text
        drawn = client.get(f"{path}/map?stale=true&wait=60").json()
        assert drawn["fit"]["version"] == campaign.state.version
        assert drawn[f"{side}_labels"] == [*names[1:], "Z"]
        means = np.array(drawn["values"]) if side == "row" else np.array(drawn["values"]).T
        measured = np.array([[values[name, other] for other in others] for name in names[1:]])
        np.testing.assert_allclose(means[:5], measured, atol=3)  # a row off would be 10
        assert client.get(f"{path}/entry", params=where).json()["believed"] is not None


# Exports and entries


def test_csv_is_told_back_as_it_was(client: httpx.Client) -> None:
    path = begin(client, rows=["a,b", 'c"d', "é"], cols=["=1+1", "y"])
    client.post(f"{path}/tell", json={"lines": [{"row": "a,b", "col": "=1+1", "value": 0.1 + 0.2}]})
    answer = client.get(f"{path}/export")
    assert answer.headers["Content-Type"].startswith("text/csv")
    (line,) = csv.DictReader(io.StringIO(answer.text))
    assert (line["row"], line["col"], float(line["value"])) == ("a,b", "'=1+1", 0.1 + 0.2)
    other = begin(client, "other", rows=["a,b", 'c"d', "é"], cols=["=1+1", "y"])
    kept = "\n".join(
        ",".join(cells) for cells in [["row", "col", "value"], ['"a,b"', line["col"], line["value"]]]
    )
    assert (
        client.post(f"{other}/tell/csv", content=kept, headers={"Content-Type": "text/csv"}).json()["told"]
        == 1
    )
    wide = client.get(f"{path}/export?wide=true&form=json").json()
    assert wide["values"] == [[0.1 + 0.2, None], [None, None], [None, None]]
    assert client.get(f"{path}/export?wide=true").text.splitlines()[0] == "row,'=1+1,y"


def test_an_entry_has_its_whole_story(client: httpx.Client) -> None:
    path = begin(client, costs={"entry": [[2.5] * 5] * 4})
    told(client, path)
    client.post(f"{path}/ask", json={"n": 1, "who": "ann"})
    asked = client.get(f"{path}/asked").json()["items"][0]
    where = {"row": asked["row"], "col": asked["col"]}
    before = client.get(f"{path}/entry", params=where).json()
    assert (before["fit"], before["believed"], before["cost"]) == (None, None, 2.5)
    assert before["asks"] == [asked]
    client.post(f"{path}/tell", json={"lines": [{"id": 1, "value": 7.0}]})
    client.post(f"{path}/correct", json={"id": 1, "value": 1.0, "reason": "a slip"})
    assert client.get(f"{path}/posterior?wait=60").status_code == 200
    after = client.get(f"{path}/entry", params=where).json()
    assert after["measurements"][0]["before"] == [7.0]
    assert after["fit"]["current"] is True
    looked = client.post(f"{path}/lookup", json={"rows": [where["row"]], "cols": [where["col"]]}).json()
    assert looked["items"] == [after["believed"]]


def test_look_ups_are_those_of_the_posterior(client: httpx.Client) -> None:
    path = begin(client, rank=1)
    told(client, path)
    body = {"rows": [0, 1, "3"], "cols": [4], "level": 0.8}
    found = client.post(f"{path}/lookup?wait=60", json=body).json()
    lab = client.app.state.service  # type: ignore[attr-defined]
    posterior = lab.open("yields").campaign.posterior(progress=False)
    wanted = posterior.predict([0, 1, 3], [4, 4, 4], level=0.8)
    for name in ("mean", "sd", "low", "high", "new_low", "new_high"):
        assert [line[name] for line in found["items"]] == getattr(wanted, name).tolist()
    assert [line["row"] for line in found["items"]] == [0, 1, 3]
    bad = client.post(f"{path}/lookup", json={"rows": [0, 1], "cols": [0, 1, 2]})
    assert bad.status_code == 422
    assert client.post(f"{path}/lookup", json={"rows": ["none"], "cols": [0]}).json()["error"] == "LabelError"
    assert {line[name] for line in found["items"] for name in ("most_likely", "probabilities")} == {None}


@pytest.mark.parametrize(
    ("levels", "noise"), [(["poor", "fair", "good"], "gaussian"), ([0.5, 1, 1.5], "columns")]
)
def test_grades_have_the_probabilities_of_the_posterior_and_of_the_shell(
    client: httpx.Client, levels: list[Any], noise: str
) -> None:
    path = begin(client, rank=1, kind="grades", levels=levels, noise=noise)
    entries = [(i, j) for i in range(4) for j in range(5)][::2]
    lines = [{"row": i, "col": j, "value": levels[(i + j) % 3]} for i, j in entries]
    assert client.post(f"{path}/tell", json={"lines": lines}).status_code == 200
    found = client.post(f"{path}/lookup?wait=60", json={"rows": [0, 1, 3], "cols": [4]}).json()["items"]
    posterior = client.app.state.service.open("yields").campaign.posterior(progress=False)  # type: ignore[attr-defined]
    names, at = [f"{level}" for level in levels], ([0, 1, 3], [4, 4, 4])
    assert [list(line["probabilities"]) for line in found] == 3 * [names]
    p = np.array([[*line["probabilities"].values()] for line in found])
    np.testing.assert_array_equal(p.T, posterior.probabilities(*at))
    assert [line["most_likely"] for line in found] == [str(x) for x in posterior.most_likely(*at)]
    shell = make_entry_table(posterior, *at, 0.9, False)
    np.testing.assert_array_equal(
        p, np.transpose([shell.columns[shell.names.index(f"p_{name}")] for name in names])
    )
    entry = client.get(f"{path}/entry?row=0&col=4").json()["believed"]
    assert entry["most_likely"] == found[0]["most_likely"]
    assert entry["probabilities"] == pytest.approx(found[0]["probabilities"])


@pytest.mark.parametrize(
    ("advice", "remark"),
    [
        (NOTHING_TO_DO, ""),
        (f"{NOTHING_TO_DO} On 3 of 90 …", "On 3 of 90 …"),
        (f"Run longer: {THOROUGH}.", "Run longer: the effort 'thorough'."),
    ],
)  # fmt: skip
def test_advice_for_those_who_do_not_write_python(
    client: httpx.Client, monkeypatch: pytest.MonkeyPatch, advice: str, remark: str
) -> None:
    path = begin(client, rank=1)
    told(client, path)
    assert client.get(f"{path}/posterior?wait=60").status_code == 200
    monkeypatch.setattr(Diagnostics, "advice", property(lambda _: advice, lambda *_: None), raising=False)
    found = client.get(f"{path}/posterior?wait=60").json()
    assert (found["advice"], found["remark"]) == (advice, remark)


# Maps


def test_a_map_of_everything_is_the_posterior(client: httpx.Client) -> None:
    path = begin(client)
    X = told(client, path)
    tile = client.get(f"{path}/map?what=mean&wait=60").json()
    lab = client.app.state.service  # type: ignore[attr-defined]
    posterior = lab.open("yields").campaign.posterior(progress=False)
    np.testing.assert_array_equal(tile["values"], posterior.mean)
    assert (tile["binned"], tile["row_labels"]) == (False, [0, 1, 2, 3])
    assert tile["least"] == posterior.mean.min()
    width = client.get(f"{path}/map?what=width&level=0.5").json()
    low, high = posterior.interval(0.5)
    np.testing.assert_allclose(width["values"], high - low)
    value = client.get(f"{path}/map?what=value").json()["values"]
    known = [
        (v, x)
        for line, row in zip(value, X, strict=True)
        for v, x in zip(line, row, strict=True)
        if v is not None
    ]
    assert len(known) == 12
    assert all(v == x for v, x in known)


def test_what_is_told_and_pending_on_a_map(client: httpx.Client) -> None:
    path = begin(client)
    told(client, path)
    asked = client.post(f"{path}/ask", json={"n": 3}).json()["entries"]
    pending = np.array(client.get(f"{path}/map?what=pending").json()["values"])
    assert sorted(zip(*np.nonzero(pending), strict=True)) == sorted((e["row"], e["col"]) for e in asked)
    observed = client.get(f"{path}/map?what=observed&cells=1").json()
    assert (observed["values"], observed["binned"]) == ([[12.0]], True)
    assert client.get(f"{path}/map?what=available").json()["least"] == 1.0


def test_a_large_matrix_is_binned_not_refused(client: httpx.Client) -> None:
    path = begin(client, rows=3000, cols=2000)
    client.post(f"{path}/tell", json={"lines": [{"row": 2999, "col": 1999, "value": 1.0}]})
    tile = client.get(f"{path}/map?what=observed&cells=100").json()
    assert len(tile["values"]) == len(tile["values"][0]) == 100
    assert tile["values"][-1][-1] == 1.0
    part = client.get(f"{path}/map?what=value&row=2990&col=1990").json()
    assert (part["row_labels"][-1], part["values"][-1][-1], part["binned"]) == (2999, 1.0, False)


# Refusals


UNKNOWN = [
    ("GET", "/export?format=xml", ["wide", "everything", "form"]),
    ("GET", "/asked?limt=1", ["status", "after", "limit"]),
    ("GET", "/labels?n=1", []),
    ("POST", "/ask?wiat=0", ["wait"]),
]


@pytest.mark.parametrize(("method", "place", "known"), UNKNOWN)
def test_parameters_that_mean_nothing(
    client: httpx.Client, method: str, place: str, known: list[str]
) -> None:
    path = begin(client)
    answer = client.request(method, path + place, json={"n": 1} if method == "POST" else None)
    document = answer.json()
    assert answer.headers["Content-Type"] == "application/problem+json"
    assert (answer.status_code, document["error"]) == (422, "ParameterError")
    assert sorted(document["known"]) == sorted(known)
    name = place.partition("?")[2].partition("=")[0]
    assert f"got {name!r}" in document["detail"]
    assert all(other in document["detail"] for other in known)
    assert client.get(path).json()["events"] == 1


@pytest.mark.parametrize("value", ["null", "NaN", '"NaN"', '""'])
def test_a_value_that_is_still_awaited(client: httpx.Client, value: str) -> None:
    path = begin(client)
    client.post(f"{path}/ask", json={"n": 2})
    body = f'{{"lines": [{{"id": 1, "value": {value}}}, {{"id": 2, "value": 0.5}}]}}'
    answer = client.post(f"{path}/tell", content=body, headers={"Content-Type": "application/json"})
    assert answer.json() == {"told": 1, "failed": 0, "known": 0, "awaited": 1, "notes": []}
    assert client.get(f"{path}/asked?status=pending").json()["items"][0]["id"] == 1


def test_no_route_takes_a_parameter_that_it_does_not_describe(client: httpx.Client) -> None:
    paths = client.get("/openapi.json").json()["paths"]
    path = begin(client)
    tried = [(method, place) for place, methods in paths.items() for method in methods]
    assert len(tried) > 25
    for method, place in tried:
        where = place.removeprefix("/api/v1").replace("/campaigns/{campaign}", path).replace("{job}", "none")
        answer = client.request(method, f"{where}?nonsense=1")
        assert answer.json()["type"].endswith("unknown-parameter"), (method, place)


REFUSED = [
    ("/tell", {"lines": [{"id": 9, "value": 1}]}, 422, "DataError", "nothing was asked yet"),
    ("/tell", {"lines": [{"row": "zz", "col": 0, "value": 1}]}, 422, "LabelError", "known row labels"),
    ("/tell", {"lines": [{"row": {"moon": 1}, "col": 0, "value": 1}]}, 422, "DataError", "a label as text"),
    ("/tell", {"lines": 3}, 422, "ParameterError", "body.lines"),
    ("/tell", {"lines": [], "colour": 1}, 422, "ParameterError", "body.colour"),
    (
        "/tell",
        {"lines": [{"row": 10**30, "col": 0, "value": 1}]},
        422,
        "ParameterError",
        "whole numbers up to",
    ),
    ("/ask", {"n": 0}, 422, "ParameterError", "body.n"),
    ("/ask", {"n": 1, "plates": "rows", "per_row": 1}, 422, "ParameterError", "plates"),
    ("/fail", {"ids": []}, 422, "ParameterError", "body.ids"),
    ("/correct", {"value": 1}, 422, "DataError", "an id, a row and a column, or a number"),
    ("/rows", {"labels": [0]}, 422, "DataError", "is there already"),
]


@pytest.mark.parametrize(("place", "body", "status", "kind", "said"), REFUSED)
def test_problems(client: httpx.Client, place: str, body: Any, status: int, kind: str, said: str) -> None:
    path = begin(client)
    answer = client.post(path + place, json=body)
    document = answer.json()
    assert answer.headers["Content-Type"] == "application/problem+json"
    assert (answer.status_code, document["status"], document["error"]) == (status, status, kind)
    assert said in document["detail"]
    assert set(document) >= {"type", "title", "status", "detail"}
    assert client.get(path).json()["events"] == 1


@pytest.mark.parametrize("content", [b"{", b"\xff\xfe", b"[" * 100_000, b'{"n": 1e', b"nul"])
def test_what_is_no_json(client: httpx.Client, content: bytes) -> None:
    path = begin(client)
    answer = client.post(f"{path}/ask", content=content, headers={"Content-Type": "application/json"})
    assert answer.status_code in (400, 422)
    assert answer.headers["Content-Type"] == "application/problem+json"


def test_halves_of_characters(client: httpx.Client) -> None:
    path = begin(client)
    content = b'{"lines":[{"row":"\\ud800","col":0,"value":1}],"who":"\\udfff"}'
    answer = client.post(f"{path}/tell", content=content, headers={"Content-Type": "application/json"})
    assert answer.status_code == 422
    content = b'{"labels":["\\ud800"]}'
    answer = client.post(f"{path}/rows", content=content, headers={"Content-Type": "application/json"})
    assert answer.status_code == 422


def test_a_storage_that_does_not_answer(client: httpx.Client, monkeypatch: pytest.MonkeyPatch) -> None:
    from maxentry.errors import StorageError

    path = begin(client)

    def broken(*_: object) -> None:
        raise StorageError("expected to read postgresql://bob@db.internal/lab, but it is gone.")

    monkeypatch.setattr(Campaign, "status", broken)
    answer = client.get(path)
    assert answer.status_code == 503
    assert answer.headers["Retry-After"]
    assert "db.internal" not in answer.text
    assert answer.json()["error"] == "StorageError"


# The description


def test_the_description(client: httpx.Client) -> None:
    document = client.get("/openapi.json").json()
    assert document["openapi"].startswith("3.1")
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            assert operation["summary"], (method, path)
            assert operation["description"], (method, path)
            if "health" not in path:
                assert {"401", "403", "404", "413", "422", "429"} <= set(operation["responses"]), (
                    method,
                    path,
                )
    bodies = [
        name for name, schema in document["components"]["schemas"].items()
        if name.endswith("Request") and schema.get("examples")
    ]  # fmt: skip
    assert len(bodies) == 12


def test_the_examples_of_the_description_work(client: httpx.Client) -> None:
    schemas = client.get("/openapi.json").json()["components"]["schemas"]

    def example(name: str) -> Any:
        return schemas[f"{name}Request"]["examples"][0]

    made = client.post("/campaigns", json=example("Create"))
    assert made.status_code == 201
    path = f"/campaigns/{made.json()['id']}"
    assert client.post(f"{path}/ask", json=example("Ask")).status_code == 201
    told = client.post(f"{path}/tell", json=example("Tell"))
    assert told.status_code == 200, told.text
    assert client.patch(f"{path}/settings", json=example("Change")).status_code == 200
    assert client.post(f"{path}/correct", json=example("Correct")).status_code == 200
    one, other = (line["id"] for line in client.get(f"{path}/asked?status=pending&limit=2").json()["items"])
    assert client.post(f"{path}/withdraw", json={**example("Withdraw"), "ids": [one]}).status_code == 200
    assert client.post(f"{path}/fail", json={**example("Fail"), "ids": [other]}).status_code == 200
    assert client.post(f"{path}/rows", json=example("AddLabels")).status_code == 200


def test_a_long_name_of_a_field_is_shortened_in_the_refusal() -> None:
    with serving() as client:
        path = begin(client)
        refused = client.post(f"{path}/tell", json={"lines": [], "x" * 5000 + "\n": 1})
        assert refused.status_code == 422
        assert len(refused.json()["detail"]) <= 300
        assert len(refused.json()["detail"].splitlines()) == 1
