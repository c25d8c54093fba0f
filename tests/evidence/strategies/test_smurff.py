"""SMURFF as a peer: where it runs, what is said where it does not, and what is made of its samples."""

import sys
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest
from tests.evidence.strategies.campaigns import some, told

from evidence.strategies import smurff
from evidence.strategies.rule import Request
from evidence.strategies.smurff import (
    SmurffFit,
    check_available,
    choose_most_varying,
    estimate_entries,
    find_interpreter,
    fit,
)
from maxentry.acquisition import Problem
from maxentry.errors import MissingDependencyError
from maxentry.transform import NONE

BESIDE = Path(__file__).parents[3] / ".venv-smurff" / "bin" / "python"
RNG = np.random.default_rng(0)
Y = RNG.normal(size=(12, 3)) @ RNG.normal(size=(3, 10)) + 0.05 * RNG.normal(size=(12, 10)) + 4.0


@pytest.fixture
def with_smurff(monkeypatch):
    """An interpreter that has SMURFF: the one named, this one, or that of the environment beside the repository."""
    try:
        check_available()
    except MissingDependencyError:
        if not BESIDE.exists():
            pytest.skip("SMURFF is not installed")
        monkeypatch.setenv(smurff.INTERPRETER, str(BESIDE))
    fit.cache_clear()


def a_fit(S=40):
    draws = np.random.default_rng(1).normal(size=(S, 6)) * np.array([1.0, 3.0, 0.5, 2.0, 0.1, 2.5])
    return SmurffFit(draws, np.array([[0, 1, 2], [3, 4, 5]]), np.full(S, 4.0))


def test_the_entries_whose_draws_vary_most_are_taken(monkeypatch):
    monkeypatch.setattr(smurff, "fit", lambda *_: a_fit())
    found = choose_most_varying(Request(None, Problem((2, 3)), 3, None, None), 2)
    assert list(zip(found.rows.tolist(), found.cols.tolist(), strict=True)) == [(0, 1), (1, 2), (1, 0)]


def test_intervals_are_of_measurements_where_the_matrix_is_real():
    i, j = np.array([0, 1]), np.array([2, 1])
    entry, new = (estimate_entries(a_fit(400), NONE, i, j, 0.9, noisy) for noisy in (False, True))
    np.testing.assert_allclose(entry.mean, a_fit(400).draws[:, [2, 4]].mean(0))
    np.testing.assert_allclose(entry.high - entry.low, 2 * 1.645 * np.array([0.5, 0.1]), rtol=0.2)
    np.testing.assert_allclose(new.high - new.low, 2 * 1.645 * np.sqrt(4 + np.array([0.25, 0.01])), rtol=0.2)


def test_without_smurff_a_sentence_says_how_to_have_it(monkeypatch):
    monkeypatch.delenv(smurff.INTERPRETER, raising=False)
    if find_spec("smurff") is not None:
        pytest.skip("SMURFF is installed here")
    with pytest.raises(MissingDependencyError, match="MAXENTRY_SMURFF_PYTHON"):
        find_interpreter()


@pytest.mark.process
@pytest.mark.parametrize("named", [sys.executable, "/no/such/python"])
def test_an_interpreter_without_it_is_named(monkeypatch, named):
    if named == sys.executable and find_spec("smurff") is not None:
        pytest.skip("SMURFF is installed here")
    monkeypatch.setenv(smurff.INTERPRETER, named)
    fit.cache_clear()
    with pytest.raises(MissingDependencyError, match="SMURFF"):
        check_available()
    with pytest.raises(MissingDependencyError, match="SMURFF"):
        fit(told(Y, some(Y, 40)), 3)


@pytest.mark.process
def test_its_mean_is_nearer_than_the_mean_of_all_and_its_draws_are_where_they_belong(with_smurff):
    entries = some(Y, 96)
    state = told(Y, entries)
    found = fit(state, 3)
    left_out = np.ones(Y.shape, dtype=bool)
    left_out[tuple(entries)] = False
    i, j = np.nonzero(left_out)
    mean = estimate_entries(found, NONE, i, j, 0.9, True).mean
    error = np.sqrt(np.mean((mean - Y[i, j]) ** 2))
    assert error < 0.5 * Y[i, j].std()
    moved = mean[np.random.default_rng(2).permutation(len(mean))]
    assert (
        np.sqrt(np.mean((moved - Y[i, j]) ** 2)) > 0.8 * Y[i, j].std()
    )  # the same numbers elsewhere are no estimate
    fit.cache_clear()
    np.testing.assert_array_equal(fit(told(Y, entries), 3).draws, found.draws)  # a function of the state
