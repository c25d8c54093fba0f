"""The inverse gamma law IG(shape, scale): density proportional to x^(-shape-1) exp(-scale/x), x > 0."""

import math

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

from maxentry.errors import ParameterError

Array = NDArray[np.float64]


def draw_inverse_gamma(
    shape: float, scale: float, rng: np.random.Generator, size: int | tuple[int, ...] = ()
) -> Array:
    """Draw an array of the given size from IG(shape, scale), whose mean is scale/(shape - 1)."""
    _check_inverse_gamma(shape, scale)
    return np.asarray(scale / rng.standard_gamma(shape, size))


def inverse_gamma_log_density(x: float, shape: float, scale: float) -> float:
    """Log density of IG(shape, scale) at x."""
    _check_inverse_gamma(shape, scale)
    if x <= 0:
        return -math.inf
    return float(shape * math.log(scale) - gammaln(shape) - (shape + 1) * math.log(x) - scale / x)


def _check_inverse_gamma(shape: float, scale: float) -> None:
    for name, value in (("shape", shape), ("scale", scale)):
        if not (math.isfinite(value) and value > 0):
            raise ParameterError(f"an inverse gamma needs a positive finite {name}, got {value!r}")
