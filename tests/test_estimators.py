import pickle
import subprocess
import sys
import warnings
from dataclasses import replace

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy.sparse import csr_array
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.linear_model import Ridge
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import parametrize_with_checks

import maxentry
from maxentry import Sampling
from maxentry.errors import DataError, ParameterError, RankError
from maxentry.estimators import BayesianCompleter, NuclearNormCompleter

QUICK = Sampling(chains=4, anneal=20, settle=10, draws=5, thin=1)
PROPER = Sampling(chains=12, anneal=100, settle=50, draws=10, thin=3)

ESTIMATORS = [
    BayesianCompleter(rank=1, sampling=QUICK),
    NuclearNormCompleter(),
]
OTHER_PARAMETERS = [
    BayesianCompleter(),
    BayesianCompleter(rank=1, sampling=QUICK, noise="student", effects=False),
    NuclearNormCompleter(center=False),
]
both = pytest.mark.parametrize(
    "completer",
    [BayesianCompleter(rank=2, sampling=QUICK, random_state=0), NuclearNormCompleter(random_state=0)],
    ids=lambda completer: type(completer).__name__,
)


@parametrize_with_checks(ESTIMATORS)  # no expected failures
def test_scikit_learn_checks(estimator, check):
    check(estimator)


@pytest.mark.slow
@parametrize_with_checks(OTHER_PARAMETERS)
def test_scikit_learn_checks_with_other_parameters(estimator, check):
    check(estimator)


def rank_two(m1=60, m2=12, observed=0.7, seed=0):
    rng = np.random.default_rng(seed)
    X = 5 + rng.standard_normal((m1, 1)) + rng.standard_normal(m2)
    X += rng.standard_normal((m1, 2)) @ rng.standard_normal((2, m2))
    Y = X + 0.1 * rng.standard_normal(X.shape)
    Y[rng.random(X.shape) > observed] = np.nan
    return X, Y


@both
def test_fills_what_is_missing_and_nothing_else(completer):
    # scikit-learn's checks hardly ever have missing values, so its promises are looked at again here
    _, Y = rank_two()
    given = Y.copy()
    completer = clone(completer)
    filled = completer.fit_transform(Y)
    np.testing.assert_array_equal(Y, given)
    seen = ~np.isnan(Y)
    np.testing.assert_array_equal(filled[seen], Y[seen])
    assert np.isfinite(filled).all()
    np.testing.assert_array_equal(filled, clone(completer).fit(Y).transform(Y))
    np.testing.assert_array_equal(filled, pickle.loads(pickle.dumps(completer)).transform(Y))
    row_by_row = np.vstack([completer.transform(row[None]) for row in Y])
    np.testing.assert_allclose(row_by_row, filled, rtol=1e-12)
    np.testing.assert_allclose(completer.transform(Y[::-1])[::-1], filled, rtol=1e-12)
    narrow = completer.transform(Y.astype(np.float32))
    assert narrow.dtype == np.float32
    np.testing.assert_allclose(narrow, filled, rtol=1e-4)


@pytest.mark.parametrize(
    ("completer", "part"),  # of the error of column means; the nuclear norm shrinks what it finds
    [
        (BayesianCompleter(rank=2, sampling=PROPER, random_state=0), 0.1),
        (NuclearNormCompleter(random_state=0), 0.4),
    ],
    ids=["BayesianCompleter", "NuclearNormCompleter"],
)
def test_old_and_new_rows_are_filled_better_than_by_column_means(completer, part):
    X, Y = rank_two(m1=90)
    old, new = slice(0, 60), slice(60, 90)
    completer = clone(completer).fit(Y[old])
    for rows in (old, new):
        missing = np.isnan(Y[rows])
        means = np.broadcast_to(np.nanmean(Y[old], axis=0), missing.shape)
        filled, by_means = (
            np.sqrt(np.mean((Z - X[rows])[missing] ** 2)) for Z in (completer.transform(Y[rows]), means)
        )
        assert filled < part * by_means


def test_bayesian_completer_is_complete_with_the_same_seed():
    _, Y = rank_two()
    completer = BayesianCompleter(rank=2, sampling=QUICK, random_state=3).fit(Y)
    posterior = maxentry.complete(Y, 2, sampling=QUICK, seed=3)
    np.testing.assert_array_equal(completer.posterior_.mean, posterior.mean)
    assert completer.rank_ == 2
    by_state = [
        BayesianCompleter(rank=2, sampling=QUICK, random_state=np.random.RandomState(k)).fit_transform(Y)
        for k in (0, 0, 1)
    ]
    np.testing.assert_array_equal(by_state[0], by_state[1])
    assert not np.array_equal(by_state[0], by_state[2])


def test_sd_is_that_of_the_posterior_and_large_where_nothing_is_known():
    _, Y = rank_two()
    completer = BayesianCompleter(rank=2, sampling=PROPER, random_state=0).fit(Y)
    sd = completer.predict_sd(Y)
    # of 120 draws each: relative error of an sd about 1/sqrt(240), of a median of many far less
    assert abs(np.median(sd / completer.posterior_.sd) - 1) < 1 / np.sqrt(240)
    assert np.all(completer.predict_sd(np.full((1, 12), np.nan)) > 4 * np.median(sd))


@both
def test_a_column_without_observations_is_kept_and_a_row_gets_column_means(completer):
    _, Y = rank_two()
    Y[:, 4] = np.nan
    Y[7] = np.nan
    completer = clone(completer)
    if isinstance(completer, BayesianCompleter):
        # The mean over draws of what nothing is known of: fewer would be left to chance
        completer.set_params(sampling=replace(PROPER, draws=60))
    filled = completer.fit_transform(Y)
    assert filled.shape == Y.shape
    others = np.delete(filled, 4, axis=1)
    assert np.std(filled[:, 4]) > 0
    # the overall mean and the rows' effects: near the mean of each row's other entries
    assert np.corrcoef(filled[:, 4], others.mean(axis=1))[0, 1] > 0.9
    known = np.delete(np.arange(12), 4)
    rest = np.delete(filled, 7, axis=0)[:, known]
    error = np.abs(filled[7, known] - rest.mean(axis=0))
    assert np.all(error < 4 * rest.std(axis=0) / np.sqrt(len(rest)) + 0.1)


@both
def test_frames_keep_their_names(completer):
    _, Y = rank_two(m2=4)
    names = [f"sensor {j}" for j in range(4)]
    frame = pd.DataFrame(Y, columns=names, index=[f"day {i}" for i in range(len(Y))])
    completer = clone(completer).set_params(**({"rank": 1} if "rank" in completer.get_params() else {}))
    filled = completer.fit_transform(frame)
    assert list(completer.feature_names_in_) == list(completer.get_feature_names_out()) == names
    as_pandas = completer.set_output(transform="pandas").transform(frame)
    assert list(as_pandas.columns) == names
    assert list(as_pandas.index) == list(frame.index)
    np.testing.assert_array_equal(as_pandas, filled)
    as_polars = completer.set_output(transform="polars").transform(frame)
    assert isinstance(as_polars, pl.DataFrame)
    polars = clone(completer).set_output(transform="default").fit_transform(pl.from_pandas(frame))
    np.testing.assert_array_equal(polars, filled)
    with pytest.raises(ValueError, match="feature names"):
        completer.transform(frame[names[::-1]])


def test_the_posterior_knows_columns_by_name():
    _, Y = rank_two(m2=4)
    frame = pd.DataFrame(Y, columns=["a", "b", "c", "d"])
    posterior = BayesianCompleter(rank=1, sampling=QUICK, random_state=0).fit(frame).posterior_
    assert posterior.predict(0, "b").mean == pytest.approx(posterior.arrays.mean[0, 1])


def test_names_that_are_whole_numbers_are_kept_and_checked():
    _, Y = rank_two(m2=4)
    frame = pd.DataFrame(Y, columns=[11, 12, 13, 14])
    completer = BayesianCompleter(rank=1, sampling=QUICK, random_state=0).fit(frame)
    assert completer.posterior_.predict(0, 12).mean == pytest.approx(completer.posterior_.arrays.mean[0, 1])
    assert list(completer.transform(frame).columns) == [11, 12, 13, 14]
    assert list(completer.set_output(transform="pandas").transform(frame).columns) == [11, 12, 13, 14]
    assert completer.set_output(transform="polars").transform(frame).columns == ["11", "12", "13", "14"]
    with pytest.raises(DataError, match=r"expected the columns of fit in their order, .*11.*, got .*14"):
        completer.transform(frame[[14, 13, 12, 11]])
    completer.transform(Y)  # an array has no names


def test_columns_that_are_counted_from_zero_keep_their_order():
    _, Y = rank_two(m2=4)
    completer = NuclearNormCompleter(1.0).fit(pd.DataFrame(Y))
    with pytest.raises(DataError, match=r"in their order, .0, 1, 2, 3., got .3, 2, 1, 0."):
        completer.transform(pd.DataFrame(Y)[[3, 2, 1, 0]])
    completer.transform(pd.DataFrame(Y, columns=[11, 12, 13, 14]))  # of those fit knows nothing
    pairs = pd.MultiIndex.from_product([[1, 2], [3, 4]])
    assert [*NuclearNormCompleter(1.0).fit(pd.DataFrame(Y, columns=pairs)).get_feature_names_out()] == [
        *pairs
    ]


def test_a_column_may_have_no_name():
    _, Y = rank_two(m2=4)
    frame = pd.DataFrame(Y, columns=[11, 12, np.nan, 14])
    filled = NuclearNormCompleter(1.0).fit(frame).transform(frame)
    assert np.array_equal(filled, NuclearNormCompleter(1.0).fit_transform(Y))
    assert filled.columns.equals(frame.columns)


def test_a_series_is_refused_in_the_words_of_scikit_learn():
    _, Y = rank_two(m2=4)
    completer = NuclearNormCompleter(1.0)
    for fitted in (completer.fit, completer.fit(Y).transform):
        with pytest.raises(ValueError, match="2-dimensional"):
            fitted(pd.Series(Y[:, 0]))


@pytest.mark.parametrize("library", [pd, pl])
def test_a_column_of_labels_is_not_fitted_in_silence(library):
    _, Y = rank_two(m2=4)
    columns = {name: Y[:, j] for j, name in enumerate("abcd")}
    completer = BayesianCompleter(rank=1, sampling=QUICK, random_state=0)
    with pytest.raises(
        DataError, match="expected values in every column, got labels in 'user': make it the index"
    ):
        completer.fit(library.DataFrame({"user": [f"u{i}" for i in range(len(Y))]} | columns))
    with pytest.warns(
        UserWarning, match="the column 'user' has distinct whole numbers and is taken for values"
    ):
        completer.fit(library.DataFrame({"user": np.arange(100, 100 + len(Y))} | columns))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        completer.fit(library.DataFrame(columns))


def test_serves_in_a_pipeline_and_a_search():
    X, Y = rank_two()
    target = X.sum(axis=1)
    pipeline = make_pipeline(BayesianCompleter(sampling=QUICK, random_state=0), Ridge())
    search = GridSearchCV(pipeline, {"bayesiancompleter__rank": [0, 2]}, cv=3).fit(Y, target)
    assert search.best_params_ == {"bayesiancompleter__rank": 2}
    assert search.best_score_ > 0.9


@pytest.mark.parametrize(
    ("completer", "error", "message"),
    [
        (BayesianCompleter(rank=7), RankError, "at most 6"),
        (BayesianCompleter(rank="high"), RankError, "'auto' or a whole number"),
        (BayesianCompleter(noise="pink"), ParameterError, "'student', 'columns' or 'rows'"),
        (BayesianCompleter(sampling="short"), ParameterError, "'population', 'long'"),
        (BayesianCompleter(rank=1, random_state=-1), ParameterError, "at least 0, got -1"),
        (NuclearNormCompleter(penalty=-1.0), ParameterError, "positive penalty"),
        (NuclearNormCompleter(tol=2.0), ParameterError, "tol between 0 and 1"),
    ],
    ids=str,
)
def test_parameters_are_checked_in_fit(completer, error, message):
    _, Y = rank_two()
    with pytest.raises(error, match=message):
        completer.fit(Y)
    with pytest.raises(NotFittedError):
        completer.transform(Y)


@both
def test_refuses_what_it_cannot_read(completer):
    _, Y = rank_two()
    completer = clone(completer)
    with pytest.raises(DataError, match=r"dense array .* got a sparse matrix; use maxentry.complete"):
        completer.fit(csr_array(np.nan_to_num(Y)))
    with pytest.raises(DataError, match="at least one observation"):
        completer.fit(np.full((4, 4), np.nan))
    with pytest.raises(ValueError, match=r"1 sample\(s\).*minimum of 2"):
        completer.fit(Y[:1])
    with pytest.raises(ValueError, match=r"1 feature\(s\).*minimum of 2"):
        completer.fit(Y[:, :1])
    with pytest.raises(ValueError, match="infinity"):
        completer.fit(np.where(np.isnan(Y), np.inf, Y))
    with pytest.raises(ValueError, match="expecting 12 features"):
        completer.fit(Y).transform(Y[:, :5])


def test_nuclear_norm_says_when_it_stopped_early():
    _, Y = rank_two()
    with pytest.warns(ConvergenceWarning, match="raise max_iter"):
        NuclearNormCompleter(penalty=0.1, tol=1e-9, max_iter=1).fit(Y)


def in_a_new_interpreter(code):
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=250
    )
    return done.stdout


@pytest.mark.process
def test_scikit_learn_is_asked_for_only_where_needed():
    assert in_a_new_interpreter("import maxentry, sys; print('sklearn' in sys.modules)") == "False\n"
    without = (
        "import sys; sys.modules['sklearn'] = None\n"
        "from maxentry.errors import MissingDependencyError\n"
        "try:\n    import maxentry.estimators\n"
        "except MissingDependencyError as error:\n    print(error)\n"
    )
    assert "pip install 'maxentry[sklearn]'" in in_a_new_interpreter(without)


# Words and limits in cells of text


def test_words_and_limits_in_cells():
    _, Y = rank_two(20, 5)
    cut = float(np.nanquantile(Y, 0.3))
    cells = np.array(
        [[None if np.isnan(y) else f"<{cut}" if y < cut else y for y in row] for row in Y], dtype=object
    )
    below = np.less(Y, cut)
    ends = np.where(below, -np.inf, Y), np.where(below, cut, Y)
    completer = BayesianCompleter(rank=1, sampling=QUICK, random_state=0).fit(cells)
    expected = maxentry.complete(ends, 1, sampling=QUICK, seed=0)
    np.testing.assert_array_equal(completer.posterior_.mean, expected.mean)
    filled = completer.transform(cells)
    assert filled.dtype == np.float64
    seen = ~below & ~np.isnan(Y)
    np.testing.assert_array_equal(filled[seen], Y[seen])
    assert (filled[below] != cut).all()  # a limit is filled, like what is missing
    assert not np.isnan(filled).any()
    frame = pd.DataFrame(cells, columns=list("abcde"))
    np.testing.assert_array_equal(completer.fit(frame).transform(frame), filled)
    assert completer.predict_sd(frame).shape == Y.shape
    with pytest.raises(DataError, match="limits"):
        NuclearNormCompleter().fit(cells)
    with pytest.raises(DataError, match="expected plain values for the nuclear norm, got limits"):
        NuclearNormCompleter().fit(Y).transform(cells)


@pytest.mark.parametrize("library", [pd, pl, None])
def test_words_of_yes_and_no_and_of_grades(library):
    words = {
        "a": ["yes", "no", None, "yes"],
        "b": ["no", "no", "yes", None],
        "c": ["pass", "fail", "fail", "+"],
    }
    X = np.array([*words.values()], dtype=object).T if library is None else library.DataFrame(words)
    filled = np.asarray(BayesianCompleter(0, kind="yes/no", sampling=QUICK, random_state=0).fit_transform(X))
    assert filled[:, 2].tolist() == [1.0, 0.0, 0.0, 1.0]
    assert 0 < filled[2, 0] < 1
    flags = pd.DataFrame({"a": [True, False, None], "b": [False, None, True]})
    recognised = BayesianCompleter(0, sampling=QUICK, random_state=0).fit(flags)
    assert recognised.posterior_.likelihood.kind == "yes/no"
    assert 0 < recognised.transform(flags).loc[2, "a"] < 1
    graded = pd.DataFrame({"a": ["poor", "good", None], "b": ["fair", None, "good"]})
    levels = ["poor", "fair", "good"]
    completer = BayesianCompleter(0, kind="grades", levels=levels, sampling=QUICK, random_state=0)
    assert completer.fit_transform(graded)["a"].tolist()[:2] == [1.0, 3.0]
    with pytest.raises(DataError, match="expected one of poor, fair, good, got 'best'"):
        completer.transform(graded.replace("good", "best"))
