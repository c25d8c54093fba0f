"""What the draws say of a goal: which entries are best, in which order rows come, what exceeds a value, and how sure.

Every answer is a count over draws of the whole matrix: the probability of being best is the share of the draws in which
an entry is. Draws are formed a block of lines at a time, and none is kept. What is at stake (`Answer.at_stake`) says
when to stop:

| goal | recommended | at stake |
|---|---|---|
| best | the k entries of a line with the greatest mean | E[mean of the k best - mean of the recommended], the regret |
| rank | lines by their mean average | the share of the pairs that are in the wrong order, E min(p, 1 - p) |
| threshold | what exceeds it with probability above 1/2 | the share of entries on the wrong side, E min(p, 1 - p) |
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from maxentry import frames
from maxentry._io import checkpoint
from maxentry._types import Array, Flags, Indices
from maxentry.acquisition.targets import average_lines
from maxentry.belief import BLOCK_NUMBERS, Belief, Entries
from maxentry.errors import ParameterError
from maxentry.model.goal import Goal, Line
from maxentry.posterior.intervals import Answers, quantiles
from maxentry.wording import chance, count, describe_ranks, number, one_line, percent, show

MOST_NUMBERS = 400_000_000  # entries of draws that are formed for an answer: a second for each 10^8
FEWEST_DRAWS = 100
MOST_TOPS = 50_000_000  # best entries of all draws and lines that are kept
PIECE = 64  # entries of a line, of which the greatest is looked at first
OTHERS = 2  # entries of a line that are shown beside the recommended ones, where they may be better
LEAST_SHARE = 0.05  # the probability from which they are shown
MOST_LOOKED_AHEAD = 20_000_000  # entries of all draws for which a batch is looked ahead
TIED = 0.01  # of the length of a scale: estimates that near its end count as equal
NOTHING: Indices = np.empty(0, dtype=np.int64)
ROUNDING = 1e-12  # relative: less regret is none
TRUTHS = 16  # draws that are taken for the truth then
MOST_LINES = 12  # of a printed answer


@dataclass(frozen=True, eq=False)
class Answer:
    """A table, one line an entry (or a row or column that is ranked), the best first, and what is at stake.

    level: that of the intervals `low` to `high`. at_stake: in the user's units (best), or a share of pairs or entries.
    above: of a ranking, P(line i has a better average than line j) in the order of the table.
    """

    goal: Goal
    table: dict[str, Any]
    at_stake: float
    level: float
    summary: tuple[str, ...] = ()
    frame_kind: str | None = field(default=None, repr=False)
    above: Array | None = field(default=None, repr=False)
    note: str = ""  # that it compares what is in different units

    def to_frame(self) -> Any:
        """The table as a frame."""
        return frames.make_frame(self.table, self.frame_kind)

    def pairs(self) -> Any:
        """The probability that each line of a ranking has a better average than each other one, as a frame."""
        if self.above is None:
            raise ParameterError(f"expected a ranking, got the goal {show(str(self.goal))}: it has no pairs")
        labels = self.labels
        return frames.Form(self.frame_kind, tuple(labels), tuple(labels)).frame(self.above)

    @property
    def labels(self) -> list[Any]:
        """The labels of the lines that are ranked."""
        return list(self.table["row" if self.goal.per == "row" else "col"])

    def neighbours(self) -> list[dict[str, Any]]:
        """P(each line of a ranking has a better average than the next), and whether that is less sure than `level`."""
        if self.above is None:
            return []
        columns = self.labels[:-1], self.labels[1:], self.table["above_next"], self.table["tied"]
        pairs = zip(*columns, strict=False)
        return [{"above": a, "below": b, "probability": float(p), "tied": bool(t)} for a, b, p, t in pairs]

    def to_dict(self) -> dict[str, Any]:
        """The answer as plain data."""
        columns = {name: x if isinstance(x, list) else x.tolist() for name, x in self.table.items()}
        lines = [dict(zip(columns, line, strict=True)) for line in zip(*columns.values(), strict=True)]
        stake = {"at_stake": self.at_stake, "level": self.level}
        said = {"goal": str(self.goal), **stake, "summary": list(self.summary), "note": self.note}
        return said | {"lines": lines, "pairs": self.neighbours()}

    def __str__(self) -> str:
        return "\n".join(filter(None, [*self.summary, self.note]))


class Names(NamedTuple):
    """Labels of rows and columns (positions where there are none), what was measured, as keys, and what they are."""

    rows: tuple[Any, ...] | None
    cols: tuple[Any, ...] | None
    measured: Indices = np.empty(0, dtype=np.int64)
    row_name: object = None  # what a row is called, like "ligand"
    col_name: object = None

    def noun(self, line: Line) -> str | None:
        """Return what a row or column is called, if that is known."""
        name = self.row_name if line == "row" else self.col_name
        return one_line(name) if isinstance(name, str) and name.strip() else None

    def at(self, entries: Entries) -> dict[str, Any]:
        """Return columns `row` and `col` of a table of entries."""
        return {"row": self.of("row", entries.rows), "col": self.of("column", entries.cols)}

    def times(self, keys: Indices) -> Indices:
        """Return how often each entry was measured."""
        found, times = np.unique(self.measured, return_counts=True)
        return _look_up(found, times, keys).astype(np.int64)

    def of(self, line: Line, which: Indices) -> list[Any]:
        """Return the labels of some rows or columns."""
        labels = self.rows if line == "row" else self.cols
        return [int(k) if labels is None else labels[k] for k in which]


def say_stake(goal: Goal, stake: float) -> str:
    """What is at stake, in a sentence."""
    what, text = name_stake(goal, stake)
    return f"{what}: {text}." if goal.kind == "best" else f"{what}: {text} expected."


def name_stake(goal: Goal, stake: float) -> tuple[str, str]:
    """What is at stake, and how much."""
    if goal.kind == "best":
        return "Expected regret", number(stake, 3)
    return "Pairs in the wrong order" if goal.kind == "rank" else "Entries on the wrong side", percent(stake)


# Best entries


class Tops(NamedTuple):
    """The k best entries of each line in some draws and by their mean, as keys i m2 + j."""

    draws: list[int]
    values: Array  # (S, L, k) of the best in each draw, times the sign
    best: Indices  # (L, k) by the mean over the draws, the best first
    keys: Indices  # (n,) of all that are among the best in some draw, sorted
    share: Array  # (n,) of the draws in which each is; those that tie for the last places share them


def find_tops(belief: Belief, answers: Answers, goal: Goal, measured: Indices = NOTHING) -> Tops:
    """Find the best entries of every line in every draw; of some draws where the matrix is large.

    measured: keys of entries that come first where several are as good as the scale allows (`prefer_measured`).
    """
    m1, m2 = belief.shape
    length = {None: m1 * m2, "row": m2, "column": m1}[goal.per]
    k, lines = min(goal.k, length), m1 * m2 // length
    draws = choose_draws(belief, lines * k)
    S, ends = len(draws), answers.ends_of(goal.sign)
    keys, values = np.empty((S, lines, k), dtype=np.int64), np.full((S, lines, k), -np.inf)
    best, means = np.empty((1, lines, k), dtype=np.int64), np.full((1, lines, k), -np.inf)
    crowds = np.zeros((len(ends), S, lines))  # how many entries lie at each end
    for rows, cols, which in line_blocks(belief.shape, goal.per):
        total = np.zeros(())
        block = _block_keys(rows, cols, m2, goal.per)
        for place, s in enumerate(draws):
            x = _form_lines(belief, answers, goal, rows, cols, s)
            total = total + x
            _keep_greatest(keys, values, place, which, block, x)
            for crowd, end in zip(crowds, ends, strict=True):
                crowd[place, which] += (x == end).sum(1)
        mean = prefer_measured(total / S, ends, block, measured)
        _keep_greatest(best, means, 0, which, block, mean)
        checkpoint()
    order = np.argsort(-means[0], axis=1, kind="stable")
    # those that are tied for the last places at an end share them
    last, weight = values.min(2), np.zeros((S, lines))
    for crowd, end in zip(crowds, ends, strict=True):
        places = (values == end).sum(2)
        weight = np.where((last == end) & (crowd > places), places / np.maximum(crowd, 1), weight)
    sure = keys[(values > last[:, :, None]) | (weight == 0)[:, :, None]]
    tied = _find_tied(belief, answers, goal, draws, last, weight) if weight.any() else []
    found, number = np.unique(np.concatenate([sure, *(at for at, _ in tied)]), return_inverse=True)
    times = np.bincount(number, np.concatenate([np.ones(len(sure)), *(x for _, x in tied)]))
    return Tops(draws, values, np.take_along_axis(best[0], order, 1), found, times / S)


def _find_tied(
    belief: Belief, answers: Answers, goal: Goal, draws: list[int], last: Array, weight: Array
) -> list[tuple[Indices, Array]]:
    """Return the entries as good as the last of the best where that has a weight, and the sum of the weights."""
    found = []
    for rows, cols, which in line_blocks(belief.shape, goal.per):
        places = np.flatnonzero(weight[:, which].any(1))
        if not places.size:
            continue
        total = np.zeros(())
        for place in places:
            x = _form_lines(belief, answers, goal, rows, cols, draws[place])
            total = total + weight[place, which][:, None] * (x == last[place, which][:, None])
        at = np.nonzero(total)
        found.append((_block_keys(rows, cols, belief.shape[1], goal.per)[at], total[at]))
        checkpoint()
    return found


def prefer_measured(mean: Array, ends: tuple[float, ...], keys: Indices, measured: Indices) -> Array:
    """Return means by which to choose: of those near the greatest that the scale allows, the measured come first.

    ends: of the scale, times the sign, the lower first; keys: of the entries.
    """
    if not ends or ends[-1] == np.inf or not len(measured):
        return mean
    near = TIED * float(np.ptp(ends if np.isfinite(ends).all() else mean))
    return np.where(mean >= ends[-1] - near, mean + near * np.isin(keys, measured), mean)


def _form_lines(belief: Belief, answers: Answers, goal: Goal, rows: slice, cols: slice, s: int) -> Array:
    """Return the entries of a block in draw s, times the sign, one line a row."""
    x = answers.entries(belief.block(s, rows, cols), rows, cols, s)
    return np.asarray(_by_line(goal.sign * x, goal.per))


def choose_draws(belief: Belief, kept: int = 1) -> list[int]:
    """Return evenly spread draws: all, or so many that forming each whole matrix takes seconds."""
    entries = belief.shape[0] * belief.shape[1]
    most = max(FEWEST_DRAWS, min(MOST_NUMBERS // entries, MOST_TOPS // kept))
    S = min(belief.n_draws, most)
    return [int(s) for s in np.linspace(0, belief.n_draws - 1, S).round()]


def line_blocks(shape: tuple[int, int], per: Line | None) -> Iterator[tuple[slice, slice, slice]]:
    """Yield slices of rows and columns that hold whole lines, and which lines; parts of the one line if per is None."""
    m1, m2 = shape
    m, length = (m2, m1) if per == "column" else (m1, m2)
    step = max(1, BLOCK_NUMBERS // length)
    for start in range(0, m, step):
        part = slice(start, min(start + step, m))
        if per == "column":
            yield slice(0, m1), part, part
        else:
            yield part, slice(0, m2), slice(0, 1) if per is None else part


def _by_line(x: Any, per: Line | None) -> Any:
    return x.reshape(1, -1) if per is None else x.T if per == "column" else x


def _block_keys(rows: slice, cols: slice, m2: int, per: Line | None) -> Indices:
    keys = np.arange(rows.start, rows.stop)[:, None] * m2 + np.arange(cols.start, cols.stop)
    return np.asarray(_by_line(keys, per))


def _keep_greatest(keys: Indices, values: Array, s: int, which: slice, block: Indices, x: Array) -> None:
    """Keep the k greatest of those kept and the block's, for the lines of the block."""
    k, n = keys.shape[2], x.shape[1]
    if (
        len(x) == 1 and n > 4 * k * PIECE
    ):  # so many pieces have an entry as great as the k-th greatest of their maxima
        bound = np.partition(np.maximum.reduceat(x[0], np.arange(0, n, PIECE)), -k)[-k]
        near = np.flatnonzero(x[0] >= bound)
        x, block, n = x[:, near], block[:, near], len(near)
    if n > k:
        place = x.argmax(1)[:, None] if k == 1 else np.argpartition(x, n - k, axis=1)[:, n - k :]
        x, block = np.take_along_axis(x, place, 1), np.take_along_axis(block, place, 1)
    old = values[s, which]
    if np.isneginf(old).all() and x.shape[1] == k:
        keys[s, which], values[s, which] = block, x
        return
    both, at = np.concatenate([old, x], 1), np.concatenate([keys[s, which], block], 1)
    place = np.argpartition(both, both.shape[1] - k, axis=1)[:, -k:]
    keys[s, which] = np.take_along_axis(at, place, 1)
    values[s, which] = np.take_along_axis(both, place, 1)


def answer_best(
    belief: Belief, answers: Answers, goal: Goal, level: float, names: Names, others: int = OTHERS
) -> Answer:
    """Return the entries with the greatest mean, of each line or of all, and others that may be better."""
    m2 = belief.shape[1]
    tops = find_tops(belief, answers, goal, names.measured)
    L, k = tops.best.shape
    keys, place = _add_others(tops.best, tops.keys, tops.share, goal.per, m2, others)
    entries = Entries.from_keys(keys, m2)
    x = answers.entries(belief.at(*entries), *entries)
    chosen = goal.sign * x[tops.draws][:, place > 0].mean(0).reshape(L, k).mean(1)
    top = tops.values.mean((0, 2))
    regret = np.where(top - chosen > ROUNDING * abs(top), top - chosen, 0.0)
    line = _line_number(keys, goal.per, m2)
    low, high = quantiles(x.copy(), level)
    table = names.at(entries) | {
        "place": place, "estimate": _mean(x), "low": low, "high": high,
        "probability": _look_up(tops.keys, tops.share, keys), "regret": regret[line],
        "observed": names.times(keys),
    }  # fmt: skip
    stake = float(regret.mean())
    return Answer(goal, table, stake, level, tuple(_say_best(goal, table, line, stake, names)))


def _mean(x: Array) -> Array:
    """Return the means over draws; rounding leaves them within the ends of a scale."""
    return np.asarray(np.clip(x.mean(0), x.min(0), x.max(0)))


def _add_others(
    best: Indices, found: Indices, share: Array, per: Line | None, m2: int, others: int
) -> tuple[Indices, Indices]:
    """Return the recommended entries of each line (places 1, 2, ...), then those that may be better (place 0)."""
    L, k = best.shape
    keys, place = [best.ravel()], [np.tile(np.arange(1, k + 1), L)]
    order = np.argsort(-share, kind="stable")
    rest = found[order][(share[order] >= LEAST_SHARE) & ~np.isin(found[order], best)]
    line = _line_number(rest, per, m2)
    by_line = np.argsort(line, kind="stable")
    first = np.searchsorted(line[by_line], line[by_line])  # where its line begins
    kept = rest[by_line][np.arange(len(rest)) - first < others]
    keys.append(kept)
    place.append(np.zeros(len(kept), dtype=np.int64))
    all_keys, places = np.concatenate(keys), np.concatenate(place)
    later = np.lexsort((np.arange(len(all_keys)), _line_number(all_keys, per, m2)))
    return all_keys[later], places[later]


def _line_number(keys: Indices, per: Line | None, m2: int) -> Indices:
    return 0 * keys if per is None else keys // m2 if per == "row" else keys % m2


def _look_up(found: Indices, share: Any, keys: Indices) -> Array:
    if not len(found):
        return np.zeros(len(keys))
    place = np.minimum(np.searchsorted(found, keys), len(found) - 1)
    return np.where(found[place] == keys, share[place], 0.0)


def _say_best(goal: Goal, table: dict[str, Any], line: Indices, stake: float, names: Names) -> Iterator[str]:
    what = "best" if goal.sign > 0 else "smallest"
    share, rows, cols = table["probability"], table["row"], table["col"]
    if goal.per is None:
        named = [
            f"{one_line(r)}, {one_line(c)} ({chance(p)})" for r, c, p in zip(rows, cols, share, strict=True)
        ]
        k = int((table["place"] > 0).sum())  # a small matrix may have fewer
        yield f"The {count(k, what, what)} of all entries, each with the probability that it is one:"
        yield from named[: min(k, MOST_LINES)]
        if k > MOST_LINES:
            yield f"and {k - MOST_LINES} more"
        if others := named[k:]:
            yield f"Others that may be among them: {'; '.join(others)}"
    else:
        lines, inside = (rows, cols) if goal.per == "row" else (cols, rows)
        noun = names.noun("column" if goal.per == "row" else "row")
        title = f"Among the {goal.k} {what}" if goal.k > 1 else f"Best {noun}" if noun else what.capitalize()
        for start in np.flatnonzero(np.diff(line, prepend=-1))[:MOST_LINES]:
            of = np.flatnonzero(line == line[start])
            least = share[of[: goal.k]].min()  # of those with a place
            named = []
            for n, a in enumerate(of):
                but = ", but worse on average" if n >= goal.k and share[a] > least else ""
                named.append(f"{one_line(inside[a])} ({chance(share[a])}{but})")
            sure, maybe = ", ".join(named[: goal.k]), " or ".join(named[goal.k :])
            yield f"{title} for {one_line(lines[start])}: {sure}" + (f", or {maybe}" if maybe else "")
        if (more := len(np.unique(line)) - MOST_LINES) > 0:
            yield f"and {more} more {goal.per}s"
    yield say_stake(goal, stake)


# Ranking


def average_entries(belief: Belief, answers: Answers, goal: Goal) -> Array:
    """Return the (weighted) average of the entries of every row or column in every draw, (S, m)."""
    if answers.deviation is None or answers.ends is not None or not answers.value_map.plain:
        return _round_off(average_lines(belief, answers.convert, goal))
    by_row = goal.per == "row"
    shares = goal.shares(belief.shape[1 if by_row else 0])
    return average_lines(belief, None, goal) + answers.deviation.average(belief, by_row, shares)


def _round_off(averages: Array) -> Array:
    """Return averages without their last digits, so that those of entries at the ends of a scale are equal."""
    unit = ROUNDING * max(float(np.abs(averages).max()), np.finfo(float).tiny)
    return np.asarray(np.round(averages / unit) * unit)


def chances_above(averages: Array) -> Array:
    """Return P(line i has a greater average than line j), (m, m)."""
    m = averages.shape[1]
    above = np.empty((m, m))
    for i in range(m):
        above[i] = (averages[:, i : i + 1] > averages).mean(0)
    return above


def answer_ranking(averages: Array, goal: Goal, level: float, names: Names) -> Answer:
    """Return the rows (or columns) by their average, with intervals of average and rank, and P(best)."""
    assert goal.per is not None
    x = goal.sign * averages
    order = np.argsort(-x.mean(0), kind="stable")
    x = x[:, order]
    S, m = x.shape
    rank = np.empty((S, m))
    np.put_along_axis(rank, np.argsort(-x, axis=1, kind="stable"), np.arange(1.0, m + 1)[None], 1)
    above = chances_above(x)
    first = x == x.max(1, keepdims=True)
    p_best = (first / first.sum(1, keepdims=True)).mean(0)  # lines that are equal share the place
    low, high = quantiles(averages[:, order].copy(), level)
    tail = (1 - level) / 2
    rank_low, rank_high = np.quantile(rank, [tail, 1 - tail], axis=0, method="inverted_cdf")
    above_next = np.append(np.diagonal(above, 1), np.nan)
    table: dict[str, Any] = {
        goal.per if goal.per == "row" else "col": names.of(goal.per, order),
        "place": np.arange(1, m + 1), "estimate": _mean(averages[:, order]), "low": low, "high": high,
        "probability": p_best, "rank_low": rank_low.astype(int), "rank_high": rank_high.astype(int),
        "above_next": above_next, "regret": np.maximum(x.max(1).mean() - x.mean(0), 0.0),
        "tied": above_next < level,
    }  # fmt: skip
    stake = _pairs_in_doubt(above)
    summary = tuple(_say_ranking(goal, table, stake, names.noun(goal.per) or goal.per))
    return Answer(goal, table, stake, level, summary, above=above)


def _pairs_in_doubt(above: Array) -> float:
    """Return the share of the pairs that are expected in the wrong order."""
    pairs = np.triu_indices(len(above), 1)
    return float(np.minimum(above, above.T)[pairs].mean()) if len(above) > 1 else 0.0


def _say_ranking(goal: Goal, table: dict[str, Any], stake: float, noun: str) -> Iterator[str]:
    labels = table["row" if goal.per == "row" else "col"]
    best = np.argsort(-table["probability"], kind="stable")[:3]
    named = [
        f"{one_line(labels[a])} ({chance(table['probability'][a])})" for a in best if table["probability"][a]
    ]
    first, *others = named
    weighted = "" if goal.weights is None else "weighted "
    yield f"Best {noun} by {weighted}average: {first}" + (f", or {' or '.join(others)}" if others else "")
    for a in range(min(len(labels), MOST_LINES)):
        ranks = describe_ranks(table["rank_low"][a], table["rank_high"][a])
        interval = f"{number(table['low'][a])} to {number(table['high'][a])}"
        text = f"{a + 1}. {one_line(labels[a])}: {number(table['estimate'][a])} ({interval}; rank {ranks})"
        if a + 1 < len(labels):
            text += f"; above {one_line(labels[a + 1])}: {chance(table['above_next'][a])}"
        yield text + (", tied" if table["tied"][a] else "")
    if len(labels) > MOST_LINES:
        yield f"and {len(labels) - MOST_LINES} more {goal.per}s"
    yield say_stake(goal, stake)


# Above a threshold


def chances_to_exceed(belief: Belief, answers: Answers, threshold: float) -> Array:
    """Return P(x_ij > threshold), m1 x m2."""
    p = np.zeros(belief.shape)
    draws = choose_draws(belief)
    for rows, cols in belief.blocks():
        for s in draws:
            x = answers.entries(belief.block(s, rows, cols), rows, cols, s)
            p[rows, cols] += x > threshold
        checkpoint()
    p /= len(draws)
    return p


def answer_threshold(
    belief: Belief, answers: Answers, goal: Goal, level: float, names: Names, most: int = 1000
) -> Answer:
    """Return the entries that exceed the threshold with probability above 1/2 and those in doubt, surest first."""
    p = chances_to_exceed(belief, answers, goal.threshold).ravel()
    doubt = np.minimum(p, 1 - p)
    listed = np.flatnonzero((p > 0.5) | (doubt >= LEAST_SHARE))
    keys = listed[np.argsort(-p[listed], kind="stable")][:most]
    entries = Entries.from_keys(keys, belief.shape[1])
    x = answers.entries(belief.at(*entries), *entries)
    low, high = quantiles(x.copy(), level) if len(keys) else (np.empty(0), np.empty(0))
    table = names.at(entries) | {
        "estimate": _mean(x) if len(keys) else np.empty(0), "low": low, "high": high,
        "probability": p[keys], "observed": names.times(keys),
    }  # fmt: skip
    stake = float(doubt.mean())
    above, unsure = int((p > 0.5).sum()), int((doubt >= LEAST_SHARE).sum())
    summary = (
        f"{count(above, 'entry', 'entries')} of {p.size:,} probably above {goal.threshold:g}, "
        f"{unsure:,} in doubt (5% to 95%).",
        say_stake(goal, stake),
    )
    return Answer(goal, table, stake, level, summary)


class Prospect(NamedTuple):
    """What is at stake now, and on average once a batch is measured; how many of so many choices it should change.

    Choices are the recommended entries (best), the order of pairs (rank), or the side of each entry (threshold).
    """

    now: float
    after: float
    changes: float
    choices: int

    def say(self, goal: Goal, n: int) -> str:
        """What n more measurements should change, in a sentence."""
        what = {"best": "choices", "rank": "pairs", "threshold": "entries"}[goal.kind]
        change = (
            f"change {f'{self.changes:.1f}' if self.changes >= 0.05 else 'none'} of {self.choices:,} {what}"
        )
        fall = f"lower it by {percent(1 - self.after / self.now)} to {name_stake(goal, self.after)[1]} and "
        return f"{count(n, 'more measurement')} should {fall if self.after < self.now else 'not lower it but '}{change}"


def expect_stake(
    belief: Belief, answers: Answers, goal: Goal, batch: Entries, rng: np.random.Generator,
    measured: Indices = NOTHING,
) -> Prospect | None:  # fmt: skip
    """Return what a batch should change; None where the matrix is too large.

    Some draws in turn are taken for the truth, and all draws are conditioned on what would then be measured, as if they
    were jointly Gaussian. measured: keys of the entries that were.
    """
    S, (m1, m2) = belief.n_draws, belief.shape
    if S * m1 * m2 > MOST_LOOKED_AHEAD:
        return None
    X = np.stack([belief.draw(s).ravel() for s in range(S)])
    at = batch.keys(m2)

    def judge(x: Array, answers: Answers, measured: Indices) -> tuple[float, Flags]:
        whole = slice(None)
        y = answers.entries(x.reshape(S, m1, m2), whole, whole)
        return measure_stake(goal.sign * y, goal, answers.ends_of(goal.sign), measured)

    D = X - X.mean(0)
    working = belief.noise_at(*batch)
    gain = np.linalg.solve(D[:, at].T @ D[:, at] / S + np.diag(working), D[:, at].T @ D / S)
    now, chosen = judge(X, answers, measured)
    after, changes = [], []
    for s in rng.choice(S, min(S, TRUTHS), replace=False):
        told = X[s, at] + np.sqrt(working) * rng.standard_normal(len(at))
        shown = X[:, at] + np.sqrt(working) * rng.standard_normal((S, len(at)))
        own = None if answers.deviation is None else answers.deviation.tell(batch, told)
        both = np.concatenate([measured, at])
        stake, then = judge(X + (told - shown) @ gain, answers._replace(deviation=own), both)
        after.append(stake)
        changes.append((chosen & ~then).sum() if goal.kind != "threshold" else (chosen != then).sum())
        checkpoint()
    choices = int(chosen.sum()) if goal.kind != "threshold" else chosen.size
    return Prospect(now, min(float(np.mean(after)), now), float(np.mean(changes)), choices)


def measure_stake(
    x: Array, goal: Goal, ends: tuple[float, ...] = (), measured: Indices = NOTHING
) -> tuple[float, Flags]:
    """Return what is at stake and what is chosen, from whole matrices (S, m1, m2) times the sign.

    Chosen: the best entries of each line, which line is above which, or what exceeds the threshold. ends, measured: as
    in `prefer_measured`.
    """
    S = len(x)
    if goal.kind == "threshold":
        p = (x > goal.threshold).mean(0)
        return float(np.minimum(p, 1 - p).mean()), p > 0.5
    if goal.kind == "rank":
        x = x if goal.per == "row" else x.transpose(0, 2, 1)
        averages = _round_off(x @ goal.shares(x.shape[2]))
        place = np.argsort(np.argsort(-averages.mean(0), kind="stable"))
        return _pairs_in_doubt(chances_above(averages)), place[:, None] < place
    lines = x.reshape(S, 1, -1) if goal.per is None else x if goal.per == "row" else x.transpose(0, 2, 1)
    k, mean = min(goal.k, lines.shape[2]), lines.mean(0)
    keys = _by_line(np.arange(x[0].size).reshape(x[0].shape), goal.per)
    best = np.argpartition(prefer_measured(mean, ends, keys, measured), -k, axis=1)[:, -k:]
    chosen = np.zeros(mean.shape, dtype=bool)
    np.put_along_axis(chosen, best, True, 1)
    top = float(np.partition(lines, lines.shape[2] - k, axis=2)[:, :, -k:].mean())
    stake = top - float(mean[chosen].mean())
    return (stake if stake > ROUNDING * abs(top) else 0.0), chosen


def answer(belief: Belief, answers: Answers, goal: Goal, level: float, names: Names) -> Answer:
    """Answer a goal from the draws."""
    if goal.kind == "best":
        return answer_best(belief, answers, goal, level, names)
    if goal.kind == "rank":
        return answer_ranking(average_entries(belief, answers, goal), goal, level, names)
    if goal.kind == "threshold":
        return answer_threshold(belief, answers, goal, level, names)
    raise ParameterError(
        f"expected a goal with an answer of its own (best, rank or threshold), got {show(str(goal))}"
    )
