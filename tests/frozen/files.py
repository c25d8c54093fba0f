"""Files of version 0.1.0 that must open and answer the same: a database, its events, posteriors; and what commands say.

`make_files` wrote them and is kept for the day when a new version's files are added beside them (in a folder of their
own). Those in `data/files-0.1.0` are never made again: they stand for what users have on their disks.
"""

from __future__ import annotations

import datetime as dt
import json
import math
import os
import shutil
import sqlite3
from pathlib import Path
from typing import Any

import numpy as np
from tests.frozen import doors
from tests.frozen.draws import MASK, POSITIVE, Y, fit, of_draws
from tests.frozen.records import DATA, rounded, summary
from typer.testing import CliRunner

import maxentry
from maxentry import Campaign, Posterior
from maxentry.cli.main import app

FILES = DATA / "files-0.1.0"
ROWS = [f"compound {k}" for k in range(1, 11)]
COLS = [3, 5, 8, 13, 21, 34]  # labels that are no text
POSTERIORS = ("gaussian-log.npz", "student.npz", "stored")
START = dt.datetime(2025, 1, 6, 9, 0, tzinfo=dt.UTC)
LATER = dt.datetime(2025, 3, 1, tzinfo=dt.UTC)
LABELS = {"row_labels": [f"r{i}" for i in range(12)], "col_labels": list("stuvwxyz")}


class Clock:
    """A minute later each time it is looked at."""

    def __init__(self, at: dt.datetime = START) -> None:
        self.at = at

    def __call__(self) -> dt.datetime:
        self.at += dt.timedelta(minutes=1)
        return self.at


# What the files were made by


def make_files(folder: Path) -> None:
    """A database with events of every kind, the events as text, and posteriors."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    write_campaigns(folder / "lab.db")
    lines = [json.dumps(event, ensure_ascii=False) for event in events_in(folder / "lab.db")]
    (folder / "events.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
    labelled_posterior().save(folder / "gaussian-log.npz")
    fit(rank=1, noise="student").save(folder / "student.npz")
    fit(store=folder / "stored", watch=(["r0", "r3"], ["t", "t"]), **LABELS)


def labelled_posterior() -> Posterior:
    """A posterior of a frame with labels, on the log scale."""
    import pandas as pd

    frame = pd.DataFrame(POSITIVE, index=LABELS["row_labels"], columns=LABELS["col_labels"])
    return fit(frame, transform="log")


def write_campaigns(database: Path) -> None:
    """Two campaigns in a file: one with events of every kind, one in whole rows."""
    mask = MASK[:10, :6].copy()
    costs = {"row": {label: 1 + k / 4 for k, label in enumerate(ROWS)}, "col": [1, 1, 2, 2, 3, 3]}
    told = {"row": [ROWS[k] for k in (0, 3, 6)], "col": [3, 3, 3], "value": [1.5, 2.25, 0.8]}
    with Campaign.create(
        database, "assay", ROWS, COLS, seed=7, rank=1, values=told, mask=mask, costs=costs, transform="log",
        range=(0.001, 1000), lease=86400.0, budget=500.0, n_initial=8, per_row=3, who="ann",
        clock=Clock(), frame="columns",
    ) as campaign:  # fmt: skip
        _live(campaign)
    with Campaign.create(
        database, "plates", 6, 4, seed=3, acquisition="balanced", noise="student", plates="rows", again=True,
        who="bob", clock=Clock(START + dt.timedelta(days=9)), frame="columns",
    ) as campaign:  # fmt: skip
        ids = campaign.ask(2, who="bob", progress=False)["id"]
        campaign.tell(ids[:5], [0.5 * k - 1 for k in range(5)], who="bob")


def _live(campaign: Campaign) -> None:
    first = campaign.ask(8, who="ann", progress=False)
    campaign.tell(first["id"][:6], [1.2, 0.7, 3.1, 2.2, 0.4, 5.0], who="ann")
    campaign.fail(first["id"][6], "spilt", who="bob")
    campaign.fail(first["id"][7], "too cold", retry=True, who="bob")
    campaign.correct(first["id"][1], 0.75, reason="misread", who="ann")
    campaign.correct(first["id"][2], None, reason="wrong vial", who="ann")
    campaign.add_rows(["compound 11", "compound 12"], cost=[2.0, 2.5], who="ann")
    campaign.add_cols([55], who="ann")
    campaign.set(budget=400.0, target_sd=0.01, acquisition="integrated_variance", who="ann")
    campaign.set(costs=None, lease=None, who="ann")
    campaign.set(costs={"row": np.linspace(1, 2, 12)}, mask=np.arange(84).reshape(12, 7) % 4 != 1, who="ann")
    values = [round(1 + 0.3 * i * (1 + j % 3), 3) for i in range(5) for j in (0, 2)]
    free = {"row": [ROWS[i] for i in range(5) for _ in range(2)], "col": [3, 8] * 5, "value": values}
    campaign.tell(free, again=True, who="robot")
    second = campaign.ask(5, who="bob", progress=False)
    campaign.withdraw(second["id"][0], "no vial", who="bob")
    campaign.tell(second["id"][1:3], [1.75, 2.5], who="bob")
    campaign.ask(2, per_row=1, who="bob", progress=False)


def events_in(database: Path) -> list[dict[str, Any]]:
    """The events of all campaigns of a file, as they are stored."""
    with sqlite3.connect(database) as connection:
        names = dict(connection.execute(f"SELECT id, name FROM {_table(connection, 'campaign')}").fetchall())
        query = "SELECT campaign_id, number, at, kind, who, payload FROM {} ORDER BY campaign_id, number"
        rows = connection.execute(query.format(_table(connection, "event"))).fetchall()
    connection.close()
    keys = ("campaign", "number", "at", "kind", "who", "payload")
    return [dict(zip(keys, (names[row[0]], *row[1:]), strict=True)) for row in rows]


def _table(connection: sqlite3.Connection, word: str) -> str:
    tables = [name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
    (found,) = (name for name in tables if word in name)
    return found


def schema(database: Path) -> dict[str, Any]:
    """Tables, columns and indexes of a database, that of the server's keys included."""
    from fastapi.testclient import TestClient

    with Campaign.create(database, "x", 2, 2, seed=1):
        pass
    with TestClient(doors.server(database), base_url="http://127.0.0.1") as client:
        path = f"/api/v1/campaigns/{client.get('/api/v1/campaigns').json()['items'][0]['id']}"
        lines = {"lines": [{"row": 0, "col": 1, "value": 2.5}]}
        told = client.post(f"{path}/tell", json=lines, headers={"Idempotency-Key": "k"})
        assert told.status_code == 200, told.text
    with sqlite3.connect(database) as connection:
        tables = [
            name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
        ]
        found = {
            table: {
                name: [kind, needed, key]
                for _, name, kind, needed, _, key in connection.execute(f"PRAGMA table_info({table})")
            }
            for table in sorted(tables)
            if not table.startswith("sqlite_")
        }
    connection.close()
    return found


# What they answer


def copied(name: str, folder: Path) -> Path:
    """A copy to open, so that the one that is kept stays as it is."""
    source, copy = FILES / name, folder / name
    return Path(shutil.copytree(source, copy) if source.is_dir() else shutil.copy(source, copy))


def from_events(lines: list[dict[str, Any]], database: Path) -> None:
    """A database of events that were kept as text."""
    names = list(dict.fromkeys(line["campaign"] for line in lines))
    for name in names:
        with Campaign.create(database, name, 2, 2, seed=1):
            pass
    with sqlite3.connect(database) as connection:
        campaigns, events = _table(connection, "campaign"), _table(connection, "event")
        ids = dict(connection.execute(f"SELECT name, id FROM {campaigns}").fetchall())
        connection.execute(f"DELETE FROM {events}")
        connection.execute(f"ALTER TABLE {events} DROP COLUMN digest")  # the text is older, and has none
        for column in ("last_number", "last_digest"):
            connection.execute(f"ALTER TABLE {campaigns} DROP COLUMN {column}")
        connection.execute("UPDATE maxentry_schema SET version = 2")
        keys = ("number", "at", "kind", "who", "payload")
        connection.executemany(
            f"INSERT INTO {events} (campaign_id, {', '.join(keys)}) VALUES (?, ?, ?, ?, ?, ?)",
            [(ids[line["campaign"]], *(line[key] for key in keys)) for line in lines],
        )
    connection.close()


def payloads(lines: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Events with their payloads read, without the words that say why entries were chosen."""
    found = []
    for line in lines:
        payload = json.loads(line["payload"])
        found.append(line | {"payload": {key: value for key, value in payload.items() if key != "why"}})
    return rounded(found)


FITTED = ("posterior", "outlook", "next")  # of the answers of a campaign, those that need a fit


def campaign_answers(database: Path, cache: Path, *, fits: bool = True) -> dict[str, Any]:
    """What the campaigns of a file say of themselves and, with `fits`, what is believed and asked for next."""
    found: dict[str, Any] = {"list": Campaign.list(database)}
    for name in found["list"]:
        with Campaign.open(database, name, cache=cache, clock=Clock(LATER), frame="columns") as campaign:
            found[name] = _answers(campaign) | (_fitted(campaign) if fits else {})
    return rounded(found)


def _answers(campaign: Campaign) -> dict[str, Any]:
    history = campaign.history()
    settings = campaign.settings
    return {
        "status": campaign.status().to_dict(),
        "settings": {
            name: getattr(settings, name)
            for name in ("seed", "range", "lease", "budget", "n_initial", "again")
        },
        "labels": [list(settings.rows), list(settings.cols)],
        "history": {name: history[name] for name in ("event", "at", "who", "kind")},
        "measurements": campaign.export(everything=True),
        "wide": campaign.export(wide=True),
        "asked": campaign.asked(),
        "pending": campaign.pending(),
    }


def _fitted(campaign: Campaign) -> dict[str, Any]:
    posterior = campaign.posterior(progress=False)
    low, high = posterior.arrays.interval(0.9)
    maps = {"mean": posterior.arrays.mean, "sd": posterior.arrays.sd, "low": low, "high": high}
    outlook = campaign.outlook(3, progress=False).to_dict()["outlook"]
    return {
        "posterior": {"rank": posterior.rank, **{name: map_.ravel()[::9] for name, map_ in maps.items()}},
        "outlook": outlook,
        "next": campaign.ask(2 if campaign.settings.plates is None else 1, who="eve", progress=False),
    }


def posterior_answers(path: Path) -> dict[str, Any]:
    """What a saved posterior says, and how its chains go on."""
    loaded = Posterior.load(path)
    rows, cols = loaded.observations.row_labels or range(12), loaded.observations.col_labels or range(8)
    prediction = loaded.predict([rows[0], rows[5]], [cols[1], cols[7]])
    (low, high), (new_low, new_high) = loaded.arrays.interval(0.9), loaded.arrays.predictive_interval(0.9)
    maps = {
        "mean": loaded.arrays.mean,
        "sd": loaded.arrays.sd,
        "low": low,
        "high": high,
        "new_low": new_low,
        "new_high": new_high,
    }
    found = {
        "facts": [str(loaded.transform), loaded.rank, loaded.noise_sd, loaded.noise_df, list(loaded.shape)],
        "labels": [list(map(str, rows)), list(map(str, cols))],
        "form": type(loaded.mean).__module__.split(".")[0],
        "predict": [np.asarray(getattr(prediction, name)) for name in ("mean", "sd", "low", "high")],
        "maps": {name: map_.ravel()[::11] for name, map_ in maps.items()},
    }
    watched = loaded.watched
    if watched is not None:
        found["watched"] = [watched.n, watched.mean, watched.sd]
    return rounded(found) | {
        "draws": summary(of_draws(loaded)),
        "more": summary(of_draws(loaded.more(2, progress=False))),
        "warm": summary(of_draws(_gone_on(loaded))),
    }


def _gone_on(loaded: Posterior) -> Posterior:
    """A fit that starts from a loaded posterior."""
    log = str(loaded.transform) == "log"
    return maxentry.complete(
        POSITIVE if log else Y, start=loaded, seed=1, sampling=loaded.sampling, progress=False,
        noise="gaussian" if loaded.noise_df is None else "student", transform="log" if log else "none",
        **(LABELS if loaded.observations.row_labels is not None else {}),
    )  # fmt: skip


# Commands and requests


def skeleton(x: Any) -> Any:
    """The keys of a document and the kinds of its values; of a list, those of its first line."""
    if isinstance(x, dict):
        return {key: skeleton(value) for key, value in x.items()}
    if isinstance(x, list):
        return [skeleton(x[0])] if x else []
    return {bool: "true or false", int: "number", float: "number", str: "text"}.get(type(x), "null")


COMMANDS: tuple[tuple[object, ...], ...] = (
    ("list",),
    ("status",),
    ("status", "-c", "assay"),
    ("status", "-c", "assay", "--fast"),
    ("history", "-c", "assay"),
    ("export", "-c", "assay"),
    ("export", "-c", "assay", "--asked"),
    ("export", "-c", "assay", "--pending"),
    ("export", "-c", "assay", "-o", "told.csv"),
    ("posterior", "-c", "assay"),
    ("posterior", "-c", "assay", "-o", "map.csv", "--save", "map.npz"),
    ("report", "-c", "assay", "--points", 0),
    ("ask", 2, "-c", "assay"),
    ("ask", 1, "-c", "plates", "-o", "plate.csv"),
    ("tell", "-c", "assay", "--row", "compound 12", "--col", 55, "--value", 2.5),
    ("tell", "-c", "assay", "--row", "nobody", "--col", 55, "--value", 2.5),
    ("tell", "-c", "plates", "plate.csv"),
    ("fail", "-c", "assay", 15),
    ("withdraw", "-c", "assay", 15),
    ("correct", "-c", "assay", 1, 1.3),
    ("correct", "-c", "assay", 999, 1.3),
    ("add-rows", "-c", "assay", "compound 13"),
    ("add-cols", "-c", "plates", "4"),
    ("set", "-c", "assay", "--budget", 450),
    ("set", "-c", "assay", "--rank", 99),
    ("set", "-c", "plates", "--budget", 1),
    ("ask", 1, "-c", "plates"),
    ("new", "other", "--shape", "5x4", "--seed", 2),
    ("new", "assay", "--shape", "5x4"),
    ("new", "other2", "--shape", "five"),
    ("ask", 3, "-c", "other"),
    ("complete", "table.csv", "--rank", 1, "--seed", 1),
    ("complete", "no-such.csv"),
    ("design", "4x3", 5, "--seed", 1),
    ("check",),
    ("backup", "copy.db"),
    ("backup", "copy.db", "--force"),
    ("backup", "table.csv"),
    ("copy", "maxentry.db", "new.db"),
    ("copy", "new.db", "maxentry.db"),
    ("version",),
    ("no-such-command",),
    ("ask", "--no-such-option"),
)
VALUES = (
    "ask 3 -c other",
    "design 4x3 5 --seed 1",
    "export -c assay --pending",
)  # of which the lines are recorded, too


def command_answers(folder: Path) -> dict[str, Any]:
    """The exit code and the keys of the JSON of each command, one after the other over a copy of the database."""
    shutil.copy(FILES / "lab.db", folder / "maxentry.db")
    lines = [",".join(["x", *"stuvwxyz"])]
    lines += [f"r{i}," + ",".join("" if math.isnan(x) else str(x) for x in Y[i]) for i in range(len(Y))]
    (folder / "table.csv").write_text("\n".join(lines), encoding="utf-8")
    before, variables = Path.cwd(), {"MAXENTRY_CACHE": str(folder / "cache"), "COLUMNS": "100"}
    unset = {name: None for name in ("MAXENTRY_STORAGE", "MAXENTRY_CAMPAIGN", "MAXENTRY_DEBUG")}
    os.chdir(folder)
    try:
        found = {}
        for words in COMMANDS:
            line = " ".join(str(word) if " " not in str(word) else f"'{word}'" for word in words)
            result = CliRunner().invoke(app, [*map(str, words), "--json"], env=variables | unset)
            document = json.loads(result.stdout)
            document.pop("packages", None)  # whichever are installed
            answer = {"code": result.exit_code, "json": skeleton(document)}
            if "error" in document:
                answer["kind"] = document["error"]["kind"]
            if line in VALUES:
                answer["lines"] = rounded(document["entries"])
            found[line] = answer
        return found
    finally:
        os.chdir(before)


REQUESTS = (
    "health", "access", "campaigns", "campaigns?name=assay", "campaigns?limit=zero",
    "campaigns/{id}", "campaigns/nobody",
    "campaigns/{id}/settings", "campaigns/{id}/labels", "campaigns/{id}/history", "campaigns/{id}/events",
    "campaigns/{id}/asked", "campaigns/{id}/asked?status=pending", "campaigns/{id}/measurements?everything=true",
    "campaigns/{id}/export?form=json", "campaigns/{id}/batch?id=14", "campaigns/{id}/posterior?wait=60",
    "campaigns/{id}/posterior/draws?wait=60", "campaigns/{id}/entry?row=compound%201&col=3",
    "campaigns/{id}/map?what=sd&cells=3&wait=60", "campaigns/{id}/outlook?n=3&wait=60",
    "campaigns/{id}/cell?row=0&col=0",
    "campaigns/{id}/reasons", "campaigns/{id}/next?n=2&wait=60", "campaigns/{id}/curve?wait=60", "nothing-here",
)  # fmt: skip


def request_answers(folder: Path) -> dict[str, Any]:
    """The status and the keys of the JSON of each way to read a campaign over HTTP."""
    from fastapi.testclient import TestClient

    shutil.copy(FILES / "lab.db", folder / "lab.db")
    found = {}
    with TestClient(doors.server(folder / "lab.db"), base_url="http://127.0.0.1") as client:
        mark = client.get("/api/v1/campaigns?name=assay").json()["items"][0]["id"]
        for path in REQUESTS:
            answer = client.get("/api/v1/" + path.replace("{id}", mark))
            kind = answer.headers.get("content-type", "").split(";")[0]
            found[path] = {"code": answer.status_code, "kind": kind}
            if "json" in kind:
                found[path]["json"] = skeleton(answer.json())
    return found
