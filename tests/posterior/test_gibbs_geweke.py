"""The default sampler gets the joint law right (Geweke 2004): measurements given the state, a sweep given them."""

from typing import NamedTuple

import numpy as np
import pytest
from scipy.stats import chi2, invgamma
from tests.reference import gibbs_slow as slow
from tests.reference.chains import z_between
from tests.reference.gibbs_compiled import Compiled
from tests.reference.gibbs_slow import Model, State
from tests.reference.laws import ACCEPT, REJECT, ks

from maxentry.kernels import gibbs as kernel
from maxentry.model.likelihood import GAUSSIAN
from maxentry.model.priors import HalfCauchy, InverseGamma, Priors
from maxentry.observations import Observations
from maxentry.posterior import gibbs

PRIORS = Priors(
    InverseGamma(5.0, 0.4), InverseGamma(6.0, 5.0), InverseGamma(5.0, 2.0), InverseGamma(6.0, 1.0), 0.5
)
WIDE = Priors(PRIORS.noise, PRIORS.signal, HalfCauchy(0.3), HalfCauchy(2.0), PRIORS.mu_var)
PASS, FAIL = 4.0, 6.0  # largest |z| of a right sampler; a wrong one must exceed FAIL


class Case(NamedTuple):
    shape: tuple[int, int]
    R: int
    effects: bool = False
    noise: str = "gaussian"
    beta: float = 1.0
    replicates: int = 0
    priors: Priors = PRIORS

    def model(self):
        grids = {"gaussian": None, "student": gibbs.NU_GRID}
        grid = grids.get(self.noise, gibbs.LINE_NU_GRID)
        return Model(self.shape, self.R, self.priors, self.effects, grid, self.beta, self.noise)

    def positions(self, rng):
        """Half of the entries, (0, 0) first, and the first of them twice more, sorted by row."""
        m1, m2 = self.shape
        flat = np.append(0, 1 + rng.permutation(m1 * m2 - 1)[: m1 * m2 // 2 - 1])
        flat = np.concatenate([flat, flat[: self.replicates], flat[: self.replicates]])
        return np.divmod(np.sort(flat), m2)

    def tempered(self, N):
        """Priors under which a beta-tempered sweep is exact for noise of variance eta2/beta.

        That likelihood, as a function of eta2, is eta^-N exp(-beta RSS/2 eta2), the tempered one eta^-(beta N)
        times the same: N (1 - beta)/2 more in the shape of the prior makes up for it (Gaussian noise only).
        """
        p, shape = self.priors, self.priors.noise.shape + N * (1 - self.beta) / 2
        return p if self.beta == 1 else Priors(InverseGamma(shape, p.noise.scale), *_rest(p))


def _rest(p):
    return p.signal, p.rows, p.cols, p.mu_var


def statistics(s: State, y):
    """Moments of everything, and products that are zero a priori; y is bounded, since nu = 1 has no moments."""
    x, total, y = s.X[:, 0, 0], (s.X**2).sum(axis=(1, 2)), bounded(y)
    log_eta2 = np.log(s.eta2 / PRIORS.noise.scale)
    out = [log_eta2, log_eta2**2, s.eta2, y, y**2]
    if s.X.any():
        d = np.linalg.svd(s.X, compute_uv=False)[:, : np.linalg.matrix_rank(s.X[0])]
        out += [x, x**2, x * y, total, np.log(total), np.log(d[:, -1]), np.log(s.sigma2), s.sigma2]
        out += [log_eta2 * np.log(total), coherence(s.X, d.shape[1]), coherence(s.X.mT, d.shape[1])]
    if s.r.any():
        out += [s.mu, s.mu**2, s.r[:, 0] ** 2, s.c[:, 0] ** 2, s.r[:, 0] * s.c[:, 0], s.mu * s.r[:, 0]]
        out += [np.log(s.tau2_row), np.log(s.tau2_col), s.tau2_row, s.tau2_col, s.r[:, 0] * y, s.mu * y]
    if s.p.any():
        out += aligned_statistics(s, y)
    if np.isfinite(s.nu).all():
        log_nu, w = np.log(s.nu), s.w[:, 0]
        out += [log_nu, log_nu**2, w, np.log(w), w**2, log_nu * np.log(w), log_nu * log_eta2, log_eta2 * w]
    return np.stack(out, axis=1)


def bounded(x):
    return x / (1 + np.abs(x))


def bounded_effects(s: State):
    """The state with effects and their variances bounded: a half-Cauchy law has no moments."""
    names = ("r", "c", "p", "q", "tau2_row", "tau2_col", "s2_row", "s2_col")
    return s._replace(**{name: bounded(getattr(s, name)) for name in names})


def aligned_statistics(s: State, y):
    """Sizes, signs and directions of p and q: within the spaces of X, no direction is favoured."""
    p2, q2, log_x2 = (s.p**2).sum(axis=1), (s.q**2).sum(axis=1), np.log((s.X**2).sum(axis=(1, 2)))
    Xq, Xp = np.einsum("nij,nj->ni", s.X, s.q), np.einsum("nij,ni->nj", s.X, s.p)
    along = [np.log((Xp**2).sum(axis=1) / p2), np.log((Xq**2).sum(axis=1) / q2)]
    log_s2 = [np.log(s.s2_row), np.log(s.s2_col)]
    row, col = s.r[:, 0] + s.p[:, 0], s.c[:, 0] + s.q[:, 0]
    out = [p2, q2, np.log(p2), np.log(q2), np.log(p2) * log_x2, np.log(q2) * log_x2, *along, *log_s2]
    out += [log_s2[0] ** 2, log_s2[1] ** 2, log_s2[0] * log_x2, log_s2[1] * log_x2, s.s2_row, s.s2_col]
    out += [s.p[:, 0] * y, s.q[:, 0] * y, row**2, col**2, row * y, col * y, s.p[:, 0] * s.r[:, 0]]
    return [*out, np.einsum("ni,ni->n", s.p, Xq) / np.exp(log_x2 / 2), s.p[:, 0] * s.q[:, 0] * s.X[:, 0, 0]]


def coherence(X, R):
    U = np.linalg.svd(X, full_matrices=False)[0][:, :, :R]
    return (U[:, 0] ** 2).sum(axis=1)


def stacked(states):
    return State(*(np.array(field) for field in zip(*states, strict=True)))


def marginal_conditional(n, case, i, j, rng):
    s = slow.prior_draws(n, case.model(), i, j, rng)
    noise = np.sqrt(s.eta2 / (case.beta * s.w[:, 0])) * rng.standard_normal(n)
    return statistics(s, s.mu + (s.r + s.p)[:, 0] + (s.c + s.q)[:, 0] + s.X[:, 0, 0] + noise)


def successive_conditional(n, step, state, case, i, j, rng):
    """Alternate measurements given the state with a sweep given the measurements; (i_0, j_0) = (0, 0)."""
    states, y0 = [], []
    for _ in range(n):
        y = slow.measure(state, i, j, case.beta, rng)
        states.append(state)
        y0.append(y[0])
        state = step(state, y)
    return statistics(stacked(states), np.array(y0))


def joint_test(case, n, seed, mistakes=None):
    """Largest |z| between the two simulators of the joint law; mistakes=None is the compiled sweep."""
    rng = np.random.default_rng(seed)
    i, j = case.positions(rng)
    start = State(*(field[0] for field in slow.prior_draws(1, case.model(), i, j, rng)))
    model = case.model()._replace(priors=case.tempered(i.size))
    compiled = Compiled(model, start, i, j, rng)

    def step(state, y):
        return compiled(y) if mistakes is None else slow.sweep(state, i, j, y, model, rng, mistakes)

    chain = successive_conditional(n, step, start, case, i, j, rng)
    return np.abs(z_between(chain, marginal_conditional(max(n, 20_000), case, i, j, rng))).max()


def start_test(case, n, sweeps, seed, mistakes=None):
    """Largest |z| of changes by a few sweeps given y, from n independent draws of the joint law of state and y.

    The sweeps must leave that law as it is. The n differences are independent, so the error of their mean is honest
    however slowly a chain would mix.
    """
    rng = np.random.default_rng(seed)
    i, j = case.positions(rng)
    starts = slow.prior_draws(n, case.model(), i, j, rng)
    model = case.model()._replace(priors=case.tempered(i.size))
    compiled, ends, y0 = None, [], []
    for k in range(n):
        state = State(*(field[k] for field in starts))
        y = slow.measure(state, i, j, case.beta, rng)
        y0.append(y[0])
        compiled = compiled or Compiled(model, state, i, j, rng)
        compiled.state = compiled.factored(state)
        for _ in range(sweeps):
            state = compiled(y) if mistakes is None else slow.sweep(state, i, j, y, model, rng, mistakes)
        ends.append(state)
    seen = bounded_effects if case.priors is WIDE else State._make
    return largest_change(*(statistics(seen(of), np.array(y0)) for of in (starts, stacked(ends))))


def largest_change(before, after):
    change = after - before
    spread = change.std(axis=0, ddof=1)
    return np.abs(change.mean(axis=0) / np.where(spread > 0, spread, np.inf)).max() * np.sqrt(len(change))


CASES = {
    "rank 1": Case((4, 4), 1),
    "rank 2": Case((5, 4), 2),
    "replicates": Case((5, 4), 2, replicates=4),
    "rank 0, effects": Case((4, 3), 0, effects=True),
    "rank 1, effects": Case((4, 4), 1, effects=True),
    "rank 1, effects, replicates": Case((4, 3), 1, effects=True, replicates=2),
    "rank 2, effects": Case((6, 5), 2, effects=True),
    "more rows than are solved side by side": Case((11, 9), 2, effects=True),
    "rank 2, no room to align": Case((5, 4), 2, effects=True),
    "rank 2, square, no room to align": Case((4, 4), 2, effects=True),
    "student": Case((5, 4), 1, noise="student"),
    "student, effects": Case((4, 4), 1, effects=True, noise="student", replicates=2),
    "columns": Case((5, 4), 1, noise="columns"),
    "columns, effects": Case((4, 4), 1, effects=True, noise="columns", replicates=2),
    "rows, effects": Case((4, 4), 1, effects=True, noise="rows", replicates=2),
    "tempered": Case((6, 5), 2, effects=True, beta=0.3, replicates=2),
}


HALF_CAUCHY = {
    "rank 0": Case((4, 3), 0, effects=True, priors=WIDE),
    "rank 1": Case((4, 4), 1, effects=True, priors=WIDE, replicates=2),
    "rank 2": Case((6, 5), 2, effects=True, priors=WIDE),
    "rank 2, no room to align": Case((5, 4), 2, effects=True, priors=WIDE),
    "student": Case((4, 4), 1, effects=True, noise="student", priors=WIDE),
    "tempered": Case((6, 5), 2, effects=True, beta=0.3, priors=WIDE),
}


@pytest.fixture(autouse=True)
def unlike_noises(monkeypatch):
    """Let noises of columns and rows differ by more than in the product, for mistakes to show."""
    monkeypatch.setattr(gibbs, "LINE_NU_GRID", np.array([2.0, 4.0, 10.0, 40.0, 200.0]))


# Between them they pass every branch of the sweep.
QUICK = (
    "replicates",
    "rank 1, effects, replicates",
    "student, effects",
    "columns, effects",
    "tempered",
)


@pytest.mark.parametrize("name", QUICK)
def test_the_compiled_sweep_leaves_the_joint_law_as_it_is(name):
    assert start_test(CASES[name], 6_000, 5, seed=1) < PASS


@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
def test_the_compiled_sweep_leaves_the_joint_law_as_it_is_in_many_starts(name):
    assert start_test(CASES[name], 40_000, 5, seed=2) < PASS


@pytest.mark.parametrize("name", ["rank 1", "tempered"])
def test_half_cauchy_effects_leave_the_joint_law_as_it_is(name):
    assert start_test(HALF_CAUCHY[name], 3_000, 5, seed=11) < PASS


@pytest.mark.slow
@pytest.mark.parametrize("name", HALF_CAUCHY)
def test_half_cauchy_effects_leave_the_joint_law_as_it_is_in_many_starts(name):
    assert start_test(HALF_CAUCHY[name], 20_000, 5, seed=12) < PASS


@pytest.mark.parametrize(
    ("mistake", "n"),
    [
        ("tail forgotten", 300),
        ("tau2 shape", 300),
        pytest.param("side forgotten", 1_500, marks=pytest.mark.slow),
    ],
)
def test_negative_control_a_mistake_in_half_cauchy_effects_changes_the_joint_law(mistake, n):
    assert start_test(HALF_CAUCHY["rank 1"], n, 5, seed=13, mistakes=(mistake,)) > FAIL


@pytest.mark.slow
def test_half_cauchy_effects_of_the_slow_twin_leave_the_joint_law_as_it_is():
    assert start_test(HALF_CAUCHY["rank 1"], 4_000, 5, seed=14, mistakes=()) < PASS


# At 6,000 sweeps the 40 batches of most cases are too short: chains forget in up to hundreds of sweeps, and the right
# sampler reached |z| of 5 to 7 over several seeds.
@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
def test_the_compiled_sweep_passes_a_long_joint_test(name):
    assert joint_test(CASES[name], 150_000, seed=2) < PASS


CONTROLS = [
    ("wishart df", Case((6, 6), 2), 1_000),
    ("slope forgotten", Case((6, 5), 2, effects=True), 1_000),
    ("eigenvalues forgotten", Case((8, 7), 3), 2_000),
    ("jacobian forgotten", Case((4, 4), 1, effects=True), 1_000),
    ("slope forgotten", Case((4, 3), 1, effects=True), 2_000),
    ("side forgotten", Case((4, 4), 1, effects=True), 1_000),
    ("sigma2 shape", Case((5, 4), 2), 2_000),
    ("tau2 shape", Case((4, 3), 0, effects=True), 1_000),
    ("rss unweighted", Case((4, 3), 0, noise="student"), 4_000),
    ("line once", Case((4, 3), 0, noise="columns"), 2_000),
    ("rss unweighted", Case((4, 3), 0, noise="rows"), 8_000),
    ("beta forgotten", Case((5, 4), 2, effects=True, beta=0.3), 1_000),
    ("replicates once", Case((4, 4), 1, replicates=8), 1_000),
]


@pytest.mark.parametrize(
    ("mistake", "case", "n"),
    [*CONTROLS[:2], *(pytest.param(*c, marks=pytest.mark.slow) for c in CONTROLS[2:])],
)
def test_negative_control_a_planted_mistake_fails_the_joint_test(mistake, case, n):
    assert mistake in slow.MISTAKES
    assert joint_test(case, n, seed=3, mistakes=(mistake,)) > FAIL


@pytest.mark.slow
@pytest.mark.parametrize("case", [case for _, case, _ in CONTROLS])
def test_the_slow_twin_without_the_mistake_leaves_the_joint_law_as_it_is(case):
    assert start_test(case, 4_000, 5, seed=4, mistakes=()) < PASS


def strength_test(case, n, steps, seed, mistakes):
    """`start_test` of the slow twin's `redraw_strength` alone: largest |z| of changes of the singular values of X."""
    rng, model = np.random.default_rng(seed), case.model()
    i, j = case.positions(rng)
    s = slow.prior_draws(n, model, i, j, rng)
    X = s.X.copy()
    for k in range(n):
        state = State(*(field[k] for field in s))
        y = slow.measure(state, i, j, 1.0, rng)
        for _ in range(steps):
            X[k], _ = slow.redraw_strength(
                i, j, y, state.w / state.eta2, X[k], state.r, state.p, state.c, 1.0, state.sigma2, model, rng, mistakes
            )  # fmt: skip
    before, after = (np.log(np.linalg.svd(of, compute_uv=False)[:, : case.R]) for of in (s.X, X))
    return largest_change(np.hstack([before, before**2]), np.hstack([after, after**2]))


def test_negative_control_the_distances_of_eigenvalues_matter_to_the_step_of_strengths():
    case = Case((8, 7), 3)
    assert strength_test(case, 500, 4, 3, ()) < PASS
    assert strength_test(case, 500, 4, 3, ("eigenvalues forgotten",)) > FAIL


@pytest.mark.slow
def test_negative_control_the_choice_of_an_eigenvalue_matters_to_the_step_of_strengths():
    case = Case((8, 7), 3)
    assert strength_test(case, 10_000, 8, 3, ()) < PASS
    assert strength_test(case, 10_000, 8, 3, ("choice forgotten",)) > FAIL


def chain(case, beta, n, thin, seed):
    """A long compiled chain on fixed measurements, all of them 3."""
    rng = np.random.default_rng(seed)
    i, j = case.positions(rng)
    obs = Observations(case.shape, i, j, np.full(i.size, 3.0))
    data = gibbs.prepare(obs, case.effects, GAUSSIAN, False, None)
    (m1, m2), R = case.shape, case.R
    kept = gibbs.DrawBuffers(
        np.empty((n, m1, R)),
        np.empty((n, m2, R)),
        np.empty((n, m1)),
        np.empty((n, m2)),
        np.empty((n, kernel.N_SCALARS)),
    )
    state = gibbs.init(data, R, PRIORS, rng)
    gibbs.step(state, data, R, gibbs.hyperparameters(PRIORS), rng, np.full(n * thin, beta), kept, thin)
    return kept


def p_values_of_the_prior(kept, R, rng):
    """K-S of thinned draws against the prior: its variances, and the quadrant law of the singular values."""
    sigma2, eta2 = kept.scalars[:, kernel.SIGMA2], kept.scalars[:, kernel.ETA2]
    d = np.linalg.svd(kept.left @ kept.right.mT, compute_uv=False)[:, :R] / np.sqrt(sigma2)[:, None]
    core = np.linalg.svd(rng.standard_normal((50_000, R, R)), compute_uv=False)
    laws = [(sigma2, PRIORS.signal), (eta2, PRIORS.noise)]
    p = [ks(draws, invgamma(law.shape, scale=law.scale).cdf) for draws, law in laws]
    return [*p, ks((d**2).sum(axis=1), chi2(R**2).cdf), *(ks(d[:, k], core[:, k]) for k in range(R))]


@pytest.mark.slow
@pytest.mark.parametrize(("shape", "R"), [((4, 4), 1), ((5, 4), 2), ((8, 7), 3)])
def test_at_a_vanishing_power_of_the_likelihood_the_prior_comes_back(shape, R):
    rng = np.random.default_rng(0)
    prior = chain(Case(shape, R), 1e-12, 2_000, 100, seed=5)
    assert min(p_values_of_the_prior(prior, R, rng)) > ACCEPT
    posterior = chain(Case(shape, R), 1.0, 2_000, 100, seed=5)  # control
    assert min(p_values_of_the_prior(posterior, R, rng)) < REJECT
