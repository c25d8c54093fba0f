"""Ratings as grades: against a Gaussian fit whose probabilities are of rounding, and against myFM's ordered probit."""

import os
from collections.abc import Callable
from functools import partial

import numpy as np
from benchmarks import matrices
from benchmarks.checks import Line
from benchmarks.kinds.peer import myfm_probabilities
from benchmarks.kinds.scores import (
    GRADES,
    calibration,
    choose_seeds,
    jackknife,
    known,
    log_loss,
    remember,
    round_probabilities,
)

import maxentry

SEEDS = int(os.environ.get("KINDS_SEEDS", "3"))
Part = tuple[np.ndarray, np.ndarray]  # positions of training and of test
RANK = 10
NOT_RATED = 12700  # of Jester
BY_USER = "grades, noise by user"


def grades(quick: bool) -> list[Line]:
    """MovieLens 100K: RMSE of the expected grade, log loss of the grade and calibration on held-out ratings."""
    triples = matrices.movielens_100k()
    names = ["MovieLens 100K, u1"] if quick else ["MovieLens 100K, u1", "MovieLens 100K, 80/20"]
    found = [_lines("grades", name, triples, partial(splits, name), SEEDS, quick) for name in names]
    return [line for lines in found for line in lines]


def grades_1m(quick: bool) -> list[Line]:
    """The same of MovieLens 1M."""
    triples = matrices.movielens_1m()
    return _lines(
        "grades_1m", "MovieLens 1M, 90/10", triples, partial(_at_random, triples, 0.9), SEEDS, quick
    )


def grades_default(quick: bool) -> list[Line]:
    """What the default takes for the noise of many grades, and its scores over those of one noise."""
    cases = {
        "Jester, 1,500 users in steps of four, 20,000 ratings": partial(jester, 20_000),
        "Jester, 1,500 users in steps of four, 60,000 ratings": partial(jester, 60_000),
        "simulated 600 x 400, all grade alike, 15,000 grades": partial(alike, 15_000),
        "simulated 600 x 400, all grade alike, 40,000 grades": partial(alike, 40_000),
    }
    lines = []
    for name, make in cases.items():
        seeds = [0] if quick else choose_seeds("grades_default", name, SEEDS)
        ones = [partial(_default_over_one_noise, make, seed) for seed in seeds]
        if quick:
            found = [one() for one in ones]
        else:
            found = [
                remember("grades_default", f"{name}, seed {seed}", one)
                for seed, one in zip(seeds, ones, strict=True)
            ]
        if found:
            rmse, loss = np.mean([scores for _, scores in found], axis=0)
            laws = ", ".join(sorted({law for law, _ in found}))
            text = f"{rmse:.4f} and {loss:.4f} (noise: {laws}; {len(found)} seeds)"
            lines.append(Line(f"{name}: RMSE and log loss of the default over one noise", text))
    return lines


def _default_over_one_noise(make: Callable[[int], matrices.Triples], seed: int) -> tuple[str, list[float]]:
    shape, rows, cols, values = make(seed)
    order = np.random.default_rng([seed, 15]).permutation(values.size)
    train, test = np.split(order, [round(0.8 * order.size)])
    data, y = (rows[train], cols[train], values[train]), values[test].astype(int)
    options = {"shape": shape, "seed": seed, "threads": 1, "progress": False}
    fits = [
        maxentry.complete(data, RANK, kind="grades", levels=GRADES.tolist(), noise=noise, **options)
        for noise in ("auto", "gaussian")
    ]
    scores = [score_grades(fit.probabilities(rows[test], cols[test]).T, y) for fit in fits]
    return fits[0].fit.noise, [round(a / b, 6) for a, b in zip(*scores, strict=True)][:2]


def jester(n: int, seed: int) -> matrices.Triples:
    """Some of the ratings of 1,500 users, -10 to 10, as five grades."""
    M, rng = matrices.read("jester/jester1.npz"), np.random.default_rng([seed, 16])
    M = M[rng.permutation(len(M))[:1500]]
    rows, cols = np.nonzero(M != NOT_RATED)
    some = rng.permutation(rows.size)[:n]
    rows, cols = rows[some], cols[some]
    return M.shape, rows, cols, np.clip(np.floor((M[rows, cols] / 100 + 10) / 4) + 1, 1, 5)


def alike(n: int, seed: int) -> matrices.Triples:
    """Grades of rank 4 with levels of rows and columns, rounded, with one noise for all."""
    rng, (m1, m2) = np.random.default_rng([seed, 17]), (600, 400)
    X = 3.3 + 0.35 * rng.standard_normal((m1, 4)) @ rng.standard_normal((4, m2))
    X += 0.5 * (rng.standard_normal((m1, 1)) + rng.standard_normal(m2))
    rows, cols = np.divmod(rng.permutation(m1 * m2)[:n], m2)
    z = X[rows, cols] + 0.9 * rng.standard_normal(n)
    return (m1, m2), rows, cols, np.clip(np.rint(z), 1, 5)


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
    title = f"{name}, {len(seeds)} seed{'s' * (len(seeds) > 1)}"
    before = [known(f"{check} before", f"{name}, seed {seed}") for seed in seeds]
    lines = [Line(f"{title}: RMSE, log loss, calibration of 4 or 5", text)]
    for ours, name in (("grades", "grades, one noise"), (BY_USER, f"{BY_USER} (the default)")):
        rmse, loss = means[ours][:2] / means["Gaussian"][:2]
        text = f"{rmse:.4f} and {loss:.4f}"
        if len(seeds) > 2 and "myFM" in found:
            losses = np.array([np.array(found[method])[:, 1] for method in (ours, "Gaussian", "myFM")]).T
            text += f" ± {jackknife(_saving, losses):.4f}, log loss less than myFM's {_less(losses)}"
        if all(before):
            rmse, loss = means[ours][:2] / np.mean([scores[:2] for scores in before if scores], axis=0)
            text += f"; {rmse:.4f} and {loss:.4f} of those of b121af5"
        lines.append(Line(f"{title}: RMSE and log loss over Gaussian's, {name}", text, asked))
    return lines


def _saving(losses: np.ndarray) -> float:
    """Log loss over Gaussian's; columns are grades, Gaussian, myFM."""
    return float(losses[:, 0].mean() / losses[:, 1].mean())


def _less(losses: np.ndarray) -> str:
    """How far the log loss is below that of myFM, with the standard error over the seeds."""
    less = losses[:, 2] - losses[:, 0]
    return f"by {less.mean():.4f} ± {less.std(ddof=1) / np.sqrt(less.size):.4f}"


def splits(name: str, seed: int) -> Part:
    """Of MovieLens 100K: the public split u1, whose test set is the first 20,000 lines of u.data, or a random one."""
    triples = matrices.movielens_100k()
    if name.endswith("u1"):
        return np.arange(20_000, triples[3].size), np.arange(20_000)
    return _at_random(triples, 0.8, seed)


def _at_random(triples: matrices.Triples, share: float, seed: int) -> Part:
    order = np.random.default_rng([seed, 14]).permutation(triples[3].size)
    n = round(share * order.size)
    return order[:n], order[n:]


def _compare(
    triples: matrices.Triples, part: Callable[[int], Part], seed: int, quick: bool
) -> dict[str, list[float]]:
    (shape, rows, cols, values), (train, test) = triples, part(seed)
    y = values[test].astype(int)
    data, at = (rows[train], cols[train], values[train]), (rows[test], cols[test])
    options = {"shape": shape, "seed": seed, "threads": 1, "progress": False}
    plain = maxentry.complete(data, RANK, **options)
    found = {"Gaussian": score_grades(_rounded(plain, *at), y, plain.belief.mean_at(*at))}
    for name, noise in (("grades", "gaussian"), (BY_USER, "rows")):
        ours = maxentry.complete(data, RANK, kind="grades", levels=GRADES.tolist(), noise=noise, **options)
        found[name] = score_grades(ours.probabilities(*at).T, y)
    plain = maxentry.complete(data, RANK, noise="rows", **options)
    found["Gaussian, noise by user"] = score_grades(_rounded(plain, *at), y, plain.belief.mean_at(*at))
    if not quick:
        found["myFM"] = score_grades(myfm_probabilities("grades", triples, train, test, RANK, seed), y)
    return found


def score_grades(probabilities: np.ndarray, y: np.ndarray, mean: np.ndarray | None = None) -> list[float]:
    """RMSE of the expected grade (or of `mean`), log loss, and calibration of the probability of 4 or 5."""
    error = np.sqrt(np.mean(((probabilities @ GRADES if mean is None else mean) - y) ** 2))
    good = calibration(probabilities[:, 3:].sum(axis=1), y >= 4)
    return [round(float(x), 6) for x in (error, log_loss(probabilities, y - 1), good)]


def _rounded(p: maxentry.Posterior, rows: np.ndarray, cols: np.ndarray) -> np.ndarray:
    """Probabilities of grades for a Gaussian fit."""
    eta = np.sqrt(p.belief.noise_var)[:, None]
    return round_probabilities(p.belief.at, rows, cols, lambda *at: eta * p.noise_law.spread_at(*at))
