"""How well values are predicted that a fit has not seen: some are held out, the rest is fitted.

Held out are whole entries, chosen at random. The row and the column of each keep other measured entries, since nothing
can be said of a row without any.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np

from maxentry._types import Flags
from maxentry.belief import Entries
from maxentry.errors import DataError, ParameterError, is_whole
from maxentry.model.likelihood import DataKind, kind_words
from maxentry.model.slips import warn_of_slips
from maxentry.observations import Observations, find_kind
from maxentry.posterior.intervals import check_level, predict
from maxentry.summary.places import place_values
from maxentry.tables.doubts import warn_of_labels, warn_of_lines
from maxentry.wording import count, number, show

if TYPE_CHECKING:
    from maxentry.posterior.posterior import Posterior

READING = (
    "shape",
    "row_labels",
    "col_labels",
    "row",
    "col",
    "value",
    "row_column",
    "se",
)  # how data are read
SHARE = 0.1  # of the measured entries
FEWEST, LARGEST_SHARE = 20, 0.25  # of small tables so many, but a quarter at most
MOST = 10_000  # entries
MATTERS = 0.03  # of a share beside its level: less is no reason to doubt intervals
NINE_TENTHS = 1.645  # sds to each side that hold nine tenths of a normal law
LEAST = 1e-6  # probability of an answer in the log loss: draws are too few to tell less


class HeldOut(NamedTuple):
    """What came out: root mean square errors (of yes/no and grades shares of wrong answers), and how many were inside.

    n: values held out, of so many; n_entries: whose, since values of one entry are right or wrong together.
    usual: the error of the mean of the rest, or of its most frequent answer. inside: the share of the values inside
    their intervals; of yes/no and grades that of the right answers, beside the probability that predictions gave them
    (said). low, high: where this share lies in nine cases of ten if intervals (probabilities) are right. log_loss: of
    the probabilities, usual_log_loss: of the shares of all answers in the rest.
    limits: how many values say only between which ends they lie, of which predictions agree with `kept`; these have no
    error. side: columns or rows with scales of their own, in whose units errors are. advice: what the fit needs.
    """

    n: int
    n_entries: int
    of: int
    error: float | None
    usual: float | None
    level: float
    inside: float
    low: float
    high: float
    said: float | None = None
    log_loss: float | None = None
    usual_log_loss: float | None = None
    limits: int = 0
    kept: int = 0
    side: str | None = None
    converged: bool = True
    advice: str = ""
    interrupted: bool = False

    def __str__(self) -> str:
        return "\n".join(self.sentences())

    def sentences(self) -> list[str]:
        """Return it in plain words."""
        middle = self._errors() if self.said is None else self._answers(self.said)
        return [self._held(), *middle, self._judge()]

    def _answers(self, said: float) -> list[str]:
        if self.n == 1:
            return [f"The prediction is {'wrong' if self.error else 'right'}."]
        loss, usual = (number(x, 3) for x in (self.log_loss or 0.0, self.usual_log_loss or 0.0))
        frequent = f"with the most frequent answer for all, {self.usual:.0%}"
        return [
            f"{self.error:.0%} of the predictions are wrong; {frequent}.",
            f"Log loss of the probabilities {loss} (0 is perfect); with the shares of all answers, {usual}.",
        ]

    def _errors(self) -> list[str]:
        found = []
        if self.error is not None and self.usual is not None:
            error, usual = (number(x, 3) for x in (self.error, self.usual))
            one = self.n - self.limits == 1
            typical = f"Error {error}" if one else f"Typical error {error} (root mean square)"
            units = "" if self.side is None else f" Errors are in units of the {self.side}' scales."
            found.append(f"{typical}; with the mean for all, {usual}.{units}")
        if self.limits:
            are = "of them is a limit" if self.limits == 1 else "of them are limits"
            found.append(f"{self.limits:,} {are}; predictions agree with {self.kept:,}.")
        return found

    def _held(self) -> str:
        these, them = ("This is one", "it") if self.n == 1 else ("These are few", "them")
        few = f" {these}: another choice would give other figures." if self.n_entries < 2 * FEWEST else ""
        held = f"Held out {count(self.n, 'value')} of {self.of:,}"
        if self.n > self.n_entries:
            held += f", all those of {count(self.n_entries, 'entry', 'entries')}"
        return f"{held}, chosen at random, and predicted {them} from the rest.{few}"

    def _judge(self) -> str:
        level, chances = f"{100 * self.level:g}%", describe_shares(self.low, self.high)
        if self.said is not None:
            if self.n == 1:
                return f"It was given a probability of {self.said:.0%}."
            verdict = self._verdict(self.said, "Probabilities are too sure", "Probabilities could be surer")
            expected = f"Predictions expect that {self.said:.0%} of them are right, and {self.inside:.0%} are"
            return f"{expected}; {chances} would be if probabilities are right.{verdict}"
        if self.n == 1:
            return f"It lies {'inside' if self.inside else 'outside'} its {level} interval."
        verdict = self._verdict(
            self.level, "Intervals are too narrow", "Intervals are wider than they need be"
        )
        right = f"{chances} would if intervals are right"
        return f"{self.inside:.0%} lie inside their {level} intervals; {right}.{verdict}"

    def _verdict(self, expected: float, less: str, more: str) -> str:
        if is_chance(self.inside, self.low, self.high):
            return ""
        if abs(self.inside - expected) < MATTERS:
            return " The difference is small."
        return f" {less if self.inside < expected else more}."


def is_chance(share: float, low: float, high: float) -> bool:
    """Whether a share lies within what chance allows, by the whole per cents that are shown."""
    least, shown, most = (int(f"{x:.0%}".removesuffix("%")) for x in (low, share, high))
    return least <= shown <= most


def chance_range(n: int, level: Any) -> tuple[Any, Any]:
    """Return the shares of n values between which those inside right intervals lie in nine cases of ten."""
    from scipy.stats import binom  # here, since loading it takes longer than all the rest

    low, high = (binom.ppf(q, n, level) / n for q in (0.05, 0.95))
    return low, high


def describe_shares(low: float, high: float) -> str:
    """Shares as `79% to 100%`, or as one where they read the same."""
    texts = dict.fromkeys((f"{low:.0%}", f"{high:.0%}"))
    return " to ".join(texts)


def choose_held_out(observations: Observations, rng: np.random.Generator) -> Flags:
    """Return which measurements are held out."""
    o, m2 = observations, observations.shape[1]
    keys, entry = np.unique(o.rows.astype(np.int64) * m2 + o.cols, return_inverse=True)
    wanted = min(max(int(SHARE * keys.size), min(FEWEST, int(LARGEST_SHARE * keys.size))), MOST)
    rows, cols = keys // m2, keys % m2
    left = [np.bincount(side, minlength=m) for side, m in zip((rows, cols), o.shape, strict=True)]
    held = np.zeros(keys.size, dtype=bool)
    n = 0
    for k in rng.permutation(keys.size):
        if n == wanted:
            break
        if left[0][rows[k]] > 1 and left[1][cols[k]] > 1:
            held[k], n = True, n + 1
            left[0][rows[k]] -= 1
            left[1][cols[k]] -= 1
    return np.asarray(held[entry])


def hold_out(
    data: Any,
    rank: int | Literal["auto"] = "auto",
    *,
    seed: int | None = 0,
    level: float = 0.9,
    kind: DataKind | None = None,
    levels: Sequence[Any] | None = None,
    **settings: Any,
) -> HeldOut:
    """Hold out a tenth of the values (of small tables up to a quarter), predict them from the rest, and compare.

    It prints as sentences: how far off predictions are, and whether intervals are right. The same as
    `maxentry complete --check`.

    seed: of what is held out, and of the fit. level: of the intervals. All else as in `maxentry.complete`.
    """
    from maxentry.posterior.complete import complete  # imported late: the sampler is slow to import

    check_level(level)
    if seed is not None and not is_whole(seed, 0):
        raise ParameterError(f"seed must be a whole number of at least 0 or None, got {show(seed)}")
    kind, levels = find_kind(data, kind, levels, settings.get("value"), settings.get("row_column"))
    reading = {name: settings.pop(name) for name in READING if name in settings}
    observations = Observations.of(data, **reading, words=kind_words(kind, levels))
    if observations is not data:  # of the rest, which it gets as observations, complete says none of this
        warn_of_labels(observations)
        warn_of_slips(
            observations, kind, settings.get("noise", "gaussian"), settings.get("transform", "none")
        )
        if kind == "numbers":
            warn_of_lines(data, observations, reading.get("value"))
    fit = partial(complete, rank=rank, seed=seed, kind=kind, levels=levels, **settings)
    return check_held_out(observations, fit, seed, level)


def check_held_out(
    observations: Observations, fit: Callable[[Observations], Posterior], seed: int | None, level: float = 0.9
) -> HeldOut:
    """Hold out a part, fit the rest, and compare."""
    held = choose_held_out(observations, np.random.default_rng(seed))
    if not held.any():
        raise DataError(
            "expected values that can be held out, got too few: their rows and columns need other ones."
        )
    rest, truth = observations.subset(~held), observations.subset(held)
    posterior = fit(rest)
    n_entries = len(np.unique(truth.rows.astype(np.int64) * truth.shape[1] + truth.cols))
    compare = _compare_answers if posterior.likelihood.discrete else _compare_numbers
    figures = compare(posterior, rest, truth, level)
    diagnostics, scales = posterior.diagnostics, posterior.value_map.scales
    return HeldOut(
        truth.n, n_entries, observations.n, level=level, **figures,
        side=None if scales is None or not scales.own.size else scales.side,
        converged=bool(diagnostics.converged), advice=diagnostics.advice, interrupted=posterior.interrupted,
    )  # fmt: skip


def _compare_answers(
    posterior: Posterior, rest: Observations, truth: Observations, level: float
) -> dict[str, Any]:
    """Judge the most likely answers, and the probabilities, beside the most frequent answer and all shares of the rest.

    Answers of one entry are right or wrong together, which is the most that chance can do.
    """
    likelihood = posterior.likelihood
    p = posterior.answers.probabilities(posterior.belief, truth.rows, truth.cols)
    scores = likelihood.scores if likelihood.kind == "grades" else (0.0, 1.0)  # in the order of p
    codes, n = np.searchsorted(scores, truth.values), truth.n
    times = np.bincount(np.searchsorted(scores, rest.values), minlength=len(p))
    shares = (times + 0.5) / (times + 0.5).sum()  # an answer may be missing in the rest
    right, sure = p.argmax(0) == codes, p.max(0)
    _, entry = np.unique(truth.rows.astype(np.int64) * truth.shape[1] + truth.cols, return_inverse=True)
    spread = float(np.sqrt(np.sum(np.bincount(entry, np.sqrt(sure * (1 - sure))) ** 2))) / n
    said = float(sure.mean())
    given = np.maximum(p[codes, np.arange(n)], LEAST)
    return {
        "error": float(1 - right.mean()), "usual": float((codes != times.argmax()).mean()),
        "inside": float(right.mean()), "said": said,
        "low": max(0.0, said - NINE_TENTHS * spread), "high": min(1.0, said + NINE_TENTHS * spread),
        "log_loss": float(-np.log(given).mean()), "usual_log_loss": float(-np.log(shares[codes]).mean()),
    }  # fmt: skip


def _compare_numbers(
    posterior: Posterior, rest: Observations, truth: Observations, level: float
) -> dict[str, Any]:
    """Judge what is predicted beside the mean of the rest, limits left out, and the intervals by all.

    Columns or rows on scales of their own count in units of these, so that none rules the others.
    """
    units = posterior.value_map
    i, j = (side.astype(np.int64) for side in (truth.rows, truth.cols))
    found = predict(posterior.belief, i, j, 0.9, posterior.answers, truth.form, measured=True)
    ends = None if truth.low is None or truth.high is None else (truth.low, truth.high)
    place = place_values(posterior, Entries.from_lists(truth.rows, truth.cols), truth.values, ends, truth.se)
    low, high = map(float, chance_range(len(np.unique(i * truth.shape[1] + j)), level))
    plain = np.ones(truth.n, dtype=bool) if ends is None else ends[0] == ends[1]
    kept = 0
    if ends is not None:  # readings are cut off at the ends of a scale, entries are not
        entry = predict(posterior.belief, i, j, 0.9, posterior.answers, truth.form).mean
        kept = ((ends[0] <= entry) & (entry <= ends[1]))[~plain].sum()
    error = usual = None
    known = np.ones(rest.n, dtype=bool) if rest.low is None else rest.low == rest.high
    if plain.any() and known.any():
        rest = rest.subset(known)
        y, predicted = (units.common(x, i, j)[plain] for x in (truth.values, found.mean))
        mean = units.common(rest.values, rest.rows, rest.cols).mean()
        error, usual = (float(np.sqrt(np.mean((y - x) ** 2))) for x in (predicted, mean))
    return {
        "error": error, "usual": usual, "inside": float(np.mean(np.abs(2 * place - 1) <= level)),
        "low": low, "high": high, "limits": int((~plain).sum()), "kept": int(kept),
    }  # fmt: skip
