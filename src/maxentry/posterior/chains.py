"""Run chains side by side, each with its own random stream, so the result is the same on any machine.

A chain has a thread of its own, or several where there are more threads than chains (`posterior.shared`).
The compiled sweeps release the interpreter. Between two calls of them a chain reports progress and looks whether
it should stop; an interrupted run keeps what every chain has drawn.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_EXCEPTION, Future, ThreadPoolExecutor, wait
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from maxentry.errors import ParameterError
from maxentry.kernels import gibbs as kernel
from maxentry.kernels.threads import max_threads
from maxentry.labels import place
from maxentry.model.priors import Priors
from maxentry.observations import Observations
from maxentry.posterior import gibbs
from maxentry.posterior.draws import MEMORY, Draws, DrawStore
from maxentry.posterior.gibbs import DrawBuffers, GibbsData, GibbsState, ThreadTeam, Units, Workspace
from maxentry.posterior.schedule import Sampling, sweep_work
from maxentry.progress import Progress, compiling_notice
from maxentry.transform import NONE, Transform

# Draws of a chain with every state on the way to them shown, though only some are kept.
Sweeps = Callable[
    [GibbsState, int, DrawBuffers, int], GibbsState
]  # go on from a state: sweeps, where draws go, how far apart
Observer = Callable[[DrawBuffers], None]
OBSERVED_NUMBERS = 4_000_000  # of the states shown together: 32 MB a chain


def run_with_observer(
    sweeps: Sweeps, state: GibbsState, kept: DrawBuffers, thin: int, observer: Observer
) -> GibbsState:
    """Fill `kept` with every `thin`-th state and show all of them to `observer`; the draws are those without it."""
    states_here = _state_store(kept, thin)
    most, n = len(states_here.row), 0
    for d in range(len(kept.row)):
        for start in range(0, thin, most):
            n = min(most, thin - start)
            state = sweeps(state, n, states_here.part(0, n), 1)
            observer(states_here.part(0, n))
        for array, states in zip(kept, states_here, strict=True):
            array[d] = states[n - 1]
    return state


def _state_store(kept: DrawBuffers, most: int) -> DrawBuffers:
    """Room for some states, at most so many, of the shapes that `kept` has."""
    numbers = sum(array[:1].size for array in kept)
    n = max(1, min(most, OBSERVED_NUMBERS // max(numbers, 1)))
    left, right, row, col, scalars = (np.zeros((n, *array.shape[1:]), array.dtype) for array in kept)
    return DrawBuffers(left, right, row, col, scalars)


Array = NDArray[np.float64]
PriorsOf = Callable[[int], Priors]  # the priors of a chain of a given rank
STUCK_RATIO, STUCK_NATS = (
    2.0,
    30.0,
)  # a chain is stuck where its noise sd is so much, its log mass so far, off
CHUNK_WORK = 4e8  # multiplications between two looks at the stop flag: about a tenth of a second
SHARED_WORK = 3e7  # multiplications of a sweep from which on threads may share it: two or three milliseconds


class Chain(NamedTuple):
    """What a chain needs to go on: its rank, where it stands and its random stream."""

    rank: int
    state: GibbsState
    stream: dict[str, Any]  # the state of the bit generator, plain numbers

    def generator(self) -> np.random.Generator:
        """The chain's random generator, where it left off."""
        bits = np.random.PCG64()
        bits.state = self.stream  # type: ignore[assignment]
        return np.random.Generator(bits)


@dataclass(frozen=True, eq=False)
class ChainRun:
    """Chains and their draws in standard units: arrays (chain, draw, ...); factors padded to the largest rank."""

    chains: tuple[Chain, ...]
    kept: DrawBuffers
    places: tuple[int, ...]  # which of the chains that were started these are: an interrupt may lose some
    interrupted: bool = False
    draw_store: DrawStore = MEMORY  # where the draws are

    @property
    def ranks(self) -> tuple[int, ...]:
        """The rank of each chain."""
        return tuple(chain.rank for chain in self.chains)


def drop_stuck_chains(run: ChainRun, data: GibbsData) -> ChainRun:
    """Leave out chains that annealing has left in a mode without mass, where the others of their rank found better.

    Laplace: the log mass of a mode is about -(N - p) log eta, p the degrees of freedom. A chain with twice the noise
    sd of the median chain, worth 30 nats or more, has no weight in the posterior; pooled with the others it would. With
    N <= p nothing is left out: there every mode may interpolate the data.
    """
    ranks, log_eta = np.array(run.ranks), 0.5 * np.log(run.kept.scalars[..., kernel.ETA2]).mean(1)
    m1, m2 = data.shape
    free = data.by_row.values.size - (ranks * (m1 + m2 - ranks) + data.effects * (m1 + m2))
    above = log_eta - np.array([np.median(log_eta[ranks == rank]) for rank in ranks])
    keep = np.flatnonzero(~((above > np.log(STUCK_RATIO)) & (free * above > STUCK_NATS)))
    if keep.size == ranks.size:
        return run
    which = [int(c) for c in keep]
    left = _select_draws(run.chains, run.kept, which, run.kept.row.shape[1], run.interrupted, run.draw_store)
    return replace(left, places=tuple(run.places[c] for c in which))


def _select_draws(
    chains: Sequence[Chain],
    kept: DrawBuffers,
    which: list[int],
    n_draws: int,
    interrupted: bool,
    draw_store: DrawStore,
) -> ChainRun:
    """The first draws of some chains, factors cut to the largest rank that is left."""
    mine = tuple(chains[c] for c in which)
    top = max(chain.rank for chain in mine)
    left, right = (draw_store.selected(array, which, n_draws, top) for array in (kept.left, kept.right))
    row, col = (draw_store.selected(array, which, n_draws, None) for array in (kept.row, kept.col))
    scalars = np.ascontiguousarray(kept.scalars[which, :n_draws])
    return ChainRun(mine, DrawBuffers(left, right, row, col, scalars), tuple(which), interrupted, draw_store)


def spawn_chains(
    seed: np.random.SeedSequence, data: GibbsData, ranks: Sequence[int], priors: PriorsOf
) -> tuple[Chain, ...]:
    """New chains, one for each rank given, each a draw from the prior with a stream of its own."""
    compiling_notice([kernel.run_sweeps])
    chains = []
    for rank, child in zip(ranks, seed.spawn(len(ranks)), strict=True):
        rng = np.random.Generator(np.random.PCG64(child))
        state = gibbs.init(data, rank, priors(rank), rng)
        chains.append(Chain(rank, state, _stream(rng)))
    return tuple(chains)


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
    observer: Callable[[int, DrawBuffers], None] | None = None,
) -> ChainRun:
    """Run every chain for its annealing, settling and kept sweeps; Ctrl-C keeps what has been drawn.

    observer(c, states): is shown every state of chain c from the first kept sweep on, by that chain's thread.
    """
    compiling_notice([kernel.run_sweeps])
    kept = _allocate_buffers(
        len(chains), sampling.draws, data.shape, max(chain.rank for chain in chains), dtype, draw_store
    )
    done = [0] * len(chains)  # draws kept by each chain
    stop = threading.Event()

    threads = threads or max_threads()
    each = max(1, threads // len(chains))

    def work(c: int) -> Chain:
        chain, mine = chains[c], kept.chain(c)
        try:
            with _thread_team(each, data, chain.rank) as team:
                return _run_chain(
                    chain, data, priors(chain.rank), sampling, mine, done, c, stop, progress, team, observer
                )
        except ZeroDivisionError:
            raise ParameterError(
                "the priors and the values must be of like size for double precision; rescale one of them"
            ) from None

    with ThreadPoolExecutor(threads) as pool:
        futures = [pool.submit(work, c) for c in range(len(chains))]
        interrupted = _wait(futures, stop)
        if not interrupted:
            done_chains = tuple(future.result() for future in futures)
            return ChainRun(done_chains, kept, tuple(range(len(chains))), draw_store=draw_store)
    alive = [c for c, future in enumerate(futures) if not future.cancelled() and not future.exception()]
    return _salvage_draws({c: futures[c].result() for c in alive}, kept, done, draw_store)


def _thread_team(threads: int, data: GibbsData, rank: int) -> AbstractContextManager[ThreadTeam | None]:
    """Threads to share a chain's sweeps, where there are more threads than chains and sweeps are long enough."""
    long = sweep_work(data.shape, data.by_row.values.size, rank) > SHARED_WORK
    if not long or threads <= 1:
        return nullcontext()
    compiling_notice(
        [kernel.draw_blocks, kernel.switch_sides, kernel.finish_sweep]
    )  # by themselves only here
    return ThreadTeam(threads)


def _run_chain(
    chain: Chain, data: GibbsData, priors: Priors, sampling: Sampling, kept: DrawBuffers, done: list[int], c: int,
    stop: threading.Event, progress: Progress, team: ThreadTeam | None,
    observer: Callable[[int, DrawBuffers], None] | None,
) -> Chain:  # fmt: skip
    rng, state, rank, workspace = (
        chain.generator(),
        chain.state,
        chain.rank,
        Workspace.allocate(data, chain.rank),
    )
    hyper = gibbs.hyperparameters(priors)
    nothing = kept.part(0, 0)
    chunk = max(1, int(CHUNK_WORK / sweep_work(data.shape, data.by_row.values.size, rank)))
    betas = sampling.betas()

    def sweeps(state: GibbsState, n: int, here: DrawBuffers, thin: int) -> GibbsState:
        return gibbs.step(state, data, rank, hyper, rng, np.ones(n), here, thin, workspace, team)

    for start in range(0, betas.size, chunk):
        if stop.is_set():
            return Chain(rank, state, _stream(rng))
        part = betas[start : start + chunk]
        state = gibbs.step(state, data, rank, hyper, rng, part, nothing, 0, workspace, team)
        progress.advance(part.size)
    draws = max(1, chunk // sampling.thin)
    for start in range(0, sampling.draws, draws):
        if stop.is_set():
            break
        n = min(draws, sampling.draws - start)
        here = kept.part(start, start + n)
        state = (
            sweeps(state, n * sampling.thin, here, sampling.thin)
            if observer is None
            else run_with_observer(sweeps, state, here, sampling.thin, partial(observer, c))
        )
        done[c] = start + n
        progress.advance(n * sampling.thin)
    return Chain(rank, state, _stream(rng))


def _wait(futures: list[Future[Chain]], stop: threading.Event) -> bool:
    """Wait for all; True if Ctrl-C came, after which every chain ends at its next look at the flag."""
    try:
        pending = set(futures)
        while pending:  # in short waits: one without end cannot be interrupted on every platform
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


def _salvage_draws(
    chains: dict[int, Chain], kept: DrawBuffers, done: list[int], draw_store: DrawStore
) -> ChainRun:
    """The largest rectangle of draws after an interrupt: d draws of every chain that has at least d."""
    have = np.array([done[c] if c in chains else 0 for c in range(len(done))])
    best = max(range(1, have.max() + 1), key=lambda d: d * int((have >= d).sum()), default=0)
    if best == 0:
        raise KeyboardInterrupt("interrupted before the first draw; nothing to keep")
    which = [int(c) for c in np.flatnonzero(have >= best)]
    every = [chains.get(c) for c in range(len(done))]
    return _select_draws(every, kept, which, best, True, draw_store)  # type: ignore[arg-type]


def _allocate_buffers(
    n_chains: int,
    n_draws: int,
    shape: tuple[int, int],
    rank: int,
    dtype: type[np.floating],
    draw_store: DrawStore,
) -> DrawBuffers:
    m1, m2 = shape
    lead = (n_chains, n_draws)
    left, right = (
        draw_store.zeros("left", (*lead, m1, rank), dtype),
        draw_store.zeros("right", (*lead, m2, rank), dtype),
    )
    row, col = draw_store.zeros("row", (*lead, m1), dtype), draw_store.zeros("col", (*lead, m2), dtype)
    return DrawBuffers(left, right, row, col, np.empty((*lead, kernel.N_SCALARS)))


def _stream(rng: np.random.Generator) -> dict[str, Any]:
    return dict(rng.bit_generator.state)


# What was fitted: the scale, noise law, effects, priors and units; and the way from a run to draws on that scale.


@dataclass(frozen=True)
class ModelSpec:
    """The model of a fit. Priors given by the user are in the data's units, so nothing is standardised then.

    With a transform, the values on its scale take the place of the data throughout, for priors and units too.
    """

    noise: gibbs.Noise = "gaussian"
    effects: bool = True
    priors: Priors | None = None
    units: Units | None = None
    transform: Transform = NONE

    def in_units_of(self, observations: Observations) -> ModelSpec:
        """The same with units fixed: those of an earlier fit, or standard ones of these observations."""
        return replace(self, units=self.data(observations).units)

    def data(self, observations: Observations) -> gibbs.GibbsData:
        """The observations, in the user's units, as the sampler wants them."""
        z = transform_values(self.transform, observations)
        return gibbs.prepare(z, self.effects, self.noise, self.priors is None, self.units)

    def priors_of(self, shape: tuple[int, int]) -> PriorsOf:
        """The priors of a chain of a given rank."""
        given = self.priors
        return lambda rank: Priors.weak(shape, rank) if given is None else given


def transform_values(transform: Transform, observations: Observations) -> Observations:
    """The observations with values on the scale of the model; one that has no place there is named by its labels."""
    if transform == NONE:
        return observations
    o = observations
    z = transform.forward(o.values, lambda k: place(o.row_axis, o.rows[k], o.col_axis, o.cols[k]))
    return replace(o, values=z)


def draws_in_user_units(run: ChainRun, fit: ModelSpec) -> Draws:
    """The draws of a run in the units of the (transformed) data; its arrays, often large, are scaled in place."""
    assert fit.units is not None
    shift, scale = fit.units
    left, right, row, col, scalars = run.kept
    for array in (left, row, col):
        array *= np.asarray(scale, array.dtype)
    mu = shift + scale * scalars[..., kernel.MU]
    eta2, sigma2 = (scale**2 * scalars[..., k] for k in (kernel.ETA2, kernel.SIGMA2))
    nu = scalars[..., kernel.NU].copy() if fit.noise == "student" else None
    return Draws(left, right, row, col, mu, eta2, sigma2 if left.shape[-1] else None, nu)
