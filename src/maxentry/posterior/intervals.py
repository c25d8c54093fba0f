"""What the draws say of entries: their mean, sd and intervals, and intervals of new measurements.

Dense maps (`Maps`) are computed block by block, and refused where they would not fit. `predict` is for chosen entries.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np
from scipy.special import log_ndtr, ndtri, ndtri_exp

from maxentry import frames
from maxentry._types import Array, Indices
from maxentry.belief import BLOCK_NUMBERS, Belief, Entries
from maxentry.errors import ParameterError, SizeError, is_whole
from maxentry.model.likelihood import GAUSSIAN, Likelihood, NoiseLaw, beside
from maxentry.transform import NONE, ValueMap, guess_ends, hint_kind
from maxentry.wording import count, show

if TYPE_CHECKING:
    from maxentry.observations import Observations
    from maxentry.posterior.gibbs import Repeats

LARGEST_MAP = 250_000_000  # entries of a dense map: 2 GB
MOST_CHECKED = 1_000_000  # entries that are compared with the ends of a scale
PLAIN = ValueMap()
_nodes, _weights = np.polynomial.hermite_e.hermegauss(5)
QUADRATURE = (_nodes.tolist(), (_weights / _weights.sum()).tolist())  # of a standard normal


class Deviation(NamedTuple):
    """Entries that deviate from the pattern by themselves: t = x + d, d ~ N(0, omega2), measured with the noise nu2.

    An entry measured with mean y and error variance u has t | x, y ~ N(x + k (y - x), omega2 (1 - k)) with
    k = omega2 / (omega2 + u); of others k is 0. Where y is only known to lie between two ends, it is drawn given x.
    """

    omega2: Array  # (S,) in each draw
    nu2: Array  # (S,)
    keys: Any  # (E,) of the measured entries, sorted: row m2 + column
    mean: Array  # (E,)
    times: Array  # (E,) as in `Repeats`
    var: Array  # (E,)
    low: Array  # (E,) the ends between which y lies; both are the mean where y is known
    high: Array  # (E,)
    m2: int
    rows: Any = None  # the rows and columns that are shown; None: all
    cols: Any = None

    @classmethod
    def of(cls, repeats: Repeats, omega2: Array, nu2: Array) -> Deviation:
        """Build it from gathered measurements."""
        o = repeats.observations
        assert repeats.times is not None
        assert repeats.var is not None
        return cls(omega2, nu2, *_one_of_each(o, repeats.times, repeats.var), o.shape[1])

    @classmethod
    def suppose(cls, statements: Observations, eta2: Array) -> Deviation:
        """Build it where nothing tells noise from deviation: omega2 / eta2 is uniform, as it is before replicates come.

        Every draw has one share, in an order that goes with nothing else.
        """
        o, S = statements, eta2.size
        share = (np.random.default_rng(2).permutation(S) + 0.5) / S
        var = np.zeros(o.n) if o.se is None else o.se**2
        return cls(share * eta2, (1 - share) * eta2, *_one_of_each(o, np.ones(o.n), var), o.shape[1])

    def at(self, x: Array, rows: Any, cols: Any, draws: Any = slice(None)) -> tuple[Array, Array]:
        """Return mean and variance of the entries given draws x (S, ...) of the pattern, or given one of them."""
        centre, var = x.copy(), np.broadcast_to(beside(np.asarray(self.omega2[draws]), x), x.shape)
        at, place = self._find_measured(x, rows, cols)
        if len(place):
            var = var.copy()
            centre[at], var[at] = self._measured(x[at], place, draws)
        return centre, var

    def _measured(self, x: Array, place: Indices, draws: Any) -> tuple[Array, Array]:
        """Return mean and variance of measured entries, by their places in `keys`: (S, n), or (n,) of one draw."""
        omega2, nu2 = (np.asarray(part[draws]) for part in (self.omega2, self.nu2))
        if omega2.ndim:
            omega2, nu2 = omega2[:, None], nu2[:, None]
        times = self.times[place]
        error = np.where(times > 0, nu2 / np.maximum(times, 1.0), 0.0) + self.var[place]
        k = omega2 / (omega2 + error)
        shown, limited = self.mean[place], np.flatnonzero(self.low[place] < self.high[place])
        if len(limited):
            shown, some = np.broadcast_to(shown, x.shape).copy(), place[limited]
            centre, sd = x[..., limited], np.sqrt(omega2 + error[..., limited])
            which = np.arange(self.omega2.size)[draws]
            u = _shares(self.omega2.size)[_turns(self.keys[some] + 1, self.omega2.size) + which[..., None]]
            low, high = ((end[some] - centre) / sd for end in (self.low, self.high))
            shown[..., limited] = centre + sd * cut_normal(low, high, u)
        centre = shown - x
        centre *= k
        centre += x
        return centre, omega2 * (1 - k)

    def _find_measured(self, x: Array, rows: Any, cols: Any) -> tuple[Any, Indices]:
        """Return where the measured ones are among the entries x (index of x), and in `keys`."""
        if isinstance(rows, slice) and isinstance(cols, slice) and self.rows is None and self.cols is None:
            i, j = np.divmod(self.keys, self.m2)
            i, j, (n1, n2) = i - (rows.start or 0), j - (cols.start or 0), x.shape[-2:]
            place = np.flatnonzero((i >= 0) & (i < n1) & (j >= 0) & (j < n2))
            return (..., i[place], j[place]), place
        if not len(self.keys):
            return (), np.empty(0, dtype=np.int64)
        keys = self._keys(x, rows, cols)
        place = np.minimum(np.searchsorted(self.keys, keys), len(self.keys) - 1)
        inside = np.nonzero(self.keys[place] == keys)
        place = place[inside]
        # all were measured: nothing is copied
        return ... if len(place) == x.shape[-1] and keys.ndim == 1 else (..., *inside), place

    def draw(self, x: Array, rows: Any, cols: Any, draws: Any = slice(None)) -> Array:
        """Return entries given draws x (S, ...) of the pattern, or given one of them.

        Deviations are the quantiles (k + 1/2) / S of their law, one for each draw, from another place in a random order
        for each entry.
        """
        S, which = self.omega2.size, np.asarray(np.arange(self.omega2.size)[draws])
        whole = (
            isinstance(rows, slice) and isinstance(cols, slice) and self.rows is None and self.cols is None
        )
        if whole:
            turns = _block_turns(rows.start or 0, cols.start or 0, x.shape[-2:], self.m2, S)
        else:
            turns = _turns(self._keys(x, rows, cols), S)
        one = which.ndim == 0
        normal = _order(S)[which : which + S][turns] if one else _order(S)[turns + beside(which, x)]
        at, place = self._find_measured(x, rows, cols)
        if len(place):
            centre, var = self._measured(x[at], place, draws)
            centre += normal[at] * np.sqrt(var)
            if at is ...:
                return centre
        normal *= beside(np.sqrt(self.omega2[draws]), x)
        normal += x
        if len(place):
            normal[at] = centre
        return np.asarray(normal)

    def average(self, belief: Belief, by_row: bool, w: Array) -> Array:
        """Return what deviations add to the averages of all rows (or columns), by weights w, in every draw: (S, m).

        As if all entries were drawn: those of a line that begin at the same place in the order are counted together.
        """
        S, (m1, m2) = self.omega2.size, belief.shape
        order = _order(S)
        i, j = np.divmod(self.keys, m2)
        line, share, m = (i, w[j], m1) if by_row else (j, w[i], m2)
        k_turn, place = _turns(self.keys, S), np.arange(len(self.keys))
        counts = np.zeros((m, S))
        for rows, cols in belief.blocks():
            keys = np.arange(rows.start, rows.stop)[:, None] * m2 + np.arange(cols.start, cols.stop)
            own, other = (rows, w[cols]) if by_row else (cols, w[rows])
            turns, other = (_turns(keys, S), other) if by_row else (_turns(keys, S).T, other)
            at = np.arange(len(turns))[:, None] * S + turns
            sums = np.bincount(at.ravel(), np.broadcast_to(other, at.shape).ravel(), len(turns) * S)
            counts[own] += sums.reshape(-1, S)
        added = np.empty((S, m))
        for s in range(S):
            x, omega = belief.draw_at(s, i, j), np.sqrt(self.omega2[s])
            centre, var = self._measured(x, place, s)
            moved = centre - x + (np.sqrt(var) - omega) * order[k_turn + s]
            added[s] = omega * (counts @ order[s : s + S]) + np.bincount(line, share * moved, m)
        return added

    def tell(self, entries: Entries, values: Array) -> Deviation:
        """Return the same with these entries measured, too; those that were are left as they are."""
        keys, first = np.unique(entries.keys(self.m2), return_index=True)
        new = ~np.isin(keys, self.keys)
        keys, value, one = keys[new], values[first][new], np.ones(int(new.sum()))
        told = {"keys": keys, "mean": value, "times": one, "var": 0 * one, "low": value, "high": value}
        joined = {name: np.concatenate([getattr(self, name), part]) for name, part in told.items()}
        order = np.argsort(joined["keys"], kind="stable")
        parts: dict[str, Any] = {name: part[order] for name, part in joined.items()}
        return self._replace(**parts)

    def _keys(self, x: Array, rows: Any, cols: Any) -> Any:
        i, j = _positions(rows, x.shape[-2:][0], self.rows), _positions(cols, x.shape[-1], self.cols)
        return (i[:, None] if isinstance(rows, slice) else i).astype(np.int64) * self.m2 + j

    def restrict(self, rows: Any, cols: Any) -> Deviation:
        """Return the same for some rows and columns, which are numbered anew."""
        return self._replace(rows=rows, cols=cols)


def _turns(keys: Any, S: int) -> Indices:
    """Return where each entry begins in the order of the quantiles."""
    return np.asarray((keys * 2654435761 >> 7) % S)


@lru_cache(maxsize=1)  # all draws of a block are formed before the next block
def _block_turns(row: int, col: int, shape: tuple[int, int], m2: int, S: int) -> Indices:
    """Return the same for the entries of a block that begins at a row and column."""
    turns = _turns(np.arange(row, row + shape[0])[:, None] * m2 + np.arange(col, col + shape[1]), S)
    turns.flags.writeable = False
    return turns


@lru_cache(maxsize=4)
def _order(S: int) -> Array:
    """Return standard normal quantiles in a random order, twice, so that those of draw s begin at s plus a turn."""
    order = ndtri((np.random.default_rng(1).permutation(S) + 0.5) / S)
    return np.concatenate([order, order])


@lru_cache(maxsize=4)
def _shares(S: int) -> Array:
    """Return quantiles of a uniform law in another order, twice."""
    order = (np.random.default_rng(3).permutation(S) + 0.5) / S
    return np.concatenate([order, order])


def cut_normal(a: Array, b: Array, u: Array) -> Array:
    """Return standard normal numbers between a and b, from uniform ones."""
    mirrored = a + b > 0  # so that both ends are in the lower tail, or about zero
    low, high = log_ndtr(np.where(mirrored, -b, a)), log_ndtr(np.where(mirrored, -a, b))
    z = ndtri_exp(high + np.log(u + (1 - u) * np.exp(np.minimum(low - high, 0.0))))
    return np.asarray(np.clip(np.where(mirrored, -z, z), a, b))


def _one_of_each(
    o: Observations, times: Array, var: Array
) -> tuple[Indices, Array, Array, Array, Array, Array]:
    """Return keys, values, errors and ends of the measurements, one of each entry; values come before limits."""
    keys = o.rows.astype(np.int64) * o.shape[1] + o.cols
    low, high = (o.values if o.low is None else o.low), (o.values if o.high is None else o.high)
    order = np.lexsort((low < high, keys))
    first = order[np.unique(keys[order], return_index=True)[1]]
    return keys[first], o.values[first], times[first], var[first], low[first], high[first]


def _positions(side: Any, n: int, shown: Any) -> Any:
    """Return positions of rows or columns, of which n are in a slice, among all of the matrix."""
    known = np.arange(side.start or 0, (side.start or 0) + n) if isinstance(side, slice) else np.asarray(side)
    return known if shown is None else np.asarray(shown)[known]


class Answers(NamedTuple):
    """How draws of entries on the scale of the model become answers in the user's units."""

    law: NoiseLaw
    value_map: ValueMap = PLAIN
    likelihood: Likelihood = GAUSSIAN
    deviation: Deviation | None = None  # of the entries from x, where it is told from noise
    ends: tuple[float, float] | None = None  # of a scale, as which entries beyond them count

    @property
    def plain(self) -> bool:
        """Whether draws are answers as they are."""
        plain = self.deviation is None and self.ends is None
        return plain and self.value_map.plain and not self.likelihood.discrete

    def ends_of(self, sign: int) -> tuple[float, ...]:
        """The ends of the scale times a sign, the lower first; one may be infinite. Nothing where there are none."""
        return tuple(sorted(sign * end for end in self.ends or ()))

    @property
    def of_pattern(self) -> Answers:
        """The answers about the pattern, without what entries deviate from it by themselves."""
        return self._replace(deviation=None)

    @property
    def convert(self) -> Callable[[Array, Any, Any, Any], Array] | None:
        """How draws become answers; None where they are answers as they are."""
        return None if self.plain else self.entries

    def entries(self, x: Array, rows: Any, cols: Any, draws: Any = slice(None)) -> Array:
        """Return the entries (or probabilities of yes, or expected grades) of some draws x (S, ...), or of one.

        Deviations are at quantiles, one for each draw, in an order of each entry's own.
        """
        if self.deviation is not None:
            x = self.deviation.draw(x, rows, cols, draws)
        law = self.law.select(draws)
        law = law.at(rows, cols) if self.likelihood.discrete else law
        y = self.value_map.inverse(self.likelihood.answers(x, law), rows, cols)
        return y if self.ends is None else np.clip(y, *self.ends)

    def points(
        self, x: Array, rows: Any, cols: Any, draws: Any = slice(None)
    ) -> Iterator[tuple[float, Array]]:
        """Yield weights and answers that stand for the entries given draws of the pattern: quadrature of deviations."""
        if self.deviation is None:
            yield 1.0, self.entries(x, rows, cols, draws)
            return
        centre, var = self.deviation.at(x, rows, cols, draws)
        for node, weight in zip(*QUADRATURE, strict=True):
            yield weight, self.value_map.inverse(centre + node * np.sqrt(var), rows, cols)

    def moments(self, x: Array, rows: Any, cols: Any) -> tuple[Array, Array]:
        """Return mean and sd of the entries, from draws x (S, ...)."""
        if self.deviation is None:
            y = self.entries(x, rows, cols)
            return y.mean(0), y.std(0, ddof=1) if len(y) > 1 else np.zeros(y.shape[1])
        points = [*self.points(x, rows, cols)]
        mean = sum(weight * y.mean(0) for weight, y in points)
        squares = sum(weight * ((y - mean) ** 2).sum(0) for weight, y in points)
        return np.asarray(mean), np.sqrt(np.asarray(squares) / max(len(x) - 1, 1)) * (len(x) > 1)

    def readings(self, z: Array, rows: Any, cols: Any, draws: Any = slice(None)) -> Array:
        """Return what an instrument would show of noisy entries z (S, ...)."""
        return self.likelihood.readings(self.value_map.inverse(z, rows, cols), self.law.select(draws))

    def probabilities(self, belief: Belief, rows: Any, cols: Any) -> Array:
        """Return the probability of each grade (or of no and yes) of entries (rows[k], cols[k]), (K, n)."""
        return self.likelihood.probabilities(belief.at(rows, cols), self.law.at(rows, cols))

    def restrict(self, rows: Indices, cols: Indices) -> Answers:
        """Return the answers for some rows and columns."""
        law = self.law
        if law.spread is not None:
            law = law._replace(spread=law.spread[:, rows if law.by_row else cols])
        own = None if self.deviation is None else self.deviation.restrict(rows, cols)
        return self._replace(law=law, value_map=self.value_map.restrict(rows, cols), deviation=own)

    def interval(self, x: Array, rows: Any, cols: Any, level: float) -> tuple[Array, Array]:
        """Return the central interval of the entries, from draws x (S, ...), which may be overwritten."""
        if self.likelihood.discrete:
            return quantiles(self.entries(x, rows, cols), level)
        if self.deviation is not None:
            centre, var = self.deviation.at(x, rows, cols)
            x = self.add_noise(centre, self.law.standard(), rows, cols, np.sqrt(var))
        low, high = quantiles(x, level)  # of the draws: answers rise with them
        return self.value_map.inverse(low, rows, cols), self.value_map.inverse(high, rows, cols)

    def reading_interval(
        self, x: Array, extra: Array, rows: Any, cols: Any, level: float
    ) -> tuple[Array, Array]:
        """Return the central interval of new measurements, from draws x (S, ...) and their noise (COPIES, S)."""
        noisy = self.noisy(x, extra, rows, cols)
        if self.likelihood.discrete:  # an end is one of the values that can be shown
            shown = self.readings(noisy, rows, cols, self.copies(extra))
            return quantiles(shown, level, "inverted_cdf")
        low, high = (self.value_map.inverse(end, rows, cols) for end in quantiles(noisy, level))
        return self.likelihood.readings(low, self.law), self.likelihood.readings(high, self.law)

    def noisy(self, x: Array, extra: Array, rows: Any, cols: Any) -> Array:
        """Return new measurements, (COPIES S, ...), from draws x (S, ...) and their noise (COPIES, S)."""
        if self.deviation is None:
            return self.add_noise(x, extra, rows, cols)
        centre, var = self.deviation.at(x, rows, cols)
        sd = np.sqrt(var + beside(self.deviation.nu2, centre))
        return self.add_noise(centre, self.law.standard(), rows, cols, sd)

    def add_noise(self, x: Array, extra: Array, rows: Any, cols: Any, sd: Array | None = None) -> Array:
        """Return every draw with each of its noise values, (COPIES S, ...), which are times `sd` (S, ...) if given."""
        noise = extra.reshape(*extra.shape, *(1,) * (x.ndim - 1))
        if self.law.spread is not None:
            noise = noise * self.law.spread_at(rows, cols)
        noise = noise if sd is None else noise * sd
        return (x[None] + noise).reshape(extra.size, *x.shape[1:])

    @staticmethod
    def copies(extra: Array) -> Indices:
        """Return the draw that each of these came from."""
        return np.tile(np.arange(extra.shape[1]), extra.shape[0])


@dataclass(frozen=True, eq=False)
class Prediction:
    """Chosen entries: `low` and `high` bound the entry, `new_low` and `new_high` a new measurement of it."""

    rows: tuple[Any, ...]
    cols: tuple[Any, ...]
    mean: Array
    sd: Array
    low: Array
    high: Array
    new_low: Array
    new_high: Array
    level: float
    frame_kind: str | None = None

    def to_frame(self) -> Any:
        """A frame with one line per entry."""
        names = ("mean", "sd", "low", "high", "new_low", "new_high")
        columns: dict[str, Any] = {"row": self.rows, "col": self.cols}
        columns |= {name: np.ravel(getattr(self, name)) for name in names}
        return frames.make_frame(columns, self.frame_kind)


def check_level(level: float) -> None:
    """Raise an error unless the level is between 0 and 1."""
    if not (isinstance(level, int | float | np.floating) and 0 < level < 1):
        raise ParameterError(f"the level must lie between 0 and 1, like 0.9, got {show(level)}")


def quantiles(
    draws: Array, level: float, method: Literal["weibull", "inverted_cdf"] = "weibull"
) -> tuple[Array, Array]:
    """Return the central interval over the first axis.

    weibull: the s-th smallest of S draws is taken as the quantile s / (S + 1), so that a new draw falls between the
    ends with exactly this probability. inverted_cdf: an end is one of the draws, as where these are grades.
    """
    tail = 0.5 * (1 - level)
    low, high = np.quantile(draws, [tail, 1 - tail], axis=0, method=method, overwrite_input=True)
    return low, high


def interval_map(
    belief: Belief, level: float, answers: Answers, *, measured: bool = False
) -> tuple[Array, Array]:
    """Dense maps (low, high) of the entries, or of new measurements of them, in the user's units."""
    low, high = np.empty(belief.shape), np.empty(belief.shape)
    extra = answers.law.stratified() if measured else np.zeros((1, belief.n_draws))
    for rows, cols in belief.blocks(extra.size):
        x = np.stack([belief.block(s, rows, cols) for s in range(belief.n_draws)])
        if measured:
            ends = answers.reading_interval(x, extra, rows, cols, level)
        else:
            ends = answers.interval(x, rows, cols, level)
        low[rows, cols], high[rows, cols] = ends
    return low, high


def mean_map(belief: Belief, answers: Answers) -> Array:
    """Dense map of the mean of the entries, in the user's units."""
    if answers.plain:
        return belief.mean()
    mean = np.zeros(belief.shape)
    for rows, cols in belief.blocks():
        for s in range(belief.n_draws):
            for weight, y in answers.points(belief.block(s, rows, cols), rows, cols, s):
                mean[rows, cols] += weight / belief.n_draws * y
    return mean


def sd_map(belief: Belief, mean: Array, answers: Answers) -> Array:
    """Dense map of the standard deviation of the entries, around the map of the mean, in the user's units."""
    if answers.plain:
        return belief.sd(mean)
    squares = np.zeros(belief.shape)
    for rows, cols in belief.blocks():
        for s in range(belief.n_draws):
            for weight, y in answers.points(belief.block(s, rows, cols), rows, cols, s):
                squares[rows, cols] += weight * (y - mean[rows, cols]) ** 2
    return np.sqrt(squares / max(belief.n_draws - 1, 1))


class Maps:
    """The mean, sd, intervals and samples of every entry, m1 x m2 arrays in the user's units."""

    def __init__(self, belief: Belief, answers: Answers) -> None:
        self._belief, self._answers = belief, answers

    @cached_property
    def mean(self) -> Array:
        """Posterior mean of every entry; read-only, since it is cached: `.copy()` to change it."""
        self.check_size()
        return _read_only(mean_map(self._belief, self._answers))

    @cached_property
    def sd(self) -> Array:
        """Posterior standard deviation of every entry; read-only like the mean."""
        self.check_size()
        return _read_only(sd_map(self._belief, self.mean, self._answers))

    def interval(self, level: float = 0.9) -> tuple[Array, Array]:
        """(low, high): each entry, without noise, lies between with this probability."""
        return self._ends(level, measured=False)

    def predictive_interval(self, level: float = 0.9) -> tuple[Array, Array]:
        """(low, high): a new measurement of the entry falls between with this probability."""
        return self._ends(level, measured=True)

    def _ends(self, level: float, *, measured: bool) -> tuple[Array, Array]:
        check_level(level)
        self.check_size()
        return interval_map(self._belief, level, self._answers, measured=measured)

    def measured(self) -> tuple[Array, Array]:
        """(mean, sd) of what a new measurement of each entry would show, noise and limits included."""
        self.check_size(2)
        belief, answers, extra = self._belief, self._answers, self._answers.law.stratified()
        mean, sd = np.empty(belief.shape), np.zeros(belief.shape)
        for rows, cols in belief.blocks(extra.size):
            x = np.stack([belief.block(s, rows, cols) for s in range(belief.n_draws)])
            y = answers.readings(answers.noisy(x, extra, rows, cols), rows, cols, answers.copies(extra))
            mean[rows, cols], sd[rows, cols] = y.mean(0), y.std(0, ddof=1)
        return mean, sd

    def probabilities(self) -> Array:
        """The probability of each grade, (K, m1, m2); of no and of yes for these."""
        likelihood, law, belief = self._answers.likelihood, self._answers.law, self._belief
        K = len(likelihood.names)
        if not K:
            raise ParameterError("probabilities are for kind='yes/no' or 'grades', got kind='numbers'")
        self.check_size(K)
        p = np.empty((K, *belief.shape))
        for rows, cols in belief.blocks(belief.n_draws * 4):
            x = np.stack([belief.block(s, rows, cols) for s in range(belief.n_draws)])
            p[:, rows, cols] = likelihood.probabilities(x, law.at(rows, cols))
        return p

    def sample(self, n: int = 1, seed: int | None = None) -> Array:
        """`n` matrices, (n, m1, m2), without replacement while there are enough draws."""
        if not is_whole(n, 1):
            raise ParameterError(f"the number of samples must be a whole number of at least 1, got {show(n)}")
        if seed is not None and not is_whole(seed, 0):
            raise ParameterError(f"seed must be a whole number of at least 0 or None, got {show(seed)}")
        self.check_size(n)
        rng, S = np.random.default_rng(seed), self._belief.n_draws
        which = rng.choice(S, n, replace=n > S)
        every = slice(None), slice(None)
        draws, own = ((int(s), self._belief.draw(int(s))) for s in which), self._answers.deviation
        if own is None:
            return np.stack([self._answers.entries(x, *every, s) for s, x in draws])
        laws = (own.at(x, *every, s) for s, x in draws)
        entries = (mean + np.sqrt(var) * rng.standard_normal(mean.shape) for mean, var in laws)
        return np.stack([self._answers.value_map.inverse(x, *every) for x in entries])

    def hint_scale(self, observations: Observations, command: str | None = None) -> str:
        """Say what the values look like that we were not told: no plain numbers, or those of a scale with ends.

        Ends count where means lie beyond them. "" if there is nothing to say, or limits or a transform were given.
        command: in the shell, how to change the settings of a campaign (`complete`: "").
        """
        likelihood, transform = self._answers.likelihood, self._answers.value_map.transform
        special = likelihood.discrete or likelihood.limits is not None or observations.low is not None
        if special or transform != NONE:
            return ""
        if not command and (kind := hint_kind(observations.values, shell=command is not None)):
            return kind  # that of a campaign cannot change
        if np.prod(observations.shape) > MOST_CHECKED:
            return ""
        ends = guess_ends(observations.values)
        n = 0 if ends is None else int(((self.mean < ends[0]) | (self.mean > ends[1])).sum())
        if ends is None or not n:
            return ""
        lie, (low, high) = count(n, "estimate lies", "estimates lie"), ends
        how = f"limits=({low:g}, {high:g}) (and predict(..., measured=True)"
        if command is not None:
            how = f"{command}--limits {low:g},{high:g} (and {'posterior ' if command else ''}--measured"
        return f"{lie} beyond {low:g} to {high:g}; if the scale ends there, say {how} for estimates within)"

    def check_size(self, copies: int = 1) -> None:
        """Refuse maps that would not fit in memory."""
        m1, m2 = self._belief.shape
        if m1 * m2 * copies > LARGEST_MAP:
            raise SizeError(
                f"a dense map of {m1} x {m2} entries{f', {copies} times,' if copies > 1 else ''} would take "
                f"{8e-9 * m1 * m2 * copies:.3g} GB; ask for the entries you need with .predict(rows, cols)"
            )


def _read_only(array: Array) -> Array:
    array.flags.writeable = False
    return array


def predict(
    belief: Belief, i: Indices, j: Indices, level: float, answers: Answers, form: frames.Form,
    measured: bool = False,
) -> Prediction:  # fmt: skip
    """Mean, sd and intervals of the entries (i, j), or of new measurements; in blocks, so that there may be many."""
    flat_i, flat_j = i.ravel(), j.ravel()
    out = np.empty((6, flat_i.size))
    extra = answers.law.stratified()
    step = max(1, BLOCK_NUMBERS // extra.size)
    for start in range(0, flat_i.size, step):
        part = slice(start, start + step)
        rows, cols = flat_i[part], flat_j[part]
        x = belief.at(rows, cols)
        if measured:
            y = answers.readings(answers.noisy(x, extra, rows, cols), rows, cols, answers.copies(extra))
            mean, sd = y.mean(0), y.std(0, ddof=1) if y.shape[0] > 1 else np.zeros(y.shape[1])
        else:
            mean, sd = answers.moments(x, rows, cols)
        new = answers.reading_interval(x, extra, rows, cols, level)
        out[:, part] = mean, sd, *new, *(new if measured else answers.interval(x, rows, cols, level))
    mean, sd, new_low, new_high, low, high = (row.reshape(i.shape) for row in out)
    labels = _labels_at(form.row_labels, flat_i), _labels_at(form.col_labels, flat_j)
    return Prediction(*labels, mean, sd, low, high, new_low, new_high, level, form.kind)


def _labels_at(labels: Sequence[Any] | None, index: Indices) -> tuple[Any, ...]:
    return tuple(int(k) if labels is None else labels[k] for k in index)
