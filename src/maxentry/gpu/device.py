"""Chains on devices: observations and states are moved there, sweeps run, draws are read back.

With several devices, rows and columns are dealt out over a mesh of them (`layout.Order`), and every array with one
number or line a row is spread the same way.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache, partial
from typing import Any, NamedTuple

import jax
import numpy as np
from jax import random
from jax.sharding import Mesh, NamedSharding
from jax.sharding import PartitionSpec as Spread

from maxentry._io import user_cache
from maxentry._types import Array
from maxentry.gpu.fused import PIECE, has_kernels
from maxentry.gpu.halves import Setup, SideState
from maxentry.gpu.latent import Ends
from maxentry.gpu.layout import Order, arrange, flatten
from maxentry.gpu.sums import Lines
from maxentry.gpu.sweep import State, run_sweeps
from maxentry.kernels.gibbs import ETA2
from maxentry.observations import Half
from maxentry.posterior.gibbs import RIDGE, DrawBuffers, GibbsData, GibbsState
from maxentry.posterior.schedule import sweep_work
from maxentry.progress import Progress

LEAST_SINGLE = 1e-4  # variance of the noise, in that of the data, down to which single precision is safe
MOST_REPEATS = 2  # in double precision, after which chains go on in single
CHUNK = 32  # sweeps between two checks of the stop flag, at most
CHUNK_WORK = 4e11  # multiplications between two checks: about a tenth of a second
NUMBERS_A_LIMIT = 8  # in double precision, of each measurement where values are latent
MEMORY = 0.5  # share of a device's memory for the sums of a batch of chains
AXIS = "rows"  # of the mesh


def keep_compiled() -> None:
    """Keep compiled sweeps in the user's cache, unless JAX was told of another place."""
    if jax.config.jax_compilation_cache_dir is None:
        jax.config.update("jax_compilation_cache_dir", str(user_cache() / "jax"))


class Observed:
    """The observations of a fit on the devices, in single precision or, where that is needed, in double."""

    def __init__(self, data: GibbsData, threads: int, devices: Sequence[Any] | None = None) -> None:
        keep_compiled()
        self.data, self.threads = data, threads
        self.devices = tuple(jax.devices() if devices is None else devices)
        D = len(self.devices)
        self.orders = Order.by_degree(data.by_row.indptr, D), Order.by_degree(data.by_col.indptr, D)
        self.real: type[np.floating] = np.float32
        self.sides = self._upload()

    @property
    def mesh(self) -> Mesh:
        """The devices as a line."""
        return Mesh(np.array(self.devices), (AXIS,))

    def put(self, array: Any, *axes: str | None) -> Any:
        """Move an array to the devices, spread by these axes."""
        if len(self.devices) == 1:
            return jax.device_put(array, self.devices[0])
        return jax.device_put(array, NamedSharding(self.mesh, Spread(*axes)))

    @property
    def fused(self) -> bool:
        """Whether the kernels for GPUs do the sums: without weights and latent values, in single precision."""
        return not self.slots and self.real is np.float32 and has_kernels(self.devices[0])

    @property
    def slots(self) -> bool:
        """Whether both sides must find what a chain knows of each measurement: its weight, or its latent value."""
        return self.data.likelihood.weighted or self.data.limits is not None

    def _upload(self) -> tuple[Lines, Lines]:
        data, (rows, cols), threads = self.data, self.orders, self.threads

        def put(array: Any, shared: bool = False) -> Any:
            if len(self.devices) == 1:
                return self.put(array if shared else array[0])
            return self.put(array) if shared else self.put(array, AXIS)

        def lines(half: Half, mine: Order, other: Order) -> Lines:
            if self.fused:
                return Lines.of_flat(flatten(half, mine, other, PIECE, threads), put)
            return Lines.of(arrange(half, mine, other, self.real, self.slots, threads), put)

        return lines(data.by_row, rows, cols), lines(data.by_col, cols, rows)

    def go_on_in(self, real: type[np.floating]) -> None:
        """Go on in another precision."""
        self.real = real
        self.sides = self._upload()


@lru_cache(maxsize=16)
def compile_sweeps(setup: Setup, devices: tuple[Any, ...]) -> Callable[..., State]:
    """Return `run_sweeps` for this setup on these devices; it is compiled when it is first called."""
    if len(devices) == 1:
        alone: Callable[..., State] = jax.jit(partial(run_sweeps, setup=setup))
        return alone
    side = SideState(Spread(None, AXIS), Spread(None, AXIS), Spread(None, AXIS))
    state = State(side, side, Spread(), Spread(), Spread())

    def local(states: State, rows: Lines, cols: Lines, *rest: Any) -> State:
        return partial(run_sweeps, setup=setup)(states, rows.here(), cols.here(), *rest)

    def lines(spread: Lines) -> Any:
        return spread.specs(AXIS)

    def run(states: State, rows: Lines, cols: Lines, *rest: Any) -> State:
        specs = (state, lines(rows), lines(cols), *[Spread()] * len(rest))
        mesh = Mesh(np.array(devices), (AXIS,))
        spread = jax.shard_map(local, mesh=mesh, in_specs=specs, out_specs=state, check_vma=False)
        after: State = spread(states, rows, cols, *rest)
        return after

    together: Callable[..., State] = jax.jit(run)
    return together


class Batch(NamedTuple):
    """Chains of one rank that run together."""

    states: Sequence[GibbsState]
    rank: int
    hyper: Array
    generators: Sequence[np.random.Generator]
    buffers: Sequence[DrawBuffers]  # of each chain
    places: Sequence[int]  # of the chains among all of the run
    observers: Sequence[Callable[[DrawBuffers], None]] = ()

    def part(self, which: slice) -> Batch:
        """Some of the chains."""
        return self._replace(
            states=self.states[which], generators=self.generators[which], buffers=self.buffers[which],
            places=self.places[which], observers=self.observers[which],
        )  # fmt: skip


class Control(NamedTuple):
    """How the outside follows a run: the flag to stop, the progress, and the number of draws so far."""

    stop: threading.Event
    progress: Progress
    done: Callable[[Sequence[int], int], None]  # (places of chains, draws that are whole)


def cast(state: State, real: type[np.floating]) -> State:
    """The state in another precision; its scalars are always double."""
    left, right, *rest = jax.tree.map(
        lambda a: a.astype(real), (state.left, state.right, state.weights, state.values)
    )
    return State(left, right, state.scalars, *rest)


class Run:
    """A batch of chains on the devices."""

    def __init__(self, observed: Observed, batch: Batch, control: Control) -> None:
        data, R = observed.data, batch.rank
        aligned = data.effects and 0 < 2 * R < min(data.shape)
        gpu = observed.devices[0].platform == "gpu"
        axis = AXIS if len(observed.devices) > 1 else None
        self.setup = Setup(
            data.shape, data.by_row.values.size, R, data.effects, aligned, data.likelihood.weighted,
            blocks=gpu, chains=len(batch.states), axis=axis,
        )  # fmt: skip
        if data.limits is not None:
            inner = tuple(int(k) for k in data.limits.shared.inner)
            self.setup = self.setup._replace(
                limits=data.limits.rows.size, cuts=inner, often=data.limits.often
            )
        self.observed, self.batch, self.control = observed, batch, control
        words = [g.integers(0, 2**32, 2, dtype=np.uint32) for g in batch.generators]
        shared = batch.generators[0].integers(0, 2**32, 2, dtype=np.uint32)
        self.keys = random.wrap_key_data(observed.put(np.array(words)), impl="threefry2x32")
        self.coins = random.wrap_key_data(observed.put(shared), impl="threefry2x32")
        self.first = 0  # number of the next sweep
        self.repeats = 0  # batches of sweeps that were done again in double precision
        self.single = observed.real is np.float32  # whether to go on in single precision after one of them
        self.chunk = int(
            np.clip(CHUNK_WORK / (sweep_work(data.shape, self.setup.n_obs, R) * len(words)), 1, CHUNK)
        )
        self.ends = Ends._make(map(observed.put, Ends.of(data)))
        self.state = self._to_device(batch.states)

    def _to_device(self, states: Sequence[GibbsState]) -> State:
        R, put, real = self.batch.rank, self.observed.put, self.observed.real

        def side(arrays: list[Array], order: Order) -> SideState:
            padded = np.array(
                [np.vstack([a, np.zeros((1, a.shape[1]))])[order.rows.ravel()] for a in arrays], real
            )
            zeros = np.zeros(padded.shape[:2], real)
            free, aligned = (padded[..., R], padded[..., R + 1]) if self.setup.effects else (zeros, zeros)
            return SideState(*(put(a, None, AXIS) for a in (padded[..., :R], free, aligned)))

        left, right = ([getattr(s, name) for s in states] for name in ("left", "right"))
        weights = np.array([np.append(s.weights, 0.0) if s.weights.size else s.weights for s in states], real)
        scalars = np.array([s.scalars for s in states])
        values = np.array([self._values(s) for s in states], real)
        rows, cols = self.observed.orders
        return State(side(left, rows), side(right, cols), put(scalars), put(weights), put(values))

    def _values(self, state: GibbsState) -> Array:
        """The values of a chain in row order, then a zero; nothing where none is latent."""
        data = self.observed.data
        if data.limits is None:
            return np.empty(0)
        values = np.append(data.by_row.values, 0.0)
        values[data.limits.rows] = state.latent
        return values

    def to_host(self) -> list[GibbsState]:
        """The states of the chains, as the sampler on the processor has them."""
        left, right = (
            np.concatenate(
                [self._read(a, order)[..., None] if a.ndim == 2 else self._read(a, order) for a in side], -1
            )
            for side, order in zip(self.state[:2], self.observed.orders, strict=True)
        )
        if not self.setup.effects:
            left, right = left[..., :-2], right[..., :-2]
        scalars, weights, values = (np.asarray(a, float) for a in self.state[2:])
        limits = self.observed.data.limits
        latent = values if limits is None else values[:, limits.rows]
        return [
            GibbsState(
                np.ascontiguousarray(a),
                np.ascontiguousarray(b),
                s.copy(),
                w[: self.setup.n_obs].copy(),
                z.copy(),
            )
            for a, b, s, w, z in zip(
                left.astype(float), right.astype(float), scalars, weights, latent, strict=True
            )
        ]

    def _read(self, array: jax.Array, order: Order) -> Any:
        """Lines of all chains on the host, in the order of the rows."""
        return np.asarray(self._gather(array))[:, order.place]

    def _gather(self, array: jax.Array) -> jax.Array:
        """The whole array on every host."""
        if array.is_fully_addressable:
            return array
        return jax.jit(lambda a: a, out_shardings=NamedSharding(self.observed.mesh, Spread()))(array)

    def sweep(self, betas: Array, plain: bool = False, meanwhile: Callable[[], None] | None = None) -> bool:
        """Run one sweep for each beta; return False where the run was stopped. meanwhile: done as the first run."""
        for start in range(0, betas.size, self.chunk):
            if self.control.stop.is_set():
                return False
            part = betas[start : start + self.chunk]
            self._run(part, plain, meanwhile)
            meanwhile = None
            self.control.progress.advance(part.size * len(self.batch.states))
        return True

    def _run(self, betas: Array, plain: bool, meanwhile: Callable[[], None] | None) -> None:
        """Run some sweeps; those that are not finite in single precision are done again in double."""
        observed, before = self.observed, self.state
        self.state = self._start(before, betas, plain)
        if meanwhile is not None:
            meanwhile()
        if not self._is_finite() and observed.real is np.float32:
            observed.go_on_in(np.float64)
            self.state = self._start(cast(before, np.float64), betas, plain)
            self.repeats += 1
        if not self._is_finite():
            raise FloatingPointError
        self.first += betas.size
        real = self._choose_precision()
        if real is not observed.real:
            observed.go_on_in(real)
            self.state = cast(self.state, real)

    def _start(self, states: State, betas: Array, plain: bool) -> State:
        """Start the sweeps of these betas on the devices."""
        setup, observed, put = self.setup, self.observed, self.observed.put
        if plain:
            setup = setup._replace(aligned=False, ridge=RIDGE)
        padded, n = np.ones(CHUNK), betas.size
        padded[:n] = betas
        setup = setup._replace(real=np.dtype(observed.real).name, fused=observed.fused)
        return compile_sweeps(setup, observed.devices)(
            states, *observed.sides, put(padded), put(np.int32(self.first)), put(np.int32(n)),
            put(self.batch.hyper), self.keys, self.coins, self.ends,
        )  # fmt: skip

    def _is_finite(self) -> bool:
        return bool(np.isfinite(np.asarray(self.state.scalars)).all())

    def _choose_precision(self) -> type[np.floating]:
        """Single, unless sweeps in it failed too often, or the noise is tiny or has been."""
        noise = np.asarray(self.state.scalars)[:, ETA2].min()
        self.single = self.single and noise > LEAST_SINGLE and self.repeats <= MOST_REPEATS
        return np.float32 if self.single else np.float64

    def sample(self, cold: Array, settle: Array, thin: int, plain: bool) -> None:
        """Anneal, settle, and store every thin-th state in the buffers."""
        if not (self.sweep(cold, plain) and self.sweep(settle)):
            return
        pending: Callable[[], None] | None = None
        watching = len(self.batch.observers) > 0
        for d in range(len(self.batch.buffers[0].row)):
            steps = [np.ones(1)] * thin if watching else [np.ones(thin)]
            for betas in steps:
                if not self.sweep(betas, meanwhile=pending):
                    return self._finish(pending)
                pending = None
                if watching:
                    self._observe()
            pending = partial(self._store, d, self.state)
        self._finish(pending)

    @staticmethod
    def _finish(pending: Callable[[], None] | None) -> None:
        if pending is not None:
            pending()

    def _states(self, state: State) -> Iterator[tuple[Any, ...]]:
        """The factors, effects and scalars of each chain on the host."""
        rows, cols = self.observed.orders
        left, right = self._read(state.left.factors, rows), self._read(state.right.factors, cols)
        row, col = self._read(state.left.effect, rows), self._read(state.right.effect, cols)
        yield from zip(left, right, row, col, np.asarray(state.scalars), strict=True)

    def _store(self, d: int, state: State) -> None:
        """Write a state to draw d of the buffers."""
        R = self.batch.rank
        for buffers, (left, right, row, col, scalars) in zip(
            self.batch.buffers, self._states(state), strict=True
        ):
            buffers.left[d, :, :R], buffers.right[d, :, :R] = left, right
            buffers.row[d], buffers.col[d], buffers.scalars[d] = row, col, scalars
        self.control.done(self.batch.places, d + 1)

    def _observe(self) -> None:
        for observe, arrays in zip(self.batch.observers, self._states(self.state), strict=True):
            observe(DrawBuffers(*(np.asarray(a, float)[None] for a in arrays)))


def batch_size(observed: Observed, rank: int, chains: int) -> int:
    """How many chains' sums fit into the memory of a device; the devices of other hosts are like those of this one."""
    here = next(d for d in observed.devices if d.process_index == jax.process_index())
    stats = here.memory_stats() or {}
    room = MEMORY * stats.get("bytes_limit", 8e9)
    rows = sum(order.rows.shape[1] for order in observed.orders)
    each = 3 * rows * (rank + 2) ** 2 * np.dtype(observed.real).itemsize
    if observed.data.limits is not None:
        each += NUMBERS_A_LIMIT * 8 * observed.data.by_row.values.size // len(observed.devices)
    return int(np.clip(room / each, 1, chains))


def run_batch(
    observed: Observed, batch: Batch, control: Control, cold: Array, settle: Array, thin: int, plain: bool
) -> list[GibbsState]:
    """Run chains of one rank, as many at a time as the memory holds; return their last states."""
    ends: list[GibbsState] = []
    size = batch_size(observed, batch.rank, len(batch.states))
    with jax.enable_x64(True):  # in this thread: double precision where it is asked for
        for start in range(0, len(batch.states), size):
            run = Run(observed, batch.part(slice(start, start + size)), control)
            run.sample(cold, settle, thin, plain)
            ends += run.to_host()
    return ends
