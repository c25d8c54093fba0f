"""`complete`: a partially observed matrix goes in, its posterior comes out.

The steps: read the observations, check the options, choose the rank (or take over the chains of `start=`), run the
chains, drop stuck ones, and convert the draws to the user's units.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from dataclasses import replace
from os import PathLike
from typing import Any, Literal

import numpy as np

from maxentry.errors import ParameterError
from maxentry.model.priors import Priors
from maxentry.observations import Observations
from maxentry.posterior import chains, file_format, gibbs
from maxentry.posterior.chains import ModelSpec, draws_in_user_units, transform_values
from maxentry.posterior.draws import MEMORY, DrawStore, FolderStore
from maxentry.posterior.posterior import Posterior
from maxentry.posterior.rank import RankChoice, check_rank, choose_rank
from maxentry.posterior.schedule import Kind, Sampling
from maxentry.posterior.streaming import Watched
from maxentry.posterior.warm_start import check_units, restart_chains
from maxentry.progress import track
from maxentry.transform import NONE, Transform


def complete(
    data: Any,
    rank: int | Literal["auto"] = "auto",
    *,
    noise: gibbs.Noise = "gaussian",
    effects: bool = True,
    priors: Priors | None = None,
    transform: str | Transform = "none",
    sampling: Kind | Sampling = "population",
    start: Posterior | None = None,
    seed: int | None = None,
    progress: bool | None = None,
    threads: int | None = None,
    dtype: type[np.floating] = np.float64,
    store: str | PathLike[str] | None = None,
    watch: tuple[Any, Any] | None = None,
    shape: tuple[int, int] | None = None,
    row_labels: Iterable[Hashable] | None = None,
    col_labels: Iterable[Hashable] | None = None,
    row: Hashable | None = None,
    col: Hashable | None = None,
    value: Hashable | None = None,
    row_column: Hashable | None = None,
) -> Posterior:
    """Complete a matrix: sample the posterior of all its entries from the noisy ones that were observed.

    data: an array with NaN for missing, scipy.sparse (unstored = missing), a wide or long pandas or polars frame,
        `(rows, cols, values)` with `shape=`, or `Observations`. How to read it: `shape`, `row_labels`,
        `col_labels`, `row`, `col`, `value`, `row_column`, as in `Observations.of`.
    rank: of the matrix without its row and column effects; "auto" stacks 0, 1, 2, 4, 8, … by held-out prediction.
    noise: "gaussian", or "student" for data with outliers (not for values piled up at a limit: see benchmarks).
    effects: whether rows and columns have means of their own.
    priors: in the units of the (transformed) data; by default weak ones scaled by the data. `Priors.paper()` for the
        paper's.
    transform: "log" for positive values that vary by factors, "logit" for shares between 0 and 1, "percent" for
        percentages, "logit(low, high)": the model is of the transformed values, answers are in the data's units.
    sampling: "population" (dozens of short chains annealed from the prior), "long" (four long chains), or a
        `Sampling(...)`.
    start: an earlier posterior of the same matrix (perhaps with fewer rows, columns or values) to continue from. Its
        ranks, priors and number of chains are kept and nothing is annealed again; store, watch and dtype are not kept.
    dtype: of the stored draws, np.float64 or np.float32 (half the memory).
    store: a new or empty folder for draws larger than the memory. They stay on disk and are read when needed.
        `Posterior.load(store)` opens the posterior again; delete the folder when you are done.
    watch: (rows, cols), by label as in `predict`: `posterior.watched` has the mean and sd of the entries
        (rows[k], cols[k]) over all draws times thin sweeps of each chain, stored or not, so few draws are enough.
    seed: the same seed gives the same draws, whatever the number of threads.
    progress: show a progress bar; by default on a terminal only.
    threads: the most threads to use; by default MAXENTRY_THREADS of the environment, or one for each processor.
    """
    observations = Observations.of(
        data, shape=shape, row_labels=row_labels, col_labels=col_labels,
        row=row, col=col, value=value, row_column=row_column,
    )  # fmt: skip
    scale = Transform.parse(transform)
    _check_types(effects, priors, start, seed, threads, dtype)
    if start is not None:
        priors = start.fit.priors if priors is None else priors
        check_units(start, observations)
    fit = ModelSpec(noise, bool(effects), priors, None if start is None else start.fit.units, scale)
    fit = fit.in_units_of(observations)
    _check_options(observations.shape, rank, fit, sampling, start)
    draw_store = MEMORY if store is None else FolderStore.create(store)
    watching = None if watch is None else Watched.from_labels(observations, *_pair(watch))
    seeds = np.random.SeedSequence(seed)
    for_rank, for_chains = seeds.spawn(2)
    choice = None
    if start is not None:
        choice, plan, started = (
            start.rank_choice,
            *restart_chains(start, observations, fit, sampling, for_chains),
        )
    else:
        if rank == "auto":
            choice = _choose_rank(observations, fit, for_rank, progress, threads)
        top = choice.best if choice else int(rank)
        plan = Sampling.resolve(sampling, observations.shape, observations.n, top)
        if choice and not isinstance(sampling, Sampling):
            plan = plan.in_memory(observations.shape, choice.largest)
        ranks = choice.allot(plan.chains) if choice else [top] * plan.chains
        started = chains.spawn_chains(
            for_chains, fit.data(observations), ranks, fit.priors_of(observations.shape)
        )
    watched = None if watching is None else watching.for_chains(len(started))
    with draw_store.filled():
        run = _run(
            started, observations, fit, plan, "sampling", progress, threads, dtype, draw_store, watched
        )
        watched = None if watched is None else watched.select_chains(list(run.places))
        posterior = Posterior(
            observations,
            fit,
            plan,
            run.chains,
            draws_in_user_units(run, fit),
            choice,
            run.interrupted,
            watched,
        )
        if isinstance(draw_store, FolderStore):
            draw_store.flush(file_format.REST)
            posterior.save_rest(draw_store)
    return posterior


def _pair(watch: Any) -> tuple[Any, Any]:
    if not (isinstance(watch, tuple) and len(watch) == 2):
        raise ParameterError(f"watch must be a pair (rows, cols), a tuple, got {watch!r:.60}")
    return watch


def _check_types(
    effects: object, priors: object, start: object, seed: object, threads: object, dtype: Any
) -> None:
    def whole(value: object, least: int) -> bool:
        return isinstance(value, int | np.integer) and not isinstance(value, bool) and bool(value >= least)

    expected = {
        "effects must be True or False": (effects, isinstance(effects, bool | np.bool_)),
        "priors must be Priors(...) or None": (priors, priors is None or isinstance(priors, Priors)),
        "start must be a Posterior or None": (start, start is None or isinstance(start, Posterior)),
        "seed must be a whole number of at least 0 or None": (seed, seed is None or whole(seed, 0)),
        "threads must be a whole number of at least 1 or None": (
            threads,
            threads is None or whole(threads, 1),
        ),
        "dtype must be np.float64 or np.float32": (dtype, dtype in (np.float64, np.float32)),
    }
    for sentence, (value, good) in expected.items():
        if not good:
            raise ParameterError(f"{sentence}, got {value!r}")


def _check_options(
    shape: tuple[int, int], rank: object, fit: ModelSpec, sampling: object, start: Posterior | None
) -> None:
    if not (isinstance(rank, str) and rank == "auto"):
        check_rank(rank, shape, fit.effects)
    Sampling.resolve(sampling, shape, 1, 1)  # type: ignore[arg-type]
    if start is None:
        return
    if rank not in ("auto", start.rank):
        raise ParameterError(
            f"start= has rank {start.rank}, so rank must be 'auto' or {start.rank}, got {rank}"
        )
    if start.fit.priors != fit.priors:
        raise ParameterError(
            "start= was fitted with other priors than these; leave priors= out to keep its own"
        )
    if (start.fit.noise, start.fit.effects) != (fit.noise, fit.effects):
        raise ParameterError(
            f"start= was fitted with noise={start.fit.noise!r}, effects={start.fit.effects}; "
            f"got noise={fit.noise!r}, effects={fit.effects}"
        )
    if start.fit.transform != fit.transform:
        raise ParameterError(
            f"start= was fitted with transform='{start.fit.transform}', got transform='{fit.transform}'"
        )


def _run(
    started: tuple[chains.Chain, ...], observations: Observations, fit: ModelSpec, plan: Sampling, what: str,
    progress: bool | None, threads: int | None, dtype: type[np.floating] = np.float64, draw_store: DrawStore = MEMORY,
    watched: Watched | None = None,
) -> chains.ChainRun:  # fmt: skip
    data, priors = fit.data(observations), fit.priors_of(observations.shape)
    with track(len(started) * plan.sweeps, what, progress) as bar:
        observer = None if watched is None else watched.observer(fit)
        run = chains.run_chains(
            started,
            data,
            priors,
            plan,
            bar,
            threads=threads,
            dtype=dtype,
            draw_store=draw_store,
            observer=observer,
        )
    return chains.drop_stuck_chains(run, data) if plan.kind == "population" else run


def _choose_rank(
    observations: Observations,
    fit: ModelSpec,
    seed: np.random.SeedSequence,
    progress: bool | None,
    threads: int | None,
) -> RankChoice:
    """Choose by prediction on the scale of the model, where the noise has one size."""
    z, fit = transform_values(fit.transform, observations), replace(fit, transform=NONE)

    def predict(train: Observations, held: Observations, rank: int, seed: np.random.SeedSequence) -> Any:
        plan = Sampling.scout(train.shape, train.n, rank)
        data, priors = fit.data(train), fit.priors_of(train.shape)
        started = chains.spawn_chains(seed, data, [rank] * plan.chains, priors)
        run = _run(started, train, fit, plan, f"trying rank {rank}", progress, threads)
        if run.interrupted:
            raise KeyboardInterrupt
        return draws_in_user_units(run, fit).belief().mean_at(held.rows, held.cols)

    return choose_rank(z, fit.effects, predict, seed)
