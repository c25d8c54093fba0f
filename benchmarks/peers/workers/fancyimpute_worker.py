"""fancyimpute 0.7 SoftImpute: the nuclear norm, a point estimate on the dense matrix; an iteration counts as a sweep.

Row and column means, shrunk, are taken off first. The shrinkage and the largest rank (R or 3 R) are chosen by
prediction of a tenth of the training entries; choosing is not counted. Its truncated SVDs are asked for, which are
much faster than its full ones.
"""

import warnings

import common
import numpy as np
from fancyimpute import SoftImpute

warnings.simplefilter("ignore")
SHARES = (1 / 2, 1 / 4, 1 / 8, 1 / 16, 1 / 32)  # of the largest singular value
SHRINK = 3.0  # observations' worth of prior in a mean


class Stopped(Exception):
    """Enough iterations."""


class Watched(SoftImpute):
    """Tells of every iteration, and never calls itself converged before the last."""

    def __init__(self, after, **options):
        super().__init__(**options, convergence_threshold=0.0, verbose=False)
        self.after = after

    def _svd_step(self, *arguments, **options):
        begin = common.now()
        X, rank = super()._svd_step(*arguments, **options)
        self.after(X, begin)
        return X, rank


def additive(job):
    """Global mean, then shrunken means of rows and of columns, twice round."""
    mean, r, c = job.values.mean(), np.zeros(job.shape[0]), np.zeros(job.shape[1])
    for _ in range(2):
        rest = job.values - mean - c[job.cols]
        r = np.bincount(job.rows, rest, job.shape[0]) / (
            np.bincount(job.rows, minlength=job.shape[0]) + SHRINK
        )
        rest = job.values - mean - r[job.rows]
        c = np.bincount(job.cols, rest, job.shape[1]) / (
            np.bincount(job.cols, minlength=job.shape[1]) + SHRINK
        )
    return mean, r, c


def prepared(job):
    mean, r, c = additive(job)
    Y = np.full(job.shape, np.nan)
    Y[job.rows, job.cols] = job.values - mean - r[job.rows] - c[job.cols]
    return Y, mean + r[job.test_rows] + c[job.test_cols]


def largest(Y):
    from sklearn.utils.extmath import randomized_svd

    return randomized_svd(np.nan_to_num(Y), 1, n_iter=5, random_state=0)[1][0]


def iterated(job, Y, share, max_rank, sweeps, seed, after):
    np.random.seed(seed)  # noqa: NPY002 (its truncated SVDs draw from the global generator)
    shrinkage = share * largest(Y)
    solver = Watched(
        after, shrinkage_value=shrinkage, max_rank=min(max_rank, min(job.shape) - 1), max_iters=sweeps
    )
    try:
        solver.fit_transform(Y)
    except Stopped:
        return


def one_chain(job, record, seed):
    share, max_rank = job.options["tuned"]
    with record.set_up():
        Y, base = prepared(job)
    mark = None

    def after(X, begin):
        nonlocal mark
        record.lap(1, mark or begin, common.now())
        if job.what == "recorded":
            record.error(record.done, base + X[job.test_rows, job.test_cols])
        if record.over:
            raise Stopped
        mark = common.now()

    iterated(job, Y, share, job.rank if job.what == "timed" else max_rank, job.sweeps, seed, after)


def tune(job, record):
    common.folded(job)
    Y, base = prepared(job)
    found, last = {}, [None]

    def after(X, begin):
        last[0] = X[job.test_rows, job.test_cols]
        if record.over:
            raise Stopped

    for share in SHARES:
        for max_rank in (job.rank, 3 * job.rank):
            if record.over and found:
                break
            iterated(job, Y.copy(), share, max_rank, job.sweeps, 0, after)
            found[share, max_rank] = common.rmse(job, base + last[0])
    record.figures["tuned"] = min(found, key=found.get)


if __name__ == "__main__":
    common.main(one_chain, tune)
