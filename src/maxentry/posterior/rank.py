"""The rank: which ranks the model allows, and the choice by stacking of held-out predictions over 0, 1, 2, 4, 8, …

In-sample scores and importance-sampling LOO prefer ranks that interpolate the data (docs/mathematics.md). So every
rank is fitted without some of the observations and judged by its error on them. The ranks are then mixed in the
proportions that would have predicted best: each gets its share of the chains. The choice is a function of the table
alone: parts and random streams are fixed, so that two people with the same table do not disagree by chance.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import cycle, repeat
from typing import TYPE_CHECKING, Any

import numpy as np

from maxentry._types import Array
from maxentry.errors import RankError, is_whole
from maxentry.observations import Observations
from maxentry.wording import show

if TYPE_CHECKING:  # the rank rule must not load the sampler
    from maxentry.posterior.chains import Chain, ModelSpec

# (training part, held-out part, rank, seed) -> predicted mean of each held-out value, or the log of its probability
Predict = Callable[[Observations, Observations, int, np.random.SeedSequence], Array]
LADDER = (0, 1, 2, 4, 8)
ENOUGH_HELD_OUT = 2000  # one part of a table with several modes may flatter any rank
MOST_PARAMETERS = 8  # per observation, of a rank worth trying: beyond this the prior alone decides
LEAST_TRIED = 2  # up to this rank all are tried
LEAST_SHARE = 0.02  # a rank with less of the weight is left out
MANY_FOLDS = 200  # up to so many observations a tenth is held out at a time, beyond it a fifth
WORTH = 0.002  # nats a measurement that the mixture must gain by a rank, to try one of four times the work
MOSTLY_MEANS = 0.3  # share of rank 0 from which users are told what intervals of entries leave out
LEFT_OUT = (
    "counts as noise: .predictive_interval includes it, .interval does not; a fixed rank (rank=2, say) gives intervals "
    "that allow for unseen structure"
)
SAME_NOISE = 1.1  # of a chain's noise variance over the least of its rank, beyond which it lacks a component
CAUTION = 20.0  # prior precision of the weights around equal ones of all ranks but 0
EM_STEPS = 500  # of the weights of a mixture; they settle in a few dozen
STREAM = 20_190  # of the parts and of the chains that are compared: the same for every table


def check_rank(rank: Any, shape: tuple[int, int], effects: bool) -> None:
    """Refuse a rank that the model does not allow, with the reason."""
    m1, m2 = shape
    most = min(m1, m2) // 2
    if not is_whole(rank, 0):
        raise RankError(f"expected rank 'auto' or a whole number of at least 0, got {show(rank)}")
    if rank > most:  # beyond it the prior of the subspaces is no Wishart mixture, and nothing is low rank
        raise RankError(
            f"expected rank 'auto' or at most {most}, half the shorter side of a {m1} x {m2} matrix, got {show(rank)}"
        )
    if rank == 0 and not effects:
        raise RankError("expected effects=True with rank 0, got False, which leaves nothing to fit")


@dataclass(frozen=True, eq=False)
class RankChoice:
    """How the ranks did on held-out observations, and the share of the chains each gets."""

    ranks: tuple[int, ...]
    errors: tuple[
        float, ...
    ]  # root mean square error of the held-out observations, or minus their mean log score
    weights: tuple[float, ...]  # stacking weights, adding up to one
    n_held_out: int

    @property
    def best(self) -> int:
        """The rank with the largest weight."""
        return self.ranks[int(np.argmax(self.weights))]

    @property
    def largest(self) -> int:
        """The largest rank that gets chains; the draws of all chains take as much memory as its draws."""
        return max(
            rank for rank, weight in zip(self.ranks, self.weights, strict=True) if weight >= LEAST_SHARE
        )

    def allot(self, n_chains: int) -> list[int]:
        """The rank of each of `n_chains` chains, in proportion to the weights (largest remainders)."""
        weights = np.where(np.array(self.weights) < LEAST_SHARE, 0.0, self.weights)
        exact = n_chains * weights / weights.sum()
        counts = np.floor(exact).astype(int)
        counts[np.argsort(counts - exact, kind="stable")[: n_chains - counts.sum()]] += 1
        # interleaved, so that an interrupt leaves about the same mixture
        places = [((k + 0.5) / n, rank) for rank, n in zip(self.ranks, counts, strict=True) for k in range(n)]
        return [rank for _, rank in sorted(places)]

    def __str__(self) -> str:
        parts = (f"{r}: {w:.0%}" for r, w in zip(self.ranks, self.weights, strict=True) if w >= LEAST_SHARE)
        return f"rank weights by prediction of {self.n_held_out} held-out observations: {', '.join(parts)}"


def choose_rank(
    observations: Observations, effects: bool, predict: Predict, *, by_log_score: bool = False, abundant: bool = False,
    fold_map: Callable[..., Iterable[Array]] = map,
) -> RankChoice:  # fmt: skip
    """Try the ladder of ranks, doubling past its end while the last is best, and stack their predictions.

    abundant: whether data abound, so that ranks past the end are tried as long as their mixture gains by them.
    fold_map: like `map`, to predict the folds of a rank at the same time.
    """
    most = _largest_rank(observations)
    fold_seed, *rank_seeds = np.random.SeedSequence(STREAM).spawn(64)
    folds = list(_folds(observations, np.random.default_rng(fold_seed)))
    if not folds:  # one entry: nothing can be held out
        return RankChoice((0 if effects else 1,), (np.nan,), (1.0,), 0)
    truth = np.concatenate([held.values for _, held in folds])
    tried: dict[int, Array] = {}
    for rank in _ladder(effects, most, tried, None if by_log_score else truth, abundant):
        seeds = rank_seeds[rank.bit_length()].spawn(len(folds))
        tried[rank] = np.concatenate(list(fold_map(predict, *zip(*folds, strict=True), repeat(rank), seeds)))
    table = np.array(list(tried.values()))
    if by_log_score:
        errors, weights = -table.mean(axis=1), mixture_weights(table, tuple(tried))
    else:
        errors = np.sqrt(np.mean((table - truth) ** 2, axis=1))
        weights = stacking_weights(table, truth, tuple(tried))
    return RankChoice(tuple(tried), tuple(errors.tolist()), tuple(weights.tolist()), truth.size)


def _folds(
    observations: Observations, rng: np.random.Generator
) -> Iterator[tuple[Observations, Observations]]:
    """Random (training, held-out) parts: a fifth at a time; a tenth where data are very few, or abound.

    Replicates of an entry go to one part: to predict a measurement by its own repetition says nothing of rank.
    """
    m2 = observations.shape[1]
    entry = observations.rows.astype(np.int64) * m2 + observations.cols
    distinct, entry_of = np.unique(entry, return_inverse=True)
    n_folds = min(5 if MANY_FOLDS < observations.n < 5000 else 10, distinct.size)
    fold_of = rng.permutation(np.arange(distinct.size) % n_folds)[entry_of]
    wanted = int(np.ceil(ENOUGH_HELD_OUT * n_folds / observations.n))
    for fold in range(min(n_folds, wanted) if n_folds > 1 else 0):
        held = fold_of == fold
        yield observations.subset(~held), observations.subset(held)


def _ladder(
    effects: bool, most: int, tried: dict[int, Array], truth: Array | None, abundant: bool
) -> Iterator[int]:
    """Ranks to try next, looking at the errors so far; without a truth, at the log scores."""
    rank = 0 if effects else 1
    while rank <= most:
        yield rank
        table = np.array(list(tried.values()))
        squares = -table if truth is None else (table - truth) ** 2
        if len(tried) >= 4 and _hopeless(squares):
            return
        rank = max(1, 2 * rank)
        if rank > LADDER[-1] and not (_still_rising(squares) or (abundant and _mixture_gains(tried, truth))):
            return


def _mixture_gains(tried: dict[int, Array], truth: Array | None) -> bool:
    """Whether the last rank makes the mixture of all better by more than `WORTH`, though others may be better alone."""
    ranks, table = tuple(tried), np.array(list(tried.values()))
    losses = []  # minus the mean log score, up to a constant
    for K in (len(ranks) - 1, len(ranks)):
        if truth is None:
            weights, top = mixture_weights(table[:K], ranks[:K]), table[:K].max(axis=0)
            losses.append(-float((top + np.log(weights @ np.exp(table[:K] - top))).mean()))
        else:
            square = np.mean((stacking_weights(table[:K], truth, ranks[:K]) @ table[:K] - truth) ** 2)
            losses.append(0.5 * float(np.log(square + np.finfo(float).tiny)))
    return losses[0] - losses[1] > WORTH


@dataclass(frozen=True, eq=False)
class Climb:
    """Where data abound, the chains that went from rank to rank on a part of the data."""

    fit: ModelSpec
    part: Observations
    chains: dict[int, tuple[Chain, ...]] = field(default_factory=dict)  # of each rank

    def starts(self, ranks: Sequence[int]) -> list[Chain]:
        """A chain of the climb for each rank given, those of a rank in turn; one that lacks a component is left out."""
        turns = {}
        for rank in {*ranks}:
            eta2 = np.array([chain.eta2 for chain in self.chains[rank]])
            good = np.flatnonzero(eta2 <= SAME_NOISE * eta2.min())
            turns[rank] = cycle([self.chains[rank][k] for k in good])
        return [next(turns[rank]) for rank in ranks]


def _still_rising(squares: Array) -> bool:
    """Whether the last rank is the best, and by more than a standard error better than the one before."""
    gained = squares[-2] - squares[-1]
    last_is_best = squares[-1].mean() <= squares.mean(1).min()
    return bool(last_is_best and gained.mean() > gained.std() / np.sqrt(gained.size))


def _hopeless(squares: Array) -> bool:
    """Whether the last two ranks are both clearly (three standard errors) worse than the best."""
    lost = squares[-2:] - squares[np.argmin(squares.mean(1))]
    return bool(np.all(lost.mean(1) > 3 * lost.std(1) / np.sqrt(lost.shape[1]) + 1e-12))


def _largest_rank(observations: Observations) -> int:
    """The largest rank to try: half the shorter side, and few enough parameters an observation to learn them from."""
    (m1, m2), most = observations.shape, min(observations.shape) // 2
    enough = [rank for rank in range(most + 1) if rank * (m1 + m2 - rank) <= MOST_PARAMETERS * observations.n]
    return min(most, max(LEAST_TRIED, enough[-1]))


def stacking_weights(predictions: Array, truth: Array, ranks: Sequence[int]) -> Array:
    """Weights w >= 0 with sum 1 that minimise |y - sum_k w_k y_k|^2 + c s2 |w - w_0|^2 (stacking, Breiman 1996).

    predictions are (ranks, held out), s2 is the least mean square error of one rank. The second term is a prior with
    precision c = CAUTION on the weights around w_0, equal weights of all ranks but 0. It matters only where the
    held-out values cannot tell. Rank 0 would be the wrong centre there: it calls all structure noise, and its
    intervals of X are too narrow where there is some.
    """
    from scipy.optimize import nnls  # here: the rank rule above must not load SciPy

    K, middle, centre = predictions.shape[0], truth.mean(), _centre(ranks)
    P, y = (predictions - middle).T, truth - middle
    least = 1e-12 * float(np.mean(y**2)) + np.finfo(float).tiny  # where all is predicted to the last digit
    s2 = max(float(np.mean((P - y[:, None]) ** 2, axis=0).min()), least)
    pull, sum_to_one = np.sqrt(CAUTION * s2), 1e3 * np.sqrt(s2 * y.size + np.sum(y**2))
    A = np.vstack([P, pull * np.eye(K), np.full((1, K), sum_to_one)])
    weights, _ = nnls(A, np.concatenate([y, pull * centre, [sum_to_one]]))
    normalised: Array = weights / weights.sum()
    return normalised


def describe_means(weights: Mapping[int, float]) -> str:
    """What intervals of entries leave out where many chains have row and column means alone; empty otherwise."""
    share = weights.get(0, 0.0)
    if share < MOSTLY_MEANS:
        return ""
    if share == 1.0:
        return f"the data show little beyond row and column means, so what else there is {LEFT_OUT}"
    return (
        f"{share:.0%} of the chains have row and column means alone, for which what else there is {LEFT_OUT}"
    )


def mixture_weights(log_scores: Array, ranks: Sequence[int]) -> Array:
    """Weights of a mixture of the ranks' predictions that maximise its log score, by EM.

    log_scores are (ranks, held out). The prior is as in `stacking_weights`, as many observations shared by all ranks
    but 0 in equal parts.
    """
    centre = _centre(ranks)
    weights, pull = centre * 0.9 + 0.1 / centre.size, CAUTION * centre
    p = np.exp(log_scores - log_scores.max(axis=0))
    for _ in range(EM_STEPS):
        shares = weights[:, None] * p
        weights = (shares / shares.sum(axis=0)).sum(axis=1) + pull
        weights /= weights.sum()
    return np.asarray(weights)


def _centre(ranks: Sequence[int]) -> Array:
    """Equal weights of all ranks but 0."""
    structure = np.array([rank > 0 for rank in ranks], dtype=float)
    return structure / structure.sum() if structure.any() else np.ones(len(ranks)) / len(ranks)
