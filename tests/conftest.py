"""Property tests draw the same examples every time; MAXENTRY_HYPOTHESIS=search looks for new ones, and for long."""

import os

import pytest
from hypothesis import settings

settings.register_profile("same", derandomize=True, deadline=None)
settings.register_profile("search", deadline=None, max_examples=1000)
settings.load_profile(os.environ.get("MAXENTRY_HYPOTHESIS", "same"))


@pytest.fixture(scope="session")
def compiled() -> None:
    """For tests that wait for fits, which must not wait for the compiler: on a busy machine it takes minutes."""
    from maxentry.campaign.campaign import Campaign

    for rank in (1, "auto"):
        with Campaign.create("sqlite://", "x", 6, 5, seed=1, rank=rank) as campaign:
            rows, cols = [k % 6 for k in range(12)], [k % 5 for k in range(12)]
            campaign.tell(row=rows, col=cols, value=[i + j / 7 for i, j in zip(rows, cols, strict=True)])
            campaign.ask(2, frame="columns", progress=False)
    with Campaign.create("sqlite://", "x", 7, 5, seed=1, acquisition="balanced") as campaign:
        campaign.fail(campaign.ask(10, frame="columns", progress=False)["id"][:3])
        campaign.ask(3, frame="columns", progress=False)  # around what failed: a design of its own kernels
