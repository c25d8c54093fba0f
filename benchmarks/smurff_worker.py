"""SMURFF in a process of its own: reads `fit|sweep JOB.npz RESULT.npz` from each line of stdin, answers `done`.

SMURFF keeps its draws of the test entries (`pred_all`; its `var` is a sum, not a variance) but not those of its
noise precision. Those are drawn here from the conditional that its AdaptiveNoise uses, given the training error
of each sweep: alpha ~ Gamma((1 + N)/2, rate (var(y) + N rmse^2)/2), at most (1 + sn_max)/var(y).
"""

import sys
import time

import numpy as np
import scipy.sparse as sp
import smurff

SN_INIT, SN_MAX = 1.0, 1000.0


def session(job, k):
    """It has no mean of its own, so the global mean of the training values is taken off, as its users do."""
    shape, mean = tuple(job["shape"]), job["values"].mean()
    train = sp.coo_matrix((job["values"] - mean, (job["rows"], job["cols"])), shape=shape)
    # The test values are never looked at: only their places count.
    test = sp.coo_matrix((np.ones(job["test_rows"].size), (job["test_rows"], job["test_cols"])), shape=shape)
    made = smurff.TrainSession(
        priors=["normal", "normal"], num_latent=k, num_threads=1, verbose=0,
        burnin=int(job["burnin"]), nsamples=int(job["nsamples"]), seed=int(job["seed"]),
    )  # fmt: skip
    made.addTrainAndTest(train, test, smurff.AdaptiveNoise(SN_INIT, SN_MAX))
    return made, mean


def swept(running):
    """Run it; the training error after each sweep."""
    rmse = []
    running.init()
    while (status := running.step()) is not None:
        rmse.append(status.train_rmse)
    return np.array(rmse, float)


def draws_at(running, rows, cols):
    """The kept draws (S, n) of the entries, in the order asked for."""
    predictions = running.getTestPredictions()
    place = {(int(i), int(j)): n for n, (i, j) in enumerate(zip(rows, cols, strict=True))}
    draws = np.empty((len(predictions[0].pred_all), len(place)))
    for p in predictions:
        draws[:, place[tuple(map(int, p.coords))]] = p.pred_all
    return draws


def noise_variance(rmse, values, rng):
    n, total = values.size, values.var()
    alpha = rng.gamma(0.5 * (1 + n), 2.0 / (total + n * rmse**2))
    return 1.0 / np.minimum(alpha, (1 + SN_MAX) / total)


def fit(job):
    begin, cpu = time.perf_counter(), time.process_time()
    running, mean = session(job, int(job["k"]))
    rmse = swept(running)
    draws = mean + draws_at(running, job["test_rows"], job["test_cols"])
    rng = np.random.default_rng(int(job["seed"]))
    eta2 = noise_variance(rmse[-draws.shape[0] :], job["values"], rng)
    tails = 0.5 * (1 - float(job["level"])) * np.array([1, -1]) + [0, 1]
    low, high = np.quantile(draws, tails, axis=0)
    estimate, sd = draws.mean(0), np.sqrt(draws.var(0) + eta2.mean())
    draws += np.sqrt(eta2)[:, None] * rng.standard_normal(draws.shape)
    new_low, new_high = np.quantile(draws, tails, axis=0, overwrite_input=True)
    return {
        "mean": estimate, "low": low, "high": high, "new_low": new_low, "new_high": new_high, "new_sd": sd,
        "noise_sd": np.sqrt(eta2).mean(),  "seconds": time.perf_counter() - begin,
        "cpu_seconds": time.process_time() - cpu,
    }  # fmt: skip


def sweep(job):
    """CPU seconds of a sweep alone, the best of a few blocks: one entry to predict, no training error asked for."""
    few = {
        "burnin": np.array(1_000_000),
        "test_rows": job["test_rows"][:1],
        "test_cols": job["test_cols"][:1],
    }
    running, _ = session(job | few, int(job["k"]))
    running.init()
    block = max(3, int(job["block"]))

    def seconds():
        begin = time.process_time()
        for _ in range(block):
            smurff.wrapper.PythonSession.step(running)
        return (time.process_time() - begin) / block

    seconds()
    return {"sweep_seconds": min(seconds() for _ in range(5))}


if __name__ == "__main__":
    for line in sys.stdin:
        what, job_path, result_path = line.split()
        with np.load(job_path) as job:
            result = {"fit": fit, "sweep": sweep}[what](dict(job))
        np.savez(result_path, **result)
        print("done", flush=True)
