import numpy as np
import pytest
from scipy.integrate import dblquad, quad
from scipy.stats import truncnorm
from tests.reference import algorithm2_laws as ql
from tests.reference.laws import ACCEPT, REJECT, ks, z_score

from maxentry.posterior.algorithm2 import draw_core

N = 4000


def integral(R, sigma2):
    """Integral of exp(log_density) of QL(0, sigma2) over the quadrant d >= 0."""
    top = 9 * np.sqrt(sigma2)

    def density(*d):
        return np.exp(ql.quadrant_log_density(np.array(d), np.zeros(R), sigma2))

    if R == 1:
        return quad(density, 0, top)[0]
    # twice the ordered part: the density has a kink on the diagonal
    return 2 * dblquad(density, 0, top, 0, lambda d: d, epsabs=1e-6)[0]


@pytest.mark.parametrize("sigma2", [0.5, 1.0, 4.0])
@pytest.mark.parametrize("R", [1, 2])
def test_the_centred_density_is_normalised(R, sigma2):
    assert np.log(integral(R, sigma2)) == pytest.approx(ql.quadrant_log_normaliser(R, sigma2), abs=1e-4)


def test_negative_control_the_printed_power_of_sigma_does_not_normalise():
    printed = ql.quadrant_log_normaliser(2, 1.0) + 2 / 2 * np.log(4.0)
    assert abs(np.log(integral(2, 4.0)) - printed) > 1


def test_centred_draws_match_the_density_and_the_moments():
    rng = np.random.default_rng(0)
    d = np.array([draw_core(2, 3.0, rng) for _ in range(N)])
    assert abs(z_score((d**2).sum(axis=1), 2**2 * 3.0)) < 4
    assert ks(d[:, 0], marginal(np.zeros(2), 3.0)) > ACCEPT
    assert ks(d[:, 0], d[:, 1]) > ACCEPT  # unordered
    assert ks(d[:, 0], marginal(np.zeros(2), 4.0)) < REJECT


def marginal(mu, delta2, repulsion=True):
    """Distribution function of d_1 under QL(mu, delta2) with R = 2, by summing the density over a grid."""
    x = np.linspace(0, max(0, mu.max()) + 8 * np.sqrt(delta2), 1500)
    gauss = np.exp(-0.5 * ((x[:, None] - mu) ** 2) / delta2)
    joint = gauss[:, None, 0] * gauss[None, :, 1]
    joint = joint * np.abs(x[:, None] ** 2 - x**2) if repulsion else joint
    cdf = np.cumsum(joint.sum(axis=1))
    return lambda v: np.interp(v, x + 0.5 * (x[1] - x[0]), cdf / cdf[-1])


def chain(mu, delta2, rng, n=N, thin=10):
    d, out = np.linspace(1, 2, mu.size), []
    for t in range(100 + n * thin):
        d = ql.quadrant_slice_step(d, mu, delta2, rng)
        if t >= 100 and t % thin == 0:
            out.append(d)
    return np.array(out)


@pytest.mark.parametrize("R", [1, 4])
def test_a_step_leaves_the_centred_law_invariant(R):
    rng = np.random.default_rng(1)
    after = np.array(
        [ql.quadrant_slice_step(draw_core(R, 2.0, rng), np.zeros(R), 2.0, rng) for _ in range(N)]
    )
    fresh = np.array([draw_core(R, 2.0, rng) for _ in range(N)])
    for statistic in (lambda d: d.max(axis=1), lambda d: d.min(axis=1), lambda d: d[:, 0]):
        assert ks(statistic(after), statistic(fresh)) > ACCEPT


def test_negative_control_a_step_for_another_variance_is_rejected():
    rng = np.random.default_rng(2)
    after = np.array(
        [ql.quadrant_slice_step(draw_core(2, 2.0, rng), np.zeros(2), 1.5, rng) for _ in range(N)]
    )
    fresh = np.array([draw_core(2, 2.0, rng) for _ in range(N)])
    assert ks(after.max(axis=1), fresh.max(axis=1)) < REJECT


@pytest.mark.parametrize("mu", [-3.0, pytest.param(20.0, marks=pytest.mark.slow)])
def test_one_value_is_a_truncated_normal(mu):
    draws = chain(np.array([mu]), 0.7, np.random.default_rng(3), thin=5)
    sd = np.sqrt(0.7)
    assert ks(draws, truncnorm(-mu / sd, np.inf, loc=mu, scale=sd).cdf) > ACCEPT


@pytest.mark.parametrize("mu", [(1.0, 1.2), pytest.param((2.0, -1.0), marks=pytest.mark.slow)])
def test_two_values_have_the_marginal_of_the_integrated_density(mu):
    mu = np.array(mu)
    draws = chain(mu, 0.5, np.random.default_rng(4))
    assert ks(draws[:, 0], marginal(mu, 0.5)) > ACCEPT
    assert ks(draws[:, 1], marginal(mu[::-1], 0.5)) > ACCEPT


def test_negative_control_without_the_repulsion_the_marginal_is_rejected():
    mu = np.array([1.0, 1.2])
    draws = chain(mu, 0.5, np.random.default_rng(5))
    assert ks(draws[:, 0], marginal(mu, 0.5, repulsion=False)) < REJECT
