"""How long to sample: a population of short annealed chains (the default) or a few long ones."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from maxentry.errors import ParameterError

Kind = Literal["population", "long"]

COLDEST = 0.01  # the likelihood's first power beta: the data hardly speak, every chain roams the prior
# The work of a default population, in multiplications of one sweep summed over all sweeps: seconds on a laptop.
WORK = 1e10
DRAWS_MEMORY = 5e8  # numbers kept in the draws of a default run: 4 GB would surprise people


@dataclass(frozen=True, slots=True)
class Sampling:
    """The length of a run: for each chain, anneal (beta from 0.01 to 1), settle (beta = 1), then keep draws.

    chains: how many chains, each with its own random stream
    anneal: sweeps of likelihood tempering from the prior; 0 starts at beta = 1
    settle: sweeps at beta = 1 that are thrown away
    draws, thin: kept draws of each chain, and how many sweeps lie between two of them
    """

    kind: Kind = "population"
    chains: int = 32
    anneal: int = 200
    settle: int = 100
    draws: int = 12
    thin: int = 10

    def __post_init__(self) -> None:
        if self.kind not in ("population", "long"):
            raise ParameterError(f"sampling must be of kind 'population' or 'long', got {self.kind!r}")
        for name, least in {"chains": 1, "anneal": 0, "settle": 0, "draws": 1, "thin": 1}.items():
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < least:
                raise ParameterError(f"{name} must be a whole number of at least {least}, got {value!r}")

    @property
    def sweeps(self) -> int:
        """Sweeps of one chain."""
        return self.anneal + self.settle + self.draws * self.thin

    def betas(self) -> NDArray[np.float64]:
        """The likelihood's power in each sweep before the kept ones."""
        return np.concatenate([np.geomspace(COLDEST, 1.0, self.anneal), np.ones(self.settle)])

    @classmethod
    def of(cls, wish: str | Sampling, shape: tuple[int, int], n_obs: int, rank: int) -> Sampling:
        """A `Sampling` as it is; "population" or "long" at a length that fits the size of the problem."""
        if isinstance(wish, Sampling):
            return wish
        if wish == "population":
            return cls.population(shape, n_obs, rank)
        if wish == "long":
            return cls.long(shape, n_obs, rank)
        raise ParameterError(f"sampling must be 'population', 'long' or a Sampling(...), got {wish!r}")

    @classmethod
    def population(cls, shape: tuple[int, int], n_obs: int, rank: int) -> Sampling:
        """Dozens of chains where sweeps are cheap; fewer and shorter where each one costs."""
        sweeps = WORK / sweep_work(shape, n_obs, rank)
        chains = int(np.clip(sweeps / 150, 8, 32))
        length = int(np.clip(sweeps / chains, 100, 1000))
        draws = int(np.clip(DRAWS_MEMORY / (chains * sum(shape) * (rank + 1)), 4, 12))
        thin = max(1, length // 4 // draws)
        anneal = length // 2
        return cls("population", chains, anneal, length - anneal - draws * thin, draws, thin)

    @classmethod
    def scout(cls, shape: tuple[int, int], n_obs: int, rank: int) -> Sampling:
        """A smaller population, to compare ranks on held-out entries."""
        full = cls.population(shape, n_obs, rank)
        return replace(
            full, chains=max(8, full.chains // 4), anneal=full.anneal // 2, settle=full.settle // 2
        )

    @classmethod
    def long(cls, shape: tuple[int, int], n_obs: int, rank: int) -> Sampling:
        """Four chains of 1,000 draws, thinned where sweeps are cheap."""
        sweeps = 4 * WORK / sweep_work(shape, n_obs, rank)
        thin = int(np.clip(sweeps / 4 / 2000, 1, 20))
        return cls("long", 4, 200, 800 * thin, 1000, thin)


def sweep_work(shape: tuple[int, int], n_obs: int, rank: int) -> float:
    """Multiplications of one sweep, roughly: N K^2 for the sums, (m1 + m2) K^3 for the solves."""
    K = rank + 1
    return n_obs * (K * K + 4 * K) + sum(shape) * (K**3 / 3 + 4 * K * K + 50 * K)
