"""The posterior of a campaign, as a function of its seed and its measurements only.

A cold start for every new measurement would be slow. Warm starts from the previous fit would make the result depend on
when a user happened to ask for it. So there are *anchors*: cold fits (ranks compared, chains annealed) where a tell
ended, the first with 8 measurements or more, each with at least 5% more than the one before (30% from 2,000 on, or with
a given rank, where no weights of ranks grow old). A file that is told at once is fitted at once. The posterior of N
measurements starts from the chains of the largest anchor a <= N and settles with all N. Every process that opens the
campaign goes through the same fits. The cache only saves time; it may be deleted.

With thousands of measurements, chains from an anchor up to 30% smaller would need many sweeps to settle. So they are
updated on the way, at *stations* about 2% apart. The first station starts from the anchor and each later one from the
one before; after the last a few sweeps are enough. Stations are numbers of measurements, so the path does not depend
on when the fits are made.

The expected error says how far the completed matrix is from what a measurement of each entry would show, as a root
mean square over all entries. At measured entries that is known. Elsewhere it is the posterior variance of the pattern
and the misfit: what the pattern misses, and noise. The noise variance of the draws is too large for it, since their
mean predicts better than each of them; the mean square at the measured entries is too small, since the draws were
fitted to these. It is taken halfway. Where a known noise or replicates tell it apart, the error is that of the entry
itself, without the noise of a measurement. See docs/mathematics.md.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import math
import os
import re
import shutil
import threading
from bisect import bisect_left
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from maxentry._io import expand_home, user_cache
from maxentry._types import Array, Flags
from maxentry.belief import Entries
from maxentry.campaign.ledger import snapshots
from maxentry.campaign.settings import Settings
from maxentry.campaign.state import FIT, OUTLOOK, STATION, WARM, State, derive_rng, derive_seed, replay
from maxentry.campaign.storage import Key, Storage
from maxentry.errors import DataError, MaxentryError, StorageError
from maxentry.features import Features
from maxentry.model.likelihood import Likelihood, Noise
from maxentry.model.noise import choose_noise
from maxentry.observations import Observations
from maxentry.posterior.schedule import Kind, Sampling, data_abound, sweep_work
from maxentry.transform import NONE, ValueMap

if TYPE_CHECKING:
    from maxentry.posterior.posterior import Posterior

FIT_NAME = re.compile("[0-9a-f]{24}")
KEPT = 6  # fits per campaign: the anchor, the latest station, the latest posterior, and the previous ones


class Memory:
    """An in-memory cache of the most recently used fits, for in-memory campaigns."""

    def __init__(self) -> None:
        self._fits: dict[str, Posterior] = {}  # the most recently used is last
        self._turn = threading.Lock()

    def __len__(self) -> int:
        return len(self._fits)

    def get(self, name: str) -> Posterior | None:
        """Return a cached fit, or None."""
        with self._turn:
            if (fit := self._fits.pop(name, None)) is not None:
                self._fits[name] = fit
            return fit

    def peek(self, name: str) -> Posterior | None:
        """Return a cached fit, or None, without marking it as used."""
        with self._turn:
            return self._fits.get(name)

    def used(self, name: str) -> None:
        """Mark a cached fit as recently used."""
        with self._turn:
            if name in self._fits:
                self._fits[name] = self._fits.pop(name)

    def put(self, name: str, made: Posterior) -> None:
        """Store a fit and drop the least recently used ones."""
        with self._turn:
            self._fits[name] = made
            for old in list(self._fits)[:-KEPT]:
                del self._fits[old]

    def clear(self) -> None:
        """Drop all fits."""
        with self._turn:
            self._fits.clear()


Cache = Path | Memory


def cache_folder(mark: str) -> Path:
    """Return the cache folder of a campaign, below MAXENTRY_CACHE or the user's cache. It may not exist yet."""
    wish = os.environ.get("MAXENTRY_CACHE")
    return (expand_home(Path(wish)) if wish else user_cache()) / mark


def forget(mark: str) -> None:
    """Delete the cached fits and the snapshot of a campaign."""
    shutil.rmtree(cache_folder(mark), ignore_errors=True)


def snapshot_file(cache: Cache | None, mark: str) -> Path | None:
    """Return the file of a campaign's snapshot (ledger/snapshots.py), which may not exist; None without a folder."""
    return cache / f"snapshot-{mark}.npz" if isinstance(cache, Path) else None


FIRST_ANCHOR = 8
GROWTH = 1.05  # while a few measurements may change which ranks they speak for
GROWTH_LATER = 1.3  # from the first station on, or with a given rank
FIRST_STATION = 2000  # smaller fits are fast without stations
STEP = 1.02
# At a station only the state of the chains matters, so one draw is enough and no chain is dropped.
UP_TO_DATE = Sampling("long", settle=6, draws=1, thin=1)
SAMPLED = 20_000  # entries, at most, that the expected error is computed from one by one
USUAL_RANK = 4  # by which a GPU is judged worth it where ranks are compared
FEW_REPEATS = 8  # repeated measurements that tell half of the noise
LAW = 17  # version of cached fits; increase it when the same data give another posterior


def fit_posterior(state: State, cache: Cache | None = None, *, progress: bool | None = None) -> Posterior:
    """Return the posterior given all measurements, of which there must be at least one."""
    n = len(state.standing)
    a = find_anchor(state, n)
    if a == n:
        return _fit(state, n, None, cache, progress)
    if (posterior := load_fit(cache, digest_fit(state, n, "warm"))) is not None:
        return posterior
    return _fit(state, n, _fit_station(state, list_stations(a, n), cache, progress), cache, progress)


def find_fit(state: State, n: int, cache: Cache | None) -> Posterior | None:
    """Return the posterior of the first n measurements if it is in the cache, without marking it as used."""
    name = digest_fit(state, n, "anchor" if find_anchor(state, n) == n else "warm")
    return load_fit(cache, name, used=False)


def _fit_station(state: State, path: list[int], cache: Cache | None, progress: bool | None) -> Posterior:
    """Return the fit at the end of the path, continuing from the last station in the cache."""
    *before, last = path
    if not before:
        return _fit(state, last, None, cache, progress)
    station = load_fit(cache, digest_fit(state, last, "station"))
    if station is None:
        station = _fit(state, last, _fit_station(state, before, cache, progress), cache, progress, UP_TO_DATE)
    touch_fit(cache, digest_fit(state, path[0], "anchor"))  # a correction would need it
    return station


def list_stations(a: int, n: int) -> list[int]:
    """Return the anchor a and the stations from it up to n measurements."""
    path = [a]
    while (later := int(np.ceil(STEP * path[-1]))) <= n and a >= FIRST_STATION:
        path.append(later)
    return path


def find_anchor(state: State, n: int) -> int:
    """Return the largest anchor of at most n measurements: the end of a tell, or n itself where none has ended."""
    return largest_anchor(list(state.sizes_by_event.values()), n, state.settings.rank)


def largest_anchor(ends: Sequence[int], n: int, rank: int | str = "auto") -> int:
    """Return the largest anchor of at most n measurements, given how many there were after each tell.

    What was told at once is fitted at once: the order of the lines of a file says nothing.
    """
    a, due, early = n, FIRST_ANCHOR, GROWTH if rank == "auto" else GROWTH_LATER
    while (k := bisect_left(ends, due)) < len(ends) and ends[k] <= n:
        a = ends[k]
        due = math.ceil((early if a < FIRST_STATION else GROWTH_LATER) * a)
    return a


def _fit(
    state: State,
    n: int,
    start: Posterior | None,
    cache: Cache | None,
    progress: bool | None,
    sampling: Kind | Sampling = "population",
) -> Posterior:
    """Return the posterior of the first n measurements, from the cache or newly sampled."""
    from maxentry.model.priors import Priors  # imported late: the sampler is slow to import
    from maxentry.posterior.complete import complete, same_magnitude, same_scales

    settings = state.settings
    kind = "anchor" if start is None else "warm" if sampling == "population" else "station"
    name = digest_fit(state, n, kind)
    if (cached := load_fit(cache, name)) is not None:
        return cached
    data = state.observations(n)
    if start is not None and not (same_magnitude(start, data) and same_scales(start, data)):
        start, sampling = None, "population"  # the first measurements were of another size: begin anew
    posterior = complete(
        data,
        settings.rank if start is None else "auto",
        noise=settings.likelihood.noise if settings.kind == "numbers" else settings.noise,
        kind=settings.kind,
        levels=settings.levels,
        limits=settings.limits,
        noise_sd=settings.noise_sd,
        effects=settings.effects,
        priors=Priors.paper() if settings.priors == "paper" else None,
        transform=settings.transform,
        scale=settings.scale,
        sampling=sampling,
        effort=settings.effort if isinstance(sampling, str) else "normal",
        start=start,
        engine=choose_engine_of(settings, data, None if start is None else start.fit.noise),
        seed=derive_seed(settings.seed, {"anchor": FIT, "warm": WARM, "station": STATION}[kind], n),
        progress=progress,
        **_standardise(settings),
    )
    if posterior.interrupted:  # a partial fit would make the choice depend on the moment of Ctrl-C
        raise KeyboardInterrupt
    if cache is not None:
        save_fit(posterior, cache, name)
    return posterior


def choose_engine_of(
    settings: Settings, data: Observations, known: Noise | None = None
) -> Literal["cpu", "gpu"]:
    """Return where a fit of these data runs, by settings and data alone: no machine may change the posterior.

    known: the noise of the fit that is continued, which noise="auto" keeps.
    "auto" takes a GPU for all that one can do and that is large enough for it; so a machine without one is refused
    such a fit, instead of drawing other random numbers.
    """
    if settings.engine != "auto":
        return settings.engine
    from maxentry.gpu.engine import is_worth, why_no_model, why_not
    from maxentry.posterior.chains import ModelSpec

    rank = USUAL_RANK if settings.rank == "auto" else settings.rank
    plan = Sampling.resolve("population", data.shape, data.n, rank)
    features = (settings.row_features or settings.col_features) is not None
    if not is_worth(plan.chains * sweep_work(data.shape, data.n, rank), plan.sweeps):
        return "cpu"
    noise = choose_noise(settings.noise, settings.kind, data, data_abound(data.shape, data.n), known)
    likelihood = Likelihood.of(
        settings.kind, noise, settings.levels, settings.limits, settings.noise_sd, data
    )
    if why_no_model(likelihood, features, [rank]) is not None:
        return "cpu"
    return "cpu" if why_not(ModelSpec(likelihood, settings.effects).data(data), [rank]) else "gpu"


def _standardise(settings: Settings) -> dict[str, Any]:
    """The features of rows and columns as numbers, as `complete` takes them, where there are any that vary."""
    known = {}
    for name, table in (("row_features", settings.row_features), ("col_features", settings.col_features)):
        if table is not None:
            with contextlib.suppress(DataError):  # the rows in which they differed may have been removed
                known[name] = Features.standardise(table)
    return known


def digest_fit(state: State, n: int, kind: str) -> str:
    """Return a hash of everything that a fit of this kind depends on: its name in the cache."""
    s = state.settings
    model: list[Any] = [
        LAW,
        s.seed,
        s.rank,
        s.noise,
        s.effects,
        s.priors,
        s.transform,
        s.scale,
        *state.shape,
        n,
        kind,
    ]
    model += [find_anchor(state, n)] if kind != "anchor" else []  # it depends on where tells ended
    model += [s.effort] if s.effort != "normal" else []
    model += [[s.kind, s.levels, s.limits]] if (s.kind, s.limits) != ("numbers", None) else []
    model += [] if s.noise_sd is None else [{"noise_sd": s.noise_sd}]
    features = [None if table is None else table.digest for table in (s.row_features, s.col_features)]
    model += [{"features": features, "law": 5}] if any(features) else []  # 5: idle ones left out
    model += [] if s.engine == "cpu" else [{"engine": s.engine}]
    digest = hashlib.sha256(json.dumps(model).encode())
    beside = state.standing.beside
    parts = {name: column[:n] for name, column in beside.items()}
    if beside and not (parts["low"] < parts["high"]).any() and not parts["se"].any():
        parts = {}  # all plain so far
    for array in (state.told.rows[:n], state.told.cols[:n], state.values[:n], *parts.values()):
        digest.update(np.ascontiguousarray(array).tobytes())
    digest.update(repr((state.row_labels, state.col_labels)).encode())
    return digest.hexdigest()[:24]


# The cache


def load_fit(cache: Cache | None, name: str, *, used: bool = True) -> Posterior | None:
    """Load a cached posterior; None if it is missing or cannot be read. used: whether it counts as recently used."""
    if cache is None:
        return None
    if not isinstance(cache, Path):
        return cache.get(name) if used else cache.peek(name)
    file = _file(cache, name)
    if not file.is_file():
        return None
    from maxentry.posterior.posterior import Posterior

    with contextlib.suppress(MaxentryError, OSError):
        posterior = Posterior.load(file)
        if used:
            file.touch()
        return posterior
    return None


def touch_fit(cache: Cache | None, name: str) -> None:
    """Mark a cached posterior as recently used."""
    if isinstance(cache, Path):
        with contextlib.suppress(OSError):
            os.utime(_file(cache, name))
    elif cache is not None:
        cache.used(name)


def save_fit(made: Posterior, cache: Cache, name: str) -> None:
    """Save a posterior and delete the least recently used ones. Ignore a folder that cannot be written."""
    if not isinstance(cache, Path):
        cache.put(name, made)
        return
    with contextlib.suppress(MaxentryError, OSError):
        cache.mkdir(parents=True, exist_ok=True)
        made.save(_file(cache, name))
        # Only files of ours: the folder may be one of the user's.
        ours = (file for file in cache.glob("*.npz") if FIT_NAME.fullmatch(file.stem))
        by_age = sorted(ours, key=lambda f: f.stat().st_mtime)
        for old in by_age[:-KEPT]:
            old.unlink(missing_ok=True)


def _file(cache: Path, name: str) -> Path:
    return cache / f"{name}.npz"


# The expected error


class ErrorParts(NamedTuple):
    """The expected mean square error in the user's units: what measuring other entries can lower, and the rest.

    pattern: the posterior variance of entries not measured, times their share
    rest: what no pattern explains, there and at the measured entries
    """

    pattern: float
    rest: float

    @property
    def error(self) -> float:
        """The root mean square error."""
        return float(np.sqrt(self.pattern + self.rest))


def expected_error(state: State, posterior: Posterior) -> float:
    """Return the expected root mean square error over all entries, in the user's units.

    Columns or rows on scales of their own count in the units of the others, so that none rules the rest.
    """
    return error_parts(state, posterior).error


def error_parts(state: State, posterior: Posterior) -> ErrorParts:
    """Compute the expected error from the draws and, at measured entries, from the values."""
    from maxentry.acquisition.total_variance import total_variance

    belief, (m1, m2), transform = posterior.belief, state.shape, posterior.transform
    size, entries = m1 * m2, state.told_keys
    rng = derive_rng(state.settings.seed, OUTLOOK, len(state.standing))
    if state.settings.likelihood.discrete:
        return ErrorParts(_answer_variance(posterior, rng), 0.0)
    sample = entries if len(entries) <= SAMPLED else np.sort(rng.choice(entries, SAMPLED, replace=False))
    if posterior.deviation is not None:
        return _entry_parts(state, posterior, sample, rng)
    x = transform.inverse(belief.at(*Entries.from_keys(sample, m2)))
    values = posterior.value_map.common(state.values, *state.told)
    means, valued = _mean_values(state, values, sample)
    missed, seen = (x.mean(0) - means)[valued] ** 2, x.var(0, ddof=min(1, len(x) - 1))
    open_share, noise = 1 - len(entries) / size, _noise_variances(posterior)
    if open_share == 0:
        pattern, misfit = 0.0, float(noise.mean())
    elif transform == NONE:
        S = belief.n_draws
        total = total_variance(belief) * S / max(S - 1, 1) - float(seen.mean()) * len(entries)
        pattern, misfit = max(total, 0.0) / (size - len(entries)), float(noise.mean())
    else:
        keys = np.arange(size) if size <= SAMPLED else rng.integers(size, size=SAMPLED)
        free = np.setdiff1d(keys, entries)
        z = belief.at(*Entries.from_keys(free if len(free) else keys, m2))  # nearly all may be told
        noisy = z + np.sqrt(noise)[:, None] * rng.standard_normal(z.shape)
        pattern, both = (
            float(transform.inverse(y).var(0, ddof=min(1, len(z) - 1)).mean()) for y in (z, noisy)
        )
        misfit = max(both - pattern, 0.0)
    halfway = (misfit + float(missed.mean())) / 2 if missed.size else misfit
    limited = np.zeros((2, len(sample)))
    if not valued.all():
        limited[:, ~valued] = _limited_squares(
            state, posterior, sample[~valued], noise * (halfway / misfit if misfit > 0 else 1.0), rng
        )
    between = limited.mean(1) * (1 - open_share)
    known = float(missed.sum()) / len(sample) * (1 - open_share) + float(between[1])
    misfit = max(halfway - repeat_variance(state, values), 0.0)
    return ErrorParts(open_share * pattern + float(between[0]), open_share * misfit + known)


def _limited_squares(
    state: State, posterior: Posterior, keys: NDArray[np.int64], noise: Array, rng: np.random.Generator
) -> tuple[Array, Array]:
    """Return the expected squared errors at entries of which only limits were told: of the pattern, and the rest.

    What an instrument without limits would show is drawn given each draw of the entry, between the ends that were told.
    """
    from maxentry.posterior.intervals import cut_normal

    told, ends = state.told.keys(state.shape[1]), np.array(state.ends)
    order = np.argsort(told, kind="stable")
    first = order[np.searchsorted(told[order], keys)]
    at = state.told.rows[first], state.told.cols[first]
    low, high = (posterior.value_map.forward_end(end[first], *at) for end in ends)
    x, sd = posterior.belief.at(*at), np.sqrt(noise)[:, None]
    z = x + sd * cut_normal((low - x) / sd, (high - x) / sd, rng.random(x.shape))
    entry, shown = posterior.transform.inverse(x), posterior.transform.inverse(z)
    pattern = entry.var(0)
    return pattern, np.maximum(((shown - entry.mean(0)) ** 2).mean(0) - pattern, 0.0)


def _entry_parts(
    state: State, posterior: Posterior, told: NDArray[np.int64], rng: np.random.Generator
) -> ErrorParts:
    """Return the parts where entries are told from noise: what measurements leave open, or pattern and deviation."""
    (m1, m2), transform, belief = state.shape, posterior.transform, posterior.belief
    answers = posterior.answers._replace(value_map=ValueMap(transform))
    keys = np.arange(m1 * m2) if m1 * m2 <= SAMPLED else rng.integers(m1 * m2, size=SAMPLED)
    free, open_share = np.setdiff1d(keys, state.told_keys), 1 - len(state.told_keys) / (m1 * m2)
    parts = []
    for some in (told, free if len(free) else keys):  # nearly all may be told
        at = Entries.from_keys(some, m2)
        x = belief.at(*at)
        pattern = float(transform.inverse(x).var(0, ddof=min(1, len(x) - 1)).mean())
        parts.append((pattern, float((answers.moments(x, *at)[1] ** 2).mean())))
    (_, known), (pattern, both) = parts
    by_pattern = known * _pattern_share(posterior, Entries.from_keys(told, m2))
    return ErrorParts(
        open_share * pattern + (1 - open_share) * by_pattern,
        open_share * max(both - pattern, 0.0) + (1 - open_share) * (known - by_pattern),
    )


def _pattern_share(posterior: Posterior, told: Entries) -> float:
    """Return how much of what measurements leave open at their entries is of the pattern, on the scale of the model."""
    assert posterior.deviation is not None
    centre, own = posterior.deviation.at(posterior.belief.at(*told), *told)
    by_pattern, rest = float(centre.var(0).mean()), float(own.mean())
    return by_pattern / (by_pattern + rest) if by_pattern + rest > 0 else 0.0


def _answer_variance(posterior: Posterior, rng: np.random.Generator) -> float:
    """Return the mean posterior variance of the probabilities of yes, or of the expected grades, over all entries.

    One answer of yes or no, or one grade, leaves an entry's probability open: measured entries count as the others.
    """
    m1, m2 = posterior.shape
    keys = np.arange(m1 * m2) if m1 * m2 <= SAMPLED else rng.integers(m1 * m2, size=SAMPLED)
    at = Entries.from_keys(keys, m2)
    answers = posterior.answers.entries(posterior.belief.at(*at), *at)
    return float(answers.var(0, ddof=min(1, len(answers) - 1)).mean())


def repeat_variance(state: State, values: Array) -> float:
    """Return the noise variance that replicates tell, in the units of the values; too small while they are few.

    Limits and ranges tell none.
    """
    plain = np.equal(*state.ends)
    keys = state.told.keys(state.shape[1])[plain]
    distinct, place = np.unique(keys, return_inverse=True)
    if len(distinct) == len(keys):
        return 0.0
    squares = (values[plain] - _mean_values(state, values, distinct)[0][place]) ** 2
    return float(squares.sum()) / (len(keys) - len(distinct) + FEW_REPEATS)


def _mean_values(state: State, values: Array, keys: NDArray[np.int64]) -> tuple[Array, Flags]:
    """Return the mean of the plain values told of each entry, by sorted keys, and of which there are any."""
    told = state.told.keys(state.shape[1])
    place = np.minimum(np.searchsorted(keys, told), len(keys) - 1)
    mine = (keys[place] == told) & np.equal(*state.ends)
    n = np.bincount(place[mine], minlength=len(keys))
    total = np.bincount(place[mine], values[mine], len(keys))
    return total / np.maximum(n, 1), n > 0


def _noise_variances(posterior: Posterior) -> Array:
    """Return the variance of a measurement in each draw; Student noise of few degrees of freedom counts as of three."""
    law = posterior.noise_law
    if law.spread is not None:
        return np.asarray(law.var * (law.spread**2).mean(1))
    if law.nu is None:
        return law.var
    df = np.maximum(law.nu, 3.0)
    variances: Array = law.var * df / (df - 2)
    return variances


# Opening a campaign

EVERY = 20_000  # events that are replayed before a new snapshot is worth its file
AT_ONCE = 20_000  # events read at once: their records take much more memory than the state


def open_state(storage: Storage, key: Key, file: Path | None) -> State:
    """Return the latest state of a campaign: from the snapshot in a file, if it is one of these events, and later ones.

    If many events had to be replayed, leave a new snapshot.
    """
    state, known = None, 0
    if file is not None and file.is_file() and (first := snapshots.load(file, key.uuid)) is not None:
        with contextlib.suppress(StorageError):  # of another copy of the campaign, or of a later one
            state, known = follow(storage, key, first), first.version
    if state is None:
        state = follow(storage, key, replay(storage.events(key, 0, 1)))
    if file is not None and state.version - known >= EVERY:
        snapshots.save(state, file, key.uuid)
    return state


def follow(storage: Storage, key: Key, state: State) -> State:
    """Return the latest state, given an earlier one."""
    while True:
        news = storage.events(key, state.version, AT_ONCE, digest=state.digest)
        state = state.after(news)
        if len(news) < AT_ONCE:
            return state
