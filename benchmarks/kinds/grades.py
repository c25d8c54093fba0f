"""Ratings as grades: against a Gaussian fit whose probabilities are of rounding, and against myFM's ordered probit."""

import os
from collections.abc import Callable
from functools import partial

import numpy as np
from benchmarks import matrices
from benchmarks.checks import Line
from benchmarks.kinds.peer import myfm_probabilities
from benchmarks.kinds.scores import calibration, choose_seeds, jackknife, log_loss, remember
from scipy.special import ndtr

import maxentry

SEEDS = int(os.environ.get("KINDS_SEEDS", "3"))
GRADES = np.arange(1, 6)
Part = tuple[np.ndarray, np.ndarray]  # positions of training and of test
RANK = 10
BY_USER = "grades, noise by user"


def grades(quick: bool) -> list[Line]:
    """MovieLens 100K: RMSE of the expected grade, log loss of the grade and calibration on held-out ratings."""
    triples = matrices.movielens_100k()
    lines = _lines("grades", "MovieLens 100K, u1", triples, lambda seed: _first_lines(triples), SEEDS, quick)
    if not quick:
        part = partial(_at_random, triples, 0.8)
        lines += _lines("grades", "MovieLens 100K, 80/20", triples, part, SEEDS, quick)
    return lines


def grades_1m(quick: bool) -> list[Line]:
    """The same of MovieLens 1M."""
    triples = matrices.movielens_1m()
    return _lines(
        "grades_1m", "MovieLens 1M, 90/10", triples, partial(_at_random, triples, 0.9), SEEDS, quick
    )


def _lines(
    check: str, name: str, triples: matrices.Triples, part: Callable[[int], Part], wanted: int, quick: bool
) -> list[Line]:
    found: dict[str, list[list[float]]] = {}
    seeds = [0] if quick else choose_seeds(check, name, wanted)
    for seed in seeds:
        one = partial(_compare, triples, part, seed, quick)
        for method, scores in (one() if quick else remember(check, f"{name}, seed {seed}", one)).items():
            found.setdefault(method, []).append(scores)
    if not seeds:
        return []
    means = {method: np.mean(scores, axis=0) for method, scores in found.items()}
    text = ", ".join(f"{method} {a:.4f}, {b:.4f}, {c:.3f}" for method, (a, b, c) in means.items())
    asked = "<= 1 and <= 0.985 of Gaussian's; log loss below myFM's"
    name = f"{name}, {len(seeds)} seed{'s' * (len(seeds) > 1)}"
    lines = [Line(f"{name}: RMSE, log loss, calibration of 4 or 5", text)]
    for ours in ("grades", BY_USER):
        rmse, loss = means[ours][:2] / means["Gaussian"][:2]
        text = f"{rmse:.4f} and {loss:.4f}"
        if len(seeds) > 2 and "myFM" in found:
            losses = np.array([np.array(found[method])[:, 1] for method in (ours, "Gaussian", "myFM")]).T
            text += f" ± {jackknife(_saving, losses):.4f}, log loss less than myFM's {_less(losses)}"
        lines.append(Line(f"{name}: RMSE and log loss over Gaussian's, {ours}", text, asked))
    return lines


def _saving(losses: np.ndarray) -> float:
    """Log loss over Gaussian's; columns are grades, Gaussian, myFM."""
    return float(losses[:, 0].mean() / losses[:, 1].mean())


def _less(losses: np.ndarray) -> str:
    """How far the log loss is below that of myFM, with the standard error over the seeds."""
    less = losses[:, 2] - losses[:, 0]
    return f"by {less.mean():.4f} ± {less.std(ddof=1) / np.sqrt(less.size):.4f}"


def _first_lines(triples: matrices.Triples) -> Part:
    """The public split u1: its test set is the first 20,000 lines of u.data."""
    n = triples[3].size
    return np.arange(20_000, n), np.arange(20_000)


def _at_random(triples: matrices.Triples, share: float, seed: int) -> Part:
    order = np.random.default_rng([seed, 14]).permutation(triples[3].size)
    n = round(share * order.size)
    return order[:n], order[n:]


def _compare(
    triples: matrices.Triples, part: Callable[[int], Part], seed: int, quick: bool
) -> dict[str, list[float]]:
    (shape, rows, cols, values), (train, test) = triples, part(seed)
    y = values[test].astype(int)
    known, at = (rows[train], cols[train], values[train]), (rows[test], cols[test])
    options = {"shape": shape, "seed": seed, "threads": 1, "progress": False}
    plain = maxentry.complete(known, RANK, **options)
    found = {"Gaussian": _scores(_rounded(plain, *at), y, plain.belief.mean_at(*at))}
    for name, noise in (("grades", "gaussian"), (BY_USER, "rows")):
        ours = maxentry.complete(known, RANK, kind="grades", levels=GRADES.tolist(), noise=noise, **options)
        found[name] = _scores(ours.probabilities(*at).T, y)
    plain = maxentry.complete(known, RANK, noise="rows", **options)
    found["Gaussian, noise by user"] = _scores(_rounded(plain, *at), y, plain.belief.mean_at(*at))
    if not quick:
        found["myFM"] = _scores(myfm_probabilities("grades", triples, train, test, RANK, seed), y)
    return found


def _scores(probabilities: np.ndarray, y: np.ndarray, mean: np.ndarray | None = None) -> list[float]:
    """RMSE of the expected grade (or of `mean`), log loss, and calibration of the probability of 4 or 5."""
    error = np.sqrt(np.mean(((probabilities @ GRADES if mean is None else mean) - y) ** 2))
    good = calibration(probabilities[:, 3:].sum(axis=1), y >= 4)
    return [round(float(x), 6) for x in (error, log_loss(probabilities, y - 1), good)]


def _rounded(p: maxentry.Posterior, rows: np.ndarray, cols: np.ndarray) -> np.ndarray:
    """Probabilities of grades for a Gaussian fit: of what rounds to each."""
    edges = np.concatenate([[-np.inf], GRADES[:-1] + 0.5, [np.inf]])
    probabilities = np.empty((rows.size, GRADES.size))
    eta = np.sqrt(p.belief.noise_var)[:, None]
    for first in range(0, rows.size, 5000):
        part = slice(first, first + 5000)
        x, sd = p.belief.at(rows[part], cols[part]), eta * p.noise_law.spread_at(rows[part], cols[part])
        cumulative = np.array([ndtr((edge - x) / sd).mean(0) for edge in edges])
        probabilities[part] = np.diff(cumulative, axis=0).T
    return probabilities
