"""Proposition 1: the corrected bound always holds; the printed one, with 1/R, does not."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from tests.reference.entropy_slow import R_N, cross_coherence, entropy_bound

from maxentry.model.entropy import coherence, observational_entropy
from maxentry.model.smg import uniform_frame

Floats = NDArray[np.float64]
Indices = NDArray[np.intp]


def det_root(U: Floats, V: Floats, rows: Indices, cols: Indices, sigma2: float, eta2: float) -> float:
    """det{sigma2 R_N + eta2 I}^(1/N), through the eigenvalues; rounding must not take them below eta2."""
    eigenvalues = np.linalg.eigvalsh(R_N(U, V, rows, cols))
    return float(np.exp(np.mean(np.log(sigma2 * np.maximum(eigenvalues, 0) + eta2))))


def printed_bound(U: Floats, V: Floats, rows: Indices, cols: Indices, sigma2: float, eta2: float) -> float:
    """Eqs. ev and ev2 to the letter, by loops (and without their constant C, which is Lemma 1's)."""
    N, R = len(rows), U.shape[1]
    nu_u, nu_v = cross_coherence(U, rows, rows) ** 2, cross_coherence(V, cols, cols) ** 2
    brackets = []
    for n in range(N):
        others = [k for k in range(N) if k != n]
        worst = max((nu_u[n, k] for k in others), default=0.0) + max(
            (nu_v[n, k] for k in others), default=0.0
        )
        signal = sigma2 * coherence(U)[rows[n]] * coherence(V)[cols[n]]
        brackets.append(signal + eta2 - sigma2 * (N - 1) / (2 * R) * worst)
    return float(min(brackets))


def random_problem(seed: int) -> tuple[Floats, Floats, Indices, Indices, float, float]:
    """Any shape, rank, number of entries and noise; every third has repeated entries."""
    rng = np.random.default_rng(seed)
    m1, m2 = (int(m) for m in rng.integers(2, 12, size=2))
    R = int(rng.integers(1, min(m1, m2) + 1))
    N = int(rng.integers(1, min(m1 * m2, 15) + 1))
    U, V = (np.linalg.qr(rng.standard_normal((m, R)))[0] for m in (m1, m2))
    rows, cols = np.divmod(rng.choice(m1 * m2, N, replace=seed % 3 == 0), m2)
    return U, V, rows, cols, float(10 ** rng.uniform(-2, 2)), float(10 ** rng.uniform(-6, 1))


@settings(max_examples=500, derandomize=True, deadline=None)
@given(st.integers(0, 2**32 - 1))
def test_the_corrected_bound_is_a_lower_bound(seed: int) -> None:
    problem = random_problem(seed)
    N, bound = len(problem[2]), entropy_bound(*problem)
    assert bound <= det_root(*problem) * (1 + 1e-9)
    if bound > 0:
        entropy = observational_entropy(*problem)
        assert N / 2 * np.log(2 * np.pi * np.e * bound) <= entropy + 1e-9 * abs(entropy)


def test_at_rank_one_the_printed_bound_is_the_corrected_one() -> None:
    tried = 0
    for seed in range(300):
        problem = random_problem(seed)
        if problem[0].shape[1] == 1:
            tried += 1
            assert entropy_bound(*problem) == pytest.approx(printed_bound(*problem), rel=1e-9, abs=1e-12)
    assert tried > 30


def test_counterexample_to_the_printed_bound_with_two_entries() -> None:
    """R = 2, entries (0, 0) and (1, 0), rows 0 and 1 of U equal: R_N is singular, the bound is positive."""
    half = np.sqrt(0.5)
    U = np.array([[half, 0.0], [half, 0.0], [0.0, 1.0]])
    V = np.array([[1.0, 0.0], [0.0, 1.0], [0.0, 0.0]])
    problem = (U, V, np.array([0, 1]), np.array([0, 0]), 1.0, 1e-4)
    assert printed_bound(*problem) == pytest.approx(1 / 2 - 1 / 4 * (1 / 4 + 1) + 1e-4)  # 0.1876
    assert det_root(*problem) == pytest.approx(np.sqrt(1e-4 * 1.0001))  # 0.0100
    assert det_root(*problem) < printed_bound(*problem)
    assert entropy_bound(*problem) <= det_root(*problem)


def test_counterexample_to_the_printed_bound_in_the_setting_of_the_paper() -> None:
    """N = m1 = m2 = 6, R = 3, a Latin-square design, and the simulations' sigma2 = 1, eta2 = 1e-4.

    C is a symmetric conference matrix (zero diagonal, signs elsewhere, C C' = 5 I), the subspaces are its two
    eigenspaces: nu_{i,k}(V) = -nu_{i,k}(U), and 1' R_N 1 = tr(P_U P_V) = 0, so that R_N is singular.
    """
    C = np.array(
        [
            [0, 1, 1, 1, 1, 1],
            [1, 0, 1, -1, -1, 1],
            [1, 1, 0, 1, -1, -1],
            [1, -1, 1, 0, 1, -1],
            [1, -1, -1, 1, 0, 1],
            [1, 1, -1, -1, 1, 0],
        ]
    )
    assert np.array_equal(C @ C.T, 5 * np.eye(6))
    eigenvectors = np.linalg.eigh(C)[1]
    U, V = eigenvectors[:, 3:], eigenvectors[:, :3]
    diagonal = np.arange(6)
    problem = (U, V, diagonal, diagonal, 1.0, 1e-4)
    assert printed_bound(*problem) == pytest.approx(1 / 4 * (1 - 1 / 3) + 1e-4)  # 0.1668
    assert det_root(*problem) == pytest.approx((1e-4 * 0.3001**5) ** (1 / 6))  # 0.0790
    assert det_root(*problem) < printed_bound(*problem)
    # The corrected bound is as good as Gershgorin's discs can be: it is the smallest eigenvalue itself.
    assert entropy_bound(*problem) == pytest.approx(1e-4, rel=1e-9)


def test_random_designs_violate_the_printed_bound_too() -> None:
    """Negative control of the search above: it does find violations where there are any."""
    violated = sum(
        printed_bound(*problem) > det_root(*problem) * (1 + 1e-9)
        for problem in map(random_problem, range(1500))
    )
    assert violated > 0


def test_in_the_papers_simulations_both_bounds_are_negative() -> None:
    """30 x 30, R = 3, one entry per row and column: true, and of no use."""
    rng = np.random.default_rng(0)
    for _ in range(50):
        U, V = uniform_frame(30, 3, rng), uniform_frame(30, 3, rng)
        problem = (U, V, np.arange(30), rng.permutation(30), 1.0, 1e-4)
        assert entropy_bound(*problem) < printed_bound(*problem) < 0 < det_root(*problem)
