"""Every kind of measurement with all that works for numbers: stores, watched entries, threads, files, warm starts, new
rows, ArviZ and scikit-learn."""

import numpy as np
import pandas as pd
import pytest

from maxentry import Observations, Posterior, Sampling, complete
from maxentry.estimators import BayesianCompleter

NAN, INF = np.nan, np.inf
SHORT = Sampling("population", 4, 20, 10, 6, 2)
rng = np.random.default_rng(3)
M1, M2 = 12, 9
X = rng.standard_normal((M1, 1)) @ rng.standard_normal((1, M2)) + 3.0
SEEN = rng.random(X.shape) < 0.7
SEEN[:, 0] = True
NOISY = X + 0.3 * rng.standard_normal(X.shape)
NUMBERS = np.where(SEEN, NOISY, NAN)
STARS = np.where(SEEN, np.clip(np.round(NOISY), 1, 5), NAN)
TEXT = np.where(NOISY < 2.5, "<2.5", np.where(NOISY > 4, ">4", np.round(NOISY, 3).astype(str)))
ROUNDED = np.where(NOISY < 2.5, "2..2.5", np.round(NOISY, 3).astype(str))


def long(values, **beside):
    """A long frame of the known entries; every array of `beside` is a column."""
    i, j = np.nonzero(SEEN)
    return pd.DataFrame(
        {"row": i, "col": j, "value": values[i, j], **{k: v[i, j] for k, v in beside.items()}}
    )


def again(frame, extra=0.05):
    """The lines of a frame, the first dozen of them measured a second time."""
    twice = frame.head(12).copy()
    twice["value"] = twice["value"] + extra
    return pd.concat([frame, twice], ignore_index=True)


ERRORS = 0.05 + 0.3 * rng.random(X.shape)
COUNTED = long(NOISY).drop(columns="value").assign(successes=rng.integers(0, 4, SEEN.sum()), trials=3)
# What is told and how it is fitted
CASES = {
    "limits in cells": (long(TEXT), {}),
    "ranges in cells": (long(ROUNDED), {}),
    "the ends of a scale": (np.clip(NUMBERS, 2.5, 4.0), {"limits": (2.5, 4.0)}),
    "limits and Student noise": (long(TEXT), {"noise": "student"}),
    "limits and a transform": (long(TEXT), {"transform": "log"}),
    "yes and no": (np.where(SEEN, NOISY > 3, NAN), {"kind": "yes/no"}),
    "counts of trials": (COUNTED, {"kind": "yes/no"}),
    "grades": (STARS, {"kind": "grades", "levels": (1, 2, 3, 4, 5)}),
    "grades by row": (STARS, {"kind": "grades", "levels": (1, 2, 3, 4, 5), "noise": "rows"}),
    "standard errors": (long(NOISY, se=ERRORS), {}),
    "standard errors and limits": (long(TEXT, se=ERRORS), {}),
    "known noise": (NUMBERS, {"noise_sd": 0.3}),
    "known noise and standard errors": (long(NOISY, se=ERRORS), {"noise_sd": 0.3}),
    "replicates": (again(long(NOISY)), {}),
    "replicates and limits": (again(long(np.maximum(NOISY, 2.5))), {"limits": (2.5, None)}),
    "replicates and standard errors": (again(long(NOISY, se=ERRORS)), {}),
}  # fmt: skip


def fit(case, **options):
    data, given = CASES[case]
    return complete(data, 1, **{"sampling": SHORT, "seed": 1} | given | options)


@pytest.fixture(scope="module")
def fits():
    known = {}
    return lambda case: known.setdefault(case, fit(case))


def mean(p):
    return np.asarray(p.mean)


def possible(p):
    """The least and the largest value that an entry can have."""
    if p.likelihood.kind == "yes/no":
        return 0.0, 1.0
    return (1.0, 5.0) if p.likelihood.kind == "grades" else (-INF, INF)


@pytest.mark.parametrize("case", CASES)
def test_stores_watched_entries_and_threads(case, fits, tmp_path):
    p = fits(case)
    low, high = possible(p)
    assert ((low <= mean(p)) & (mean(p) <= high)).all()
    lower, upper = map(np.asarray, p.interval(0.9))
    assert (lower <= upper).all()
    q = fit(case, threads=2, store=tmp_path / "draws", watch=([3, 5], [2, 7]))
    np.testing.assert_array_equal(mean(q), mean(p))
    stored = Posterior.load(tmp_path / "draws")
    np.testing.assert_array_equal(mean(stored), mean(p))
    np.testing.assert_array_equal(stored.predictive_interval(0.9)[0], p.predictive_interval(0.9)[0])
    near = np.abs(q.watched.mean - q.predict([3, 5], [2, 7]).mean)
    assert (near < 6 * q.watched.mcse + 6 * q.watched.sd / np.sqrt(len(p.draws.mu.ravel()))).all()


@pytest.mark.parametrize("case", CASES)
def test_files_and_warm_starts(case, fits, tmp_path):
    p = fits(case)
    p.save(tmp_path / "p.npz")
    loaded = Posterior.load(tmp_path / "p.npz")
    assert loaded.likelihood == p.likelihood
    for name in ("values", "low", "high", "se"):
        was, now = getattr(p.observations, name), getattr(loaded.observations, name)
        assert (was is None) == (now is None)
        if was is not None:
            np.testing.assert_array_equal(now, was)
    np.testing.assert_array_equal(mean(loaded.more(2)), mean(p.more(2)))
    data, given = CASES[case]
    warm = complete(data, start=loaded, sampling=Sampling("population", 4, 0, 0, 6, 1), seed=2, **given)
    assert warm.observations.n == p.observations.n
    assert np.corrcoef(mean(warm).ravel(), mean(p).ravel())[0, 1] > 0.7


@pytest.mark.parametrize("case", CASES)
def test_arviz_and_new_rows(case, fits):
    pytest.importorskip("arviz")
    p = fits(case)
    given = p.to_arviz().posterior
    assert dict(given.sizes)["chain"] == len(p.chains)
    assert given.data_vars
    assert all(np.isfinite(numbers).all() for numbers in given.data_vars.values())
    if isinstance(CASES[case][0], np.ndarray):
        new = p.rows(CASES[case][0][:2])
        assert np.isfinite(np.asarray(new.mean)).all()


@pytest.mark.parametrize("case", [name for name, (data, _) in CASES.items() if isinstance(data, np.ndarray)])
def test_imputers(case, fits):
    data, given = CASES[case]
    names = {"rank": 1, "sampling": SHORT, "random_state": 1}
    model = BayesianCompleter(**names, **given).fit(data)
    np.testing.assert_array_equal(mean(model.posterior_), mean(fits(case)))
    filled = model.transform(data)
    assert not np.isnan(filled).any()
    np.testing.assert_array_equal(filled[SEEN], data[SEEN])


def test_imputers_read_limits_in_cells():
    wide = np.where(SEEN, TEXT, "").astype(object)
    model = BayesianCompleter(rank=1, sampling=SHORT, random_state=1).fit(wide)
    assert model.posterior_.observations.low is not None
    n = Observations.of(CASES["limits in cells"][0]).n
    assert model.posterior_.observations.n == n
