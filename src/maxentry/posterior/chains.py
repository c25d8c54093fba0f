"""Run chains in parallel, each with its own random stream, so the draws are the same on any machine.

Start with `spawn_chains` and `run_chains`; `ModelSpec` says what is fitted, `draws_in_user_units` undoes the
standardisation.

A chain has a thread of its own, or a `ThreadTeam` where there are more threads than chains. The compiled sweeps release
the interpreter. Between two calls of them a chain reports progress and checks whether it should stop; an interrupted
run keeps the draws of every chain so far. With `workers=`, chains run on a Dask cluster instead.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_EXCEPTION, Future, ThreadPoolExecutor, wait
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Literal, NamedTuple, Protocol

import numpy as np

from maxentry._io import ThreadTeam, max_threads
from maxentry._types import Array
from maxentry.engines.cluster import Workers, is_cancelled
from maxentry.errors import ParameterError
from maxentry.kernels import gibbs as kernel
from maxentry.kernels.link import RHO, run_linked_sweeps
from maxentry.labels import place
from maxentry.model.likelihood import GAUSSIAN, Likelihood, Noise
from maxentry.model.link import Basis, Observed, find_basis
from maxentry.model.priors import KNOWN, Priors
from maxentry.model.slips import name_far
from maxentry.observations import Observations
from maxentry.posterior import gibbs
from maxentry.posterior.diagnostics import find_stuck_chains
from maxentry.posterior.draws import MEMORY, Draws, DrawStore
from maxentry.posterior.gibbs import DrawBuffers, GibbsData, GibbsState, Units, Workspace
from maxentry.posterior.schedule import ABUNDANT, Sampling, sweep_work
from maxentry.progress import Progress, compiling_notice
from maxentry.transform import NONE, Scales, Scaling, Transform, ValueMap, find_scales

PriorsOf = Callable[[int], Priors]  # the priors of a chain of a given rank
Sweeps = Callable[[GibbsState, Array, DrawBuffers, int], GibbsState]  # (state, betas, buffers, thin) -> state
Observer = Callable[[DrawBuffers], None]
StateObserver = Callable[[int, DrawBuffers | None], None]  # (chain, states); None: forget the chain's states
CHUNK_WORK = 4e8  # multiplications between two checks of the stop flag: about a tenth of a second
SHARED_WORK = 3e7  # multiplications of a sweep from which threads may share it: two or three milliseconds
NEW_DIRECTIONS = 0.5  # size of a new direction over that of the others
ALMOST_ONE = 1 - 1e-9  # a beta with equal noises: chains find their mode before lines have noises
OBSERVED_NUMBERS = 4_000_000  # numbers of the states passed to an observer at once: 32 MB a chain


@dataclass(frozen=True)
class ModelSpec:
    """The model that is fitted: likelihood, effects, priors, units, transform and scales.

    Priors given by the user are in the data's units, so nothing is standardised then. With a transform, the values on
    its scale take the place of the data throughout, for priors and units too; so do values of columns or rows on
    scales of their own.
    """

    likelihood: Likelihood = GAUSSIAN
    effects: bool = True
    priors: Priors | None = None
    units: Units | None = None
    transform: Transform = NONE
    scale: Scaling = "none"
    scales: Scales | None = None
    features: tuple[Basis | Observed | None, Basis | Observed | None] = (None, None)  # of rows, of columns
    idle: tuple[Basis | None, Basis | None] = (None, None)  # features given, but left out: they say nothing
    p_values: tuple[float | None, float | None] = (None, None)  # of features, where it was tested

    @property
    def noise(self) -> Noise:
        """The name of the noise law."""
        return self.likelihood.noise

    @property
    def value_map(self) -> ValueMap:
        """From values in the user's units to those that are modelled, and back."""
        return ValueMap(self.transform, self.scales)

    def in_units_of(self, observations: Observations) -> ModelSpec:
        """Fix scales and units: those of an earlier fit, or standard ones of these observations."""
        fit = self if self.units is not None else replace(self, scales=self.find_scales(observations))
        return replace(fit, units=fit.data(observations).units)

    def find_scales(self, observations: Observations) -> Scales | None:
        """Find the scales of columns or rows; given priors or noise are in one unit, so "auto" finds none then."""
        one_unit = self.priors is not None or self.likelihood.noise_sd is not None
        if self.scale == "none" or (self.scale == "auto" and one_unit) or self.likelihood.discrete:
            return None
        z = self.statements(observations, ValueMap(self.transform))
        return find_scales(self.scale, z.rows, z.cols, z.values, z.shape, self.effects)

    def data(self, observations: Observations) -> gibbs.GibbsData:
        """Standardise observations in the user's units for the sampler."""
        z = self.statements(observations)
        bases = self.bases(observations)
        return gibbs.prepare(z, self.effects, self.likelihood, self.priors is None, self.units, bases)

    def bases(self, observations: Observations) -> tuple[Basis, Basis] | None:
        """What features can say of rows and of columns; None where neither have any."""
        o, (rows, cols) = observations, self.features
        return (find_basis(rows, o.observed, 0), find_basis(cols, o.observed, 1)) if self.linked else None

    @property
    def linked(self) -> bool:
        """Whether rows or columns have features that are used."""
        return any(given is not None for given in self.features)

    def statements(self, observations: Observations, value_map: ValueMap | None = None) -> Observations:
        """Return what observations say of their latent values, on the scale of the model."""
        value_map = self.value_map if value_map is None else value_map
        return model_values(value_map, self.likelihood.statements(observations))

    def gathered(self, observations: Observations) -> Observations:
        """Return the measurements that the sampler takes, which may be the mean of several of an entry."""
        return gibbs.gather(self.likelihood, self.statements(observations)).observations

    def priors_of(self, shape: tuple[int, int]) -> PriorsOf:
        """The priors of a chain of a given rank."""
        given, known = self.priors, self.likelihood.known_noise

        def priors(rank: int) -> Priors:
            found = Priors.weak(shape, rank, known) if given is None else given
            return replace(found, noise=KNOWN) if known else found

        return priors


def model_values(value_map: ValueMap, observations: Observations) -> Observations:
    """Map the values to those that are modelled; an error names a value outside a transform's domain by its labels."""
    if value_map.plain:
        return observations
    o = observations

    def where(k: int) -> str:
        return place(o.row_axis, o.rows[k], o.col_axis, o.cols[k])

    def errors(told: Array) -> Array | None:
        return None if o.se is None else o.se * value_map.slope(told, o.rows, o.cols)

    if o.low is None or o.high is None:
        z = value_map.forward(o.values, o.rows, o.cols, where)
        return replace(o, values=z, se=errors(o.values))
    value_map.transform.check_limits(o.low, o.high, where)
    low, high = (value_map.forward_end(end, o.rows, o.cols) for end in (o.low, o.high))
    limited, inside = o.low < o.high, value_map.transform.inside(o.values)
    told = np.where(limited & ~inside, np.where(np.isfinite(low), o.low, o.high), o.values)
    z = value_map.forward(told, o.rows, o.cols, where)
    return replace(o, values=z, low=low, high=high, se=errors(told))


class Chain(NamedTuple):
    """All a chain needs to continue: its rank, state and random stream."""

    rank: int
    state: GibbsState
    stream: dict[str, Any]  # the state of the bit generator, plain numbers
    solved: tuple[int, int] = (
        0,
        0,
    )  # regressions of its last run by conjugate gradients, and those that fell short

    @property
    def eta2(self) -> float:
        """The variance of the noise."""
        return float(self.state.scalars[kernel.ETA2])

    def generator(self) -> np.random.Generator:
        """The chain's random generator, where it stopped."""
        bits = np.random.PCG64()
        bits.state = self.stream  # type: ignore[assignment]
        return np.random.Generator(bits)


@dataclass(frozen=True, eq=False)
class ChainRun:
    """Chains and their draws in standard units, (chain, draw, ...), factors padded to the largest rank."""

    chains: tuple[Chain, ...]
    buffers: DrawBuffers
    places: tuple[int, ...]  # positions among the chains that were started: an interrupt may lose some
    interrupted: bool = False
    draw_store: DrawStore = MEMORY  # where the draws are stored

    def select(self, which: list[int], n_draws: int) -> ChainRun:
        """Keep the first draws of some chains, factors cut to their largest rank."""
        store, buffers, chains = self.draw_store, self.buffers, tuple(self.chains[c] for c in which)
        top = max(chain.rank for chain in chains)
        left, right = (store.selected(array, which, n_draws, top) for array in (buffers.left, buffers.right))
        row, col = (store.selected(array, which, n_draws, None) for array in (buffers.row, buffers.col))
        scalars = np.ascontiguousarray(buffers.scalars[which, :n_draws])
        places = tuple(self.places[c] for c in which)
        return ChainRun(chains, DrawBuffers(left, right, row, col, scalars), places, self.interrupted, store)


def describe_far(fit: ModelSpec, o: Observations) -> str:
    """Name values that lie far from all others, which Gaussian noise takes for signal; "" where there are none."""
    if fit.noise == "student" or fit.likelihood.discrete or o.low is not None:
        return ""
    return name_far(model_values(fit.value_map, o).values, o)


def spawn_chains(
    seed: np.random.SeedSequence, data: GibbsData, ranks: Sequence[int], priors: PriorsOf
) -> tuple[Chain, ...]:
    """Start one chain for each rank given: a draw from the prior and a random stream of its own."""
    compiling_notice([run_linked_sweeps if data.bases else kernel.run_sweeps])
    chains = []
    for rank, child in zip(ranks, seed.spawn(len(ranks)), strict=True):
        rng = np.random.Generator(np.random.PCG64(child))
        state = gibbs.init(data, rank, priors(rank), rng)
        chains.append(Chain(rank, state, dict(rng.bit_generator.state)))
    return tuple(chains)


def grow_chains(
    seed: np.random.SeedSequence, chains: Sequence[Chain], data: GibbsData, rank: int, priors: PriorsOf
) -> tuple[Chain, ...]:
    """Continue chains at a higher rank: what they found stays, the new directions begin at random."""
    grown = []
    for chain, child in zip(chains, seed.spawn(len(chains)), strict=True):
        rng, R = np.random.Generator(np.random.PCG64(child)), chain.rank
        fresh, old = gibbs.init(data, rank, priors(rank), rng), chain.state
        for new, now in ((fresh.left, old.left), (fresh.right, old.right)):
            if R:  # of the size of the others, so that the first sweeps neither drown in them nor start from nothing
                size = float(np.sqrt(np.mean(now[:, :R] ** 2)))
                new[:, R:rank] = NEW_DIRECTIONS * size * rng.standard_normal((len(new), rank - R))
                new[:, :R] = now[:, :R]
            new[:, rank:] = now[:, R:]
        scalars = old.scalars.copy() if R else fresh.scalars
        if not R:
            for k in (kernel.MU, kernel.ETA2, kernel.TAU2_ROW, kernel.TAU2_COL):
                scalars[k] = old.scalars[k]
            scalars[kernel.N_SCALARS :] = old.scalars[kernel.N_SCALARS :]
        state = GibbsState(fresh.left, fresh.right, scalars, old.weights, old.latent)
        grown.append(Chain(rank, state, dict(rng.bit_generator.state)))
    return tuple(grown)


def run_chains(
    chains: Sequence[Chain],
    data: GibbsData,
    priors: PriorsOf,
    sampling: Sampling,
    progress: Progress,
    *,
    threads: int | None = None,
    dtype: type[np.floating] = np.float64,
    draw_store: DrawStore = MEMORY,
    observer: StateObserver | None = None,
    plain: bool = False,
    workers: Workers | None = None,
    engine: Literal["cpu", "gpu"] = "cpu",
) -> ChainRun:
    """Run every chain: anneal, settle, then store draws. Ctrl-C keeps the draws so far.

    observer(c, states): called by the thread of chain c with every state after settling, stored or not.
    plain: anneal on the path without aligned effects (docs/mathematics.md).
    workers: of a Dask cluster, on which the chains run; the draws are the same. No observer then.
    engine: where sweeps run otherwise; on a GPU with other random numbers.
    """
    if engine == "cpu":
        compiling_notice([run_linked_sweeps if data.bases else kernel.run_sweeps])
    lead, (m1, m2), rank = (len(chains), sampling.draws), data.shape, max(chain.rank for chain in chains)
    shapes = {"left": (*lead, m1, rank), "right": (*lead, m2, rank), "row": (*lead, m1), "col": (*lead, m2)}
    left, right, row, col = (draw_store.zeros(name, shape, dtype) for name, shape in shapes.items())
    buffers = DrawBuffers(left, right, row, col, np.empty((*lead, data.n_scalars)))
    done = [0] * len(chains)  # draws of each chain so far
    job = ChainJob(data, sampling, plain)
    try:
        if workers is not None:
            ends, interrupted = _run_on_cluster(workers, job, chains, priors, buffers, done, progress)
        else:
            run_them = _run_in_threads if engine == "cpu" else _run_on_gpu
            ends, interrupted = run_them(
                job, chains, priors, buffers, done, progress, threads or max_threads(), observer
            )
    except (ZeroDivisionError, FloatingPointError):
        raise ParameterError(
            "the priors and the values must be of like size for double precision; rescale one of them"
        ) from None
    last = tuple(end or chain for end, chain in zip(ends, chains, strict=True))
    run = ChainRun(last, buffers, tuple(range(len(chains))), interrupted, draw_store)
    if not interrupted:
        return run
    return _salvage_draws(run, [n if end else 0 for n, end in zip(done, ends, strict=True)])


class ChainJob(NamedTuple):
    """What all chains of a run share: the data, the length of the run, and the path on which they anneal."""

    data: GibbsData
    sampling: Sampling
    plain: bool


class StopFlag(Protocol):
    """Says whether a chain should stop."""

    def is_set(self) -> bool:
        """Whether to stop now."""


def _run_in_threads(
    job: ChainJob, chains: Sequence[Chain], priors: PriorsOf, buffers: DrawBuffers, done: list[int],
    progress: Progress, threads: int, observer: StateObserver | None,
) -> tuple[list[Chain | None], bool]:  # fmt: skip
    """Run each chain in a thread of its own; return their ends, and whether they were interrupted."""
    stop = threading.Event()
    each = max(1, threads // len(chains))

    def work(c: int) -> Chain:
        chain, report = chains[c], partial(_report, progress, done, c)
        with _thread_team(each, job.data, chain.rank) as team:
            watch = None if observer is None else partial(observer, c)
            return _run_chain(job, chain, priors(chain.rank), buffers.at(c), stop, report, team, watch)

    with ThreadPoolExecutor(threads) as pool:
        futures = [pool.submit(work, c) for c in range(len(chains))]
        interrupted = _wait(futures, stop)
    ends = [None if future.cancelled() or future.exception() else future.result() for future in futures]
    return ends, interrupted


def _run_on_gpu(
    job: ChainJob, chains: Sequence[Chain], priors: PriorsOf, buffers: DrawBuffers, done: list[int],
    progress: Progress, threads: int, observer: StateObserver | None,
) -> tuple[list[Chain | None], bool]:  # fmt: skip
    """Run the chains of each rank as a batch; return their ends, and whether they were interrupted."""
    from maxentry.gpu.device import Batch, Control, Observed, run_batch

    stop, sampling = threading.Event(), job.sampling
    cold, settle = np.split(sampling.betas(), [sampling.anneal])

    def count(places: Sequence[int], n: int) -> None:
        for c in places:
            done[c] = n

    def work() -> list[Chain | None]:
        ends: list[Chain | None] = list(chains)
        observed, control = Observed(job.data, threads), Control(stop, progress, count)
        for rank in sorted({chain.rank for chain in chains}):
            places = [c for c, chain in enumerate(chains) if chain.rank == rank]
            generators = [chains[c].generator() for c in places]
            watching = [] if observer is None else [partial(observer, c) for c in places]
            batch = Batch(
                [chains[c].state for c in places], rank, gibbs.hyperparameters(priors(rank)), generators,
                [buffers.at(c) for c in places], places, watching,
            )  # fmt: skip
            states = run_batch(observed, batch, control, cold, settle, sampling.thin, job.plain)
            for c, state, rng in zip(places, states, generators, strict=True):
                ends[c] = Chain(rank, state, dict(rng.bit_generator.state))
        return ends

    with ThreadPoolExecutor(1) as pool:  # in a thread, so that Ctrl-C is heard
        future = pool.submit(work)
        interrupted = _wait([future], stop)
    return future.result(), interrupted


def _report(progress: Progress, done: list[int], c: int, sweeps: int, draws: int) -> None:
    """Count sweeps, and the draws of chain c so far."""
    done[c] = draws
    progress.advance(sweeps)


def _run_on_cluster(
    workers: Workers, job: ChainJob, chains: Sequence[Chain], priors: PriorsOf, buffers: DrawBuffers, done: list[int],
    progress: Progress,
) -> tuple[list[Chain | None], bool]:  # fmt: skip
    """Run each chain as a task of a Dask cluster; Ctrl-C keeps the chains that have come back."""
    ends: list[Chain | None] = [None] * len(chains)
    tasks = [(chain, priors(chain.rank), buffers.left.dtype.type) for chain in chains]
    try:
        for c, (end, draws) in workers.run(run_chain_there, tasks, job):
            for array, new in zip(buffers.at(c), draws, strict=True):
                array[..., : new.shape[-1]] = new
            ends[c], done[c] = end, job.sampling.draws
            progress.advance(job.sampling.sweeps)
    except KeyboardInterrupt:
        return ends, True
    return ends, False


class TaskFlag:
    """Tells a chain on a cluster's worker to stop when its task is cancelled."""

    def is_set(self) -> bool:
        """Whether the task was cancelled."""
        return is_cancelled()


def run_chain_there(
    job: ChainJob, task: tuple[Chain, Priors, type[np.floating]]
) -> tuple[Chain, DrawBuffers]:
    """Run one chain on a cluster's worker, with one thread; return its end and its draws."""
    chain, priors, dtype = task
    (m1, m2), n = job.data.shape, job.sampling.draws
    shapes = (n, m1, chain.rank), (n, m2, chain.rank), (n, m1), (n, m2)
    left, right, row, col = (np.zeros(shape, dtype) for shape in shapes)
    buffers = DrawBuffers(left, right, row, col, np.empty((n, job.data.n_scalars)))
    end = _run_chain(job, chain, priors, buffers, TaskFlag(), lambda *_: None, None, None)
    return end, buffers


def _thread_team(threads: int, data: GibbsData, rank: int) -> AbstractContextManager[ThreadTeam | None]:
    """A team to share a chain's sweeps, if there are more threads than chains and sweeps are long enough."""
    long = sweep_work(data.shape, data.by_row.values.size, rank, data.features_work) > SHARED_WORK
    if not long or threads <= 1:
        return nullcontext()
    compiling_notice([kernel.draw_blocks, kernel.switch_sides, kernel.finish_sweep])
    return ThreadTeam(threads)


def _run_chain(
    job: ChainJob, chain: Chain, priors: Priors, buffers: DrawBuffers, stop: StopFlag,
    report: Callable[[int, int], None], team: ThreadTeam | None, observer: Observer | None,
) -> Chain:  # fmt: skip
    """Run one chain; `report` gets the sweeps since the last call and the draws so far."""
    data, sampling, plain = job
    rng, state, rank = chain.generator(), chain.state, chain.rank
    workspace = Workspace.allocate(data, rank)
    hyper = gibbs.hyperparameters(priors)
    nothing = buffers.at(slice(0, 0))
    work = sweep_work(data.shape, data.by_row.values.size, rank, data.features_work)
    chunk = max(1, int(CHUNK_WORK / work))

    def sweeps(
        state: GibbsState, betas: Array, here: DrawBuffers, thin: int, plain: bool = False
    ) -> GibbsState:
        state = gibbs.step(state, data, rank, hyper, rng, betas, here, thin, workspace, team, plain)
        if not np.isfinite(state.scalars).all():
            raise FloatingPointError
        return state

    cold, settle = np.split(sampling.betas(), [sampling.anneal])
    if data.likelihood.by_line and sampling.anneal:
        settle[: 3 * settle.size // 4] = ALMOST_ONE
    if data.bases is not None or _stretches(data):
        cold[:] = ALMOST_ONE if data.likelihood.by_line else 1.0  # a low power lets components vanish
    for betas, plainly in ((cold, plain), (settle, False)):
        for start in range(0, betas.size, chunk):
            if stop.is_set():
                break
            part = betas[start : start + chunk]
            state = sweeps(state, part, nothing, 0, plainly)
            report(part.size, 0)
    draws = max(1, chunk // sampling.thin)
    for start in range(0, sampling.draws, draws):
        if stop.is_set():
            break
        n = min(draws, sampling.draws - start)
        here = buffers.at(slice(start, start + n))
        if observer is None:
            state = sweeps(state, np.ones(n * sampling.thin), here, sampling.thin)
        else:
            state = run_with_observer(sweeps, state, here, sampling.thin, observer)
        report(n * sampling.thin, start + n)
    return Chain(rank, state, dict(rng.bit_generator.state), workspace.solved)


def _stretches(data: GibbsData) -> bool:
    """Whether a low power of the likelihood would stretch X, and sweeps would not shrink it again in time.

    The noise of yes and no has a size of its own, so that X grows by 1 / sqrt(beta). Where data abound it takes
    hundreds of sweeps to come back, and there is no need to anneal.
    """
    return data.likelihood.kind == "yes/no" and data.by_row.values.size >= ABUNDANT * sum(data.shape)


def run_with_observer(
    sweeps: Sweeps, state: GibbsState, buffers: DrawBuffers, thin: int, observer: Observer
) -> GibbsState:
    """Store every `thin`-th state in `buffers` and pass all states to `observer`; the draws stay the same."""
    numbers = sum(array[:1].size for array in buffers)  # of one state
    most, n = max(1, min(thin, OBSERVED_NUMBERS // max(numbers, 1))), 0
    states = DrawBuffers._make(np.zeros((most, *array.shape[1:]), array.dtype) for array in buffers)
    for d in range(len(buffers.row)):
        for start in range(0, thin, most):
            n = min(most, thin - start)
            state = sweeps(state, np.ones(n), states.at(slice(0, n)), 1)
            observer(states.at(slice(0, n)))
        for array, new in zip(buffers, states, strict=True):
            array[d] = new[n - 1]
    return state


def _wait(futures: Sequence[Future[Any]], stop: threading.Event) -> bool:
    """Wait for all chains; True after Ctrl-C, when every chain stops at its next check of the flag."""
    try:
        pending = set(futures)
        while pending:  # short waits: an endless one cannot be interrupted on every platform
            done, pending = wait(pending, timeout=0.1, return_when=FIRST_EXCEPTION)
            for future in done:
                future.result()
        return False
    except BaseException as error:
        stop.set()
        for future in futures:
            future.cancel()
        wait(futures)
        if isinstance(error, KeyboardInterrupt):
            return True
        raise


def _salvage_draws(run: ChainRun, done: list[int]) -> ChainRun:
    """Keep the largest rectangle of draws after an interrupt: d draws of every chain that has at least d."""
    have = np.array(done)
    best = max(range(1, have.max() + 1), key=lambda d: d * int((have >= d).sum()), default=0)
    if best == 0:
        raise KeyboardInterrupt("interrupted before the first draw; nothing to keep")
    return run.select(np.flatnonzero(have >= best).tolist(), best)


def stuck_chains(run: ChainRun, data: GibbsData) -> list[int]:
    """Positions of the chains of a population that annealing left in a mode without mass."""
    eta2, ranks = run.buffers.scalars[..., kernel.ETA2], np.array([chain.rank for chain in run.chains])
    by_line, chains = data.likelihood.by_line, run.chains
    typical = np.array([c.eta2 / np.exp(np.log(c.state.weights).mean()) for c in chains]) if by_line else None
    stuck = find_stuck_chains(eta2, ranks, data.by_row.values.size, data.shape, data.effects, typical)
    return [int(c) for c in np.flatnonzero(stuck)]


def anneal_again(
    run: ChainRun,
    stuck: list[int],
    data: GibbsData,
    priors: PriorsOf,
    sampling: Sampling,
    progress: Progress,
    *,
    observer: StateObserver | None = None,
    **options: Any,
) -> ChainRun:
    """Anneal these chains once more, on the path without aligned effects; their draws are replaced in place."""
    if observer is not None:
        for c in stuck:
            observer(c, None)
        options["observer"] = lambda k, states: observer(stuck[k], states)
    chains = list(run.chains)
    with run.draw_store.aside() as aside:
        options["draw_store"] = aside
        try:
            again = run_chains(
                [run.chains[c] for c in stuck], data, priors, sampling, progress, plain=True, **options
            )
        except KeyboardInterrupt:  # before its first draw; the others are whole
            return replace(run, interrupted=True)
        except OSError:  # no room for their draws: they are left out
            return run
        if again.interrupted:
            return replace(run, interrupted=True)
        for k, c in enumerate(stuck):
            chains[c] = again.chains[k]
            for old, new in zip(run.buffers, again.buffers, strict=True):
                old[c, ..., : new.shape[-1]] = new[k]
    return replace(run, chains=tuple(chains))


def drop_stuck_chains(run: ChainRun, data: GibbsData) -> ChainRun:
    """Drop the chains that are still stuck."""
    stuck = set(stuck_chains(run, data))
    others = [c for c in range(len(run.chains)) if c not in stuck]
    return run.select(others, run.buffers.row.shape[1]) if stuck else run


def draws_in_user_units(run: ChainRun, fit: ModelSpec) -> Draws:
    """Convert draws to the units of the (transformed) data; the run's arrays, often large, are scaled in place."""
    assert fit.units is not None
    shift, scale = fit.units
    left, right, row, col, scalars = run.buffers
    for array in (left, row, col):
        array *= np.asarray(scale, array.dtype)
    mu = shift + scale * scalars[..., kernel.MU]
    eta2, sigma2 = (scale**2 * scalars[..., k] for k in (kernel.ETA2, kernel.SIGMA2))
    nu = scalars[..., kernel.NU].copy() if fit.likelihood.weighted else None
    cuts = draws_of_cuts(scalars, fit) if fit.likelihood.levels else None
    omega2 = eta2 * (1 - scalars[..., kernel.SHARE]) if fit.likelihood.split else None
    rho = scalars[..., list(RHO)] if fit.linked else None
    kept = fit.likelihood.count_weights((row.shape[-1], col.shape[-1]))
    spread = 1 / np.sqrt(scalars[..., -kept:]) if kept else None
    core = sigma2 if left.shape[-1] else None
    return Draws(left, right, row, col, mu, eta2, core, nu, cuts, omega2, rho, spread)


def draws_of_cuts(scalars: Array, fit: ModelSpec) -> Array:
    """Return the cuts between the grades in each state, (..., K - 1), from the vectors of scalars."""
    assert fit.units is not None
    first = fit.likelihood.first_cuts
    cuts = np.empty((*scalars.shape[:-1], len(first)))
    cuts[..., 0], cuts[..., -1] = first[0], first[-1]
    inner = scalars[..., kernel.N_SCALARS : kernel.N_SCALARS + fit.likelihood.n_cuts]
    cuts[..., 1 : 1 + fit.likelihood.n_cuts] = fit.units.shift + fit.units.scale * inner
    return cuts
