"""Asking about one row over HTTP, and through the client."""

from __future__ import annotations

import pytest
from tests.server.live import begin, running, serving

import maxentry
from maxentry.campaign.campaign import Campaign
from maxentry.errors import LabelError, ParameterError

ROWS, COLS = ["a", "b", "c"], ["x", "y", "z", "w"]


def test_entries_of_one_row_over_http() -> None:
    with serving() as client:
        path = begin(client, rows=ROWS, cols=COLS)
        assert client.post(f"{path}/rows", json={"labels": ["new"]}).status_code == 200
        body, key = {"n": 3, "row": "new", "about": "average"}, {"Idempotency-Key": "one"}
        first = client.post(f"{path}/ask?wait=60", json=body, headers=key)
        assert first.status_code == 201
        assert [entry["row"] for entry in first.json()["entries"]] == ["new"] * 3
        again = client.post(f"{path}/ask?wait=60", json=body, headers=key)
        assert again.json() == first.json()
        assert client.post(f"{path}/ask?wait=60", json=body | {"row": "a"}, headers=key).status_code == 422
        for wrong, status in (
            ({"row": "nobody"}, 422),
            ({"about": "average"}, 422),
            ({"row": "a", "per_row": 2}, 422),
            ({"row": "a", "about": "all"}, 422),
        ):
            refused = client.post(f"{path}/ask?wait=60", json=wrong)
            assert refused.status_code == status, refused.text
        assert "Add it first" in client.post(f"{path}/ask", json={"row": "nobody"}).json()["detail"]
        line = {"id": first.json()["entries"][0]["id"], "value": 2.5}
        assert client.post(f"{path}/tell", json={"lines": [line]}).json()["told"] == 1
        assert client.post(f"{path}/ask?wait=60", json={"n": 9, "row": "new"}).status_code == 201
        over = client.post(f"{path}/ask?wait=60", json={"row": "new"})
        assert over.status_code == 409
        assert "no entry of row 'new' is left" in over.json()["detail"]


def test_the_client_asks_as_a_campaign_of_this_machine_does() -> None:
    given = {"seed": 1, "acquisition": "balanced"}
    with running("sqlite://") as (url, _):
        local = Campaign.create("sqlite://", "yields", ROWS, COLS, **given)
        with serving_campaign(url, given) as remote:
            mine = local.ask(2, row="b", frame="columns")
            theirs = remote.ask(2, row="b", frame="columns", progress=False)
            assert [mine[name] for name in ("id", "row", "col")] == [
                theirs[name] for name in ("id", "row", "col")
            ]
            with pytest.raises(LabelError, match="Add it first"):
                remote.ask(2, row="nobody", progress=False)
            with pytest.raises(ParameterError, match="a row with about"):
                remote.ask(2, about="average", progress=False)


def serving_campaign(url: str, given: dict[str, object]) -> maxentry.client.client.RemoteCampaign:
    """The same campaign on the server."""
    import httpx
    from tests.server.live import CONTEXT

    with httpx.Client(base_url=f"{url}/api/v1", timeout=150, verify=CONTEXT) as client:
        begin(client, rows=ROWS, cols=COLS, **given)
    return maxentry.connect(url, "yields")
