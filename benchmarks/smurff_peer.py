"""SMURFF as a function: a worker process in its own environment, kept while there is something to ask."""

import os
import subprocess
import tempfile
from pathlib import Path

import numpy as np
from measures import LEVEL, Estimate, Task
from peers import environments

WORKER = Path(__file__).parent / "smurff_worker.py"
ONE_THREAD = {name: "1" for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")}


class Smurff:
    """Call it with a task: BPMF ("normal" priors on both sides), one thread, AdaptiveNoise(1, 1000)."""

    def __init__(self) -> None:
        self.process = subprocess.Popen(
            [environments.ensure("smurff"), WORKER], env=os.environ | ONE_THREAD, text=True,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        )  # fmt: skip

    def __call__(self, task: Task, k: int, burnin: int, nsamples: int, seed: int) -> Estimate:
        settings = {"k": k, "burnin": burnin, "nsamples": nsamples, "seed": seed, "level": LEVEL}
        found = self._ask("fit", task, settings)
        found |= {name: float(found[name]) for name in ("seconds", "cpu_seconds")}
        return Estimate(**{name: found[name] for name in Estimate._fields if name in found})

    def sweep_seconds(self, task: Task, k: int) -> float:
        """CPU seconds of one sweep, the best of a few blocks."""
        block = 2_000_000 // (task.values.size * k)
        settings = {"k": k, "burnin": 0, "nsamples": 1, "seed": 1, "block": block}
        return float(self._ask("sweep", task, settings)["sweep_seconds"])

    def _ask(self, what: str, task: Task, settings: dict[str, float]) -> dict[str, np.ndarray]:
        with tempfile.TemporaryDirectory() as folder:
            job, result = Path(folder) / "job.npz", Path(folder) / "result.npz"
            np.savez(job, **task._asdict(), **settings)
            self.process.stdin.write(f"{what} {job} {result}\n")
            self.process.stdin.flush()
            if self.process.stdout.readline().strip() != "done":
                raise RuntimeError("SMURFF's process ended; its message is above")
            with np.load(result) as found:
                return dict(found)
