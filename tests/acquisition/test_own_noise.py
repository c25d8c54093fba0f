"""Each entry's own working noise: a slow twin of it, criteria that take it, and the exact information of yes or no."""

import numpy as np
import pytest
from scipy.special import ndtr, xlogy
from scipy.stats import spearmanr
from tests.acquisition.beliefs import belief, problem
from tests.acquisition.test_twins import ECONOMIES, NAMES, economise, noise, rounding
from tests.reference import acquisition_slow as slow

import maxentry
from maxentry import acquisition
from maxentry.acquisition import Limits, Problem, draw_field
from maxentry.acquisition.draw_field import WeightedDraws
from maxentry.belief import Belief, Entries
from maxentry.model.likelihood import Likelihood, NoiseLaw

SHAPE = (8, 7)
KINDS = {
    "yes/no": Likelihood(kind="yes/no"),
    "grades": Likelihood(kind="grades", levels=(1, 2, 3, 4)),
    "a floor": Likelihood(limits=(-0.4, None)),
    "a ceiling, student": Likelihood(noise="student", limits=(None, 0.6)),
    "two limits": Likelihood(limits=(-1.5, 2.0)),
    "columns": Likelihood(noise="columns"),
    "grades, columns": Likelihood(kind="grades", noise="columns", levels=(1, 2, 3, 4)),
}


def told_in_part(b: Belief, kind: str) -> tuple[Belief, Likelihood, NoiseLaw]:
    """The belief about measurements of this kind."""
    likelihood, S = KINDS[kind], b.n_draws
    rng = np.random.default_rng(5)
    cuts = np.column_stack([np.full(S, -1.0), rng.normal(0, 0.2, S), np.full(S, 1.5)])
    law = NoiseLaw(
        b.noise_var,
        np.where(np.arange(S) % 2, 3.0, 8.0) if likelihood.noise == "student" else None,
        cuts if likelihood.kind == "grades" else None,
        np.exp(0.5 * rng.normal(size=(S, b.shape[1]))) if likelihood.noise == "columns" else None,
    )
    ends = None if likelihood.limits is None else tuple(np.full(1, end) for end in likelihood.limits)
    parts = b.left, b.right, b.row, b.col, b.mu, b.noise_var
    return Belief(*parts, lambda: likelihood.information(law, ends)), likelihood, law


def slow_noise(b: Belief, likelihood: Likelihood, law: NoiseLaw) -> np.ndarray:
    """The working noise of every entry, by the slow twin."""
    i, j = np.indices(b.shape).reshape(2, -1)
    eta2 = np.full(i.size, np.mean(b.noise_var))
    if law.spread is not None:
        eta2 /= (1 / law.spread[:, j] ** 2).mean(0)
    if likelihood.noise == "columns" and not likelihood.discrete:
        return eta2
    x, cuts, seen = b.at(i, j), (0.0,), None
    if law.cuts is not None:
        cuts = law.cuts.mean(0)
    elif likelihood.limits is not None:
        cuts, seen = likelihood.limits, 1
    nu = None if law.nu is None else np.median(law.nu)
    return np.array([slow.noise_of(x[:, n], eta2[n], cuts, seen, nu) for n in range(i.size)])


@pytest.mark.parametrize("kind", KINDS)
def test_working_noise_is_that_of_the_slow_twin(kind):
    shape = (5, 7)
    b, likelihood, law = told_in_part(belief(shape, 9, seed=3, noise=0.5), kind)
    i, j = np.indices(shape).reshape(2, -1)
    expected = slow_noise(b, likelihood, law)
    np.testing.assert_allclose(1 / b.noise_at(i, j), 1 / expected, rtol=3e-3, atol=1e-5)
    rows, cols = np.array([1, 4]), np.array([6, 0, 3])
    by_block = np.mean(b.noise_var) / b.share_block(rows, cols)
    np.testing.assert_allclose(by_block, b.noise_at(i, j).reshape(shape)[np.ix_(rows, cols)], rtol=1e-12)


def test_beyond_a_limit_a_measurement_tells_less_and_less():
    b, _, _ = told_in_part(belief((1, 40), 9, 0, seed=1, noise=0.5), "a ceiling, student")
    x = np.linspace(-4, 4, 40)
    b = Belief(
        b.left, b.right, 0 * b.row, 0 * b.col + x, 0 * b.mu + 1e-3 * np.arange(9), b.noise_var, b.inform
    )
    noise_at = b.noise_at(np.zeros(40, int), np.arange(40))
    assert (np.diff(noise_at) > 0).mean() > 0.9
    assert noise_at[0] < 1.02 * np.mean(b.noise_var)
    assert noise_at[-1] > 10 * np.mean(b.noise_var)


def test_plain_values_have_the_noise_of_all():
    b = belief(SHAPE)
    i, j = np.indices(SHAPE).reshape(2, -1)
    np.testing.assert_array_equal(b.noise_at(i, j), np.mean(b.noise_var))


@pytest.mark.parametrize("cut", [-2.0, 0.0, 0.7])
def test_where_draws_differ_little_it_is_one_over_fishers_information(cut):
    S = 50
    e = np.random.default_rng(0).normal(size=S)
    row = (0.01 * (e - e.mean()) / e.std())[:, None] + cut
    zero, one = np.zeros((S, 1)), np.ones(S)
    likelihood, law = KINDS["yes/no"], NoiseLaw(one)
    b = Belief(
        zero[..., None], zero[..., None], row, zero, 0 * one, one, lambda: likelihood.information(law, None)
    )
    density = np.exp(-0.5 * cut**2) / np.sqrt(2 * np.pi)
    fisher = density**2 / (ndtr(cut) * ndtr(-cut))
    np.testing.assert_allclose(b.noise_at(np.zeros(1, int), np.zeros(1, int)), 1 / fisher, rtol=0.02)


@pytest.mark.parametrize("limits", [Limits(), Limits(per_col=1, per_row=2), Limits(plates="rows")], ids=str)
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("kind", ["yes/no", "two limits", "columns"])
def test_criteria_choose_as_exhaustive_search_with_each_entrys_noise(kind, name, limits, monkeypatch):
    i, j = np.indices(SHAPE).reshape(2, -1)
    for seed, economy in enumerate(ECONOMIES):
        with monkeypatch.context() as patch:
            economise(economy, patch)
            if economy == "little held":
                patch.setattr(draw_field, "MOST_SHARES", 0)
            b, _, _ = told_in_part(belief(SHAPE, seed=seed, coherent=seed == 1, noise=0.5), kind)
            q = problem(SHAPE, seed, limits=limits, again=seed == 2)
            n = 2 if limits.plates else 5
            found = acquisition.choose(name, b, q, n, rng=np.random.default_rng(0))
            keys = Entries(found.rows, found.cols).keys(SHAPE[1])
            own, lost = noise(name, b, q) / b.share_at(i, j), rounding(name, b, q)
            expected, gains = slow.choose(name, b, q, n, own, keys, lost)
            np.testing.assert_array_equal(keys, expected)
            np.testing.assert_allclose(found.gain, gains, rtol=1e-8, atol=lost)


def test_the_noise_of_entries_changes_what_is_chosen():
    plain = belief(SHAPE, 30, seed=4, noise=0.5)
    own, _, _ = told_in_part(plain, "two limits")
    chosen = [
        acquisition.choose("predictive_variance", b, Problem(SHAPE), 8, rng=np.random.default_rng(0))
        for b in (plain, own)
    ]
    assert set(chosen[0].entries.keys(7)) != set(chosen[1].entries.keys(7))
    assert np.abs(own.mean_at(*chosen[1].entries)).max() < np.abs(own.mean_at(*chosen[0].entries)).max()


# Yes or no: against the exact information of single answers, H(mean p) - mean H(p) (BALD)


def entropy(p: np.ndarray) -> np.ndarray:
    return -xlogy(p, p) - xlogy(1 - p, 1 - p)


@pytest.mark.parametrize(("shape", "rank", "n", "size"), [((12, 9), 1, 60, 1.0), ((30, 20), 2, 250, 2.0)])
def test_gains_of_yes_or_no_are_in_the_order_of_exact_information(shape, rank, n, size):
    rng = np.random.default_rng(n)
    X = size * rng.normal(size=(shape[0], rank)) @ rng.normal(size=(rank, shape[1]))
    i, j = rng.integers(shape[0], size=n), rng.integers(shape[1], size=n)
    yes = (X[i, j] + rng.normal(size=n) > 0).astype(float)
    posterior = maxentry.complete(
        (i, j, yes), rank, kind="yes/no", shape=shape, seed=1, threads=1, progress=False
    )
    b, (a, c) = posterior.belief, np.indices(shape).reshape(2, -1)
    x = b.at(a, c)
    exact = entropy(ndtr(x).mean(0)) - entropy(ndtr(x)).mean(0)
    chosen = acquisition.choose("predictive_variance", b, Problem(shape), 1, rng=rng)
    gains = 0.5 * np.log1p(x.var(0) / b.noise_at(a, c))
    assert spearmanr(exact, gains)[0] > 0.95
    assert spearmanr(exact, x.var(0))[0] < 0.95  # with the same noise for all
    assert exact[chosen.rows[0] * shape[1] + chosen.cols[0]] > (1 - 1e-3) * exact.max()
    np.testing.assert_allclose(chosen.gain[0], exact.max(), rtol=1e-3)


def test_large_matrices_are_searched_without_a_map_of_noises(monkeypatch):
    monkeypatch.setattr(draw_field, "MOST_SHARES", 10)
    b, _, _ = told_in_part(belief((40, 30), seed=2, noise=0.5), "yes/no")
    field = draw_field.choice_field(b)
    assert isinstance(field, WeightedDraws)
    assert field._held is None
    monkeypatch.undo()
    first = acquisition.choose("predictive_variance", b, Problem((40, 30)), 4, rng=np.random.default_rng(0))
    monkeypatch.setattr(draw_field, "MOST_SHARES", 10)
    again = acquisition.choose("predictive_variance", b, Problem((40, 30)), 4, rng=np.random.default_rng(0))
    np.testing.assert_array_equal(first.entries.keys(30), again.entries.keys(30))


@pytest.mark.parametrize("kind", ["rows", "grades, rows"])
def test_a_row_alone_keeps_its_own_noise(kind):
    b = belief(SHAPE, 9, seed=3, noise=0.5)
    spread = np.exp(0.5 * np.random.default_rng(5).normal(size=(b.n_draws, SHAPE[0])))
    cuts = np.tile([-1.0, 0.0, 1.5], (b.n_draws, 1)) if kind == "grades, rows" else None
    likelihood = (
        Likelihood(kind="grades", noise="rows", levels=(1, 2, 3, 4)) if cuts is not None else KINDS["columns"]
    )
    law = NoiseLaw(b.noise_var, None, cuts, spread, by_row=True)
    b = Belief(b.left, b.right, b.row, b.col, b.mu, b.noise_var, lambda: likelihood.information(law, None))
    j = np.arange(SHAPE[1])
    for i in (0, 3):
        alone = b.row_alone(i).share_at(np.zeros_like(j), j)
        np.testing.assert_allclose(alone, b.share_at(np.full_like(j, i), j), rtol=1e-12)
