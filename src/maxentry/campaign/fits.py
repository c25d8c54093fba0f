"""The posterior of a campaign: a function of its seed and of what was told, and of nothing else.

Measurements come in dribs and drabs, and a fit from nothing for each would be slow; but a chain of warm starts would
depend on when somebody happened to look. So there are *anchors*: fits from nothing (ranks compared, chains annealed) of
the first a = 8, 11, 15, … measurements, each a some 30% larger than the one before. The posterior of N measurements
starts from the chains of the largest anchor a <= N and settles with all N. Whoever opens the campaign, wherever, goes
through the same fits. What is in a cache saves time and may be deleted.

Where there are thousands of measurements, chains that stood still while some 30% came in would have to settle for long.
So they are brought up to date on the way, at *stations* some 2% apart, each from the one before, the first from the
anchor; from the last of them a few sweeps are enough. Stations are numbers of measurements, so the path is the same.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import threading
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from maxentry._io import user_cache
from maxentry.campaign.state import FIT, STATION, WARM, State, derive_seed
from maxentry.errors import MaxentryError
from maxentry.observations import Observations
from maxentry.posterior.schedule import Kind, Sampling

if TYPE_CHECKING:
    from maxentry.posterior.posterior import Posterior

KEPT = 6  # fits of a campaign: the anchor, the latest station and the latest one, and those before


class Memory:
    """The fits used last, by name; for campaigns that are themselves no longer than a process."""

    def __init__(self) -> None:
        self._fits: dict[str, Posterior] = {}  # the one used last is the last
        self._turn = threading.Lock()

    def __len__(self) -> int:
        return len(self._fits)

    def get(self, name: str) -> Posterior | None:
        """The fit of this name, if it is still there."""
        with self._turn:
            if (kept := self._fits.pop(name, None)) is not None:
                self._fits[name] = kept
            return kept

    def used(self, name: str) -> None:
        """Let go of the fit of this name, if it is there, later than of others."""
        with self._turn:
            if name in self._fits:
                self._fits[name] = self._fits.pop(name)

    def put(self, name: str, made: Posterior) -> None:
        """Keep a fit, and let go of those used longest ago."""
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
    """The folder of the campaign with this mark, below MAXENTRY_CACHE or the user's cache; it may not be there yet."""
    return _root() / mark


def _root() -> Path:
    wish = os.environ.get("MAXENTRY_CACHE")
    return Path(wish).expanduser() if wish else user_cache()


Array = NDArray[np.float64]
Indices = NDArray[np.int64]
FIRST_ANCHOR = 8
GROWTH = 1.3
FIRST_STATION = 2000  # below, fits take no time
STEP = 1.02
# of a station: only where the chains stand counts, so none is left out for where its one draw is
UP_TO_DATE = Sampling("long", settle=6, draws=1, thin=1)
LAW = 3  # of the files: another number where the same data give another posterior


def fit_posterior(state: State, cache: Cache | None = None, *, progress: bool | None = None) -> Posterior:
    """The posterior given all that was told (which must be something)."""
    n = len(state.standing)
    a = largest_anchor(n)
    if a == n:
        return _fit(state, n, None, cache, progress)
    if (kept := load_fit(cache, _digest(state, n, "warm"))) is not None:
        return kept
    return _fit(state, n, _fit_station(state, list_stations(a, n), cache, progress), cache, progress)


def _fit_station(state: State, path: list[int], cache: Cache | None, progress: bool | None) -> Posterior:
    """The chains at the end of the path; from the last station in the cache on, if one is there."""
    *before, last = path
    if not before:
        return _fit(state, last, None, cache, progress)
    found = load_fit(cache, _digest(state, last, "station"))
    if found is None:
        found = _fit(state, last, _fit_station(state, before, cache, progress), cache, progress, UP_TO_DATE)
    touch_fit(cache, _digest(state, path[0], "anchor"))  # a correction would need it
    return found


def list_stations(a: int, n: int) -> list[int]:
    """The anchor a, and the stations after it that n measurements have passed."""
    path = [a]
    while (later := int(np.ceil(STEP * path[-1]))) <= n and a >= FIRST_STATION:
        path.append(later)
    return path


def largest_anchor(n: int) -> int:
    """The largest anchor of at most n measurements; n itself below the first."""
    if n < FIRST_ANCHOR:
        return n
    a = FIRST_ANCHOR
    while (larger := int(np.ceil(GROWTH * a))) <= n:
        a = larger
    return a


def _fit(
    state: State,
    n: int,
    start: Posterior | None,
    cache: Cache | None,
    progress: bool | None,
    sampling: Kind | Sampling = "population",
) -> Posterior:
    """The posterior of the first n measurements, from the cache or made."""
    from maxentry.model.priors import Priors  # the sampler takes long to load
    from maxentry.posterior.complete import complete

    settings = state.settings
    kind = "anchor" if start is None else "warm" if sampling == "population" else "station"
    name = _digest(state, n, kind)
    if (kept := load_fit(cache, name)) is not None:
        return kept
    data = Observations(state.shape, *_first_measurements(state, n), state.row_labels, state.col_labels)  # type: ignore[arg-type]
    made = complete(
        data,
        settings.rank if start is None else "auto",
        noise=settings.noise,
        effects=settings.effects,
        priors=Priors.paper() if settings.priors == "paper" else None,
        transform=settings.transform,
        sampling=sampling,
        start=start,
        seed=derive_seed(settings.seed, {"anchor": FIT, "warm": WARM, "station": STATION}[kind], n),
        progress=progress,
    )
    if made.interrupted:  # what was drawn by then would make the choice hang on the moment of Ctrl-C
        raise KeyboardInterrupt
    if cache is not None:
        save_fit(made, cache, name)
    return made


def _first_measurements(state: State, n: int) -> tuple[Indices, Indices, Array]:
    """Rows, columns and values of the first n measurements that stand."""
    return state.told.rows[:n], state.told.cols[:n], state.values[:n]


def _digest(state: State, n: int, kind: str) -> str:
    """A name for all that the fit depends on."""
    s = state.settings
    model = [LAW, s.seed, s.rank, s.noise, s.effects, s.priors, s.transform, *state.shape, n, kind]
    digest = hashlib.sha256(json.dumps(model).encode())
    for array in _first_measurements(state, n):
        digest.update(np.ascontiguousarray(array).tobytes())
    digest.update(repr((state.row_labels, state.col_labels)).encode())
    return digest.hexdigest()[:24]


def load_fit(cache: Cache | None, name: str) -> Posterior | None:
    """Load the posterior of this name; None if there is none, or none that can be read."""
    if cache is None:
        return None
    if not isinstance(cache, Path):
        return cache.get(name)
    file = _file(cache, name)
    if not file.is_file():
        return None
    from maxentry.posterior.posterior import Posterior

    with contextlib.suppress(MaxentryError, OSError):
        kept = Posterior.load(file)
        file.touch()  # used last, so deleted last
        return kept
    return None


def touch_fit(cache: Cache | None, name: str) -> None:
    """Mark a cached posterior as recently used."""
    if isinstance(cache, Path):
        with contextlib.suppress(OSError):
            if _file(cache, name).is_file():
                _file(cache, name).touch()
    elif cache is not None:
        cache.used(name)


def save_fit(made: Posterior, cache: Cache, name: str) -> None:
    """Save a posterior and delete those used longest ago; a folder that cannot be written is ignored."""
    if not isinstance(cache, Path):
        cache.put(name, made)
        return
    with contextlib.suppress(MaxentryError, OSError):
        cache.mkdir(parents=True, exist_ok=True)
        made.save(_file(cache, name))
        by_age = sorted(cache.glob("*.npz"), key=lambda f: f.stat().st_mtime)
        for old in by_age[:-KEPT]:
            old.unlink(missing_ok=True)


def _file(cache: Path, name: str) -> Path:
    return cache / f"{name}.npz"
