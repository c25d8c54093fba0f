"""Algorithm 2, corrected, samples the posterior: joint tests (Geweke 2004), weighted draws, slow twin."""

import numpy as np
import pytest
from scipy.special import logsumexp
from tests.reference import algorithm2_slow as slow
from tests.reference.chains import mean_and_error, z_between

from maxentry.errors import DataError, ParameterError, RankError
from maxentry.model.priors import InverseGamma, Priors
from maxentry.posterior import algorithm2

EFFECTS = InverseGamma(2.0, 1.0)
PRIORS = Priors(InverseGamma(5.0, 0.4), InverseGamma(6.0, 5.0), EFFECTS, EFFECTS, 1.0)
PASS, FAIL = 4.0, 6.0  # largest |z| of a right sampler; a wrong one must exceed FAIL


def prior_draws(n, shape, R, priors, rng):
    """X, sigma2, eta2 from the prior, by X = U M V' with a Gaussian core: no quadrant law involved."""
    sigma2 = priors.signal.scale / rng.standard_gamma(priors.signal.shape, n)
    eta2 = priors.noise.scale / rng.standard_gamma(priors.noise.shape, n)
    U, V = (np.linalg.qr(rng.standard_normal((n, m, R)))[0] for m in shape)
    signs = rng.choice([-1.0, 1.0], size=(n, 1, R))
    M = np.sqrt(sigma2)[:, None, None] * rng.standard_normal((n, R, R))
    return U * signs @ M @ V.mT, sigma2, eta2


def statistics(X, y, sigma2, eta2):
    """Moments of everything, and the dependence of X on eta2 (none a priori), where slip 2 shows."""
    x, total = X[:, 0, 0], (X**2).sum(axis=(1, 2))
    together = np.log(eta2 / PRIORS.noise.mean) * np.log(total)
    return np.stack(
        [eta2, np.log(eta2), sigma2, np.log(sigma2), total, x, x**2, y, y**2, x * y, together], axis=1
    )


def marginal_conditional(n, shape, R, rng):
    X, sigma2, eta2 = prior_draws(n, shape, R, PRIORS, rng)
    y = X[:, 0, 0] + np.sqrt(eta2) * rng.standard_normal(n)
    return statistics(X, y, sigma2, eta2)


def successive_conditional(n, step, state, i, j, rng):
    """Alternate measurements given the state with a sweep given the measurements; (i_0, j_0) = (0, 0)."""
    out = []
    for _ in range(n):
        X = slow.x_of(state)
        y = X[i, j] + np.sqrt(state.eta2) * rng.standard_normal(i.size)
        out.append((X, y[0], state.sigma2, state.eta2))
        state = step(state, y)
    X, y, sigma2, eta2 = map(np.array, zip(*out, strict=True))
    return statistics(X, y, sigma2, eta2)


def positions(shape, rng, replicates=0):
    """Half of the entries, (0, 0) among them, and the first of them `replicates` times more."""
    flat = np.concatenate([[0], 1 + rng.permutation(shape[0] * shape[1] - 1)[: shape[0] * shape[1] // 2 - 1]])
    return np.divmod(np.concatenate([flat, flat[:replicates], flat[:replicates]]), shape[1])


def start(shape, R, rng):
    return algorithm2.init(algorithm2.entry_means([], [], [], shape), R, PRIORS, rng)


def joint_test(shape, R, n, seed, slips=None, replicates=0):
    """Largest |z| between the two simulators of the joint law; slips=None is the compiled sweep."""
    rng = np.random.default_rng(seed)
    i, j = positions(shape, rng, replicates)

    def compiled(state, y):
        return algorithm2.step(state, algorithm2.entry_means(i, j, y, shape), PRIORS, rng)

    def reference(state, y):
        full, mask = np.zeros(shape), np.zeros(shape, dtype=bool)
        full[i, j], mask[i, j] = y, True
        return slow.sweep(state, full, mask, PRIORS, rng, slips)

    chain = successive_conditional(
        n, compiled if slips is None else reference, start(shape, R, rng), i, j, rng
    )
    return np.abs(z_between(chain, marginal_conditional(max(n, 40_000), shape, R, rng))).max()


CASES = [((4, 3), 1, 0), ((5, 4), 2, 0), ((4, 3), 1, 2), ((5, 4), 2, 3)]


@pytest.mark.parametrize(("shape", "R", "replicates"), CASES[-1:])
def test_the_compiled_sweep_passes_the_joint_test(shape, R, replicates):
    assert joint_test(shape, R, 10_000, seed=1, replicates=replicates) < PASS


@pytest.mark.slow
@pytest.mark.parametrize(("shape", "R", "replicates"), CASES)
def test_the_compiled_sweep_passes_a_long_joint_test(shape, R, replicates):
    assert joint_test(shape, R, 150_000, seed=3, replicates=replicates) < PASS


@pytest.mark.slow
def test_the_slow_twin_passes_the_joint_test():
    assert joint_test((5, 4), 2, 5_000, seed=2, slips=()) < PASS


@pytest.mark.parametrize("slip", [1, pytest.param(3, marks=pytest.mark.slow)])
def test_negative_control_slips_of_the_paper_fail_the_joint_test(slip):
    assert joint_test((5, 4), 2, 5_000, seed=2, slips=(slip,)) > FAIL


@pytest.mark.slow
def test_negative_control_slip_2_fails_a_longer_joint_test_that_the_twin_passes():
    assert joint_test((2, 2), 1, 50_000, seed=4, slips=()) < PASS
    assert joint_test((2, 2), 1, 50_000, seed=4, slips=(2,)) > FAIL


def posterior_by_weights(i, j, y, shape, R, rng, n=200_000):
    """Posterior means by weighting prior draws with the likelihood, and their standard errors."""
    X, sigma2, eta2 = prior_draws(n, shape, R, PRIORS, rng)
    log_w = -0.5 * ((y - X[:, i, j]) ** 2).sum(axis=1) / eta2 - 0.5 * y.size * np.log(eta2)
    w = np.exp(log_w - logsumexp(log_w))
    assert 1 / (w**2).sum() > 2000  # effective draws
    values = np.column_stack([X.reshape(n, -1), np.log(sigma2), np.log(eta2)])
    mean = w @ values
    return mean, np.sqrt(w**2 @ (values - mean) ** 2)


def chain_values(draws):
    X = draws.A @ draws.V.mT
    return np.column_stack([X.reshape(len(X), -1), np.log(draws.sigma2), np.log(draws.eta2)])


@pytest.mark.parametrize("R", [pytest.param(1, marks=pytest.mark.slow), 2])
def test_the_posterior_is_that_of_weighted_prior_draws(R):
    shape, rng = (4, 3), np.random.default_rng(5)
    i, j = np.array([0, 0, 1, 2, 3, 3, 3]), np.array([0, 1, 1, 2, 0, 0, 0])  # (3, 0) three times
    y = np.array([0.5, -0.2, 0.3, 0.1, 0.2, 0.6, 0.4])
    expected, error = posterior_by_weights(i, j, y, shape, R, rng)
    draws = algorithm2.sample(i, j, y, shape, R, PRIORS, 100_000, rng, thin=5)
    mean, own_error = mean_and_error(chain_values(draws)[200:])
    assert np.abs((mean - expected) / np.hypot(error, own_error)).max() < PASS

    once = algorithm2.sample(i[:5], j[:5], y[:5], shape, R, PRIORS, 100_000, rng, thin=5)
    mean, own_error = mean_and_error(chain_values(once)[200:])  # control: the replicates forgotten
    assert np.abs((mean - expected) / np.hypot(error, own_error)).max() > FAIL


@pytest.mark.slow
@pytest.mark.parametrize(("shape", "R", "n"), [((4, 3), 1, 60_000), ((6, 5), 2, 30_000)])
def test_the_compiled_chain_and_the_slow_twin_agree(shape, R, n):
    rng = np.random.default_rng(6)
    i, j = positions(shape, rng)
    y = prior_draws(1, shape, R, PRIORS, rng)[0][0, i, j] + 0.3 * rng.standard_normal(i.size)
    fast = chain_values(algorithm2.sample(i, j, y, shape, R, PRIORS, 10 * n, rng, thin=10))
    full, mask = np.zeros(shape), np.zeros(shape, dtype=bool)
    full[i, j], mask[i, j] = y, True

    def twin(slips):
        state, out = start(shape, R, rng), []
        for _ in range(n):
            state = slow.sweep(state, full, mask, PRIORS, rng, slips)
            out.append([*slow.x_of(state).ravel(), np.log(state.sigma2), np.log(state.eta2)])
        return np.array(out)

    assert np.abs(z_between(fast[100:], twin(())[500:])).max() < PASS
    assert np.abs(z_between(fast[100:], twin((3,))[500:])).max() > FAIL


def test_a_sweep_keeps_its_conventions_and_its_argument():
    rng = np.random.default_rng(7)
    data = algorithm2.entry_means([0, 1, 5], [0, 1, 3], [1.0, 2.0, -1.0], (6, 5))
    state = before = algorithm2.init(data, 2, PRIORS, rng)
    kept = [np.copy(part) for part in before]
    for _ in range(200):
        state = algorithm2.step(state, data, PRIORS, rng)
    for frame in (state.U, state.V):
        np.testing.assert_allclose(frame.T @ frame, np.eye(2), atol=1e-13)
    assert (state.D >= 0).all()
    assert state.sigma2 > 0
    assert state.eta2 > 0
    assert all(np.array_equal(a, b) for a, b in zip(before, kept, strict=True))


def test_the_start_is_the_completion():
    rng = np.random.default_rng(8)
    X0 = rng.standard_normal((6, 2)) @ rng.standard_normal((2, 5))
    data = algorithm2.entry_means([0, 1, 5], [0, 1, 3], X0[[0, 1, 5], [0, 1, 3]], (6, 5))
    state = algorithm2.init(data, 2, PRIORS, rng, X0)
    np.testing.assert_allclose(slow.x_of(state), X0, atol=1e-4)
    for poor in (np.zeros((6, 5)), np.outer(X0[:, 0], X0[0]), np.eye(6, 5)):  # fewer than R, or tied
        state = algorithm2.init(data, 3, PRIORS, rng, poor)
        assert (np.diff(state.D) < 0).all()
        assert algorithm2.step(state, data, PRIORS, rng).eta2 > 0


def test_the_same_seed_gives_the_same_draws_in_one_run_or_in_two():
    data = algorithm2.entry_means([0, 1, 3], [0, 1, 2], [1.0, 2.0, -1.0], (4, 3))
    state = algorithm2.init(data, 2, PRIORS, np.random.default_rng(9))
    rng = np.random.default_rng(10)
    middle, first = algorithm2.sweeps(state, data, PRIORS, 6, rng, thin=2)
    _, second = algorithm2.sweeps(middle, data, PRIORS, 4, rng, thin=2)
    _, whole = algorithm2.sweeps(state, data, PRIORS, 10, np.random.default_rng(10), thin=2)
    for a, b, c in zip(first, second, whole, strict=True):
        np.testing.assert_array_equal(np.concatenate([a, b]), c)
    assert whole.A.shape == (5, 4, 2)


def test_replicates_become_sufficient_statistics():
    data = algorithm2.entry_means([0, 1, 0], [0, 1, 0], [1.0, 5.0, 4.0], (2, 2))
    np.testing.assert_array_equal(data.mean, [[2.5, 0], [0, 5]])
    np.testing.assert_array_equal(data.counts, [[2, 0], [0, 1]])
    assert data.within == pytest.approx(4.5)


def test_bad_input_is_refused():
    rng = np.random.default_rng(0)
    data = algorithm2.entry_means([0], [0], [1.0], (4, 3))
    with pytest.raises(RankError, match=r"1\.\.3, got 4"):
        algorithm2.init(data, 4, PRIORS, rng)
    with pytest.raises(DataError, match="4 x 3"):
        algorithm2.init(data, 2, PRIORS, rng, np.zeros((3, 4)))
    with pytest.raises(DataError, match="one length"):
        algorithm2.entry_means([0, 1], [0], [1.0], (4, 3))
    with pytest.raises(DataError, match="finite"):
        algorithm2.entry_means([0], [0], [np.nan], (4, 3))
    with pytest.raises(DataError, match=r"column indices must lie in 0\.\.2"):
        algorithm2.entry_means([0], [3], [1.0], (4, 3))
    with pytest.raises(ParameterError, match="multiple of thin"):
        algorithm2.sample([0], [0], [1.0], (4, 3), 1, PRIORS, 10, rng, thin=3)
