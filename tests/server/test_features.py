"""Features over HTTP: in requests, as a file, and through the client."""

from __future__ import annotations

import io
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from tests.server.live import running

import maxentry

httpx = pytest.importorskip("httpx", reason="needs maxentry[client]")

API = "/api/v1/campaigns"
CREATE: dict[str, Any] = {
    "name": "lab",
    "rows": ["L1", "L2", "L3"],
    "cols": ["x", "y"],
    "row_features": {
        "columns": {"logp": [0.4, 1.2, None], "solvent": ["DMF", "THF", "THF"]},
        "labels": ["L2", "L1", "L3"],
        "categories": ["solvent"],
    },
}
CSV = {"Content-Type": "text/csv"}


def test_requests_carry_features() -> None:
    with running() as (url, _), httpx.Client(base_url=url, timeout=120) as http:
        made = http.post(API, json=CREATE).raise_for_status().json()
        assert "marked: logp (1)" in " ".join(made["notes"])
        path = f"{API}/{made['id']}"
        settings = http.get(f"{path}/settings").json()
        assert settings["row_features"] == ["logp", "solvent"]
        assert settings["col_features"] is None
        more = {"labels": ["L4"], "features": {"columns": {"logp": [2.5]}}}
        added = http.post(f"{path}/rows", json=more).raise_for_status().json()
        assert "marked: solvent (1)" in " ".join(added["notes"])
        other = {"labels": ["L5"], "features": {"columns": {"logp": [1.0], "solvent": ["toluene"]}}}
        added = http.post(f"{path}/rows", json=other).raise_for_status().json()
        assert added["notes"] == ["row features: 'solvent' has new levels: 'toluene'"]
        assert http.post(f"{path}/cols", json={"labels": ["z"]}).raise_for_status().json()["notes"] == []
        with maxentry.connect(url, "lab") as campaign:
            known = campaign.settings.row_features
        assert known is not None
        np.testing.assert_array_equal(known.cells[:, 0], [1.2, 0.4, np.nan, 2.5, 1.0])
        http.patch(f"{path}/settings", json={"row_features": None}).raise_for_status()
        assert http.get(f"{path}/settings").json()["row_features"] is None


def test_a_file_of_features_is_read_as_the_shell_reads_it() -> None:
    with running() as (url, _), httpx.Client(base_url=url, timeout=120) as http:
        path = f"{API}/{http.post(API, json=CREATE).raise_for_status().json()['id']}/features"
        german = b"Ligand;Masse;base\nL1;1,5;KOH\nL2;2,5;NEt3\nL9;1;KOH\n"
        answer = http.post(f"{path}/rows", params={"categories": "base"}, content=german, headers=CSV)
        assert answer.raise_for_status().json()["features"] == ["Masse", "base"]
        assert "features of 1 unknown row are left out: 'L9'" in " ".join(answer.json()["notes"])
        book = io.BytesIO()
        pd.DataFrame({"col": ["x", "y"], "size": [1.0, 3.0]}).to_excel(book, index=False)
        assert http.post(f"{path}/cols", content=book.getvalue(), headers=CSV).json()["features"] == ["size"]
        refusal = http.post(f"{path}/rows", content=german, headers=CSV)
        assert refusal.status_code == 422
        assert "got the text 'KOH'" in refusal.json()["detail"]


ODD: list[Any] = [
    1, "x", [], {}, [[1, 2]], {"columns": {}}, {"columns": {"a": [1]}}, {"columns": {"a": 1}, "labels": 3},
    {"columns": {"a": [1, 2, {"b": 1}]}}, {"columns": {"a": [1, 2, 3]}, "categories": [1]}, {"indptr": "x"},
    {"indptr": [0, 1, 1, 1], "indices": [5], "width": 3}, {"indptr": [0, 9, 1, 1], "indices": [0], "width": 1},
    {"indptr": [0, 1, 1, 1], "indices": [0], "width": 2**52}, {"columns": {"a": ["u", "v", "w"]}},
    {"columns": {"a": [1, 1, 1]}}, {"indptr": [0, 1, 1, 1], "indices": [0], "data": ["u"], "width": 2},
]  # fmt: skip


def test_odd_features_are_refused() -> None:
    with running() as (url, _), httpx.Client(base_url=url, timeout=120) as http:
        for odd in ODD:
            answer = http.post(API, json=CREATE | {"row_features": odd})
            assert answer.status_code == 422, (odd, answer.text)
            assert "expected" in answer.json()["detail"] or "not a number" in answer.json()["detail"], odd


def test_the_client_sends_frames_and_fingerprints() -> None:
    frame = pd.DataFrame(
        {"logp": [1.2, 0.4, np.nan], "row": [1.0, 2.0, 4.0]}, index=pd.Index(["L1", "L2", "L3"])
    )
    bits = sparse.csr_array(np.array([[0, 1.0, 0], [2.5, 0, 1]]))
    with running() as (url, _), maxentry.connect(url) as server:
        with pytest.warns(UserWarning, match=r"logp \(1\)"):
            campaign = server.create(
                "lab", ["L1", "L2", "L3"], ["x", "y"], row_features=frame, col_features=bits
            )
        with pytest.warns(UserWarning, match=r"row \(1\)"):
            campaign.add_rows(["L4"], features={"logp": [7.0]})
        campaign.add_cols(["z"], features=bits[[0]])
        settings = campaign.settings
    assert settings.row_features is not None
    assert settings.col_features is not None
    np.testing.assert_array_equal(settings.row_features.cells[:, 0], [1.2, 0.4, np.nan, 7.0])
    np.testing.assert_array_equal(settings.col_features.cells.toarray(), bits.toarray()[[0, 1, 0]])
