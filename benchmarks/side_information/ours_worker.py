"""maxentry in a process of its own: `ours_worker.py JOB.pickle RESULT.npz`, compiled beforehand by a few sweeps."""

import pickle
import resource
import sys
import time
from typing import Any

import numpy as np

from maxentry import Observations, Sampling, complete


def fit(job: dict[str, Any]) -> dict[str, Any]:
    data = Observations.of((job["rows"], job["cols"], job["values"]), shape=job["shape"])
    options = {"rank": job["rank"], "seed": job["seed"], "threads": 1, "progress": False}
    features = {name: job[name] for name in ("row_features", "col_features")}

    def run(plan: Sampling) -> Any:
        posterior = complete(data, sampling=plan, **options, **features)
        return posterior.predict(job["test_rows"], job["test_cols"], 0.9)

    run(Sampling("population", 1, 1, 1, 1, 1))
    begin = time.process_time()
    each = job["sweeps"] // (4 * 3)
    p = run(Sampling("population", 4, each, each, 25, each // 25))
    took, memory = time.process_time() - begin, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return {"mean": p.mean, "low": p.new_low, "high": p.new_high, "seconds": took, "memory": memory}


if __name__ == "__main__":
    with open(sys.argv[1], "rb") as f:
        given = pickle.load(f)
    np.savez(sys.argv[2], **fit(given))
