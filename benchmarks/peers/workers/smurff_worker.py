"""SMURFF 1.1: BPMF, that is "normal" priors on both sides and adaptive noise.

It has no mean of its own, so the global mean of the training values is taken off, as its users do. Its own step is
called without the status of its Python wrapper, which looks at the training error every time and costs a pass over
the data.
"""

import common
import numpy as np
import scipy.sparse as sp
import smurff


def session(job, seed, rows, cols):
    mean = job.values.mean()
    train = sp.coo_matrix((job.values - mean, (job.rows, job.cols)), shape=job.shape)
    test = sp.coo_matrix((np.ones(rows.size), (rows, cols)), shape=job.shape)  # only the places count
    made = smurff.TrainSession(
        priors=["normal", "normal"], num_latent=job.rank, num_threads=job.threads, verbose=0,
        burnin=0, nsamples=job.sweeps, seed=seed + 1,
    )  # fmt: skip
    made.addTrainAndTest(train, test, smurff.AdaptiveNoise(1.0, 1000.0))
    made.init()
    return made, mean


def draws_at(running, rows, cols):
    """Its draws (sweep, entry), in the order asked for."""
    place = {(int(i), int(j)): n for n, (i, j) in enumerate(zip(rows, cols, strict=True))}
    predictions = running.getTestPredictions()
    draws = np.empty((len(predictions[0].pred_all), len(place)), np.float32)
    for p in predictions:
        draws[:, place[tuple(map(int, p.coords))]] = p.pred_all
    return draws


def one_chain(job, record, seed):
    recorded = job.what == "recorded"
    rows, cols = job.places if recorded else (job.watched_rows[:1], job.watched_cols[:1])
    with record.set_up():
        running, mean = session(job, seed, rows, cols)
    block = max(1, job.sweeps // 10)
    while not record.over:
        n = min(block, job.sweeps - record.done)
        with record.timed(n):
            for _ in range(n):
                smurff.wrapper.PythonSession.step(running)
    if recorded:
        for draw in draws_at(running, rows, cols):
            record.predicted(mean + draw)


if __name__ == "__main__":
    common.main(one_chain)
