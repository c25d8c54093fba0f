import numpy as np
import pytest
from scipy.stats import vonmises_fisher
from tests.reference import algorithm2_laws as mf
from tests.reference.laws import ACCEPT, REJECT, ks

from maxentry.kernels import algorithm2 as kernel
from maxentry.model.smg import uniform_frame

N = 3000


def parameter(m, s, seed=0):
    """A matrix F with singular values s and random singular vectors."""
    rng = np.random.default_rng(seed)
    R = len(s)
    return uniform_frame(m, R, rng) * np.asarray(s, dtype=float) @ uniform_frame(R, R, rng).T


def statistics(W, F):
    """Concentration, an entry, and the turn of the frame inside its span (zero at the mode)."""
    W = np.asarray(W)
    G = F.T @ W
    turn = [G[:, 0, 1] - G[:, 1, 0]] if F.shape[1] > 1 else []
    return [np.einsum("nij,ij->n", W, F), W[:, 0, 0], *turn]


def naive(F, n, rng):
    """The obvious draw: uniform frames kept with probability etr(F'W) over its maximum."""
    m, R = F.shape
    top = np.linalg.svd(F, compute_uv=False).sum()
    kept = []
    while sum(map(len, kept)) < n:
        Q, T = np.linalg.qr(rng.standard_normal((50_000, m, R)))
        W = Q * np.sign(np.diagonal(T, axis1=1, axis2=2))[:, None, :]
        kept.append(W[np.log(rng.random(len(W))) < np.einsum("nij,ij->n", W, F) - top])
    return np.concatenate(kept)[:n]


def proposals(F, n, rng):
    """Hoff's proposal without his acceptance step: the negative control."""
    left, s, right = np.linalg.svd(F, full_matrices=False)
    H, W, out = np.ascontiguousarray((left * s).T), np.empty(F.T.shape), []
    for _ in range(n):
        for j in range(F.shape[1]):
            kernel.redraw_axis(W, j + 1, j, H[j], rng)
        out.append(W.T @ right)
    return np.array(out)


def chain(F, n, rng, thin=3):
    W, out = uniform_frame(*F.shape, rng), []
    for t in range(50 + n * thin):
        W = mf.von_mises_fisher_gibbs_step(W, F, rng)
        if t >= 50 and t % thin == 0:
            out.append(W)
    return np.array(out)


@pytest.mark.parametrize(("m", "kappa"), [(2, 20.0), (3, 0.5), (10, 1e4)])
def test_one_column_is_the_vector_law_of_scipy(m, kappa):
    rng = np.random.default_rng(1)
    mean = uniform_frame(m, 1, rng)
    ours = np.array([mf.draw_von_mises_fisher(kappa * mean, rng) for _ in range(N)])
    theirs = vonmises_fisher(mean[:, 0], kappa).rvs(N, random_state=2)[:, :, None]
    for a, b in zip(statistics(ours, mean), statistics(theirs, mean), strict=True):
        assert ks(a, b) > ACCEPT
    wrong = vonmises_fisher(mean[:, 0], 1.3 * kappa).rvs(N, random_state=2)[:, :, None]
    if kappa > 1:
        assert ks(statistics(ours, mean)[0], statistics(wrong, mean)[0]) < REJECT


@pytest.mark.parametrize(("m", "s"), [(4, (3, 1)), (3, (2, 2, 1))])
def test_rejection_has_the_law_of_naive_rejection(m, s):
    F, rng = parameter(m, s), np.random.default_rng(3)
    ours = np.array([mf.draw_von_mises_fisher(F, rng) for _ in range(N)])
    for a, b in zip(statistics(ours, F), statistics(naive(F, N, rng), F), strict=True):
        assert ks(a, b) > ACCEPT


def test_negative_control_proposals_without_rejection_are_rejected():
    F, rng = parameter(3, (3, 3)), np.random.default_rng(4)
    wrong, right = statistics(proposals(F, N, rng), F), statistics(naive(F, N, rng), F)
    assert min(ks(a, b) for a, b in zip(wrong, right, strict=True)) < REJECT


@pytest.mark.parametrize(
    ("m", "s"),
    [
        (6, (40, 9, 0.1)),
        (3, (3, 2, 1)),
        *(pytest.param(m, s, marks=pytest.mark.slow) for m, s in [(4, (2, 1)), (5, (0, 0)), (8, (1e6, 2e5))]),
    ],
)
def test_a_gibbs_pass_leaves_the_law_of_rejection_invariant(m, s):
    F, rng = parameter(m, s), np.random.default_rng(5)
    after = [mf.von_mises_fisher_gibbs_step(mf.draw_von_mises_fisher(F, rng), F, rng) for _ in range(N)]
    fresh = [mf.draw_von_mises_fisher(F, rng) for _ in range(N)]
    for a, b in zip(statistics(after, F), statistics(fresh, F), strict=True):
        assert np.ptp(b) == 0 or ks(a, b) > ACCEPT


def test_negative_control_a_gibbs_pass_for_another_parameter_is_rejected():
    F, rng = parameter(6, (40, 9, 0.1)), np.random.default_rng(6)
    after = [mf.von_mises_fisher_gibbs_step(mf.draw_von_mises_fisher(F, rng), 0.8 * F, rng) for _ in range(N)]
    fresh = [mf.draw_von_mises_fisher(F, rng) for _ in range(N)]
    assert ks(statistics(after, F)[0], statistics(fresh, F)[0]) < REJECT


@pytest.mark.parametrize(("m", "s"), [(4, (2, 1)), pytest.param(6, (40, 9, 0.1), marks=pytest.mark.slow)])
def test_the_gibbs_chain_converges_from_a_uniform_frame(m, s):
    F, rng = parameter(m, s), np.random.default_rng(7)
    fresh = [mf.draw_von_mises_fisher(F, rng) for _ in range(N)]
    for a, b in zip(statistics(chain(F, N, rng), F), statistics(fresh, F), strict=True):
        assert ks(a, b) > ACCEPT


def lag_one(x):
    return np.corrcoef(x[1:], x[:-1])[0, 1]


def test_turning_planes_is_what_mixes_at_high_concentration():
    F, rng = np.eye(8, 2) * (2e6, 1e6), np.random.default_rng(8)
    with_planes = chain(F, 1000, rng, thin=1)
    assert abs(lag_one(statistics(with_planes, F)[2])) < 4 / np.sqrt(1000)

    W, columns_only = np.ascontiguousarray(with_planes[-1].T), []
    for _ in range(1000):
        for j in range(2):
            kernel.redraw_axis(W, 2, j, np.ascontiguousarray(F[:, j]), rng)
        columns_only.append(W.T.copy())
    assert lag_one(statistics(np.array(columns_only), F)[2]) > 0.9


def test_frames_stay_orthonormal_over_many_passes():
    rng = np.random.default_rng(9)
    W, F = np.ascontiguousarray(uniform_frame(12, 4, rng).T), parameter(12, (1e7, 1e5, 10, 1e-3)).T
    for _ in range(20_000):
        kernel.gibbs_pass(W, F.copy(), rng)
    np.testing.assert_allclose(W @ W.T, np.eye(4), atol=1e-13)
