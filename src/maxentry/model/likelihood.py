"""The likelihood: what a measurement says of its entry. Numbers with or without limits, yes or no, grades.

Only a latent value z = x + noise is Gaussian (or Student); what is observed is a statement about it, low < z <= high:

| kind | told | statement |
|---|---|---|
| numbers | y | z = y; at the ends of the scale (`limits`) z <= y or z >= y; `<0.5` and the like say their ends |
| yes/no | 1 or 0 | z > 0 or z <= 0, where the noise has variance 1: the scale of z cannot be told |
| grades | k of 1..K | c_(k-1) < z <= c_k; the first and last cuts are 1.5 and K - 0.5, the others are drawn |

`Likelihood` alone knows how a told value becomes a statement, what users see of draws of x, what an instrument would
show, and how probable a statement is. The sampler draws z of what is no plain value (`kernels.latent`).

The noise is gaussian, N(0, eta2), or student, sqrt(eta2) times Student's t with nu degrees of freedom. Then each
measurement has a weight w, and noise N(0, eta2 / w) with w ~ Gamma(nu/2, rate nu/2); the sampler draws weights and nu
(`update_weights` in `kernels.gibbs`). Noise by columns or rows is the same with one weight for all measurements of one:
each has a noise of its own, and nu says how much they differ; they are equal as nu goes to infinity. nu is at least 10
then: with fewer, lines that vary little get next to no noise, and everything is bent to fit them (benchmarks/NOTES.md).

The command line reads the names for `--help`: NumPy is imported when it is used.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, get_args
from warnings import warn

from maxentry.errors import DataError, ParameterError, is_choice, is_positive
from maxentry.wording import show

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from maxentry.belief import Information
    from maxentry.cells import Words
    from maxentry.observations import Observations
    from maxentry.transform import Transform

    Floats = NDArray[np.float64]

Noise = Literal["gaussian", "student", "columns", "rows"]
NOISE_NAMES: tuple[Noise, ...] = get_args(Noise)
NoiseChoice = Literal["auto", "gaussian", "student", "columns", "rows"]
DataKind = Literal["numbers", "yes/no", "grades"]
KIND_NAMES: tuple[DataKind, ...] = get_args(DataKind)
# What the model says of an entry, in words
ANSWER_WORDS: dict[str, str] = {
    "numbers": "posterior mean",
    "yes/no": "probability of yes",
    "grades": "expected grade",
}
ERROR_WORDS: dict[str, str] = {  # what the expected error is of
    "measurement": "root mean square against measurements, your units",
    "entry": "root mean square, of the entries themselves, your units",
    "probability": "root mean square, of the probability of yes",
    "grade": "root mean square, of the expected grade",
}
# Degrees of freedom that may be drawn; 100 is Gaussian to the eye.
NU_VALUES = (1.0, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0, 6.0, 8.0, 10.0, 15.0, 20.0, 30.0, 50.0, 100.0)
# The same where columns or rows have a noise of their own; at the last the noises are equal within 1.5%.
LINE_NU_VALUES = (10.0, 30.0, 100.0, 300.0, 1000.0, 10000.0)
COPIES = 4  # noisy copies of each draw in a predictive interval
FEWEST_GRADES, MOST_GRADES = 3, 100
LEAST = 1e-300  # of a probability whose logarithm is taken
KNOTS = 2305  # of the tables by which criteria know the noise


def check_noise(name: str) -> Noise:
    """Return the name of a noise law; refuse any other."""
    if not isinstance(name, str) or name not in NOISE_NAMES:
        names = ", ".join(map(repr, ("auto", *NOISE_NAMES[:-1])))
        raise ParameterError(f"noise must be {names} or {NOISE_NAMES[-1]!r}, got {show(name)}")
    return name


def kind_words(kind: Any, levels: Any) -> Words | None:
    """Return the words that stand for numbers in data of this kind; None where there are only numbers."""
    from maxentry.cells import YES_NO, Words

    if is_choice(kind, ("yes/no",)):
        return YES_NO
    if not is_choice(kind, ("grades",)) or levels is None:
        return None
    known = _check_levels(read_levels(levels))
    return Words.grades(known) if isinstance(known[0], str) else None


def read_levels(levels: Any) -> tuple[Any, ...]:
    """Return the grades of a list, an array or a series as a tuple; refuse text and what has no items."""
    from maxentry.frames import is_sequence, to_list

    given = tuple(to_list(levels)) if is_sequence(levels) else ()
    if not given:
        raise ParameterError(
            f"levels must be a list of the grades in their order, like ['A', 'B', 'C'], got {show(levels)}"
        )
    return given


class NoiseLaw(NamedTuple):
    """The noise in each draw: N(0, var), or sqrt(var) times Student's t with nu degrees of freedom.

    spread: where columns or rows have a noise of their own, its sd over sqrt(var).
    """

    var: Floats  # (S,)
    nu: Floats | None = None  # (S,)
    cuts: Floats | None = None  # (S, K - 1) between the grades
    spread: Floats | None = None  # (S, m2), or (S, m1) by row
    by_row: bool = False

    def spread_at(self, rows: Any, cols: Any) -> Floats:
        """Return the spread of entries (rows, cols) in each draw, (S, n); of a block where these are slices."""
        import numpy as np

        block = isinstance(rows, slice)
        if self.spread is None:
            return np.ones((1,) * (2 + block))
        spread = self.spread[..., rows if self.by_row else cols]
        return spread if not block else spread[..., None] if self.by_row else spread[..., None, :]

    def at(self, rows: Any, cols: Any) -> NoiseLaw:
        """Return the law of the noise of these entries; var is (S, n) where columns or rows have their own."""
        if self.spread is None:
            return self
        spread = self.spread_at(rows, cols)
        return self._replace(var=beside(self.var, spread) * spread**2, spread=None)

    def stratified(self) -> Floats:
        """Return `COPIES` noise values for each draw, (COPIES, S), evenly spread over the law.

        They are the quantiles (k + 1/2) / n, each once, in a fixed random order. Independent draws would be far
        noisier: the width of a predictive interval would vary even for entries that are known well.
        """
        import numpy as np

        return self.standard() * np.sqrt(self.var)

    def standard(self) -> Floats:
        """Return `COPIES` values of the law for each draw, as `stratified`, in units of sqrt(var)."""
        import numpy as np
        from scipy.special import ndtri, stdtrit

        S = self.var.size
        n = COPIES * S
        p = (np.random.default_rng(0).permutation(n).reshape(COPIES, S) + 0.5) / n
        z: Floats = ndtri(p) if self.nu is None else stdtrit(self.nu, p)
        return z

    def select(self, draws: Any) -> NoiseLaw:
        """Return the law in some draws."""
        parts = [None if part is None else part[draws] for part in self[:4]]
        return NoiseLaw(*parts)._replace(by_row=self.by_row)  # type: ignore[arg-type]

    def cdf(self, distance: Floats) -> Floats:
        """Return P(noise <= distance) for distances (S, ...)."""
        import numpy as np
        from scipy.special import ndtr, stdtr

        t = distance / beside(np.sqrt(self.var), distance)
        below: Floats = ndtr(t) if self.nu is None else stdtr(beside(self.nu, distance), t)
        return below

    def density(self, distance: Floats) -> Floats:
        """Return the density of the noise at distances (S, ...)."""
        import numpy as np
        from scipy.special import gammaln

        sd = beside(np.sqrt(self.var), distance)
        t = distance / sd
        if self.nu is None:
            return np.asarray(np.exp(-0.5 * t * t) / (np.sqrt(2 * np.pi) * sd))
        nu = beside(self.nu, distance)
        log_c = gammaln(0.5 * (nu + 1)) - gammaln(0.5 * nu) - 0.5 * np.log(np.pi * nu)
        return np.asarray(np.exp(log_c - 0.5 * (nu + 1) * np.log1p(t * t / nu)) / sd)


def beside(numbers: Any, x: Any) -> Any:
    """Return one number a draw, (S,), in a shape that goes with arrays (S, ...); one a draw and entry as they are."""
    alike = numbers.ndim in (0, x.ndim)
    return numbers if alike else numbers.reshape(-1, *(1,) * (x.ndim - 1))


@dataclass(frozen=True)
class Likelihood:
    """What a measurement says of its entry.

    kind: "numbers", "yes/no" (told as 1 and 0) or "grades"
    noise: "gaussian", "student" (of numbers only), "columns" or "rows" (not of yes and no, which have no scale)
    levels: the grades in their order; numbers are told as they are, names as 1, 2, ..., K
    limits: the ends of the scale (numbers only): a value at or beyond an end says no more than that
    noise_sd: the known sd of a measurement around its entry, on the scale of the transform (Gaussian noise only)
    replicates: whether repeated measurements tell the noise from what entries deviate from the pattern
    """

    kind: DataKind = "numbers"
    noise: Noise = "gaussian"
    levels: tuple[Any, ...] = ()
    limits: tuple[float, float] | None = None
    noise_sd: float | None = None
    replicates: bool = field(default=False, compare=False)  # not before data have some
    # Whether measurements have weights, and each draw its degrees of freedom
    weighted: bool = field(init=False, repr=False, compare=False)
    # Whether entries deviate from the pattern by themselves, told apart from the noise of a measurement
    split: bool = field(init=False, repr=False, compare=False)
    # Whether columns or rows have a noise of their own
    by_line: bool = field(init=False, repr=False, compare=False)
    # Whether measurements are yes or no, or grades: answers are no entries, and readings have no values between these
    discrete: bool = field(init=False, repr=False, compare=False)
    # Cuts between grades that are drawn; the first and the last are fixed
    n_cuts: int = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if not is_choice(self.kind, KIND_NAMES):
            raise ParameterError(
                f"kind must be {', '.join(map(repr, KIND_NAMES[:-1]))} or {KIND_NAMES[-1]!r}, got {show(self.kind)}"
            )
        check_noise(self.noise)
        by_line = self.noise in ("columns", "rows")
        wrong = f"noise={self.noise!r}" if self.noise != "gaussian" else f"limits={show(self.limits)}"
        if self.kind == "grades" and by_line:
            wrong = f"limits={show(self.limits)}"
        if self.kind != "numbers" and wrong != "limits=None":
            kinds = "'numbers' or 'grades'" if wrong.startswith("noise") and by_line else "'numbers'"
            raise ParameterError(
                f"{wrong.partition('=')[0]} is for kind={kinds}, got {wrong} with kind={self.kind!r}"
            )
        if (self.kind == "grades") != bool(self.levels):
            raise ParameterError(
                f"levels are for kind='grades', got {show(self.levels)} with kind={self.kind!r}"
            )
        object.__setattr__(self, "levels", _check_levels(self.levels))
        object.__setattr__(self, "limits", _check_limits(self.limits))
        if by_line and self.limits is not None:
            raise ParameterError(
                f"limits are for noise='gaussian' or 'student', got {show(self.limits)} with noise={self.noise!r}"
            )
        if self.noise_sd is not None and not is_positive(self.noise_sd):
            raise ParameterError(
                f"noise_sd must be a finite number above 0, or None, got {show(self.noise_sd)}"
            )
        if self.noise_sd is not None and (self.kind != "numbers" or self.noise != "gaussian"):
            got = f"kind={self.kind!r}" if self.kind != "numbers" else f"noise={self.noise!r}"
            raise ParameterError(
                f"noise_sd is for kind='numbers' with noise='gaussian', got {got}; leave it out"
            )
        object.__setattr__(self, "weighted", self.noise != "gaussian")
        object.__setattr__(self, "split", self.noise_sd is not None or self.replicates)
        object.__setattr__(self, "by_line", by_line)
        object.__setattr__(self, "discrete", self.kind != "numbers")
        object.__setattr__(self, "n_cuts", max(0, len(self.levels) - 3))

    @classmethod
    def of(
        cls,
        kind: Any,
        noise: Any,
        levels: Sequence[Any] | None,
        limits: Any,
        noise_sd: Any,
        observations: Observations,
    ) -> Likelihood:
        """Build the likelihood of these observations; grades without levels are 1 to the highest one told."""
        if is_choice(kind, ["grades"]) and levels is None:
            levels = range(1, max(FEWEST_GRADES, int(min(observations.values.max(), MOST_GRADES))) + 1)
        likelihood = cls(kind, noise, () if levels is None else read_levels(levels), limits, noise_sd)
        if likelihood.kind == "numbers" and likelihood.noise == "gaussian" and noise_sd is None:
            said = likelihood.statements(observations)
            likelihood = replace(likelihood, replicates=said.repeated)
        return likelihood

    def count_weights(self, shape: tuple[int, int]) -> int:
        """Return how many weights of lines are kept in draws: where values are latent, nobody can draw them later."""
        return shape[int(self.noise == "columns")] if self.by_line and self.discrete else 0

    def same_kind(self, other: Likelihood) -> bool:
        """Whether measurements say the same of their entries, whatever the law of the noise."""
        mine, theirs = ((law.kind, law.levels, law.limits, law.noise_sd) for law in (self, other))
        return mine == theirs

    @property
    def known_noise(self) -> bool:
        """Whether the noise is 1 by convention: yes and no leave the scale of the latent values open."""
        return self.kind == "yes/no"

    @property
    def is_special(self) -> bool:
        """Whether values are more than plain numbers: yes and no, grades, or numbers of a scale with ends."""
        return self.discrete or self.limits is not None

    @property
    def words(self) -> tuple[tuple[float, str], ...]:
        """The numbers that stand for yes and no, or for grades, in rising order, each with its word."""
        if self.kind == "yes/no":
            return (0.0, "no"), (1.0, "yes")
        return tuple(zip(self.scores, map(str, self.levels), strict=True))

    @property
    def first_cuts(self) -> tuple[float, ...]:
        """All cuts as chains begin, halfway between the grades."""
        return tuple(k + 0.5 for k in range(1, len(self.levels)))

    @property
    def names(self) -> tuple[Any, ...]:
        """What a measurement may be, in order: no and yes, or the grades; nothing for numbers."""
        return ("no", "yes") if self.kind == "yes/no" else self.levels

    @cached_property
    def scores(self) -> tuple[float, ...]:
        """The numbers that stand for the grades in expected ones: the levels themselves, or 1..K for names."""
        numbers = all(isinstance(level, int | float) for level in self.levels)
        return tuple(float(level if numbers else k) for k, level in enumerate(self.levels, 1))

    def check_scale(self, transform: Transform, scale: object) -> None:
        """Refuse scales that yes and no, or grades, do not have, and limits that a transform puts at infinity."""
        if self.discrete and (transform.kind != "none" or is_choice(scale, ("columns", "rows"))):
            got = f"transform='{transform}'" if transform.kind != "none" else f"scale={scale!r}"
            raise ParameterError(
                f"transform and scale are for kind='numbers', got {got} with kind={self.kind!r}"
            )
        if self.noise_sd is not None and is_choice(scale, ("columns", "rows")):
            raise ParameterError(
                f"noise_sd is one for all, so scale must be 'none' or 'auto', got {scale!r}; give standard errors (se)"
            )
        ends = [end for end in self.limits or () if abs(end) < float("inf")]
        if not transform.inside(ends).all():
            raise ParameterError(
                f"limits must lie within the {transform} scale, got limits={self.limits}; leave the transform out"
            )

    # What was told

    def check_value(self, value: float, where: str) -> None:
        """Refuse a single value that is not of this kind."""
        from maxentry.transform import is_beyond

        if self.limits is not None and is_beyond(value, self.limits):
            low, high = self.limits
            advice = f"write {high if value > high else low:g} if it is at the end of the scale or beyond"
            raise DataError(f"expected a value from {low:g} to {high:g}, got {value:g} at {where}: {advice}.")
        good = (0.0, 1.0) if self.kind == "yes/no" else self.scores
        if self.discrete and value not in good:
            wanted = (
                "yes or no (1 or 0)" if self.kind == "yes/no" else f"one of the grades {show(self.levels)}"
            )
            raise DataError(f"expected {wanted}, got {value:g} at {where}.")

    def warn_of_limits(self, observations: Observations) -> None:
        """Warn where no number is known from both sides: how far entries lie beyond their limits is not in the data."""
        import numpy as np

        if self.discrete:
            return
        said = self.statements(observations)
        if said.low is not None and said.high is not None and np.isinf(said.high - said.low).all():
            warn(
                f"all {said.n} measurements are limits, and none is a value or a range: how far the entries lie beyond "
                "them is not in the data, and answers rest on the prior.",
                stacklevel=3,
            )

    def statements(self, observations: Observations) -> Observations:
        """Return what the measurements say of their latent values; before a transform, in the user's units."""
        if self.kind == "yes/no":
            return self._read_answers(observations)
        if self.kind == "grades":
            return self._read_grades(observations)
        if self.by_line and observations.low is not None:
            raise DataError(f"expected plain values with noise={self.noise!r}, got limits of some")
        return observations if self.limits is None else self._read_limits(observations)

    def _read_answers(self, o: Observations) -> Observations:
        import numpy as np

        _refuse(
            o, o.low is not None or o.se is not None, "yes or no (1 or 0) in every measurement, got limits"
        )
        _check_told(o, (o.values == 0) | (o.values == 1), "yes or no (1 or 0)")
        yes = o.values == 1
        low, high = np.where(yes, 0.0, -np.inf), np.where(yes, np.inf, 0.0)
        return replace(o, values=2 * o.values - 1, low=low, high=high)

    def _read_grades(self, o: Observations) -> Observations:
        import numpy as np

        _refuse(o, o.low is not None or o.se is not None, "a grade in every measurement, got limits")
        scores, K = np.array(self.scores), len(self.levels)
        k = np.minimum(np.searchsorted(scores, o.values), K - 1)
        names = ", ".join(map(str, self.levels[:12])) + (", ..." if K > 12 else "")
        told = (
            f"one of the grades {names}" if scores[0] != 1 or self.levels[0] == 1 else f"a grade of 1 to {K}"
        )
        counted = self.levels == tuple(range(1, K + 1))
        hint = " Give levels if the grades are others (levels=[0, 1, 2], --levels 0,1,2)." if counted else ""
        _check_told(o, scores[k] == o.values, told, hint)
        low, high = np.where(k == 0, -np.inf, k + 0.5), np.where(k == K - 1, np.inf, k + 1.5)
        return replace(o, values=k + 1.0, low=low, high=high)

    def _read_limits(self, o: Observations) -> Observations:
        import numpy as np

        assert self.limits is not None
        least, most = self.limits
        low, high = (o.values.copy() if end is None else end.copy() for end in (o.low, o.high))
        plain, values = low == high, np.clip(o.values, least, most)
        below, above = plain & (o.values <= least), plain & (o.values >= most)
        low[below], high[below] = -np.inf, least
        low[above], high[above] = most, np.inf
        return replace(o, values=np.where(plain, values, o.values), low=low, high=high)

    # What users see of draws, (S, ...) or of one draw: x on the scale of the model, z a noisy one

    def answers(self, x: Floats, law: NoiseLaw) -> Floats:
        """Return the entry, the probability of yes, or the expected grade; it increases with x."""
        import numpy as np

        if self.kind == "numbers":
            return x
        if self.kind == "yes/no":
            return law.cdf(x)
        steps, expected = np.diff(self.scores), np.full(x.shape, float(self.scores[0]))
        assert law.cuts is not None
        for k, step in enumerate(steps):
            expected += step * law.cdf(x - beside(law.cuts[..., k], x))
        return expected

    def reading_variance(self, x: Floats, law: NoiseLaw) -> Floats:
        """Return the variance of a yes or no, or of a grade, about its answer: the mean over draws x (S, ...)."""
        import numpy as np

        if self.kind == "yes/no":
            p = law.cdf(x)
            return np.asarray((p * (1 - p)).mean(0))
        squares = np.full(x.shape, float(self.scores[0]) ** 2)
        assert law.cuts is not None
        for k, step in enumerate(np.diff(np.square(self.scores))):
            squares += step * law.cdf(x - beside(law.cuts[..., k], x))
        return np.asarray(np.maximum(squares - self.answers(x, law) ** 2, 0.0).mean(0))

    def probabilities(self, x: Floats, law: NoiseLaw) -> Floats:
        """Return the probability of each of `names`, (K, ...), averaged over the draws x (S, ...)."""
        import numpy as np

        if self.kind == "yes/no":
            yes = law.cdf(x).mean(0)
            return np.stack([1 - yes, yes])
        assert law.cuts is not None
        above = [law.cdf(x - beside(law.cuts[..., k], x)).mean(0) for k in range(len(self.levels) - 1)]
        edges = np.stack([np.ones(x.shape[1:]), *above, np.zeros(x.shape[1:])])
        return np.asarray(edges[:-1] - edges[1:])

    def readings(self, z: Floats, law: NoiseLaw) -> Floats:
        """Return what an instrument would show of noisy values in the user's units: clipped, a yes or no, a grade."""
        import numpy as np

        if self.kind == "numbers":
            return z if self.limits is None else np.clip(z, *self.limits)
        if self.kind == "yes/no":
            return np.asarray(z > 0, dtype=np.float64)
        assert law.cuts is not None
        grade = np.zeros(z.shape, dtype=np.intp)
        for k in range(len(self.levels) - 1):
            grade += z > beside(law.cuts[..., k], z)
        return np.asarray(self.scores)[grade]

    # How much a measurement tells

    def information(
        self, law: NoiseLaw, ends: tuple[Floats, Floats] | None, by_row: bool = False
    ) -> Information | None:
        """Return what is seen of a measurement; None where that is a value, with the same noise for all.

        ends: of the scale, as the model has them, (1,), or one a column or row.
        """
        import numpy as np

        from maxentry.belief import Information

        none = np.empty((0, 0))
        lines = None if law.spread is None else (1 / law.spread**2).mean(0)
        if lines is not None and not self.discrete:
            return Information(none, none, none, 0, law.by_row, lines)
        if self.kind == "numbers" and ends is None:
            return None
        tables = cut_tables(None if law.nu is None else float(np.median(law.nu)))
        if ends is None:
            cuts = np.zeros((1, 1)) if law.cuts is None else law.cuts.mean(0)[None]
            return Information(cuts, *tables, -1, law.by_row, lines)
        finite = [end for end in ends if np.isfinite(end).any()]
        return Information(np.stack(finite, axis=-1), *tables, int(finite[0] is ends[0]), by_row)

    # How probable

    def log_score(self, x: Floats, statements: Observations, law: NoiseLaw) -> Floats:
        """Return the log of the mean over draws x (S, n) of the probability (or density) of each statement."""
        import numpy as np

        o, law = statements, law.at(statements.rows, statements.cols)
        if o.se is not None:
            law = law._replace(var=(law.var if law.var.ndim == 2 else law.var[:, None]) + o.se**2)
        if o.low is None or o.high is None:
            return np.asarray(np.log(np.maximum(law.density(o.values - x).mean(0), LEAST)))
        low, high = o.low[None], o.high[None]
        if law.cuts is not None:
            K = len(self.levels)
            cuts = np.column_stack([np.full(len(x), -np.inf), law.cuts, np.full(len(x), np.inf)])
            k = np.clip(o.values.astype(np.intp), 1, K)
            low, high = cuts[:, k - 1], cuts[:, k]
        mirrored = low + high < 2 * x  # so that differences are those of small tails
        a, b = np.where(mirrored, low - x, x - high), np.where(mirrored, high - x, x - low)
        between = np.maximum(law.cdf(b) - law.cdf(a), 0.0)
        p = np.where(o.low < o.high, between, law.density(o.values - x))
        return np.asarray(np.log(np.maximum(p.mean(0), LEAST)))

    def __str__(self) -> str:
        if self.kind == "grades":
            return f"grades {self.levels[0]} to {self.levels[-1]}"
        noise = "" if self.noise_sd is None else f" with a noise of {self.noise_sd:g}"
        if self.limits is None:
            return f"{self.kind}{noise}"
        low, high = (f"{end:g}" for end in self.limits)
        ends = f"with limits {low} and {high}".replace("-inf and", "up to").replace(" and inf", " and above")
        return f"numbers {ends}{noise}"


def cut_tables(nu: float | None) -> tuple[Floats, Floats]:
    """Return the noise's distribution function at even distances t, and what a cut at t takes off a value above it.

    That is a share of Fisher's information about the mean: of a whole law, less that of the same law cut at t times the
    probability of being above, P (E[score^2 | above] - E[score | above]^2).
    """
    import numpy as np

    from maxentry.kernels.variances import REACH

    t, far = np.linspace(-REACH, REACH, KNOTS), REACH * np.geomspace(1e5, 1, 2000)
    grid = np.concatenate([-far[:-1], np.linspace(-REACH, REACH, 16 * KNOTS)])
    law, df = NoiseLaw(np.ones(1), None if nu is None else np.array([nu])), np.inf if nu is None else nu
    density, cdf = law.density(grid[None])[0], law.cdf(t[None])[0]
    score = grid if nu is None else (df + 1) * grid / (df + grid**2)
    area = np.concatenate(
        [[0.0], np.cumsum(np.diff(grid) * np.convolve(score**2 * density, [0.5, 0.5], "valid"))]
    )
    whole = 1.0 if nu is None else (df + 1) / (df + 3)
    above = law.cdf(-t[None])[0]
    lost = np.interp(t, grid, area) + law.density(t[None])[0] ** 2 / np.maximum(above, LEAST)
    return cdf, np.clip(lost / whole, 0.0, 1.0)


def _check_levels(levels: tuple[Any, ...]) -> tuple[Any, ...]:
    if not levels:
        return ()
    plain = tuple(level.item() if hasattr(level, "item") else level for level in levels)
    numbers = [level for level in plain if isinstance(level, int | float) and not isinstance(level, bool)]
    names = [level for level in plain if isinstance(level, str)]
    ordered = all(a < b for a, b in pairwise(numbers)) and len(set(names)) == len(names)
    alike = len(plain) in (len(numbers), len(names)) and all(abs(x) < 1e15 for x in numbers)
    if not (FEWEST_GRADES <= len(plain) <= MOST_GRADES and alike and ordered):
        two = ". Two are yes and no: kind='yes/no' (--kind yes/no)" if len(plain) == 2 else ""
        wanted = f"levels must be {FEWEST_GRADES} to {MOST_GRADES} distinct names, or numbers that rise"
        raise ParameterError(f"{wanted}, got {show(levels)}{two}")
    return plain


def _check_limits(limits: Any) -> tuple[float, float] | None:
    if limits is None:
        return None
    try:
        low, high = limits
        ends = float("-inf") if low is None else float(low), float("inf") if high is None else float(high)
    except Exception:  # no pair, or no numbers
        ends = (0.0, 0.0)
    if not ends[0] < ends[1] or ends == (float("-inf"), float("inf")):
        raise ParameterError(
            f"limits must be a pair (low, high) with low < high, None for an open end, got {show(limits)}"
        )
    return ends


def _refuse(o: Observations, wrong: bool, expected: str) -> None:
    if wrong:
        raise DataError(f"expected {expected} or standard errors")


def _check_told(o: Observations, good: Any, expected: str, hint: str = "") -> None:
    from maxentry.labels import place

    if not good.all():
        k = int((~good).argmax())
        where = place(o.row_axis, int(o.rows[k]), o.col_axis, int(o.cols[k]))
        raise DataError(f"expected {expected}, got {o.values[k]:g} at {where}.{hint}")


GAUSSIAN, STUDENT = Likelihood(), Likelihood(noise="student")
PLAIN: dict[Any, Likelihood] = {noise: Likelihood(noise=noise) for noise in NOISE_NAMES}
