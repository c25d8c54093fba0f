"""SMURFF's posterior (Vander Aa et al. 2019; BPMF): the n entries whose predictions vary most over its samples.

Both choice and estimate are SMURFF's: 400 sweeps of burn-in, 200 samples, AdaptiveNoise(1, 1000), the mean of the
values taken off first, as its users do. It has no rule for choosing: taking the greatest variances is ours, and it is
the obvious one. The number of latent dimensions is the case's rank, or 4. Its noise is not among what it keeps, and is
drawn from the training errors (`smurff_worker`), for intervals of measurements.

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

from maxentry.acquisition import Chosen
from maxentry.campaign.state import FIT, State, seed_of
from maxentry.entries import Entries
from maxentry.errors import MissingDependencyError
from maxentry.posterior.intervals import Noise, quantiles
from maxentry.studies.case import Case
from maxentry.studies.sources import Truth
from maxentry.studies.strategies import smurff_worker
from maxentry.studies.strategies.rule import Asked, policy
from maxentry.studies.strategies.strategy import (
    Array,
    Estimates,
    Estimator,
    Indices,
    Policy,
    Strategy,
)
from maxentry.studies.strategies.top_variance import largest
from maxentry.transform import Transform

INTERPRETER = "MAXENTRY_SMURFF_PYTHON"
RANK, BURNIN, NSAMPLES = 4, 400, 200
ONE_THREAD = {name: "1" for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")}


class Fit(NamedTuple):
    """SMURFF's samples, on the scale of the model."""

    draws: Array  # (S, n) of the entries that can be measured, in order of position
    place: Indices  # (m1, m2) where an entry stands among them, -1 where it does not
    eta2: Array  # (S,)


def interpreter() -> str:
    """The Python that has SMURFF."""
    if named := os.environ.get(INTERPRETER):
        return named
    if find_spec("smurff") is not None:
        return sys.executable
    raise MissingDependencyError(
        f"expected SMURFF for this strategy, but it is not installed: pip install smurff==1.1 here, or let "
        f"{INTERPRETER} name the Python of an environment that has it."
    )


def available() -> bool:
    """Whether SMURFF can be run: the strategy is left out of studies elsewhere."""
    try:
        asked = subprocess.run([interpreter(), "-c", "import smurff"], capture_output=True, timeout=60)
    except (MissingDependencyError, OSError, subprocess.TimeoutExpired):
        return False
    return asked.returncode == 0


@lru_cache(maxsize=1)  # the next choice and the estimate are of one state
def fit(state: State, k: int) -> Fit:
    """SMURFF given all that was told."""
    mask = np.ones(state.shape, dtype=bool) if state.settings.mask is None else state.settings.mask
    test = Entries.of(*np.nonzero(mask))
    job = {
        "shape": np.array(state.shape), "rows": state.told.rows, "cols": state.told.cols,
        "values": Transform.of(state.settings.transform).forward(state.values),
        "test_rows": test.rows, "test_cols": test.cols, "k": k, "burnin": BURNIN, "nsamples": NSAMPLES,
        "seed": seed_of(state.settings.seed, FIT, len(state.values)) % 2**31,
    }  # fmt: skip
    found = _run(job)
    place = np.full(state.shape, -1)
    place[test.rows, test.cols] = np.arange(len(test.rows))
    return Fit(found["draws"].astype(np.float64), place, found["eta2"])


def _run(job: dict[str, object]) -> dict[str, Array]:
    """The worker is read from standard input, so that nothing that lies beside it is imported by mistake."""
    program = Path(smurff_worker.__file__).read_text(encoding="utf-8")
    with tempfile.TemporaryDirectory() as folder:
        given, result = Path(folder) / "job.npz", Path(folder) / "result.npz"
        np.savez(given, **job)  # type: ignore[arg-type]
        try:
            ended = subprocess.run(
                [interpreter(), "-", str(given), str(result)], input=program, cwd=folder, text=True,
                capture_output=True, env=os.environ | ONE_THREAD,
            )  # fmt: skip
        except OSError as error:
            raise MissingDependencyError(f"expected {INTERPRETER} to name a Python, but {error}.") from None
        if ended.returncode:
            said = (ended.stderr.strip() or "nothing said").splitlines()[-1]
            raise MissingDependencyError(
                f"expected SMURFF 1.1 to run in {interpreter()}, but it ended: {said}."
            )
        with np.load(result) as found:
            return dict(found)


def most_varying(asked: Asked, k: int) -> Chosen:
    """The n entries whose draws vary most, per cost."""
    found = fit(asked.state, k)
    variance = np.where(found.place >= 0, found.draws.var(0)[found.place], 0.0)
    return largest(variance, asked.question, asked.n)


def estimates(
    found: Fit, transform: Transform, i: Indices, j: Indices, level: float, noisy: bool
) -> Estimates:
    """Means of the draws, and intervals of the entries, or (noisy) of measurements of them."""
    draws = found.draws[:, found.place[i, j]]
    mean = transform.inverse(draws).mean(0)
    noise = Noise(found.eta2, None).stratified()[0, :, None] if noisy else 0.0
    low, high = quantiles(transform.inverse(draws + noise), level)
    return Estimates(mean, low, high)


def _rank(case: Case) -> int:
    rank = dict(case.model).get("rank")
    return rank if isinstance(rank, int) and rank > 0 else RANK


def _policy(truth: Truth, case: Case, seed: int) -> Policy:
    k = _rank(case)
    return policy(lambda asked: most_varying(asked, k), "SMURFF's variances")


def _estimator(truth: Truth, case: Case, seed: int) -> Estimator:
    k = _rank(case)

    def estimate(state: State, rows: Indices, cols: Indices, level: float) -> Estimates:
        transform = Transform.of(state.settings.transform)
        return estimates(fit(state, k), transform, rows, cols, level, noisy=not truth.simulated)

    return estimate


SMURFF_VARIANCE = Strategy(
    "smurff_variance",
    "SMURFF, greatest variances",
    policy=_policy,
    estimator=_estimator,
    fits=True,
    needs=("smurff",),
)
