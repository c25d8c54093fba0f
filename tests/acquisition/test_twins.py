"""Every criterion chooses what exhaustive search by dense covariances chooses, however little may be held or opened."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.acquisition.beliefs import belief, question
from tests.reference import acquisition_slow as slow

from maxentry import acquisition
from maxentry.acquisition import Limits, candidates, reduction, select, tiles
from maxentry.entries import Entries

NAMES = ["maxent", "maxent_nearest", "predictive_variance", "integrated_variance"]
LIMITS = [
    Limits(),
    Limits(per_row=1),
    Limits(per_col=1, per_row=2),
    Limits(plates="rows"),
    Limits(plates="cols"),
]


def rounding(name, b, q):
    """What rounding may do to a gain: variances lose 1e-14 of the greatest before anything was measured."""
    greatest, eta2 = slow.prior(name, b, q)[0].max(), float(np.mean(b.noise_var))
    return 1e-14 * greatest / eta2 * (greatest if name == "integrated_variance" else 1.0) + 1e-300


def agree(name, b, q, n):
    chosen = acquisition.choose(name, b, q, n, rng=np.random.default_rng(0))
    keys, gains = slow.choose(name, b, q, n)
    np.testing.assert_array_equal(Entries(chosen.rows, chosen.cols).keys(q.shape[1]), keys)
    np.testing.assert_allclose(chosen.gain, gains, rtol=1e-9, atol=rounding(name, b, q))
    np.testing.assert_array_equal(chosen.cost, q.costs.at(chosen.rows, chosen.cols))
    return chosen


@pytest.fixture(params=["all held", "tiny tiles", "little held", "few open"])
def economy(request, monkeypatch):
    """The ways in which a large matrix is treated, forced on small ones."""
    if request.param == "all held":
        monkeypatch.setattr(reduction, "PRODUCTS", 0)
    else:
        monkeypatch.setattr(tiles, "TILE", 2)
    if request.param in ("little held", "few open"):
        monkeypatch.setattr(candidates, "HELD_BYTES", 0)
        monkeypatch.setattr(candidates, "FEW", 7)
        monkeypatch.setattr(reduction, "HELD_BYTES", 0)
        monkeypatch.setattr(reduction, "LEADING", 2)
        monkeypatch.setattr(candidates, "CHUNK", 3)
        monkeypatch.setattr(select, "LOOKED_AT", 2)
        monkeypatch.setattr(reduction, "CHUNK", 5)
    if request.param == "few open":
        monkeypatch.setattr(candidates, "MOST_OPEN", 12)


@pytest.mark.parametrize("limits", LIMITS, ids=str)
@pytest.mark.parametrize("name", NAMES)
def test_choices_are_those_of_exhaustive_search(name, limits, economy):
    shape = (8, 7)
    for seed in range(3):
        b = belief(shape, seed=seed, coherent=seed == 1, effects=seed != 2)
        n = 2 if limits.plates else 6
        agree(name, b, question(shape, seed, limits=limits), n)
        agree(name, b, question(shape, seed, limits=limits, again=True, costs=False), n)


@settings(max_examples=30, deadline=None)
@given(
    st.sampled_from(NAMES), st.integers(1, 7), st.integers(1, 7), st.integers(1, 12), st.integers(0, 3),
    st.booleans(), st.booleans(), st.sampled_from([0.0, 1e-3, 0.3, 3.0]), st.integers(0, 2**31),
)  # fmt: skip
def test_screening_gives_the_same_answer_as_exhaustive_search(
    name, m1, m2, S, R, coherent, costs, spread, seed
):
    shape = (m1, m2)
    b = belief(shape, S, R, seed, coherent=coherent, spread=spread, noise=10.0 ** (seed % 6 - 4))
    q = question(shape, seed, costs=costs, observed=seed % 4, pending=seed % 3)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tiles, "TILE", 1 + seed % 4)
        agree(name, b, q, 4)
