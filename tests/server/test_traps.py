"""What may come and must break nothing: no 5xx, nothing written that cannot be read; in a file and in PostgreSQL."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any
from urllib.parse import quote

import httpx
import pytest
from tests.server.live import begin, serving

NINES = "9" * 5000
READING = (
    "", "/labels", "/events", "/history", "/settings", "/asked", "/measurements", "/map?what=value", "/export",
    "/export?wide=true", "/export?form=json", "/export?form=json&wide=true",
)  # fmt: skip

# As JSON, since much of this cannot be said in Python's own.
LABELS: dict[str, bool] = {  # and whether they will do
    "[1e308, 1e-320]": True,
    "[true, false]": True,
    '["\\u0000", "b"]': True,
    '["\\u202e", "=cmd()"]': True,
    '["é", "e\\u0301"]': True,
    '[{"date": "2030-01-31"}, {"date": "2030-02-01"}]': True,
    '[{"datetime": "2030-01-31T00:00:00"}, {"datetime": "2030-01-31T00:00:00+02:00"}]': True,
    '[{"datetime64": "2030-01-31T12:00", "unit": "m"}, {"datetime64": "2030", "unit": "Y"}]': True,
    '[{"tuple": [1, {"tuple": []}]}, "b"]': True,
    f'["{"x" * 100_000}", "b"]': True,
    "[Infinity, 1.0]": False,
    "[NaN, 1]": False,
    "[1e400, 1]": False,
    "[-0.0, 0]": False,
    "[true, 1]": False,
    '["1", 1]': False,
    '["", "b"]': False,
    '["\\ud800", "b"]': False,
    "[9007199254740993, 1]": False,
    f"[{NINES}, 1]": False,
    "[null, 1]": False,
    '[["a"], "b"]': False,
    '[{}, "b"]': False,
    '[{"x": 1}, "b"]': False,
    '[{"date": "2030-02-30"}, "b"]': False,
    '[{"date": 1}, "b"]': False,
    '[{"datetime64": "NaT", "unit": "D"}, "b"]': False,
    '[{"datetime64": "2030-01-01", "unit": "as"}, "b"]': False,
    '[{"datetime64": "2500-01-01", "unit": "ns"}, "b"]': False,
    '[{"datetime64": "2030", "unit": ["D"]}, "b"]': False,
    '[{"Timestamp": "NaT"}, "b"]': False,
    '[{"Timestamp": 1e300}, "b"]': False,
    '[{"tuple": [Infinity]}, "b"]': False,
    '[{"tuple": ["\\ud800"]}, "b"]': False,
    '[{"tuple": [[1]]}, "b"]': False,
    '[{"tuple": null}, "b"]': False,
}
NAMES = ('"\\u0000"', '"a\\u0000b"', '"\\ud800"', '"\\n"', '" "', '""', "null", "7", f'"{"x" * 201}"')
ODD_NAMES = (f'"{"ü" * 200}"', f'"{"🧪" * 200}"', '"../x"', '"."', '"%2F?#"', '"αβ"')
TOLD = (
    '[{"id": 1, "value": Infinity}]', '[{"id": 1, "value": 1e400}]', '[{"id": 1, "value": "1e999"}]',
    '[{"id": 1, "value": "0x10"}]', '[{"id": 1, "value": true}]', f'[{{"id": 1, "value": "{NINES}"}}]',
    '[{"id": 1, "value": 9007199254740993}]', f'[{{"id": {NINES}, "value": 1}}]', '[{"id": 1.0, "value": 1}]',
    '[{"id": 1, "value": 1, "reason": "\\ud800"}]', '[{"id": 1, "value": 1}, {"id": 1, "value": 2}]',
    '[{"id": 1, "value": 1}], "who": "\\u0000"', '[{"id": 1, "value": 1}], "who": "\\ud800"',
    '[{"id": 1, "value": 1}], "again": 1', '[{"row": "a", "value": 1}]', '[{"id": 1, "row": "zz", "value": 1}]',
)  # fmt: skip
SETTINGS = (
    '"budget": Infinity', '"budget": NaN', '"lease": 1e308', '"lease": NaN', '"target_sd": Infinity',
    '"range": [NaN, 1]', '"range": [1e308, -1e308]', '"costs": {"row": [1, Infinity]}', '"costs": "x"',
    '"costs": [[[1]]]', '"costs": {"tuple": 1}', '"mask": [[]]', '"mask": []', '"mask": [[true], [true, false]]',
    '"rank": 99999', '"acquisition": "\\ud800"', '"priors": "\\u0000"', '"plates": "x"', '"per_row": 0',
)  # fmt: skip
PLATES = (
    b"", b"\x00\x00", b"id,value\n1,\xff\n", b"\xff\xfei\x00", b'id,value\n"1', b"id,value\n1,\x00\n",
    b'id,value\n1,"' + b"x" * 300_000 + b'"\n', b"a" * 100_000, b"," * 100_000, b"id,id,value\n1,2,3\n",
    f"id,value\n{NINES},1\n".encode(), f"id,value\n{NINES[:400]},1\n".encode(), b"row,col,value\na,x,1e999\n",
    b"row,col,value\na,x,=1+1\n", b'{"lines": []}',
)  # fmt: skip
ADDRESSES = (
    "/campaigns/%00", "/campaigns/%ff", "/campaigns/%ED%A0%80", "/campaigns/" + "x" * 300, "/campaigns?name=%00",
    "/campaigns?name=%ED%A0%80", "/campaigns/traps/entry?row=%00&col=x", "/campaigns/traps/entry?row=%ff&col=x",
    f"/campaigns/traps/history?after={NINES}", "/campaigns/traps/history?after=9007199254740992",
    "/campaigns/traps/history?after=9007199254740993", f"/campaigns/traps/batch?id={NINES[:400]}",
    "/campaigns/traps/map?what=value&row=9007199254740992", "/campaigns/traps/map?what=value&rows=9007199254740992",
    "/campaigns/traps/map?level=nan", "/campaigns/traps/posterior?wait=nan", "/jobs/%00", "/jobs/" + "x" * 65,
    "/campaigns/{00000000-0000-0000-0000-000000000000}", "/campaigns/00000000-0000-0000-0000-000000000000",
)  # fmt: skip


@pytest.fixture
def client(lasting: str) -> Iterator[httpx.Client]:
    with serving(lasting) as client:
        yield client


def sent(
    client: httpx.Client,
    path: str,
    content: str | bytes,
    kind: str = "application/json",
    method: str = "POST",
) -> httpx.Response:
    answer = client.request(method, path, content=content, headers={"Content-Type": kind})
    assert answer.status_code < 500, (path, content[:100], answer.text)
    if answer.status_code >= 400:
        assert answer.headers["Content-Type"] == "application/problem+json"
        assert len(answer.text) < 5000
    return answer


def check_reading(client: httpx.Client, path: str) -> None:
    for place in READING:
        assert client.get(path + place).status_code == 200, place


def test_labels(client: httpx.Client) -> None:
    """Those that will do come back as they went, by every route; the others leave nothing behind."""
    for k, (labels, good) in enumerate(LABELS.items()):
        body = (
            f'{{"name": "n{k}", "rows": {labels}, "cols": ["x", "y"], "seed": 1, "acquisition": "balanced"}}'
        )
        answer = sent(client, "/campaigns", body)
        assert (answer.status_code == 201) is good, (labels[:100], answer.text)
        if not good:
            continue
        path = f"/campaigns/{answer.json()['id']}"
        assert client.get(f"{path}/labels").json()["rows"] == json.loads(labels)
        entries = client.post(f"{path}/ask", json={"n": 3}).json()["entries"]
        lines = [{"row": e["row"], "col": e["col"], "value": 0.5} for e in entries]
        assert sent(client, f"{path}/tell", json.dumps({"lines": lines})).json()["told"] == 3
        check_reading(client, path)
    assert client.get("/campaigns").json()["total"] == sum(LABELS.values())


def test_names(client: httpx.Client) -> None:
    for name in NAMES:
        assert sent(client, "/campaigns", f'{{"name": {name}, "rows": 2, "cols": 2}}').status_code == 422
    for name in ODD_NAMES:
        made = sent(client, "/campaigns", f'{{"name": {name}, "rows": 2, "cols": 2}}')
        assert made.status_code == 201
        assert made.json()["name"] == json.loads(name)
        check_reading(client, f"/campaigns/{made.json()['id']}")
    assert client.get("/campaigns").json()["total"] == len(ODD_NAMES)


def test_a_page_of_a_campaign_by_a_name_of_any_script(client: httpx.Client) -> None:
    for name in ("αβ", 'q"<>', "100%"):
        begin(client, name)
        address: str | None = f"/campaigns/{quote(name)}/history?limit=1"
        client.post(f"/campaigns/{quote(name)}/ask", json={"n": 1})
        numbers: list[int] = []
        while address is not None:
            page = client.get(address)
            assert page.status_code == 200
            numbers += [line["event"] for line in page.json()["items"]]
            link = page.links.get("next")
            address = None if link is None else link["url"].removeprefix("/api/v1")
        assert numbers == [1, 2]


def test_values_settings_plates_and_addresses(client: httpx.Client) -> None:
    path = begin(client, "traps", rows=["a", "b", "c"], cols=["x", "y", "z"])
    client.post(f"{path}/ask", json={"n": 3})
    for lines in TOLD:
        assert sent(client, f"{path}/tell", f'{{"lines": {lines}}}').status_code in (400, 409, 422), lines
    for setting in SETTINGS:
        answer = sent(client, f"{path}/settings", f"{{{setting}}}", method="PATCH")
        assert answer.status_code == 422, setting
    for plate in PLATES:
        assert sent(client, f"{path}/tell/csv", plate, "text/csv").status_code == 422, plate[:100]
    for address in ADDRESSES:
        answer = client.get(address)
        assert answer.status_code in (200, 404, 422), address
    assert client.get(path).json()["events"] == 2  # nothing of all this was written
    awaited: dict[str, Any] = sent(client, f"{path}/tell", '{"lines": [{"id": 1, "value": NaN}]}').json()
    assert (awaited["told"], awaited["awaited"]) == (0, 1)  # NaN is missing
    assert sent(client, f"{path}/fail", '{"ids": [3], "reason": "a\\u0000b"}').status_code == 200
    assert sent(client, f"{path}/settings", '{"range": [null, 5]}', method="PATCH").status_code == 200
    check_reading(client, path)
