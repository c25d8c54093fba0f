"""Sentences of figures and of the page, for readers who do not program."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from maxentry.posterior.posterior import Posterior


def counted(n: int, one: str, many: str = "") -> str:
    """`1 event`, `1,200 events`."""
    return f"{n:,} {one if n == 1 else many or one + 's'}"


def shares(posterior: Posterior) -> str:
    """The rank, or the ranks that are mixed, each with its share of the chains."""
    weights = posterior.rank_weights
    if len(weights) == 1:
        return f"rank {posterior.rank}"
    return "ranks " + ", ".join(f"{rank} ({share:.0%} of chains)" for rank, share in weights.items())


def advice(posterior: Posterior) -> str:
    """What to do about the sampler, without the code that would do it."""
    from maxentry.posterior.diagnostics import without_code

    return without_code(posterior.diagnostics.advice)


def unseen(posterior: Posterior) -> str:
    """What intervals leave out where many or all chains know row and column means alone; else nothing."""
    from maxentry.posterior.posterior import MOSTLY_MEANS

    alone = posterior.rank_weights.get(0, 0.0)
    if alone < MOSTLY_MEANS:
        return ""
    included = "intervals of new measurements include it, those of the entries themselves do not"
    if alone == 1.0:
        return (
            "The data show little beyond row and column means, so what else there is counts as noise: "
            f"{included}."
        )
    return (
        f"The data leave open how much there is beyond row and column means: {alone:.0%} of the chains have "
        f"nothing else, {1 - alone:.0%} have a low-rank part. For the former whatever else there is counts as noise: "
        f"{included}."
    )
