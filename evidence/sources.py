"""Where the matrices of a study come from: simulated, or a part of a data set."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from functools import lru_cache
from typing import Any, Literal

import numpy as np

from evidence import datasets
from maxentry._types import Array, Indices
from maxentry.compare.scenario import Truth
from maxentry.model.smg import draw_smg

MATRIX, NOISE, PART, TRAINING = range(4)  # the random streams of a replicate


@dataclass(frozen=True)
class Simulated:
    """X of the SMG model, another one for each replicate, with noise of variance eta2 (paper, section 5.1)."""

    shape: tuple[int, int]
    rank: int
    sigma2: float = 1.0
    eta2: float = 1e-4

    def identity(self) -> dict[str, Any]:
        """Return the parameters."""
        return {"kind": "simulated", **asdict(self), "shape": list(self.shape)}

    def truth(self, seed: int) -> Truth:
        """Return a draw of the model, and one measurement of every entry."""
        X = draw_smg(*self.shape, self.rank, self.sigma2, _stream(seed, MATRIX)).matrix()
        noise = np.sqrt(self.eta2) * _stream(seed, NOISE).standard_normal(self.shape)
        return Truth(X, X + noise, 0.0, True)

    def prepare(self) -> None:
        """Do nothing: simulations need no data."""


@dataclass(frozen=True)
class Part:
    """A part of a data set, at most rows x cols.

    how: "random" (another part for each replicate), or the same rows for all replicates: the "first", or those with
        most known entries ("most active"). Columns are then all, or the first `cols`.
    busiest: take the part out of this many rows and columns with most known entries: a random part of a sparse matrix
        would be nearly empty.
    standardise: to mean 0 and variance 1, for priors that assume units.
    costs: a data set of the same shape with what each entry costs. training: this many rows are known from the start.
    times: multiply the values by this.
    """

    dataset: str
    rows: int | None = None
    cols: int | None = None
    how: Literal["random", "first", "most active"] = "random"
    busiest: tuple[int, int] | None = None
    log: bool = False
    standardise: bool = False
    costs: str | None = None
    training: int = 0
    times: float | None = None

    def identity(self) -> dict[str, Any]:
        """Return the fields. Data sets go by name; their values are checked against a digest when they are read."""
        fields = {"kind": "data", **asdict(self), "busiest": self.busiest and list(self.busiest)}
        if self.times is None:
            del fields["times"]
        return fields

    def prepare(self) -> None:
        """Fetch the data sets."""
        for name in filter(None, (self.dataset, self.costs)):
            datasets.load(name)

    def truth(self, seed: int) -> Truth:
        """Return the part of this replicate."""
        M = _matrix(self.dataset)
        i, j = self._choose(M, seed)
        part = M[np.ix_(i, j)]
        part = np.log(part) if self.log else part
        part = (part - np.nanmean(part)) / np.nanstd(part) if self.standardise else part
        told = None
        if self.training:
            told = np.zeros(part.shape, dtype=bool)
            told[_stream(seed, TRAINING).permutation(len(i))[: self.training]] = True
        cost = None if self.costs is None else _matrix(self.costs)[np.ix_(i, j)]
        center = float(np.nanmean(part if told is None else part[~told]))
        if self.times is not None:
            part, center = self.times * part, self.times * center
        return Truth(part, part, center, False, cost, told)

    def _choose(self, M: Array, seed: int) -> tuple[Indices, Indices]:
        known = ~np.isnan(M)
        i, j = np.arange(M.shape[0]), np.arange(M.shape[1])
        if self.busiest is not None:
            i, j = (_most(known.sum(1 - axis), n) for axis, n in enumerate(self.busiest))
        sizes = zip((i, j), (self.rows, self.cols), strict=True)
        rows, cols = (len(side) if n is None else min(n, len(side)) for side, n in sizes)
        if self.how == "random":
            rng = _stream(seed, PART)
            i, j = (np.sort(rng.choice(side, n, replace=False)) for side, n in ((i, rows), (j, cols)))
            return i, j
        return i[:rows] if self.how == "first" else _most(known[i].sum(1), rows), j[:cols]


def _stream(seed: int, purpose: int) -> np.random.Generator:
    return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(purpose,)))


def _most(counts: Indices, n: int) -> Indices:
    """Return the n positions with the greatest counts, in order of position; the first of equals."""
    return np.sort(np.argsort(-counts, kind="stable")[:n])


@lru_cache(maxsize=4)
def _matrix(name: str) -> Array:
    M: Array = datasets.load(name).M
    return M
