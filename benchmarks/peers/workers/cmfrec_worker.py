"""cmfrec: alternating least squares with biases, a point estimate; an iteration counts as a sweep.

Everything by default (single precision, three steps of conjugate gradients, biases) but the penalty, which is chosen
by prediction of a tenth of the training entries; choosing is not counted.
"""

import common
import numpy as np
import scipy.sparse as sp
from cmfrec import CMF

ITERATIONS = (1, 2, 3, 4, 6, 8, 12, 20, 30, 50, 100)
PENALTIES = [(False, penalty) for penalty in (0.01, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0)]
PENALTIES += [(True, penalty) for penalty in (0.001, 0.01, 0.03, 0.05, 0.1)]


def fitted(job, seed, niter, scale_lam, lambda_):
    X = sp.coo_matrix((job.values, (job.rows, job.cols)), shape=job.shape)
    model = CMF(
        k=job.rank, lambda_=lambda_, scale_lam=scale_lam, niter=niter, nthreads=job.threads, random_state=seed + 1,
        verbose=False, precompute_for_predictions=False,
    )  # fmt: skip
    return model.fit(X)


def one_chain(job, record, seed):
    penalty = job.options["tuned"]
    if job.what == "recorded":
        recorded(job, record, seed, penalty)
        return
    few = max(1, job.sweeps // 10)  # two lengths tell an iteration from what comes before and after
    begin = common.now()
    fitted(job, seed, few, *penalty)
    middle = common.now()
    fitted(job, seed, few + job.sweeps, *penalty)
    end = common.now()
    short = [b - a for a, b in zip(begin, middle, strict=True)]
    long = [b - a for a, b in zip(middle, end, strict=True)]
    spent = [b - a for a, b in zip(short, long, strict=True)]
    record.laps.append([job.sweeps, *spent])
    record.figures["set_up"] = [max(0.0, short[k] - few * spent[k] / job.sweeps) for k in (0, 1)]


def recorded(job, record, seed, penalty):
    """It has no hook after an iteration, so each length is a fit of its own: a lap is what it took beyond the last."""
    before = 0
    for niter in ITERATIONS:
        if niter > job.sweeps or record.over:
            break
        begin = common.now()
        model = fitted(job, seed, niter, *penalty)
        end = common.now()
        spent = [b - a for a, b in zip(begin, end, strict=True)]
        past = [sum(lap[k] for lap in record.laps) for k in (1, 2)]
        record.laps.append([niter - before, *(max(0.0, spent[k] - past[k]) for k in (0, 1))])
        before = niter
        record.error(niter, model.predict(job.test_rows, job.test_cols))


def tune(job, record):
    """The penalty, and whether it is scaled by the number of observations of each row and column."""
    common.folded(job)
    found = {}
    for setting in PENALTIES:
        if record.over and found:
            break
        found[setting] = common.rmse(
            job, fitted(job, 0, min(30, job.sweeps), *setting).predict(job.test_rows, job.test_cols)
        )
    found = {setting: error for setting, error in found.items() if np.isfinite(error)}
    record.figures["tuned"] = min(found, key=found.get)


if __name__ == "__main__":
    common.main(one_chain, tune)
