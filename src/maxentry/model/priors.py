"""Priors of the model's variances (paper, Eq. prior), extended by those of the row and column effects.

The frames U and V always have the paper's uniform (Haar) prior, so only variances appear here.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from maxentry._types import Array
from maxentry.errors import ParameterError, RankError, is_positive
from maxentry.wording import show


def _check_positive(what: str, value: float) -> None:
    if not is_positive(value):
        raise ParameterError(f"{what} must be a positive finite number, got {show(value)}")


@dataclass(frozen=True, slots=True)
class InverseGamma:
    """IG(shape, scale), the law of a variance: density ∝ x^(-shape-1) exp(-scale/x)."""

    shape: float
    scale: float

    def __post_init__(self) -> None:
        _check_positive("the shape of an inverse gamma", self.shape)
        _check_positive("the scale of an inverse gamma", self.scale)

    @property
    def mean(self) -> float:
        """scale / (shape - 1); infinite where shape <= 1."""
        return self.scale / (self.shape - 1) if self.shape > 1 else math.inf

    def scale_near(self, variance: Array) -> Array:
        """The scale, whatever the variance."""
        return np.full_like(variance, self.scale)

    def draw(self, rng: np.random.Generator) -> float:
        """One draw from this law."""
        return float(self.scale / rng.standard_gamma(self.shape, size=()))


@dataclass(frozen=True, slots=True)
class HalfCauchy:
    """The law of a variance whose root is half-Cauchy: density of the root ∝ 1 / (1 + (root/width)^2).

    It rules out neither a variance near zero nor one far above width^2. It is the mixture of IG(1/2, b) with
    b ~ Gamma(1/2, rate 1/width^2).
    """

    width: float

    def __post_init__(self) -> None:
        _check_positive("the width of a half-Cauchy law", self.width)
        if not 1e-100 < self.width < 1e100:
            raise ParameterError(
                f"the width of a half-Cauchy law must be within 1e-100 and 1e100, got {self.width}"
            )

    @property
    def shape(self) -> float:
        """That of the inverse gammas of the mixture."""
        return 0.5

    def scale_near(self, variance: Array) -> Array:
        """The mean of b given variances: the scale of the inverse gamma that stands for this law near them."""
        return self.width**2 * variance / (self.width**2 + variance)

    def draw(self, rng: np.random.Generator) -> float:
        """One draw from this law."""
        a, b = rng.standard_normal(2)
        return float((self.width * a / b) ** 2)


EffectLaw = InverseGamma | HalfCauchy
KNOWN = InverseGamma(1e40, 1e40)  # the law of a variance that is 1 to the last digit


@dataclass(frozen=True, slots=True)
class Priors:
    """Everything the posterior needs to know before it sees data.

    noise:  eta2, the variance of the measurement noise
    signal: sigma2, the variance of the entries of M in X = U M V'
    rows, cols: the variances of the row effects r_i and of the column effects c_j
    mu_var: the (fixed) prior variance of the overall mean mu, whose prior mean is zero
    """

    noise: InverseGamma
    signal: InverseGamma
    rows: EffectLaw
    cols: EffectLaw
    mu_var: float

    def __post_init__(self) -> None:
        for name in ("noise", "signal", "rows", "cols"):
            law, effect = getattr(self, name), name in ("rows", "cols")
            if not isinstance(law, EffectLaw if effect else InverseGamma):
                laws = "InverseGamma(shape, scale)" + (" or HalfCauchy(width)" if effect else "")
                raise ParameterError(f"the prior of {name} must be {laws}, got {show(law)}")
        _check_positive("the prior variance of the overall mean", self.mu_var)

    @classmethod
    def paper(cls) -> Priors:
        """The paper's simulations: eta2 ~ IG(9, 1e-3), sigma2 ~ IG(9, 10).

        The paper's model has no effects: the priors given to them here matter only to a run that asks for
        effects.
        """
        effects = InverseGamma(2.0, 0.1)
        return cls(InverseGamma(9.0, 1e-3), InverseGamma(9.0, 10.0), effects, effects, 1.0)

    @classmethod
    def weak(cls, shape: tuple[int, int], rank: int, unit_noise: bool = False) -> Priors:
        """Weak priors for values standardised to mean zero and variance one.

        sigma2 ~ IG(2, m1 m2 / (2 R^2)): an entry of X has variance sigma2 R^2 / (m1 m2) a priori, so the mean of this
            law puts half of the variance on X; its own variance is infinite.
        eta2 ~ IG(1, 0.005): as weak as two observations of noise a twentieth of the spread of the data.
        The sds of the effects ~ half-Cauchy of width 0.2, a fifth of the spread of the data: rows may hardly differ,
            and may differ by more than all else. A law with less on large effects is a little better in tables
            without any, and too sure of averages where data are few (benchmarks/averages.md).
        At rank 0 there is no X and nothing informs sigma2, whose prior is still proper.

        unit_noise: values are latent, and their noise is 1 (yes and no). Nothing standardises them: the variance of an
        entry of X is IG(2, 2), of median 1.2, the overall mean has variance 4, and effects have width 0.3, a fifth of
        the sd of a latent value. A priori probabilities are then about uniform in a table, and a table may be mostly
        yes or mostly no.
        """
        m1, m2 = shape
        if rank < 0:
            raise RankError(f"the rank must be 0 or more, got {rank}")
        if m1 < 1 or m2 < 1:
            raise ParameterError(f"the shape must be two positive numbers, got {shape}")
        signal = InverseGamma(2.0, (2.0 if unit_noise else 0.5) * m1 * m2 / max(rank, 1) ** 2)
        effect = HalfCauchy(0.3 if unit_noise else 0.2)
        noise = KNOWN if unit_noise else InverseGamma(1.0, 0.005)
        return cls(noise, signal, effect, effect, 4.0 if unit_noise else 1.0)
