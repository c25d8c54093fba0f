"""SMURFF as a function: a worker process in its own environment, kept while there is something to ask."""

import os
import subprocess
import tempfile
from pathlib import Path

import numpy as np
from measures import LEVEL, Estimate, Task
from peers import environments

WORKER = Path(__file__).parent / "peers" / "workers" / "smurff_worker.py"
ONE_THREAD = {name: "1" for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")}


class Smurff:
    """Call it with a task: BPMF ("normal" priors on both sides), one thread, AdaptiveNoise(1, 1000)."""

    def __init__(self) -> None:
        self.process = subprocess.Popen(
            [environments.ensure("smurff"), WORKER], env=os.environ | ONE_THREAD, text=True,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        )  # fmt: skip

    def __call__(self, task: Task, k: int, burnin: int, nsamples: int, seed: int) -> Estimate:
        found = self._ask("fit", task, {"k": k, "burnin": burnin, "nsamples": nsamples, "seed": seed})
        draws, eta2 = found["draws"].astype(float), found["eta2"]
        tails = 0.5 * (1 - LEVEL) * np.array([1, -1]) + [0, 1]
        low, high = np.quantile(draws, tails, axis=0)
        noise = np.sqrt(eta2)[:, None] * np.random.default_rng(seed).standard_normal(draws.shape)
        new_low, new_high = np.quantile(draws + noise, tails, axis=0)
        times = {name: float(found[name]) for name in ("seconds", "cpu_seconds")}
        sd = np.sqrt(draws.var(0) + eta2.mean())
        return Estimate(draws.mean(0), low, high, new_low, new_high, sd, **times)

    def sweep_seconds(self, task: Task, k: int) -> float:
        """CPU seconds of one sweep, the best of a few blocks."""
        block = 2_000_000 // (task.values.size * k)
        settings = {"k": k, "nsamples": 1, "seed": 1, "block": block}
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
