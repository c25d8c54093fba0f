"""Draws, estimates and designs for fixed seeds: the same seed gives the same bits."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from tests.frozen import doors
from tests.frozen.records import rounded, summary

import maxentry
from maxentry import InverseGamma, Observations, Priors, Sampling
from maxentry.completion.nuclear_norm import nuclear_norm
from maxentry.design.balanced import balanced
from maxentry.design.latin import random_square

SHORT = Sampling("population", chains=6, anneal=20, settle=20, draws=5, thin=3)
LONG = Sampling("long", chains=2, anneal=20, settle=60, draws=20, thin=2)
PARTS = ("left", "right", "row", "col", "mu", "eta2", "sigma2", "nu")


def matrix(m1: int = 12, m2: int = 8, seed: int = 11, missing: float = 0.35) -> np.ndarray:
    """A noisy matrix of rank 2 with levels of rows, three decimals, and holes."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(m1, 2)) @ rng.normal(size=(2, m2)) + rng.normal(size=(m1, 1))
    Y = np.round(X + 0.1 * rng.normal(size=X.shape), 3)
    Y[rng.random(X.shape) < missing] = np.nan
    return Y


Y = matrix()
POSITIVE = np.round(np.exp(0.5 * Y), 4)
PERCENT = np.round(100 / (1 + np.exp(-Y)), 3)
BEFORE = np.where(np.arange(Y.size).reshape(Y.shape) % 5 == 0, np.nan, Y)  # fewer values, for warm starts
REPLICATES = Observations.of((
    [0, 0, 1, 2, 3, 3, 4, 5, 5, 5, 2, 1], [0, 0, 1, 2, 3, 0, 1, 2, 2, 3, 0, 2],
    [1.0, 1.1, 0.4, -0.3, 2.0, 1.5, 0.2, -1.0, -1.2, 0.9, 0.3, -0.7],
), shape=(6, 4))  # fmt: skip


def fit(data: Any = Y, rank: Any = 2, **options: Any) -> Any:
    """A short fit."""
    given = {"sampling": SHORT, "seed": 3, "progress": False} | options
    return maxentry.complete(data, rank, **given)


def of_draws(posterior: Any) -> dict[str, Any]:
    """The draws of a posterior."""
    return {part: getattr(posterior.draws, part) for part in PARTS}


def posterior_record(posterior: Any) -> dict[str, Any]:
    """Of the draws and of what follows from them: the chains are plain loops, the maps products of matrices."""
    weights = {str(rank): weight for rank, weight in posterior.rank_weights.items()}
    maps = {"mean": posterior.arrays.mean, "sd": posterior.arrays.sd}
    low, high = posterior.arrays.predictive_interval(0.8)
    facts = {"rank_weights": weights, "noise_sd": posterior.noise_sd, "noise_df": posterior.noise_df}
    parts = {name: map_.ravel()[::7] for name, map_ in (maps | {"low": low, "high": high}).items()}
    single = {"single": True} if posterior.draws.left.dtype == np.float32 else {}
    return {"draws": summary(of_draws(posterior)), "maps": single | rounded(parts), "facts": rounded(facts)}


def _default(**options: Any) -> dict[str, Any]:
    return posterior_record(fit(**options))


def _warm(more: int = 0, **options: Any) -> dict[str, Any]:
    start = fit(BEFORE, **{name: options[name] for name in ("noise", "rank", "transform") if name in options})
    later = fit(**{"sampling": "population"} | options | {"start": start})
    return posterior_record(later.more(more, progress=False) if more else later)


def _warm_grown() -> dict[str, Any]:
    """A start from a matrix of fewer rows and columns."""
    labels = {"row_labels": list("abcdefghijkl"), "col_labels": list("stuvwxyz")}
    start = fit(
        BEFORE[:10, :7], row_labels=labels["row_labels"][:10], col_labels=labels["col_labels"][:7], rank=1
    )
    return posterior_record(fit(start=start, rank=1, **labels))


def _stored() -> dict[str, Any]:
    with TemporaryDirectory() as folder:
        made = fit(store=Path(folder) / "draws")
        return {
            "made": posterior_record(made),
            "loaded": posterior_record(maxentry.Posterior.load(Path(folder) / "draws")),
        }


def _watched(**options: Any) -> dict[str, Any]:
    made = fit(watch=([0, 3, 5, 11], [1, 1, 7, 0]), **options)
    watched = made.watched
    of_watched = {"n": watched.n, "mean": watched.mean, "sd": watched.sd, "mcse": watched.mcse}
    return {"posterior": posterior_record(made), "watched": rounded(of_watched)}


@contextmanager
def _environment(**variables: str) -> Iterator[None]:
    before = {name: os.environ.get(name) for name in variables}
    os.environ.update(variables)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


def _threads_of_environment(threads: str) -> dict[str, Any]:
    with _environment(MAXENTRY_THREADS=threads):
        return posterior_record(fit(rank=1))


def _threads_of_one_chain(threads: int, noise: str) -> dict[str, Any]:
    """A matrix whose sweeps are long enough for threads to share them."""
    rng = np.random.default_rng(2)
    rows, cols = (900 * rng.random(9000) ** 2).astype(int), rng.integers(0, 120, 9000)
    plan = Sampling("population", chains=1, anneal=1, settle=1, draws=1, thin=1)
    made = fit(
        (rows, cols, rng.standard_normal(9000)),
        40,
        shape=(900, 120),
        sampling=plan,
        noise=noise,
        threads=threads,
    )
    return summary(of_draws(made))


def _algorithm2(**options: Any) -> dict[str, Any]:
    return summary(doors.algorithm2_draws(Y, 2, Priors.paper(), 12, seed=4, **options), blas=True)


def _nuclear_norm(data: Any = Y, penalty: float | None = None, **options: Any) -> dict[str, Any]:
    result = nuclear_norm(Observations.of(data), penalty, **options)
    facts = {
        "penalty": result.penalty,
        "objective": result.objective,
        "rank": result.rank,
        "iterations": result.iterations,
    }
    return {"blas": True, "matrix": summary({"X": np.asarray(result.matrix())})["X"], "facts": rounded(facts)}


def _estimators() -> dict[str, Any]:
    from maxentry.estimators import BayesianCompleter, NuclearNormCompleter

    bayesian = BayesianCompleter(rank=1, sampling=SHORT, random_state=1).fit(Y)
    nuclear = NuclearNormCompleter(random_state=1).fit(Y)
    new = np.where(np.isnan(Y[:3]), np.nan, Y[:3] + 0.1)
    return rounded({
        "bayesian": bayesian.transform(new), "bayesian_sd": bayesian.predict_sd(new), "nuclear": nuclear.transform(new),
    })  # fmt: skip


def _entries(rows: Any, cols: Any) -> dict[str, Any]:
    return {"rows": np.asarray(rows).tolist(), "cols": np.asarray(cols).tolist()}


def _diagnostics() -> dict[str, Any]:
    found = fit(sampling=LONG).diagnostics
    return rounded({"worst_rhat": found.worst_rhat, "median_rhat": found.median_rhat})


OWN_PRIORS = Priors(
    noise=InverseGamma(3.0, 0.5), signal=InverseGamma(2.0, 2.0),
    rows=InverseGamma(2.0, 1.0), cols=InverseGamma(2.0, 0.5), mu_var=10.0,
)  # fmt: skip
MASK = np.arange(96).reshape(12, 8) % 3 != 1

CASES: dict[str, Callable[[], Any]] = {
    **{f"gaussian, rank {rank}": partial(_default, rank=rank) for rank in (0, 1, 3, "auto")},
    **{f"student, rank {rank}": partial(_default, rank=rank, noise="student") for rank in (0, 1, 3, "auto")},
    "no effects, rank 1": partial(_default, rank=1, effects=False),
    "no effects, rank 3": partial(_default, rank=3, effects=False),
    "no effects, student": partial(_default, effects=False, noise="student"),
    "paper's priors": partial(_default, effects=False, priors=Priors.paper()),
    "own priors": partial(_default, priors=OWN_PRIORS),
    "replicates": lambda: posterior_record(fit(REPLICATES, 1)),
    "the usual population": partial(_default, sampling="population"),
    "long": partial(_default, sampling=LONG),
    "long, student": partial(_default, sampling=LONG, noise="student"),
    "single precision": lambda: posterior_record(fit(dtype=np.float32)),
    "transform log": lambda: posterior_record(fit(POSITIVE, transform="log")),
    "transform percent": lambda: posterior_record(fit(PERCENT, transform="percent")),
    "transform log, student": lambda: posterior_record(fit(POSITIVE, 1, transform="log", noise="student")),
    "warm start": _warm,
    "warm start, student": partial(_warm, noise="student"),
    "warm start, rank auto": partial(_warm, rank="auto"),
    "warm start, more": partial(_warm, more=3),
    "warm start, own sampling": partial(_warm, sampling=SHORT),
    "warm start, grown": _warm_grown,
    "more": lambda: posterior_record(fit().more(4, progress=False)),
    "store": _stored,
    "watch": _watched,
    "watch, student": partial(_watched, noise="student"),
    "threads 1": partial(_default, threads=1),
    "threads 2": partial(_default, threads=2),
    "threads 1 by the environment": partial(_threads_of_environment, "1"),
    "threads 2 by the environment": partial(_threads_of_environment, "2"),
    **{f"one chain, {noise}, threads {n}": partial(_threads_of_one_chain, n, noise)
       for noise in ("gaussian", "student") for n in (1, 2)},
    "samples": lambda: summary({"sample": fit().arrays.sample(2, seed=5)}, blas=True),
    "diagnostics": _diagnostics,
    "algorithm 2": _algorithm2,
    "algorithm 2, thinned": partial(_algorithm2, thin=3),
    "algorithm 2, from a completion": partial(_algorithm2, X0=np.nan_to_num(Y)),
    "nuclear norm": partial(_nuclear_norm, penalty=1.0),
    "nuclear norm, centred": partial(_nuclear_norm, penalty=0.5, center=True),
    "nuclear norm, hold-out": partial(_nuclear_norm, seed=1),
    "estimators": _estimators,
    "balanced": lambda: _entries(*balanced((12, 8), 20, seed=1)),
    "balanced, mask and counts": lambda: _entries(
        *balanced((12, 8), 15, MASK, 2, row_counts=np.arange(12) % 3, col_counts=np.arange(8) % 2)
    ),
    "latin square": lambda: random_square(7, np.random.default_rng(1)).tolist(),
    "latin square, few visits": lambda: random_square(5, np.random.default_rng(2), visits=3).tolist(),
    "uniform": lambda: _entries(*doors.uniform_design((12, 8), 20, seed=1)),
    "uniform, mask": lambda: _entries(*doors.uniform_design((12, 8), 40, mask=MASK, seed=2)),
}  # fmt: skip
