"""Whatever comes in at the doors for values, only a MaxentryError in one line comes out."""

from __future__ import annotations

import warnings

import pytest
from tests.fuzz.inputs import draw_inputs, find_fault

PARTS, EACH = 8, 250


@pytest.mark.parametrize("part", range(PARTS))
def test_odd_inputs_are_refused_in_a_line(part: int, compiled: None) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        faults = [fault for given in draw_inputs(part, EACH) if (fault := find_fault(given))]
    assert not faults, "\n".join(faults)
