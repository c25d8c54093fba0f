"""BayBE itself on two matrices, in an environment of its own; GOALS_BAYBE is the Python of one that is there."""

import os
import resource
import subprocess
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from benchmarks.goals import campaigns
from benchmarks.goals.measures import Truth, recall
from benchmarks.peers import environments

WORKER = Path(__file__).parent / "baybe_worker.py"
MATRICES, SEEDS = ("direct arylation", "Buchwald-Hartwig"), 1


def run_all() -> list[dict[str, Any]]:
    """Recall along its campaigns, from the same first entries as all others."""
    python = os.environ.get("GOALS_BAYBE") or environments.ensure("baybe")
    outside = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"} | {"OMP_NUM_THREADS": "1"}
    found = []
    for name in MATRICES:
        for seed in range(SEEDS):
            truth = Truth.of(campaigns.table(name, seed))
            m2, m = truth.M.shape[1], max(truth.M.shape)
            keys = campaigns.first_entries(truth, seed)[0]
            with tempfile.TemporaryDirectory() as folder:
                job, result = Path(folder) / "job.npz", Path(folder) / "result.npy"
                np.savez(job, M=truth.M, keys=keys, batch=m // 2, batches=campaigns.BATCHES, seed=seed)
                began = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
                subprocess.run([python, WORKER, job, result], check=True, env=outside)
                cpu = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - began
                chosen = np.load(result)
            ends = [len(keys) + k * (m // 2) for k in range(campaigns.BATCHES + 1)]
            curve = [recall(truth, *np.divmod(chosen[:n], m2)) for n in ends]
            found.append({"what": f"{name}, seed {seed}", "recall": curve, "cpu": cpu})
            print(found[-1], flush=True)
    return found
