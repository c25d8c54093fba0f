"""The Gaussian fields of a belief: features, variances, bounds and directions, against dense covariances."""

import tracemalloc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.acquisition.beliefs import belief, entries
from tests.reference import acquisition_slow as slow
from tests.reference.entropy_slow import lemma2_score

from maxentry.acquisition import draw_field, subspace_field
from maxentry.acquisition.draw_field import DrawField
from maxentry.belief import Entries
from maxentry.errors import ParameterError
from maxentry.kernels import variances as kernel

SHAPE = (9, 7)
ALL = Entries.from_keys(np.arange(63), 7)


def fields(seed=0, coherent=False):
    """Every kind of field, with the covariance of all entries it stands for."""
    b = belief(SHAPE, seed=seed, coherent=coherent)
    eta2, few, many = (
        float(np.mean(b.noise_var)),
        *(entries(SHAPE, n, np.random.default_rng(1)) for n in (5, 90)),
    )
    P_U, P_V, _, sigma2 = slow.projections(b)
    prior = sigma2 * np.kron(P_U, P_V)
    spaces = subspace_field.mean_projections(b, 4096)
    yield DrawField.from_belief(b), slow.draw_covariance(b)
    yield subspace_field.lemma2_field(spaces, eta2, few), slow.given(prior, few.keys(7), eta2)
    yield subspace_field.lemma2_field(spaces, eta2, many), slow.given(prior, many.keys(7), eta2)


@pytest.mark.parametrize("kind", range(3))
def test_features_and_variances_are_those_of_the_dense_covariance(kind):
    f, cov = list(fields())[kind]
    F = f.features(*ALL)
    FK = F - (F @ f.measured.T) @ f.measured
    np.testing.assert_allclose(FK @ F.T, cov, rtol=0, atol=1e-12 * cov.max())
    rows, cols = np.array([8, 2, 3]), np.array([0, 6])
    np.testing.assert_allclose(
        f.variances(rows, cols), (FK * F).sum(1).reshape(SHAPE)[np.ix_(rows, cols)], rtol=1e-11
    )


def test_the_forms_of_lemma_2_are_the_two_that_are_meant():
    kinds = [type(f) for f, _ in fields()]
    assert kinds == [DrawField, subspace_field.SubspaceField, subspace_field.CoreField]


def test_maxent_recites_lemma_2():
    b, observed = belief(SHAPE), entries(SHAPE, 90, np.random.default_rng(1))
    U, V, sigma2 = subspace_field.nearest_projections(b, 1024)
    eta2 = float(np.mean(b.noise_var))
    f = subspace_field.lemma2_field(subspace_field.Subspaces(U, V, sigma2), eta2, observed)
    score = lemma2_score(U, V, *observed, eta2 / sigma2, *ALL)
    v = f.variances(np.arange(9), np.arange(7)).ravel()
    np.testing.assert_allclose(v, sigma2 * score, rtol=1e-9)


@pytest.mark.parametrize("S", [1, 5, 8, 21, 24])  # draws come in eights, rows and columns in fours
@pytest.mark.parametrize(("rows", "cols"), [(1, 1), (4, 8), (5, 3), (9, 11)])
@pytest.mark.parametrize("R", [0, 1, 3])
def test_variances_of_a_block_are_those_of_its_draws(S, rows, cols, R):
    b = belief((12, 11), S, R, spread=0.4)
    f, rng = DrawField.from_belief(b), np.random.default_rng(0)
    some, others = rng.permutation(12)[:rows], rng.permutation(11)[:cols]
    expected = np.stack([b.draw(s) for s in range(S)]).var(0)[np.ix_(some, others)]
    v = f.variances(some, others)
    np.testing.assert_allclose(v, expected, rtol=1e-9, atol=1e-20)
    np.testing.assert_allclose(
        v, f.variances_at(np.repeat(some, cols), np.tile(others, rows)).reshape(v.shape), rtol=1e-12
    )


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 2**31), st.integers(0, 3), st.integers(1, 9), st.booleans(), st.floats(0, 3))
def test_no_entry_is_above_its_bounds(seed, R, S, coherent, spread):
    b = belief((12, 11), S, R, seed, coherent=coherent, spread=spread)
    f = DrawField.from_belief(b)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(draw_field, "WORTHWHILE", 0)
        patch.setattr(draw_field, "BOUND_COST", 0)
        bounds = f.bounds()
        closer = f.upper(np.arange(12), np.arange(11))
    assert len(bounds) == (2 if f.A.shape[1] else 1)
    sd = np.sqrt(f.variances(np.arange(12), np.arange(11)))
    if f.A.shape[1]:
        assert (sd**2 <= closer * (1 + 1e-12)).all()
    for P, Q in bounds:
        assert (P >= 0).all()
        assert (Q >= 0).all()
        assert (sd <= (P @ Q.T) * (1 + 1e-12) + 1e-12).all()


@pytest.mark.parametrize("kind", [1, 2])
@pytest.mark.parametrize("coherent", [False, True])
def test_no_entry_is_above_its_bounds_given_subspaces(kind, coherent):
    f, cov = list(fields(coherent=coherent))[kind]
    sd = np.sqrt(np.diag(cov).reshape(SHAPE))
    for P, Q in f.bounds():
        assert (sd <= (P @ Q.T) * (1 + 1e-9)).all()


def test_rows_and_columns_are_bounded_by_what_is_left_of_them():
    b, observed = belief(SHAPE, effects=False), entries(SHAPE, 90, np.random.default_rng(1))
    f = subspace_field.lemma2_field(
        subspace_field.nearest_projections(b, 1024), float(np.mean(b.noise_var)), observed
    )
    sd = np.sqrt(f.variances(np.arange(9), np.arange(7)))
    by_coherence, by_row, by_col = ((P @ Q.T) for P, Q in f.bounds())
    for bound in (by_row, by_col):
        assert (sd <= bound * (1 + 1e-9)).all()
        assert (bound < by_coherence / 2).all()


def test_the_turned_bound_is_the_closer_one_where_draws_agree(monkeypatch):
    monkeypatch.setattr(draw_field, "WORTHWHILE", 0)  # as if the matrix were large
    b = belief((50, 50), S=30, spread=0.02, effects=False)
    rng = np.random.default_rng(0)
    for s in range(30):  # the same draws, each seen from another side
        turn = np.linalg.qr(rng.normal(size=(2, 2)))[0]
        b.left[s], b.right[s] = b.left[s] @ turn, b.right[s] @ turn
    f = DrawField.from_belief(b)
    (P1, Q1), (P2, Q2) = f.bounds()
    sd = np.sqrt(f.variances(np.arange(50), np.arange(50)))
    assert np.median(sd / (P2 @ Q2.T)) > 0.4
    assert np.median(sd / (P1 @ Q1.T)) < 0.1
    closer = np.sqrt(f.upper(np.arange(50), np.arange(50)))
    assert np.median(sd / closer) > 0.6
    assert np.corrcoef(sd.ravel(), closer.ravel())[0, 1] > np.corrcoef(sd.ravel(), (P2 @ Q2.T).ravel())[0, 1]


def test_variances_of_some_entries_are_those_of_the_block():
    for f, _ in fields():
        block = f.variances(np.arange(9), np.arange(7))
        rows, cols = np.array([0, 8, 3, 3]), np.array([6, 0, 2, 2])
        np.testing.assert_allclose(f.variances_at(rows, cols), block[rows, cols], rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("threads", [1, 3])
def test_compiled_loops_agree_with_the_draws(monkeypatch, threads):
    monkeypatch.setattr(draw_field, "ENTRIES_A_THREAD", 1 if threads > 1 else 10**6)
    monkeypatch.setenv("MAXENTRY_THREADS", str(threads))
    b = belief(SHAPE, S=13, R=3, seed=5)
    D = slow.dense_draws(b)
    D -= D.mean(0)
    f = DrawField.from_belief(b)
    np.testing.assert_allclose(f.features(*ALL), D.T / np.sqrt(13), rtol=0, atol=1e-13)
    rows, cols = np.arange(9), np.arange(7)
    np.testing.assert_allclose(f.variances(rows, cols).ravel(), D.var(0), rtol=1e-12)


@pytest.mark.parametrize("S", [1, 7, 8, 29])
def test_sums_are_taken_in_one_order_whatever_the_processor(S):
    """To the last bit: eight sums, the rest on the first, then pairs."""
    x, y = np.random.default_rng(S).normal(size=(2, S))
    for terms, found in ((x, kernel.sum8(x)), (x * y, kernel.dot8(x, y))):
        sums = [0.0] * 8
        for s, term in enumerate(terms.tolist()):
            sums[s % 8 if s < S - S % 8 else 0] += term
        a, b, c, d, e, f, g, h = sums
        assert found == ((a + b) + (c + d)) + ((e + f) + (g + h))


def test_what_rounding_makes_of_equal_draws_is_no_variance():
    b, rng = belief(SHAPE, S=12, spread=0.0), np.random.default_rng(0)
    b.row[:], b.col[:], b.mu[:] = b.row[0], b.col[0] + 1e3, b.mu[0]
    for s in range(12):  # the same draw, seen from many sides
        turn = np.linalg.qr(rng.normal(size=(2, 2)))[0]
        b.left[s], b.right[s] = b.left[s] @ turn, b.right[s] @ turn
    f = DrawField.from_belief(b)
    assert slow.draw_covariance(b).max() > 0  # there is something to be rounded off
    assert f.least < 1e-19  # and little else
    assert (f.variances(np.arange(9), np.arange(7)) == 0).all()
    assert (f.features(*ALL) == 0).all()
    b.mu[0] += 1e-8
    assert (DrawField.from_belief(b).variances(np.arange(9), np.arange(7)) > 0).all()


def test_noise_is_not_below_what_rounding_leaves():
    b = belief(SHAPE)
    for noise, floored in ((1e-4, False), (1e-20, True)):
        b.noise_var[:] = noise
        for f in (
            DrawField.from_belief(b),
            subspace_field.lemma2_field(subspace_field.mean_projections(b, 4096), noise, Entries.none()),
        ):
            greatest = f.variances(np.arange(9), np.arange(7)).max()
            assert (f.eta2 > noise) == floored
            assert not floored or 0.99e-10 * greatest < f.eta2 < 1e-8 * greatest


def test_rounding_that_outgrows_the_noise_is_an_error_of_ours():
    with pytest.raises(
        ParameterError, match="expected noise that rounding leaves visible beside variances of 1"
    ):
        draw_field.measurement_directions(np.eye(4)[[0, 0, 1, 1]], 1e-20)


def test_spread_of_turned_factors_agrees_with_numpy():
    rng = np.random.default_rng(0)
    X, mean = rng.normal(size=(4, 3, 10)), rng.normal(size=(4, 3))
    turns = np.linalg.qr(rng.normal(size=(10, 3, 3)))[0].transpose(1, 2, 0).copy()
    cov, fourth, effect = np.empty((4, 4, 4)), np.empty(4), rng.normal(size=(4, 10))
    kernel.rotate_moments(X, effect, turns, mean, cov, fourth)
    d = np.einsum("irs,rts->its", X, turns) - mean[:, :, None]
    np.testing.assert_allclose(fourth, np.mean((d**2).sum(1) ** 2, axis=1), rtol=1e-12)
    d = np.concatenate([d, effect[:, None]], axis=1)
    np.testing.assert_allclose(cov, np.einsum("its,irs->itr", d, d) / 10, rtol=1e-12)


def test_products_from_factors_are_those_of_features(monkeypatch):
    monkeypatch.setattr(draw_field, "BLOCK_NUMBERS", 30)
    f, rng = DrawField.from_belief(belief(SHAPE)), np.random.default_rng(0)
    w = rng.normal(size=(2, 9))
    w -= w.mean(1, keepdims=True)
    keys = np.sort(rng.choice(63, 40, replace=False))
    expected = w @ f.features(*Entries.from_keys(keys, 7)).T
    np.testing.assert_allclose(f.products(w, keys), expected, rtol=0, atol=1e-12)


def test_directions_measure_one_entry_after_the_other():
    rng = np.random.default_rng(0)
    F, W, eta2 = rng.normal(size=(5, 8)), np.empty((0, 8)), 0.3
    for f in F:
        w, v = draw_field.measurement_direction(f, W, eta2)
        K = np.eye(8) - W.T @ W
        assert v == pytest.approx(f @ K @ f, rel=1e-12)
        W = np.concatenate([W, w[None]])
    np.testing.assert_allclose(draw_field.measurement_directions(F, eta2), W, atol=1e-12)
    np.testing.assert_allclose(draw_field.measurement_directions(F[2:], eta2, W[:2]), W[2:], atol=1e-12)
    exact = F.T @ np.linalg.solve(F @ F.T + eta2 * np.eye(5), F)
    np.testing.assert_allclose(W.T @ W, exact, atol=1e-12)


@pytest.mark.parametrize("kind", range(3))
@pytest.mark.parametrize("chunk", [1, 7, 4096])
def test_many_pending_entries_are_held_by_few_directions(monkeypatch, kind, chunk):
    monkeypatch.setattr(draw_field, "CHUNK", chunk)
    f, cov = list(fields())[kind]
    pending = entries(SHAPE, 300, np.random.default_rng(2))
    W, F = draw_field.all_directions(f, pending), f.features(*ALL)
    assert len(W) <= f.p
    expected = slow.given(cov, pending.keys(7), f.eta2)
    np.testing.assert_allclose(F @ F.T - (F @ W.T) @ (W @ F.T), expected, rtol=0, atol=1e-12 * cov.max())


def test_pending_entries_need_no_matrix_of_their_number():
    f = DrawField.from_belief(belief(SHAPE))
    pending = entries(SHAPE, 20_000, np.random.default_rng(2))
    draw_field.all_directions(f, pending)  # compiles what is not cached yet, which takes memory of its own
    tracemalloc.start()
    draw_field.all_directions(f, pending)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 10e6  # 20,000 x 20,000 numbers would be 3.2 GB


def test_mean_projections_are_exact_or_cut_to_what_is_affordable():
    b = belief((12, 10), S=6, R=2)
    P_U, P_V, rank, sigma2 = slow.projections(b)
    whole = subspace_field.mean_projections(b, 4096)
    np.testing.assert_allclose(whole.U @ whole.U.T, P_U, atol=1e-12)
    np.testing.assert_allclose(whole.V @ whole.V.T, P_V, atol=1e-12)
    assert whole.sigma2 == pytest.approx(sigma2, rel=1e-12)
    assert np.trace(P_U) == pytest.approx(rank)
    cut = subspace_field.mean_projections(b, 30)
    q1, q2 = cut.U.shape[1], cut.V.shape[1]
    assert q1 * q2 <= 30
    np.testing.assert_allclose(cut.U, whole.U[:, :q1], atol=1e-12)
    left, right = ((X**2).sum(0).cumsum() for X in (whole.U, whole.V))
    kept = [left[i] * right[j] for i in range(12) for j in range(10) if (i + 1) * (j + 1) <= 30]
    assert left[q1 - 1] * right[q2 - 1] == pytest.approx(max(kept))


@pytest.mark.parametrize("S", [2, 40])
def test_frames_of_many_and_of_few_draws_have_the_same_mean(S):
    b = belief((12, 10), S=S, R=2, effects=False)
    P_U = slow.projections(b)[0]
    U = subspace_field.mean_projections(b, 4096).U
    np.testing.assert_allclose(U @ U.T, P_U, atol=1e-12)


def test_nearest_projections_are_projections_of_the_mean_rank():
    b = belief((12, 10), S=6, R=2)
    P_U, _, rank, _ = slow.projections(b)
    U = subspace_field.nearest_projections(b, 1024).U
    assert U.shape[1] == round(rank) == 4
    np.testing.assert_allclose(U.T @ U, np.eye(4), atol=1e-12)
    np.testing.assert_allclose(U @ U.T, slow.nearest(P_U, 4), atol=1e-12)
