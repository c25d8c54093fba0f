"""Scores of predictions: CRPS from draws, log loss, Brier score, calibration; and those computed so far."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from scipy.special import ndtr

GRADES = np.arange(1, 6)
CELLS = Path(__file__).parent / "results" / "cells.json"


def remember(check: str, cell: str, compute: Callable[[], Any]) -> Any:
    """Compute the scores of a cell (a table, a share, a seed) and keep them: a check that was stopped goes on."""
    cells = _read_cells()
    if cell not in cells.get(check, {}):
        found = compute()
        cells = _read_cells()  # another run may have added to them meanwhile
        cells.setdefault(check, {})[cell] = found
        CELLS.parent.mkdir(exist_ok=True)
        CELLS.write_text(json.dumps(cells, indent=1, sort_keys=True) + "\n")
        print(f"  {check}, {cell}: {found}", flush=True)
    return cells[check][cell]


def _read_cells() -> dict[str, dict[str, Any]]:
    return json.loads(CELLS.read_text()) if CELLS.is_file() else {}


def known(check: str, cell: str) -> Any:
    """The scores of a cell, or None where nobody computed them."""
    return _read_cells().get(check, {}).get(cell)


def choose_seeds(check: str, cell: str, wanted: int) -> list[int]:
    """Return the seeds of a line, whose cells are named `cell` and then the seed; wanted 0: those computed so far."""
    if wanted:
        return list(range(wanted))
    return [seed for seed in range(100) if known(check, f"{cell}, seed {seed}") is not None]


def forget(checks: list[str]) -> None:
    """Drop the scores of some checks, which are to be computed anew."""
    if CELLS.is_file():
        others = {check: cells for check, cells in _read_cells().items() if check not in checks}
        CELLS.write_text(json.dumps(others, indent=1, sort_keys=True) + "\n")


def jackknife(statistic: Callable[[np.ndarray], float], found: np.ndarray) -> float:
    """Standard error of a statistic of independent seeds (the first axis), from leaving out each of them."""
    n = len(found)
    left = np.array([statistic(np.delete(found, k, axis=0)) for k in range(n)])
    return float(np.sqrt((n - 1) / n * np.sum((left - left.mean()) ** 2)))


def crps(draws: np.ndarray, truth: np.ndarray) -> float:
    """Mean continuous ranked probability score of predictive draws (S, n): E|Y - y| - E|Y - Y'| / 2."""
    ordered = np.sort(draws, axis=0)
    S = len(ordered)
    spread = (2 * np.arange(S) - S + 1) @ ordered / (S * (S - 1))  # E|Y - Y'| / 2, unbiased
    return float(np.mean(np.abs(ordered - truth).mean(0) - spread))


def round_probabilities(
    draws_at: Callable[..., np.ndarray], rows: np.ndarray, cols: np.ndarray, sd_at: Callable[..., np.ndarray]
) -> np.ndarray:
    """Probabilities (n, K) of the grades of a Gaussian fit: of what rounds to each, in parts."""
    edges = np.concatenate([[-np.inf], GRADES[:-1] + 0.5, [np.inf]])
    probabilities = np.empty((rows.size, GRADES.size))
    for first in range(0, rows.size, 5000):
        part = slice(first, first + 5000)
        x, sd = draws_at(rows[part], cols[part]), sd_at(rows[part], cols[part])
        cumulative = np.array([ndtr((edge - x) / sd).mean(0) for edge in edges])
        probabilities[part] = np.diff(cumulative, axis=0).T
    return probabilities


def log_loss(probabilities: np.ndarray, code: np.ndarray) -> float:
    """Mean of -log of the probability of what came; (n, K) and (n,) from 0."""
    p = probabilities[np.arange(code.size), code]
    return float(-np.mean(np.log(np.clip(p, 1e-12, 1.0))))


def brier(p: np.ndarray, yes: np.ndarray) -> float:
    return float(np.mean((p - yes) ** 2))


def calibration(p: np.ndarray, yes: np.ndarray, bins: int = 10) -> float:
    """Mean distance of frequencies from probabilities over bins of equal size, weighted equally."""
    parts = np.array_split(np.argsort(p, kind="stable"), bins)
    return float(np.mean([abs(p[k].mean() - yes[k].mean()) for k in parts if k.size]))
