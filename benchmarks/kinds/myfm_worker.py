"""Run in myFM's environment: `myfm_worker.py JOB.npz RESULT.npy`. Groups for rows and columns, as its documentation."""

import os
import sys

os.environ["TQDM_DISABLE"] = "1"

import myfm
import numpy as np
import scipy.sparse as sp


def one_hot(shape, rows, cols):
    n = rows.size
    columns = np.column_stack([rows, shape[0] + cols]).ravel()
    parts = (np.ones(2 * n), columns, np.arange(0, 2 * n + 1, 2))
    return sp.csr_matrix(parts, shape=(n, int(sum(shape))))


def main(job_file, result_file):
    with np.load(job_file) as f:
        job = dict(f)
    shape, rank = job["shape"], int(job["rank"])
    X = one_hot(shape, job["rows"], job["cols"])
    test = one_hot(shape, job["test_rows"], job["test_cols"])
    sweeps = int(job["sweeps"])
    options = {"n_iter": sweeps, "n_kept_samples": sweeps * 2 // 3, "group_shapes": [int(m) for m in shape]}
    if str(job["task"]) == "grades":
        model = myfm.MyFMOrderedProbit(rank=rank, random_seed=int(job["seed"]))
        model.fit(X, job["values"].astype(int) - 1, **options)
    else:
        model = myfm.MyFMGibbsClassifier(rank=rank, random_seed=int(job["seed"]))
        model.fit(X, job["values"] > 0.5, **options)
    np.save(result_file, model.predict_proba(test))


if __name__ == "__main__":
    main(*sys.argv[1:])
