"""myFM's probit and ordered probit, in an environment of its own."""

import os
import subprocess
import tempfile
from pathlib import Path

import numpy as np
from benchmarks.matrices import Triples
from benchmarks.peers import environments

WORKER = Path(__file__).parent / "myfm_worker.py"
SWEEPS = 300
ONE_THREAD = {name: "1" for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")}


def myfm_probabilities(
    task: str, triples: Triples, train: np.ndarray, test: np.ndarray, rank: int, seed: int
) -> np.ndarray:
    """Probabilities of the held-out entries: (n, K) of "grades", (n,) of "yes/no"."""
    shape, rows, cols, values = triples
    with tempfile.TemporaryDirectory() as folder:
        job, result = Path(folder) / "job.npz", Path(folder) / "result.npy"
        np.savez(
            job, task=task, shape=shape, rows=rows[train], cols=cols[train], values=values[train],
            test_rows=rows[test], test_cols=cols[test], rank=rank, seed=seed, sweeps=SWEEPS,
        )  # fmt: skip
        environment = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"} | ONE_THREAD
        subprocess.run([environments.ensure("myfm"), WORKER, job, result], check=True, env=environment)
        return np.load(result)
