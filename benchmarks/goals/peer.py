"""BayBE itself on two matrices, in an environment of its own; GOALS_BAYBE is the Python of one that is there.

Matrices are cropped to 40 x 20 at random: 2m entries at random, then 4 batches of m/2, from the same first entries for
both. BayBE by its defaults, rows and columns one-hot. Recall of the best 5% along the campaigns.
"""

import os
import resource
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
from benchmarks.goals import campaigns
from benchmarks.goals.measures import Truth, recall
from benchmarks.peers import environments

WORKER = Path(__file__).parent / "baybe_worker.py"
MATRICES, SEEDS = ("direct arylation", "Buchwald-Hartwig"), 1
MOST, BATCHES = (40, 20), 4
OURS = ("best: goal", "fill")


def run_all() -> list[dict[str, Any]]:
    """Recall and CPU seconds of BayBE's campaigns, and of ours."""
    found = []
    for name in MATRICES:
        for seed in range(SEEDS):
            truth, what = Truth.of(campaigns.table(name, seed, MOST)), f"{name}, seed {seed}"
            for rule in ("BayBE", *OURS):
                curve, cpu = run_baybe(truth, seed) if rule == "BayBE" else run_ours(truth, what, seed, rule)
                found.append({"what": what, "rule": rule, "recall": curve, "cpu": cpu})
                print(found[-1], flush=True)
    return found


def run_baybe(truth: Truth, seed: int) -> tuple[list[float], float]:
    """One campaign of BayBE, in a process of its environment."""
    python = os.environ.get("GOALS_BAYBE") or environments.ensure("baybe")
    outside = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"} | {"OMP_NUM_THREADS": "1"}
    m2, m, keys = truth.M.shape[1], max(truth.M.shape), campaigns.first_entries(truth, seed)[0]
    with tempfile.TemporaryDirectory() as folder:
        job, result = Path(folder) / "job.npz", Path(folder) / "result.npy"
        np.savez(job, M=truth.M, keys=keys, batch=m // 2, batches=BATCHES, seed=seed)
        began = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
        subprocess.run([python, WORKER, job, result], check=True, env=outside)
        cpu = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - began
        chosen = np.load(result)
    ends = [len(keys) + k * (m // 2) for k in range(BATCHES + 1)]
    return [recall(truth, *np.divmod(chosen[:n], m2)) for n in ends], cpu


def run_ours(truth: Truth, what: str, seed: int, rule: str) -> tuple[list[float], float]:
    """One campaign by a rule of ours, from the same entries."""
    began = time.process_time()
    looks = campaigns.run_campaign(truth, what, seed, rule, campaigns.Fits(), BATCHES)
    return [look["recall"] for look in looks], time.process_time() - began
