"""The report, the command line and the server (which the dashboard shows) say the same numbers of one campaign."""

import html
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.campaign.examples import truth
from tests.cli.run import answer, good
from tests.server.live import serving

from maxentry.campaign.campaign import Campaign
from maxentry.campaign.storage import Storage

NEXT = 4
LIGANDS, SUBSTRATES = [f"L{i}" for i in range(12)], [f"S{j}" for j in range(9)]


@pytest.fixture
def folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, compiled: None, short_fits: None, undrawn: None
) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MAXENTRY_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("COLUMNS", "200")
    return tmp_path


def begin(goal: str) -> None:
    """A campaign in lab.db with costs, a budget, values and pending entries."""
    X, rng = 50 + 20 * truth(), np.random.default_rng(4)
    i, j = np.nonzero(rng.random(X.shape) < 0.4)
    weights = {"S2": 2.0} if goal.startswith("rank rows") else None
    with Campaign.create(
        "lab.db", "screen", LIGANDS, SUBSTRATES, seed=1, rank=2, goal=goal, weights=weights, row_name="ligand",
        costs={"col": np.arange(1.0, 10.0)}, budget=400,
    ) as campaign:  # fmt: skip
        rows, cols = [LIGANDS[k] for k in i], [SUBSTRATES[k] for k in j]
        campaign.tell(row=rows, col=cols, value=X[i, j].round(2).tolist())
        campaign.ask(3, progress=False)


def facts_in(page: str) -> dict[str, str]:
    """The facts of a report; of those called "… after" the first."""
    found: dict[str, str] = {}
    for name, text in re.findall(r"<dt>(.*?)</dt><dd>(.*?)</dd>", page):
        found.setdefault(html.unescape(name), html.unescape(text))
    return found


def on_the_server() -> dict[str, Any]:
    with Storage("lab.db") as storage, serving(storage) as client:
        paths = {
            "status": "",
            "outlook": f"/outlook?n={NEXT}&wait=60",
            "answer": "/answer?wait=60",
            "next": f"/next?n={NEXT}&wait=60",
        }
        return {name: client.get(f"/campaigns/screen{path}").json() for name, path in paths.items()}


def without_nan(x: Any) -> Any:
    """Lists and dictionaries with numbers rounded, so that they compare whatever way they went."""
    if isinstance(x, dict):
        return {key: without_nan(value) for key, value in x.items()}
    if isinstance(x, list):
        return [without_nan(value) for value in x]
    return float(f"{x:.12g}") if isinstance(x, float) else x


@pytest.mark.parametrize("goal", ["fill", "best per column", "rank rows", "threshold 60"])
def test_the_report_the_server_and_the_command_line_agree(folder: Path, goal: str) -> None:
    begin(goal)
    good("report", "-o", "screen.html", "--next", NEXT, "--points", 0, "-s", "lab.db")
    page = Path("screen.html").read_text(encoding="utf-8")
    text, facts = html.unescape(page), facts_in(page)
    status = answer("status", "--next", NEXT, "-s", "lab.db")
    served = on_the_server()

    for name in ("told", "pending", "available", "spent", "budget", "goal", "weights"):
        assert status[name] == served["status"][name]
    for name in ("outlook", "advice", "past", "at_stake"):
        assert without_nan(status[name]) == without_nan(served["outlook"][name])
    assert facts["measured"].startswith(f"{status['told']} entries ")
    assert facts["pending"] == str(status["pending"]) == "3"
    assert facts["left to ask for"] == str(status["available"])
    assert facts["spent"] == f"{status['spent']:g} of 400"
    ahead = status["outlook"]
    assert facts["expected error now against measurements"] == f"{ahead['error_now']:.3g}"
    advice = status["advice"]
    assert f'<p class="lead">{advice[0].upper()}{advice[1:].rstrip(".")}.</p>' in text

    said = "".join(good("status", "--next", NEXT, "-s", "lab.db").stdout.split())
    for figure in (f"{ahead['error_now']:.3g}now", f"{status['spent']:g}of400", f"{status['told']}entries"):
        assert figure in said

    batch = [(line["row"], line["col"]) for line in served["next"]["entries"]]
    table = re.findall(r"<tr><td>\d+</td><td>(.*?)</td><td>(.*?)</td>", page)
    assert table[:NEXT] == batch
    if goal == "fill":
        assert facts[f"… after {NEXT} more"] == f"{ahead['error_after']:.3g}"
        return

    found = answer("answer", "-s", "lab.db")
    assert without_nan({key: found[key] for key in served["answer"] if key != "fit"}) == without_nan(
        {key: x for key, x in served["answer"].items() if key != "fit"}
    )
    for line in found["summary"][:-1]:
        assert f"<li>{line}</li>" in text
    stake = found["summary"][-1].rstrip(".").removesuffix(" expected").rpartition(": ")
    assert facts[stake[0]] == stake[2]
    assert without_nan(status["at_stake"]["now"]) == without_nan(found["at_stake"])
