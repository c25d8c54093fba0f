"""Small campaigns with the real policy, and someone who measures."""

import numpy as np

from maxentry.campaign.campaign import Campaign
from maxentry.errors import NothingToAskError
from maxentry.model.smg import draw_smg


def truth(shape: tuple[int, int] = (12, 9), rank: int = 2, seed: int = 0) -> np.ndarray:
    return draw_smg(*shape, rank, 1.0, np.random.default_rng(seed)).matrix()


def begun(shape: tuple[int, int] = (12, 9), storage: str = "sqlite://", **settings: object) -> Campaign:
    return Campaign.create(storage, "trial", *shape, **({"seed": 3, "rank": 2} | settings))


def answer(campaign: Campaign, asked: dict[str, list], X: np.ndarray) -> None:
    campaign.tell(asked["id"], X[asked["row"], asked["col"]])


def ask(campaign: Campaign, n: int, **limits: object) -> dict[str, list]:
    return campaign.ask(n, frame="columns", progress=False, **limits)


def places(asked: dict[str, list]) -> list[tuple[int, int]]:
    return list(zip(asked["row"], asked["col"], strict=True))


def until_over(campaign: Campaign, n: int, X: np.ndarray) -> str:
    """Ask and answer n entries at a time until there is nothing to ask: the sentence that says why."""
    while True:
        try:
            asked = ask(campaign, n)
        except NothingToAskError as error:
            return str(error)
        answer(campaign, asked, X)
