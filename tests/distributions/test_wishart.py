import numpy as np
import pytest
from scipy.stats import wishart as scipy_wishart
from tests.reference.laws import ACCEPT, REJECT, ks, z_score

from maxentry.kernels.rng import fill_bartlett

N = 5000
SCALE = np.array([[2.0, 0.6, 0.0], [0.6, 1.0, -0.3], [0.0, -0.3, 0.5]])


def draws(df, seed=0):
    rng, T = np.random.default_rng(seed), np.empty((N, 3, 3))
    for t in T:
        fill_bartlett(df, t, rng)
    factor = np.linalg.cholesky(SCALE) @ T
    return factor @ factor.mT


def statistics(S):
    return S[:, 0, 0], S[:, 0, 1], S[:, 2, 2], np.linalg.slogdet(S)[1]


@pytest.mark.parametrize("df", [2.2, 3.0, 11.7])
def test_draws_have_the_law_of_scipy(df):
    theirs = scipy_wishart(df, SCALE).rvs(N, random_state=1)
    for a, b in zip(statistics(draws(df)), statistics(theirs), strict=True):
        assert ks(a, b) > ACCEPT


@pytest.mark.parametrize("df", [2.2, 11.7])
def test_the_mean_is_df_times_the_scale(df):
    assert np.abs(z_score(draws(df, seed=3), df * SCALE)).max() < 4.5


def test_integer_df_is_a_sum_of_outer_products():
    rng = np.random.default_rng(4)
    Z = rng.multivariate_normal(np.zeros(3), SCALE, size=(N, 4))
    for a, b in zip(statistics(draws(4, seed=5)), statistics(Z.mT @ Z), strict=True):
        assert ks(a, b) > ACCEPT


def test_negative_control_wrong_df_is_rejected():
    theirs = scipy_wishart(5, SCALE).rvs(N, random_state=1)
    assert (
        max(ks(a, b) for a, b in zip(statistics(draws(6))[::2], statistics(theirs)[::2], strict=True))
        < REJECT
    )
    assert np.abs(z_score(draws(6), 5 * SCALE)).max() > 6
