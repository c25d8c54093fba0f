"""MAXENTRY_THREADS bounds the threads of whoever does not say how many."""

import os
from concurrent.futures import ThreadPoolExecutor

import pytest
from tests.posterior.examples import SHORT, equal, low_rank

from maxentry import complete
from maxentry._io import max_threads
from maxentry.errors import ParameterError
from maxentry.posterior import chains

Y = low_rank()[1]


@pytest.fixture
def used(monkeypatch):
    """The numbers of threads that chains were run on."""
    numbers = []

    def pool(n):
        numbers.append(n)
        return ThreadPoolExecutor(n)

    monkeypatch.setattr(chains, "ThreadPoolExecutor", pool)
    return numbers


def test_the_environment_bounds_the_threads_of_chains(monkeypatch, used):
    monkeypatch.delenv("MAXENTRY_THREADS", raising=False)
    monkeypatch.setattr(os, "cpu_count", lambda: 7)
    free = complete(Y, 1, sampling=SHORT, seed=1)
    monkeypatch.setenv("MAXENTRY_THREADS", "3")
    bounded = complete(Y, 1, sampling=SHORT, seed=1)
    complete(Y, 1, sampling=SHORT, seed=1, threads=2)  # who says how many is asked nothing
    assert used == [7, 3, 2]
    assert equal(free, bounded)


def test_an_empty_bound_is_none(monkeypatch):
    monkeypatch.setattr(os, "cpu_count", lambda: 5)
    monkeypatch.setenv("MAXENTRY_THREADS", " ")
    assert max_threads() == 5


@pytest.mark.parametrize("wish", ["0", "-1", "two", "1.5", "²"])
def test_a_bound_that_is_no_number_is_refused(monkeypatch, wish):
    monkeypatch.setenv("MAXENTRY_THREADS", wish)
    with pytest.raises(ParameterError, match="MAXENTRY_THREADS must be a whole number of at least 1"):
        complete(Y, 1, sampling=SHORT)
