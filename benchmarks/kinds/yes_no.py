"""Yes or no: against a Gaussian fit clipped to [0, 1], myFM's probit, and logistic additive effects."""

import os
import warnings
from functools import partial

import numpy as np
import scipy.sparse as sp
from benchmarks import matrices
from benchmarks.checks import Line
from benchmarks.kinds.peer import myfm_probabilities
from benchmarks.kinds.scores import brier, calibration, choose_seeds, log_loss, remember

import maxentry

SEEDS = int(os.environ.get("KINDS_SEEDS", "3"))
TABLES = {
    "SAT20 solved in 5,000 s": lambda: matrices.load("SAT20, log s", 0) < np.log(5000.0) - 1e-9,
    "direct arylation above 20%": lambda: matrices.load("direct arylation", 0) > 20.0,
}
SHARE = 0.2
PEER_RANK = 4
PENALTIES = (0.1, 0.3, 1.0, 3.0, 10.0)


def yes_no(quick: bool) -> list[Line]:
    """Log loss, Brier score and calibration on held-out entries, a fifth of the table known."""
    lines = []
    for name, make in TABLES.items():
        B = make()
        found: dict[str, list[list[float]]] = {}
        seeds = [0] if quick else choose_seeds("yes_no", name, SEEDS)
        for seed in seeds:
            one = partial(_compare, B, seed, quick)
            for method, scores in (
                one() if quick else remember("yes_no", f"{name}, seed {seed}", one)
            ).items():
                found.setdefault(method, []).append(scores)
        means = {method: np.mean(scores, axis=0) for method, scores in found.items()}
        text = "; ".join(f"{method} {a:.4f}, {b:.4f}, {c:.3f}" for method, (a, b, c) in means.items())
        text += _compare_with_best(found) if len(seeds) > 1 else ""
        what = f"{name}, {SHARE:.0%} known, {len(seeds)} seed{'s' * (len(seeds) > 1)}: log loss, Brier, calibration"
        lines += [Line(what, text, "best of all")] if seeds else []
    return lines


def _compare_with_best(found: dict[str, list[list[float]]]) -> str:
    """How far the log loss is below that of the best other method, with the standard error over the seeds."""
    losses = {method: np.array(scores)[:, 0] for method, scores in found.items()}
    ours = losses.pop("yes/no")
    best = min(losses, key=lambda method: losses[method].mean())
    less = losses[best] - ours
    error = less.std(ddof=1) / np.sqrt(less.size)
    return f"; log loss less than {best}: {less.mean():.4f} ± {error:.4f}"


def _compare(B: np.ndarray, seed: int, quick: bool) -> dict[str, list[float]]:
    rows, cols = (index.ravel() for index in np.indices(B.shape))
    values = B.ravel().astype(float)
    order = np.random.default_rng([seed, 14]).permutation(values.size)
    n = round(SHARE * values.size)
    train, test = order[:n], order[n:]
    known = (rows[train], cols[train], values[train])
    options = {"shape": B.shape, "seed": seed, "threads": 1, "progress": False}
    ours = maxentry.complete(known, kind="yes/no", **options).predict(rows[test], cols[test]).mean
    plain = maxentry.complete(known, **options).belief.mean_at(rows[test], cols[test])
    triples = (B.shape, rows, cols, values)
    methods = {
        "yes/no": ours,
        "Gaussian, clipped": np.clip(plain, 0.005, 0.995),
        "logistic effects": _logistic(triples, train, test),
    }
    if not quick:
        methods["myFM"] = myfm_probabilities("yes/no", triples, train, test, PEER_RANK, seed)
    yes = values[test]
    scores = {
        name: [log_loss(np.column_stack([1 - p, p]), yes.astype(int)), brier(p, yes), calibration(p, yes)]
        for name, p in methods.items()
    }
    return {name: [round(x, 6) for x in three] for name, three in scores.items()}


def _logistic(triples: matrices.Triples, train: np.ndarray, test: np.ndarray) -> np.ndarray:
    """Row and column effects on the logit scale, the ridge chosen by cross-validation."""
    from sklearn.linear_model import LogisticRegressionCV

    (m1, m2), rows, cols, values = triples
    at = np.arange(rows.size)
    X = sp.csr_matrix(
        (np.ones(2 * rows.size), (np.tile(at, 2), np.concatenate([rows, m1 + cols]))), (rows.size, m1 + m2)
    )
    with warnings.catch_warnings(action="ignore", category=FutureWarning):
        model = LogisticRegressionCV(Cs=PENALTIES, scoring="neg_log_loss", max_iter=500)
        return model.fit(X[train], values[train] > 0.5).predict_proba(X[test])[:, 1]
