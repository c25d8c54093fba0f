"""Whatever comes in at the doors for values, only a MaxentryError in one line comes out."""

from __future__ import annotations

import warnings

import pytest
from tests.fuzz.inputs import draw_inputs, find_fault

PARTS, QUICK, EACH = 8, 2, 250
MARKS = {part: [pytest.mark.slow] if part >= QUICK else [] for part in range(PARTS)}


@pytest.mark.parametrize("part", [pytest.param(part, marks=marks) for part, marks in MARKS.items()])
def test_odd_inputs_are_refused_in_a_line(part: int, compiled: None) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        faults = [fault for given in draw_inputs(part, EACH) if (fault := find_fault(given))]
    assert not faults, "\n".join(faults)
