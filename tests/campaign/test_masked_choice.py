"""With a mask, entries are chosen only where choosing promises more than random entries of the mask."""

import numpy as np
import pytest
from tests.acquisition.beliefs import belief, entries
from tests.campaign.examples import ask, begun, places
from tests.reference import acquisition_slow as slow

from maxentry.acquisition.total_variance import TotalVariance
from maxentry.campaign import policy
from maxentry.campaign.campaign import Campaign

SHAPE = (12, 9)


def mask_of_few() -> np.ndarray:
    """Most of what can be measured is in three columns."""
    mask = np.zeros(SHAPE, dtype=bool)
    mask[:, :3] = True
    mask[np.arange(12), 3 + np.arange(12) % 6] = True
    return mask


def run(values: np.ndarray, **settings: object) -> Campaign:
    """A campaign that knows the three columns of which all can be measured."""
    campaign = begun(rank=1, **settings)
    rows, cols = np.divmod(np.arange(36), 3)
    campaign.tell(row=rows.tolist(), col=cols.tolist(), value=values[rows, cols])
    return campaign


def why(campaign: Campaign) -> str:
    return campaign.history(frame="columns")["what"][-1]


NOISE = np.random.default_rng(1).normal(size=SHAPE)


@pytest.mark.parametrize("pattern", [True, False])
def test_choosing_has_to_promise_something(pattern: bool) -> None:
    """Where all is noise, which 36 values may hide, random entries are taken in some of twelve tables; else never."""
    at_random = []
    for seed in range(12):
        rng = np.random.default_rng(seed)
        noise = rng.normal(size=SHAPE)
        rank_one = 100 * rng.normal(size=(SHAPE[0], 1)) @ rng.normal(size=(1, SHAPE[1]))
        campaign = run(rank_one + 1e-3 * noise if pattern else noise, mask=mask_of_few())
        asked = places(ask(campaign, 4))
        assert len(set(asked)) == 4
        assert all(mask_of_few()[entry] for entry in asked)
        at_random.append(policy.AT_RANDOM in why(campaign))
    assert any(at_random) is not pattern


def test_a_mask_of_all_entries_is_no_mask() -> None:
    everything = np.ones(SHAPE, dtype=bool)
    batches = [places(ask(run(NOISE, **given), 4)) for given in ({}, {"mask": everything})]
    assert batches[0] == batches[1]


@pytest.mark.parametrize(
    "settings", [{"acquisition": "integrated_variance"}, {"costs": {"row": np.linspace(1, 2, 12)}}]
)
def test_other_criteria_and_costs_are_left_alone(settings: dict) -> None:
    campaign = run(NOISE, mask=mask_of_few(), **settings)
    ask(campaign, 4)
    assert policy.AT_RANDOM not in why(campaign)


@pytest.mark.parametrize("n", [9, 63])
def test_the_variance_of_a_sample_stands_for_all(n: int) -> None:
    """The trace over the sample, in proportion; of all entries, the whole."""
    b, rng = belief((9, 7)), np.random.default_rng(0)
    more, sample = entries((9, 7), 5, rng), entries((9, 7), n, rng)
    left = slow.given(slow.draw_covariance(b), more.keys(7), float(np.mean(b.noise_var)))
    expected = np.diag(left)[sample.keys(7)].sum() * 63 / n
    assert TotalVariance(b, sample=sample).after(more) == pytest.approx(expected, rel=1e-9)
