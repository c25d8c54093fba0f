"""Values of another order of magnitude: every loop ends, and a refusal names the entry."""

import numpy as np
import pytest

import maxentry
from maxentry import complete
from maxentry.errors import DataError, ParameterError
from maxentry.kernels import algorithm2
from maxentry.kernels.gauge import orthonormalise
from maxentry.model.priors import Priors


@pytest.fixture(scope="module")
def table() -> np.ndarray:
    rng = np.random.default_rng(0)
    values = rng.normal(size=(8, 6))
    values[rng.random(values.shape) < 0.3] = np.nan
    return values


@pytest.fixture(scope="module")
def start(table: np.ndarray) -> maxentry.Posterior:
    return complete(table, rank=1, seed=0, progress=False)


@pytest.mark.parametrize("extreme", [1e300, -1e160, 1e30, 1e9])
def test_a_warm_start_refuses_another_magnitude_and_names_the_entry(table, start, extreme: float) -> None:
    data = table.copy()
    data[3, 3] = extreme
    with pytest.raises(DataError, match=r"in row 3, column 3; correct the value, or leave start= out"):
        complete(data, start=start, seed=1, progress=False)


def test_a_warm_start_takes_what_its_units_can_hold(table, start) -> None:
    data = table.copy()
    data[3, 3] = 1e4
    assert np.isfinite(complete(data, start=start, seed=1, progress=False).mean).all()


def test_a_cold_start_names_the_entry_that_is_too_large(table) -> None:
    data = table.copy()
    data[3, 3] = 1e300
    with pytest.raises(DataError, match=r"spread between 1e-150 and 1e150, got .*1e\+300 in row 3, column 3"):
        complete(data, rank=1, seed=1, progress=False)


def test_priors_of_another_size_than_the_values_are_refused(table) -> None:
    with pytest.raises(ParameterError, match="priors and the values must be of like size"):
        complete(table * 1e200, rank=1, priors=Priors.paper(), seed=1, progress=False)


def test_the_change_of_gauge_ends_on_nan_and_infinity() -> None:
    for bad in (np.nan, np.inf):
        frame = np.zeros((5, 8))
        frame[:, :2] = np.random.default_rng(1).normal(size=(5, 2))
        frame[2, 1] = bad
        orthonormalise(frame, 2, np.ones(5), np.empty((2, 2)))
        assert not np.isfinite(frame[:, :2]).all()


def test_slices_and_rejections_end_on_nan() -> None:
    rng = np.random.default_rng(2)
    d = np.array([1.0, 2.0])
    algorithm2.slice_step(d, np.array([np.nan, np.nan]), 1.0, rng)
    assert list(d) == [1.0, 2.0]  # nothing is accepted
    algorithm2.draw_cosine_defect(np.nan, 3, rng)
