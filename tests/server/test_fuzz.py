"""Schemathesis against the description in OpenAPI: whatever comes, no 5xx, and every answer is as described."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator
from typing import Any

import httpx
import pytest
from tests.server.live import begin, serving

schemathesis = pytest.importorskip("schemathesis", reason="a tool of the dev extra")

from schemathesis import checks  # noqa: E402

pytestmark = pytest.mark.slow

EXAMPLES = int(os.environ.get("MAXENTRY_FUZZ", "10"))  # of each of some thirty routes, in either mode
# What is well-formed may still be refused (an unknown label, a value told twice), so that is not held against it.
CHECKS = [
    checks.not_a_server_error,
    checks.status_code_conformance,
    checks.content_type_conformance,
    checks.response_schema_conformance,
    checks.response_headers_conformance,
]


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[httpx.Client]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MAXENTRY_CACHE", str(tmp_path_factory.mktemp("cache")))
        with serving(str(tmp_path_factory.mktemp("lab") / "lab.db")) as client:
            path = begin(client, "yields", ["L1", "L2", "L3", "L4"], ["S1", "S2", "S3"])
            client.post(f"{path}/ask?wait=60", json={"n": 5})
            client.post(f"{path}/tell", json={"lines": [{"id": k, "value": 0.1 * k} for k in (1, 2, 3)]})
            assert client.get(f"{path}/posterior?wait=60").status_code == 200
            yield client


def operations(client: httpx.Client) -> list[Any]:
    schema = schemathesis.openapi.from_dict(client.get("/openapi.json").json())
    schema.config.update(base_url=str(client.base_url).removesuffix("/api/v1/"))
    # A stream of changes lasts as long as it is asked to: it has a test of its own.
    return [
        result.ok() for result in schema.get_all_operations() if not result.ok().path.endswith("/changes")
    ]


def fuzz(operation: Any, mode: Any, examples: int = EXAMPLES) -> Counter[int]:
    """Call an operation with so many cases; how often which status came."""
    from hypothesis import HealthCheck, Phase, given, settings

    seen: Counter[int] = Counter()
    quiet = settings(
        max_examples=examples, deadline=None, derandomize=True, database=None,
        suppress_health_check=list(HealthCheck), phases=[Phase.generate],
    )  # fmt: skip

    @quiet
    @given(case=operation.as_strategy(generation_mode=mode))
    def run(case: Any) -> None:
        if case.path_parameters and "campaign" in case.path_parameters:
            case.path_parameters["campaign"] = "yields"  # else all of it would be 404
        if case.query and "wait" in case.query:
            case.query["wait"] = 0
        answer = case.call(timeout=60)
        seen[answer.status_code] += 1
        case.validate_response(answer, checks=CHECKS)

    run()
    return seen


@pytest.mark.parametrize("mode", ["POSITIVE", "NEGATIVE"])
def test_whatever_comes(client: httpx.Client, mode: str) -> None:
    from hypothesis.errors import Unsatisfiable
    from schemathesis import GenerationMode

    found, failures, seen = operations(client), [], Counter[int]()
    assert len(found) > 25
    for operation in found:
        try:
            seen += fuzz(operation, getattr(GenerationMode, mode))
        except Unsatisfiable:
            assert mode == "NEGATIVE"  # nothing can be wrong with a request that has no parts
            assert not list(operation.iter_parameters())
        except BaseException as error:  # all of them in one report
            failures.append(f"{operation.method.upper()} {operation.path}: {error!r:.3000}")
    assert failures == []
    print(f"{mode}: {dict(sorted(seen.items()))}")
    assert seen.total() > 25 * EXAMPLES / 2
    assert seen[422] > 0
    assert mode == "NEGATIVE" or seen[200] + seen[201] > seen.total() / 10  # not only refusals


def test_the_check_can_fail(client: httpx.Client) -> None:
    """A server that describes its answers wrongly is found out."""
    document = client.get("/openapi.json").json()
    document["components"]["schemas"]["Health"]["properties"]["version"] = {"type": "integer"}
    schema = schemathesis.openapi.from_dict(document)
    schema.config.update(base_url=str(client.base_url).removesuffix("/api/v1/"))
    from schemathesis import GenerationMode

    with pytest.raises(BaseException, match="integer"):
        fuzz(schema["/api/v1/health"]["GET"], GenerationMode.POSITIVE, 1)
