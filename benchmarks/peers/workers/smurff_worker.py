"""SMURFF 1.1 in a process of its own: BPMF, that is "normal" priors on both sides and adaptive noise.

    smurff_worker.py JOB.npz OUT     a job of benchmarks.peers (common.py)
    smurff_worker.py                 reads `fit|sweep JOB.npz RESULT.npz` from each line of stdin, answers `done`

It has no mean of its own, so the global mean of the training values is taken off, as its users do. It keeps its draws
of the test entries (`pred_all`; its `var` is a sum, not a variance) but not those of its noise precision. Those are
drawn here from the conditional that its AdaptiveNoise uses, given the training error of each sweep:
alpha ~ Gamma((1 + N)/2, rate (var(y) + N rmse^2)/2), at most (1 + sn_max)/var(y).
"""

import sys
import time

import numpy as np
import scipy.sparse as sp
import smurff

SN_INIT, SN_MAX = 1.0, 1000.0


def start_session(shape, train, test, **settings):
    """Start a session on centred values and return it with their mean; of test entries only the places count."""
    rows, cols, values = train
    mean = values.mean()
    known = sp.coo_matrix((values - mean, (rows, cols)), shape=tuple(shape))
    places = sp.coo_matrix((np.ones(test[0].size), test), shape=tuple(shape))
    session = smurff.TrainSession(priors=["normal", "normal"], verbose=0, **settings)
    session.addTrainAndTest(known, places, smurff.AdaptiveNoise(SN_INIT, SN_MAX))
    session.init()
    return session, mean


def step(session):
    """Make one sweep without the status of the Python wrapper, which costs a pass over the data for the error."""
    smurff.wrapper.PythonSession.step(session)


def draws_at(session, rows, cols):
    """Return the draws (S, n) of the test entries, in the order asked for."""
    place = {(int(i), int(j)): n for n, (i, j) in enumerate(zip(rows, cols, strict=True))}
    predictions = session.getTestPredictions()
    draws = np.empty((len(predictions[0].pred_all), len(place)), np.float32)
    for p in predictions:
        draws[:, place[tuple(map(int, p.coords))]] = p.pred_all
    return draws


# Fits and sweeps for other programs


def job_session(job, test, burnin):
    settings = {"num_latent": int(job["k"]), "num_threads": 1, "seed": int(job["seed"])}
    train = job["rows"], job["cols"], job["values"]
    return start_session(job["shape"], train, test, burnin=burnin, nsamples=int(job["nsamples"]), **settings)


def fit(job):
    """Return draws of the entries asked for and of the noise variance, and the time it took."""
    begin, cpu = time.perf_counter(), time.process_time()
    test = job["test_rows"], job["test_cols"]
    session, mean = job_session(job, test, int(job["burnin"]))
    rmse = []
    while (status := session.step()) is not None:
        rmse.append(status.train_rmse)
    draws = mean + draws_at(session, *test)
    n, total = job["values"].size, job["values"].var()
    errors = np.array(rmse[-len(draws) :], float)
    alpha = np.random.default_rng(int(job["seed"])).gamma(0.5 * (1 + n), 2.0 / (total + n * errors**2))
    eta2 = 1.0 / np.minimum(alpha, (1 + SN_MAX) / total)
    seconds = {"seconds": time.perf_counter() - begin, "cpu_seconds": time.process_time() - cpu}
    return {"draws": draws, "eta2": eta2, **seconds}


def sweep(job):
    """Return the CPU seconds of a sweep alone, the best of a few blocks, with one entry to predict."""
    session, _ = job_session(job, (job["test_rows"][:1], job["test_cols"][:1]), 1_000_000)
    block = max(3, int(job["block"]))

    def seconds():
        begin = time.process_time()
        for _ in range(block):
            step(session)
        return (time.process_time() - begin) / block

    seconds()
    return {"sweep_seconds": min(seconds() for _ in range(5))}


def serve():
    for line in sys.stdin:
        what, job_path, result_path = line.split()
        with np.load(job_path) as job:
            result = {"fit": fit, "sweep": sweep}[what](dict(job))
        np.savez(result_path, **result)
        print("done", flush=True)


# A job of benchmarks.peers


def one_chain(job, record, seed):
    recorded = job.what == "recorded"
    rows, cols = job.places if recorded else (job.watched_rows[:1], job.watched_cols[:1])
    with record.set_up():
        session, mean = start_session(
            job.shape, (job.rows, job.cols, job.values), (rows, cols), num_latent=job.rank,
            num_threads=job.threads, burnin=0, nsamples=job.sweeps, seed=seed + 1,
        )  # fmt: skip
    block = max(1, job.sweeps // 10)
    while not record.over:
        n = min(block, job.sweeps - record.done)
        with record.timed(n):
            for _ in range(n):
                step(session)
    if recorded:
        for draw in draws_at(session, rows, cols):
            record.predicted(mean + draw)


if __name__ == "__main__":
    if len(sys.argv) > 1:
        import common

        common.main(one_chain)
    else:
        serve()
