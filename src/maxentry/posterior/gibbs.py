"""The default sampler: an exact Gibbs sampler of the conjugate form of the model, linear in the observations.

| symbol | meaning | shape |
|---|---|---|
| A, B | factors of X = A B', the first R columns of `left` and `right` | m1 x R, m2 x R |
| r, c | row and column effects: a free part and a part in the space of A or B | m1, m2 |
| mu, eta2, nu | overall mean, noise variance, degrees of freedom of Student noise | scalars |
| sigma2, tau2, s2 | variances of the core of X, of the free and of the aligned effects | scalars, one a side |

A sweep draws the rows of (A, r) given the columns, the rows of (B, c) given the rows, then the scalars
(docs/mathematics.md). Nothing is imputed. Read `prepare`, `init`, `step`; the inner loop is `maxentry.kernels.gibbs`.
`ThreadTeam` lets several threads share the sweeps of one chain.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from maxentry._io import Task, ThreadTeam
from maxentry._types import Array, Indices
from maxentry.errors import DataError
from maxentry.kernels import gibbs as kernel
from maxentry.kernels import link as linked
from maxentry.kernels.gauge import orthonormalise
from maxentry.kernels.gibbs import N_SCALARS, Scratch, Side
from maxentry.kernels.gradients import allocate, set_sides, solve_blocks
from maxentry.kernels.latent import Latent, make_latent
from maxentry.kernels.link import Link
from maxentry.kernels.rng import Errors, fill_normal, weigh_errors
from maxentry.kernels.rows import PADDING_ROWS
from maxentry.kernels.simd import LANES
from maxentry.labels import place
from maxentry.model import link as link_model
from maxentry.model.likelihood import LINE_NU_VALUES, NU_VALUES, Likelihood
from maxentry.model.link import Basis
from maxentry.model.priors import HalfCauchy, Priors
from maxentry.observations import Half, Observations

NU_GRID, LINE_NU_GRID = np.array(NU_VALUES), np.array(LINE_NU_VALUES)
LINES: dict[str, float] = {"columns": kernel.BY_COL, "rows": kernel.BY_ROW}
RIDGE = 0.1  # of the prior on the plain path of annealing, in units of (1 - beta) sigma2
OFTEN = 1 / 16  # share of the sweeps that draw the noise, and cuts, without latent values
BLOCKS = 48  # of rows: enough for threads to end together, few enough that dealing them out costs nothing


class Units(NamedTuple):
    """Values are standardised inside: y = shift + scale * z."""

    shift: float
    scale: float


class GibbsData(NamedTuple):
    """Standardised observations, sorted by row and by column, and the model fitted to them."""

    by_row: Half
    by_col: Half
    shape: tuple[int, int]
    units: Units
    effects: bool
    likelihood: Likelihood
    limits: Limits | None = None  # where not all measurements are plain values
    errors: KnownErrors | None = None  # where measurements have errors of their own, or entries deviations
    bases: tuple[Basis, Basis] | None = None  # of the features, where rows or columns have some

    @property
    def weighted(self) -> bool:
        """Whether measurements have weights: of Student noise, or by their standard errors."""
        return self.likelihood.weighted or self.errors is not None

    @property
    def n_scalars(self) -> int:
        """How many scalars a state has."""
        return N_SCALARS + self.likelihood.n_cuts + self.likelihood.count_weights(self.shape)

    @property
    def features_work(self) -> float:
        """The multiplications of a sweep that features add, for each factor."""
        return 0.0 if self.bases is None else sum(basis.work for basis in self.bases)


class Limits(NamedTuple):
    """The measurements that say no more than low < z <= high, in standard units."""

    rows: Indices  # (L,) their positions in row order
    shared: Latent  # what the kernel reads; where cuts move, as they begin
    often: float  # share of the sweeps that draw noise and cuts without latent values

    def workspace(self) -> Latent:
        """Return the arrays for the kernel; each chain has its own ends, where cuts move."""
        same, often = self.shared, np.array([self.often])
        mean, every = np.zeros(same.mean.size), np.zeros(same.every.size)
        return same._replace(ends=same.ends.copy(), mean=mean, every=every, often=often)


class Repeats(NamedTuple):
    """Measurements, those of an entry perhaps as their mean, and the errors of each.

    An error is that of the mean of `times` measurements, or where this is 0 of variance `var`; None: all alike. noise:
    its variance (negative: learned), and degrees of freedom and sum of squares of measurements around their means.
    """

    observations: Observations
    times: Array | None = None
    var: Array | None = None
    noise: tuple[float, float, float] = (0.0, 0.0, 0.0)


class KnownErrors(NamedTuple):
    """Errors of the measurements in classes of equal variance, in standard units; see `kernels.rng.Errors`."""

    group: NDArray[np.int32]  # (N,) in column order
    times: Array  # (C,)
    var: Array  # (C,)
    noise: Array  # (3,)

    @classmethod
    def find(
        cls, times: Array, var: Array, noise: tuple[float, float, float], order: NDArray[np.int32]
    ) -> KnownErrors:
        """Find the classes of measurements whose errors are the means of `times` ones, or have variance `var`."""
        both = np.empty(times.size, dtype=complex)  # sorted as pairs
        both.real, both.imag = times, var
        distinct, group = np.unique(both, return_inverse=True)
        return cls(
            group[order].astype(np.int32), distinct.real.copy(), distinct.imag.copy(), np.array(noise, float)
        )

    def share(self, scalars: Array) -> float:
        """Return the share of the noise in eta2; one half where a chain has not known of any so far."""
        nu2, share = float(self.noise[0]), float(scalars[kernel.SHARE])
        if nu2 >= 0:
            return min(nu2 / float(scalars[kernel.ETA2]), 1 - 1e-6)
        return share if 0 < share < 1 else 0.5

    def workspace(self) -> Errors:
        """Return the arrays for the kernel."""
        n = np.bincount(self.group, minlength=self.times.size).astype(np.float64)
        mean, prior = np.empty(self.group.size), np.empty(2)
        return Errors(self.group, self.times, self.var, n, np.empty(n.size), mean, prior, self.noise)


class GibbsState(NamedTuple):
    """The state of a chain: A and B, with effects two more columns each (free, aligned), and the scalars."""

    left: Array  # (m1, R or R + 2)
    right: Array  # (m2, R or R + 2)
    scalars: Array  # as `kernels.gibbs` has them, the inner cuts between grades, and with these the weights of lines
    weights: Array  # (N,) of the noise in row order; empty for Gaussian noise
    latent: Array = np.empty(0)  # (L,) latent values of the measurements with limits, in row order


class DrawBuffers(NamedTuple):
    """Arrays that draws are written into; columns of the factors beyond a chain's rank stay zero."""

    left: NDArray[np.floating]  # (D, m1, R)
    right: NDArray[np.floating]  # (D, m2, R)
    row: NDArray[np.floating]  # (D, m1)
    col: NDArray[np.floating]  # (D, m2)
    scalars: Array  # (D, 8), with grades one more for each inner cut and, if these have weights, each line

    def at(self, index: int | slice) -> DrawBuffers:
        """Views of some draws; of one chain, where the arrays have one more axis in front."""
        return DrawBuffers._make(array[index] for array in self)


def prepare(
    observations: Observations, effects: bool, likelihood: Likelihood, standardise: bool, units: Units | None,
    bases: tuple[Basis, Basis] | None = None,
) -> GibbsData:  # fmt: skip
    """Standardise the observations (to `units` where given, as a warm start needs) for the kernel.

    Observations are statements on the scale of the model, as `Likelihood.statements` makes them.
    """
    if units is None:
        standardise = standardise and not likelihood.known_noise
        units = standard_units(observations.values, effects) if standardise else Units(0.0, 1.0)
    if not 1e-150 < units.scale < 1e150:
        raise DataError(
            f"expected values with a spread between 1e-150 and 1e150, got {units.scale:.3g} "
            f"({name_farthest(observations, units.shift)}); correct or rescale them"
        )
    repeats = gather(likelihood, observations)
    observations = repeats.observations
    z = observations.values - units.shift
    z /= units.scale  # in place: copies of many observations would show
    by_row, by_col = observations.halves(z)
    limits = find_limits(observations, likelihood, units, by_col)
    errors = None
    if repeats.times is not None and repeats.var is not None:
        (nu2, freedom, squares), scale2 = repeats.noise, units.scale**2
        noise = (nu2 / scale2, freedom, squares / scale2)
        errors = KnownErrors.find(repeats.times, repeats.var / scale2, noise, by_col.source)
    return GibbsData(by_row, by_col, observations.shape, units, effects, likelihood, limits, errors, bases)


def gather(likelihood: Likelihood, statements: Observations) -> Repeats:
    """Return measurements as the sampler takes them: plain values of an entry as their mean, if noise is told apart.

    Where the noise is learned, standard errors are used of entries that have one with every measurement.
    """
    o = statements
    if not likelihood.split:
        return Repeats(o) if o.se is None else Repeats(o, np.zeros(o.n), o.se**2)
    known, se = likelihood.noise_sd, np.zeros(o.n) if o.se is None else o.se
    entry = _number_entries(o)
    given, times = np.bincount(entry, se > 0), np.bincount(entry)
    se = np.where((given == times)[entry], se, 0.0) if known is None else np.where(se > 0, se, known)
    weight = np.where(se > 0, 1 / np.where(se > 0, se, 1.0) ** 2, 1.0)
    precision, first = np.bincount(entry, weight), np.unique(entry, return_index=True)[1]
    mean = np.where(times > 1, np.bincount(entry, weight * o.values) / precision, o.values[first])
    learned = (given < times) & (known is None)  # whose error is that of the learned noise
    apart = float(((o.values - mean[entry]) ** 2)[learned[entry]].sum())
    noise = (known**2, 0.0, 0.0) if known else (-1.0, float((times - 1)[learned].sum()), apart)
    order = np.argsort(first, kind="stable")
    first, times, mean = first[order], np.where(learned, times, 0.0)[order], mean[order]
    ends: dict[str, Any] = {}
    if o.low is not None and o.high is not None:
        plain = o.low[first] == o.high[first]
        ends = {"low": np.where(plain, mean, o.low[first]), "high": np.where(plain, mean, o.high[first])}
    means = replace(o, rows=o.rows[first], cols=o.cols[first], values=mean, se=None, **ends)
    return Repeats(means, times.astype(np.float64), np.where(times > 0, 0.0, 1 / precision[order]), noise)


def _number_entries(o: Observations) -> Indices:
    """Number the measurements: plain values of an entry have the same number, one with limits has its own."""
    entry = o.rows.astype(np.int64) * o.shape[1] + o.cols
    if o.low is None or o.high is None:
        return np.concatenate([[0], np.cumsum(np.diff(entry) > 0)])
    own = np.where(o.low < o.high, -1 - np.arange(o.n), entry)
    return np.unique(own, return_inverse=True)[1]


def find_limits(
    observations: Observations, likelihood: Likelihood, units: Units, by_col: Half
) -> Limits | None:
    """Find the measurements with limits, and the distinct pairs of their ends; None where all are plain values."""
    o, K = observations, len(likelihood.levels)
    if o.low is None or o.high is None:
        return None
    rows = np.flatnonzero(o.low < o.high)
    pair = np.full(o.n, -1, dtype=np.int32)
    if K:
        cuts = np.concatenate([[-np.inf], likelihood.first_cuts, [np.inf]])
        ends = np.column_stack([cuts[:-1], cuts[1:]])
        pair[:] = o.values - 1
    else:
        both = np.empty(rows.size, dtype=complex)  # sorted as pairs
        both.real, both.imag = o.low[rows], o.high[rows]
        distinct, pair[rows] = np.unique(both, return_inverse=True)
        ends = np.column_stack([distinct.real, distinct.imag])
    often = OFTEN if K or (2 * rows.size > o.n and not likelihood.known_noise) else 0.0
    inner = np.arange(1, 1 + likelihood.n_cuts)
    ends = (ends - units.shift) / units.scale
    order, indptr, index = by_col.source, by_col.indptr, by_col.index
    return Limits(rows, make_latent(pair[order], ends, order, indptr, index, inner), often)


def standard_units(values: Array, effects: bool) -> Units:
    """Zero mean (where the model has a mean) and unit mean square; constant data are scaled by their own size."""
    shift = float(values.mean()) if effects else 0.0
    largest = float(np.abs(values - shift).max())  # divided out first: squares neither overflow nor vanish
    if largest <= 1e-12 * abs(shift):
        return Units(shift, abs(shift) or 1.0)
    return Units(shift, largest * float(np.sqrt(np.mean(((values - shift) / largest) ** 2))))


def name_farthest(observations: Observations, centre: float) -> str:
    """Name the value that is farthest from the centre, for messages."""
    o = observations
    k = int(np.abs(o.values - centre).argmax())
    return f"{o.values[k]:.6g} in {place(o.row_axis, int(o.rows[k]), o.col_axis, int(o.cols[k]))}"


def hyperparameters(priors: Priors) -> Array:
    """Flatten the priors into the vector the kernel reads."""
    laws = [(law.shape, law.scale) for law in (priors.signal, priors.noise)]
    effects = [
        (0.5, 0.0, law.width**2) if isinstance(law, HalfCauchy) else (law.shape, law.scale, 0.0)
        for law in (priors.rows, priors.cols)
    ]
    return np.array([*np.ravel(laws), *np.ravel(effects), priors.mu_var])


def init(data: GibbsData, rank: int, priors: Priors, rng: np.random.Generator) -> GibbsState:
    """Draw a state from the prior.

    BLAS and LAPACK are avoided: they round differently on other processors, and chains magnify that to other draws.
    """
    m1, m2 = data.shape
    if data.bases is not None:
        return first_linked(data, rank, priors, rng)
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
    nu = 4.0
    if data.errors is not None:
        nu2 = float(data.errors.noise[0])
        eta2, nu = (eta2 + nu2, nu2 / (eta2 + nu2)) if nu2 >= 0 else (eta2, 0.5)
    weights = np.ones(data.by_row.values.size if data.likelihood.weighted else 0)
    left, right = (np.ascontiguousarray(side) for side in sides)
    cuts, latent = first_latent(data)
    return GibbsState(left, right, np.array([0, sigma2, eta2, *tau2, nu, *s2, *cuts]), weights, latent)


def first_linked(data: GibbsData, rank: int, priors: Priors, rng: np.random.Generator) -> GibbsState:
    """Return where a chain with features begins: factors and effects of the size of the data, and little noise.

    The prior of their sizes is too wide to begin from.
    """
    size, (cuts, latent) = max(rank, 1) ** -0.25, first_latent(data)
    left, right = (size * rng.standard_normal((m, rank + 2 * data.effects)) for m in data.shape)
    for side in (left, right):
        side[:, rank + 1 :] = 0.0  # there are no aligned effects
    eta2, nu = priors.noise.draw(rng), 4.0
    if data.errors is not None:
        nu2 = float(data.errors.noise[0])
        eta2, nu = (eta2 + nu2, nu2 / (eta2 + nu2)) if nu2 >= 0 else (eta2, 0.5)
    weights = np.ones(data.by_row.values.size if data.likelihood.weighted else 0)
    scalars = np.array([0.0, priors.signal.draw(rng), eta2, 1.0, 1.0, nu, 1.0, 1.0, *cuts])
    return GibbsState(left, right, scalars, weights, latent)


def first_latent(data: GibbsData) -> tuple[Array, Array]:
    """Return where inner cuts, then weights of lines, and latent values begin.

    That is halfway between the grades, 1, and the told values.
    """
    if data.limits is None:
        return np.empty(0), np.empty(0)
    cuts = data.limits.shared.ends[data.limits.shared.inner, 1]
    weights = np.ones(data.likelihood.count_weights(data.shape))
    return np.concatenate([cuts, weights]), data.by_row.values[data.limits.rows]


def _uniform_frame(m: int, rank: int, rng: np.random.Generator) -> Array:
    """Draw an orthonormal frame, uniformly: QR of a Gaussian matrix, the diagonal of R positive."""
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
    buffers: DrawBuffers,
    thin: int,
    workspace: Workspace | None = None,
    team: ThreadTeam | None = None,
    plain: bool = False,
) -> GibbsState:
    """Run one sweep for each beta; write every `thin`-th state into `buffers` (0: none). `state` is not changed.

    Pass the same `workspace` to all steps of a chain. With a `team`, its threads share each sweep; the draws are the
    same bit for bit. plain: effects have no aligned part and, while beta < 1, no component of X can vanish.
    """
    workspace = workspace or Workspace.allocate(data, rank)
    workspace.fill(state, data)
    workspace.scratch.state[kernel.RIDGE] = RIDGE if plain else 0.0
    aligned = workspace.aligned and not plain
    scalars, source = state.scalars.copy(), data.by_col.source
    nu_grid = (
        LINE_NU_GRID if data.likelihood.by_line else NU_GRID if data.likelihood.weighted else NU_GRID[:0]
    )
    errors = workspace.errors
    if (
        errors is not None and data.errors is not None
    ):  # noise is drawn beside them, and kept by the rest of the sweep
        errors.prior[:], hyper = hyper[[kernel.H_ETA, kernel.H_ETA + 1]], hyper.copy()
        scalars[kernel.SHARE] = data.errors.share(scalars)
        hyper[kernel.H_ETA], hyper[kernel.H_ETA + 1] = kernel.FIXED, kernel.FIXED * scalars[kernel.ETA2]
    if workspace.links is not None:
        run_linked_sweeps(betas, thin, workspace, source, nu_grid, hyper, scalars, rng, buffers, team)
    elif team is not None:
        share_sweeps(team, betas, thin, workspace, aligned, source, nu_grid, hyper, scalars, rng, buffers)
    else:
        kernel.run_sweeps(
            betas, thin, rank, data.effects, aligned, workspace.left, workspace.right, workspace.scratch, source,
            workspace.latent, errors, nu_grid, hyper, scalars, rng, *buffers,
        )  # fmt: skip
    latent = np.empty(0) if data.limits is None else workspace.left.values[data.limits.rows]
    weights = workspace.left.weights.astype(np.float64) if data.likelihood.weighted else np.empty(0)
    return GibbsState(*workspace.matrices(), scalars, weights, latent)


class Workspace(NamedTuple):
    """The arrays a chain's sweeps work in: allocated once, filled from a state before a step and read after it."""

    rank: int
    effects: bool
    left: Side
    right: Side
    scratch: Scratch
    latent: Latent | None = None
    errors: Errors | None = None
    links: tuple[Link, Link] | None = None

    @property
    def aligned(self) -> bool:
        """Whether effects have a part in the spaces of X: those of high rank leave none."""
        return self.effects and 0 < 2 * self.rank < min(self.left.free.size, self.right.free.size)

    @property
    def solved(self) -> tuple[int, int]:
        """How many ridge regressions conjugate gradients solved, and how many they left short of their tolerance."""
        counts = sum((link.sparse.solved.sum(axis=0) for link in self.links or ()), np.zeros(2, np.int64))
        return int(counts[0]), int(counts[1])

    @classmethod
    def allocate(cls, data: GibbsData, rank: int) -> Workspace:
        """Arrays for chains of that rank."""
        K = rank + int(data.effects)
        longest = max(data.shape)
        scratch = Scratch(
            np.zeros((K + PADDING_ROWS, K)), np.empty((rank, rank)), np.empty((rank, rank)), np.empty(rank),
            np.zeros(rank), np.ones(longest), np.zeros(6),
        )  # fmt: skip
        scratch.state[kernel.LINES] = LINES.get(data.likelihood.noise, 0.0)
        left = _side(data.by_row, data.shape[0], rank, K, data)
        right = _side(data.by_col, data.shape[1], rank, K, data)
        latent = None
        if data.limits is not None:  # values of its own, which latent ones replace
            left, right = (side._replace(values=side.values.copy()) for side in (left, right))
            latent, scratch.state[kernel.LIMITS] = data.limits.workspace(), data.limits.rows.size
        errors = None if data.errors is None else data.errors.workspace()
        links = None
        if data.bases is not None:
            rows, cols = data.bases
            links = _link(rows, rank, K), _link(cols, rank, K)
        return cls(rank, data.effects, left, right, scratch, latent, errors, links)

    def fill(self, state: GibbsState, data: GibbsData) -> None:
        """Copy a state into the arrays."""
        R = self.rank
        for side, array in ((self.left, state.left), (self.right, state.right)):
            side.factors[:, :R] = array[:, :R]
            if self.effects:
                side.free[:], side.aligned[:] = array[:, R], array[:, R + 1]
        if state.weights.size:
            self.left.weights[:] = state.weights
            self.right.weights[:] = state.weights[data.by_col.source]
        if self.errors is not None and data.errors is not None:
            eta2, share = state.scalars[kernel.ETA2], data.errors.share(state.scalars)
            weigh_errors(self.errors, eta2, share, data.by_col.source, self.left.weights, self.right.weights)
        if self.latent is not None and data.limits is not None:
            self.left.values[data.limits.rows] = state.latent
            self.right.values[:] = self.left.values[data.by_col.source]
            inner = self.latent.inner
            cuts = state.scalars[N_SCALARS : N_SCALARS + inner.size]
            self.latent.ends[inner, 1], self.latent.ends[inner + 1, 0] = cuts, cuts

    def matrices(self) -> tuple[Array, Array]:
        """Copy the factors and effects of both sides out, as `GibbsState` has them."""
        R = self.rank
        sides = []
        for side in (self.left, self.right):
            array = np.empty((side.free.size, R + 2 * self.effects))
            array[:, :R] = side.factors[:, :R]
            if self.effects:
                array[:, R], array[:, R + 1] = side.free, side.aligned
            sides.append(array)
        return sides[0], sides[1]


def _side(half: Half, m: int, rank: int, K: int, data: GibbsData) -> Side:
    # an empty array of another type, so that the kernel is compiled without weights
    weights = np.ones(half.values.size) if data.weighted else np.empty(0, bool)
    free, aligned, effect = np.zeros((3, m))
    factors, F = _padded(m, rank), _padded(m, rank)
    return Side(
        half.indptr, half.index, half.values, weights, factors, free, aligned, effect, F,
        np.empty((m, K)), np.empty((m, 4)),
    )  # fmt: skip


def _link(basis: Basis, rank: int, K: int) -> Link:
    q, m = basis.U.shape
    H, M, sparse = _padded(q, rank), _padded(m, rank), allocate(basis.sparse, K if basis.iterates else 0)
    return Link(
        basis.U, basis.s2, np.array(link_model.PRIOR), np.zeros(m), H, np.zeros(q), M, np.zeros(m), sparse
    )


def _padded(m: int, rank: int) -> Array:
    """Zeros, m x rank rounded up to whole SIMD vectors, each aligned to a cache line."""
    width = -(-rank // LANES) * LANES
    flat = np.zeros(m * width + LANES)
    skip = -(flat.ctypes.data // flat.itemsize) % LANES
    return flat[skip : skip + m * width].reshape(m, width)


def share_sweeps(
    team: ThreadTeam, betas: Array, keep_every: int, workspace: Workspace, aligned: bool,
    source: NDArray[np.int32], nu_grid: Array, hyper: Array, scalars: Array,
    rng: np.random.Generator, buffers: DrawBuffers,
) -> None:  # fmt: skip
    """Run `kernels.gibbs.run_sweeps` phase by phase, the rows of each phase shared by the team.

    Compiled code deals out blocks of rows to the threads: a call from Python takes tens of microseconds.
    """
    R, effects, left, right, scratch, latent, errors, _ = workspace
    K = R + int(effects)
    rows, cols = block_edges(left.indptr, K), block_edges(right.indptr, K)

    def draw_tasks(edges: NDArray[np.int64], this: Any, other: Any) -> list[Task]:
        dealt = np.zeros(1, dtype=np.int64), edges
        return [partial(kernel.draw_blocks, *dealt, this, other, scratch, R, effects, scalars)] * (
            team.helpers + 1
        )

    for t, beta in enumerate(betas):
        team.share([partial(fill_normal, left.Z, rng), partial(kernel.change_gauge, left, right, scratch, R)])
        kernel.begin_sweep(left, right, scratch, R, effects, aligned, beta, scalars, rng)
        team.share([partial(fill_normal, right.Z, rng), *draw_tasks(rows, left, right)])
        kernel.switch_sides(left, right, scratch, R, effects, aligned, hyper, scalars, rng)
        team.share(draw_tasks(cols, right, left))
        kernel.finish_sweep(left, right, scratch, R, effects, aligned, source, nu_grid, hyper, scalars, rng)
        if errors is not None:
            kernel.update_errors(errors, left, right, scratch, source, hyper, scalars, rng)
        if latent is not None:
            kernel.update_latent(latent, left, right, scratch, hyper, scalars, rng)
        if keep_every > 0 and (t + 1) % keep_every == 0:
            kernel.store_draw(t // keep_every, R, left, right, scalars, *buffers)


def run_linked_sweeps(
    betas: Array, keep_every: int, workspace: Workspace, source: NDArray[np.int32], nu_grid: Array, hyper: Array,
    scalars: Array, rng: np.random.Generator, buffers: DrawBuffers, team: ThreadTeam | None,
) -> None:  # fmt: skip
    """Run sweeps with features; with a team, the rows of each phase are shared by it, to the same bits."""
    R, effects, left, right, scratch, latent, errors, links = workspace
    assert links is not None
    if team is None:
        linked.run_linked_sweeps(
            betas, keep_every, R, effects, left, right, *links, scratch, source, latent, errors, nu_grid,
            hyper, scalars, rng, *buffers,
        )  # fmt: skip
        return
    edges = [block_edges(side.indptr, R + int(effects)) for side in (left, right)]
    for t, beta in enumerate(betas):
        scratch.state[kernel.BETA], scratch.state[kernel.COIN] = beta, 0.0
        for k, (this, other) in enumerate(((left, right), (right, left))):
            fill_normal(this.Z, rng)
            if links[k].U.size:
                linked.set_link(this, other, links[k], scratch, R, effects, k, scalars, rng)
            else:
                share_link(team, this, other, links[k], scratch, R, effects, k, scalars, rng)
            dealt = np.zeros(1, dtype=np.int64), edges[k], this, other, links[k], scratch, R, effects, scalars
            team.share([partial(linked.draw_linked_blocks, *dealt)] * (team.helpers + 1))
        linked.set_norm(left, right, scratch, R)
        kernel.finish_sweep(left, right, scratch, R, effects, False, source, nu_grid, hyper, scalars, rng)
        if errors is not None:
            kernel.update_errors(errors, left, right, scratch, source, hyper, scalars, rng)
        if latent is not None:
            kernel.update_latent(latent, left, right, scratch, hyper, scalars, rng)
        if keep_every > 0 and (t + 1) % keep_every == 0:
            kernel.store_draw(t // keep_every, R, left, right, scalars, *buffers)


def share_link(
    team: ThreadTeam, this: Side, other: Side, link: Link, scratch: Scratch, R: int, effects: bool, which: int,
    scalars: Array, rng: np.random.Generator,
) -> None:  # fmt: skip
    """Run `kernels.link.set_link`, the conjugate gradients shared by the team."""
    linked.begin_link(this, other, link, R)
    lam, counter = 1.0 / scalars[linked.RHO[which]], np.zeros(1, dtype=np.int64)
    set_sides(link.sparse, this.factors, link.free, R, effects, lam, rng)
    team.share([partial(solve_blocks, counter, link.sparse, lam)] * (team.helpers + 1))
    linked.finish_sparse(this, link, scratch, R, effects, which, scalars, rng)


def block_edges(indptr: NDArray[np.int64], K: int) -> NDArray[np.int64]:
    """Split rows into blocks of similar work; all but the last are a multiple of the SIMD width."""
    m = indptr.size - 1
    work = (indptr[1:] - indptr[0]) * float(K * K) + np.arange(1, m + 1) * float(K**3 + 20 * K)
    share = work[-1] / BLOCKS if m else 0.0
    edges = np.searchsorted(work, share * np.arange(1, BLOCKS)) // LANES * LANES
    return np.unique(np.concatenate([[0], edges, [m]])).astype(np.int64)
