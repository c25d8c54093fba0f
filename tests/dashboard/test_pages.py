"""The files of the dashboard as they are served, without a browser."""

from __future__ import annotations

import gzip
import html
import json
import re
from importlib.metadata import version
from pathlib import Path

import pytest
from tests.server.live import CONTEXT, TOKENS, httpx, running

import maxentry.server
from maxentry.acquisition import CRITERION_NAMES
from maxentry.campaign.settings import Settings
from maxentry.model.likelihood import KIND_NAMES
from maxentry.server.routes import dashboard
from maxentry.transform import Transform

STATIC = Path(maxentry.server.__file__).parent / "static"


def test_the_page_and_all_that_it_names_are_there_without_a_token() -> None:
    with running(tokens=TOKENS) as (url, _), httpx.Client(base_url=url, timeout=60, verify=CONTEXT) as client:
        page = client.get("/")
        assert page.headers["Content-Type"].startswith("text/html")
        assert page.headers["Cache-Control"] == "no-cache"
        assert "{{" not in page.text
        named = re.findall(r'(?:src|href|content)="(/static/[^"]+)"', page.text)
        assert len(named) >= 6
        assert {name: client.get(name).status_code for name in named} == dict.fromkeys(named, 200)
        assert client.get("/api/v1/campaigns").status_code == 401


def test_our_own_files_are_asked_for_again_and_not_sent_twice() -> None:
    with running() as (url, _), httpx.Client(base_url=url, timeout=60, verify=CONTEXT) as client:
        first = client.get("/static/js/main.js")
        assert first.headers["Cache-Control"] == "no-cache"
        assert first.headers["Content-Type"].startswith("text/javascript")
        again = client.get("/static/js/main.js", headers={"If-None-Match": first.headers["ETag"]})
        assert (again.status_code, again.content) == (304, b"")


def test_no_pattern_looks_behind() -> None:  # older browsers do not load a module that has one
    behind = re.compile(r"\(\?<[=!]")
    files = [f.name for f in (STATIC / "js").glob("*.js") if behind.search(f.read_text(encoding="utf-8"))]
    assert files == []
    assert behind.search(r"/(?<![\d,])1/")  # the check can fail


def test_every_module_that_is_imported_is_there() -> None:
    files = {f.name: f.read_text(encoding="utf-8") for f in (STATIC / "js").glob("*.js")}
    exported = {
        name: set(
            re.findall(r"^export (?:async )?(?:function\*?|class|const|let) (\w+)", text, flags=re.MULTILINE)
        )
        for name, text in files.items()
    }
    for name, text in files.items():
        imported = re.findall(r'from "\./([\w.]+)"', text)
        assert set(imported) <= set(files), name
        for wanted, source in re.findall(r'^import \{([^}]+)\} from "\./([\w.]+)"', text, flags=re.MULTILINE):
            assert {word.strip() for word in wanted.split(",")} - {""} <= exported[source], (
                f"{name}: {source}"
            )
        for alias, source in re.findall(r'^import \* as (\w+) from "\./([\w.]+)"', text, flags=re.MULTILINE):
            assert set(re.findall(rf"(?<![\w/]){alias}\.(\w+)", text)) <= exported[source], (
                f"{name}: {source}"
            )
        assert [text.count(a) - text.count(b) for a, b in ("()", "[]", "{}")] == [0, 0, 0], name
        names = re.findall(r"^import \{([^}]+)\}", text, flags=re.MULTILINE)
        words = [word.strip() for group in names for word in group.split(",")]
        unused = [word for word in words if len(re.findall(rf"\b{word}\b", text)) < 2]
        assert unused == [], name


def test_plotly_comes_from_the_installed_package_and_is_kept() -> None:
    pytest.importorskip("plotly")
    with running() as (url, _), httpx.Client(base_url=url, timeout=60, verify=CONTEXT) as client:
        (address,) = re.findall(r'name="plotly" content="([^"]*)"', client.get("/").text)
        assert version("plotly") in address
        packed = client.get(address, headers={"Accept-Encoding": "gzip"})
        plain = client.get(address, headers={"Accept-Encoding": "identity"})
        installed = dashboard._find_plotly()
        assert installed is not None
        assert plain.content == packed.content == installed.read_bytes()
        assert packed.headers["Content-Encoding"] == "gzip"
        assert len(gzip.compress(plain.content)) < len(plain.content) / 2
        for answer in (packed, plain):
            assert answer.headers["Cache-Control"] == "public, max-age=31536000, immutable"
            assert answer.headers["Vary"] == "Accept-Encoding"


def test_without_plotly_there_is_a_page_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dashboard, "_find_plotly", lambda: None)
    with running() as (url, _), httpx.Client(base_url=url, timeout=60, verify=CONTEXT) as client:
        page = client.get("/").text
        assert '<meta name="plotly" content="" data-sheets="">' in page


def test_the_form_offers_every_criterion_and_scale_and_the_default_first() -> None:
    with running() as (url, _), httpx.Client(base_url=url, timeout=60, verify=CONTEXT) as client:
        (text,) = re.findall(r'name="choices" content="([^"]*)"', client.get("/").text)
    choices = {name: dict(given) for name, given in json.loads(html.unescape(text)).items()}
    assert set(choices["acquisition"]) == set(CRITERION_NAMES)
    assert next(iter(choices["acquisition"])) == Settings.acquisition
    assert next(iter(choices["transform"])) == "none"
    assert all(Transform.parse(name) for name in choices["transform"])
    assert list(choices["kind"]) == list(KIND_NAMES)
    engines = Settings.__dataclass_fields__["engine"]
    assert tuple(choices["engine"]) == engines.metadata["choices"]
    assert next(iter(choices["engine"])) == engines.default


def test_the_policy_allows_nothing_from_elsewhere_and_nothing_inside_the_page() -> None:
    with running() as (url, _), httpx.Client(base_url=url, timeout=60, verify=CONTEXT) as client:
        policy = client.get("/").headers["Content-Security-Policy"]
    parts = dict(part.strip().split(" ", 1) for part in policy.split(";"))
    assert parts["default-src"] == "'none'"
    assert (parts["script-src"], parts["style-src"], parts["connect-src"]) == ("'self'",) * 3
    assert not re.search(r"unsafe|\*|http", policy)
    text = (STATIC / "index.html").read_text(encoding="utf-8")
    assert not re.search(r"<style|<script(?![^>]* src=)| style=| on\w+=|https?:", text)
