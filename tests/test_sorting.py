"""Many measurements are sorted by compiled code, in the order that the obvious sort has."""

import numpy as np
import pytest
from tests.reference.sorting_slow import sort_slow

from maxentry import Observations, observations
from maxentry.kernels import sorting


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize(("n", "n_keys"), [(1, 1), (60, 4), (60, 50), (60, 200)])
def test_a_counting_sort_is_stable_whatever_the_number_of_threads(monkeypatch, threads, n, n_keys):
    monkeypatch.setattr(sorting, "max_threads", lambda: threads)
    rng = np.random.default_rng(n_keys)
    keys, values = rng.integers(n_keys, size=n), rng.standard_normal(n)
    sort, twin = sorting.CountingSort(keys, n_keys), sort_slow(keys, n_keys)
    assert sort.order.tolist() == twin
    assert sort.arrange(values).tolist() == values[twin].tolist()
    assert sort.arrange(keys).tolist() == sorted(keys)


def test_many_measurements_stand_as_few_do(monkeypatch):
    rng = np.random.default_rng(0)
    rows, cols = rng.integers(30, size=400), rng.integers(20, size=400)
    values = np.where(rng.random(400) < 0.1, np.nan, rng.standard_normal(400))
    few = Observations((30, 20), rows, cols, values)
    monkeypatch.setattr(observations, "LARGE", 1)
    many = Observations((30, 20), rows, cols, values)
    for name in ("rows", "cols", "values"):
        np.testing.assert_array_equal(getattr(many, name), getattr(few, name))
    for one, other in zip(many.halves(many.values), (few.by_row, few.by_col), strict=True):
        for name in ("indptr", "index", "values", "source"):
            np.testing.assert_array_equal(getattr(one, name), getattr(other, name))
            assert getattr(one, name).dtype == getattr(other, name).dtype
