"""`complete`: a partially observed matrix goes in, its posterior comes out.

The steps: read the observations, check the options, choose the rank, run the chains, anneal stuck ones again, and
convert the draws to the user's units. A warm start (`start=`) continues the chains of an earlier posterior instead,
after measurements, rows or columns were added.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import replace
from functools import partial
from os import PathLike
from typing import Any, Literal, get_args

import numpy as np

from maxentry._types import Indices
from maxentry.engines.cluster import Workers, open_client
from maxentry.errors import DataError, ParameterError, is_choice, is_whole
from maxentry.gpu.engine import Engine, check_engine, choose_engine
from maxentry.model.likelihood import DataKind, Likelihood, Noise, NoiseChoice, kind_words
from maxentry.model.link import read_sides
from maxentry.model.match import FEW, MeasurementMatch, change_fraction, find_positions, move_rows
from maxentry.model.noise import (
    HeldOut,
    choose_noise,
    compare_noises,
    find_differing,
    leaves_open,
    one_noise,
    warn_of_known_noise,
)
from maxentry.model.priors import Priors
from maxentry.model.slips import warn_of_slips
from maxentry.observations import Observations, find_kind
from maxentry.posterior import chains
from maxentry.posterior.archive import REST
from maxentry.posterior.chains import Chain, ModelSpec, draws_in_user_units
from maxentry.posterior.coefficients import keep_features, leave_out_idle
from maxentry.posterior.diagnostics import find_movement, warn_of_steps, watched_entries
from maxentry.posterior.draws import MEMORY, DrawStore, FolderStore
from maxentry.posterior.gibbs import GibbsData, GibbsState, Units, name_farthest, standard_units
from maxentry.posterior.posterior import Posterior
from maxentry.posterior.rank import Climb, RankChoice, check_rank, choose_rank
from maxentry.posterior.schedule import (
    COSTLY,
    MOST_WORK,
    ROUNDS,
    WORK,
    Effort,
    Kind,
    Sampling,
    check_effort,
    data_abound,
    sweep_work,
)
from maxentry.posterior.streaming import Watched
from maxentry.progress import track
from maxentry.tables.doubts import warn_of_labels, warn_of_lines
from maxentry.transform import NONE, Scaling, Transform, warn_of_beyond
from maxentry.wording import show

FEW_SETTLE, FEW_THIN = 6, 1
OTHER_SCALE = 3.0  # times the scale of a line, a guess of few values, from which chains begin anew
UNITS_RANGE = 1e6  # of the spread of new data over that of the old; beyond it digits run out


def complete(
    data: Any,
    rank: int | Literal["auto"] = "auto",
    *,
    noise: NoiseChoice = "auto",
    kind: DataKind | None = None,
    levels: Sequence[Any] | None = None,
    limits: tuple[float | None, float | None] | None = None,
    noise_sd: float | None = None,
    effects: bool = True,
    priors: Priors | None = None,
    transform: str | Transform = "none",
    scale: Scaling = "auto",
    sampling: Kind | Sampling = "population",
    effort: Effort = "normal",
    start: Posterior | None = None,
    seed: int | None = None,
    progress: bool | None = None,
    threads: int | None = None,
    engine: Engine = "cpu",
    cluster: Any = None,
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
    se: Any = None,
    row_features: Any = None,
    col_features: Any = None,
) -> Posterior:
    """Complete a matrix: sample the posterior of all its entries from the noisy ones that were observed.

    data: an array with NaN for missing, scipy.sparse (unstored = missing), a wide or long pandas or polars frame,
        `(rows, cols, values)` with `shape=`, or `Observations`. How to read it: `shape`, `row_labels`,
        `col_labels`, `row`, `col`, `value`, `row_column`, `se`, as in `Observations.of`.
    rank: of the matrix without its row and column effects; "auto" stacks 0, 1, 2, 4, 8, … by held-out prediction.
    noise: "gaussian", or "student" for data with outliers (not for values piled up at a limit: see benchmarks);
        "columns" or "rows" where each of them has a noise of its own (`posterior.noise_sds`). "auto" is "gaussian",
        but "rows" or "columns" where these differ in it: many grades, and numbers (with rank="auto") that were held
        out and are predicted better so.
    kind: "numbers", "yes/no" (told as 1 and 0; answers are probabilities) or "grades" (answers are expected grades);
        by default "yes/no" for booleans, and "numbers" for all else.
    levels: the grades in their order, numbers or names; names are told as 1, 2, ...; by default the categories of a
        frame where these have an order, else 1 to the highest told.
    limits: (low, high), the ends of the scale of numbers, None for an open one: a value at or beyond an end says no
        more than that. Single values with limits are in `data` ("Limits" in docs/kinds.md).
    noise_sd: the known sd of a measurement around its entry (with a transform, on its scale). Then, and where entries
        are measured several times, what entries deviate from the pattern is told from noise: answers are of entries
        with their deviations ("Replicates and a known noise" in docs/kinds.md).
    effects: whether rows and columns have means of their own.
    priors: in the units of the (transformed) data; by default weak ones scaled by the data. `Priors.paper()` for the
        paper's.
    transform: "log" for positive values that vary by factors, "logit" for shares between 0 and 1, "percent" for
        percentages, "logit(low, high)": the model is of the transformed values, answers are in the data's units.
    scale: "auto" puts columns (or rows) on scales of their own where these differ beyond doubt, as in a table of
        metrics in several units; "columns" or "rows" does so for all of them, "none" for none.
    sampling: "population" (dozens of short chains annealed from the prior), "long" (four long chains), or a
        `Sampling(...)`.
    effort: "quick" (half as long), "normal", or "thorough" (four times as long). A normal or thorough population whose
        intervals still move goes on by itself, up to a limit of work. A `Sampling(...)` is run as it is.
    start: an earlier posterior of the same matrix (perhaps with fewer rows, columns or values) to continue from. Its
        ranks, priors and number of chains are kept and nothing is annealed again; store, watch and dtype are not kept.
    dtype: of the stored draws, np.float64 or np.float32 (half the memory).
    store: a new or empty folder for draws larger than the memory. They stay on disk and are read when needed.
        `Posterior.load(store)` opens the posterior again; delete the folder when you are done.
    watch: (rows, cols), by label as in `predict`: `posterior.watched` has the mean and sd of the entries
        (rows[k], cols[k]) over all draws times thin sweeps of each chain, stored or not, so few draws are enough.
    row_features, col_features: what is known of rows, of columns: a frame by label (numbers, booleans, categories), an
        array or scipy.sparse in their order. "observed": which entries of them were observed, where people chose these
        by what they expected (ratings), never where a design did (docs/features.md). Features of a side that say
        nothing of the values beyond chance are left out: the fit is then the one without them.
    seed: the same seed gives the same draws, whatever the number of threads.
    progress: show a progress bar; by default on a terminal only.
    threads: the most threads to use; by default MAXENTRY_THREADS of the environment, or one for each processor.
    engine: "cpu", "gpu" (through JAX, which you install), or "auto", a GPU where there is one and the problem is
        large. Both sample the same posterior, with other random numbers (docs/gpu.md).
    cluster: the scheduler of a Dask cluster ("tcp://host:8786", a `Client` or a `LocalCluster`), on whose workers the
        chains run, those of all ranks and folds that are compared as well. The draws are the same. Not with watch.
    """
    kind, levels = find_kind(data, kind, levels, value, row_column)
    observations = Observations.of(
        data, shape=shape, row_labels=row_labels, col_labels=col_labels,
        row=row, col=col, value=value, row_column=row_column, se=se,
        words=kind_words(kind, levels),
    )  # fmt: skip
    transform = Transform.parse(transform)
    _check_types(effects, priors, start, seed, threads, dtype, scale)
    check_effort(effort, sampling)
    if start is not None:
        priors = start.fit.priors if priors is None else priors
        check_units(start, observations)
    known: Noise | None = "gaussian" if is_choice(engine, ["gpu"]) else None  # which has no noise by line
    if start is not None and is_choice(kind, [start.fit.likelihood.kind]):
        plain = known is None and observations.is_plain
        known = start.fit.noise if plain or kind != "numbers" else one_noise(start.fit.noise)
    abundant = data_abound(observations.shape, observations.n)
    law = choose_noise(noise, kind, observations, abundant, known)
    likelihood = Likelihood.of(kind, law, levels, limits, noise_sd, observations)
    if likelihood.weighted and observations.se is not None:
        raise ParameterError(
            f"noise={likelihood.noise!r} is for values without standard errors, got "
            f"{int((observations.se > 0).sum())} with one; leave them out, or use noise='gaussian'"
        )
    likelihood.check_scale(transform, scale)
    if observations is not data:
        warn_of_labels(observations)
        warn_of_slips(observations, kind, likelihood.noise, transform)
        if kind == "numbers":
            warn_of_lines(data, observations, value)
    likelihood.warn_of_limits(observations)
    warn_of_beyond(observations, likelihood.limits)
    warn_of_known_noise(observations, likelihood, transform)
    features = read_sides(row_features, col_features, observations)
    fit = ModelSpec(likelihood, bool(effects), priors, None, transform, scale, None, features)
    if fit.linked and priors is not None:
        raise ParameterError("priors= are of the model without features; leave one of the two out")
    if start is not None:
        fit = keep_units(keep_features(fit, start, observations), start, observations)
    fit = fit.in_units_of(observations)
    _check_options(observations.shape, rank, fit, sampling, start)
    check_engine(engine, cluster)
    if cluster is not None and watch is not None:
        raise ParameterError("watch= follows the sweeps on this machine; leave it or cluster= out")
    data, priors_of = fit.data(observations), fit.priors_of(observations.shape)
    compare_noise = leaves_open(noise, fit.likelihood, fit.statements(observations)) and not abundant
    compare_noise &= priors is None and is_choice(engine, ["cpu", "auto"])  # a GPU has one noise
    choose_engine(engine, data, [0 if rank == "auto" else int(rank)], 0.0, 0)  # refuses what a GPU cannot do
    if fit.linked and start is None:
        fit = leave_out_idle(fit, observations)
        data = data._replace(bases=fit.bases(observations))
    with open_client(cluster) as client:
        draw_store = MEMORY if store is None else FolderStore.create(store)
        watching = None if watch is None else Watched.from_labels(observations, watch)
        for_chains = np.random.SeedSequence(seed).spawn(2)[1]  # as ever: a given rank keeps its draws
        workers = None if client is None else Workers(client)
        options: dict[str, Any] = {"threads": threads, "workers": workers}
        options["engine"] = engine if client is None else "cpu"
        if start is not None:
            choice = start.rank_choice
            plan, started = restart_chains(start, observations, fit, sampling, for_chains)
            plan = plan.with_effort(effort)
        else:
            choice, climb = None, None
            if rank == "auto":  # on the processor: a GPU would compile for every fold and rank
                on_cpu = options | {"engine": "cpu"}
                fit, choice, climb = _choose_model(observations, fit, compare_noise, progress, on_cpu)
                data = fit.data(observations)
            top = choice.best if choice else int(rank)
            plan = Sampling.resolve(sampling, observations.shape, observations.n, top, data.features_work)
            if choice and not isinstance(sampling, Sampling):
                plan = plan.in_memory(observations.shape, choice.largest)
            plan = plan.with_effort(effort)
            ranks = choice.allot(plan.chains) if choice else [top] * plan.chains
            if climb is not None and is_choice(sampling, ["population"]):
                plan, started = _go_on_from(climb, plan, ranks, observations, fit, for_chains)
            else:
                started = chains.spawn_chains(for_chains, data, ranks, priors_of)
            del climb  # it has most of the data
        watched = None if watching is None else watching.for_chains(len(started))
        with draw_store.filled():
            kept: dict[str, Any] = {"dtype": dtype, "draw_store": draw_store}
            kept["observer"] = None if watched is None else watched.observer(fit)
            run = _run(started, data, priors_of, plan, "sampling", progress, **kept, **options)
            watched = None if watched is None else watched.select_chains(list(run.places))
            draws = draws_in_user_units(run, fit)
            posterior = Posterior(
                observations, fit, plan, run.chains, draws, choice, run.interrupted, watched
            )
            if sampling == "population":
                posterior = _go_on(
                    posterior, data, priors_of, effort, progress, draw_store, dtype=dtype, **options
                )
            if isinstance(draw_store, FolderStore):
                draw_store.flush(REST)
                posterior.save_rest(draw_store)
    warn_of_steps([chain.solved for chain in posterior.chains])
    return posterior


def _go_on(
    posterior: Posterior, data: GibbsData, priors_of: chains.PriorsOf, effort: Effort, progress: bool | None,
    draw_store: DrawStore, **options: Any,
) -> Posterior:  # fmt: skip
    """Go on while intervals still move, up to the effort's limits of rounds and work; earlier draws are dropped."""
    p, plan = posterior, posterior.sampling
    n, extra = p.observations.n, data.features_work
    each = sum(sweep_work(p.shape, n, chain.rank, extra) for chain in p.chains)  # of one sweep of all
    for _ in range(ROUNDS.get(effort, 0)):
        if p.interrupted or not find_movement(watched_entries(p.draws, p.observations), p.draws.eta2):
            break
        longer = plan.go_on()
        if each * (plan.sweeps + longer.sweeps) > MOST_WORK[effort] * WORK:
            break
        watched = None if p.watched is None else p.watched.for_chains(len(p.chains))
        observer = None if watched is None else watched.observer(p.fit)
        with draw_store.aside() as aside:
            options |= {"observer": observer, "draw_store": aside}
            try:
                run = _run(p.chains, data, priors_of, longer, "going on", progress, **options)
            except KeyboardInterrupt:
                p.interrupted = True
                break
            except OSError:  # no room for more draws: those that are there stay
                break
            if run.interrupted:  # what was drawn before is whole
                p.interrupted = True
                break
            draws = draw_store.overwrite(p.draws, draws_in_user_units(run, p.fit))
        watched = None if watched is None else watched.select_chains(list(run.places))
        plan = replace(longer, anneal=plan.anneal, settle=plan.sweeps - plan.anneal + longer.settle)
        p = Posterior(p.observations, p.fit, plan, run.chains, draws, p.rank_choice, run.interrupted, watched)
    return p


def _check_types(
    effects: object, priors: object, start: object, seed: object, threads: object, dtype: Any, scale: object
) -> None:
    def whole_or_none(value: object, least: int) -> bool:
        return value is None or is_whole(value, least)

    is_dtype = isinstance(dtype, type | np.dtype)
    rules = (
        ("effects must be True or False", effects, isinstance(effects, bool | np.bool_)),
        ("priors must be Priors(...) or None", priors, priors is None or isinstance(priors, Priors)),
        ("start must be a Posterior or None", start, start is None or isinstance(start, Posterior)),
        ("seed must be a whole number of at least 0 or None", seed, whole_or_none(seed, 0)),
        ("threads must be a whole number of at least 1 or None", threads, whole_or_none(threads, 1)),
        ("dtype must be np.float64 or np.float32", dtype, is_dtype and dtype in (np.float64, np.float32)),
        ("scale must be 'auto', 'columns', 'rows' or 'none'", scale, is_choice(scale, get_args(Scaling))),
    )
    for rule, value, good in rules:
        if not good:
            raise ParameterError(f"{rule}, got {show(value)}")


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
    if not start.fit.likelihood.same_kind(fit.likelihood):
        raise ParameterError(f"start= was fitted with kind='{start.fit.likelihood}', got '{fit.likelihood}'")
    same_noise = fit.noise in (start.fit.noise, one_noise(start.fit.noise))
    if not same_noise or start.fit.effects != fit.effects:
        raise ParameterError(
            f"start= was fitted with noise={start.fit.noise!r}, effects={start.fit.effects}; "
            f"got noise={fit.noise!r}, effects={fit.effects}"
        )
    if start.fit.transform != fit.transform:
        raise ParameterError(
            f"start= was fitted with transform='{start.fit.transform}', got transform='{fit.transform}'"
        )


def _run(
    started: tuple[Chain, ...],
    data: GibbsData,
    priors_of: chains.PriorsOf,
    plan: Sampling,
    what: str,
    progress: bool | None,
    engine: Engine,
    **options: Any,
) -> chains.ChainRun:
    n, ranks = data.by_row.values.size, [chain.rank for chain in started]
    work = sum(sweep_work(data.shape, n, rank, data.features_work) for rank in ranks)
    options["engine"] = choose_engine(engine, data, ranks, work, plan.sweeps)
    with track(len(started) * plan.sweeps, what, progress) as bar:
        run = chains.run_chains(started, data, priors_of, plan, bar, **options)
    if plan.kind != "population":
        return run
    stuck = chains.stuck_chains(run, data) if plan.anneal and not run.interrupted else []
    if stuck:
        with track(len(stuck) * plan.sweeps, "annealing again", progress) as bar:
            run = chains.anneal_again(run, stuck, data, priors_of, plan, bar, **options)
    return chains.drop_stuck_chains(run, data)


def _choose_model(
    observations: Observations, fit: ModelSpec, compare_noise: bool, progress: bool | None, options: dict[str, Any]
) -> tuple[ModelSpec, RankChoice, Climb | None]:  # fmt: skip
    """Choose the ranks and, where `compare_noise`, the law of the noise, each with ranks of its own.

    A noise for each column (or row) is tried where errors of held-out measurements differ by these beyond chance.
    """
    choice, climb, baseline = _choose_rank(observations, fit, progress, options)
    if not compare_noise or baseline is None:
        return fit, choice, climb
    tried, candidates = dict[Noise, tuple[ModelSpec, RankChoice, Climb | None]](), dict[Noise, HeldOut]()
    for noise in find_differing(baseline, observations.shape):
        own = _with_noise(fit, noise)
        also = f" and a noise for each of the {noise}"
        own_choice, own_climb, scores = _choose_rank(observations, own, progress, options, also)
        if scores is not None:
            tried[noise], candidates[noise] = (own, own_choice, own_climb), scores
    noise = compare_noises(baseline, candidates)
    return tried.get(noise, (fit, choice, climb))


def _with_noise(fit: ModelSpec, noise: Noise) -> ModelSpec:
    return replace(fit, likelihood=replace(fit.likelihood, noise=noise))


def _choose_rank(
    observations: Observations, fit: ModelSpec, progress: bool | None, options: dict[str, Any], also: str = "",
) -> tuple[RankChoice, Climb | None, HeldOut | None]:  # fmt: skip
    """Choose by prediction on the scale of the model, where the noise has one size.

    Plain numbers are judged by squared error, by which the means of ranks are stacked. Where there are limits, yes and
    no, or grades, squared error means little, and where there are standard errors it is ruled by the poor measurements:
    there they are judged by the log of their probability.
    Also return how the rank with the most weight predicts plain numbers.
    also: what else is tried, for the progress bar.
    """
    z = fit.statements(observations)
    by_log_score = not z.is_plain
    if not by_log_score:
        observations, fit = z, replace(fit, transform=NONE, scales=None)

    scores: dict[tuple[int, ...], HeldOut] = {}  # by rank and part
    known: dict[tuple[int, ...], Climb] = {}  # of each training part, by its number: folds may come at once
    shown = progress if options["workers"] is None else False  # on a cluster one bar shows all folds

    def predict(train: Observations, held: Observations, rank: int, seed: np.random.SeedSequence) -> Any:
        data, priors_of, part = fit.data(train), fit.priors_of(train.shape), seed.spawn_key[-1:]
        climb = known.setdefault(part, Climb(fit, train))
        abound, before = data_abound(train.shape, train.n), list(climb.chains.values())
        plan = Sampling.climb(not before) if abound else Sampling.scout(train.shape, train.n, rank)
        if before:
            started = chains.grow_chains(seed, before[-1], data, rank, priors_of)
        else:
            started = chains.spawn_chains(seed, data, [rank] * plan.chains, priors_of)
        posterior = _run_trial(started, data, train, fit, plan, f"trying rank {rank}{also}", shown, options)
        if abound:
            climb.chains[rank] = posterior.chains
        if not by_log_score:
            scores[rank, *part] = _score(posterior, held)
            return posterior.pooled.mean_at(held.rows, held.cols)
        x = posterior.pooled.at(held.rows, held.cols)
        return fit.likelihood.log_score(x, fit.statements(held), posterior.answers.law)

    choice = choose_rank(
        observations, fit.effects, predict, by_log_score=by_log_score,
        fold_map=_map_folds("comparing ranks", progress, options),
        abundant=data_abound(observations.shape, observations.n),
    )  # fmt: skip
    climb = known[max(known)] if known else None
    # yes and no forget where they came from too slowly
    goes_on = climb is not None and climb.chains and not fit.likelihood.known_noise
    best = [scores[key] for key in sorted(scores) if key[0] == choice.best]
    return choice, climb if goes_on else None, HeldOut.join(best) if best else None


def _run_trial(
    started: tuple[Chain, ...], data: GibbsData, train: Observations, fit: ModelSpec, plan: Sampling, title: str,
    progress: bool | None, options: dict[str, Any],
) -> Posterior:  # fmt: skip
    """Run chains on a part of the observations."""
    run = _run(started, data, fit.priors_of(train.shape), plan, title, progress, **options)
    if run.interrupted:
        raise KeyboardInterrupt
    return Posterior(train, fit, plan, run.chains, draws_in_user_units(run, fit))


def _score(posterior: Posterior, held: Observations) -> HeldOut:
    """Return how plain numbers that were held out are predicted."""
    x, law = posterior.pooled.at(held.rows, held.cols), posterior.noise_law
    squares = (posterior.pooled.mean_at(held.rows, held.cols) - held.values) ** 2
    return HeldOut(held.rows, held.cols, squares, posterior.likelihood.log_score(x, held, law))


def _map_folds(title: str, progress: bool | None, options: dict[str, Any]) -> Any:
    """Return what maps a function over folds: one after the other, or all at once on a cluster."""
    workers: Workers | None = options["workers"]
    return map if workers is None else partial(workers.map_together, title, progress)


def _go_on_from(
    climb: Climb, plan: Sampling, ranks: list[int], observations: Observations, fit: ModelSpec,
    seed: np.random.SeedSequence,
) -> tuple[Sampling, tuple[Chain, ...]]:  # fmt: skip
    """Continue the chains of a climb on all of the data: they know most of them, so nothing is annealed again."""
    started = continue_chains(climb.starts(ranks), climb.fit, climb.part, fit, observations, seed)
    return replace(plan, anneal=0, settle=max(1, (plan.anneal + plan.settle) // 6)), started


# Warm starts. New rows and columns start at zero, new Student weights at one and new latent values at what was told,
# until their first draw. Nothing is annealed again.


def keep_units(fit: ModelSpec, start: Posterior, observations: Observations) -> ModelSpec:
    """Return the fit in the units and scales of `start`, in which its chains are."""
    scales = start.fit.scales
    if fit.scale not in ("auto", start.fit.scale):
        raise ParameterError(f"start= was fitted with scale={start.fit.scale!r}, got scale={fit.scale!r}")
    if scales is not None:
        rows, cols = find_positions(start.observations, observations)
        on_rows = scales.side == "rows"
        scales = scales.move(rows if on_rows else cols, observations.shape[0 if on_rows else 1])
    return replace(fit, units=start.fit.units, scale=start.fit.scale, scales=scales)


def same_scales(start: Posterior, observations: Observations) -> bool:
    """Whether the columns or rows on scales of their own are those that these data would have.

    Where every line has one by the user's wish, the scales of before serve as well: they need not be exact.
    """
    old, new = start.fit.scales, start.fit.find_scales(observations)
    if old is None or new is None or start.fit.scale != "auto":
        return (old is None) == (new is None)
    same = old.side == new.side and np.array_equal(old.own, new.own)
    return same and bool((np.abs(np.log(old.factor / new.factor)) < np.log(OTHER_SCALE)).all())


def check_units(start: Posterior, observations: Observations) -> None:
    """Refuse data of another order of magnitude than those of `start`, in whose units its chains are."""
    if same_magnitude(start, observations):
        return
    fit = keep_units(_with_noise(start.fit, one_noise(start.fit.noise)), start, observations)
    z, old = fit.statements(observations), fit.units or Units(0.0, 1.0)
    raise DataError(
        f"expected values like those of start= (spread {old.scale:.3g}), got {name_farthest(z, old.shift)}; "
        "correct the value, or leave start= out"
    )


def same_magnitude(start: Posterior, observations: Observations) -> bool:
    """Whether the chains of `start` can go on with these data without running out of digits."""
    fit = start.fit
    if fit.units is None or fit.priors is not None or fit.likelihood.known_noise:
        return True
    one = _with_noise(fit, one_noise(fit.noise))
    values = keep_units(one, start, observations).statements(observations).values
    new, old = standard_units(values, fit.effects), fit.units
    near = abs(new.shift - old.shift) < UNITS_RANGE * old.scale
    return near and 1 / UNITS_RANGE < new.scale / old.scale < UNITS_RANGE


def restart_chains(
    start: Posterior,
    observations: Observations,
    fit: ModelSpec,
    sampling: str | Sampling,
    seed: np.random.SeedSequence,
) -> tuple[Sampling, tuple[Chain, ...]]:
    """Return how long to run, and the chains of `start` on the new observations with fresh random streams."""
    rows, cols = find_positions(start.observations, observations)
    plan = Sampling.resolve(sampling, observations.shape, observations.n, start.rank)
    if not isinstance(sampling, Sampling):
        plan = _shorten(plan, start, observations, rows, cols)
    plan = replace(plan, anneal=0, chains=len(start.chains))
    return plan, continue_chains(start.chains, start.fit, start.observations, fit, observations, seed)


def continue_chains(
    known: Sequence[Chain], old_fit: ModelSpec, old: Observations, fit: ModelSpec, new: Observations,
    seed: np.random.SeedSequence,
) -> tuple[Chain, ...]:  # fmt: skip
    """Move chains of `old` observations to new ones, with fresh random streams."""
    rows, cols = find_positions(old, new)
    (m1, m2), restarted = new.shape, []
    match, data = None, fit.data(new)
    if fit.likelihood.weighted or data.limits is not None:
        match = MeasurementMatch.find(old_fit.gathered(old), fit.gathered(new), rows, cols)
    before = old_fit.data(old) if data.limits is not None else data
    for chain, child in zip(known, seed.spawn(len(known)), strict=True):
        state = chain.state
        left, right = move_rows(state.left, rows, m1), move_rows(state.right, cols, m2)
        weights = match.move(state.weights) if match is not None and fit.likelihood.weighted else np.empty(0)
        latent = np.empty(0) if match is None else match.move_latent(state.latent, before, data)
        stream = dict(np.random.PCG64(child).state)
        lines = fit.likelihood.count_weights(data.shape)  # whose weights are drawn anew: others may have come
        scalars = np.concatenate([state.scalars[: data.n_scalars - lines], np.ones(lines)])
        restarted.append(Chain(chain.rank, GibbsState(left, right, scalars, weights, latent), stream))
    return tuple(restarted)


def _shorten(
    plan: Sampling, start: Posterior, observations: Observations, rows: Indices, cols: Indices
) -> Sampling:
    """Shorten a default plan: the chains start near the new posterior.

    Draws are independent mostly because chains are many, not because those of one chain are far apart. Where few
    observations are new and sweeps are costly, a few sweeps to settle and draws of consecutive sweeps are enough.
    """
    costly = sweep_work(observations.shape, observations.n, start.rank) > COSTLY
    few = costly and change_fraction(start.observations, observations, rows, cols) <= FEW
    if plan.kind == "population" and few:
        return replace(plan, settle=FEW_SETTLE, thin=FEW_THIN)
    return replace(plan, settle=max(1, (plan.anneal + plan.settle) // 6), thin=max(1, plan.thin // 2))
