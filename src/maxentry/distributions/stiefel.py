"""The Stiefel manifold V(R, m): m x R matrices with orthonormal columns (R-frames in R^m)."""

import numpy as np
from numpy.typing import NDArray

from maxentry.errors import ParameterError

Array = NDArray[np.float64]


def uniform_frame(m: int, R: int, rng: np.random.Generator) -> Array:
    """Draw an R-frame from the uniform (Haar) law on V(R, m), which is MF(m, R, 0).

    QR of a Gaussian matrix, with the signs that make the triangular factor's diagonal positive: without
    them the law depends on the QR routine's own choice of signs.
    """
    if not 1 <= R <= m:
        raise ParameterError(f"a frame needs 1 <= R <= m, got m = {m} and R = {R}")
    Q, T = np.linalg.qr(rng.standard_normal((m, R)))
    frame: Array = Q * np.where(np.diagonal(T) < 0, -1.0, 1.0)
    return frame
