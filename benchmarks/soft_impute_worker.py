"""One side of the comparison, in a process of its own: `soft_impute_worker.py {peer,ours} JOB.npz`.

Prints a JSON record with the seconds of the call alone (imports and compilation left out), on the clock and of
the processor, and the objective of Eq. (nuc) at what it returned, computed in the same way for both sides.
"""

import json
import sys
import time

import numpy as np

# fancyimpute prints to stdout, so the record goes on a last line of its own.


def objective(Y, X, penalty):
    seen = ~np.isnan(Y)
    return float(np.sum((Y[seen] - X[seen]) ** 2) + penalty * np.linalg.svd(X, compute_uv=False).sum())


def timed(call):
    wall, cpu = time.perf_counter(), time.process_time()
    result = call()
    return result, {"wall": time.perf_counter() - wall, "cpu": time.process_time() - cpu}


def peer(Y, penalty, max_rank):
    import warnings

    from fancyimpute import SoftImpute

    warnings.simplefilter("ignore")

    class Recorded(SoftImpute):
        """It returns the data where there are some; the estimate there is its last reconstruction."""

        steps = 0

        def _svd_step(self, *args, **kwargs):
            self.last = super()._svd_step(*args, **kwargs)
            self.steps += 1
            return self.last

    # Its objective is 1/2 sum (Y - X)^2 + shrinkage |X|_*: half of Eq. (nuc) with shrinkage = lambda / 2.
    options = {"shrinkage_value": penalty / 2, "max_rank": max_rank, "verbose": False}
    Recorded(**options, max_iters=2).fit_transform(Y.copy())
    solver = Recorded(**options)
    np.random.seed(0)  # noqa: NPY002 (its truncated SVDs draw from the global generator)
    _, spent = timed(lambda: solver.fit_transform(Y.copy()))
    X, rank = solver.last
    return {
        **spent,
        "objective": objective(Y, X, penalty),
        "rank": int(rank),
        "steps": solver.steps,
    }


def ours(Y, penalty, tol):
    from maxentry.completion import nuclear_norm
    from maxentry.observations import Observations

    observations = Observations.of(Y)
    nuclear_norm(observations, penalty, max_iter=1)
    result, spent = timed(lambda: nuclear_norm(Observations.of(Y), penalty, tol=tol))
    value = objective(Y, result.matrix(), penalty)
    return spent | {"objective": value, "rank": result.rank, "steps": result.iterations}


if __name__ == "__main__":
    side, path = sys.argv[1:]
    job = np.load(path)
    if side == "peer":
        record = peer(job["Y"], float(job["penalty"]), int(job["max_rank"]) or None)
    else:
        record = ours(job["Y"], float(job["penalty"]), float(job["tol"]))
    print(json.dumps(record))
