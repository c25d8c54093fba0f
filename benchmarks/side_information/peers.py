"""Methods in processes of their own, one thread each: what they say of the held-out entries, and what that cost."""

import os
import pickle
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from benchmarks.measures import Task
from benchmarks.peers import environments

HERE = Path(__file__).parent
ONE_THREAD = {name: "1" for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")}


class Answer(NamedTuple):
    """Of the held-out entries: means and 90% predictive intervals; processor seconds and peak memory in KB."""

    mean: np.ndarray
    low: np.ndarray
    high: np.ndarray
    seconds: float
    memory: float

    def judge(self, truth: np.ndarray, at: Any = slice(None)) -> tuple[float, float]:
        """Root mean square error and coverage of some of them."""
        error = np.sqrt(np.mean((self.mean - truth)[at] ** 2))
        return float(error), float(np.mean(((self.low <= truth) & (truth <= self.high))[at]))


def run(method: str, task: Task, **settings: Any) -> Answer:
    """Run "ours", "macau" or "myfm" on a task."""
    environment = os.environ | ONE_THREAD
    if method == "ours":
        python: Any = sys.executable
    else:
        python = environments.ensure({"macau": "smurff"}.get(method, method))
        environment.pop("PYTHONPATH", None)
    with tempfile.TemporaryDirectory() as folder:
        job, result = Path(folder) / "job.pickle", Path(folder) / "result.npz"
        job.write_bytes(pickle.dumps(task._asdict() | settings))
        subprocess.run([python, HERE / f"{method}_worker.py", job, result], check=True, env=environment)
        with np.load(result) as found:
            arrays = {name: found[name] for name in Answer._fields}
    return Answer(**arrays | {name: float(arrays[name]) for name in ("seconds", "memory")})
