"""Campaigns with very many rows are created in a time that is a small multiple of writing and reading their labels."""

from __future__ import annotations

import gc
import json
import time
from collections.abc import Callable

import pytest

from maxentry.campaign.campaign import Campaign
from maxentry.errors import DataError

MANY = 100_000
FACTOR = 16  # it takes 7 to 10 times as long; it was 25 to 34


def seconds(work: Callable[[], object]) -> float:
    """The least processor time of a few attempts, without collecting what other tests have left behind."""
    times = []
    gc.disable()
    try:
        for _ in range(3):
            began = time.process_time()
            work()
            times.append(time.process_time() - began)
    finally:
        gc.enable()
    return min(times)


@pytest.mark.parametrize("rows", [list(range(MANY)), [f"r{k}" for k in range(MANY)]], ids=["numbers", "text"])
def test_creation_takes_little_more_than_writing_the_labels(rows: list[object]) -> None:
    Campaign.create("sqlite://", "x", 3, 2).close()  # imports
    alone = seconds(lambda: json.loads(json.dumps(rows)))
    assert seconds(lambda: Campaign.create("sqlite://", "x", rows, 2).close()) < FACTOR * alone


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        (["a", "b", "a"], "got 'a' twice, at 0 and 2"),
        ([1, "1", 2], "read differently as text, got 1 and '1'"),
        (["a", " a"], "read differently as text, got 'a' and ' a'"),
        (["a", " "], "not empty, got ' '"),
        ([1, True, 2], "got True twice, at 0 and 1"),
    ],
)
def test_labels_are_still_checked(rows: list[object], message: str) -> None:
    with pytest.raises(DataError, match=message):
        Campaign.create("sqlite://", "x", rows, 2)
