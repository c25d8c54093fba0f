"""Every criterion chooses what exhaustive search by dense covariances chooses, however little may be held or opened."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.acquisition.beliefs import belief, problem
from tests.reference import acquisition_slow as slow

from maxentry import acquisition
from maxentry.acquisition import Limits, draw_field, greedy, total_variance
from maxentry.acquisition.draw_field import NOISE_FLOOR, DrawField
from maxentry.belief import Entries

NAMES = ["maxent", "maxent_nearest", "predictive_variance", "integrated_variance"]
ECONOMIES = ("all held", "tiny tiles", "little held", "few open")
# Plates are opened whole, so that a tile or a list of candidates makes no difference to them.
WAYS = [
    *((limits, economy) for limits in (Limits(), Limits(per_col=1, per_row=2)) for economy in ECONOMIES),
    (Limits(plates="rows"), "all held"),
    (Limits(plates="rows"), "few open"),
    (Limits(plates="cols"), "little held"),
]


def rounding(name, b, q):
    """What rounding may do to a gain: variances lose 1e-14 of the greatest before anything was measured."""
    greatest, eta2 = slow.prior(name, b, q)[0].max(), float(np.mean(b.noise_var))
    return 1e-14 * greatest / eta2 * (greatest if name == "integrated_variance" else 1.0) + 1e-300


def noise(name, b, q):
    """The noise reckoned with: that of the belief, but at least 1e-10 of a bound of the greatest variance.

    For the draws that bound is the product of fourth moments (`bounds`, proven there and tested on its own), for
    MaxEnt the greatest prior variance itself.
    """
    if name in ("predictive_variance", "integrated_variance"):
        return DrawField.from_belief(b).eta2
    return max(float(np.mean(b.noise_var)), NOISE_FLOOR * np.diag(slow.prior(name, b, q)[0]).max())


def agree(name, b, q, n):
    chosen = acquisition.choose(name, b, q, n, rng=np.random.default_rng(0))
    found, lost = Entries(chosen.rows, chosen.cols).keys(q.shape[1]), rounding(name, b, q)
    keys, gains = slow.choose(name, b, q, n, noise(name, b, q), found, lost)
    np.testing.assert_array_equal(found, keys)
    np.testing.assert_allclose(chosen.gain, gains, rtol=1e-9, atol=lost)
    np.testing.assert_array_equal(chosen.cost, q.costs.at(chosen.rows, chosen.cols))
    return chosen


def economise(economy, monkeypatch):
    """Treat small matrices as large ones are treated."""
    if economy == "all held":
        monkeypatch.setattr(total_variance, "PRODUCTS", 0)
    else:
        monkeypatch.setattr(greedy, "TILE", 2)
        monkeypatch.setattr(draw_field, "WORTHWHILE", 0)
        monkeypatch.setattr(draw_field, "BOUND_COST", 0)
    if economy in ("little held", "few open"):
        monkeypatch.setattr(greedy, "HELD_BYTES", 0)
        monkeypatch.setattr(greedy, "FEW", 7)
        monkeypatch.setattr(total_variance, "HELD_BYTES", 0)
        monkeypatch.setattr(total_variance, "LEADING", 2)
        monkeypatch.setattr(greedy, "CHUNK", 3)
        monkeypatch.setattr(greedy, "LOOKED_AT", 2)
        monkeypatch.setattr(total_variance, "CHUNK", 5)
    if economy == "few open":
        monkeypatch.setattr(greedy, "MOST_OPEN", 12)


@pytest.mark.parametrize(("limits", "economy"), WAYS, ids=str)
@pytest.mark.parametrize("name", NAMES)
def test_choices_are_those_of_exhaustive_search(name, limits, economy, monkeypatch):
    economise(economy, monkeypatch)
    shape = (8, 7)
    for seed in range(3):
        b = belief(shape, seed=seed, coherent=seed == 1, effects=seed != 2)
        n = 2 if limits.plates else 6
        agree(name, b, problem(shape, seed, limits=limits), n)
        agree(name, b, problem(shape, seed, limits=limits, again=True, costs=False), n)


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
    q = problem(shape, seed, costs=costs, observed=seed % 4, pending=seed % 3)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(greedy, "TILE", 1 + seed % 4)
        agree(name, b, q, 4)


def test_noise_is_raised_only_where_it_would_drown_in_rounding():
    lost = belief((6, 7), 2, 3, 1, coherent=True, spread=3.0, noise=1e-3)
    heard = belief((6, 7), 12, 3, 1, noise=1e-3)
    assert 1 < DrawField.from_belief(lost).eta2 / np.mean(lost.noise_var) < 10
    assert DrawField.from_belief(heard).eta2 == np.mean(heard.noise_var)
