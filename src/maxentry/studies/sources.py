"""Where the matrices of a study come from: simulated, a part of a data set, or the user's own.

M       m1 x m2   the truth, NaN where nobody knows it
Y       m1 x m2   what a measurement gives: M, and noise where the matrix is simulated
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from functools import lru_cache
from typing import Any, Literal, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from maxentry.errors import ParameterError
from maxentry.model.smg import draw_smg

Array = NDArray[np.float64]
Bools = NDArray[np.bool_]
Indices = NDArray[np.int64]

MATRIX, NOISE, PART, TRAINING = range(4)  # what a replicate's random streams are for


class Truth(NamedTuple):
    """What a replicate knows and its strategies do not."""

    M: Array  # the truth, NaN where it is not known
    Y: Array  # what measurements give, NaN where none is possible
    center: float  # the errors' scale is the spread around it: 0 where simulated, as in the paper
    simulated: bool
    cost: Array | None = None  # of each entry
    told: Bools | None = None  # entries that every strategy knows from the start

    @property
    def judged(self) -> Bools:
        """The entries over which errors are taken: those known, and not told from the start."""
        known = ~np.isnan(self.M)
        return known if self.told is None else known & ~self.told

    @property
    def scale(self) -> float:
        """The root mean square of M - center over the judged entries, the unit of errors."""
        return float(np.sqrt(np.mean((self.M[self.judged] - self.center) ** 2)))


class Source(Protocol):
    """A matrix for each replicate."""

    def identity(self) -> Mapping[str, Any]:
        """All that the matrices depend on, as JSON."""

    def truth(self, seed: int) -> Truth:
        """The matrix of one replicate."""


@dataclass(frozen=True)
class Simulated:
    """X of the SMG model, another one for each replicate, with noise of variance eta2 (paper, section 5.1)."""

    shape: tuple[int, int]
    rank: int
    sigma2: float = 1.0
    eta2: float = 1e-4

    def identity(self) -> dict[str, Any]:
        """The parameters."""
        return {"kind": "simulated", **asdict(self), "shape": list(self.shape)}

    def truth(self, seed: int) -> Truth:
        """A draw of the model, and one measurement of every entry."""
        X = draw_smg(*self.shape, self.rank, self.sigma2, _stream(seed, MATRIX)).matrix()
        noise = np.sqrt(self.eta2) * _stream(seed, NOISE).standard_normal(self.shape)
        return Truth(X, X + noise, 0.0, True)


@dataclass(frozen=True)
class Part:
    """A part of a data set, at most rows x cols.

    how: "random" (another part for each replicate), or for all replicates the same rows: the "first", or those with
        most known entries ("most active"); columns are then all, or the first `cols`.
    busiest: take the part out of so many rows and columns with most known entries: a random part of a sparse
        matrix would be nearly empty.
    standardise: to mean 0 and variance 1, for priors that know no units.
    costs: a data set of the same shape with what each entry costs. training: so many rows are known from the start.
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

    def identity(self) -> dict[str, Any]:
        """The fields; the data are known by their name, and checked against a digest when they are read."""
        return {"kind": "data", **asdict(self), "busiest": self.busiest and list(self.busiest)}

    def truth(self, seed: int) -> Truth:
        """The part of this replicate."""
        M = _matrix(self.dataset)
        i, j = self._chosen(M, seed)
        part = M[np.ix_(i, j)]
        part = np.log(part) if self.log else part
        part = (part - np.nanmean(part)) / np.nanstd(part) if self.standardise else part
        told = None
        if self.training:
            told = np.zeros(part.shape, dtype=bool)
            told[_stream(seed, TRAINING).permutation(len(i))[: self.training]] = True
        cost = None if self.costs is None else _matrix(self.costs)[np.ix_(i, j)]
        return Truth(part, part, _center(part, told), False, cost, told)

    def _chosen(self, M: Array, seed: int) -> tuple[Indices, Indices]:
        known = ~np.isnan(M)
        i, j = np.arange(M.shape[0]), np.arange(M.shape[1])
        if self.busiest is not None:
            i, j = (_most(known.sum(1 - axis), n) for axis, n in enumerate(self.busiest))
        most = tuple(
            len(side) if n is None else n for side, n in zip((i, j), (self.rows, self.cols), strict=True)
        )
        if self.how == "random":
            rng = _stream(seed, PART)
            i, j = (
                np.sort(rng.choice(side, min(n, len(side)), replace=False))
                for side, n in zip((i, j), most, strict=True)
            )
            return i, j
        rows = i[: most[0]] if self.how == "first" else _most(known[i].sum(1), most[0])
        return rows, j[: most[1]]


@dataclass(frozen=True, eq=False)
class Given:
    """A user's matrix, the same for all replicates; only its known entries can be measured."""

    M: Array
    cost: Array | None = None

    def __post_init__(self) -> None:
        if self.M.ndim != 2 or not np.isfinite(self.M).any():
            raise ParameterError("expected a matrix with known entries, but there is none.")

    def identity(self) -> dict[str, Any]:
        """A digest of the values, so that nothing of them is in the results."""
        digest = hashlib.sha256(repr(self.M.shape).encode())
        for array in (self.M, self.cost):
            digest.update(b"-" if array is None else np.ascontiguousarray(array, dtype=np.float64).tobytes())
        return {"kind": "given", "digest": digest.hexdigest()[:24]}

    def truth(self, seed: int) -> Truth:
        """The matrix."""
        return Truth(self.M, self.M, _center(self.M, None), False, self.cost)


def _stream(seed: int, purpose: int) -> np.random.Generator:
    return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(purpose,)))


def _most(counts: Indices, n: int) -> Indices:
    """The n positions with the greatest counts, in order of position; the first of equals."""
    return np.sort(np.argsort(-counts, kind="stable")[:n])


def _center(M: Array, told: Bools | None) -> float:
    return float(np.nanmean(M if told is None else M[~told]))


@lru_cache(maxsize=4)
def _matrix(name: str) -> Array:
    from maxentry.studies import datasets  # here, since simulations need no data

    M: Array = datasets.load(name).M
    return M
