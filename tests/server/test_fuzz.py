"""Schemathesis against the description in OpenAPI: whatever comes, no 5xx, and every answer is as described.

CI makes a few requests of each kind, the same every time. `make requests` makes hundreds, other ones each
time (MAXENTRY_FUZZ: how many of each), and writes what came to build/requests.md.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from tests.campaign.postgres_server import database
from tests.server.live import begin, serving

schemathesis = pytest.importorskip("schemathesis", reason="a tool of the dev extra")

from schemathesis import checks  # noqa: E402

pytestmark = pytest.mark.slow

LONG = "MAXENTRY_FUZZ" in os.environ
EXAMPLES = int(os.environ.get("MAXENTRY_FUZZ", "10"))  # of each of some forty routes, in either mode
STEPS = 12  # of a story: begin, ask, tell, …
ROUND = 10  # stories at a time
BEGIN = "POST /api/v1/campaigns"
PLAIN = {"rows": ["L1", "L2", "L3"], "cols": ["S1", "S2"], "seed": 1, "acquisition": "balanced"}
REPORT = Path("build") / "requests.md"
# What is well-formed may still be refused (an unknown label, a value told twice), so that is not held against it.
CHECKS = [
    checks.not_a_server_error,
    checks.status_code_conformance,
    checks.content_type_conformance,
    checks.response_schema_conformance,
    checks.response_headers_conformance,
]


@pytest.fixture(scope="module", params=("file", pytest.param("postgresql", marks=pytest.mark.postgres)))
def client(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[httpx.Client]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MAXENTRY_CACHE", str(tmp_path_factory.mktemp("cache")))
        if request.param == "file":
            yield from prepared(str(tmp_path_factory.mktemp("lab") / "lab.db"))
        else:
            with database(request.getfixturevalue("postgres")) as url:
                yield from prepared(url)


def prepared(where: str) -> Iterator[httpx.Client]:
    with serving(where) as client:
        path = begin(client, "yields", ["L1", "L2", "L3", "L4"], ["S1", "S2", "S3"])
        client.post(f"{path}/ask", json={"n": 5})
        client.post(f"{path}/tell", json={"lines": [{"id": k, "value": 0.1 * k} for k in (1, 2, 3)]})
        assert client.get(f"{path}/posterior?wait=60").status_code == 200
        yield client


def described(client: httpx.Client) -> Any:
    return _fuzzed(client, client.get("/openapi.json").json())


def with_links(client: httpx.Client) -> Any:
    """The same, with links from each answer to the requests that its ids are for: stories go along them."""
    document = client.get("/openapi.json").json()
    operations = [
        (path.removeprefix("/api/v1"), method, operation)
        for path, methods in document["paths"].items()
        for method, operation in methods.items()
    ]

    def to(part: str, **link: Any) -> dict[str, Any]:
        ids = [other["operationId"] for path, _, other in operations if part in f"{path}$"]
        return {id: {"operationId": id, **link} for id in ids}

    own_id, entry = "$response.body#/id", "$response.body#/entries/0/id"
    for path, method, operation in operations:
        answers = operation["responses"]
        if (path, method) == ("/campaigns", "post"):
            # A story has room for a few settings, not for all thirty: those have examples of their own.
            few = {"name": {"type": "string"}, "rows": {"type": "integer"}, "cols": {"type": "integer"}}
            body = {"type": "object", "properties": few, "required": list(few)}
            operation["requestBody"]["content"]["application/json"]["schema"] = body
            answers["201"]["links"] = to("{campaign}", parameters={"campaign": own_id})
        if "202" in answers:
            answers["202"]["links"] = to("{job}", parameters={"job": own_id})
        if path.endswith("/ask"):
            same = {"campaign": "$request.path.campaign"}
            lines = {"lines": [{"id": entry, "value": 0.83}]}
            answers["201"]["links"] = {
                **to("}/tell$", parameters=same, requestBody=lines),
                **to("}/fail$", parameters=same, requestBody={"ids": [entry]}),
                **to("}/withdraw$", parameters=same, requestBody={"ids": [entry]}),
            }
    return _fuzzed(client, document)


def _fuzzed(client: httpx.Client, document: Any) -> Any:
    schema = schemathesis.openapi.from_dict(document)
    schema.config.update(base_url=str(client.base_url).removesuffix("/api/v1/"))
    # A stream of changes lasts as long as it is asked to: it has a test of its own.
    return schema.exclude(path_regex="/changes$")


def operations(client: httpx.Client) -> list[Any]:
    return [result.ok() for result in described(client).get_all_operations()]


def quiet(examples: int, **more: Any) -> Any:
    from hypothesis import HealthCheck, Phase, settings

    return settings(
        max_examples=examples, deadline=None, derandomize=not LONG, database=None,
        suppress_health_check=list(HealthCheck), phases=[Phase.generate], **more,
    )  # fmt: skip


def impatient(case: Any) -> None:
    if case.query and "wait" in case.query:
        case.query["wait"] = 0


def fuzz(operation: Any, mode: Any, examples: int = EXAMPLES, campaign: str = "") -> Counter[int]:
    """Call an operation with so many cases, on the campaign of this id; how often which status came."""
    from hypothesis import given

    seen: Counter[int] = Counter()

    @quiet(examples)
    @given(case=operation.as_strategy(generation_mode=mode))
    def run(case: Any) -> None:
        if case.path_parameters and "campaign" in case.path_parameters:
            deletes = operation.method.upper() == "DELETE"  # which the others would miss
            case.path_parameters["campaign"] = "none" if deletes else campaign  # else all of it would be 404
        impatient(case)
        answer = case.call(timeout=60)
        seen[answer.status_code] += 1
        case.validate_response(answer, checks=CHECKS)

    run()
    return seen


def reported(what: str, client: httpx.Client, seen: Counter[int], began: float) -> None:
    """A line for whoever looks, and for the table of a long run."""
    kind = client.app.state.service.storage.url.get_backend_name()  # type: ignore[attr-defined]
    came = ", ".join(f"{n} x {status}" for status, n in sorted(seen.items()))
    line = f"| {what} | {kind} | {seen.total()} | {came} | {time.monotonic() - began:.0f} s |"
    print(line, flush=True)
    if LONG:
        REPORT.parent.mkdir(exist_ok=True)
        head = (
            ""
            if REPORT.exists()
            else "| what | storage | requests | answers | time |\n|---|---|---|---|---|\n"
        )
        with REPORT.open("a", encoding="utf-8") as report:
            report.write(f"{head}{line}\n")


@pytest.mark.parametrize("mode", ["POSITIVE", "NEGATIVE"])
def test_whatever_comes(client: httpx.Client, mode: str) -> None:
    from hypothesis.errors import Unsatisfiable
    from schemathesis import GenerationMode

    found, failures, seen, began = operations(client), [], Counter[int](), time.monotonic()
    assert len(found) > 25
    id = client.get("/campaigns").json()["items"][0]["id"]  # its name may change
    for operation in found:
        then = time.monotonic()
        try:
            came = fuzz(operation, getattr(GenerationMode, mode), campaign=id)
            seen += came
            if LONG:
                reported(f"{operation.method.upper()} {operation.path}, {mode.lower()}", client, came, then)
        except Unsatisfiable:
            assert mode == "NEGATIVE"  # nothing can be wrong with a request that has no parts
            assert not list(operation.iter_parameters())
        except BaseException as error:  # all of them in one report
            failures.append(f"{operation.method.upper()} {operation.path}: {error!r:.3000}")
            print(failures[-1])
    assert failures == []
    reported(f"single requests, {mode.lower()}", client, seen, began)
    assert seen.total() > 25 * EXAMPLES / 2
    assert seen[422] > 0
    assert mode == "NEGATIVE" or seen[200] + seen[201] > seen.total() / 10  # not only refusals


def test_stories(client: httpx.Client) -> None:
    """One request after another, along links: begin a campaign, ask, tell, look, follow jobs."""
    from hypothesis.errors import FlakyStrategyDefinition
    from schemathesis.generation.stateful import run_state_machine_as_test

    failures: list[str] = []
    seen, began, names, begun = Counter[int](), time.monotonic(), Counter[str](), Counter[str](tries=1)

    class Story(with_links(client).as_state_machine()):  # type: ignore[misc]
        def before_call(self, case: Any) -> None:
            impatient(case)
            if (
                case.operation.label == BEGIN and begun["tries"] % 4
            ):  # what is drawn is hardly ever a campaign
                case.body = PLAIN | {"name": f"story {begun['tries']}"}
            begun["tries"] += case.operation.label == BEGIN

        def after_call(self, response: Any, case: Any) -> None:
            seen[response.status_code] += 1
            if response.status_code < 300:
                names[case.operation.label] += 1

        def validate_response(self, response: Any, case: Any, **_: Any) -> None:
            try:
                case.validate_response(response, checks=CHECKS)
            except BaseException as error:
                failures.append(f"{case.operation.label}: {error!r:.3000}")
                raise

    for _ in range(max(1, EXAMPLES // ROUND)):
        # Whether work is done at once is a matter of time, so the same story need not go on in the same way.
        with contextlib.suppress(FlakyStrategyDefinition):
            run_state_machine_as_test(Story, settings=quiet(ROUND, stateful_step_count=STEPS))
    assert failures == []
    reported("stories", client, seen, began)
    assert seen.total() > EXAMPLES
    assert not [status for status in seen if status >= 500]
    # Campaigns that the story itself has begun are looked at: the links lead somewhere.
    assert names[BEGIN] > 0
    assert sum(n for name, n in names.items() if "{campaign}" in name) > 0


def test_the_check_can_fail(client: httpx.Client) -> None:
    """A server that describes its answers wrongly is found out."""
    document = client.get("/openapi.json").json()
    document["components"]["schemas"]["Health"]["properties"]["version"] = {"type": "integer"}
    schema = schemathesis.openapi.from_dict(document)
    schema.config.update(base_url=str(client.base_url).removesuffix("/api/v1/"))
    from schemathesis import GenerationMode

    with pytest.raises(BaseException, match="integer"):
        fuzz(schema["/api/v1/health"]["GET"], GenerationMode.POSITIVE, 1)
