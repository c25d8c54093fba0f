import numpy as np
import pytest
from scipy.stats import ortho_group
from tests.reference.laws import ACCEPT, REJECT, ks, z_score

from maxentry.errors import ParameterError
from maxentry.model.smg import uniform_frame

M, R, N = 5, 2, 4000


def frames(seed):
    rng = np.random.default_rng(seed)
    return np.array([uniform_frame(M, R, rng) for _ in range(N)])


def test_columns_are_orthonormal():
    W = frames(0)
    np.testing.assert_allclose(W.mT @ W, np.broadcast_to(np.eye(R), (N, R, R)), atol=1e-13)


def test_entries_have_the_law_of_a_block_of_a_random_orthogonal_matrix():
    W = frames(1)
    block = ortho_group.rvs(M, size=N, random_state=2)[:, :, :R]
    for statistic in (lambda w: w[:, 0, 0], lambda w: w[:, 3, 1], lambda w: w[:, 0, 0] * w[:, 1, 1]):
        assert ks(statistic(W), statistic(block)) > ACCEPT


def test_the_mean_projection_is_isotropic():
    W = frames(3)
    z = z_score(W @ W.mT, np.eye(M) * R / M)
    assert np.abs(z).max() < 4.5


def test_the_law_does_not_change_under_rotation():
    turn = ortho_group.rvs(M, random_state=4)
    assert ks((turn @ frames(5))[:, 0, 0], frames(6)[:, 0, 0]) > ACCEPT


def test_negative_control_qr_without_the_signs_is_rejected():
    rng = np.random.default_rng(7)
    wrong = np.linalg.qr(rng.standard_normal((N, M, R)))[0]
    block = ortho_group.rvs(M, size=N, random_state=2)[:, :, :R]
    assert ks(wrong[:, 0, 0], block[:, 0, 0]) < REJECT


@pytest.mark.parametrize("R", [0, 6])
def test_impossible_frames_are_refused(R):
    with pytest.raises(ParameterError, match="1 <= R <= m"):
        uniform_frame(5, R, np.random.default_rng(0))
