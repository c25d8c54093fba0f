"""`complete`: every way in, the additive model in closed form, units, edge cases and refusals."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse
from tests.posterior.examples import MANY, SHORT, equal, largest_z, low_rank, matrices

from maxentry import InverseGamma, Observations, Priors, Sampling, complete
from maxentry.errors import DataError, ParameterError, SizeError

X, Y = low_rank()
ROWS = [f"r{i}" for i in range(12)]
COLS = [f"c{j}" for j in range(9)]
SEEN_ROWS, SEEN_COLS = np.nonzero(~np.isnan(Y))


# Ways in


def ways_in():
    rows, cols, values = [ROWS[i] for i in SEEN_ROWS], [COLS[j] for j in SEEN_COLS], Y[SEEN_ROWS, SEEN_COLS]
    long = {"row": rows, "col": cols, "value": values}
    odd = {"sample": rows, "assay": cols, "reading": values}
    labels = {"row_labels": ROWS, "col_labels": COLS}
    wide = {c: Y[:, j] for j, c in enumerate(COLS)}
    yield "array", Y, {}
    yield "list", Y.tolist(), {}
    yield "sparse", sparse.coo_array((values, (SEEN_ROWS, SEEN_COLS)), shape=Y.shape), {}
    yield "triples", (SEEN_ROWS, SEEN_COLS, values), {"shape": Y.shape}
    yield "Observations", Observations.from_array(Y), {}
    yield "array with labels", Y, labels
    yield "pandas wide", pd.DataFrame(wide, ROWS), {}
    yield "pandas long", pd.DataFrame(long), labels
    yield (
        "pandas long, named",
        pd.DataFrame(odd),
        {"row": "sample", "col": "assay", "value": "reading"} | labels,
    )
    yield "polars wide", pl.DataFrame({"sample": ROWS} | wide), {"row_column": "sample"}
    yield "polars long", pl.DataFrame(long), labels
    yield "triples with labels", (rows, cols, values), labels


@pytest.mark.parametrize(("data", "options"), [pytest.param(d, o, id=n) for n, d, o in ways_in()])
def test_every_way_in_gives_the_same_posterior_by_its_labels(data, options):
    fitted = complete(data, 2, sampling=SHORT, seed=1, **options)
    assert equal(fitted, complete(Y, 2, sampling=SHORT, seed=1))
    labelled = fitted.observations.row_labels is not None
    at = ("r3", "c4") if labelled else (3, 4)
    assert fitted.predict(*at).mean == pytest.approx(fitted.arrays.mean[3, 4])
    frame = fitted.to_frame()
    kind = pl.DataFrame if isinstance(data, pl.DataFrame) else pd.DataFrame
    assert isinstance(frame, kind)
    assert list(frame["row"])[-1] == (ROWS[-1] if labelled else 11)


def test_integers_are_measurements():
    counts = np.random.default_rng(0).integers(0, 50, size=(6, 5))
    fitted = complete(counts, 1, sampling=SHORT, seed=1)
    assert equal(fitted, complete(counts.astype(float), 1, sampling=SHORT, seed=1))
    assert fitted.observations.n == 30


def test_replicates_narrow_the_interval():
    rng = np.random.default_rng(0)
    values = 3.0 + rng.normal(size=SEEN_ROWS.size)
    again = 30
    once = complete((SEEN_ROWS, SEEN_COLS, values), 1, shape=Y.shape, sampling=MANY, seed=1)
    i, j = int(SEEN_ROWS[7]), int(SEEN_COLS[7])
    rows, cols = np.append(SEEN_ROWS, [i] * again), np.append(SEEN_COLS, [j] * again)
    more = complete(
        (rows, cols, np.append(values, 3.0 + rng.normal(size=again))), 1, shape=Y.shape, sampling=MANY, seed=1
    )
    assert more.predict(i, j).sd < 0.6 * once.predict(i, j).sd
    assert more.observations.n == SEEN_ROWS.size + again


# The model


def closed_form(Y, priors):
    """Mean and variance of mu + r_i + c_j given the variances: the posterior of a linear Gaussian model."""
    m1, m2 = Y.shape
    eta2, tau2_row, tau2_col = (law.scale / law.shape for law in (priors.noise, priors.rows, priors.cols))
    i, j = np.divmod(np.arange(m1 * m2), m2)
    design = np.zeros((m1 * m2, 1 + m1 + m2))
    design[:, 0] = design[np.arange(m1 * m2), 1 + i] = design[np.arange(m1 * m2), 1 + m1 + j] = 1.0
    seen = ~np.isnan(Y.ravel())
    prior = np.concatenate([[priors.mu_var], np.full(m1, tau2_row), np.full(m2, tau2_col)])
    covariance = np.linalg.inv(design[seen].T @ design[seen] / eta2 + np.diag(1 / prior))
    mean = design @ covariance @ design[seen].T @ Y.ravel()[seen] / eta2
    variance = np.einsum("na,ab,nb->n", design, covariance, design)
    return mean.reshape(Y.shape), variance.reshape(Y.shape)


def pinned(noise, rows, cols):
    """Priors that leave no doubt about the variances."""
    sure = 1e7
    laws = (InverseGamma(sure, v * sure) for v in (noise, 1.0, rows, cols))
    return Priors(*laws, 25.0)


def test_rank_zero_is_the_additive_model_in_closed_form():
    _, data = low_rank((9, 7), rank=0, noise=0.5, missing=0.4, seed=4)
    priors = pinned(0.25, 0.3, 0.2)
    plan = Sampling(chains=48, anneal=0, settle=200, draws=40, thin=5)
    fitted = complete(data, 0, priors=priors, sampling=plan, seed=1)
    x = matrices(fitted)
    mean, variance = closed_form(data, priors)
    z, bound = largest_z(x.mean(1), mean)
    assert z < bound
    spread = ((x - mean) ** 2 / variance).mean((1, 2, 3))[:, None]
    z, bound = largest_z(spread, 1.0)
    assert z < bound
    # Negative controls: row effects shrunk a little differently; noise a tenth larger.
    z, bound = largest_z(x.mean(1), closed_form(data, pinned(0.25, 0.1, 0.2))[0])
    assert z > bound
    wrong_mean, wrong_variance = closed_form(data, pinned(0.3, 0.3, 0.2))
    z, bound = largest_z(((x - wrong_mean) ** 2 / wrong_variance).mean((1, 2, 3))[:, None], 1.0)
    assert z > bound


def test_the_truth_is_found_and_held():
    truth, data = low_rank((30, 20), rank=2, noise=0.1, missing=0.4, seed=6)
    fitted = complete(data, 2, seed=1)
    missing = np.isnan(data)
    low, high = fitted.interval(0.9)
    assert np.sqrt(np.mean((fitted.mean - truth)[missing] ** 2)) < 0.25
    assert 0.8 < np.mean(((low <= truth) & (truth <= high))[missing]) < 0.98
    assert fitted.noise_sd == pytest.approx(0.1, rel=0.25)


@pytest.mark.parametrize(
    ("shift", "scale"), [(0.0, 1e-9), (0.0, 1e9), (100.0, 1.0), (-3e5, 2.0), (0.0, 1e140), (0.0, 1e-140)]
)
def test_units_do_not_matter(shift, scale):
    """complete(a + b y) is a + b complete(y), for weak priors."""
    options = {"rank": 2, "sampling": SHORT, "seed": 1}
    plain, moved = complete(Y, **options), complete(shift + scale * Y, **options)
    rounding = 1e-9 * (1 + abs(shift) / scale)
    np.testing.assert_allclose((moved.mean - shift) / scale, plain.mean, atol=rounding)
    np.testing.assert_allclose(moved.sd / scale, plain.sd, atol=rounding)
    assert moved.noise_sd / scale == pytest.approx(plain.noise_sd, rel=1e-6)


@pytest.mark.parametrize("scale", [1e200, 1e-200])
def test_values_whose_variance_is_no_number_are_refused(scale):
    with pytest.raises(DataError, match="rescale"):
        complete(scale * Y, 1, sampling=SHORT, seed=1)


def test_student_noise_resists_outliers():
    truth, data = low_rank((20, 15), rank=1, noise=0.1, missing=0.3, seed=2)
    rng = np.random.default_rng(0)
    spoiled = np.where(rng.random(data.shape) < 0.05, data + rng.choice([-20, 20], data.shape), data)
    fits = {
        noise: complete(spoiled, 1, noise=noise, sampling=MANY, seed=1) for noise in ("gaussian", "student")
    }
    error = {noise: np.sqrt(np.mean((p.mean - truth) ** 2)) for noise, p in fits.items()}
    assert error["student"] < 0.3 * error["gaussian"]
    assert fits["student"].noise_sd < 0.2 * fits["gaussian"].noise_sd
    assert fits["student"].noise_df < 5
    assert fits["gaussian"].noise_df is None
    calm = complete(data, 1, noise="student", sampling=MANY, seed=1)
    assert calm.noise_df > 2 * fits["student"].noise_df


def test_without_effects_the_model_is_the_paper_s():
    fitted = complete(Y, 2, effects=False, priors=Priors.paper(), sampling=SHORT, seed=1)
    assert np.all(fitted.draws.row == 0)
    assert np.all(fitted.draws.col == 0)
    assert np.all(fitted.draws.mu == 0)
    assert fitted.fit.units == (0.0, 1.0)


# Edges


def sane(fitted):
    return bool(np.isfinite(fitted.mean).all() and np.isfinite(fitted.sd).all() and (fitted.sd >= 0).all())


@pytest.mark.parametrize("rank", ["auto", 0, 1])
def test_the_smallest_matrix(rank):
    fitted = complete([[1.0, 2.0], [3.0, np.nan]], rank, sampling=MANY, seed=1)
    assert sane(fitted)
    assert (
        fitted.predict(1, 1).sd > fitted.predict(0, 0).sd
    )  # 1.15 times (rank 0) or more; a ratio's error is 0.05
    assert "2 x 2" in repr(fitted)


@pytest.mark.parametrize("value", [0.0, 1e-9, 7.0, -1e9])
@pytest.mark.parametrize("rank", ["auto", 1])
def test_constant_data(value, rank):
    fitted = complete(np.full((5, 4), value), rank, sampling=SHORT, seed=1)
    assert sane(fitted)
    assert fitted.mean == pytest.approx(value, abs=abs(value) or 1.0)
    assert fitted.sd.max() < (abs(value) or 1.0)


@pytest.mark.parametrize("noise", ["gaussian", "student"])
def test_one_observation(noise):
    data = np.full((4, 3), np.nan)
    data[1, 2] = 5.0
    fitted = complete(data, 1, noise=noise, sampling=SHORT, seed=1)
    assert sane(fitted)
    assert fitted.predict(1, 2).sd < fitted.predict(0, 0).sd
    assert "1 measurements of 1 entries" in repr(fitted)


@pytest.mark.parametrize("rank", ["auto", 2])
def test_all_observed(rank):
    truth, data = low_rank(missing=0.0)
    fitted = complete(data, rank, sampling=MANY, seed=1)
    assert sane(fitted)
    assert np.sqrt(np.mean((fitted.mean - truth) ** 2)) < np.sqrt(np.mean((data - truth) ** 2))
    assert fitted.diagnostics.in_group("X unobserved").sum() == 0
    repr(fitted)


def test_rows_and_columns_never_measured_are_least_certain():
    data = Y.copy()
    data[3] = np.nan
    data[:, 5] = np.nan
    fitted = complete(data, 1, sampling=MANY, seed=1)
    assert sane(fitted)
    assert fitted.sd[3, 5] > np.quantile(fitted.sd, 0.9)


def test_single_precision_keeps_half_the_memory_and_the_same_chains():
    single, double = (complete(Y, 2, dtype=d, sampling=SHORT, seed=1) for d in (np.float32, np.float64))
    assert single.draws.left.dtype == single.draws.row.dtype == np.float32
    assert single.draws.mu.dtype == single.draws.eta2.dtype == np.float64
    np.testing.assert_allclose(single.mean, double.mean, atol=1e-5)
    np.testing.assert_allclose(single.sd, double.sd, atol=1e-5)
    assert single.mean.dtype == np.float64
    assert sane(single)


def test_a_matrix_of_ten_milliard_entries_is_used_through_predict():
    m, n = 100_000, 100_000
    rng = np.random.default_rng(0)
    rows, cols = rng.integers(0, m, n), rng.integers(0, m, n)
    rows[:5], cols[:5] = 77, [1, 2, 3, 4, 5]
    plan = Sampling(chains=2, anneal=2, settle=1, draws=4, thin=1)
    fitted = complete((rows, cols, rng.normal(size=n)), 1, shape=(m, m), sampling=plan, seed=1)
    for ask in (lambda: fitted.mean, lambda: fitted.sd, lambda: fitted.interval()):
        with pytest.raises(SizeError, match=r" 80 GB.*predict"):
            ask()
    with pytest.raises(SizeError, match=r" 640 GB.*predict"):  # of eight columns
        fitted.to_frame()
    found = fitted.predict(77, np.arange(1000))
    assert found.mean.shape == (1000,)
    assert np.isfinite(found.mean).all()
    assert "100000 x 100000" in repr(fitted)


# Refusals


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"noise": "laplace"},
            "noise must be 'auto', 'gaussian', 'student', 'columns' or 'rows', got 'laplace'",
        ),
        ({"sampling": "short"}, "sampling must be 'population', 'long' or a Sampling.*'short'"),
        ({"sampling": 5}, "sampling must be"),
        ({"threads": -1}, "threads must be a whole number of at least 1.*-1"),
        ({"threads": 0}, "threads must be"),
        ({"seed": -1}, "seed must be a whole number of at least 0.*-1"),
        ({"seed": 1.5}, "seed must be"),
        ({"seed": "a"}, "seed must be"),
        ({"dtype": int}, "dtype must be"),
        ({"dtype": np.float16}, "dtype must be"),
        ({"priors": "paper"}, "priors must be Priors"),
    ],
)
def test_options_that_do_not_exist_are_refused(options, message):
    with pytest.raises(ParameterError, match=message):
        complete(Y, 1, **({"sampling": SHORT} | options))


def test_data_that_cannot_be_used_are_refused():
    with pytest.raises(DataError):
        complete(np.full((3, 3), np.nan))
    with pytest.raises(DataError):
        complete(np.array([[1.0, np.inf], [2.0, 3.0]]))
    with pytest.raises(DataError):
        complete(np.ones((1, 5)))


@pytest.mark.parametrize("progress", [True, False])
def test_progress_goes_to_stderr_only_if_asked(capsys, progress):
    complete(Y, 1, sampling=SHORT, seed=1, progress=progress)
    out, err = capsys.readouterr()
    assert out == ""
    assert ("sampling" in err) == progress
