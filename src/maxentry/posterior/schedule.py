"""How long to sample: a population of short annealed chains (the default) or a few long ones."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from maxentry.errors import ParameterError, is_choice, is_whole
from maxentry.wording import show

Kind = Literal["population", "long"]
Effort = Literal["quick", "normal", "thorough"]
LENGTH = {"quick": 0.5, "normal": 1.0, "thorough": 4.0}  # of a run, by effort
ROUNDS = {
    "normal": 2,
    "thorough": 3,
}  # how often a run whose intervals still move goes on, twice as long, ...
MOST_WORK = {"normal": 2.0, "thorough": 40.0}  # ... up to this much work of all chains, in units of WORK
COLDEST = 0.01  # first power beta of the likelihood: chains sample almost from the prior
WORK = 2e10  # multiplications of a default population on a large problem: about ten seconds on one core
COSTLY = WORK / (32 * 200)  # multiplications of a sweep from which a default population has under 32 chains
ABUNDANT = 10  # observations for each row and column
DRAWS_NUMBERS = 2.5e8  # numbers stored as draws of a default run, at most: 2 GB


@dataclass(frozen=True, slots=True)
class Sampling:
    """The length of a run: each chain anneals (beta from 0.01 to 1), settles (beta = 1), then stores draws.

    chains: number of chains, each with its own random stream
    anneal: sweeps of likelihood tempering from the prior; 0 starts at beta = 1
    settle: sweeps at beta = 1 that are discarded
    draws, thin: stored draws of each chain, and the number of sweeps from one to the next
    """

    kind: Kind = "population"
    chains: int = 32
    anneal: int = 150
    settle: int = 200
    draws: int = 12
    thin: int = 12

    def __post_init__(self) -> None:
        if not is_choice(self.kind, ("population", "long")):
            raise ParameterError(f"sampling must be of kind 'population' or 'long', got {show(self.kind)}")
        for name, least in {"chains": 1, "anneal": 0, "settle": 0, "draws": 1, "thin": 1}.items():
            value = getattr(self, name)
            if not is_whole(value, least):
                raise ParameterError(f"{name} must be a whole number of at least {least}, got {show(value)}")
            object.__setattr__(self, name, int(value))

    @property
    def sweeps(self) -> int:
        """Sweeps of one chain."""
        return self.anneal + self.settle + self.draws * self.thin

    def betas(self) -> NDArray[np.float64]:
        """The power of the likelihood in each sweep of annealing and settling."""
        # Python's powers: NumPy's round differently on other processors, and chains would magnify that.
        last = max(self.anneal - 1, 1)
        rising = [COLDEST ** (1.0 - k / last) for k in range(self.anneal)]
        return np.array(rising + [1.0] * self.settle)

    def with_effort(self, effort: Effort) -> Sampling:
        """The same plan with more or fewer sweeps."""
        sweeps = {
            name: max(1, round(LENGTH[effort] * getattr(self, name))) for name in ("anneal", "settle", "thin")
        }
        return replace(self, **sweeps | ({} if self.anneal else {"anneal": 0}))

    def go_on(self) -> Sampling:
        """The plan of a run that goes on: all sweeps so far count as settling, and draws are twice as far apart."""
        return replace(self, anneal=0, settle=self.draws * self.thin, thin=2 * self.thin)

    @classmethod
    def resolve(
        cls, wish: str | Sampling, shape: tuple[int, int], n_obs: int, rank: int, features: float = 0.0
    ) -> Sampling:
        """Return a `Sampling` unchanged; choose the length of "population" or "long" by the size of the problem."""
        if isinstance(wish, Sampling):
            return wish
        if is_choice(wish, ["population"]):
            return cls.population(shape, n_obs, rank, features)
        if is_choice(wish, ["long"]):
            return cls.long(shape, n_obs, rank)
        raise ParameterError(f"sampling must be 'population', 'long' or a Sampling(...), got {show(wish)}")

    @classmethod
    def population(cls, shape: tuple[int, int], n_obs: int, rank: int, features: float = 0.0) -> Sampling:
        """32 chains of 494 sweeps if sweeps are cheap, down to 8 chains of 164 sweeps if they are costly.

        Costly features leave fewer chains, not shorter ones: they need their time to settle.
        """
        sweeps = WORK / sweep_work(shape, n_obs, rank)
        chains = int(np.clip(WORK / sweep_work(shape, n_obs, rank, features) / 200, 8, 32))
        third = int(np.clip(sweeps / chains, 150, 450)) // 3
        return cls("population", chains, third, 4 * third // 3, 12, third // 12).in_memory(shape, rank)

    def in_memory(self, shape: tuple[int, int], rank: int) -> Sampling:
        """Store fewer of the same sweeps if draws of this rank would take too much memory."""
        most = int(DRAWS_NUMBERS / (self.chains * sum(shape) * (rank + 1)))
        draws = min(self.draws, max(most, 4))
        return replace(self, draws=draws, thin=self.draws * self.thin // draws)

    @classmethod
    def scout(cls, shape: tuple[int, int], n_obs: int, rank: int) -> Sampling:
        """A smaller population, to compare ranks on held-out entries."""
        full = cls.population(shape, n_obs, rank)
        third = max(full.anneal // 3, 40)
        return cls("population", 8, third, third, min(full.draws, 8), max(1, third // 8))

    @classmethod
    def climb(cls, lowest: bool) -> Sampling:
        """The same where data abound: two chains that go on from rank to rank, annealed only at the lowest."""
        return cls("population", 2, 40 if lowest else 0, 30, 8, 2)

    @classmethod
    def long(cls, shape: tuple[int, int], n_obs: int, rank: int) -> Sampling:
        """Four chains of 1,000 draws, thinned if sweeps are cheap."""
        sweeps = WORK / sweep_work(shape, n_obs, rank)
        thin = int(np.clip(sweeps / 4 / 2000, 1, 20))
        return cls("long", 4, 200, 800 * thin, 1000, thin)


def check_effort(effort: object, sampling: object) -> None:
    """Refuse an effort of another name, and one beside a `Sampling(...)`."""
    if not is_choice(effort, get_args(Effort)):
        raise ParameterError(f"effort must be 'quick', 'normal' or 'thorough', got {show(effort)}")
    if effort != "normal" and isinstance(sampling, Sampling):
        raise ParameterError(
            f"effort={effort!r} is for sampling='population' or 'long'; a Sampling(...) says itself how long to run: "
            "leave one of the two out"
        )


def data_abound(shape: tuple[int, int], n_obs: int) -> bool:
    """Whether sweeps are costly and there is so much to learn from that chains of one rank find the same."""
    return n_obs >= ABUNDANT * sum(shape) and sweep_work(shape, n_obs, 8) > COSTLY


def sweep_work(shape: tuple[int, int], n_obs: int, rank: int, features: float = 0.0) -> float:
    """Estimate the multiplications of one sweep: N K^2 for the sums, (m1 + m2) K^3 for the solves.

    features: what they add, for each of the K (`GibbsData.features_work`).
    """
    K = rank + 1
    return n_obs * (K * K + 4 * K) + sum(shape) * (K**3 / 3 + 4 * K * K + 50 * K) + features * K
