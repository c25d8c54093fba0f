"""Whether features say anything: the level of the test, its power, its slow twin, and what it must not depend on."""

import numpy as np
import pytest
from scipy.sparse import csr_array
from tests.reference import relevance_slow

from maxentry.model import relevance
from maxentry.model.likelihood import Likelihood
from maxentry.model.link import Basis
from maxentry.observations import Observations


def draw(seed, m1=24, m2=10, p=4, explained=0.0, share=0.5, side=0):
    """(basis, observations): the first feature explains this share of factors and levels of the rows (columns)."""
    rng = np.random.default_rng([3, seed])
    F = rng.standard_normal((m1, p))
    G = np.sqrt(explained) * F[:, [0]] + np.sqrt(1 - explained) * rng.standard_normal((m1, 3))
    X = G[:, :2] @ rng.standard_normal((2, m2)) + 0.7 * G[:, [2]] + rng.standard_normal(m2)
    Y = np.where(rng.random(X.shape) < share, X + 0.5 * rng.standard_normal(X.shape), np.nan)
    return Basis(m1, F), Observations.of(Y.T if side else Y)


def levels_of(n, **options):
    p = np.array(
        [relevance.find_p_value(basis, 0, o) for basis, o in (draw(seed, **options) for seed in range(n))]
    )
    return np.array([(p <= level).mean() for level in (0.05, 0.1, 0.3, 0.6)])


def test_features_that_say_nothing_are_found_as_often_as_the_level_says(monkeypatch):
    """The control takes the least of the four p-values as it is."""
    n, wanted = 500, np.array([0.05, 0.1, 0.3, 0.6])
    error = np.sqrt(wanted * (1 - wanted) / n)
    assert (np.abs(levels_of(n) - wanted) < 3.5 * error + 0.01).all()  # ranks are whole numbers

    def least(scores):
        return float((scores >= scores[0]).mean(axis=0).min())

    monkeypatch.setattr(relevance, "rank_scores", least)
    assert (levels_of(n)[:3] > wanted[:3] + 5 * error[:3]).all()


def test_the_level_holds_for_slips_and_rows_that_were_measured_more_often():
    rng, found = np.random.default_rng(0), []
    for _ in range(300):
        Y = rng.standard_t(1.2, (20, 12)) * np.exp(2 * rng.standard_normal((20, 1)))
        Y[rng.random(Y.shape) > np.linspace(0.1, 0.9, 20)[:, None]] = np.nan
        found.append(relevance.find_p_value(Basis(20, rng.standard_normal((20, 3))), 0, Observations.of(Y)))
    for level in (0.1, 0.3):
        assert (
            abs(np.mean(np.array(found) <= level) - level) < 3.5 * np.sqrt(level * (1 - level) / 300) + 0.01
        )


def test_one_slip_does_not_hide_what_features_say():
    basis, o = draw(1, m1=60, explained=0.7)
    spoilt = o.values.copy()
    spoilt[5] = 1e6
    for values in (o.values, spoilt):
        told = Observations.from_triples(o.rows, o.cols, values, o.shape)
        assert relevance.find_p_value(basis, 0, told) <= 0.02


@pytest.mark.parametrize("side", [0, 1])
@pytest.mark.parametrize("p", [1, 30])
def test_a_feature_that_matters_is_found_also_among_many(p, side):
    found = [
        relevance.find_p_value(b, side, o) for b, o in (draw(s, 60, 20, p, 0.6, side=side) for s in range(20))
    ]
    assert np.mean(np.array(found) <= 0.05) >= 0.8


@pytest.mark.parametrize("what", ["levels", "patterns"])
def test_levels_and_patterns_are_found_alone(what):
    found = []
    for seed in range(10):
        rng = np.random.default_rng(seed)
        F = rng.standard_normal((50, 3))
        by = np.ones(15) if what == "levels" else rng.permutation(np.linspace(-1, 1, 15))
        Y = 0.7 * np.outer(F[:, 1], by) + rng.standard_normal((50, 15))
        found.append(relevance.find_p_value(Basis(50, F), 0, Observations.of(Y)))
    assert np.mean(np.array(found) <= 0.05) >= 0.9


@pytest.mark.parametrize("sparse", [False, True])
def test_scores_are_those_of_pairs_of_rows(sparse):
    rng = np.random.default_rng(0)
    F = rng.standard_normal((9, 5)) * (rng.random((9, 5)) < 0.5) + 0.3 * (not sparse)
    F[:, 2] = 1.0 - sparse  # constant
    Z, r = rng.standard_normal((9, 4)), rng.standard_normal(9)
    Z, r = Z - Z.mean(axis=0), r - r.mean()
    orders = np.array([rng.permutation(9) for _ in range(30)])
    ours = relevance.score(csr_array(F) if sparse else F, Z, r, orders)
    slow = relevance_slow.score(F, Z, r, orders)
    np.testing.assert_allclose(ours, slow, atol=1e-9)
    assert relevance.rank_scores(ours) == relevance_slow.rank_scores(slow)


def test_many_arrangements_are_scored_a_few_at_a_time(monkeypatch):
    basis, o = draw(0)
    whole = relevance.find_p_value(basis, 0, o)
    monkeypatch.setattr(relevance, "AT_ONCE", 1)
    assert relevance.find_p_value(basis, 0, o) == whole


def test_arrangements_that_rounding_alone_tells_apart_are_equal():
    scores = np.ones((4, 4))
    scores[1:] += 1e-13 * np.arange(1, 4)[:, None] * [1, -1, 1, -1]
    assert relevance.rank_scores(scores) == 1.0


def test_it_depends_on_nothing_but_the_table():
    basis, o = draw(5, m1=40)
    p = relevance.find_p_value(basis, 0, o)
    np.random.default_rng().random()
    assert relevance.find_p_value(basis, 0, o) == p
    other = Observations.from_triples(o.rows, o.cols, 7 - 3 * o.values, o.shape)
    assert relevance.find_p_value(basis, 0, other) == p
    assert relevance.find_p_value(Basis(basis.m, 5 * basis.F + 1), 0, o) == p


def test_rows_without_a_measurement_take_no_part():
    basis, o = draw(6, m1=40)
    p = relevance.find_p_value(basis, 0, o)
    more = Observations.from_triples(o.rows, o.cols, o.values, (50, o.shape[1]))
    F = np.vstack([basis.F, 100 + np.arange(40.0).reshape(10, 4)])
    assert relevance.find_p_value(Basis(50, F), 0, more) == p


def test_features_that_measured_rows_share_say_nothing():
    _, o = draw(7)
    more = Observations.from_triples(o.rows, o.cols, o.values, (30, o.shape[1]))
    F = (np.arange(30) >= 24).astype(float)[:, None]
    assert relevance.find_p_value(Basis(30, F), 0, more) == 1.0


def test_few_rows_and_features_without_a_basis_are_not_tested(monkeypatch):
    basis, o = draw(8, m1=relevance.FEWEST_ROWS - 1)
    assert relevance.find_p_value(basis, 0, o) is None
    basis, o = draw(8)
    monkeypatch.setattr("maxentry.model.link.FEW", 1)
    monkeypatch.setattr("maxentry.model.link.MOST", 2)
    assert basis.iterates
    assert relevance.find_p_value(basis, 0, o) is None


def test_of_large_tables_some_rows_and_the_strongest_directions_are_looked_at():
    rng = np.random.default_rng(0)
    F = rng.standard_normal((3000, 5))
    X = np.outer(F[:, 0] + rng.standard_normal(3000), rng.standard_normal(200))
    Y = np.where(rng.random(X.shape) < 0.05, X + rng.standard_normal(X.shape), np.nan)
    o = Observations.of(Y)
    chosen = relevance.choose_lines(o, 0, rng)
    Z, r = relevance.read_values(o, 0, chosen, 12, rng)
    assert (Z.shape, r.shape) == ((relevance.MOST_ROWS, 12), (relevance.MOST_ROWS,))
    whole, _ = relevance.read_values(o, 0, chosen, 200, rng)
    strongest = np.linalg.svd(whole, compute_uv=False)[0]
    assert np.linalg.norm(Z, 2) == pytest.approx(strongest, rel=1e-3)
    assert relevance.find_p_value(Basis(3000, F), 0, o) <= 0.02


def test_yes_and_no_and_grades_are_tested_as_numbers_are():
    basis, o = draw(9, m1=80, m2=20, explained=0.8)
    for kind, levels, values in (
        ("yes/no", (), (o.values > 0).astype(float)),
        ("grades", (1, 2, 3), 1.0 + (o.values > -0.5) + (o.values > 0.5)),
    ):
        told = Observations.from_triples(o.rows, o.cols, values, o.shape)
        law = Likelihood(kind, levels=levels)
        assert relevance.find_p_value(basis, 0, law.statements(told)) <= 0.02
