"""What a run leaves behind: looks at the error along the way. Plain data, written as JSON."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple


class Look(NamedTuple):
    """The state of a campaign after some batch; errors are in units of the matrix's spread."""

    n: int  # entries told, without those known from the start
    cost: float  # of them
    error: float  # root mean square over all judged entries, over the scale
    error_unobserved: float  # the same over those not measured
    coverage: float  # of 90% intervals, over (a sample of) the unobserved entries; NaN without intervals
    width: float  # mean width of these intervals, over the scale
    seconds: float  # mean time of an `ask` since the last look, on the clock
    cpu: float  # the same, of the processor


@dataclass(frozen=True)
class Run:
    """One cell's result."""

    key: str
    code: str
    case: str
    identity: Mapping[str, Any]  # of the case
    strategy: str
    seed: int
    shape: tuple[int, int]
    known: int  # judged entries
    scale: float
    looks: tuple[Look, ...]
    cpu_s: float
    wall_s: float

    @property
    def by_cost(self) -> bool:
        """Whether runs of this case are compared at equal cost rather than at equal numbers of entries."""
        return self.identity.get("spend") is not None

    @property
    def finite(self) -> bool:
        """Whether its errors are numbers that can be compared."""
        errors = (x for look in self.looks for x in (look.cost, look.error, look.error_unobserved))
        return all(map(math.isfinite, (self.scale, *errors)))

    def to_json(self) -> dict[str, Any]:
        """As JSON can hold it: what is no finite number is None."""
        looks = [[x if math.isfinite(x) else None for x in look] for look in self.looks]
        return {**asdict(self), "identity": dict(self.identity), "shape": list(self.shape), "looks": looks}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Run:
        """A run that was written, perhaps when runs had a note too, which always was empty."""
        looks = tuple(Look._make(math.nan if x is None else x for x in look) for look in data["looks"])
        kept = {name: value for name, value in data.items() if name != "note"}
        return cls(**{**kept, "shape": tuple(data["shape"]), "looks": looks})
