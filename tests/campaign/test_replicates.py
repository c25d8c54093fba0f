"""Campaigns whose noise is known, or learned from replicates: the fit, its name, and the expected error."""

import numpy as np
import pytest

from maxentry.campaign import fits
from maxentry.campaign.campaign import Campaign
from maxentry.errors import ParameterError

rng = np.random.default_rng(2)
ENTRIES = rng.normal(size=(8, 1)) + 0.5 * rng.normal(size=(8, 6))
ROWS, COLS = (index[:30] for index in np.nonzero(rng.random((8, 6)) < 0.7))
ONCE = {"row": ROWS.tolist(), "col": COLS.tolist(), "value": (ENTRIES[ROWS, COLS]).tolist()}
COPIED = {name: column + column[:8] for name, column in ONCE.items()}
TWICE = COPIED | {"value": ONCE["value"] + [x + 0.05 * (-1) ** k for k, x in enumerate(ONCE["value"][:8])]}


def begin(values, **settings):
    return Campaign.create("sqlite://", "c", 8, 6, seed=1, rank=0, values=values, **settings)


@pytest.mark.parametrize(("values", "settings"), [(ONCE, {"noise_sd": 0.05}), (TWICE, {})])
def test_the_expected_error_is_that_of_the_entries(values, settings):
    with begin(values, **settings) as campaign:
        posterior = campaign.posterior()
        assert 0.3 < posterior.deviation_sd < 0.8
        expected = float(np.sqrt(np.mean(np.asarray(posterior.sd) ** 2)))
        assert fits.expected_error(campaign.state, posterior) == pytest.approx(expected, rel=0.02)


SPARED = {"row": [0, 0, 1, 1, 2, 3], "col": [0, 0, 1, 2, 1, 2], "value": [1.0, "<1.5", 2.0, 0.5, 1.5, 1.2]}


@pytest.mark.parametrize(
    ("values", "settings", "of"),
    [
        (ONCE, {}, "measurement"),
        (ONCE, {"noise_sd": 0.05}, "entry"),
        (TWICE, {}, "entry"),
        (TWICE, {"noise": "student"}, "measurement"),
        (COPIED, {}, "measurement"),  # the same line again tells nothing of the noise
        (SPARED, {}, "measurement"),  # a limit beside a value is no replicate
    ],
)
def test_the_status_says_what_the_expected_error_is_of(values, settings, of):
    with begin(values, **settings) as campaign:
        assert campaign.status().error_of == of
        assert (campaign.posterior().deviation is not None) == (of == "entry")


def test_without_either_the_expected_error_includes_the_misfit():
    with begin(ONCE) as campaign:
        posterior = campaign.posterior()
        assert posterior.deviation_sd is None
        assert fits.expected_error(campaign.state, posterior) > 1.5 * float(np.mean(posterior.sd))


def test_the_setting_changes_the_fit_and_is_checked():
    with begin(ONCE) as campaign:
        before = fits.digest_fit(campaign.state, 30, "anchor")
        campaign.set(noise_sd=0.1)
        assert campaign.settings.noise_sd == 0.1
        assert fits.digest_fit(campaign.state, 30, "anchor") != before
        for wrong in ({"noise_sd": -1}, {"noise": "student"}, {"scale": "columns"}):
            with pytest.raises(ParameterError, match="noise_sd"):
                campaign.set(**wrong)
        campaign.set(noise_sd=None)
        assert fits.digest_fit(campaign.state, 30, "anchor") == before
