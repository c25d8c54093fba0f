"""SMURFF's Macau prior in a process of its own: `macau_worker.py JOB.pickle RESULT.npz`.

Its noise precision is drawn as `benchmarks/peers/workers/smurff_worker.py` says. A side without features has the
"normal" prior.
"""

import pickle
import resource
import sys
import time

import numpy as np
import scipy.sparse as sp
import smurff

SN_INIT, SN_MAX = 1.0, 1000.0


def fit(job):
    begin = time.process_time()
    rows, cols, values = job["rows"], job["cols"], job["values"]
    mean = values.mean()
    known = sp.coo_matrix((values - mean, (rows, cols)), shape=job["shape"])
    places = sp.coo_matrix(
        (np.ones(job["test_rows"].size), (job["test_rows"], job["test_cols"])), job["shape"]
    )
    sides = job["row_features"], job["col_features"]
    session = smurff.TrainSession(
        priors=["normal" if side is None else "macau" for side in sides], num_latent=job["rank"], num_threads=1,
        burnin=job["sweeps"] // 3, nsamples=job["sweeps"] - job["sweeps"] // 3, seed=job["seed"] + 1, verbose=0,
    )  # fmt: skip
    session.addTrainAndTest(known, places, smurff.AdaptiveNoise(SN_INIT, SN_MAX))
    for k, side in enumerate(sides):
        if side is not None:
            side = sp.csr_matrix(side) if sp.issparse(side) else np.ascontiguousarray(side)
            session.addSideInfo(k, side, smurff.SampledNoise(), direct=job["direct"])
    session.init()
    errors = []
    while (status := session.step()) is not None:
        errors.append(status.train_rmse)
    predictions = session.getTestPredictions()
    took = time.process_time() - begin
    place = {
        (int(i), int(j)): n for n, (i, j) in enumerate(zip(job["test_rows"], job["test_cols"], strict=True))
    }
    draws = np.empty((len(predictions[0].pred_all), len(place)), np.float32)
    for p in predictions:
        draws[:, place[tuple(map(int, p.coords))]] = p.pred_all
    n, total, rng = values.size, values.var(), np.random.default_rng(job["seed"])
    rate = total + n * np.array(errors[-len(draws) :]) ** 2
    eta2 = 1 / np.minimum(rng.gamma(0.5 * (1 + n), 2.0 / rate), (1 + SN_MAX) / total)
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    noise = np.sqrt(eta2)[:, None] * rng.standard_normal(draws.shape)
    low, high = mean + np.quantile(draws + noise, (0.05, 0.95), axis=0)
    return {"mean": mean + draws.mean(0), "low": low, "high": high, "seconds": took, "memory": memory}


if __name__ == "__main__":
    with open(sys.argv[1], "rb") as f:
        given = pickle.load(f)
    np.savez(sys.argv[2], **fit(given))
