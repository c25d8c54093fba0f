"""Random lives of a campaign against a few lines of plain Python that must always agree with it."""

from __future__ import annotations

import math
import shutil
import tempfile
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from tests.campaign.stand_ins import Clock, campaign, snapshot, uniform

from maxentry.campaign.campaign import Campaign
from maxentry.campaign.ledger import snapshots
from maxentry.campaign.state import replay
from maxentry.errors import CampaignError, NothingToAskError

LEASE = 100.0
VALUES = st.sampled_from([0.5, 1.0, -3.25, 0.1 + 0.2])
picks = st.integers(0, 10**6)


class Lives(RuleBasedStateMachine):
    """The model: what each id is about, what became of it, and what was told, in order."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = tempfile.mkdtemp(prefix="maxentry-lives-")
        self.path = f"{self.folder}/lab.db"
        self.clock = Clock()
        self.shape = [3, 4]
        self.asked: dict[int, dict[str, Any]] = {}
        self.told: list[dict[str, Any]] = []
        self.c = campaign(self.path, 3, 4, clock=self.clock, lease=LEASE, cache=self.folder)

    def teardown(self) -> None:
        self.c.close()
        shutil.rmtree(self.folder)

    # The model

    def status(self, id: int) -> str:
        ask = self.asked[id]
        over = self.clock.now.timestamp() >= ask["at"] + LEASE
        return "expired" if ask["status"] == "pending" and over else str(ask["status"])

    def free(self) -> set[tuple[int, int]]:
        every = {(i, j) for i in range(self.shape[0]) for j in range(self.shape[1])}
        pending = {a["entry"] for id, a in self.asked.items() if self.status(id) == "pending"}
        failed = {a["entry"] for a in self.asked.values() if a["status"] == "failed" and not a["retry"]}
        return every - pending - failed - {m["entry"] for m in self.told if m["value"] is not None}

    def some_id(self, pick: int) -> int:
        return 1 + pick % len(self.asked)

    def standing(self, id: int) -> list[float]:
        return [m["value"] for m in self.told if m["id"] == id and m["value"] is not None]

    def struck(self, key: str, which: Any) -> set[float]:
        return {x for m in self.told if m[key] == which and m["value"] is None for x in m["before"]}

    def take(self, id: int | None, entry: tuple[int, int], value: float) -> None:
        self.told.append({"id": id, "entry": entry, "value": value, "before": set()})
        if id is not None:
            self.asked[id]["status"] = "told"

    # What happens

    @initialize(values=st.lists(VALUES, max_size=3))
    def begin(self, values: list[float]) -> None:
        self.ask(5)
        for id, value in enumerate(values, start=1):
            self.c.tell(id, value)
            self.take(id, self.asked[id]["entry"], value)

    @rule(n=st.integers(1, 5))
    def ask(self, n: int) -> None:
        free = self.free()
        try:
            batch = self.c.ask(n, frame="columns")
        except NothingToAskError:
            assert not free
            return
        entries = list(zip(batch["row"], batch["col"], strict=True))
        assert len(entries) == len(set(entries)) == min(n, len(free))
        assert set(entries) <= free
        assert batch["id"] == list(range(len(self.asked) + 1, len(self.asked) + 1 + len(entries)))
        for id, entry in zip(batch["id"], entries, strict=True):
            at = self.clock.now.timestamp()
            self.asked[id] = {"entry": entry, "status": "pending", "retry": False, "at": at}

    @precondition(lambda self: self.asked)
    @rule(pick=picks, value=VALUES, again=st.booleans())
    def tell(self, pick: int, value: float, again: bool) -> None:
        id = self.some_id(pick)
        earlier = self.standing(id)
        try:
            receipt = self.c.tell(id, value, again=again)
        except CampaignError:
            assert earlier or value in self.struck("id", id)
            assert value not in earlier
            assert not again
            return
        assert again or value in earlier or value not in self.struck("id", id)
        assert receipt.told == (again or not earlier)
        if receipt.told:
            self.take(id, self.asked[id]["entry"], value)

    @rule(i=picks, j=picks, value=VALUES)
    def tell_by_labels(self, i: int, j: int, value: float) -> None:
        entry = (i % self.shape[0], j % self.shape[1])
        asked = [id for id, a in self.asked.items() if a["entry"] == entry]
        pending = [id for id in asked if self.status(id) == "pending"]
        expired = [id for id in asked if self.status(id) == "expired"]
        earlier = [m["value"] for m in self.told if m["entry"] == entry and m["value"] is not None]
        try:
            receipt = self.c.tell(row=entry[0], col=entry[1], value=value)
        except CampaignError:
            assert value not in earlier
            assert value in self.struck("entry", entry) or (earlier and not pending)
            return
        assert value in earlier or value not in self.struck("entry", entry)
        assert receipt.told == (value not in earlier)
        if receipt.told:
            self.take(next(iter(pending or expired[::-1]), None), entry, value)
        for id in pending[receipt.told :]:
            self.asked[id]["status"] = "withdrawn"

    @precondition(lambda self: self.asked)
    @rule(pick=picks, retry=st.booleans(), undo=st.booleans())
    def fail_or_withdraw(self, pick: int, retry: bool, undo: bool) -> None:
        id = self.some_id(pick)
        try:
            if undo:
                self.c.withdraw(id)
            else:
                self.c.fail(id, retry=retry)
        except CampaignError:
            assert self.asked[id]["status"] == "told"
            return
        assert self.asked[id]["status"] != "told"
        self.asked[id] |= (
            {"status": "withdrawn", "retry": False} if undo else {"status": "failed", "retry": retry}
        )

    @precondition(lambda self: self.told)
    @rule(pick=picks, value=st.none() | VALUES)
    def correct(self, pick: int, value: float | None) -> None:
        number = pick % len(self.told)
        self.c.correct(number=number + 1, value=value)
        measurement = self.told[number]
        if measurement["value"] == value:
            return
        measurement["before"] |= {measurement["value"]} - {None}
        measurement["value"] = value
        if measurement["id"] is not None:
            left = bool(self.standing(measurement["id"]))
            self.asked[measurement["id"]] |= {"status": "told" if left else "withdrawn", "retry": False}

    @rule(seconds=st.sampled_from([1.0, 60.0, 100.0]))
    def wait(self, seconds: float) -> None:
        self.clock.forward(seconds)

    @precondition(lambda self: max(self.shape) < 7)
    @rule(rows=st.booleans())
    def grow(self, rows: bool) -> None:
        side = 0 if rows else 1
        (self.c.add_rows if rows else self.c.add_cols)([self.shape[side]])
        self.shape[side] += 1

    @rule()
    def reopen(self) -> None:
        before = snapshot(self.c.state)
        self.c.close()
        self.c = Campaign.open(self.path, clock=self.clock, policy=uniform, cache=self.folder)
        assert snapshot(self.c.state) == before

    # What must always hold

    @invariant()
    def agrees(self) -> None:
        state = self.c.state
        assert state.shape == tuple(self.shape)
        statuses = {id: ask.status_at(self.clock.now) for id, ask in state.asked.items()}
        assert statuses == {id: self.status(id) for id in self.asked}
        told = [(m.id, (m.row, m.col), None if math.isnan(m.value) else m.value) for m in state.measurements]
        assert told == [(m["id"], m["entry"], m["value"]) for m in self.told]
        assert state.n_available(self.clock.now) == len(self.free())
        measured = {m["id"] for m in self.told}
        paid = [id for id in self.asked if id in measured or self.status(id) in ("told", "failed", "pending")]
        assert state.spent(self.clock.now) == len(paid)
        standing = [m for m in self.told if m["value"] is not None]
        assert (state.observations().n if standing else len(state.values)) == len(standing)

    @rule()
    def save(self) -> None:
        """Leave a snapshot, from which later openings begin."""
        file = Path(self.folder) / f"snapshot-{self.c.key.uuid}.npz"
        snapshots.save(self.c.state, file, self.c.key.uuid)
        assert snapshots.load(file, self.c.key.uuid) is not None

    @invariant()
    def replayed(self) -> None:
        state = snapshot(replay(self.c.records()))
        assert state == snapshot(self.c.state)
        with Campaign.open(
            self.path, cache=self.folder
        ) as opened:  # from the latest snapshot, if there is one
            assert snapshot(opened.state) == state
            assert opened.state.leaps == self.c.state.leaps


TestLives = Lives.TestCase
TestLives.settings = settings(
    max_examples=25, stateful_step_count=20, deadline=None, derandomize=True,
    suppress_health_check=[HealthCheck.too_slow],
)  # fmt: skip
