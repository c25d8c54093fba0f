"""Sweeps with features leave the joint law of state and measurements as it is, and a twin with a mistake does not."""

import numpy as np
import pytest
from tests.reference import link_slow as slow
from tests.reference.link_slow import Model, State

from maxentry.kernels import gibbs as kernel
from maxentry.kernels import link as linked
from maxentry.model import link as link_model
from maxentry.model.likelihood import GAUSSIAN
from maxentry.model.link import Basis, LinkPrior
from maxentry.model.priors import InverseGamma, Priors
from maxentry.observations import Observations
from maxentry.posterior import gibbs

PRIORS = Priors(
    InverseGamma(5.0, 0.4), InverseGamma(6.0, 5.0), InverseGamma(5.0, 2.0), InverseGamma(6.0, 1.0), 0.5
)
PRIOR = LinkPrior(df=6.0, factors=4.0, effect=2.0, shape=4.0, scale=2.0)
PASS, FAIL = 4.0, 6.0  # largest |z| of a right sampler; a wrong one must exceed FAIL


@pytest.fixture(autouse=True)
def narrow_prior(monkeypatch):
    """A prior with moments, for means to be compared."""
    monkeypatch.setattr(link_model, "PRIOR", PRIOR)


def bases(shape, p, rng):
    return tuple(Basis(m, rng.standard_normal((m, k)) if k else None) for m, k in zip(shape, p, strict=True))


def make_model(shape, R, p, effects, rng):
    both = bases(shape, p, rng)
    features = tuple(b.apply(np.eye(b.p)) if b.p else np.zeros((b.m, 0)) for b in both)
    return Model(shape, R, PRIORS, PRIOR, features, effects), both


class Compiled:
    """The compiled sweep behind the state of its slow twin; its Q and W, which it integrates out, are nobody's."""

    def __init__(self, model, both, i, j, rng):
        self.model, self.rng = model, rng
        places = Observations(model.shape, i, j, np.zeros(i.size))
        self.data = gibbs.prepare(places, model.effects, GAUSSIAN, False, None, both)
        self.hyper = gibbs.hyperparameters(model.priors)
        self.nothing = gibbs.DrawBuffers(*(np.empty((0,) * d) for d in (3, 3, 2, 2, 2)))

    def __call__(self, s, y, sweeps=1):
        data, R = self.data, self.model.R
        data.by_row.values[:] = y
        data.by_col.values[:] = y[data.by_col.source]
        scalars = np.array([s.mu, 1.0, s.eta2, 1.0, 1.0, 4.0, s.rows.rho, s.cols.rho])
        pad = np.zeros if self.model.effects else lambda shape: np.empty((shape[0], 0))
        left, right = (np.hstack([side.G, pad((len(side.G), 1))]) for side in (s.rows, s.cols))
        state = gibbs.GibbsState(left, right, scalars, np.empty(0))
        state = gibbs.step(state, data, R, self.hyper, self.rng, np.ones(sweeps), self.nothing, 0)
        rho, K = state.scalars[list(linked.RHO)], self.model.K
        rows, cols = (
            side._replace(G=array[:, :K], rho=rho[k])
            for k, (side, array) in enumerate(((s.rows, state.left), (s.cols, state.right)))
        )
        return State(rows, cols, state.scalars[kernel.MU], state.scalars[kernel.ETA2])


def statistics(s: State, y0, model):
    """Bounded functions of everything, and products that features make what they are."""
    R, A, B = model.R, s.rows.G, s.cols.G
    x, y0 = np.tanh(slow.matrix(s, model)[0, 0]), np.tanh(y0)
    out = [s.mu, s.mu**2, np.log(s.eta2), np.log(s.eta2) ** 2, x, x * y0, y0**2]
    for side, F in zip((s.rows, s.cols), model.features, strict=True):
        size = np.log((side.G**2).sum(axis=0))
        out += [np.log(side.rho) if F.shape[1] else 0.0, np.log(side.rho) ** 2 if F.shape[1] else 0.0]
        out += [size.sum(), size[-1], size[-1] ** 2, np.log((side.G.mean(axis=0) ** 2).sum())]
        if F.shape[1]:
            said = ((F.T @ side.G) ** 2).sum()
            out += [np.log(said), np.log(said) * np.log(side.rho), np.log(said) * size.sum()]
        out += [np.linalg.slogdet(side.G.T @ side.G)[1]]
    if R:
        out += [np.log(((A[:, :R] @ B[:, :R].T) ** 2).sum())]
    return np.array(out)


CASES = {
    "both": ((9, 7), 2, (3, 2), True),
    "more features than rows": ((7, 9), 1, (12, 0), True),
    "columns alone": ((6, 8), 2, (0, 3), True),
    "no effects": ((8, 6), 2, (2, 0), False),
    "rank 0": ((8, 6), 0, (3, 2), True),
}


def start_test(name, n, sweeps, seed, mistakes=None):
    """Largest |z| of changes by a few sweeps given y, from n independent draws of the joint law of state and y."""
    rng = np.random.default_rng(seed)
    shape, R, p, effects = CASES[name]
    model, both = make_model(shape, R, p, effects, rng)
    flat = np.append(0, 1 + rng.permutation(shape[0] * shape[1] - 1)[: shape[0] * shape[1] // 2])
    i, j = np.divmod(np.sort(np.append(flat, flat[:3])), shape[1])
    compiled, change = Compiled(model, both, i, j, rng), []
    for _ in range(n):
        state = slow.prior_draw(model, rng)
        y = slow.measure(state, i, j, model, rng)
        before = statistics(state, y[0], model)
        if mistakes is None:
            state = compiled(state, y, sweeps)
        for _ in range(0 if mistakes is None else sweeps):
            state = slow.sweep(state, i, j, y, model, rng, mistakes)
        change.append(statistics(state, y[0], model) - before)
    moved = np.array(change)
    spread = moved.std(axis=0, ddof=1)
    return np.abs(moved.mean(axis=0) / np.where(spread > 0, spread, np.inf)).max() * np.sqrt(n)


@pytest.mark.parametrize("name", ["both", "more features than rows"])
def test_the_compiled_sweep_leaves_the_joint_law_as_it_is(name):
    assert start_test(name, 1_500, 4, seed=1) < PASS


@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
def test_the_compiled_sweep_leaves_the_joint_law_as_it_is_in_many_starts(name):
    assert start_test(name, 10_000, 5, seed=2) < PASS


@pytest.mark.slow
@pytest.mark.parametrize("mistake", slow.MISTAKES)
def test_negative_control_a_planted_mistake_moves_the_joint_law(mistake):
    assert start_test("both", 1_500, 3, seed=3, mistakes=(mistake,)) > FAIL


@pytest.mark.slow
def test_the_slow_twin_leaves_the_joint_law_as_it_is():
    assert start_test("both", 3_000, 3, seed=4, mistakes=()) < PASS


def test_negative_control_rows_that_forget_what_features_say_fail_quickly():
    assert start_test("both", 400, 2, seed=3, mistakes=("mean forgotten",)) > FAIL
