"""What the dashboard asks for: reasons, the next entries, the error curve, one cell."""

from __future__ import annotations

import numpy as np
import pytest
from tests.campaign.examples import answer, ask, truth
from tests.server.live import begin, serving

from maxentry.campaign.campaign import Campaign
from maxentry.campaign.storage import Storage
from maxentry.plots import report
from maxentry.plots.plot import Subject
from maxentry.summary.reasons import Reason

TRANSFORMS = {
    "none": lambda x: x,
    "log": lambda x: np.exp(12 * x),
    "percent": lambda x: 100 / (1 + np.exp(-4 * x)),
}


@pytest.mark.parametrize("transform", TRANSFORMS)
def test_the_report_and_the_dashboard_give_the_same_reasons(transform: str, cache: None) -> None:
    with Storage("sqlite://", create=True) as storage:
        campaign = Campaign.create(storage, "trial", 12, 9, seed=3, rank=2, transform=transform)
        for _ in range(3):
            answer(campaign, ask(campaign, 8), TRANSFORMS[transform](truth()))
        subject = Subject.check(campaign)
        table = report.next_section(subject, 5, lambda _: "")["batch"]
        with serving(storage) as client:
            shown = client.get("/campaigns/trial/next?n=5&wait=60").json()["entries"]
    assert len(table.rows) == len(shown) == 5
    for line, entry in zip(table.rows, shown, strict=True):
        cells = dict(zip(table.columns, line, strict=True))
        assert (cells["row"], cells["column"]) == (str(entry["row"]), str(entry["col"]))
        assert cells["predicted"] == f"{entry['mean_now']:.4g}"
        assert cells["uncertainty (sd)"] == f"{entry['sd_now']:.4g}"
        reason = Reason(**{name: entry[name] for name in Reason._fields})
        assert cells["why"] == report.describe(reason, subject.transform)
        assert f"{entry['sd_ratio']:.2g} times the typical" in cells["why"]


def test_reasons_of_what_is_pending_before_and_after_a_fit(cache: None) -> None:
    with serving() as client:
        path = begin(client, rows=["a", "b", "c", "d"], cols=["x", "y", "z"], rank=1)
        ids = [e["id"] for e in client.post(f"{path}/ask?wait=60", json={"n": 8}).json()["entries"]]
        before = client.get(f"{path}/reasons").json()
        assert (before["fit"], before["total"], len(before["items"])) == (None, 8, 8)
        assert all(line["teaches"] is None and line["row_told"] == 0 for line in before["items"])
        client.post(f"{path}/tell", json={"lines": [{"id": id, "value": id % 3} for id in ids[:6]]})
        assert client.get(f"{path}/posterior?wait=60").status_code == 200
        after = client.get(f"{path}/reasons").json()
        assert [line["id"] for line in after["items"]] == ids[6:]
        labels = client.get(f"{path}/labels").json()
        for line in after["items"]:
            assert labels["rows"][line["i"]] == line["row"]
            assert labels["cols"][line["j"]] == line["col"]
            assert 0 < line["teaches"] < 1
            shares = [line[f"teaches_{part}"] for part in ("itself", "row", "col")]
            assert min(shares) >= 0
            assert sum(shares) <= 1 + 1e-9
            looked = client.get(f"{path}/cell?row={line['i']}&col={line['j']}").json()
            assert looked["row"] == line["row"]
            assert line["mean_now"] == pytest.approx(looked["believed"]["mean"])
            assert line["sd_now"] == pytest.approx(looked["believed"]["sd"])
        client.post(f"{path}/rows", json={"labels": ["e"]})  # a row that the fit does not know
        asked = client.post(f"{path}/ask?wait=60", json={"n": 5}).json()["entries"]
        new = {e["id"] for e in asked if e["row"] == "e"}
        lines = {line["id"]: line for line in client.get(f"{path}/reasons").json()["items"]}
        assert new
        assert all(lines[id]["teaches"] is None for id in new)


@pytest.mark.parametrize(
    "given", [{}, {"target_sd": 1e-3}, {"goal": "best per row"}, {"goal": "best per row", "enough": 1e-9}]
)
@pytest.mark.parametrize("told", [8, 28])
def test_the_page_is_to_advise_as_the_shell_does(given: dict[str, object], told: int, cache: None) -> None:
    with serving() as client:
        path = begin(client, rows=6, cols=5, rank=1, acquisition="predictive_variance", **given)
        lines = [{"row": k // 5, "col": k % 5, "value": (1 + k // 5) * (1 + k % 5)} for k in range(30)]
        order = np.random.default_rng(1).permutation(30)[:told]
        client.post(f"{path}/tell", json={"lines": [lines[k] for k in order]}).raise_for_status()
        shown = client.get(f"{path}/next?n=2&wait=60").json()
        advice = client.get(f"{path}/outlook?n=2&wait=60").json()["advice"]
        assert shown["stop"] is ("You can stop here" in advice), advice


def test_the_next_entries_are_shown_and_not_handed_out(cache: None) -> None:
    with serving() as client:
        path = begin(client, rows=6, cols=5, rank=1, acquisition="predictive_variance")
        design = client.get(f"{path}/next?n=4&wait=60").json()
        assert len(design["entries"]) == 4
        assert design["outlook"] is None
        ids = [e["id"] for e in client.post(f"{path}/ask?wait=60", json={"n": 10}).json()["entries"]]
        client.post(f"{path}/tell", json={"lines": [{"id": id, "value": id % 4} for id in ids]})
        events = client.get(path).json()["events"]
        shown = client.get(f"{path}/next?n=3&wait=60").json()
        assert client.get(path).json()["events"] == events
        assert shown["outlook"]["entries"] == 3
        assert shown["outlook"]["error_after"] < shown["outlook"]["error_now"]
        handed = client.post(f"{path}/ask?wait=60", json={"n": 3}).json()["entries"]
        assert [(e["row"], e["col"]) for e in shown["entries"]] == [(e["row"], e["col"]) for e in handed]
        assert [e["mean"] for e in shown["entries"]] == [e["mean"] for e in handed]


@pytest.mark.parametrize(("plates", "given"), [("rows", {}), ("cols", {}), ("cols", {"plates": "rows"})])
def test_plates_are_shown_as_they_would_be_handed_out(
    plates: str, given: dict[str, str], cache: None
) -> None:
    with serving() as client:
        path = begin(client, rows=6, cols=5, **given)
        shown = client.get(f"{path}/next?n=2&plates={plates}&wait=60").json()
        handed = client.post(f"{path}/ask?wait=60", json={"n": 2, "plates": plates}).json()["entries"]
        assert [(e["row"], e["col"]) for e in shown["entries"]] == [(e["row"], e["col"]) for e in handed]
        assert shown["total"] == len(handed) == (10 if plates == "rows" else 12)
        assert client.get(f"{path}/next?plates=diagonals").status_code == 422


def test_as_many_are_shown_as_could_be_asked_for(cache: None) -> None:
    with serving() as client:
        path = begin(client, rows=110, cols=100)
        shown = client.get(f"{path}/next?n=100000&wait=60").json()
        assert (shown["total"], len(shown["entries"])) == (11_000, 10_000)
        assert shown["entries"][-1]["row_told"] == 0
        assert client.get(f"{path}/next?n=100001").status_code == 422


def test_the_curve_has_a_point_for_every_fit_and_more_when_they_are_wanted(cache: None) -> None:
    with serving() as client:
        path = begin(client, rows=6, cols=5, rank=1)
        assert client.get(f"{path}/curve?wait=60").json() == {"points": [], "missing": 0, "target_sd": None}
        ids = [e["id"] for e in client.post(f"{path}/ask?wait=60", json={"n": 14}).json()["entries"]]
        for some in (ids[:8], ids[8:12]):
            client.post(f"{path}/tell", json={"lines": [{"id": id, "value": id % 4} for id in some]})
        empty = client.get(f"{path}/curve?stale=true").json()
        assert empty["points"] == []
        assert empty["missing"] > 1
        client.get(f"{path}/posterior?wait=60")
        (now,) = client.get(f"{path}/curve?stale=true").json()["points"]
        assert now["measurements"] == 12
        ahead = client.get(f"{path}/outlook?wait=60").json()
        assert now["error"] == pytest.approx(ahead["outlook"]["error_now"])
        assert ahead["past"] == []
        client.post(f"{path}/tell", json={"lines": [{"id": id, "value": id % 4} for id in ids[12:]]})
        ahead = client.get(f"{path}/outlook?wait=60").json()
        (past,) = ahead["past"]
        assert (past["measurements"], past["entries"]) == (12, 2)
        assert past["error_before"] == pytest.approx(now["error"])
        assert past["error_after"] == pytest.approx(ahead["outlook"]["error_now"])
        assert past["error_promised"] <= past["error_before"]
        whole = client.get(f"{path}/curve?wait=60").json()
        assert whole["missing"] == 0
        assert [p["measurements"] for p in whole["points"]] == [8, 12, 14]
        assert whole["points"][1] == now


def test_a_cell_beyond_the_matrix_and_who_may_do_what(cache: None) -> None:
    with serving() as client:
        path = begin(client)
        assert client.get("/access").json() == {"may": "write"}
        beyond = client.get(f"{path}/cell?row=0&col=5")
        assert beyond.status_code == 422
        assert beyond.json()["detail"] == "expected a column from 0 to 4, got 5."
