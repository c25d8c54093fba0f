"""Which cases have the same matrix in all replicates, so that these differ in designs and chains only."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from maxentry.studies.datasets import info


def one_matrix(identity: Mapping[str, Any]) -> bool:
    """Whether all replicates of a case are of the same matrix: a user's, certain rows of a data set, or all of it."""
    source = identity.get("source", {})
    kind = source.get("kind")
    if kind == "given":
        return True
    if kind != "data" or source.get("training"):  # rows known from the start are others for each replicate
        return False
    return source.get("how", "random") != "random" or _whole(source)


def _whole(source: Mapping[str, Any]) -> bool:
    """Whether a random part is all that it is taken from."""
    sizes = source.get("busiest") or info(source["dataset"]).shape
    wanted = (source.get("rows"), source.get("cols"))
    return all(n is None or n >= size for n, size in zip(wanted, sizes, strict=True))
