"""SIGKILL at any moment: what was acknowledged is there, the storage opens, the next batch is right."""

from __future__ import annotations

import random

import pytest
from tests.campaign import workers
from tests.campaign.stand_ins import campaign, uniform
from tests.campaign.worker import value_of

from maxentry.campaign.campaign import Campaign
from maxentry.campaign.state import replay
from maxentry.campaign.storage import Storage


@pytest.mark.process
@pytest.mark.slow
def test_nothing_acknowledged_is_lost_to_a_kill(lasting: str) -> None:
    campaign(lasting, 20, 15).close()
    rng = random.Random(1)
    asked: dict[int, tuple[int, int]] = {}
    told: dict[int, float] = {}
    for _ in range(6):
        process = workers.start(lasting, "uniform", 1)
        workers.ready(process)
        workers.go(process)
        acknowledged = workers.killed_after(process, rng.randint(0, 20), rng.uniform(0.0, 0.02))
        asked |= workers.asked(acknowledged)
        told |= workers.told(acknowledged)
        check(lasting, asked, told)
    assert len(told) > 6


def check(where: str, asked: dict[int, tuple[int, int]], told: dict[int, float]) -> None:
    with Campaign.open(where, policy=uniform) as opened, Storage(where) as storage:
        state = opened.state
        assert asked.items() <= {id: (a.row, a.col) for id, a in state.asked.items()}.items()
        kept = {m.id: m.value for m in state.measurements}
        assert told.items() <= kept.items()
        assert all(
            value == value_of(m.row, m.col)
            for m, value in zip(state.measurements, kept.values(), strict=True)
        )
        expected = uniform(replay(storage.events(storage.find(None))), 1, opened.now(opened.state))
        batch = opened.ask(1, frame="columns")
        assert (batch["row"], batch["col"]) == (expected.rows.tolist(), expected.cols.tolist())
        opened.withdraw(batch["id"])
