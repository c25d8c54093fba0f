"""The functions are there at once: what draws, and what few figures need, is loaded when it is used."""

import subprocess
import sys

import pytest

HEAVY = ("matplotlib", "plotly", "scipy.stats", "scipy.cluster", "numba", "pandas", "polars")


def loaded(code: str) -> list[str]:
    shown = f"{code}; import sys; print(*[m for m in {HEAVY!r} if m in sys.modules])"
    run = subprocess.run(
        [sys.executable, "-c", shown], capture_output=True, text=True, check=True, timeout=300
    )
    return run.stdout.split()


@pytest.mark.process
def test_the_functions_bring_nothing_heavy() -> None:
    assert loaded("from maxentry.plots import calibration, history, mean, sd") == []


@pytest.mark.process
def test_the_check_can_fail() -> None:
    assert loaded("from maxentry.plots import mean; import scipy.stats") != []
