"""One fit of SMURFF, read as a program by whichever interpreter has it: arguments JOB.npz RESULT.npz.

It knows nothing of maxentry, which need not be installed there. SMURFF keeps its draws of the test entries, but not
those of its noise precision. Those are drawn here from the conditional that its AdaptiveNoise uses, given the training
error of each sweep: alpha ~ Gamma((1 + N)/2, rate (var(y) + N rmse^2)/2), at most (1 + sn_max)/var(y).
"""

import sys
from typing import Any

import numpy as np

SN_INIT, SN_MAX = 1.0, 1000.0


def session(job: dict[str, Any], values: Any) -> Any:
    """BPMF ("normal" priors on both sides) on one thread; the test values are never looked at, only their places."""
    import scipy.sparse as sp
    import smurff  # type: ignore[import-not-found]

    shape = tuple(job["shape"])
    train = sp.coo_matrix((values, (job["rows"], job["cols"])), shape=shape)
    places = np.ones(job["test_rows"].size), (job["test_rows"], job["test_cols"])
    made = smurff.TrainSession(
        priors=["normal", "normal"], num_latent=int(job["k"]), num_threads=1, verbose=0,
        burnin=int(job["burnin"]), nsamples=int(job["nsamples"]), seed=int(job["seed"]),
    )  # fmt: skip
    made.addTrainAndTest(train, sp.coo_matrix(places, shape=shape), smurff.AdaptiveNoise(SN_INIT, SN_MAX))
    return made


def swept(running: Any) -> Any:
    """Run it; the training error after each sweep."""
    rmse = []
    running.init()
    while (status := running.step()) is not None:
        rmse.append(status.train_rmse)
    return np.array(rmse, dtype=float)


def draws_at(running: Any, rows: Any, cols: Any) -> Any:
    """The kept draws (S, n) of the entries, in the order asked for."""
    predictions = running.getTestPredictions()
    place = {(int(i), int(j)): n for n, (i, j) in enumerate(zip(rows, cols, strict=True))}
    draws = np.empty((len(predictions[0].pred_all), len(place)), dtype=np.float32)
    for p in predictions:
        i, j = p.coords
        draws[:, place[int(i), int(j)]] = p.pred_all
    return draws


def noise_variance(rmse: Any, values: Any, rng: np.random.Generator) -> Any:
    """A draw of 1/alpha for each training error."""
    n, total = values.size, values.var()
    alpha = rng.gamma(0.5 * (1 + n), 2.0 / (total + n * rmse**2))
    return 1.0 / np.minimum(alpha, (1 + SN_MAX) / total)


def fit(job: dict[str, Any]) -> dict[str, Any]:
    """Draws of the entries asked for, and of the noise. It has no mean of its own: that of the values is taken off."""
    mean = job["values"].mean()
    running = session(job, job["values"] - mean)
    rmse = swept(running)
    draws = mean + draws_at(running, job["test_rows"], job["test_cols"])
    rng = np.random.default_rng(int(job["seed"]))
    return {"draws": draws, "eta2": noise_variance(rmse[-len(draws) :], job["values"], rng)}


if __name__ == "__main__":
    with np.load(sys.argv[1]) as given:
        found = fit(dict(given))
    np.savez(sys.argv[2], **found)
