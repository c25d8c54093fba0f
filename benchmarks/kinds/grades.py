"""Ratings as grades: against a Gaussian fit whose probabilities are of rounding, and against myFM's ordered probit."""

import os

import numpy as np
from benchmarks import matrices
from benchmarks.checks import Line
from benchmarks.kinds.peer import myfm_probabilities
from benchmarks.kinds.scores import log_loss
from scipy.special import ndtr

import maxentry

SEEDS = int(os.environ.get("KINDS_SEEDS", "3"))
GRADES = np.arange(1, 6)
RANK = 10


def grades(quick: bool) -> list[Line]:
    """RMSE of the expected grade and log loss of the grade on held-out ratings."""
    triples = matrices.movielens_100k()
    splits = {"MovieLens 100K, u1": [(triples, *_first_lines(triples))]}
    splits["MovieLens 100K, 80/20"] = [(triples, *_at_random(triples, 0.8, s)) for s in range(SEEDS)]
    large = matrices.movielens_1m()
    splits["MovieLens 1M, 90/10"] = [(large, *_at_random(large, 0.9, s)) for s in range(SEEDS)]
    lines = []
    for name, parts in list(splits.items())[: 1 if quick else None]:
        found: dict[str, list[tuple[float, float]]] = {}
        for seed, (data, train, test) in enumerate(parts):
            for method, scores in _compare(data, train, test, seed, quick).items():
                found.setdefault(method, []).append(scores)
        means = {method: np.mean(scores, axis=0) for method, scores in found.items()}
        gaussian, ours = means["Gaussian"], means["grades"]
        text = ", ".join(f"{method} {rmse:.4f} and {loss:.4f}" for method, (rmse, loss) in means.items())
        text += f"; over Gaussian {ours[0] / gaussian[0]:.4f} and {ours[1] / gaussian[1]:.4f}"
        lines.append(Line(f"{name}: RMSE and log loss", text, "<= 1 and <= 0.985; log loss below myFM's"))
    return lines


def _first_lines(triples: matrices.Triples) -> tuple[np.ndarray, np.ndarray]:
    """The public split u1: its test set is the first 20,000 lines of u.data."""
    n = triples[3].size
    return np.arange(20_000, n), np.arange(20_000)


def _at_random(triples: matrices.Triples, share: float, seed: int) -> tuple[np.ndarray, np.ndarray]:
    order = np.random.default_rng([seed, 14]).permutation(triples[3].size)
    n = round(share * order.size)
    return order[:n], order[n:]


def _compare(
    triples: matrices.Triples, train: np.ndarray, test: np.ndarray, seed: int, quick: bool
) -> dict[str, tuple[float, float]]:
    shape, rows, cols, values = triples
    y = values[test].astype(int)
    found = {}
    for kind in ("numbers", "grades"):
        options = {"kind": "grades", "levels": GRADES.tolist()} if kind == "grades" else {}
        p = maxentry.complete(
            (rows[train], cols[train], values[train]), RANK, shape=shape, seed=seed, threads=1, progress=False,
            **options,
        )  # fmt: skip
        if kind == "grades":
            probabilities = p.probabilities(rows[test], cols[test])
        else:
            probabilities = _rounded(p, rows[test], cols[test])
        found["Gaussian" if kind == "numbers" else kind] = _scores(probabilities, y)
        if kind == "numbers":
            error = np.sqrt(np.mean((p.belief.mean_at(rows[test], cols[test]) - y) ** 2))
            found["Gaussian"] = (float(error), found["Gaussian"][1])
    if not quick:
        peer = myfm_probabilities("grades", triples, train, test, RANK, seed)
        found["myFM"] = _scores(peer, y)
    print(f"  {seed} {found}", flush=True)
    return found


def _scores(probabilities: np.ndarray, y: np.ndarray) -> tuple[float, float]:
    return float(np.sqrt(np.mean((probabilities @ GRADES - y) ** 2))), log_loss(probabilities, y - 1)


def _rounded(p: maxentry.Posterior, rows: np.ndarray, cols: np.ndarray) -> np.ndarray:
    """Probabilities of grades for a Gaussian fit: of what rounds to each."""
    edges = np.concatenate([[-np.inf], GRADES[:-1] + 0.5, [np.inf]])
    probabilities = np.empty((rows.size, GRADES.size))
    eta = np.sqrt(p.belief.noise_var)[:, None]
    for first in range(0, rows.size, 5000):
        part = slice(first, first + 5000)
        x = p.belief.at(rows[part], cols[part])
        cumulative = np.array([ndtr((edge - x) / eta).mean(0) for edge in edges])
        probabilities[part] = np.diff(cumulative, axis=0).T
    return probabilities
