"""The default sampler (docs/mathematics.md): exact, conjugate, no imputation, linear in the observations.

Each sweep draws the rows of A given V, the rows of B given U, the row and column effects along with them, then
mu, eta2, sigma2 and the variances of the effects. The inner loop is `maxentry.kernels.gibbs`.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor, wait
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import NDArray

from maxentry.errors import DataError, ParameterError, RankError
from maxentry.kernels import gibbs as kernel
from maxentry.kernels.gauge import orthonormalise
from maxentry.kernels.gibbs import Scratch, Side
from maxentry.kernels.rng import fill_normal
from maxentry.kernels.rows import PADDING_ROWS
from maxentry.kernels.simd import LANES
from maxentry.model.priors import Priors
from maxentry.observations import Half, Observations

if TYPE_CHECKING:
    pass

Array = NDArray[np.float64]
Noise = Literal["gaussian", "student"]
# Student degrees of freedom that may be drawn; 100 is Gaussian to the eye.
NU_GRID = np.array([1.0, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0, 6.0, 8.0, 10.0, 15.0, 20.0, 30.0, 50.0, 100.0])


class Units(NamedTuple):
    """Values are standardised inside: y = shift + scale * z."""

    shift: float
    scale: float


class GibbsData(NamedTuple):
    """Standardised observations, row by row and column by column, and the model that is fitted to them."""

    by_row: Half
    by_col: Half
    shape: tuple[int, int]
    units: Units
    effects: bool
    noise: Noise


class GibbsState(NamedTuple):
    """Where a chain stands: X = A B' with A, B the first R columns; with effects, two more, free and aligned."""

    left: Array  # (m1, R or R + 2)
    right: Array  # (m2, R or R + 2)
    scalars: Array  # mu, sigma2, eta2, tau2_row, tau2_col, nu, s2_row, s2_col
    weights: Array  # (N,) of Student noise in row order; empty for Gaussian noise


class DrawBuffers(NamedTuple):
    """Where the draws of one chain go; factors may have more columns than the chain's rank, left at zero."""

    left: NDArray[np.floating]  # (D, m1, R)
    right: NDArray[np.floating]  # (D, m2, R)
    row: NDArray[np.floating]  # (D, m1)
    col: NDArray[np.floating]  # (D, m2)
    scalars: Array  # (D, 8)

    def chain(self, c: int) -> DrawBuffers:
        """The place of chain c, as views, where the arrays have a chain in front."""
        left, right, row, col = (array[c] for array in self[:4])
        return DrawBuffers(left, right, row, col, self.scalars[c])

    def part(self, start: int, stop: int) -> DrawBuffers:
        """Draws from start to stop, as views."""
        left, right, row, col = (array[start:stop] for array in self[:4])
        return DrawBuffers(left, right, row, col, self.scalars[start:stop])


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
) -> GibbsData:
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
    return GibbsData(by_row, by_col, observations.shape, units, effects, noise)  # type: ignore[arg-type]


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


def init(data: GibbsData, rank: int, priors: Priors, rng: np.random.Generator) -> GibbsState:
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
    return GibbsState(left, right, np.array([0, sigma2, eta2, *tau2, 4, *s2]), weights)


def _uniform_frame(m: int, rank: int, rng: np.random.Generator) -> Array:
    """As `distributions.stiefel.uniform_frame`: QR of a Gaussian matrix, the triangle's diagonal positive."""
    if rank == 0:
        return np.empty((m, 0))
    frame = np.zeros((m, -(-rank // LANES) * LANES))
    frame[:, :rank] = rng.standard_normal((m, rank))
    orthonormalise(frame, rank, np.ones(m), np.empty((rank, rank)))
    return frame[:, :rank]


def step(
    state: GibbsState,
    data: GibbsData,
    rank: int,
    hyper: Array,
    rng: np.random.Generator,
    betas: Array,
    kept: DrawBuffers,
    thin: int,
    workspace: Workspace | None = None,
    team: ThreadTeam | None = None,
) -> GibbsState:
    """One sweep for each beta; every `thin`-th state goes to `kept` (0: none). The given state is not changed.

    A chain of many steps gives them the same `workspace`. With a team, its threads share each sweep; the draws are
    the same.
    """
    workspace = workspace or Workspace.allocate(data, rank)
    workspace.fill(state, data)
    scalars, source = state.scalars.copy(), data.by_col.source
    if team is not None:
        share_sweeps(team, betas, thin, workspace, source, NU_GRID, hyper, scalars, rng, kept)
    else:
        kernel.run_sweeps(
            betas, thin, rank, data.effects, workspace.aligned, workspace.left, workspace.right, workspace.scratch,
            source, NU_GRID, hyper, scalars, rng, *kept,
        )  # fmt: skip
    return GibbsState(*workspace.matrices(), scalars, workspace.left.weights.astype(np.float64))


# The arrays that a chain's sweeps work in: made once, filled from a state before and read into one afterwards.


class Workspace(NamedTuple):
    """Both sides of one chain, and what they share."""

    rank: int
    effects: bool
    left: Side
    right: Side
    scratch: Scratch

    @property
    def aligned(self) -> bool:
        """Whether there is room for effects in the spaces of X."""
        return self.effects and 0 < 2 * self.rank < min(self.left.free.size, self.right.free.size)

    @classmethod
    def allocate(cls, data: GibbsData, rank: int) -> Workspace:
        """Room for chains of that rank."""
        K = rank + int(data.effects)
        longest = max(data.shape)
        scratch = Scratch(
            np.zeros((K + PADDING_ROWS, K)), np.empty((rank, rank)), np.empty((rank, rank)), np.empty(rank),
            np.zeros(rank), np.ones(longest), np.zeros(3),
        )  # fmt: skip
        left = _side(data.by_row, data.shape[0], rank, K, data)
        right = _side(data.by_col, data.shape[1], rank, K, data)
        return cls(rank, data.effects, left, right, scratch)

    def fill(self, state: GibbsState, data: GibbsData) -> None:
        """Take over a state."""
        R = self.rank
        for side, array in ((self.left, state.left), (self.right, state.right)):
            side.factors[:, :R] = array[:, :R]
            if self.effects:
                side.free[:], side.aligned[:] = array[:, R], array[:, R + 1]
        if state.weights.size:
            self.left.weights[:] = state.weights
            self.right.weights[:] = state.weights[data.by_col.source]

    def matrices(self) -> tuple[Array, Array]:
        """The factors and effects of both sides as a state has them, copied."""
        R = self.rank
        found = []
        for side in (self.left, self.right):
            array = np.empty((side.free.size, R + 2 * self.effects))
            array[:, :R] = side.factors[:, :R]
            if self.effects:
                array[:, R], array[:, R + 1] = side.free, side.aligned
            found.append(array)
        return found[0], found[1]


def _side(half: Half, m: int, rank: int, K: int, data: GibbsData) -> Side:
    # no weights are of another type than weights, so that code is compiled without them
    weights = np.ones(half.values.size) if data.noise == "student" else np.empty(0, bool)
    free, aligned, effect = np.zeros((3, m))
    factors, F = _padded(m, rank), _padded(m, rank)
    return Side(
        half.indptr, half.index, half.values, weights, factors, free, aligned, effect, F,
        np.empty((m, K)), np.empty((m, 4)),
    )  # fmt: skip


def _padded(m: int, rank: int) -> Array:
    """Zeros, m x rank rounded up to whole vectors, each of which lies in one line of the cache."""
    width = -(-rank // LANES) * LANES
    flat = np.zeros(m * width + LANES)
    skip = -(flat.ctypes.data // flat.itemsize) % LANES
    return flat[skip : skip + m * width].reshape(m, width)


# Sweeps of one chain shared by several threads, bit for bit those of one.
#
# Rows are drawn independently given the other side, and their normals are drawn before them, in the order of the
# rows. So which thread draws a row, and when, changes nothing. Rows are dealt out in blocks of like work, by the
# compiled code: a call of it from Python takes tens of microseconds for its many arrays, and only one thread at a
# time can make one.
Task = Callable[[], object]
BLOCKS = 48  # of rows: enough for threads to end together, few enough that dealing them out costs nothing


class ThreadTeam:
    """Threads that do tasks together with the one that asks for them."""

    def __init__(self, threads: int) -> None:
        self.helpers = threads - 1
        self._pool = ThreadPoolExecutor(max(1, self.helpers))  # begins a thread when it first needs one

    def __enter__(self) -> ThreadTeam:
        return self

    def __exit__(self, *error: object) -> None:
        self._pool.shutdown()

    def share(self, tasks: Iterable[Task]) -> None:
        """Do all tasks, begun in the order given; return when they are done."""
        waiting = deque(tasks)

        def work() -> None:
            while True:
                try:
                    task = waiting.popleft()
                except IndexError:
                    return
                task()

        others = [self._pool.submit(work) for _ in range(self.helpers)]
        try:
            work()
        finally:
            waiting.clear()  # where one fails, the others need not go on
            wait(others)
        for other in others:
            other.result()


def block_edges(indptr: NDArray[np.int64], K: int) -> NDArray[np.int64]:
    """The edges of blocks of rows of like work, each a multiple of those that are solved side by side, but the last."""
    m = indptr.size - 1
    work = (indptr[1:] - indptr[0]) * float(K * K) + np.arange(1, m + 1) * float(K**3 + 20 * K)
    share = work[-1] / BLOCKS if m else 0.0
    edges = np.searchsorted(work, share * np.arange(1, BLOCKS)) // LANES * LANES
    return np.unique(np.concatenate([[0], edges, [m]])).astype(np.int64)


def share_sweeps(
    team: ThreadTeam, betas: Array, keep_every: int, workspace: Workspace,
    source: NDArray[np.int32], nu_grid: Array, hyper: Array, scalars: Array,
    rng: np.random.Generator, kept: DrawBuffers,
) -> None:  # fmt: skip
    """As `kernels.conjugate.sweeps`, phase by phase."""
    R, effects, left, right, scratch = workspace
    aligned, K = workspace.aligned, R + int(effects)
    rows, cols = block_edges(left.indptr, K), block_edges(right.indptr, K)

    def drawing(edges: NDArray[np.int64], this: Any, other: Any) -> list[Task]:
        dealt = np.zeros(1, dtype=np.int64), edges
        return [partial(kernel.draw_blocks, *dealt, this, other, scratch, R, effects, scalars)] * (
            team.helpers + 1
        )

    for t, beta in enumerate(betas):
        team.share([partial(fill_normal, left.Z, rng), partial(kernel.change_gauge, left, right, scratch, R)])
        kernel.begin_sweep(left, right, scratch, R, effects, aligned, beta, scalars, rng)
        team.share([partial(fill_normal, right.Z, rng), *drawing(rows, left, right)])
        kernel.switch_sides(left, right, scratch, R, effects, aligned, hyper, scalars, rng)
        team.share(drawing(cols, right, left))
        kernel.finish_sweep(left, right, scratch, R, effects, aligned, source, nu_grid, hyper, scalars, rng)
        if keep_every > 0 and (t + 1) % keep_every == 0:
            kernel.store_draw(t // keep_every, R, left, right, scalars, *kept)
