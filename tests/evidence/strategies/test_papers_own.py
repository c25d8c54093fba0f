"""The paper as it stands: Lemma 2 by its formula, Algorithm 2 from its start, and estimates in the user's units."""

import numpy as np
import pytest
from scipy.sparse.linalg import ArpackNoConvergence
from tests.evidence.strategies.campaigns import some, told, truth

from evidence.sources import Simulated
from evidence.strategies import papers_own
from evidence.strategies.papers_own import (
    PAPERS_BALANCED,
    PAPERS_MAXENT,
    PAPERS_UNIFORM,
    Sampler,
    build_sampler,
    choose_entries,
    estimate_entries,
    fit,
    nuclear_norm_start,
)
from evidence.strategies.rule import Request
from maxentry import completion
from maxentry.acquisition import Problem
from maxentry.compare.runner import run_cell
from maxentry.compare.scenario import Case, Cell, Given
from maxentry.model.smg import draw_smg
from maxentry.observations import Observations
from maxentry.posterior import algorithm2
from maxentry.transform import NONE, Transform

SHAPE = (8, 7)
X = draw_smg(*SHAPE, 2, 1.0, np.random.default_rng(0)).matrix()
Y = X + 1e-2 * np.random.default_rng(1).standard_normal(SHAPE)
SHORT = Sampler(2, standardise=False, sweeps=100, thin=5)
HALF = some(Y, 28)


def everywhere(shape):
    return tuple(index.ravel() for index in np.indices(shape))


def lemma2(found, observed, m2):
    """mu_i mu_j - nu' (R_N + gamma2 I)^-1 nu for every entry, as printed; P_U and P_V are means over the draws."""
    P_U = np.mean([A @ np.linalg.pinv(A) for A in found.belief.left], axis=0)
    P_V = np.mean([V @ np.linalg.pinv(V) for V in found.belief.right], axis=0)
    gamma2 = found.belief.noise_var.mean() / found.sigma2
    i, j = observed
    R_N = P_U[np.ix_(i, i)] * P_V[np.ix_(j, j)]
    score = np.empty((len(P_U), m2))
    for a in range(len(P_U)):
        for b in range(m2):
            nu = P_U[i, a] * P_V[j, b]
            score[a, b] = P_U[a, a] * P_V[b, b] - nu @ np.linalg.solve(R_N + gamma2 * np.eye(len(i)), nu)
    score[i, j] = -np.inf
    return score


def test_each_entry_is_the_greatest_of_lemma_2_given_those_before():
    state = told(Y, HALF)
    found = fit(state, SHORT)
    problem = Problem(SHAPE, observed=HALF)
    batch = choose_entries(Request(state, problem, 4, np.random.default_rng(0), None), SHORT)
    observed = HALF
    for n in range(4):
        score = lemma2(found, observed, SHAPE[1])
        assert np.unravel_index(score.argmax(), SHAPE) == (batch.rows[n], batch.cols[n])
        np.testing.assert_allclose(
            batch.gain[n],
            0.5 * np.log1p(found.sigma2 * score.max() / found.belief.noise_var.mean()),
            rtol=1e-4,
        )
        observed = observed.joined(type(HALF)(batch.rows[n : n + 1], batch.cols[n : n + 1]))
    alone = lemma2(found, HALF, SHAPE[1])
    top = np.argsort(-alone, axis=None)[:4]
    assert set(top.tolist()) != set(
        (batch.rows * SHAPE[1] + batch.cols).tolist()
    )  # a batch is more than the top 4


def test_the_chain_is_algorithm_2_from_the_nuclear_norm_its_second_half_kept():
    state = told(Y, HALF)
    from maxentry.campaign.state import FIT, derive_rng
    from maxentry.model.priors import Priors

    rng = derive_rng(3, FIT, 28)
    data = algorithm2.entry_means(*HALF, Y[tuple(HALF)], SHAPE)
    start = algorithm2.init(data, 2, Priors.paper(), rng, nuclear_norm_start(data))
    _, draws = algorithm2.sweeps(start, data, Priors.paper(), 100, rng)
    np.testing.assert_array_equal(fit(state, SHORT).belief.left, draws.A[54::5])
    assert np.isclose(fit(state, SHORT).sigma2, draws.sigma2[54::5].mean())


def test_the_start_is_the_estimate_at_a_tenth_of_the_largest_penalty():
    data = algorithm2.entry_means(*HALF, Y[tuple(HALF)], SHAPE)
    observed = Observations(SHAPE, *HALF, Y[tuple(HALF)])
    X0, penalty = nuclear_norm_start(data), 0.1 * completion.largest_penalty(observed)

    def objective(Z):
        return ((Z - Y)[tuple(HALF)] ** 2).sum() + penalty * np.linalg.norm(Z, "nuc")

    best = completion.nuclear_norm(observed, penalty, tol=1e-6).objective
    assert objective(X0) <= best * 1.011
    assert objective(np.zeros(SHAPE)) > best * 1.1  # zero is no solution


def test_where_the_solver_does_not_converge_it_starts_from_the_observed_among_zeros(monkeypatch):
    def fails(*_, **__):
        raise ArpackNoConvergence("no", np.empty(0), np.empty((0, 0)))

    monkeypatch.setattr(completion, "nuclear_norm", fails)
    data = algorithm2.entry_means(*HALF, Y[tuple(HALF)], SHAPE)
    np.testing.assert_array_equal(nuclear_norm_start(data), data.mean)


def test_real_values_are_centred_and_scaled_so_that_units_do_not_matter():
    sampler = SHORT._replace(standardise=True)
    one, other = fit(told(Y, HALF), sampler), fit(told(40.0 + 7.0 * Y, HALF), sampler)
    np.testing.assert_allclose(one.belief.left, other.belief.left, rtol=1e-5, atol=1e-7)
    i, j = everywhere(SHAPE)
    means = [estimate_entries(f, NONE, i, j, 0.9, True) for f in (one, other)]
    np.testing.assert_allclose(40.0 + 7.0 * means[0].mean, means[1].mean, rtol=1e-4)
    np.testing.assert_allclose(40.0 + 7.0 * means[0].low, means[1].low, rtol=1e-4)
    raw = [fit(told(Z, HALF), SHORT).belief.left for Z in (Y, 40.0 + 7.0 * Y)]
    assert not np.allclose(*raw, rtol=1e-2)  # simulated values are taken as they are


def test_values_of_one_size_do_not_break_it():
    same = np.full(SHAPE, 3.0)
    found = fit(told(same, HALF), SHORT._replace(standardise=True))
    assert np.isfinite(estimate_entries(found, NONE, *everywhere(SHAPE), 0.9, True).mean).all()


def test_intervals_are_quantiles_of_the_draws_and_of_measurements_where_the_matrix_is_real():
    found = fit(told(Y, HALF), SHORT)
    i, j = everywhere(SHAPE)
    entry, new = (estimate_entries(found, NONE, i, j, 0.5, noisy) for noisy in (False, True))
    draws = np.array([found.belief.draw(s) for s in range(found.belief.n_draws)]).reshape(-1, len(i))
    np.testing.assert_allclose(entry.mean, draws.mean(0))
    inside = ((draws > entry.low) & (draws < entry.high)).sum(0)
    assert set(inside.tolist()) == {
        6
    }  # of ten draws, the third to the eighth lie between p = 1/4 and 3/4 of (S + 1)
    assert (new.high - new.low).mean() > (entry.high - entry.low).mean()


def test_the_mean_is_taken_in_the_users_units():
    positive = np.exp(Y)
    found = fit(told(positive, HALF, transform="log"), SHORT)
    i, j = everywhere(SHAPE)
    log = Transform.parse("log")
    draws = np.array([found.belief.draw(s) for s in range(found.belief.n_draws)]).reshape(-1, len(i))
    np.testing.assert_allclose(estimate_entries(found, log, i, j, 0.9, False).mean, np.exp(draws).mean(0))


def test_rank_and_units_are_the_cases():
    simulated = Simulated(SHAPE, 2).truth(0)
    case = Case("own", Simulated(SHAPE, 2), 8, 1, 4, model=(("rank", 2),))
    assert build_sampler(simulated, case) == Sampler(2, standardise=False)
    free = Case("own", Given(Y), 8, 1, 4, model=(("rank", "auto"),))
    assert build_sampler(truth(Y), free) == Sampler(5, standardise=True)
    assert Sampler(5, True).sweeps == 1000


def test_strategies_differ_in_their_entries_only():
    assert (PAPERS_UNIFORM.start, PAPERS_UNIFORM.policy) == ("uniform", None)
    assert (PAPERS_BALANCED.start, PAPERS_BALANCED.policy) == ("balanced", None)
    assert PAPERS_MAXENT.start == "balanced"
    assert len({s.estimator for s in papers_own.PAPERS_OWN}) == 1


def test_a_run_fits_once_a_state():
    """The estimate and the choice after it share one fit: 1 + 3 states are looked at or asked from, none twice."""
    case = Case("own", Simulated(SHAPE, 2), 12, 2, 6, looks=4, model=(("rank", 2), ("effects", False)))
    fit.cache_clear()
    found = run_cell(Cell(case, PAPERS_MAXENT, 0))
    assert fit.cache_info().misses == 4
    assert fit.cache_info().hits == 3
    assert [look.n for look in found.looks] == [12, 14, 16, 18]


@pytest.mark.slow
def test_with_nearly_all_entries_told_the_estimate_is_near_the_matrix():
    big = draw_smg(20, 20, 2, 1.0, np.random.default_rng(3)).matrix()
    noisy = big + 1e-2 * np.random.default_rng(4).standard_normal(big.shape)
    entries = some(noisy, 360)
    left_out = np.ones(big.shape, dtype=bool)
    left_out[tuple(entries)] = False
    expected = 1e-2 * np.sqrt(2 * (20 + 20 - 2) / 360)  # noise times sqrt(degrees of freedom / N)
    errors = []
    for rank in (2, 1):
        found = fit(told(noisy, entries), Sampler(rank, standardise=False))
        mean = estimate_entries(found, NONE, *np.nonzero(left_out), 0.9, False).mean
        errors.append(np.sqrt(np.mean((mean - big[left_out]) ** 2)))
    assert (
        errors[0] < 2 * expected
    )  # 40 entries: the root mean square is known to some 20%, and entries differ
    assert errors[1] > 2 * expected  # a rank too small cannot


def test_real_values_are_taken_to_the_size_that_entries_have_a_priori():
    """Var x_ij = E(sigma2) R^2 / (m1 m2), by draws of the prior itself."""
    rng = np.random.default_rng(0)
    squares = [
        np.mean(draw_smg(12, 9, 2, 10 / rng.gamma(9), rng).matrix() ** 2) for _ in range(4000)
    ]  # sigma2 ~ IG(9, 10)
    error = np.std(squares) / np.sqrt(len(squares))
    assert abs(np.mean(squares) - papers_own.prior_sd((12, 9), 2) ** 2) < 4 * error
    assert abs(np.mean(squares) - papers_own.prior_sd((12, 9), 3) ** 2) > 4 * error
