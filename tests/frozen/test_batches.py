"""Every way to choose gives the batches that it gave when they were recorded."""

import copy

import pytest
from tests.frozen import batches, doors, records

RECORD = records.read("batches")


def test_every_case_is_recorded_and_every_criterion_has_cases():
    assert sorted(RECORD) == sorted(batches.CASES)
    assert set(batches.NAMES) == set(doors.criteria())


@pytest.mark.parametrize("name", batches.CASES)
def test_batches(name):
    records.check(RECORD[name], batches.CASES[name]())


def test_another_entry_is_found():
    recorded = RECORD["choose, maxent, free"]
    other = copy.deepcopy(recorded)
    other["rows"][2] += 1
    with pytest.raises(AssertionError, match=r"rows\[2\]: was"):
        records.check(recorded, other)
