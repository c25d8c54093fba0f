"""SMURFF's posterior (Vander Aa et al. 2019; BPMF): the n entries whose predictions vary most over its samples.

Both choice and estimate are SMURFF's: 400 sweeps of burn-in, 200 samples, AdaptiveNoise(1, 1000), the mean of the
values taken off first, as its users do. It has no rule for choosing: taking the greatest variances is ours, and it is
the obvious one. The number of latent dimensions is the case's rank, or 4. Its noise is not among what it keeps, and is
drawn from the training errors (benchmarks/peers/workers/smurff_worker.py), for intervals of measurements.

SMURFF runs in a process of its own, in the interpreter that MAXENTRY_SMURFF_PYTHON names, or in this one if it has it.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

import numpy as np

from evidence.strategies.rule import Request, as_policy, rank_setting
from evidence.strategies.simple import choose_largest
from maxentry._types import Array, Indices
from maxentry.acquisition import Selection
from maxentry.belief import Entries
from maxentry.campaign.state import FIT, State, derive_seed
from maxentry.compare.scenario import Case, Estimates, Estimator, Policy, Strategy, Style, Truth
from maxentry.errors import MissingDependencyError
from maxentry.model.likelihood import NoiseLaw
from maxentry.plots.style import PURPLE
from maxentry.posterior.intervals import quantiles
from maxentry.transform import Transform

WORKER = Path(__file__).parents[2] / "benchmarks" / "peers" / "workers" / "smurff_worker.py"
INTERPRETER = "MAXENTRY_SMURFF_PYTHON"
RANK, BURNIN, NSAMPLES = 4, 400, 200
ONE_THREAD = {name: "1" for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")}


class SmurffFit(NamedTuple):
    """SMURFF's samples, on the scale of the model."""

    draws: Array  # (S, n) of the entries that can be measured, in order of position
    place: Indices  # (m1, m2) where an entry stands among them, -1 where it does not
    eta2: Array  # (S,)


def find_interpreter() -> str:
    """Return the Python that has SMURFF."""
    if named := os.environ.get(INTERPRETER):
        return named
    if find_spec("smurff") is not None:
        return sys.executable
    raise MissingDependencyError(
        "this strategy needs SMURFF, which is not installed: pip install smurff==1.1 here, or let "
        f"{INTERPRETER} name the Python of an environment that has it."
    )


def check_available() -> None:
    """Raise if SMURFF cannot be run here."""
    python = find_interpreter()
    try:
        probe = subprocess.run([python, "-c", "import smurff"], capture_output=True, timeout=250)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise MissingDependencyError(
            f"expected a Python with SMURFF in {INTERPRETER}, got {error}."
        ) from None
    if probe.returncode:
        raise MissingDependencyError(f"the Python {python}, named by {INTERPRETER}, has no SMURFF.")


@lru_cache(maxsize=1)  # the next choice and the estimate are of one state
def fit(state: State, k: int) -> SmurffFit:
    """Run SMURFF on all that was told."""
    mask = np.ones(state.shape, dtype=bool) if state.settings.mask is None else state.settings.mask
    test = Entries.from_lists(*np.nonzero(mask))
    job = {
        "shape": np.array(state.shape), "rows": state.told.rows, "cols": state.told.cols,
        "values": Transform.parse(state.settings.transform).forward(state.values),
        "test_rows": test.rows, "test_cols": test.cols, "k": k, "burnin": BURNIN, "nsamples": NSAMPLES,
        "seed": derive_seed(state.settings.seed, FIT, len(state.values)) % 2**31,
    }  # fmt: skip
    found = _run(job)
    place = np.full(state.shape, -1)
    place[test.rows, test.cols] = np.arange(len(test.rows))
    return SmurffFit(found["draws"].astype(np.float64), place, found["eta2"])


def _run(job: dict[str, object]) -> dict[str, Array]:
    """Run the benchmarks' worker for one fit."""
    with tempfile.TemporaryDirectory() as folder:
        given, result = Path(folder) / "job.npz", Path(folder) / "result.npz"
        np.savez(given, **job)  # type: ignore[arg-type]
        try:
            ended = subprocess.run(
                [find_interpreter(), str(WORKER)], input=f"fit {given} {result}\n", cwd=folder, text=True,
                capture_output=True, env=os.environ | ONE_THREAD,
            )  # fmt: skip
        except OSError as error:
            raise MissingDependencyError(f"expected a Python in {INTERPRETER}, got {error}.") from None
        if ended.returncode:
            last = (ended.stderr.strip() or "no message").splitlines()[-1]
            raise MissingDependencyError(f"SMURFF 1.1 failed in {find_interpreter()}: {last}.")
        with np.load(result) as found:
            return dict(found)


def choose_most_varying(request: Request, k: int) -> Selection:
    """Return the n entries whose draws vary most, per cost."""
    found = fit(request.state, k)
    variance = np.where(found.place >= 0, found.draws.var(0)[found.place], 0.0)
    return choose_largest(variance, request.problem, request.n)


def estimate_entries(
    found: SmurffFit, transform: Transform, i: Indices, j: Indices, level: float, noisy: bool
) -> Estimates:
    """Return means of the draws, and intervals of the entries or (noisy) of measurements of them."""
    draws = found.draws[:, found.place[i, j]]
    mean = transform.inverse(draws).mean(0)
    noise = NoiseLaw(found.eta2, None).stratified()[0, :, None] if noisy else 0.0
    low, high = quantiles(transform.inverse(draws + noise), level)
    return Estimates(mean, low, high)


def _policy(truth: Truth, case: Case, seed: int) -> Policy:
    k = rank_setting(case.model, RANK)
    return as_policy(lambda request: choose_most_varying(request, k), "SMURFF's variances")


def _estimator(truth: Truth, case: Case, seed: int) -> Estimator:
    k = rank_setting(case.model, RANK)

    def estimate(state: State, rows: Indices, cols: Indices, level: float) -> Estimates:
        transform = Transform.parse(state.settings.transform)
        return estimate_entries(fit(state, k), transform, rows, cols, level, noisy=not truth.simulated)

    return estimate


SMURFF_VARIANCE = Strategy(
    "smurff_variance",
    "SMURFF, greatest variances",
    policy=_policy,
    estimator=_estimator,
    fits=True,
    check=check_available,
    style=Style(PURPLE, "dashed", "h"),
)
