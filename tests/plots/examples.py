"""Small posteriors and campaigns to draw."""

from functools import cache
from unittest import mock

import numpy as np
from tests.campaign.examples import answer, ask, begun, truth
from tests.posterior.examples import SHORT, low_rank

from maxentry import complete
from maxentry.campaign.campaign import Campaign
from maxentry.posterior.posterior import Posterior
from maxentry.posterior.rank import RankChoice

EVIL = "<script>alert('x')</script> & $x_1$"


@cache
def small(rank: int = 2, transform: str = "none", shape: tuple[int, int] = (12, 9)) -> Posterior:
    _, Y = low_rank(shape)
    if transform == "log":
        Y = np.exp(0.3 * Y)
    rows = [f"r{i}" for i in range(shape[0])]
    cols = [EVIL, *(f"c{j}" for j in range(1, shape[1]))]
    return complete(
        Y, rank, row_labels=rows, col_labels=cols, transform=transform, sampling=SHORT, seed=1, progress=False
    )


@cache
def mixed(weights: tuple[float, ...] = (0.5, 0.25, 0.25)) -> Posterior:
    """Four chains of ranks 0, 1, 2 in these shares, as if rank="auto" had found so."""
    _, Y = low_rank((12, 9))
    found = RankChoice((0, 1, 2), (1.0, 1.0, 1.0), weights, 50)
    with mock.patch("maxentry.posterior.complete._choose_rank", return_value=(found, None, None)):
        return complete(Y, sampling=SHORT, seed=1, progress=False)


@cache
def asked() -> Campaign:
    """A campaign of 12 x 9 in which 40 entries are told, four batches of them chosen, and three are pending."""
    campaign, X = begun(storage="sqlite://"), truth()
    noise = np.random.default_rng(1)
    with mock.patch("maxentry.posterior.schedule.WORK", 1e6):  # fits of the least length
        for _ in range(5):
            batch = ask(campaign, 8)
            answer(campaign, batch, X + 0.05 * noise.normal(size=X.shape))
        ask(campaign, 3)
    return campaign
