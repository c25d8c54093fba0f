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

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from maxentry import frames
from maxentry._io import check_memory, checkpoint
from maxentry._types import Array, Flags, Indices
from maxentry.acquisition.targets import average_lines
from maxentry.belief import BLOCK_NUMBERS, Belief, Entries
from maxentry.errors import ParameterError
from maxentry.model.goal import Goal, Line
from maxentry.model.link import PRIOR, find_basis
from maxentry.observations import Observations
from maxentry.posterior.chains import Chain, ModelSpec
from maxentry.posterior.draws import Draws
from maxentry.posterior.intervals import Answers, quantiles
from maxentry.wording import chance, count, describe_ranks, number, one_line, percent, show

MOST_NUMBERS = 400_000_000  # entries of draws that are formed for an answer: a second for each 10^8
FEWEST_DRAWS = 100
MOST_TOPS = 50_000_000  # best entries of all draws and lines that are kept
OTHERS = 2  # entries of a line that are shown beside the recommended ones, where they may be better
LEAST_SHARE = 0.05  # the probability from which they are shown
MOST_LOOKED_AHEAD = 20_000_000  # entries of all draws for which a batch is looked ahead
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
        said = {"goal": str(self.goal), **stake, "summary": list(self.summary)}
        return said | {"lines": lines, "pairs": self.neighbours()}

    def __str__(self) -> str:
        return "\n".join(self.summary)


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
    """The k best entries of each line in some draws, as keys i m2 + j, and the best by their mean."""

    draws: list[int]
    keys: Indices  # (S, L, k)
    values: Array  # (S, L, k), times the sign
    best: Indices  # (L, k) by the mean over the draws, the best first


def find_tops(belief: Belief, answers: Answers, goal: Goal) -> Tops:
    """Find the best entries of every line in every draw; of some draws where the matrix is large."""
    m1, m2 = belief.shape
    length = {None: m1 * m2, "row": m2, "column": m1}[goal.per]
    k, lines = min(goal.k, length), m1 * m2 // length
    draws = choose_draws(belief, lines * k)
    S = len(draws)
    keys, values = np.empty((S, lines, k), dtype=np.int64), np.full((S, lines, k), -np.inf)
    best, means = np.empty((1, lines, k), dtype=np.int64), np.full((1, lines, k), -np.inf)
    for rows, cols, which in line_blocks(belief.shape, goal.per):
        total = np.zeros(())
        block = _block_keys(rows, cols, m2, goal.per)
        for place, s in enumerate(draws):
            x = _by_line(goal.sign * answers.entries(belief.block(s, rows, cols), rows, cols, s), goal.per)
            total = total + x
            _keep_greatest(keys, values, place, which, block, x)
        _keep_greatest(best, means, 0, which, block, total / S)
        checkpoint()
    order = np.argsort(-means[0], axis=1, kind="stable")
    return Tops(draws, keys, values, np.take_along_axis(best[0], order, 1))


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
    tops = find_tops(belief, answers, goal)
    S, L, k = tops.keys.shape
    found, times = np.unique(tops.keys, return_counts=True)
    keys, place = _add_others(tops.best, found, times / S, goal.per, m2, others)
    entries = Entries.from_keys(keys, m2)
    x = answers.entries(belief.at(*entries), *entries)
    chosen = goal.sign * answers.within(x[tops.draws][:, place > 0]).mean(0).reshape(L, k).mean(1)
    top = goal.sign * answers.within(goal.sign * tops.values).mean((0, 2))
    regret = np.where(top - chosen > ROUNDING * abs(top), top - chosen, 0.0)
    line = _line_number(keys, goal.per, m2)
    low, high = (answers.within(end) for end in quantiles(x.copy(), level))
    table = names.at(entries) | {
        "place": place, "estimate": answers.within(x.mean(0)), "low": low, "high": high,
        "probability": _look_up(found, times / S, keys), "regret": regret[line], "observed": names.times(keys),
    }  # fmt: skip
    stake = float(regret.mean())
    return Answer(goal, table, stake, level, tuple(_say_best(goal, table, line, stake, names)))


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
        return average_lines(belief, answers.convert, goal)
    by_row = goal.per == "row"
    shares = goal.shares(belief.shape[1 if by_row else 0])
    return average_lines(belief, None, goal) + answers.deviation.average(belief, by_row, shares)


def chances_above(averages: Array) -> Array:
    """Return P(line i has a greater average than line j), (m, m)."""
    m = averages.shape[1]
    above = np.empty((m, m))
    for i in range(m):
        above[i] = (averages[:, i : i + 1] > averages).mean(0)
    return above


def answer_ranking(
    averages: Array, goal: Goal, level: float, names: Names, within: Callable[[Array], Array] = np.asarray
) -> Answer:
    """Return the rows (or columns) by their average, with intervals of average and rank, and P(best)."""
    assert goal.per is not None
    x = goal.sign * averages
    order = np.argsort(-x.mean(0), kind="stable")
    x = x[:, order]
    S, m = x.shape
    rank = np.empty((S, m))
    np.put_along_axis(rank, np.argsort(-x, axis=1, kind="stable"), np.arange(1.0, m + 1)[None], 1)
    above = chances_above(x)
    p_best = np.bincount(x.argmax(1), minlength=m) / S
    low, high = map(within, quantiles(averages[:, order].copy(), level))
    tail = (1 - level) / 2
    rank_low, rank_high = np.quantile(rank, [tail, 1 - tail], axis=0, method="inverted_cdf")
    above_next = np.append(np.diagonal(above, 1), np.nan)
    table: dict[str, Any] = {
        goal.per if goal.per == "row" else "col": names.of(goal.per, order),
        "place": np.arange(1, m + 1), "estimate": within(averages[:, order].mean(0)), "low": low, "high": high,
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
            p[rows, cols] += answers.within(x) > threshold
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
    low, high = map(answers.within, quantiles(x.copy(), level) if len(keys) else (np.empty(0), np.empty(0)))
    table = names.at(entries) | {
        "estimate": answers.within(x.mean(0)) if len(keys) else np.empty(0), "low": low, "high": high,
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
        change = f"{self.changes:.1f}" if self.changes >= 0.05 else "none"
        fall = f"should lower it by {percent(1 - self.after / self.now)} to {name_stake(goal, self.after)[1]}"
        return f"{count(n, 'more measurement')} {fall} and change {change} of {self.choices:,} {what}"


def expect_stake(
    belief: Belief, answers: Answers, goal: Goal, batch: Entries, rng: np.random.Generator
) -> Prospect | None:
    """Return what a batch should change; None where the matrix is too large.

    Some draws in turn are taken for the truth, and all draws are conditioned on what would then be measured, as if they
    were jointly Gaussian.
    """
    S, (m1, m2) = belief.n_draws, belief.shape
    if S * m1 * m2 > MOST_LOOKED_AHEAD:
        return None
    X = np.stack([belief.draw(s).ravel() for s in range(S)])
    at = batch.keys(m2)

    def judge(x: Array, answers: Answers) -> tuple[float, Flags]:
        whole = slice(None)
        y = answers.entries(x.reshape(S, m1, m2), whole, whole)
        stake, chosen = measure_stake(goal.sign * y, goal)
        if goal.kind != "rank" and answers.ends is not None:  # chosen by the order, judged within the ends
            stake, _ = measure_stake(goal.sign * answers.within(y), goal)
        return stake, chosen

    D = X - X.mean(0)
    working = belief.noise_at(*batch)
    gain = np.linalg.solve(D[:, at].T @ D[:, at] / S + np.diag(working), D[:, at].T @ D / S)
    now, chosen = judge(X, answers)
    after, changes = [], []
    for s in rng.choice(S, min(S, TRUTHS), replace=False):
        told = X[s, at] + np.sqrt(working) * rng.standard_normal(len(at))
        shown = X[:, at] + np.sqrt(working) * rng.standard_normal((S, len(at)))
        own = None if answers.deviation is None else answers.deviation.tell(batch, told)
        stake, then = judge(X + (told - shown) @ gain, answers._replace(deviation=own))
        after.append(stake)
        changes.append((chosen & ~then).sum() if goal.kind != "threshold" else (chosen != then).sum())
        checkpoint()
    choices = int(chosen.sum()) if goal.kind != "threshold" else chosen.size
    return Prospect(now, min(float(np.mean(after)), now), float(np.mean(changes)), choices)


def measure_stake(x: Array, goal: Goal) -> tuple[float, Flags]:
    """Return what is at stake and what is chosen, from whole matrices (S, m1, m2) times the sign.

    Chosen: the best entries of each line, which line is above which, or what exceeds the threshold.
    """
    S = len(x)
    if goal.kind == "threshold":
        p = (x > goal.threshold).mean(0)
        return float(np.minimum(p, 1 - p).mean()), p > 0.5
    if goal.kind == "rank":
        x = x if goal.per == "row" else x.transpose(0, 2, 1)
        averages = x @ goal.shares(x.shape[2])
        place = np.argsort(np.argsort(-averages.mean(0), kind="stable"))
        return _pairs_in_doubt(chances_above(averages)), place[:, None] < place
    lines = x.reshape(S, 1, -1) if goal.per is None else x if goal.per == "row" else x.transpose(0, 2, 1)
    k, mean = min(goal.k, lines.shape[2]), lines.mean(0)
    best = np.argpartition(mean, -k, axis=1)[:, -k:]
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
        return answer_ranking(average_entries(belief, answers, goal), goal, level, names, answers.within)
    if goal.kind == "threshold":
        return answer_threshold(belief, answers, goal, level, names)
    raise ParameterError(
        f"expected a goal with an answer of its own (best, rank or threshold), got {show(str(goal))}"
    )


# Which features matter


class Coefficients(NamedTuple):
    """What features say of a side in one draw, in user's units: rows g ~ N(centre + f W, Q^-1), f as a basis has it."""

    Q: Array  # (K, K), K the rank of the chain, and one more with effects
    centre: Array  # (K,)
    W: Array  # (p, K)


def draw_coefficients(
    draws: Draws, chains: Sequence[Chain], fit: ModelSpec, observations: Observations, side: int
) -> Iterator[Coefficients]:
    """Draw the coefficients of the features given each draw of all else, so that they need not be stored."""
    assert draws.rho is not None
    assert fit.units is not None
    scale, rng = fit.units.scale, np.random.default_rng(side)
    basis = find_basis(fit.features[side], observations.observed, side)
    factors, effect = (draws.left, draws.row) if side == 0 else (draws.right, draws.col)
    # of factors and effects; those of columns are as the sampler has them
    sizes = [1.0 if side else scale, scale]
    for c, chain in enumerate(chains):
        for s in range(draws.mu.shape[1]):
            G = np.asarray(factors[c, s, :, : chain.rank], dtype=float) / sizes[0]
            unit = np.full(chain.rank, sizes[0])
            if fit.effects:
                G = np.column_stack([G, np.asarray(effect[c, s], dtype=float) / sizes[1]])
                unit = np.append(unit, sizes[1])
            Q, centre, W = basis.draw_coefficients(G, float(draws.rho[c, s, side]), PRIOR, fit.effects, rng)
            yield Coefficients(Q / np.outer(unit, unit), centre * unit, W * unit)


def stack_coefficients(
    draws: Draws, chains: Sequence[Chain], fit: ModelSpec, observations: Observations, Q: Array
) -> tuple[Array, Array]:
    """Draw what features say of new rows, the centres (S, K) and W (S, p, K), and the precisions around it into Q.

    Directions beyond a chain's rank have no columns, and any prior.
    """
    S, K, p = len(Q), Q.shape[1], find_basis(fit.features[0], observations.observed, 0).p
    check_memory(8 * S * p * K, f"{S} draws of the coefficients of {p} features")
    centre, W = np.zeros((S, K)), np.zeros((S, p, K))
    for s, drawn in enumerate(draw_coefficients(draws, chains, fit, observations, 0)):
        at = np.arange(len(drawn.Q))
        if fit.effects:
            at[-1] = K - 1
        Q[s] = np.eye(K)
        Q[s][np.ix_(at, at)], centre[s, at], W[s][:, at] = drawn.Q, drawn.centre, drawn.W
    return centre, W


def describe_features(
    draws: Draws, chains: Sequence[Chain], fit: ModelSpec, observations: Observations, level: float
) -> dict[str, Any]:
    """Columns of `Posterior.features`: coefficients for one sd of a feature, in the units of the model."""
    parts: list[dict[str, Any]] = []
    sides = (("row", draws.right, observations.col_axis), ("column", draws.left, observations.row_axis))
    for side, (name, others, axis) in enumerate(sides):
        basis = find_basis(fit.features[side], observations.observed, side)
        if not basis.p:
            continue
        average, pattern = np.empty((draws.mu.size, basis.p)), np.zeros(basis.p)
        unit = basis.spread / basis.length
        drawn = draw_coefficients(draws, chains, fit, observations, side)
        for s, coefficients in enumerate(drawn):
            c, rank = s // draws.mu.shape[1], len(coefficients.Q) - fit.effects
            B = np.asarray(others[c, s % draws.mu.shape[1], :, :rank], dtype=float)
            W = coefficients.W * unit[:, None]
            average[s] = W[:, :rank] @ B.mean(axis=0) + (W[:, rank] if fit.effects else 0.0)
            pattern += ((W[:, :rank] @ (B - B.mean(axis=0)).T) ** 2).mean(axis=1) / draws.mu.size
        low, high = np.percentile(average, [50 * (1 - level), 100 - 50 * (1 - level)], axis=0)
        observed = [f"observed {label}" for label in axis.labels or range(axis.size)]
        names = observed if basis.features is None else basis.features.names
        parts.append(
            {"side": [name] * basis.p, "feature": list(names), "coefficient": average.mean(axis=0), "low": low,
             "high": high, "pattern": np.sqrt(pattern), "matters": (low > 0) | (high < 0)}
        )  # fmt: skip
    whole = {key: np.concatenate([np.asarray(part[key]) for part in parts]) for key in parts[0]}
    order = np.argsort(-(whole["coefficient"] ** 2 + whole["pattern"] ** 2), kind="stable")
    return {key: column[order] for key, column in whole.items()}
