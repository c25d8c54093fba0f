"""The default sampler (docs/mathematics.md): exact, conjugate, no imputation, linear in the observations.

Each sweep draws the rows of A given V, the rows of B given U, the row and column effects along with them, then
mu, eta2, sigma2 and the variances of the effects. The inner loop is `maxentry.kernels.conjugate`.
"""

from typing import Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import NDArray

from maxentry.errors import DataError, ParameterError, RankError
from maxentry.kernels import conjugate as kernel
from maxentry.kernels.gauge import orthonormalise
from maxentry.kernels.lanes import LANES
from maxentry.model.priors import Priors
from maxentry.observations import Half, Observations
from maxentry.posterior import shared
from maxentry.posterior.workspace import Workspace

Array = NDArray[np.float64]
Noise = Literal["gaussian", "student"]

# Student degrees of freedom that may be drawn; 100 is Gaussian to the eye.
NU_GRID = np.array([1.0, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0, 6.0, 8.0, 10.0, 15.0, 20.0, 30.0, 50.0, 100.0])


class Units(NamedTuple):
    """Values are standardised inside: y = shift + scale * z."""

    shift: float
    scale: float


class Data(NamedTuple):
    """Standardised observations, row by row and column by column, and the model that is fitted to them."""

    by_row: Half
    by_col: Half
    shape: tuple[int, int]
    units: Units
    effects: bool
    noise: Noise


class State(NamedTuple):
    """Where a chain stands: X = A B' with A, B the first R columns; with effects, two more, free and aligned."""

    left: Array  # (m1, R or R + 2)
    right: Array  # (m2, R or R + 2)
    scalars: Array  # mu, sigma2, eta2, tau2_row, tau2_col, nu, s2_row, s2_col
    weights: Array  # (N,) of Student noise in row order; empty for Gaussian noise


class Kept(NamedTuple):
    """Where the draws of one chain go; factors may have more columns than the chain's rank, left at zero."""

    left: NDArray[np.floating]  # (D, m1, R)
    right: NDArray[np.floating]  # (D, m2, R)
    row: NDArray[np.floating]  # (D, m1)
    col: NDArray[np.floating]  # (D, m2)
    scalars: Array  # (D, 8)

    def of_chain(self, c: int) -> "Kept":
        """The place of chain c, as views, where the arrays have a chain in front."""
        left, right, row, col = (array[c] for array in self[:4])
        return Kept(left, right, row, col, self.scalars[c])

    def part(self, start: int, stop: int) -> "Kept":
        """Draws from start to stop, as views."""
        left, right, row, col = (array[start:stop] for array in self[:4])
        return Kept(left, right, row, col, self.scalars[start:stop])


def check_rank(rank: int, shape: tuple[int, int], effects: bool) -> None:
    """Refuse a rank that the sampler cannot use, with the reason."""
    m1, m2 = shape
    most = min(m1, m2) // 2
    if isinstance(rank, bool) or not isinstance(rank, int | np.integer) or rank < 0:
        raise RankError(f"the rank must be 'auto' or a whole number of at least 0, got {rank!r}")
    if rank > most:
        raise RankError(
            f"a {m1} x {m2} matrix can be fitted with rank at most {most}, half its shorter side "
            f"(beyond it the prior of the subspaces is no Wishart mixture, and nothing is low rank), got {rank}"
        )
    if rank == 0 and not effects:
        raise RankError(
            "rank 0 without row and column effects leaves nothing to fit; use effects=True or a rank"
        )


def prepare(
    observations: Observations, effects: bool, noise: str, standardise: bool, units: Units | None
) -> Data:
    """Standardise the observations (to `units` where given, as a warm start needs) for the kernel."""
    if noise not in get_args(Noise):
        raise ParameterError(f"noise must be 'gaussian' or 'student', got {noise!r}")
    if units is None:
        units = standard_units(observations.values, effects) if standardise else Units(0.0, 1.0)
    if not 1e-150 < units.scale < 1e150:
        raise DataError(
            f"expected values whose spread lies between 1e-150 and 1e150, but it is {units.scale:.3g}; rescale them."
        )
    z = observations.values - units.shift
    z /= units.scale  # in place: copies of many observations would show
    by_row, by_col = observations.halves(z)
    return Data(by_row, by_col, observations.shape, units, effects, noise)  # type: ignore[arg-type]


def standard_units(values: Array, effects: bool) -> Units:
    """Zero mean (where the model has a mean) and unit mean square; constant data tell only their own size."""
    shift = float(values.mean()) if effects else 0.0
    largest = float(
        np.abs(values - shift).max()
    )  # taken out first, so that squares neither overflow nor vanish
    if largest <= 1e-12 * abs(shift):
        return Units(shift, abs(shift) or 1.0)
    return Units(shift, largest * float(np.sqrt(np.mean(((values - shift) / largest) ** 2))))


def hyperparameters(priors: Priors) -> Array:
    """The priors as the kernel wants them."""
    p = priors
    pairs = [(law.shape, law.scale) for law in (p.signal, p.noise, p.rows, p.cols)]
    return np.array([*np.ravel(pairs), p.mu_var])


def init(data: Data, rank: int, priors: Priors, rng: np.random.Generator) -> State:
    """A draw from the prior.

    Without BLAS and LAPACK, which round differently on other processors: chains would magnify that to other draws.
    """
    m1, m2 = data.shape
    sigma2, eta2 = priors.signal.draw(rng), priors.noise.draw(rng)
    U, V = (_uniform_frame(m, rank, rng) for m in data.shape)
    sides = [np.einsum("ia,ab->ib", U, np.sqrt(sigma2) * rng.standard_normal((rank, rank))), V]
    tau2, s2 = [0.0, 0.0], [1.0, 1.0]
    for side, (m, frame, law) in enumerate(((m1, U, priors.rows), (m2, V, priors.cols))):
        tau2[side] = law.draw(rng)
        if rank:
            s2[side] = law.draw(rng) * m / rank
        if data.effects:
            free = np.sqrt(tau2[side]) * rng.standard_normal(m)
            slope = np.sqrt(s2[side]) * rng.standard_normal(rank) * (2 * rank < min(m1, m2))
            aligned = np.einsum("ia,a->i", frame, slope)
            sides[side] = np.column_stack([sides[side], free, aligned])
    weights = np.ones(data.by_row.values.size if data.noise == "student" else 0)
    left, right = (np.ascontiguousarray(side) for side in sides)
    return State(left, right, np.array([0, sigma2, eta2, *tau2, 4, *s2]), weights)


def _uniform_frame(m: int, rank: int, rng: np.random.Generator) -> Array:
    """As `distributions.stiefel.uniform_frame`: QR of a Gaussian matrix, the triangle's diagonal positive."""
    if rank == 0:
        return np.empty((m, 0))
    frame = np.zeros((m, -(-rank // LANES) * LANES))
    frame[:, :rank] = rng.standard_normal((m, rank))
    orthonormalise(frame, rank, np.ones(m), np.empty((rank, rank)))
    return frame[:, :rank]


def step(
    state: State,
    data: Data,
    rank: int,
    hyper: Array,
    rng: np.random.Generator,
    betas: Array,
    kept: Kept,
    thin: int,
    desk: Workspace | None = None,
    crew: shared.Crew | None = None,
) -> State:
    """One sweep for each beta; every `thin`-th state goes to `kept` (0: none). The given state is not changed.

    A chain of many steps gives them the same `desk`. With a crew, its threads share each sweep; the draws are the same.
    """
    desk = desk or Workspace.of(data, rank)
    desk.fill(state, data)
    scalars, source = state.scalars.copy(), data.by_col.source
    if crew is not None:
        shared.sweeps(crew, betas, thin, desk, source, NU_GRID, hyper, scalars, rng, kept)
    else:
        kernel.sweeps(
            betas, thin, rank, data.effects, desk.aligned, desk.left, desk.right, desk.room, source, NU_GRID, hyper,
            scalars, rng, *kept,
        )  # fmt: skip
    return State(*desk.matrices(), scalars, desk.left.weights.astype(np.float64))
