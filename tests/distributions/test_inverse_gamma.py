import numpy as np
import pytest
from scipy.stats import invgamma, norm
from tests.reference.laws import ACCEPT, REJECT, ks, z_score

from maxentry.errors import ParameterError
from maxentry.kernels import rng as kernel
from maxentry.model.priors import InverseGamma

N = 5000


def draws(shape, scale, seed):
    rng = np.random.default_rng(seed)
    return [InverseGamma(shape, scale).draw(rng) for _ in range(N)]


@pytest.mark.parametrize(("a", "b"), [(0.7, 2.0), (9.0, 1e-3), (9.0, 10.0)])
def test_draws_have_the_law_of_scipy(a, b):
    rng = np.random.default_rng(0)
    theirs = invgamma(a, scale=b)
    assert ks(draws(a, b, 0), theirs.cdf) > ACCEPT
    assert ks([kernel.draw_inverse_gamma(a, b, rng) for _ in range(N)], theirs.cdf) > ACCEPT


def test_the_mean_is_scale_over_shape_less_one():
    assert abs(z_score(draws(9, 4.0, 1), 0.5)) < 4


def test_negative_control_a_rate_in_place_of_the_scale_is_rejected():
    assert ks(draws(9, 1 / 2.0, 2), invgamma(9, scale=2.0).cdf) < REJECT


def test_the_compiled_normals_are_normal():
    x = np.empty((50, 4, 25))
    kernel.fill_normal(x, np.random.default_rng(3))
    assert ks(x, norm.cdf) > ACCEPT
    assert ks(x + 0.1, norm.cdf) < REJECT


@pytest.mark.parametrize(("a", "b"), [(0, 1), (1, -1), (np.nan, 1), (1, np.inf)])
def test_bad_parameters_are_refused(a, b):
    with pytest.raises(ParameterError, match="positive finite"):
        InverseGamma(a, b)
