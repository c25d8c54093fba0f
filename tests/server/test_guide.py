"""The guide's Python runs, and the routes that it names are there."""

import re
from pathlib import Path

import pandas as pd
from tests.server.live import running, serving

GUIDE = (Path(__file__).parents[2] / "docs" / "server.md").read_text(encoding="utf-8")


def test_the_python_of_the_guide_runs(capsys) -> None:
    (code,) = re.findall(r"^```python\n(.*?)^```$", GUIDE, flags=re.MULTILINE | re.DOTALL)
    with running() as (url, _):
        names: dict = {}
        exec(code.replace("http://127.0.0.1:8765", url), names)
    assert isinstance(names["batch"], pd.DataFrame)
    assert "6 entries told" in capsys.readouterr().out


def test_every_route_is_in_the_guide_and_no_other() -> None:
    with serving() as client:
        paths = {path.removeprefix("/api/v1") for path in client.get("/openapi.json").json()["paths"]}
    named = set()
    for cell in re.findall(r"^\| (`(?:GET|POST).*?) \|", GUIDE, flags=re.MULTILINE):
        for place in re.findall(r"(?:/campaigns|/jobs|/tables|…)[\w/{}]*", cell):
            place = place.replace("{c}", "{campaign}").replace("{id}", "{job}")
            base = "/jobs/{job}" if "/jobs" in cell else "/campaigns/{campaign}"
            named.add(place.replace("…", base))
    # What pages begin with, the help of the list, and what the client uses to fetch a batch again have no line.
    assert named - paths == set()
    assert paths - named == {"/health", "/access", "/jobs", "/campaigns/{campaign}/batch"}
