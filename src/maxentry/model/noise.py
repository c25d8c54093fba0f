"""The law of the noise: its names, its degrees of freedom, and its quantiles in predictive intervals.

gaussian: a measurement is its entry plus N(0, eta2).
student: plus sqrt(eta2) times Student's t with nu degrees of freedom. Each measurement then has a weight, and the
sampler draws weights and nu (`update_weights` in `kernels.gibbs`).

The command line reads the names for `--help`: NumPy is imported when it is used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, NamedTuple, get_args

from maxentry.errors import ParameterError
from maxentry.wording import show

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

Noise = Literal["gaussian", "student"]
NOISE_NAMES: tuple[Noise, ...] = get_args(Noise)
# Degrees of freedom that may be drawn; 100 is Gaussian to the eye.
NU_VALUES = (1.0, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0, 6.0, 8.0, 10.0, 15.0, 20.0, 30.0, 50.0, 100.0)
COPIES = 4  # noisy copies of each draw in a predictive interval


def check_noise(name: str) -> Noise:
    """Return the name of a noise law; refuse any other."""
    if not isinstance(name, str) or name not in NOISE_NAMES:
        raise ParameterError(f"noise must be {' or '.join(map(repr, NOISE_NAMES))}, got {show(name)}")
    return name


def has_weights(noise: Noise) -> bool:
    """Whether each measurement has a weight of its own, and each draw its degrees of freedom."""
    return noise == "student"


class NoiseLaw(NamedTuple):
    """The noise in each draw: N(0, var), or sqrt(var) times Student's t with nu degrees of freedom."""

    var: NDArray[np.float64]  # (S,)
    nu: NDArray[np.float64] | None  # (S,)

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
