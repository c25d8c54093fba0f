"""The priors check themselves and mean what they say."""

import math

import numpy as np
import pytest
from scipy.stats import invgamma, kstest

from maxentry.errors import ParameterError, RankError
from maxentry.model.priors import InverseGamma, Priors


def test_draws_follow_the_inverse_gamma_law() -> None:
    law, rng = InverseGamma(9.0, 10.0), np.random.default_rng(0)
    draws = [law.draw(rng) for _ in range(4000)]
    assert kstest(draws, invgamma(9.0, scale=10.0).cdf).pvalue > 1e-3
    assert kstest(draws, invgamma(9.0, scale=9.0).cdf).pvalue < 1e-6  # negative control


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


def test_the_papers_priors() -> None:
    paper = Priors.paper()
    assert (paper.noise, paper.signal) == (InverseGamma(9.0, 1e-3), InverseGamma(9.0, 10.0))


@pytest.mark.parametrize(("shape", "rank"), [((30, 20), 3), ((1000, 7), 1)])
def test_weak_priors_put_the_asked_share_of_unit_variance_on_the_signal(
    shape: tuple[int, int], rank: int
) -> None:
    priors = Priors.weak(shape, rank, share=0.4, noise=0.3, effects=0.2)
    entry_variance = priors.signal.mean * rank**2 / (shape[0] * shape[1])
    assert entry_variance == pytest.approx(0.4)
    assert priors.noise.mean == pytest.approx(0.3)
    assert priors.rows.mean == priors.cols.mean == pytest.approx(0.2)


def test_weak_priors_at_rank_zero_are_proper_and_a_negative_rank_is_refused() -> None:
    assert math.isfinite(Priors.weak((30, 20), 0).signal.mean)
    with pytest.raises(RankError, match="0 or more, got -1"):
        Priors.weak((30, 20), -1)
