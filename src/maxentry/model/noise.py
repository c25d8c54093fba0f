"""The law of the noise: its names, its degrees of freedom, and its quantiles in predictive intervals.

gaussian: a measurement is its entry plus N(0, eta2).
student: plus sqrt(eta2) times Student's t with nu degrees of freedom. Each measurement then has a weight w, and noise
N(0, eta2 / w) with w ~ Gamma(nu/2, rate nu/2); the sampler draws weights and nu (`update_weights` in `kernels.gibbs`).
columns, rows: the same with one weight for all measurements of a column (or row): each has a noise of its own, and nu
says how much they differ; they are equal as nu goes to infinity. nu is at least 10: with fewer, lines that vary little
get next to no noise, and everything is bent to fit them (benchmarks/NOTES.md).

The command line reads the names for `--help`: NumPy is imported when it is used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, NamedTuple, get_args

from maxentry.errors import ParameterError
from maxentry.wording import show

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

Noise = Literal["gaussian", "student", "columns", "rows"]
NOISE_NAMES: tuple[Noise, ...] = get_args(Noise)
# Degrees of freedom that may be drawn; 100 is Gaussian to the eye.
NU_VALUES = (1.0, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0, 6.0, 8.0, 10.0, 15.0, 20.0, 30.0, 50.0, 100.0)
# The same where columns or rows have a noise of their own; at the last the noises are equal within 1.5%.
LINE_NU_VALUES = (10.0, 30.0, 100.0, 300.0, 1000.0, 10000.0)
COPIES = 4  # noisy copies of each draw in a predictive interval


def check_noise(name: str) -> Noise:
    """Return the name of a noise law; refuse any other."""
    if not isinstance(name, str) or name not in NOISE_NAMES:
        raise ParameterError(f"noise must be {' or '.join(map(repr, NOISE_NAMES))}, got {show(name)}")
    return name


def has_weights(noise: Noise) -> bool:
    """Whether measurements have weights, and each draw its degrees of freedom."""
    return noise != "gaussian"


def has_lines(noise: Noise) -> bool:
    """Whether columns or rows have a noise of their own."""
    return noise in ("columns", "rows")


class NoiseLaw(NamedTuple):
    """The noise in each draw: N(0, var), or sqrt(var) times Student's t with nu degrees of freedom.

    spread: where columns or rows have a noise of their own, its sd over sqrt(var).
    """

    var: NDArray[np.float64]  # (S,)
    nu: NDArray[np.float64] | None  # (S,)
    spread: NDArray[np.float64] | None = None  # (S, m2), or (S, m1) by row
    by_row: bool = False

    def spread_at(self, rows: Any, cols: Any) -> NDArray[np.float64]:
        """Return the spread of entries (rows, cols) in each draw, (S, n); of a block where these are slices."""
        import numpy as np

        block = isinstance(rows, slice)
        if self.spread is None:
            return np.ones((1,) * (2 + block))
        spread = self.spread[:, rows if self.by_row else cols]
        return spread if not block else spread[:, :, None] if self.by_row else spread[:, None, :]

    def stratified(self) -> NDArray[np.float64]:
        """Return `COPIES` noise values for each draw, (COPIES, S), evenly spread over the law.

        They are the quantiles (k + 1/2) / n, each once, in a fixed random order. Independent draws would be far
        noisier: the width of a predictive interval would vary even for entries that are known well.
        """
        import numpy as np
        from scipy.special import ndtri, stdtrit

        S = self.var.size
        n = COPIES * S
        p = (np.random.default_rng(0).permutation(n).reshape(COPIES, S) + 0.5) / n
        z: NDArray[np.float64] = ndtri(p) if self.nu is None else stdtrit(self.nu, p)
        return z * np.sqrt(self.var)
