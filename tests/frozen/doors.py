"""The only place here that names modules which are not public: a rename inside the package changes this file alone."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from maxentry import acquisition
from maxentry.acquisition import Costs, Limits, Problem
from maxentry.belief import Belief, Entries
from maxentry.campaign.storage import Storage
from maxentry.client.client import RemoteCampaign
from maxentry.design.uniform import uniform
from maxentry.posterior import algorithm2
from maxentry.server.app import create_app
from maxentry.server.options import Options, ServerLimits

__all__ = ["REMOTE_CAMPAIGN", "algorithm2_draws", "choose", "criteria", "server", "uniform_design"]

REMOTE_CAMPAIGN = RemoteCampaign


def algorithm2_draws(
    Y: Any, rank: int, priors: Any, n_sweeps: int, seed: int, X0: Any = None, thin: int = 1
) -> dict[str, Any]:
    """Draws of the paper's sampler for a matrix with NaN where nothing was measured."""
    rows, cols = np.nonzero(~np.isnan(Y))
    rng = np.random.default_rng(seed)
    draws = algorithm2.sample(rows, cols, Y[rows, cols], Y.shape, rank, priors, n_sweeps, rng, X0, thin)
    return {name: getattr(draws, name) for name in ("A", "V", "sigma2", "eta2")}


def criteria() -> list[str]:
    """The names of all ways to choose."""
    return list(acquisition.CRITERIA)


def choose(name: str, draws: dict[str, Any], n: int, **question: Any) -> dict[str, Any]:
    """The batch that a criterion chooses: rows, cols, gain, cost.

    draws: left, right, row, col, mu, noise_var. question: shape, observed and pending (pairs of index lists), mask,
    again, costs (of entry, row, col), limits (per_row, per_col, plates).
    """
    given = dict(question)
    for part in ("observed", "pending"):
        if part in given:
            given[part] = Entries(*(np.asarray(index, dtype=np.int64) for index in given[part]))
    given["costs"] = Costs(**given.get("costs", {}))
    given["limits"] = Limits(**given.get("limits", {}))
    batch = acquisition.choose(name, Belief(**draws), Problem(**given), n, rng=np.random.default_rng(5))
    return {part: getattr(batch, part) for part in ("rows", "cols", "gain", "cost")}


def uniform_design(shape: tuple[int, int], n: int, **given: Any) -> tuple[Any, Any]:
    """Entries at random: rows and cols."""
    rows, cols = uniform(shape, n, **given)
    return rows, cols


def server(database: str | Path) -> Any:
    """The application over a file of campaigns (made where there is none), however often it is asked."""
    return create_app(Storage(database, create=True), Options(limits=ServerLimits(rate=0)))
