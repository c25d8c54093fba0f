"""How well values are predicted that a fit has not seen: some are held out, the rest is fitted.

Held out are whole entries, chosen at random. The row and the column of each keep other measured entries, since nothing
can be said of a row without any.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from maxentry._types import Flags
from maxentry.errors import DataError
from maxentry.posterior.intervals import predict
from maxentry.wording import count, number

if TYPE_CHECKING:
    from maxentry.observations import Observations
    from maxentry.posterior.posterior import Posterior

SHARE, FEWEST, LARGEST_SHARE = (
    0.1,
    20,
    0.25,
)  # of the measured entries: a tenth, or 20 if that is a quarter at most
MOST = 10_000  # entries
MATTERS = 0.03  # of a share beside its level: less is no reason to doubt intervals


class HeldOut(NamedTuple):
    """What came out: root mean square errors (of yes/no and grades shares of wrong answers), and how many were inside.

    usual: the error of the mean of the rest, or of its most frequent answer. inside: the share of the values inside
    their intervals, None for yes/no and grades; low, high: where it lies in nine cases of ten if they are right.
    """

    n: int
    of: int
    error: float
    usual: float
    level: float
    inside: float | None = None
    low: float | None = None
    high: float | None = None

    def sentences(self) -> list[str]:
        """Return it in plain words."""
        few = " These are few: another choice would give other figures." if self.n < 2 * FEWEST else ""
        held = f"Held out {count(self.n, 'value')} of {self.of:,}, chosen at random"
        what = f"{held}, and predicted them from the rest.{few}"
        if self.inside is None or self.low is None or self.high is None:
            usual = f"with the most frequent answer for all, {self.usual:.0%}"
            return [what, f"{self.error:.0%} of the predictions are wrong; {usual}."]
        wrong = "too narrow" if self.inside < self.low else "wider than they need be"
        chance = self.low <= self.inside <= self.high or abs(self.inside - self.level) < MATTERS
        verdict = "" if chance else f" Intervals are {wrong}."
        inside = f"{self.inside:.0%} lie inside their {100 * self.level:g}% intervals"
        error, usual = (number(x, 3) for x in (self.error, self.usual))
        return [
            what,
            f"Typical error {error} (root mean square); with the mean for all, {usual}.",
            f"{inside}; {describe_shares(self.low, self.high)} would if intervals are right.{verdict}",
        ]


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
    y, likelihood, answers = truth.values, posterior.likelihood, posterior.answers
    if likelihood.discrete:
        p = likelihood.probabilities(posterior.belief.at(truth.rows, truth.cols), answers.law)
        best = p.argmax(0) + (likelihood.kind == "grades")  # grades are counted from 1, no is 0
        said, times = np.unique(rest.values, return_counts=True)
        wrong, usual = (float((y != x).mean()) for x in (best, said[times.argmax()]))
        return HeldOut(truth.n, observations.n, wrong, usual, level)
    i, j = (side.astype(np.int64) for side in (truth.rows, truth.cols))
    found = predict(posterior.belief, i, j, level, answers, truth.form, measured=True)
    error, usual = (float(np.sqrt(np.mean((y - x) ** 2))) for x in (found.mean, rest.values.mean()))
    inside = float(np.mean((y >= found.low) & (y <= found.high)))
    return HeldOut(
        truth.n, observations.n, error, usual, level, inside, *map(float, chance_range(truth.n, level))
    )
