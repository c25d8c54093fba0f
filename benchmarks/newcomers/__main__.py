"""New rows at once: how long they take, how they compare with fitting again, and which entries to ask for.

    python -m benchmarks.newcomers                     # checks that have no result yet, then benchmarks/newcomers.md
    python -m benchmarks.newcomers evaluations --again
    python -m benchmarks.newcomers evaluations --quick # small; prints only

NEWCOMERS_SEEDS is the number of tables of each check (3; eight times as many of the stream).
"""

import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from benchmarks.checks import Check, Line, main
from benchmarks.matrices import load
from benchmarks.newcomers import oracle
from benchmarks.side_information.problems import PROBLEMS, Problem

import maxentry

HERE = Path(__file__).parent
SEEDS = int(os.environ.get("NEWCOMERS_SEEDS", "3"))
OPTIONS: dict[str, Any] = {"progress": False, "threads": 1}


def times(quick: bool) -> list[Line]:
    """400 draws, rank 10, 800 columns, 20 measurements a row: one row, a thousand, and fitting again with one."""
    rng = np.random.default_rng(0)
    n = 50 if quick else 1000
    X = rng.standard_normal((200 + n, 10)) @ rng.standard_normal((10, 800))
    Y = np.where(rng.random(X.shape) < 0.15, X + 0.3 * rng.standard_normal(X.shape), np.nan)
    plan = maxentry.Sampling(chains=20, anneal=60, settle=40, draws=20, thin=2)
    posterior = maxentry.complete(Y[:200], 10, seed=0, sampling=plan, **OPTIONS)
    new = np.full((n, 800), np.nan)
    for row, x in zip(new, X[200:], strict=True):
        j = rng.choice(800, 20, replace=False)
        row[j] = x[j] + 0.3 * rng.standard_normal(20)
    told = {int(j): new[0, j] for j in np.flatnonzero(~np.isnan(new[0]))}
    cols = np.arange(20)
    one = _least(lambda: posterior.rows(told), 20)
    row = posterior.rows(told)
    steps = {
        "one new row of 20 measurements": one,
        "and 20 of its entries predicted": _least(lambda: row.predict("new", cols), 10),
        "and 10 entries to ask for": _least(lambda: row.ask(10), 3),
        "and 10 entries to ask for, about its average": _least(lambda: row.ask(10, about="average"), 3),
        f"{n} new rows": _least(lambda: posterior.rows(new), 3),
    }
    together = np.vstack([Y[:200], new[:1]])
    refit = _least(
        lambda: maxentry.complete(together, 10, seed=0, start=posterior, sampling=plan, **OPTIONS), 1
    )
    asked = {"one new row of 20 measurements": "below 5 ms", f"{n} new rows": "below 1 s"}
    lines = [
        Line(what, f"{1000 * took:.1f} ms ({took / refit:.2g} of fitting again)", asked.get(what, ""))
        for what, took in steps.items()
    ]
    return [*lines, Line("fitting again from the posterior, with one row more", f"{refit:.2f} s")]


def _least(do: Any, repeats: int) -> float:
    """The least processor time of several runs, after one that may compile."""
    do()
    found = []
    for _ in range(repeats):
        begin = time.process_time()
        do()
        found.append(time.process_time() - begin)
    return min(found)


def evaluations(quick: bool) -> list[Line]:
    """A new model beside a full 60 x 800 table of right and wrong answers, and a new data set of AutoML errors.

    The error of its average from 10, 20, 40 evaluations: chosen in rounds of five by `ask(5, about="average")`, and at
    random. The 2-parameter logistic truth of the answers: P = 1 / (1 + exp(-a_j (s_i - d_j))).
    """
    lines = []
    for name, story in (("60 x 800 right or wrong", _answers), ("AutoML error", _automl)):
        lines += _compare_errors(name, _errors(story, 1 if quick else SEEDS, quick), "<= 0.5")
    return lines


def _errors(story: Callable[[int], Any], tables: int, quick: bool) -> "Errors":
    """The errors of the averages of the newcomers of a story."""
    errors: Errors = {}
    for seed in range(tables):
        posterior, newcomers = story(seed)
        for k, (values, average) in enumerate(newcomers[: 4 if quick else None]):
            for way in ("asked", "random"):
                for n, estimate in _evaluate(posterior, values, way, seed, k):
                    errors.setdefault((way, n), []).append(estimate - average)
    return errors


def oracles(quick: bool) -> list[Line]:
    """The same 60 x 800 tables for who knows the law of the answers (`oracle`): how much choosing can help at all."""
    lines = []
    knowing: dict[str, Callable[[oracle.Table], np.ndarray]] = {
        "knows all questions": oracle.known_questions,
        "knows the law, and the answers and skills of 60": lambda table: oracle.learnt_questions(table, 60),
    }
    for name, learn in knowing.items():
        errors: Errors = {}
        for seed in range(2 if quick else 24):
            table = oracle.Table.simulate(seed, 75)
            P = learn(table)
            for k, i in enumerate(range(60, 75)):
                order = np.random.default_rng([19, seed, k]).permutation(800)
                for way, given in (("asked", None), ("random", order)):
                    found = oracle.estimates(P, table.answers[i], given, ENDS)
                    for n, estimate in zip(ENDS, found, strict=True):
                        errors.setdefault((way, n), []).append(estimate - table.p[i].mean())
        lines += _compare_errors(f"who {name}", errors, "")
    errors = _errors(lambda seed: _automl(seed, 1.0), 1 if quick else SEEDS, quick)
    lines += _compare_errors("AutoML error, who knows all values of the other data sets", errors, "")
    errors = {}
    for seed in range(2 if quick else 24):
        table = np.random.default_rng([18, seed]).permutation(load("AutoML error", seed))
        others, new = table[:-15], table[-15:]
        orders = [np.random.default_rng([19, seed, k]).permutation(table.shape[1]) for k in range(15)]
        for n in ENDS:
            errors.setdefault(("asked", n), []).extend(oracle.linear_errors(others, new, n, None))
            for row, order in zip(new, orders, strict=True):
                errors.setdefault(("random", n), []).extend(oracle.linear_errors(others, row[None], n, order))
    what = "AutoML error, who knows these values and takes the best linear rule"
    return [*lines, *_compare_errors(what, errors, "")]


Errors = dict[tuple[str, int], list[float]]
ENDS = (10, 20, 40)


def _compare_errors(name: str, errors: Errors, goal: str) -> list[Line]:
    """Asked over random at each number of evaluations, with the standard error of the ratio by the newcomers."""
    lines = []
    for n in ENDS:
        squares = {way: np.square(errors[way, n]) for way in ("asked", "random")}
        asked, random = (np.sqrt(squares[way].mean()) for way in ("asked", "random"))
        spread = squares["asked"] / asked**2 - squares["random"] / random**2  # of the log ratio, twice
        error = 0.5 * asked / random * spread.std(ddof=1) / np.sqrt(spread.size)
        text = f"{asked / random:.2f} ± {error:.2f} ({asked:.4f} over {random:.4f}; {spread.size} newcomers)"
        what = f"{name}, {n} evaluations: error of the average, asked over random"
        lines.append(Line(what, text, goal if n == 20 else ""))
    return lines


def _answers(seed: int) -> tuple[maxentry.Posterior, list[tuple[np.ndarray, float]]]:
    table = oracle.Table.simulate(seed, 75)
    posterior = maxentry.complete(table.answers[:60], kind="yes/no", seed=seed, effort="quick", **OPTIONS)
    return posterior, [(table.answers[i], table.p[i].mean()) for i in range(60, 75)]


def _automl(seed: int, share: float = 0.3) -> tuple[maxentry.Posterior, list[tuple[np.ndarray, float]]]:
    """A share of the values of the other data sets is known."""
    M, rng = load("AutoML error", seed), np.random.default_rng([18, seed])
    M = M[rng.permutation(len(M))]
    known = np.where(rng.random(M.shape) < share, M, np.nan)[:-15]
    posterior = maxentry.complete(known, seed=seed, **OPTIONS)
    return posterior, [(row, float(np.nanmean(row))) for row in M[-15:]]


def _evaluate(
    posterior: maxentry.Posterior, values: np.ndarray, way: str, seed: int, k: int
) -> list[tuple[int, float]]:
    """The estimated average after 10, 20 and 40 evaluations of one newcomer."""
    rng, told, found = np.random.default_rng([19, seed, k]), np.full(values.size, np.nan), []
    possible = np.flatnonzero(~np.isnan(values))
    order = rng.permutation(possible)
    for n in range(5, 41, 5):
        if way == "random":
            told[order[:n]] = values[order[:n]]
        else:
            wanted = [j for j in posterior.rows(told).ask(15, about="average")["col"] if j in possible][:5]
            told[wanted] = values[wanted]
        if n in ENDS:
            found.append((n, float(posterior.rows(told).average()["mean"].iloc[0])))
    return found


def refit(quick: bool) -> list[Line]:
    """Fifteen rows, held apart, of which 10% are known: new rows beside fitting again with all of them."""
    lines = []
    for name in ("AutoML error", "kinase pKd", "direct arylation")[: 1 if quick else None]:
        squares: dict[str, list[float]] = {"new row": [], "fitted again": [], "cold": []}
        covered: dict[str, list[float]] = {"new row": [], "fitted again": []}
        for seed in range(1 if quick else SEEDS):
            M, rng = load(name, seed), np.random.default_rng([20, seed])
            M = M[rng.permutation(len(M))]
            known = np.where(
                (rng.random(M.shape) < np.where(np.arange(len(M)) < len(M) - 15, 0.3, 0.1)[:, None]),
                M,
                np.nan,
            )
            posterior = maxentry.complete(known[:-15], seed=seed, **OPTIONS)
            both = maxentry.complete(known, seed=seed, **OPTIONS)
            whole = both.predictive_interval(0.9)
            for i in range(-15, 0):
                hidden = np.isnan(known[i]) & ~np.isnan(M[i])
                row, cold = posterior.rows(known[i]), posterior.rows(np.full(M.shape[1], np.nan))
                means = {"new row": row.mean[0], "fitted again": both.mean[i], "cold": cold.mean[0]}
                ends = {
                    "new row": [end[0] for end in row.predictive_interval(0.9)],
                    "fitted again": [end[i] for end in whole],
                }
                for way, mean in means.items():
                    squares[way].append(float(np.mean((mean - M[i])[hidden] ** 2)))
                for way, (low, high) in ends.items():
                    covered[way].append(float(np.mean(((low <= M[i]) & (M[i] <= high))[hidden])))
        error = {way: np.sqrt(np.mean(found)) for way, found in squares.items()}
        ratio, cold = (error[way] / error["fitted again"] for way in ("new row", "cold"))
        text = f"{ratio:.3f} (without its values {cold:.3f})"
        lines.append(Line(f"{name}: error of new rows over that of fitting again", text, "<= 1.02"))
        text = ", ".join(f"{np.mean(found):.3f} ({way})" for way, found in covered.items())
        lines.append(Line(f"{name}: 90% predictive intervals cover", text, "0.88 to 0.92"))
    return lines


def stream(quick: bool) -> list[Line]:
    """Rows of a simulated table arrive, 30% known: error of the next by the first fit over that by a fit of all."""
    shares = (0.05, 0.1, 0.2, 0.4)
    ratios: dict[float, list[float]] = {share: [] for share in shares}
    for seed in range(1 if quick else 8 * SEEDS):
        rng = np.random.default_rng([21, seed])
        X = rng.standard_normal((160, 3)) @ rng.standard_normal((3, 40)) + rng.standard_normal((160, 1))
        Y = np.where(rng.random(X.shape) < 0.3, X + 0.3 * rng.standard_normal(X.shape), np.nan)
        first = maxentry.complete(Y[:100], seed=seed, **OPTIONS)
        for share in shares:
            end = 100 + round(100 * share)
            again = maxentry.complete(Y[:end], seed=seed, **OPTIONS)
            errors = []
            for posterior in (first, again):
                means = np.vstack([posterior.rows(Y[i]).arrays.mean for i in range(end, end + 20)])
                hidden = np.isnan(Y[end : end + 20])
                errors.append(np.sqrt(np.mean((means - X[end : end + 20])[hidden] ** 2)))
            ratios[share].append(errors[0] / errors[1])
    return [
        Line(
            f"{share:.0%} more rows have come: error of the next 20 over that after fitting again",
            f"{np.mean(found):.3f} ± {np.std(found, ddof=1) / np.sqrt(len(found)) if len(found) > 1 else 0:.3f}",
            "<= 1.02 until it says so (5%)" if share <= 0.05 else "",
        )
        for share, found in ratios.items()
    ]


def cold(quick: bool) -> list[Line]:
    """Rows without a measurement, with and without features: as new rows, and fitted with the others."""
    lines, plan = [], maxentry.Sampling(chains=4, anneal=0, settle=200, draws=25, thin=4)
    for name in ("AutoML error", "fingerprints")[: 1 if quick else None]:
        figures = []
        for seed in range(1 if quick or name == "fingerprints" else SEEDS):
            problem = PROBLEMS[name](seed)
            options = OPTIONS | {"rank": 8, "sampling": plan, "seed": seed}
            figures.append([_cold_rows(problem, way, options) for way in COLD_WAYS])
        error, covered, seconds = np.array(figures).mean(axis=0).T
        for way, e, c, s in zip(COLD_WAYS, error, covered, seconds, strict=True):
            text = f"{e / error[-1]:.3f}, {c:.3f}, {s:.2g} s"
            lines.append(Line(f"{name}, {way}: error over that without features, coverage, time", text))
    return lines


COLD_WAYS = ("new rows with features", "fitted with the others, with features", "new rows without features")


def _cold_rows(problem: Problem, way: str, options: dict[str, Any]) -> tuple[float, float, float]:
    """Error, coverage of 90% predictive intervals and processor time of what is held out of cold rows."""
    task, F, known = problem.task, problem.row_features, way != "new rows without features"
    at, truth = task.test_rows[problem.cold], problem.truth[problem.cold]
    cols, rows = task.test_cols[problem.cold], np.unique(at)
    warm = np.setdiff1d(np.arange(task.shape[0]), rows)
    place = np.empty(task.shape[0], dtype=int)
    place[warm], place[rows] = np.arange(warm.size), np.arange(rows.size)
    begin = time.process_time()
    if way.startswith("fitted"):
        data = maxentry.Observations.of((task.rows, task.cols, task.values), shape=task.shape)
        p = maxentry.complete(data, row_features=F, **options).predict(at, cols, 0.9)
        mean, low, high = p.mean, p.new_low, p.new_high
    else:
        data = maxentry.Observations.of(
            (place[task.rows], task.cols, task.values), shape=(warm.size, task.shape[1])
        )
        fit = maxentry.complete(data, row_features=F[warm] if known else None, **options)
        begin = time.process_time()
        new = fit.rows(np.full((rows.size, task.shape[1]), np.nan), features=F[rows] if known else None)
        mean = new.mean[place[at], cols]
        low, high = (end[place[at], cols] for end in new.predictive_interval(0.9))
    took = time.process_time() - begin
    covered = float(np.mean((low <= truth) & (truth <= high)))
    return float(np.sqrt(np.mean((mean - truth) ** 2))), covered, took


CHECKS: dict[str, Check] = {
    "times": times,
    "evaluations": evaluations,
    "oracles": oracles,
    "refit": refit,
    "stream": stream,
    "cold": cold,
}

if __name__ == "__main__":
    head = f"{__doc__.splitlines()[0]}\n\nWritten by `python -m benchmarks.newcomers`."
    head += " `refit` and `times` are of today's code; the others of fits with one noise for all columns."
    main(__doc__, head, HERE.parent / "newcomers.md", HERE / "results", CHECKS)
