"""Why intervals of cold rows of AutoML errors are wide: columns differ in misfit, and one noise has to serve them all.

Tables are drawn from a fit that gives each line a noise of its own, and then with the same pattern and one noise of the
same mean square. All are fitted with one noise, as AutoML errors are by default.
"""

from collections.abc import Iterator

import numpy as np
from benchmarks.checks import Line
from benchmarks.side_information.problems import Problem, automl

from maxentry import Observations, Posterior, Sampling, complete

SEEDS = 20
PLAN = Sampling("population", 4, 100, 100, 25, 4)
LINES = {"columns": "column", "rows": "row"}
DRAW = 37  # any one of the hundred


def misfit(quick: bool) -> list[Line]:
    """Coverage of warm and cold rows, and how large errors of cold rows are beside their standard deviations."""
    found: dict[str, list[tuple[float, ...]]] = {}
    ratios: dict[str, list[float]] = {}
    for seed in range(2 if quick else SEEDS):
        problem = automl(seed)
        values = problem.task.values
        found.setdefault("AutoML error itself", []).append(judge(problem, values, problem.truth, seed))
        for lines, line in LINES.items():
            by_line = fit(problem, values, seed, lines)
            spread = by_line.noise_law.spread
            assert spread is not None
            low, high = np.quantile(spread.mean(0), (0.1, 0.9))
            ratios.setdefault(lines, []).append(high / low)
            for noise, drawn in draw(problem, by_line, lines, np.random.default_rng([44, seed])):
                what = f"drawn from its fit with a noise by {line}, {noise}"
                told, truth = np.split(drawn, [values.size])
                found.setdefault(what, []).append(judge(problem, told, truth, seed))
    texts = [
        Line(f"AutoML error, noise of {lines}: nine tenths quantile over one tenth", f"{np.mean(ratio):.1f}")
        for lines, ratio in ratios.items()
    ]
    what = "90% predictive intervals of warm, of cold rows cover; error of cold rows over their sd"
    for name, figures in found.items():
        means, errors = np.mean(figures, axis=0), np.std(figures, axis=0, ddof=1) / np.sqrt(len(figures))
        value = ", ".join(f"{m:.3f} ± {e:.3f}" for m, e in zip(means, errors, strict=True))
        texts.append(Line(f"{name}: {what}", value))
    return texts


def fit(problem: Problem, values: np.ndarray, seed: int, noise: str = "gaussian") -> Posterior:
    task = problem.task
    data = Observations.of((task.rows, task.cols, values), shape=task.shape)
    options = {"rank": 8, "sampling": PLAN, "threads": 1, "progress": False}
    return complete(data, row_features=problem.row_features, noise=noise, seed=seed, **options)


def draw(
    problem: Problem, posterior: Posterior, lines: str, rng: np.random.Generator
) -> Iterator[tuple[str, np.ndarray]]:
    """Measurements and held-out values as one draw of a fit has them, and the same with one noise."""
    task, law = problem.task, posterior.noise_law
    rows, cols = np.concatenate([task.rows, task.test_rows]), np.concatenate([task.cols, task.test_cols])
    x = posterior.belief.at(rows, cols)[DRAW]
    assert law.spread is not None
    sd = np.sqrt(law.var[DRAW]) * law.spread[DRAW][rows if lines == "rows" else cols]
    for noise, size in (("and that noise", sd), ("and one noise", np.sqrt(np.mean(sd**2)))):
        yield noise, x + size * rng.standard_normal(rows.size)


def judge(problem: Problem, told: np.ndarray, truth: np.ndarray, seed: int) -> tuple[float, float, float]:
    """Coverage of warm and of cold rows, and the root mean square of cold errors over predictive sds."""
    posterior = fit(problem, told, seed)
    p = posterior.predict(problem.task.test_rows, problem.task.test_cols, 0.9)
    inside = (p.new_low <= truth) & (truth <= p.new_high)
    z = (truth - p.mean) / np.sqrt(p.sd**2 + posterior.noise_law.var.mean())
    cold = problem.cold
    return float(inside[~cold].mean()), float(inside[cold].mean()), float(np.sqrt(np.mean(z[cold] ** 2)))


CHECKS = {"misfit": misfit}
