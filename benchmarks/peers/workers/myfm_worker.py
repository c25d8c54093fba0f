"""myFM 0.4.0: a Bayesian factorisation machine on one-hot rows and columns, its Gibbs sampler.

With groups for rows and columns, as its documentation does for ratings; everything else by default.
"""

import os

os.environ["TQDM_DISABLE"] = "1"

import common
import myfm
import numpy as np
import scipy.sparse as sp


def one_hot(job, rows, cols):
    n = rows.size
    columns = np.column_stack([rows, job.shape[0] + cols]).ravel()
    parts = (np.ones(2 * n), columns, np.arange(0, 2 * n + 1, 2))
    return sp.csr_matrix(parts, shape=(n, sum(job.shape)))


def one_chain(job, record, seed):
    recorded = job.what == "recorded"
    test = one_hot(job, *job.places) if recorded else None
    with record.set_up():
        X = one_hot(job, job.rows, job.cols)
    mark = common.now()

    def after_sweep(i, fm, hyper, history):
        nonlocal mark
        record.lap(1, mark, common.now())
        if recorded:
            record.predicted(fm.predict_score(test, []))
        mark = common.now()
        return record.over, None

    model = myfm.MyFMRegressor(rank=job.rank, random_seed=seed)
    groups = list(job.shape)
    model.fit(X, job.values, n_iter=job.sweeps, n_kept_samples=1, group_shapes=groups, callback=after_sweep)
    split_set_up(record)


def split_set_up(record):
    """Its own set-up lies inside the first lap: what that took beyond a usual sweep is moved there."""
    laps = record.laps
    if len(laps) < 4:
        return
    for k in (1, 2):
        usual = float(np.median([lap[k] for lap in laps[1:]]))
        extra = max(0.0, laps[0][k] - usual)
        laps[0][k] -= extra
        if len(record.chains) == 1:
            record.figures["set_up"][k - 1] += extra


if __name__ == "__main__":
    common.main(one_chain)
