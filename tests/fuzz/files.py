"""Files with changed bytes: saved posteriors, folders of draws, databases, tables."""

from __future__ import annotations

import io
import json
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path
from random import Random

import numpy as np
from tests.fuzz import values
from tests.fuzz.cases import Case
from tests.fuzz.python_calls import MATRIX, TINY

from maxentry import Campaign, Observations, Posterior, complete
from maxentry.errors import MaxentryError

TABLES = ("table.csv", "table.tsv", "table.parquet", "table.xlsx")
BEYOND = ("../outside", "/etc/hostname", "..\\outside", "left/../../outside", "left\x00", "")


class Files:
    """Good files of every kind, made once; each case changes one and opens it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "good"
        self.scratch = folder / "files"
        self.folder.mkdir(exist_ok=True)
        self.scratch.mkdir(exist_ok=True)
        shutil.rmtree(self.folder / "store", ignore_errors=True)
        complete(MATRIX, rank=1, sampling=TINY, seed=1, threads=1).save(self.folder / "a.npz")
        complete(MATRIX, rank=1, sampling=TINY, seed=1, threads=1, noise="student", watch=([0], [0]),
                 transform="logit(0, 9)").save(self.folder / "b.npz")  # fmt: skip
        complete(MATRIX, rank=1, sampling=TINY, seed=1, threads=1, store=self.folder / "store")
        database = self.folder / "lab.db"
        database.unlink(missing_ok=True)
        with Campaign.create(database, "x", ["r1", "r2", "r3"], ["c1", "c2"], seed=1, acquisition="balanced",
                             mask=np.ones((3, 2), dtype=bool), costs={"row": [1, 2, 3]}) as campaign:  # fmt: skip
            ids = campaign.ask(4, frame="columns", progress=False)["id"]
            campaign.tell(ids[:2], [0.5, 1.5])
            campaign.fail(ids[2], "spilt")
            campaign.correct(ids[0], 0.75)
            campaign.add_rows(["r4"])
            campaign.set(budget=9.0)
        with closing(sqlite3.connect(database)) as db:  # all of it in one file
            db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
            db.execute("PRAGMA journal_mode=DELETE")
            self.columns = {
                name: [c[1] for c in db.execute(f"PRAGMA table_info({name})")]
                for (name,) in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
            }
        self.tables = {name: self.table(name) for name in TABLES}

    def table(self, name: str) -> bytes:
        import pandas

        made, frame = (
            io.BytesIO(),
            pandas.DataFrame({"row": ["r1", "r2"], "col": ["c1", "c2"], "value": [0.5, 1.5]}),
        )
        if name.endswith("xlsx"):
            frame.to_excel(made, index=False)
        elif name.endswith("parquet"):
            frame.to_parquet(made)
        else:
            return frame.to_csv(index=False, sep="\t" if name.endswith("tsv") else ",").encode()
        return made.getvalue()

    def case(self, rng: Random) -> Case:
        kinds = (
            self.posterior,
            self.posterior,
            self.store,
            self.database,
            self.database,
            self.events,
            self.read,
        )
        return rng.choice(kinds)(rng)

    # Posteriors

    def posterior(self, rng: Random) -> Case:
        given = (self.folder / rng.choice(("a.npz", "b.npz"))).read_bytes()
        change = rng.choice((values.change_bytes, values.change_archive, values.change_archive))
        path = self.scratch / "p.npz"
        path.write_bytes(change(rng, given))
        return Case(f"Posterior.load of {change.__name__}", lambda: use(Posterior.load(path)))

    def store(self, rng: Random) -> Case:
        folder = self.scratch / "store"
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(self.folder / "store", folder)
        name = rng.choice(sorted(p.name for p in folder.iterdir()))
        rest, way = folder / "posterior.npz", rng.randrange(5)
        if way == 0:
            rest.write_bytes(with_files(rest.read_bytes(), rng))
        elif way == 1:
            (folder / name).unlink()
        elif way == 2:
            (folder / name).unlink()
            (folder / name).symlink_to(rng.choice(("/etc/hostname", "/dev/zero", folder / "left.npy")))
        elif way == 3 and name == "posterior.npz":
            rest.write_bytes(values.change_archive(rng, rest.read_bytes()))
        else:
            (folder / name).write_bytes(values.change_bytes(rng, (folder / name).read_bytes()))
        return Case(f"Posterior.load of a folder, {name}, way {way}", lambda: use(Posterior.load(folder)))

    # Databases

    def database(self, rng: Random) -> Case:
        path = self.fresh()
        path.write_bytes(values.change_bytes(rng, path.read_bytes()))
        return Case("a database of changed bytes", lambda: work(path))

    def events(self, rng: Random) -> Case:
        path = self.fresh()
        table = rng.choice(sorted(self.columns))
        column = rng.choice(self.columns[table])
        with closing(sqlite3.connect(path)) as db:
            db.execute("PRAGMA ignore_check_constraints=1")
            found = db.execute(f"SELECT rowid, {column} FROM {table}").fetchall()
            what = f"{table}.{column}"
            if found:
                row, old = rng.choice(found)
                new = self.changed(rng, old)
                what += f" = {values.shown(new)}"
                try:
                    db.execute(f"UPDATE {table} SET {column} = ? WHERE rowid = ?", (new, row))
                    db.commit()
                except (sqlite3.Error, OverflowError, UnicodeEncodeError):
                    what += " (not taken)"
        return Case(f"a database with {what}", lambda: work(path))

    def changed(self, rng: Random, old: object) -> object:
        if isinstance(old, str):
            try:
                return json.dumps(values.change_json(rng, json.loads(old)))
            except ValueError:
                return rng.choice(values.TEXTS)
        return rng.choice(
            (0, -1, 2**62, 1.5, None, "x", b"\xff", "2024-01-01", "9999-99-99T00:00:00", float("inf"))
        )

    def fresh(self) -> Path:
        for old in self.scratch.glob("lab.db*"):
            old.unlink()
        return Path(shutil.copy(self.folder / "lab.db", self.scratch / "lab.db"))

    # Tables

    def read(self, rng: Random) -> Case:
        name = rng.choice(TABLES)
        path = self.scratch / (name if rng.random() < 0.9 else rng.choice(TABLES))
        path.write_bytes(values.change_bytes(rng, self.tables[name]))

        def call() -> None:
            with Campaign.create("sqlite://", "x", ["r1", "r2"], ["c1", "c2"], seed=1) as campaign:
                campaign.tell(str(path))

        return Case(f"tell {path.name}, changed from {name}", call)


def use(posterior: Posterior) -> None:
    """Read off a posterior all that an unsound one might fail at."""
    text, _ = repr(posterior), posterior.mean
    posterior.predict(
        posterior.observations.row_axis.labels or [0], (posterior.observations.col_axis.labels or [0])[0]
    )
    if posterior.draws.mu.size * posterior.shape[0] < 10**4 and text and posterior.sampling.thin < 100:
        posterior.more(1, progress=False, threads=1)


def work(path: Path) -> None:
    """Open a database, read it, and write to it; what is refused must leave it as it was."""
    for name in Campaign.list(path):
        with Campaign.open(path, name) as campaign:
            campaign.status()
            campaign.history(frame="columns")
            campaign.export(frame="columns")
            campaign.asked(frame="columns")
            Observations.from_triples(["a", "b"], ["c", "d"], [1.0, 2.0])
            try:
                campaign.ask(1, progress=False, frame="columns")
            except MaxentryError as error:
                str(error)
            campaign.tell(row="r2", col="c1", value=0.25, again=True)


def with_files(data: bytes, rng: Random) -> bytes:
    """The rest of a folder whose list of files names others, or other shapes."""
    with np.load(io.BytesIO(data)) as found:
        arrays = dict(found)
    meta = json.loads(str(arrays["meta"]))
    if rng.random() < 0.5:
        name = rng.choice(sorted(meta["files"]))
        meta["files"][rng.choice(BEYOND)] = meta["files"].pop(name)
    else:
        meta["files"] = values.change_json(rng, meta["files"])
    made = io.BytesIO()
    np.savez(made, **arrays | {"meta": np.array(json.dumps(meta))})
    return made.getvalue()
