"""Figures in messages."""

import math

import pytest

from maxentry.campaign.outlook import PastBatch, describe_past
from maxentry.wording import chance, percent


@pytest.mark.parametrize(
    ("share", "text"),
    [
        (0.914, "91%"), (0.0032, "0.32%"), (0.0, "0%"), (-1.2, "-120%"), (-0.032, "-3.2%"), (12.0, "1200%"),
        (1e-9, "<0.01%"), (-1e-9, "0%"), (math.nan, ""), (math.inf, ""),
    ],
)  # fmt: skip
def test_shares(share: float, text: str) -> None:
    assert percent(share) == text


def test_a_batch_after_which_the_error_rose() -> None:
    past = PastBatch(8, 4, 1.0, 0.9, 0.95), PastBatch(12, 4, 1.0, 0.8, 2.2)
    assert describe_past(past) == ["The last 2 batches promised 10%, 20%; 5%, -120% came."]


@pytest.mark.parametrize(
    ("p", "text"),
    [
        (0.0, "<1%"),
        (0.004, "<1%"),
        (0.068, "7%"),
        (0.62, "62%"),
        (0.994, "99%"),
        (0.996, ">99%"),
        (1.0, ">99%"),
    ],
)
def test_chances_are_whole_and_never_certain(p: float, text: str) -> None:
    assert chance(p) == text
