"""How well values are predicted that a fit has not seen: some are held out, the rest is fitted.

Held out are whole entries, chosen at random. The row and the column of each keep other measured entries, since nothing
can be said of a row without any.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from maxentry._types import Flags
from maxentry.belief import Entries
from maxentry.errors import DataError
from maxentry.posterior.intervals import predict
from maxentry.summary.places import place_values
from maxentry.wording import count, number

if TYPE_CHECKING:
    from maxentry.observations import Observations
    from maxentry.posterior.posterior import Posterior

SHARE = 0.1  # of the measured entries
FEWEST, LARGEST_SHARE = 20, 0.25  # of small tables so many, but a quarter at most
MOST = 10_000  # entries
MATTERS = 0.03  # of a share beside its level: less is no reason to doubt intervals


class HeldOut(NamedTuple):
    """What came out: root mean square errors (of yes/no and grades shares of wrong answers), and how many were inside.

    n: values held out, of so many; n_entries: whose, since values of one entry are right or wrong together.
    usual: the error of the mean of the rest, or of its most frequent answer. inside: the share of the values inside
    their intervals, None for yes/no and grades; low, high: where it lies in nine cases of ten if they are right.
    side: columns or rows with scales of their own, in whose units errors are. advice: what the fit needs, if anything.
    """

    n: int
    n_entries: int
    of: int
    error: float
    usual: float
    level: float
    inside: float | None = None
    low: float | None = None
    high: float | None = None
    side: str | None = None
    converged: bool = True
    advice: str = ""
    interrupted: bool = False

    def sentences(self) -> list[str]:
        """Return it in plain words."""
        if self.inside is None or self.low is None or self.high is None:
            if self.n == 1:
                return [self._held(), f"The prediction is {'wrong' if self.error else 'right'}."]
            usual = f"with the most frequent answer for all, {self.usual:.0%}"
            return [self._held(), f"{self.error:.0%} of the predictions are wrong; {usual}."]
        error, usual = (number(x, 3) for x in (self.error, self.usual))
        typical = f"Error {error}" if self.n == 1 else f"Typical error {error} (root mean square)"
        units = "" if self.side is None else f" Errors are in units of the {self.side}' scales."
        return [
            self._held(),
            f"{typical}; with the mean for all, {usual}.{units}",
            self._judge(self.inside, self.low, self.high),
        ]

    def _held(self) -> str:
        these, them = ("This is one", "it") if self.n == 1 else ("These are few", "them")
        few = f" {these}: another choice would give other figures." if self.n_entries < 2 * FEWEST else ""
        held = f"Held out {count(self.n, 'value')} of {self.of:,}"
        if self.n > self.n_entries:
            held += f", all those of {count(self.n_entries, 'entry', 'entries')}"
        return f"{held}, chosen at random, and predicted {them} from the rest.{few}"

    def _judge(self, inside: float, low: float, high: float) -> str:
        level = f"{100 * self.level:g}%"
        if self.n == 1:
            return f"It lies {'inside' if inside else 'outside'} its {level} interval."
        wrong = "too narrow" if inside < low else "wider than they need be"
        chance = low <= inside <= high or abs(inside - self.level) < MATTERS
        verdict = "" if chance else f" Intervals are {wrong}."
        right = f"{describe_shares(low, high)} would if intervals are right"
        return f"{inside:.0%} lie inside their {level} intervals; {right}.{verdict}"


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
    plain = np.ones(keys.size, dtype=bool)
    if o.low is not None and o.high is not None:  # what a limit says cannot be compared with a prediction
        plain[entry[o.low < o.high]] = False
    wanted = min(max(int(SHARE * keys.size), min(FEWEST, int(LARGEST_SHARE * keys.size))), MOST)
    rows, cols = keys // m2, keys % m2
    left = [np.bincount(side, minlength=m) for side, m in zip((rows, cols), o.shape, strict=True)]
    held = np.zeros(keys.size, dtype=bool)
    n = 0
    for k in rng.permutation(np.flatnonzero(plain)):
        if n == wanted:
            break
        if left[0][rows[k]] > 1 and left[1][cols[k]] > 1:
            held[k], n = True, n + 1
            left[0][rows[k]] -= 1
            left[1][cols[k]] -= 1
    return np.asarray(held[entry])


def check_held_out(
    observations: Observations, fit: Callable[[Observations], Posterior], seed: int, level: float = 0.9
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
    error, usual = compare(posterior, rest, truth)
    found = HeldOut(truth.n, n_entries, observations.n, error, usual, level)
    diagnostics, scales = posterior.diagnostics, posterior.value_map.scales
    found = found._replace(
        side=None if scales is None or not scales.own.size else scales.side,
        converged=bool(diagnostics.converged),
        advice=diagnostics.advice,
        interrupted=posterior.interrupted,
    )
    if posterior.likelihood.discrete:
        return found
    entries = Entries.from_lists(truth.rows, truth.cols)
    place = place_values(posterior, entries, truth.values, se=truth.se)
    inside = float(np.mean(np.abs(2 * place - 1) <= level))
    low, high = map(float, chance_range(n_entries, level))
    return found._replace(inside=inside, low=low, high=high)


def _compare_answers(posterior: Posterior, rest: Observations, truth: Observations) -> tuple[float, float]:
    """Return the shares of answers that are not the most likely one, and not the most frequent one of the rest."""
    likelihood = posterior.likelihood
    p = likelihood.probabilities(posterior.belief.at(truth.rows, truth.cols), posterior.answers.law)
    best = p.argmax(0) + (likelihood.kind == "grades")  # grades are counted from 1, no is 0
    said, times = np.unique(rest.values, return_counts=True)
    wrong, usual = (float((truth.values != x).mean()) for x in (best, said[times.argmax()]))
    return wrong, usual


def _compare_numbers(posterior: Posterior, rest: Observations, truth: Observations) -> tuple[float, float]:
    """Return the errors of what is predicted, and of the mean of the rest, limits left out.

    Columns or rows on scales of their own count in units of these, so that none rules the others.
    """
    units = posterior.value_map
    i, j = (side.astype(np.int64) for side in (truth.rows, truth.cols))
    found = predict(posterior.belief, i, j, 0.9, posterior.answers, truth.form, measured=True)
    if rest.low is not None and rest.high is not None and (plain := rest.low == rest.high).any():
        rest = rest.subset(plain)
    y, predicted = (units.common(x, i, j) for x in (truth.values, found.mean))
    mean = units.common(rest.values, rest.rows, rest.cols).mean()
    error, usual = (float(np.sqrt(np.mean((y - x) ** 2))) for x in (predicted, mean))
    return error, usual
