"""R-hat and ESS agree with ArviZ; for many short chains, where those say nothing, others do."""

import warnings

import numpy as np
import pytest

from maxentry.posterior.diagnostics import ess_between, ess_bulk, ess_tail, split_rhat


@pytest.fixture(scope="module")
def az():
    """ArviZ, which takes seconds to load."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return pytest.importorskip("arviz")


def ar1(rng, chains, n, quantities, phi):
    """Stationary AR(1) chains with unit variance."""
    x = rng.normal(size=(chains, n, quantities))
    for t in range(1, n):
        x[:, t] = phi * x[:, t - 1] + np.sqrt(1 - phi**2) * x[:, t]
    return x


SHAPES = [(4, 100), (3, 5), (2, 4), (48, 6), (48, 9), (7, 23), (1, 51)]
DISTORTIONS = {
    "plain": lambda x, rng: x,
    "ties": lambda x, rng: np.round(2 * x),
    "chains apart": lambda x, rng: x + 3 * rng.normal(size=(len(x), 1, 1)),
    "scales apart": lambda x, rng: x * np.exp(rng.normal(size=(len(x), 1, 1))),
    "two values": lambda x, rng: (x > 0).astype(float),
}


@pytest.mark.parametrize("distortion", DISTORTIONS)
@pytest.mark.parametrize(("chains", "n"), SHAPES)
def test_agreement_with_arviz(chains, n, distortion, az):
    rng = np.random.default_rng(n)
    for phi in (-0.8, 0.0, 0.9):
        x = DISTORTIONS[distortion](ar1(rng, chains, n, 3, phi), rng)
        ours = split_rhat(x), ess_bulk(x), ess_tail(x)
        for q in range(x.shape[2]):
            with np.errstate(all="ignore"):
                theirs = (
                    az.rhat(x[..., q]),
                    az.ess(x[..., q], method="bulk"),
                    az.ess(x[..., q], method="tail"),
                )
            assert np.allclose([s[q] for s in ours], theirs, rtol=1e-9, atol=0, equal_nan=True), (phi, q)


def test_any_trailing_shape():
    x = ar1(np.random.default_rng(0), 4, 60, 6, 0.5)
    for statistic in (split_rhat, ess_bulk, ess_tail):
        assert np.array_equal(statistic(x.reshape(4, 60, 2, 3)), statistic(x).reshape(2, 3))
        assert statistic(x[..., 0]).shape == ()


def test_blocks_do_not_show(monkeypatch):
    x = ar1(np.random.default_rng(0), 4, 60, 7, 0.5)
    whole = split_rhat(x), ess_bulk(x), ess_tail(x)
    monkeypatch.setattr("maxentry.posterior.diagnostics._BLOCK_VALUES", 4 * 60 * 3)
    assert np.array_equal(whole, (split_rhat(x), ess_bulk(x), ess_tail(x)))


def test_too_little_to_say():
    x = np.random.default_rng(0).normal(size=(4, 3, 2))
    for statistic in (split_rhat, ess_bulk, ess_tail):
        assert np.isnan(statistic(x)).all()
    one = np.random.default_rng(0).normal(size=(1, 50, 2))
    assert np.isnan(split_rhat(one)).all()
    assert np.isfinite(ess_bulk(one)).all()
    assert np.isnan(ess_between(one)).all()


def test_constant_quantities_and_stuck_chains():
    constant = np.full((4, 21, 1), 0.1)
    assert np.isnan(split_rhat(constant)).all()
    assert ess_bulk(constant) == ess_tail(constant) == 80  # the middle of 21 draws is left out
    stuck = np.random.default_rng(0).normal(size=(4, 1, 1)) + np.zeros((4, 21, 1))
    assert np.isposinf(split_rhat(stuck)).all()
    assert ess_between(stuck)[0] == pytest.approx(4)


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_a_draw_that_is_not_finite_spoils_its_quantity_only(value):
    x = ar1(np.random.default_rng(0), 4, 50, 3, 0.5)
    clean = split_rhat(x)
    x[2, 7, 1] = value
    for statistic in (split_rhat, ess_bulk, ess_tail):
        assert np.array_equal(np.isnan(statistic(x)), [False, True, False])
    assert np.array_equal(split_rhat(x)[[0, 2]], clean[[0, 2]])


def test_ess_between_is_the_true_one_for_short_chains_and_geyers_is_not():
    chains, n, phi = 48, 8, 0.9
    lag = np.arange(n)
    variance_of_mean = (phi ** np.abs(lag[:, None] - lag)).mean()
    truth = chains / variance_of_mean
    x = ar1(np.random.default_rng(0), chains, n, 400, phi)
    bulk, tail = ess_between(x)
    # A relative sd of sqrt(2/47) = 0.21 a quantity: 0.013 for the median of 400, a bias of the same order.
    assert np.median(bulk) == pytest.approx(truth, rel=0.06)
    assert (bulk >= chains).all()
    assert (tail >= chains).all()
    assert np.median(ess_bulk(x)) > 10 * truth
