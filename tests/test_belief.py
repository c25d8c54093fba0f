"""A belief computes entries, blocks and maps as the dense draws say, whatever the size of its blocks."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from maxentry import belief as module
from maxentry.belief import Belief


def some_belief(S=7, m1=5, m2=4, R=2, seed=0, dtype=np.float64):
    rng = np.random.default_rng(seed)
    shapes = (S, m1, R), (S, m2, R), (S, m1), (S, m2)
    factors = (rng.normal(size=shape).astype(dtype) for shape in shapes)
    return Belief(*factors, rng.normal(size=S), rng.gamma(2.0, size=S))


def dense(belief):
    """The slow twin: every entry of every draw by its formula."""
    S, (m1, m2) = belief.n_draws, belief.shape
    x = np.empty((S, m1, m2))
    for s in range(S):
        for i in range(m1):
            for j in range(m2):
                dot = sum(a * b for a, b in zip(belief.left[s, i], belief.right[s, j], strict=True))
                x[s, i, j] = belief.mu[s] + belief.row[s, i] + belief.col[s, j] + dot
    return x


sizes = st.integers(1, 6)


@given(sizes, sizes, sizes, st.integers(0, 3), st.integers(0, 2**32 - 1), st.integers(1, 60))
def test_everything_agrees_with_the_dense_draws(S, m1, m2, R, seed, block):
    belief = some_belief(S, m1, m2, R, seed)
    x = dense(belief)
    assert belief.shape == (m1, m2)
    assert belief.n_draws == S
    i, j = np.divmod(np.arange(m1 * m2), m2)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "BLOCK_NUMBERS", block)
        mean = belief.mean()
        sd = belief.sd(mean)
    np.testing.assert_allclose(belief.at(i, j), x.reshape(S, -1), rtol=0, atol=1e-12)
    np.testing.assert_allclose([belief.draw(s) for s in range(S)], x, rtol=0, atol=1e-12)
    np.testing.assert_allclose(mean, x.mean(0), rtol=0, atol=1e-12)
    expected = x.std(0, ddof=1) if S > 1 else np.zeros((m1, m2))
    np.testing.assert_allclose(sd, expected, rtol=0, atol=1e-12)


@pytest.mark.parametrize(
    ("numbers", "block", "largest"), [(1, 8, 8), (1, 1, 1), (4, 12, 3), (1, 10**6, 20), (9, 3, 1)]
)
def test_blocks_cover_every_entry_once_and_stay_small(monkeypatch, numbers, block, largest):
    monkeypatch.setattr(module, "BLOCK_NUMBERS", block)
    times, sizes = np.zeros((5, 4), dtype=int), []
    for rows, cols in some_belief(m1=5, m2=4).blocks(numbers):
        times[rows, cols] += 1
        sizes.append(times[rows, cols].size)
    assert np.all(times == 1)
    assert max(sizes) == largest


def test_small_deviations_survive_a_large_mean():
    belief = some_belief()
    far = Belief(
        *(getattr(belief, f) for f in ("left", "right", "row", "col")), belief.mu + 1e9, belief.noise_var
    )
    np.testing.assert_allclose(far.sd(far.mean()), belief.sd(belief.mean()), rtol=1e-5)


def test_single_precision_draws_give_double_precision_maps():
    belief, single = some_belief(), some_belief(dtype=np.float32)
    mean, exact = single.mean(), belief.mean()
    np.testing.assert_allclose(mean, exact, atol=1e-5)
    np.testing.assert_allclose(single.sd(mean), belief.sd(exact), atol=1e-5)
    assert single.sd(mean).dtype == np.float64
    assert single.mean().dtype == np.float64
    assert single.at(np.array([0]), np.array([1])).dtype == np.float64
