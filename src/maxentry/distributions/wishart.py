"""The Wishart law, df real: density proportional to |S|^((df-R-1)/2) exp(-tr(scale^-1 S)/2)."""

import math

import numpy as np
from numpy.typing import NDArray

from maxentry.errors import ParameterError
from maxentry.kernels.random import wishart as fill_wishart

Array = NDArray[np.float64]


def draw_wishart(df: float, scale: Array, rng: np.random.Generator) -> Array:
    """Draw an R x R matrix S ~ Wishart(df, scale), E S = df * scale, by Bartlett's decomposition."""
    scale = np.asarray(scale, dtype=float)
    if scale.ndim != 2 or scale.shape[0] != scale.shape[1]:
        raise ParameterError(f"the scale of a Wishart law must be a square matrix, got shape {scale.shape}")
    R = scale.shape[0]
    if not (math.isfinite(df) and df > R - 1):
        raise ParameterError(f"a Wishart law of {R} x {R} matrices needs df > {R - 1}, got {df!r}")
    try:
        factor = np.linalg.cholesky(scale)
    except np.linalg.LinAlgError:
        raise ParameterError(
            "the scale of a Wishart law must be positive definite, and this is not"
        ) from None
    S = np.empty((R, R))
    fill_wishart(df, factor, S, rng)
    return S
