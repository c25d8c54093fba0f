"""The priors check themselves and mean what they say."""

import math

import numpy as np
import pytest
from scipy.stats import halfcauchy, invgamma, kstest, norm

from maxentry.errors import ParameterError, RankError
from maxentry.model.priors import HalfCauchy, InverseGamma, Priors


def test_draws_follow_the_inverse_gamma_law() -> None:
    law, rng = InverseGamma(9.0, 10.0), np.random.default_rng(0)
    draws = [law.draw(rng) for _ in range(4000)]
    assert kstest(draws, invgamma(9.0, scale=10.0).cdf).pvalue > 1e-3
    assert kstest(draws, invgamma(9.0, scale=9.0).cdf).pvalue < 1e-6  # negative control


def test_roots_of_draws_follow_the_half_cauchy_law() -> None:
    law, rng = HalfCauchy(0.7), np.random.default_rng(1)
    roots = np.sqrt([law.draw(rng) for _ in range(4000)])
    assert kstest(roots, halfcauchy(scale=0.7).cdf).pvalue > 1e-3
    assert kstest(roots, halfcauchy(scale=0.6).cdf).pvalue < 1e-6  # negative control


def test_the_mean_of_an_inverse_gamma() -> None:
    assert InverseGamma(9.0, 10.0).mean == pytest.approx(invgamma(9.0, scale=10.0).mean())
    assert InverseGamma(1.0, 1.0).mean == math.inf


@pytest.mark.parametrize("bad", [0.0, -1.0, math.nan, math.inf])
def test_numbers_that_are_no_variances_are_refused(bad: float) -> None:
    with pytest.raises(
        ParameterError, match="the shape of an inverse gamma must be a positive finite number"
    ):
        InverseGamma(bad, 1.0)
    with pytest.raises(
        ParameterError, match="the scale of an inverse gamma must be a positive finite number"
    ):
        InverseGamma(1.0, bad)
    ig = InverseGamma(1.0, 1.0)
    with pytest.raises(ParameterError, match="the prior variance of the overall mean"):
        Priors(ig, ig, ig, ig, bad)
    with pytest.raises(ParameterError, match="the width of a half-Cauchy law must be a positive finite"):
        HalfCauchy(bad)


def test_only_effects_may_be_half_cauchy() -> None:
    ig, wide = InverseGamma(1.0, 1.0), HalfCauchy(1.0)
    assert Priors(ig, ig, wide, ig, 1.0).rows == wide
    with pytest.raises(ParameterError, match=r"the prior of noise must be InverseGamma\(shape, scale\), got"):
        Priors(wide, ig, ig, ig, 1.0)  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match=r"of rows must be InverseGamma.* or HalfCauchy\(width\), got 1"):
        Priors(ig, ig, 1.0, ig, 1.0)  # type: ignore[arg-type]


def test_the_papers_priors() -> None:
    paper = Priors.paper()
    assert (paper.noise, paper.signal) == (InverseGamma(9.0, 1e-3), InverseGamma(9.0, 10.0))


@pytest.mark.parametrize(("shape", "rank"), [((30, 20), 3), ((1000, 7), 1), ((50, 40), 20)])
def test_weak_priors_put_half_of_unit_variance_on_the_entries_of_X(shape: tuple[int, int], rank: int) -> None:
    m1, m2 = shape
    signal = Priors.weak(shape, rank).signal
    assert signal.mean * rank**2 / (m1 * m2) == pytest.approx(0.5)  # Var x_ij = sigma2 R^2 / (m1 m2)
    assert signal.shape == 2.0  # the least whole shape with a mean: the variance is infinite


def test_weak_priors_of_noise_and_effects_weigh_little() -> None:
    """IG(a, b) counts as 2a observations of squared size b/a."""
    weak = Priors.weak((30, 20), 3)
    assert 2 * weak.noise.shape == 2.0
    assert weak.noise.scale / weak.noise.shape == pytest.approx(0.005)  # sd 0.07 of the spread of the data
    noise_sd = np.sqrt(invgamma(weak.noise.shape, scale=weak.noise.scale).ppf([0.05, 0.95]))
    assert noise_sd[0] < 0.05  # neither small noise is excluded
    assert noise_sd[1] > 0.3  # nor large
    assert weak.rows == weak.cols
    assert isinstance(weak.rows, HalfCauchy)
    assert weak.rows.width == pytest.approx(0.2)  # half of the mass below a fifth of the spread of the data
    assert Priors.weak((30, 20), 3, True).rows == HalfCauchy(0.3)
    assert weak.mu_var == 1.0


def test_probabilities_of_yes_are_about_uniform_a_priori() -> None:
    """With the priors of numbers nearly all were between 0.1 and 0.9: 450 answers did not undo that."""
    m1, m2, rank = 50, 30, 2
    beyond = {}
    for unit_noise in (False, True):
        weak, rng = Priors.weak((m1, m2), rank, unit_noise), np.random.default_rng(1)
        variance = [weak.signal.draw(rng) * rank**2 / (m1 * m2) for _ in range(20_000)]
        p = norm.cdf(np.sqrt(variance) * rng.standard_normal(20_000))
        beyond[unit_noise] = np.mean(np.abs(p - 0.5) > 0.4)
    assert 0.15 < beyond[True] < 0.3  # uniform: 0.2
    assert beyond[False] < 0.07
    assert Priors.weak((m1, m2), rank, True).mu_var == 4.0


def test_weak_priors_at_rank_zero_are_proper_and_a_negative_rank_is_refused() -> None:
    assert math.isfinite(Priors.weak((30, 20), 0).signal.mean)
    with pytest.raises(RankError, match="0 or more, got -1"):
        Priors.weak((30, 20), -1)
