"""Choose the rank by what it predicts: stacking of held-out log scores over 0, 1, 2, 4, 8, …

In-sample scores and importance-sampling LOO prefer ranks that interpolate the data (docs/mathematics.md), so every
rank is fitted without some of the observations and scored on them.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln, logsumexp

from maxentry.observations import Observations

Array = NDArray[np.float64]
Indices = NDArray[np.intp]
# (training part, held-out part, rank, seed) -> log density of each held-out value
HeldOutScore = Callable[[Observations, Observations, int, np.random.SeedSequence], Array]

LADDER = (0, 1, 2, 4, 8)
ENOUGH_HELD_OUT = 2000
LEAST_SHARE = 0.02  # a rank with less of the weight is left out
PSEUDO_COUNT = 1.0  # held-out observations' worth of belief that all ranks are equally good


@dataclass(frozen=True, eq=False)
class RankChoice:
    """How the ranks did on held-out observations, and the share of the chains each gets."""

    ranks: tuple[int, ...]
    scores: tuple[float, ...]  # mean log density of a held-out observation
    weights: tuple[float, ...]  # stacking weights, adding up to one
    n_held_out: int

    @property
    def best(self) -> int:
        """The rank with the largest weight."""
        return self.ranks[int(np.argmax(self.weights))]

    def allot(self, n_chains: int) -> list[int]:
        """The rank of each of `n_chains` chains, in proportion to the weights (largest remainders)."""
        weights = np.where(np.array(self.weights) < LEAST_SHARE, 0.0, self.weights)
        exact = n_chains * weights / weights.sum()
        counts = np.floor(exact).astype(int)
        counts[np.argsort(counts - exact, kind="stable")[: n_chains - counts.sum()]] += 1
        return [rank for rank, count in zip(self.ranks, counts, strict=True) for _ in range(count)]

    def __str__(self) -> str:
        parts = (f"{r}: {w:.0%}" for r, w in zip(self.ranks, self.weights, strict=True) if w >= LEAST_SHARE)
        return f"rank weights by prediction of {self.n_held_out} held-out observations: {', '.join(parts)}"


def choose(
    observations: Observations, effects: bool, score: HeldOutScore, seed: np.random.SeedSequence
) -> RankChoice:
    """Climb the ladder of ranks, doubling past its end while the last is best, and stack what was tried."""
    most = min(observations.shape) // 2
    fold_seed, *rank_seeds = seed.spawn(64)
    folds = list(_folds(observations, np.random.default_rng(fold_seed)))
    if not folds:  # one entry: nothing can be held out
        return RankChoice((0 if effects else 1,), (np.nan,), (1.0,), 0)
    tried: dict[int, Array] = {}
    for rank in _ladder(effects, most, tried):
        seeds = rank_seeds[rank.bit_length()].spawn(len(folds))
        parts = [score(train, test, rank, s) for (train, test), s in zip(folds, seeds, strict=True)]
        tried[rank] = np.concatenate(parts)
    table = np.array(list(tried.values()))
    weights = stacking_weights(table)
    return RankChoice(tuple(tried), tuple(table.mean(1)), tuple(weights), table.shape[1])


def _ladder(effects: bool, most: int, tried: dict[int, Array]) -> Iterator[int]:
    """Ranks to try next, looking at the scores so far."""
    rank = 0 if effects else 1
    while rank <= most:
        yield rank
        if len(tried) >= 4 and _hopeless(tried):
            return
        rank = max(1, 2 * rank)
        if rank > LADDER[-1] and _mean(tried, -1) < max(_mean(tried, k) for k in range(len(tried))):
            return


def _mean(tried: dict[int, Array], k: int) -> float:
    return float(list(tried.values())[k].mean())


def _hopeless(tried: dict[int, Array]) -> bool:
    """Whether the last two ranks are both clearly (three standard errors) worse than the best."""
    table = np.array(list(tried.values()))
    lost = table[np.argmax(table.mean(1))] - table[-2:]
    return bool(np.all(lost.mean(1) > 3 * lost.std(1) / np.sqrt(lost.shape[1]) + 1e-12))


def _folds(
    observations: Observations, rng: np.random.Generator
) -> Iterator[tuple[Observations, Observations]]:
    """Random (training, held-out) parts: folds of a fifth, or enough tenths where data abound.

    Replicates of an entry go to one part: to predict a measurement by its own repetition says nothing of rank.
    """
    m2 = observations.shape[1]
    entry = observations.rows.astype(np.int64) * m2 + observations.cols
    distinct, entry_of = np.unique(entry, return_inverse=True)
    n_folds = min(5 if observations.n < 5000 else 10, distinct.size)
    fold_of = rng.permutation(np.arange(distinct.size) % n_folds)[entry_of]
    wanted = int(np.ceil(ENOUGH_HELD_OUT * n_folds / observations.n))
    for fold in range(min(n_folds, wanted) if n_folds > 1 else 0):
        held = fold_of == fold
        yield observations.subset(~held), observations.subset(held)


def stacking_weights(log_density: Array) -> Array:
    """Weights w maximising sum_n log sum_k w_k p_k(y_n), with a weak pull to equal weights, by EM."""
    K, n = log_density.shape
    weights = np.full(K, 1.0 / K)
    density: Array = np.exp(log_density - log_density.max(0))
    for _ in range(1000):
        share = weights[:, None] * density
        share /= share.sum(0)
        new: Array = (share.sum(1) + PSEUDO_COUNT / K) / (n + PSEUDO_COUNT)
        if np.abs(new - weights).max() < 1e-6:
            return new
        weights = new
    return weights


def log_predictive(x: Array, y: Array, eta2: Array, nu: Array | None) -> Array:
    """log density of measurements y (n,) under draws x (S, n) with noise N(0, eta2) or eta t_nu, for each n."""
    e2 = (y - x) ** 2 / eta2[:, None]
    if nu is None:
        log_p = -0.5 * (e2 + np.log(2 * np.pi * eta2)[:, None])
    else:
        front = gammaln((nu + 1) / 2) - gammaln(nu / 2) - 0.5 * np.log(np.pi * nu * eta2)
        log_p = front[:, None] - 0.5 * (nu[:, None] + 1) * np.log1p(e2 / nu[:, None])
    mixed: Array = logsumexp(log_p, axis=0) - np.log(x.shape[0])
    return mixed
