"""myFM in a process of its own: `myfm_worker.py JOB.pickle RESULT.npz`.

Users and movies one-hot, and with "observed" beside them the movies that a user rated and the users who rated a movie,
each over the root of their number, as its documentation has it: a group of its own for each, in relation blocks.
"""

import os
import pickle
import resource
import sys
import time

os.environ["TQDM_DISABLE"] = "1"

import myfm
import numpy as np
import scipy.sparse as sp


def blocks(job, rows, cols):
    """The relation blocks of both sides."""
    mask = sp.csr_matrix((np.ones(job["rows"].size), (job["rows"], job["cols"])), shape=job["shape"])
    found = []
    for known, at in ((mask, rows), (mask.T.tocsr(), cols)):
        parts = [sp.identity(known.shape[0], format="csr")]
        if job["observed"]:
            counts = np.maximum(np.diff(known.indptr), 1)
            parts.append(sp.diags(1 / np.sqrt(counts)) @ known)
        found.append(myfm.RelationBlock(at, sp.hstack(parts, format="csr")))
    return found


def fit(job):
    begin, (m1, m2) = time.process_time(), job["shape"]
    nothing = sp.csr_matrix((job["values"].size, 0))
    test = sp.csr_matrix((job["test_rows"].size, 0)), blocks(job, job["test_rows"], job["test_cols"])
    groups = [m1, m2, m2, m1] if job["observed"] else [m1, m2]
    burn, total, squares, noise, kept = job["sweeps"] // 3, 0.0, 0.0, 0.0, 0

    def after_sweep(i, fm, hyper, history):
        nonlocal total, squares, noise, kept
        if i >= burn:
            draw = fm.predict_score(*test)
            total, squares, noise, kept = total + draw, squares + draw**2, noise + 1 / hyper.alpha, kept + 1
        return False, None

    model = myfm.MyFMRegressor(rank=job["rank"], random_seed=job["seed"])
    known = blocks(job, job["rows"], job["cols"])
    model.fit(
        nothing, job["values"], X_rel=known, n_iter=job["sweeps"], n_kept_samples=1, group_shapes=groups,
        callback=after_sweep,
    )  # fmt: skip
    mean = total / kept
    half = 1.6449 * np.sqrt(squares / kept - mean**2 + noise / kept)
    took, memory = time.process_time() - begin, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return {"mean": mean, "low": mean - half, "high": mean + half, "seconds": took, "memory": memory}


if __name__ == "__main__":
    with open(sys.argv[1], "rb") as f:
        given = pickle.load(f)
    np.savez(sys.argv[2], **fit(given))
