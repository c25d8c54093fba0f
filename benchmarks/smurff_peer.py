"""SMURFF as a function: a worker process in its own environment, kept while there is something to ask."""

import os
import subprocess
import tempfile
from pathlib import Path

import numpy as np
import smurff_venv
from measures import LEVEL, Estimate, Task

WORKER = Path(__file__).parent / "smurff_worker.py"
ONE_THREAD = {name: "1" for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")}


class Smurff:
    """Call it with a task: BPMF ("normal" priors on both sides), one thread, AdaptiveNoise(1, 1000)."""

    def __init__(self) -> None:
        self.process = subprocess.Popen(
            [smurff_venv.ensure(), WORKER], env=os.environ | ONE_THREAD, text=True,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        )  # fmt: skip

    def __call__(self, task: Task, k: int, burnin: int, nsamples: int, seed: int) -> Estimate:
        with tempfile.TemporaryDirectory() as folder:
            job, result = Path(folder) / "job.npz", Path(folder) / "result.npz"
            settings = {"k": k, "burnin": burnin, "nsamples": nsamples, "seed": seed, "level": LEVEL}
            np.savez(job, **task._asdict(), **settings)
            self.process.stdin.write(f"{job} {result}\n")
            self.process.stdin.flush()
            if self.process.stdout.readline().strip() != "done":
                raise RuntimeError("SMURFF's process ended; its message is above")
            with np.load(result) as found:
                fields = {name: found[name] for name in Estimate._fields if name in found}
        fields |= {name: float(fields[name]) for name in ("seconds", "cpu_seconds")}
        fields["sweep_seconds"] = best_block(fields["sweep_seconds"])
        return Estimate(**fields)


def best_block(seconds, blocks=5):
    """Seconds a sweep in the quietest of a few stretches of the run: the machine may be busy with other things."""
    return min(float(part.mean()) for part in np.array_split(seconds, blocks))
