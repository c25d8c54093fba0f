"""A case: a matrix and how much of it is measured; a cell: one strategy's run of it with one seed."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from maxentry.errors import ParameterError
from maxentry.studies.sources import Source


@dataclass(frozen=True)
class Case:
    """`initial` entries at once, then `budget` more in batches of `batch`; the error is looked at `looks` times.

    model: settings of the campaign (rank, effects, priors, noise, transform), as pairs.
    spend: where entries have costs, the campaigns know them and end when they have spent as much as so many entries
        cost on average; `budget` is then only the most entries after the first. Curves go by cost.
    """

    name: str
    source: Source
    initial: int
    batch: int
    budget: int
    looks: int = 20
    model: tuple[tuple[str, Any], ...] = ()
    spend: float | None = None

    def __post_init__(self) -> None:
        for name, least in (("initial", 0), ("batch", 1), ("budget", 1), ("looks", 1)):
            if getattr(self, name) < least:
                raise ParameterError(
                    f"expected {name} to be at least {least}, but {getattr(self, name)} came."
                )

    @property
    def batches(self) -> int:
        """How many after the initial entries."""
        return -(-self.budget // self.batch)

    def looked_at(self) -> frozenset[int]:
        """After which batches the error is looked at (0: after the initial entries), the first and last among them."""
        return frozenset(np.unique(np.round(np.linspace(0, self.batches, self.looks)).astype(int)).tolist())

    def identity(self) -> dict[str, Any]:
        """All that the runs depend on but for strategy, seed and code, as JSON."""
        return {
            "source": dict(self.source.identity()),
            "initial": self.initial,
            "batch": self.batch,
            "budget": self.budget,
            "looks": self.looks,
            "model": dict(self.model),
            "spend": self.spend,
        }


class Cell(NamedTuple):
    """One run of a study."""

    case: Case
    strategy: str
    seed: int

    def key(self, code: str) -> str:
        """A name for the result: the same settings, seed and code give the same one."""
        what = [self.case.identity(), self.strategy, self.seed, code]
        return hashlib.sha256(json.dumps(what, sort_keys=True).encode()).hexdigest()[:32]
