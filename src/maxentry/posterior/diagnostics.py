"""Diagnostics: has the fit converged, and if not, what to do. R-hat and ESS of X, eta2, sigma2 and the spectrum.

`diagnose` computes R-hat and ESS (below) of the monitored quantities (`draws.monitor`), `judge_long` and
`judge_population` apply the rules, `Diagnostics` holds the result. A rule is a line of a table: a condition and the
advice given where it holds. `find_stuck_chains` finds chains that annealing left in a mode without mass.
"""

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from html import escape
from math import ceil
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.fft import irfft, next_fast_len, rfft
from scipy.special import ndtri, stdtr

from maxentry import frames
from maxentry._types import Array, Flags
from maxentry.observations import Observations
from maxentry.posterior.draws import Draws, choose_entries, entry_draws, monitor, observed_keys
from maxentry.posterior.schedule import Kind

THOROUGH = 'effort="thorough"'  # what advice names; `advice_at` says it for the shell and the page
NOTHING_TO_DO = "Nothing to do."
LONG_RHAT = 1.01  # Vehtari et al. (2021)
LONG_ESS_PER_CHAIN = 100  # the same: 50 for each half-chain
POPULATION_RHAT = 1.1
LARGEST_ERROR = 0.2  # of a typical mean, in units of its sd: it adds 2% to the root mean square error
FEWEST_CHAINS = 8  # of a population: several modes must have a chance to show
# Relative changes of widths or noise between the halves of the stored draws that count, each if it is beyond chance at
# a level. A small one of the noise that is beyond doubt is the end of a larger one: draws may be of a few sweeps only.
MOVES = ((0.05, 0.002),)
NOISE_MOVES = (*MOVES, (0.01, 1e-4))
END_ERROR = 2.11  # sqrt(0.05 0.95) / phi(1.645): error of a 5% quantile of a normal law in sd, for one draw
SHIFT = 0.2  # systematic change of the entries' means, in units of their sd
MARGIN = 1.5  # advised over the estimated length, which would be enough only half the time
STUCK_RATIO = 2.0  # a chain is stuck if its noise sd is this many times that of the median chain, ...
STUCK_RATIO_BY_LINE = 1.2  # ... where lines have a noise of their own, ...
STUCK_NATS = 30.0  # ... and its mode has this much less log mass
LONGEST_ADVICE = 50  # beyond this factor "run longer" is no advice
MIN_DRAWS = 4  # a chain, below which R-hat and ESS are NaN
TAIL = (0.05, 0.95)
_BLOCK_VALUES = 1 << 18  # 2 MiB of doubles: the temporaries of a block of quantities stay in cache
_ROUNDING = 1e-20  # a variance of scores below this is zero
_COLUMNS = ("quantity", "count", "median R-hat", "worst R-hat", "least bulk ESS", "least tail ESS")


@dataclass(frozen=True, repr=False, eq=False)
class Diagnostics:
    """R-hat and ESS of each monitored quantity, whether the fit has converged, and advice.

    Two kinds of runs are judged by different rules.

    `kind="long"`, a few long chains: converged if every R-hat is below 1.01 and every bulk and tail ESS is at
    least 100 a chain (Vehtari et al. 2021).

    `kind="population"`, dozens of short chains, each annealed on its own from the prior, all pooled. They are
    independent by construction, so the spread of their means is an honest Monte Carlo error, and what they disagree on
    is part of the intervals. (Where data abound and the rank is "auto", the chains of a rank go on from two that
    compared the ranks, the same for every seed: they are independent as far as they forget these while they settle.)
    Converged if the answers would not change:
    - `mean_error`, the Monte Carlo error of a typical entry's mean in units of its sd, is at most 0.2;
    - nothing moves between the early and the late half of the stored draws: neither the width of the intervals nor
      the noise by more than 5% beyond chance (the noise: 1% beyond doubt), nor the means by more than 0.2 sd;
    - there are at least 8 chains.
    R-hat is no condition: a large one says that chains sit in different modes, which pooling them accounts for. Nested
    R-hat (Margossian et al. 2024) needs groups of chains with a common start; chains started independently form none.
    `end_error` is the Monte Carlo error of a typical interval's ends (90%), in units of the entry's sd.
    """

    kind: Kind
    n_chains: int
    n_draws: int
    names: tuple[str, ...]
    groups: tuple[str, ...]
    rhat: Array
    ess_bulk: Array
    ess_tail: Array
    converged: bool
    advice: str
    frame_kind: str | None = None
    mean_error: float = np.nan
    end_error: float = np.nan

    def in_group(self, group: str) -> Flags:
        """Which quantities belong to a group; "X" stands for "X observed" and "X unobserved"."""
        return members(self.groups, group)

    @property
    def worst_rhat(self) -> float:
        """The largest R-hat of X."""
        return largest(self.rhat[self.in_group("X")])

    @property
    def median_rhat(self) -> float:
        """The median R-hat of X."""
        return median(self.rhat[self.in_group("X")])

    def to_frame(self) -> Any:
        """One line a monitored quantity: quantity, group, rhat, ess_bulk, ess_tail."""
        columns: dict[str, Any] = {"quantity": list(self.names), "group": list(self.groups)}
        columns |= {name: getattr(self, name) for name in ("rhat", "ess_bulk", "ess_tail")}
        return frames.make_frame(columns, self.frame_kind)

    def summary(self) -> str:
        """The verdict, a table of the groups, and the advice."""
        lines = [_COLUMNS, *self._table()]
        widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
        padded = [[cell.rjust(width) for cell, width in zip(line, widths, strict=True)] for line in lines]
        return "\n".join([self._headline(), *("  ".join(line) for line in padded), self.advice])

    def __str__(self) -> str:
        return f"{self._headline()} {self.advice}"

    def __repr__(self) -> str:
        return f"<Diagnostics: {self._headline()}>"

    def _repr_html_(self) -> str:
        lines = [("th", _COLUMNS), *(("td", line) for line in self._table())]
        cells = ("".join(f"<{tag}>{escape(cell)}</{tag}>" for cell in line) for tag, line in lines)
        table = "".join(f"<tr>{line}</tr>" for line in cells)
        return f"<p><b>{escape(self._headline())}</b></p><table>{table}</table><p>{escape(self.advice)}</p>"

    def _headline(self) -> str:
        state = "converged" if self.converged else "not converged"
        chains = f"{self.kind} run, {self.n_chains} chains x {self.n_draws} draws"
        return (
            f"{chains}: {state}; R-hat of X {self.median_rhat:.2f} (median), {self.worst_rhat:.2f} (worst)."
        )

    def _table(self) -> list[tuple[str, ...]]:
        return [self._table_line(group) for group in dict.fromkeys(self.groups)]

    def _table_line(self, group: str) -> tuple[str, ...]:
        inside = self.in_group(group)
        rhat = self.rhat[inside]
        least = (-largest(-ess[inside]) for ess in (self.ess_bulk, self.ess_tail))
        figures = f"{median(rhat):.3f}", f"{largest(rhat):.3f}", *(f"{ess:.0f}" for ess in least)
        return group, str(inside.sum()), *figures


def diagnose(
    draws: Draws, observations: Observations, kind: Kind, seed: int = 0, pooled: Draws | None = None
) -> Diagnostics:
    """Monitor up to 200 entries of X (half unobserved), eta2, sigma2, spectrum and coherences; judge the run.

    draws: of chains of one rank. pooled: of all chains, where ranks are stacked; Monte Carlo errors are theirs.
    `seed` fixes which quantities are monitored. The cost is O(chains draws (m1 + m2) R^2).
    """
    names, groups, watched, _ = monitor(draws, observations, seed)
    pooled = draws if pooled is None else pooled
    x = watched_entries(pooled, observations, seed)
    if kind == "population":
        (bulk, tail), of_x = ess_between(watched), ess_between(x)
    else:
        bulk, tail = ess_bulk(watched), ess_tail(watched)
        of_x = bulk[members(groups, "X")], tail[members(groups, "X")]
    n_chains, n_draws = watched.shape[:2]
    statistics = Statistics(
        n_chains=n_chains,
        n_draws=n_draws,
        names=names,
        groups=groups,
        finite=np.asarray(np.isfinite(watched).all(axis=(0, 1))),
        rhat=split_rhat(watched),
        ess_bulk=bulk,
        ess_tail=tail,
        shape=draws.shape,
        rank=draws.rank,
        n_observed=observations.observed.nnz,
        n_pooled=len(pooled.mu),
        mean_error=median(1 / np.sqrt(of_x[0])),
        movement=find_movement(x, pooled.eta2) if kind == "population" else "",
    )
    judge = judge_population if kind == "population" else judge_long
    return Diagnostics(
        kind, n_chains, n_draws, names, groups, statistics.rhat, bulk, tail, *judge(statistics),
        observations.frame_kind, statistics.mean_error, median(END_ERROR / np.sqrt(of_x[1])),
    )  # fmt: skip


def watched_entries(draws: Draws, observations: Observations, seed: int = 0) -> Array:
    """Draws (chain, draw, entry) of the entries of X that `monitor` watches."""
    halves = choose_entries(draws.shape, observed_keys(observations), np.random.default_rng(seed))
    i, j = (np.concatenate(pair) for pair in zip(*halves, strict=True))
    return entry_draws(draws, i, j)


def find_movement(x: Array, eta2: Array) -> str:
    """What moves between the early and the late half of the stored draws, in words; empty if nothing does.

    x: (chain, draw, entry), eta2: (chain, draw). Chains are independent, so differences between their halves have mean
    zero if the chains had settled, however they depend on each other within a chain and whatever modes they sit in.
    """
    half = x.shape[1] // 2
    if half < 2 or len(x) < 2 or not (np.isfinite(x).all() and np.isfinite(eta2).all() and (eta2 > 0).all()):
        return ""
    sd = x.std(axis=(0, 1))
    z = ((x - x.mean(axis=(0, 1))) / np.where(sd > 0, sd, 1.0))[..., sd > 0]
    sentences = []
    widths = np.abs(z).mean(axis=2) if z.size else np.ones(eta2.shape)
    for what, values, moves in (
        ("their width", np.log(widths), MOVES),
        ("the noise", 0.5 * np.log(eta2), NOISE_MOVES),
    ):
        change = values[:, -half:].mean(axis=1) - values[:, :half].mean(axis=1)
        if any(abs(change.mean()) > size and _chance(change) < level for size, level in moves):
            sentences.append(f"{what} by {np.expm1(change.mean()):+.0%}")
    moved = z[:, -half:].mean(axis=1) - z[:, :half].mean(axis=1)  # (chain, entry)
    squares = moved.mean(axis=0) ** 2 - moved.var(axis=0, ddof=1) / len(moved)
    if squares.size and squares.mean() > SHIFT**2:
        sentences.append(f"their middle by {np.sqrt(squares.mean()):.1f} sd")
    return ", ".join(sentences)


def _chance(change: Array) -> float:
    """The level at which Student's test rejects that the mean over the chains is zero."""
    error = change.std(ddof=1) / np.sqrt(change.size)
    return float(2 * stdtr(change.size - 1, -abs(change.mean()) / error)) if error > 0 else 0.0


class Statistics(NamedTuple):
    """R-hat and ESS of each monitored quantity (NaN where it never changes), and the size of the problem.

    n_pooled: chains of all ranks. mean_error: as in `Diagnostics`. movement: what moves, in words.
    """

    n_chains: int
    n_draws: int
    names: tuple[str, ...]
    groups: tuple[str, ...]
    finite: Flags
    rhat: Array
    ess_bulk: Array
    ess_tail: Array
    shape: tuple[int, int]
    rank: int
    n_observed: int
    n_pooled: int = 0
    mean_error: float = np.nan
    movement: str = ""

    @property
    def freedom(self) -> int:
        """Degrees of freedom of X, R(m1 + m2 - R)."""
        return self.rank * (sum(self.shape) - self.rank)

    @property
    def cause(self) -> str:
        """Why chains may disagree."""
        if self.n_observed < self.freedom:
            return (
                f"the data leave several explanations ({self.n_observed} entries observed, fewer than the "
                f"{self.freedom} degrees of freedom R(m1 + m2 - R))"
            )
        return "they sit in different modes, or the stored draws are too close together to tell"


class Verdict(NamedTuple):
    """Whether the run has converged, and advice in plain words."""

    converged: bool
    advice: str


def judge_long(s: Statistics) -> Verdict:
    """All R-hat < 1.01 and all bulk and tail ESS >= 100 a chain."""
    if reason := _unusable(s):
        return Verdict(False, reason)
    ess = np.minimum(s.ess_bulk, s.ess_tail)
    rhat, enough = largest(s.rhat), LONG_ESS_PER_CHAIN * s.n_chains
    if np.isnan(rhat) or (rhat < LONG_RHAT and ess.min() >= enough):
        return Verdict(True, NOTHING_TO_DO)
    figures = f"R-hat {rhat:.3g} at {_worst(s.rhat, s)}, ESS {ess.min():.0f} at {_worst(-ess, s)}"
    # R-hat^2 - 1 and 1/ESS both fall as one over the length, once the chains mix.
    factor = max((rhat**2 - 1) / (LONG_RHAT**2 - 1), enough / ess.min())
    if factor <= LONGEST_ADVICE:
        longer = max(2, ceil(MARGIN * factor))
        return Verdict(
            False, f"Run about {longer} times longer, {longer * s.n_draws} draws a chain ({figures})."
        )
    return Verdict(
        False,
        f"The chains disagree ({figures}): {s.cause}. Longer chains will hardly help: "
        "use a population of short annealed chains, whose intervals include the disagreement.",
    )


def judge_population(s: Statistics) -> Verdict:
    """Small Monte Carlo errors of X over all chains, nothing that moves, chains enough."""
    if reason := _unusable(s):
        return Verdict(False, reason)
    rules = (
        (
            bool(s.movement),
            f"Intervals were still moving when draws were stored ({s.movement}): run with {THOROUGH}.",
        ),
        (
            s.n_pooled < FEWEST_CHAINS,
            f"{s.n_pooled} chains are too few for several explanations of the data to show: "
            f"run {4 * FEWEST_CHAINS} chains or more, as the default does.",
        ),
        (
            s.mean_error > LARGEST_ERROR,
            f"The Monte Carlo error is large ({s.mean_error:.0%} of the sd for the median entry): "
            f"run with {THOROUGH}, or more chains.",
        ),
    )
    advice = [sentence for holds, sentence in rules if holds]
    return Verdict(False, " ".join(advice)) if advice else Verdict(True, _notes(s))


def _unusable(s: Statistics) -> str:
    """Why the draws cannot be judged; empty if they can."""
    rules = (
        (
            not s.finite.all(),
            f"Draws of {s.names[int(np.argmin(s.finite))]} are not finite: "
            "rescale the data or check them for extreme values.",
        ),
        (
            s.n_draws < MIN_DRAWS,
            f"Too few draws to judge: {s.n_draws} a chain, at least {MIN_DRAWS} are needed; run longer.",
        ),
        (s.n_chains < 2, f"One chain of rank {s.rank} cannot show that it is stuck: run more chains."),
    )
    return next((sentence for holds, sentence in rules if holds), "")


def _notes(s: Statistics) -> str:
    """What is uncertain, and accounted for."""
    rhat, eta2 = s.rhat[members(s.groups, "X")], largest(s.rhat[members(s.groups, "eta2")])
    notes, above = [NOTHING_TO_DO], int((rhat >= POPULATION_RHAT).sum())
    if above:
        notes.append(
            f"On {above} of {rhat.size} watched entries the chains disagree (R-hat up to {largest(rhat):.2f}); "
            "their intervals include it."
        )
    if eta2 >= POPULATION_RHAT:
        notes.append(
            "The estimate of the noise is uncertain (several explanations fit equally well); "
            "predictions and intervals account for this."
        )
    return " ".join(notes)


def _worst(values: Array, s: Statistics) -> str:
    """The name of the quantity with the largest value; "none" where all are NaN."""
    return "none" if np.isnan(values).all() else s.names[int(np.nanargmax(values))]


def advice_at(advice: str, place: Literal["shell", "page"]) -> str:
    """The advice for those who read it elsewhere than in Python."""
    return advice.replace(THOROUGH, {"shell": "--effort thorough", "page": "the effort 'thorough'"}[place])


def find_stuck_chains(
    eta2: Array, ranks: NDArray[np.int64], n: int, shape: tuple[int, int], effects: bool, typical: Array | None = None
) -> Flags:  # fmt: skip
    """Find chains left by annealing in a mode without mass, where others of their rank found a better one.

    eta2: (chains, draws), the noise variance. n: the number of observations.
    By Laplace's approximation the log mass of a mode is about -(N - p) log eta, p the degrees of freedom. A chain with
    twice the noise sd of the median chain, worth 30 nats or more, has no weight in the posterior; pooled with the
    others it would get one. A chain is judged by all of its draws, and by the first quarter of them: one that gets
    out of such a mode while its draws are stored has draws without weight, too. With N <= p no chain is stuck: there
    every mode may interpolate the data. typical: (chains,), where lines have noises of their own, that of a typical
    measurement in the last state: less is to be seen there, and eta2 of few lines may be large by chance.
    """
    m1, m2 = shape
    free = n - (ranks * (m1 + m2 - ranks) + effects * (m1 + m2))
    first = eta2[:, : max(1, eta2.shape[1] // 4)]
    parts, ratio = ((eta2, first), STUCK_RATIO) if typical is None else ((eta2, typical), STUCK_RATIO_BY_LINE)
    found = []
    for log_eta in (0.5 * np.log(part).reshape(len(eta2), -1).mean(1) for part in parts):
        above = log_eta - np.array([np.median(log_eta[ranks == rank]) for rank in ranks])
        found.append((above > np.log(ratio)) & (free * above > STUCK_NATS))
    return np.asarray(np.any(found, axis=0) if typical is None else np.all(found, axis=0))


def median(values: Array) -> float:
    """Median without NaN; NaN if nothing is left."""
    values = values[~np.isnan(values)]
    return float(np.median(values)) if values.size else np.nan


def largest(values: Array) -> float:
    """Maximum without NaN; NaN if nothing is left."""
    values = values[~np.isnan(values)]
    return float(values.max()) if values.size else np.nan


def members(groups: tuple[str, ...], group: str) -> Flags:
    """Which quantities belong to a group; "X" stands for "X observed" and "X unobserved"."""
    return np.array([g == group or g.split(" ")[0] == group for g in groups], dtype=bool)


def describe_errors(diagnostics: Diagnostics) -> str:
    """The Monte Carlo errors of a typical entry, in words."""
    if not np.isfinite(diagnostics.mean_error + diagnostics.end_error):
        return "Monte Carlo error unknown: too few draws"
    return (
        f"Monte Carlo error {diagnostics.mean_error:.0%} of the sd for means, "
        f"{diagnostics.end_error:.0%} for ends of intervals (median entry)"
    )


def warn_of_steps(solved: Sequence[tuple[int, int]]) -> None:
    """Say that conjugate gradients fell short of their tolerance, where they did in any chain."""
    systems, short = (sum(counts) for counts in zip((0, 0), *solved, strict=True))
    if short:
        from maxentry.kernels.gradients import MOST_STEPS  # here: plots load this module, and need no Numba

        which = f"in {short:,} of {systems:,} systems, short of their tolerance"
        advice = "draws are not exact; leave out features that are almost sums of others"
        steps = f"conjugate gradients for features stopped after {MOST_STEPS:,} steps"
        warnings.warn(f"{steps} {which}: {advice}", stacklevel=3)


# R-hat and effective sample size of many quantities at once: Vehtari, Gelman, Simpson, Carpenter & Bürkner (2021),
# Bayesian Analysis 16(2). `draws` are (chain, draw, ...), the result has the trailing shape: NaN with fewer than
# MIN_DRAWS draws a chain, or if a draw is not finite.


def split_rhat(draws: ArrayLike) -> Array:
    """Rank-normalised split R-hat: the larger of the bulk value (location) and the folded one (scale).

    NaN for a quantity that never changes, and for a single chain, which cannot show that it is stuck. Infinite
    if every half-chain is constant and the constants differ.
    """
    return _by_blocks(_split_rhat, draws, least_chains=2)


def ess_bulk(draws: ArrayLike) -> Array:
    """Bulk effective sample size: that of the rank-normalised draws, by Geyer's initial monotone sequence.

    For a quantity that never changes, it is the number of draws. With fewer than 10 draws per chain no pair of lags
    can be estimated, and the value is the cap S log10 S, which means nothing: use `ess_between` for short chains.
    """
    return _by_blocks(lambda x: _ess(_normal_scores(_split(x))), draws)


def ess_tail(draws: ArrayLike) -> Array:
    """Tail effective sample size: the smaller of those of the 5% and the 95% quantile."""
    return _by_blocks(lambda x: np.minimum(*(_ess(_split(low)) for low in _tail_indicators(x))), draws)


def ess_between(draws: ArrayLike) -> tuple[Array, Array]:
    """Bulk and tail effective sample size of independent chains, from the spread of the chain means alone.

    The mean over C independent chains has variance Var(chain means) / C, however the draws of a chain depend on each
    other. So ESS = C Var(x) / Var(chain means), at least C, is valid even if chains are too short to estimate an
    autocorrelation.
    """
    bulk = _by_blocks(lambda x: _ess_from_means(_normal_scores(x)), draws, least_chains=2)
    tail = _by_blocks(
        lambda x: np.fmin(*(_ess_from_means(low) for low in _tail_indicators(x))), draws, least_chains=2
    )
    return bulk, tail


def _by_blocks(statistic: Callable[[Array], Array], draws: ArrayLike, least_chains: int = 1) -> Array:
    """Apply `statistic`, (quantity, chain, draw) -> (quantity,), to blocks of quantities."""
    draws = np.asarray(draws, dtype=float)
    chains, n, *shape = draws.shape
    flat = draws.reshape(chains, n, -1)
    out = np.full(flat.shape[2], np.nan)
    if n >= MIN_DRAWS and chains >= least_chains:
        size = max(1, _BLOCK_VALUES // (chains * n))
        for start in range(0, out.size, size):
            x = np.ascontiguousarray(np.moveaxis(flat[:, :, start : start + size], 2, 0))
            finite = np.isfinite(x).all(axis=(1, 2))
            if finite.any():
                out[start : start + size][finite] = statistic(x[finite])
    return out.reshape(shape)


def _split(x: Array) -> Array:
    """Split each chain into two halves; the middle draw of an odd number is left out."""
    half = x.shape[2] // 2
    return np.concatenate([x[:, :, :half], x[:, :, -half:]], axis=1)


def _normal_scores(x: Array) -> Array:
    """z = ndtri((rank - 3/8)/(S + 1/4)), ties at their average rank, over all chains of a quantity."""
    flat = x.reshape(len(x), -1)
    size = flat.shape[1]
    order = np.argsort(flat, axis=1)
    # An average rank is a multiple of 1/2, so the possible scores are a table, computed once.
    ranks = 1 + np.arange(2 * size - 1) / 2
    score = ndtri((ranks - 0.375) / (size + 0.25))
    z = np.empty_like(flat)
    np.put_along_axis(z, order, score[_doubled_ranks(np.take_along_axis(flat, order, axis=1))], axis=1)
    return z.reshape(x.shape)


def _doubled_ranks(ordered: Array) -> NDArray[np.intp]:
    """Twice the average rank, from 0, of each value of sorted rows: first + last place of its ties."""
    size = ordered.shape[1]
    place = np.arange(size)
    changes = ordered[:, 1:] != ordered[:, :-1]
    if changes.all():
        return np.broadcast_to(2 * place, ordered.shape)
    edge = np.ones((len(ordered), 1), dtype=bool)
    first = np.maximum.accumulate(np.where(np.hstack([edge, changes]), place, 0), axis=1)
    last = np.where(np.hstack([changes, edge]), place, size)
    doubled: NDArray[np.intp] = first + np.minimum.accumulate(last[:, ::-1], axis=1)[:, ::-1]
    return doubled


def _rhat(z: Array) -> Array:
    n = z.shape[2]
    between = n * z.mean(axis=2).var(axis=1, ddof=1)
    within = z.var(axis=2, ddof=1).mean(axis=1)
    # Scores are of order one; the rounding of a mean must not pass for variance in constant half-chains.
    between, within = (np.where(v < _ROUNDING, 0, v) for v in (between, within))
    with np.errstate(divide="ignore", invalid="ignore"):
        rhat: Array = np.sqrt((between / within + n - 1) / n)
    return rhat


def _split_rhat(x: Array) -> Array:
    x = _split(x)
    folded = np.abs(x - np.median(x, axis=(1, 2), keepdims=True))
    # fmax: a quantity with two equally likely values folds to a constant, whose R-hat is NaN.
    return np.fmax(_rhat(_normal_scores(x)), _rhat(_normal_scores(folded)))


def _tail_indicators(x: Array) -> list[Array]:
    """Whether x <= q, for the 5% and the 95% quantile q (R's type 7) of each quantity."""
    flat = x.reshape(len(x), -1)
    size = flat.shape[1]
    places = [size * prob + (1 - prob) for prob in TAIL]
    uppers = [int(np.clip(np.floor(place), 1, size - 1)) for place in places]
    flat = np.partition(flat, sorted({k - d for k in uppers for d in (0, 1)}), axis=1)
    indicators = []
    for place, k in zip(places, uppers, strict=True):
        low, high = flat[:, k - 1], flat[:, k]
        quantile = low + np.clip(place - k, 0, 1) * (high - low)
        indicators.append((x <= quantile[:, None, None]).astype(float))
    return indicators


def _ess(x: Array) -> Array:
    """Effective sample size of the mean, (quantity, chain, draw) -> (quantity,)."""
    _, chains, n = x.shape
    autocovariance = _mean_autocovariance(x)
    within = autocovariance[:, :1] * n / (n - 1)
    total = autocovariance[:, :1] + x.mean(axis=2).var(axis=1, ddof=1)[:, None]
    constant = np.ptp(x, axis=(1, 2)) < np.finfo(float).resolution
    rho = 1 - (within - autocovariance) / np.where(constant[:, None], 1, total)
    rho[:, 0] = 1
    tau = np.maximum(_geyer_time(rho), 1 / np.log10(chains * n))
    ess: Array = chains * n / np.where(constant, 1, tau)
    return ess


def _mean_autocovariance(x: Array) -> Array:
    """Autocovariance at every lag, averaged over chains (before the inverse transform: it is linear)."""
    n = x.shape[2]
    padded = next_fast_len(2 * n, real=True)
    spectrum = rfft(x - x.mean(axis=2, keepdims=True), n=padded, axis=2)
    power = (spectrum.real**2 + spectrum.imag**2).mean(axis=1)
    covariance: Array = irfft(power, n=padded, axis=1)[:, :n] / n
    return covariance


def _geyer_time(rho: Array) -> Array:
    """Integrated autocorrelation time by Geyer's initial positive, then monotone, sequence of pairs of lags.

    The pairs P_k = rho_2k + rho_2k+1 count up to the first that is not positive, made non-increasing; the
    even lag after them is added once (Vehtari et al. 2021, Sec. 3.2): less variance for antithetic chains.
    """
    n = rho.shape[1]
    room = max((n - 3) // 2, 0)
    pairs = rho[:, : 2 * room + 2].reshape(len(rho), room + 1, 2).sum(axis=2)
    stops = pairs <= 0
    count = np.where(stops.any(axis=1), stops.argmax(axis=1), room)
    used = np.arange(room + 1) < count[:, None]
    monotone = np.minimum.accumulate(pairs, axis=1)
    chosen = np.arange(len(rho)), count
    last_even, last_pair = rho[chosen[0], 2 * count], pairs[chosen]
    last = np.where(last_pair >= 0, last_even, np.maximum(last_even, 0))
    last = np.where(count == 0, 1, last)
    time: Array = -1 + 2 * np.sum(monotone, axis=1, where=used) + last
    return time


def _ess_from_means(x: Array) -> Array:
    _, chains, n = x.shape
    means = x.mean(axis=2).var(axis=1, ddof=1)
    total = means + x.var(axis=2, ddof=1).mean(axis=1) * (n - 1) / n
    size = chains * n
    with np.errstate(divide="ignore", invalid="ignore"):
        ess = np.minimum(chains * total / means, size * np.log10(size))
    counted: Array = np.where(total > 0, ess, size)
    return counted
