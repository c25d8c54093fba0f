"""States of campaigns that were told some entries of a matrix, and beliefs, for tests of strategies."""

import datetime as dt

import numpy as np

from maxentry.belief import Belief, Entries
from maxentry.campaign.campaign import Campaign
from maxentry.compare.scenario import Truth

NOW = dt.datetime(2026, 1, 1, tzinfo=dt.UTC)


def told(Y, entries: Entries, **settings):
    """The state of a campaign over Y (NaN where nothing can be measured) that was told these entries, in this order."""
    Y = np.asarray(Y, dtype=float)
    i, j = (index.tolist() for index in entries)
    values = {"row": i, "col": j, "value": Y[i, j].tolist()} if i else None
    mask = None if not np.isnan(Y).any() else ~np.isnan(Y)
    with Campaign.create(
        "sqlite://", "told", *Y.shape, seed=3, mask=mask, values=values, clock=lambda: NOW, **settings
    ) as campaign:
        return campaign.state


def some(Y, n: int, seed: int = 0) -> Entries:
    """n entries at random of those that can be measured."""
    i, j = np.nonzero(~np.isnan(Y))
    return Entries.from_lists(
        *(index[np.random.default_rng(seed).permutation(len(i))[:n]] for index in (i, j))
    )


def belief(shape, rank=2, S=6, seed=0, noise=0.1) -> Belief:
    """Draws at random, with effects."""
    rng, (m1, m2) = np.random.default_rng(seed), shape
    left, right = rng.normal(size=(S, m1, rank)), rng.normal(size=(S, m2, rank))
    row, col = rng.normal(size=(S, m1)), rng.normal(size=(S, m2))
    return Belief(left, right, row, col, rng.normal(size=S), np.full(S, noise))


def truth(Y, **more) -> Truth:
    """A truth that is not simulated."""
    return Truth(np.asarray(Y, dtype=float), np.asarray(Y, dtype=float), float(np.nanmean(Y)), False, **more)
