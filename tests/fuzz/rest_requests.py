"""Requests to the server with odd bodies, parameters and headers, in process: no socket."""

from __future__ import annotations

import json
from pathlib import Path
from random import Random
from time import sleep
from typing import Any
from urllib.parse import quote

from fastapi.testclient import TestClient
from tests.fuzz import values
from tests.fuzz.cases import Case, Foreign, Refusal

from maxentry.campaign.storage import Storage
from maxentry.server.app import create_app
from maxentry.server.options import Options, ServerLimits

API = "/api/v1"
AS_NEW = 150
BEGIN = {"name": "y", "rows": ["a", "b", "c"], "cols": 2, "seed": 1, "acquisition": "balanced"}
SETTINGS = {
    "budget": 5.0, "lease": 3600, "range": [0, 1], "mask": [[True, False]] * 3, "costs": {"row": [1, 2, 3]},
    "per_row": 1, "plates": "rows", "rank": 1, "noise": "student", "target_sd": 0.1, "transform": "log",
    "priors": "paper", "again": True,
}  # fmt: skip
LINE = {"id": 1, "row": "r1", "col": "c1", "value": 0.5, "failed": False}
BODIES: dict[str, Any] = {
    "/campaigns": {**BEGIN, **SETTINGS},
    "/campaigns/{campaign}/settings": SETTINGS,
    "/campaigns/{campaign}/rows": {"labels": ["z"], "cost": [1.0]},
    "/campaigns/{campaign}/cols": {"labels": ["z"], "cost": [1.0]},
    "/campaigns/{campaign}/rows/remove": {"labels": ["r3"]},
    "/campaigns/{campaign}/cols/remove": {"labels": ["z"]},
    "/campaigns/{campaign}/rows/rename": {"labels": ["r3"], "names": ["r33"]},
    "/campaigns/{campaign}/cols/rename": {"labels": ["c3"], "names": ["c33"]},
    "/campaigns/{campaign}/rename": {"name": "x"},
    "/campaigns/{campaign}/ask": {"n": 1, "plates": None, "per_row": 1, "who": "me"},
    "/campaigns/{campaign}/tell": {"lines": [LINE], "again": False},
    "/campaigns/{campaign}/fail": {"ids": [1], "reason": "x", "retry": False},
    "/campaigns/{campaign}/withdraw": {"ids": [1], "reason": "x"},
    "/campaigns/{campaign}/correct": {"id": 1, "value": 0.5, "row": "r1", "col": "c1", "number": 1, "reason": "x"},
    "/campaigns/{campaign}/lookup": {"rows": ["r1"], "cols": ["c1"], "level": 0.9},
}  # fmt: skip
HEADERS = (
    "Idempotency-Key",
    "Content-Type",
    "Accept",
    "Origin",
    "Range",
    "If-None-Match",
    "Authorization",
    "Last-Event-ID",
)


class RestRequests:
    """All routes of the description in OpenAPI but the streams, which last as long as they are asked to."""

    def __init__(self, folder: Path) -> None:
        self.made = 0
        self.begin()

    def begin(self) -> None:
        self.storage = Storage("sqlite://", create=True)
        app = create_app(self.storage, Options(limits=ServerLimits(rate=0, entries=1000)))
        self.jobs = app.state.service.jobs
        self.client = TestClient(app, base_url="http://127.0.0.1", raise_server_exceptions=False)
        body = {
            "name": "x",
            "rows": ["r1", "r2", "r3"],
            "cols": ["c1", "c2"],
            "seed": 1,
            "acquisition": "balanced",
        }
        assert self.client.post(f"{API}/campaigns", json=body).status_code == 201
        self.client.post(f"{API}/campaigns/x/ask", json={"n": 2})
        paths = app.openapi()["paths"]
        self.operations = [
            (method, path.removeprefix(API), operation)
            for path, methods in paths.items()
            for method, operation in methods.items()
            if not path.endswith(("/changes", "/jobs/{job}/events"))
        ]

    def case(self, rng: Random) -> Case:
        self.made += 1
        if self.made % AS_NEW == 0:
            self.begin()
        method, path, operation = rng.choice(self.operations)
        query = {}
        for each in operation.get("parameters", ()):
            if each["in"] == "query" and rng.random() < 0.4:
                query[each["name"]] = str(rng.choice((values.json_value(rng, 0), "r1", "c1", 1, 0)))
        if "wait" in {each["name"] for each in operation.get("parameters", ())}:
            query["wait"] = rng.choice(("0", "0", "nan", "-1", "x"))
        names = {
            "campaign": rng.choice(("x", "x", "x", "y", rng.choice(values.TEXTS))),
            "job": rng.choice(("x", "0")),
        }
        if "{side}" in path:
            names["side"] = rng.choice(("rows", "cols", rng.choice(values.TEXTS)))
        address = path.format(
            **{k: quote(v.encode("utf-8", "surrogatepass"), safe="") for k, v in names.items()}
        )
        body, headers = b"", {}
        if method in ("post", "patch", "put"):
            body = self.body(rng, path)
            csv = path.endswith(("csv", "{side}"))
            headers["Content-Type"] = "text/csv" if csv else "application/json"
        if rng.random() < 0.2:
            headers[rng.choice(HEADERS)] = (
                rng.choice(values.TEXTS).encode("latin-1", "replace").decode("latin-1")
            )

        def call() -> None:
            encoded = {k: v.encode("latin-1").replace(b"\n", b"") for k, v in headers.items()}
            pairs = [(k, v.encode("utf-8", "replace").decode()) for k, v in query.items()]
            answer = self.client.request(
                method, f"{API}{address}", content=body, params=pairs, headers=encoded
            )
            if answer.status_code >= 500:
                raise Foreign(f"{answer.status_code} {answer.text[:300]}")
            if answer.status_code >= 400:
                raise Refusal(answer.json().get("detail", ""))

        return Case(f"{method} {path} {query} {headers} {values.shown(body)}", call, self.digest)

    def body(self, rng: Random, path: str) -> bytes:
        if path.endswith("csv"):
            return values.change_bytes(rng, b"row,col,value\nr1,c1,0.5\n")
        if path.endswith("{side}"):
            return values.change_bytes(rng, b"row,weight,kind\nr1,1.5,a\nr2,,b\n")
        given = BODIES.get(path, {})
        if path in ("/campaigns", "/campaigns/{campaign}/settings"):
            chosen = rng.sample(sorted(SETTINGS), rng.randrange(3))
            given = {k: v for k, v in given.items() if k in chosen or k in BEGIN}
        elif isinstance(given, dict) and rng.random() < 0.5 and given:
            given = {k: given[k] for k in rng.sample(sorted(given), rng.randrange(1, len(given) + 1))}
        document = values.change_json(rng, given) if rng.random() < 0.85 else given
        text = json.dumps(document, ensure_ascii=rng.random() < 0.5).encode("utf-8", "surrogatepass")
        return values.change_bytes(rng, text) if rng.random() < 0.1 else text

    def digest(self) -> object:
        """The campaigns and their numbers of events, once no request that was answered 202 is under way."""
        while not all(job.over for job in self.jobs.recent()):
            sleep(0.001)
        names = self.storage.names()
        keys = [self.storage.find(name) for name in names]
        return names, [len(self.storage.events(key)) for key in keys]
