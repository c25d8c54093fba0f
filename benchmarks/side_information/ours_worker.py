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
    options = {
        "rank": job["rank"],
        "seed": job["seed"],
        "noise": job["noise"],
        "threads": 1,
        "progress": False,
    }
    features = {name: job[name] for name in ("row_features", "col_features")}
    at = job["test_rows"], job["test_cols"]

    def run(plan: Sampling) -> Any:
        # Means are over every sweep, as SMURFF's are: of a cold row each draw has coefficients of its own, so that a
        # mean of the hundred that are stored has an error of its own.
        posterior = complete(data, sampling=plan, watch=at, **options, **features)
        return posterior.watched, posterior.predict(*at, 0.9)

    run(Sampling("population", 1, 1, 1, 1, 1))
    begin = time.process_time()
    each = job["sweeps"] // (4 * 3)
    watched, p = run(Sampling("population", 4, each, each, 25, each // 25))
    took, memory = time.process_time() - begin, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return {"mean": watched.mean, "low": p.new_low, "high": p.new_high, "seconds": took, "memory": memory}


if __name__ == "__main__":
    with open(sys.argv[1], "rb") as f:
        given = pickle.load(f)
    np.savez(sys.argv[2], **fit(given))
