"""A campaign with one column in other units: it is found, said, and does not rule what is asked for."""

from typing import get_args

import numpy as np
import pytest
from tests.campaign.examples import ask, begun

from maxentry.campaign.settings import Settings
from maxentry.errors import ParameterError
from maxentry.posterior.complete import same_scales
from maxentry.transform import Scaling

M1, M2, ODD = 24, 10, 4


def values(known=0.35, factor=100.0, seed=0):
    """Entries (row, col, value) of a table with one column in other units."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(M1, 1)) @ rng.normal(size=(1, M2)) + 0.1 * rng.normal(size=(M1, M2))
    X[:, ODD] *= factor
    seen = rng.random(X.shape) < known
    return np.where(seen, X, np.nan)


def campaign(Y, **settings):
    """An in-memory campaign that knows these values; its entries have the labels 0, 1, …"""
    found = begun(Y.shape, rank=1, n_initial=1, **settings)
    rows, cols = np.nonzero(~np.isnan(Y))
    found.tell(row=rows, col=cols, value=Y[rows, cols])
    return found


def in_odd_column(found):
    return float(np.mean(np.array(ask(found, 12)["col"]) == ODD))


def test_no_column_rules_what_is_asked_for():
    with campaign(values()) as scaled, campaign(values(), scale="none") as plain:
        assert list(scaled.posterior().scales) == [ODD]
        assert plain.posterior().scales == {}
        assert in_odd_column(plain) > 0.9  # the control
        assert in_odd_column(scaled) < 0.4
        # the expected error is in the units of the other columns
        assert scaled.outlook().outlook.error_now < 1 < plain.outlook().outlook.error_now


def test_scales_that_appear_later_begin_a_fit_anew():
    Y = values()
    without = Y.copy()
    without[2:, ODD] = np.nan
    with campaign(without) as found:
        before = found.posterior()
        assert before.scales == {}
        late = [i for i in range(2, M1) if not np.isnan(Y[i, ODD])]
        found.tell(row=late, col=[ODD] * len(late), value=Y[late, ODD])
        assert list(found.posterior().scales) == [ODD]
        assert not same_scales(before, found.posterior().observations)


def test_the_setting_is_what_complete_takes():
    choices = Settings.__dataclass_fields__["scale"].metadata["choices"]
    assert choices == get_args(Scaling)
    with campaign(values()) as found:
        assert found.settings.scale == "auto"
        found.set(scale="none")
        assert found.posterior().scales == {}
        with pytest.raises(ParameterError, match="scale"):
            found.set(scale="yes")
