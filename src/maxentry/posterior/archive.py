"""Saved posteriors: one .npz file of arrays and a JSON text for the rest. No pickle, so no code runs on load.

With `complete(..., store=folder)`, large draws are in files of the folder, mapped into memory (`FolderStore`), and
such an .npz file holds the rest.

A file may come from anywhere. It is read through one door, `read`: what its headers declare is compared with its size
before anything is allocated, and every part is checked against the others before it becomes a posterior.
"""

from __future__ import annotations

import json
import math
import zipfile
from collections.abc import Mapping
from dataclasses import asdict, replace
from os import PathLike, fspath
from pathlib import Path
from typing import Any, NamedTuple, get_args

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from maxentry import labels as axis_labels
from maxentry._io import can_be_path, expand_home, write_atomically
from maxentry.errors import DataError, ParameterError
from maxentry.features import Features
from maxentry.model.likelihood import PLAIN, Likelihood
from maxentry.model.link import Basis, read_side
from maxentry.model.priors import EffectLaw, HalfCauchy, InverseGamma, Priors
from maxentry.observations import Observations
from maxentry.posterior.chains import Chain, ModelSpec
from maxentry.posterior.draws import Draws, FolderStore
from maxentry.posterior.gibbs import GibbsState, Units
from maxentry.posterior.rank import RankChoice
from maxentry.posterior.schedule import Sampling
from maxentry.posterior.streaming import Watched
from maxentry.transform import Scales, Scaling, Side, Transform

# of saved posteriors; 1 had no transform, 2 no scales, 3 no limits, yes/no and grades, 4 no deviations, 5 no features
FORMAT = 6
REST = "posterior.npz"  # the file of a folder that has all but the large draws
LARGE = ("left", "right", "row", "col")  # of the draws: those that a folder has in files of their own
WATCHED = ("rows", "cols", "count", "chain_mean", "squares")
BESIDE = ("low", "high", "se")  # of observations, where they are not plain values
SIDES = ("features", "idle")  # of a fit: features that are used, and those left out
SCALARS = 8  # of the state of a chain, before its cuts between grades
HEADERS = {(1, 0): npy.read_array_header_1_0, (2, 0): npy.read_array_header_2_0}


class Parts(NamedTuple):
    """What a posterior is made of."""

    observations: Observations
    fit: ModelSpec
    sampling: Sampling
    chains: tuple[Chain, ...]
    draws: Draws
    rank_choice: RankChoice | None
    interrupted: bool
    watched: Watched | None


# Writing


def write(path: str | PathLike[str], parts: Parts) -> None:
    """Write everything to one file."""
    target = _path(path)
    if not target.parent.is_dir():
        raise DataError(
            f"expected a folder to write {target.name} into, got {target.parent}, which does not exist"
        )
    try:
        folder = target.is_dir()
    except OSError as error:  # a name that is too long
        raise DataError(f"cannot write {str(target)[:60]}: {error.strerror}") from None
    if folder:
        raise DataError(f"expected the name of a file to write, got {target}, which is a folder")
    _write(target, _meta(parts), _arrays(parts))


def write_rest(folder: FolderStore, parts: Parts) -> None:
    """Write all but the large draws into the folder that holds them."""
    large = {name: getattr(parts.draws, name) for name in LARGE}
    files = {name: {"shape": array.shape, "dtype": str(array.dtype)} for name, array in large.items()}
    rest = {name: array for name, array in _arrays(parts).items() if name.removeprefix("draws_") not in large}
    _write(folder.path / REST, _meta(parts) | {"files": files}, rest)


def _path(path: str | PathLike[str]) -> Path:
    """Return a path that the system can have; `~` is the home."""
    text = fspath(path) if isinstance(path, str | PathLike) else None
    if not isinstance(text, str) or not can_be_path(text):
        raise ParameterError(f"expected the path of a posterior, got {path!r}")
    return Path(text)


def _write(target: Path, meta: dict[str, Any], arrays: dict[str, Any]) -> None:
    text = np.array(json.dumps(meta, default=lambda number: number.item()))  # NumPy's numbers as Python's
    try:  # beside the target, then renamed: a crash leaves the old file or the new one, never half
        with write_atomically(target) as temporary, temporary.open("wb") as file:
            np.savez(file, meta=text, **arrays)
    except OSError as error:
        raise DataError(f"cannot write {target}: {error.strerror or error}") from error


def _arrays(p: Parts) -> dict[str, Any]:
    data = p.observations
    arrays: dict[str, Any] = {"rows": data.rows, "cols": data.cols, "values": data.values}
    arrays |= {name: getattr(data, name) for name in BESIDE if getattr(data, name) is not None}
    arrays |= {f"draws_{name}": array for name, array in p.draws._asdict().items() if array is not None}
    for c, chain in enumerate(p.chains):
        state = chain.state._asdict()
        arrays |= {
            f"chain{c}_{name}": array for name, array in state.items() if name != "latent" or array.size
        }
    if p.fit.scales is not None:
        arrays |= {"scales_shift": p.fit.scales.shift, "scales_factor": p.fit.scales.factor}
    if p.watched is not None:
        arrays |= {f"watched_{name}": getattr(p.watched, name) for name in WATCHED}
    return arrays


def _meta(p: Parts) -> dict[str, Any]:
    data, fit = p.observations, p.fit
    law = fit.likelihood
    plain = law == PLAIN[law.noise] and data.is_plain and not law.split
    kind: dict[str, Any] = {} if plain else {"kind": law.kind, "levels": law.levels, "limits": law.limits}
    with_features = fit.linked or fit.idle != (None, None)
    kind |= {"noise_sd": law.noise_sd, "replicates": law.replicates} if law.split else {}
    sides = {name: [_pack_features(given) for given in getattr(fit, name)] for name in SIDES}
    sides = sides | {"p_values": list(fit.p_values)} if with_features else {}
    parts = ((FORMAT, with_features), (5, law.split), (4, not plain), (3, fit.scales is not None))
    least = next((number for number, there in parts if there), 2)
    return {
        "maxentry_posterior": least,
        "shape": data.shape,
        "row_labels": axis_labels.encode(data.row_labels),
        "col_labels": axis_labels.encode(data.col_labels),
        "frame_kind": data.frame_kind,
        # a frame's name of its rows that is no text is not worth a format of its own
        "row_name": data.row_name if isinstance(data.row_name, str) else None,
        "col_name": data.col_name if isinstance(data.col_name, str) else None,
        "fit": {
            "noise": fit.noise,
            "effects": fit.effects,
            "priors": None if fit.priors is None else asdict(fit.priors),
            "units": fit.units,
            "transform": str(fit.transform),
            "scale": fit.scale,
            "scaled": None if fit.scales is None else fit.scales.side,
            **kind,
            **sides,
        },
        "sampling": asdict(p.sampling),
        "chains": [{"rank": chain.rank, "stream": chain.stream} for chain in p.chains],
        "rank_choice": None if p.rank_choice is None else asdict(p.rank_choice),
        "interrupted": p.interrupted,
    }


def _pack_features(given: Basis | str | None) -> Any:
    return given.features.to_json() if isinstance(given, Basis) and given.features is not None else given


# Reading


def read(path: str | PathLike[str]) -> Parts:
    """Read a posterior written by `write`, or one in a folder. Whatever else the file is, the error is a DataError."""
    folder = FolderStore(expand_home(_path(path)))
    try:
        meta, arrays = _open(folder)
        written = meta["maxentry_posterior"]
        if written in range(1, FORMAT + 1):
            return _restore(meta, arrays)
    except FileNotFoundError as error:
        missing = error.filename or path
        raise DataError(
            f"expected a posterior written by maxentry, got {missing}, which does not exist"
        ) from None
    except OSError as error:
        raise DataError(f"cannot read {path}: {error.strerror or error}") from error
    except Exception as error:  # a file of others may fail in any way
        why = str(error) or type(error).__name__
        raise DataError(f"expected a posterior written by maxentry, got {path} ({why})") from error
    raise DataError(
        f"expected a posterior of format 1 to {FORMAT}, got {path} of format {written}: "
        "it was written by another version of maxentry."
    )


def _open(folder: FolderStore) -> tuple[dict[str, Any], dict[str, Any]]:
    """The JSON text and the arrays of a file, or of a folder."""
    target = folder.path / REST if folder.path.is_dir() else folder.path
    if target.exists() and not (target.is_file() and zipfile.is_zipfile(target)):  # a device may have no end
        raise DataError("it is no .npz file")
    with zipfile.ZipFile(target) as file:
        _check_sizes(file, target.stat().st_size)
        arrays = {info.filename.removesuffix(".npy"): _read_array(file, info) for info in file.infolist()}
    meta = json.loads(str(arrays["meta"]))
    files = meta.get("files", {})
    if files and set(files) != set(LARGE):
        raise DataError(f"expected files of the draws {', '.join(LARGE)}, got {', '.join(map(repr, files))}")
    for name in files:
        shape, dtype = tuple(files[name]["shape"]), files[name]["dtype"]
        if dtype not in ("float32", "float64") or not all(_is_whole(m) for m in shape):
            raise DataError(f"expected draws of floats in files, got {dtype} of shape {shape}")
        arrays[f"draws_{name}"] = folder.read(name, shape, dtype)
    return meta, arrays


def _check_sizes(file: zipfile.ZipFile, size: int) -> None:
    """Refuse what would unfold: our files are not compressed, so that their parts are no larger than the file."""
    declared = sum(info.file_size for info in file.infolist())
    if declared > size or any(info.compress_type != zipfile.ZIP_STORED for info in file.infolist()):
        raise DataError(f"expected parts of {size} bytes at most, not compressed, got {declared}")


def _read_array(file: zipfile.ZipFile, info: zipfile.ZipInfo) -> NDArray[Any]:
    """One array; its header must declare what the part holds, or NumPy would allocate anything."""
    with file.open(info) as part:
        shape, _, dtype = HEADERS[npy.read_magic(part)](part)
        held = info.file_size - part.tell()
    if dtype.hasobject or dtype.itemsize * math.prod(shape) != held:
        raise DataError(f"expected {info.filename} to hold what it declares, got {held} bytes for {shape}")
    with file.open(info) as part:
        array: NDArray[Any] = npy.read_array(part, allow_pickle=False)
        return array


def _restore(meta: dict[str, Any], arrays: dict[str, Any]) -> Parts:
    kind = meta["frame_kind"]
    if kind not in (None, "pandas", "polars"):
        raise DataError(f"expected a frame of pandas or polars, got {kind!r}")
    names = [name if isinstance(name, str) else None for name in map(meta.get, ("row_name", "col_name"))]
    observations = Observations(
        tuple(meta["shape"]), arrays["rows"], arrays["cols"], arrays["values"],
        axis_labels.decode(meta["row_labels"]), axis_labels.decode(meta["col_labels"]), kind, names[0], names[1],
        **{name: arrays.get(name) for name in BESIDE},
    )  # fmt: skip
    fit = replace(_restore_fit(meta["fit"]), scales=_restore_scales(meta["fit"], arrays, observations))
    if "features" in meta["fit"]:
        fit = _restore_sides(fit, meta["fit"], observations)
    limited = count_limits(fit, observations) if "kind" in meta["fit"] else 0
    chains = tuple(
        _restore_chain(c, k, arrays, observations, fit, limited) for k, c in enumerate(meta["chains"])
    )
    draws = Draws(**{name: arrays.get(f"draws_{name}") for name in Draws._fields})  # type: ignore[arg-type]
    _check_draws(draws, chains, observations.shape, fit, mapped=bool(meta.get("files")))
    watched = _restore_watched(arrays, observations, len(chains)) if "watched_rows" in arrays else None
    choice = None if meta["rank_choice"] is None else _restore_choice(meta["rank_choice"])
    return Parts(
        observations, fit, Sampling(**meta["sampling"]), chains, draws, choice, bool(meta["interrupted"]), watched
    )  # fmt: skip


def count_limits(fit: ModelSpec, observations: Observations) -> int:
    """Count the measurements with limits; refuse what is no measurement of this kind."""
    said = fit.statements(observations)
    return 0 if said.low is None or said.high is None else int((said.low < said.high).sum())


def _restore_law(meta: dict[str, Any]) -> EffectLaw:
    return HalfCauchy(**meta) if "width" in meta else InverseGamma(**meta)


def _restore_fit(meta: dict[str, Any]) -> ModelSpec:
    given: dict[str, Any] = meta["priors"] or {}
    laws: dict[str, Any] = {k: _restore_law(v) if isinstance(v, dict) else v for k, v in given.items()}
    shift, scale = map(float, meta["units"])
    noise, effects, limits = meta["noise"], meta["effects"], meta.get("limits")
    law = PLAIN[noise]
    if "kind" in meta:
        ends = None if limits is None else tuple(limits)
        known, replicates = meta.get("noise_sd"), meta.get("replicates", False)
        law = Likelihood(meta["kind"], noise, tuple(meta["levels"]), ends, known, replicates is True)
    if not (math.isfinite(shift) and 0 < scale < math.inf):
        raise DataError(f"expected finite units, got {meta['units']}")
    if not isinstance(effects, bool):
        raise DataError(f"expected effects of a fit, got {effects!r}")
    if (wish := meta.get("scale", "none")) not in get_args(Scaling):
        raise DataError(f"expected scale to be one of {get_args(Scaling)}, got {wish!r}")
    return ModelSpec(
        law, effects, Priors(**laws) if laws else None, Units(shift, scale),
        Transform.parse(meta.get("transform", "none")), wish,
    )  # fmt: skip


def _restore_sides(fit: ModelSpec, meta: Mapping[str, Any], observations: Observations) -> ModelSpec:
    used = _restore_features(meta["features"], observations)
    idle = _restore_features(meta.get("idle", (None, None)), observations)
    if "observed" in idle or any(a is not None and b is not None for a, b in zip(used, idle, strict=True)):
        raise DataError("expected features that are used or left out, got both")
    p_rows, p_cols = (None if p is None else float(p) for p in meta.get("p_values", (None, None)))
    p_values = p_rows, p_cols
    if any(p is not None and not 0 < p <= 1 for p in p_values):
        raise DataError(f"expected p-values between 0 and 1, got {p_values}")
    if any(b is not None and p is None for b, p in zip(idle, p_values, strict=True)):
        raise DataError("expected a p-value of features that are left out, got none")
    return replace(fit, features=used, idle=idle, p_values=p_values)


def _restore_features(given: Any, observations: Observations) -> tuple[Any, Any]:
    def restore(one: Any, axis: axis_labels.Axis) -> Any:
        return read_side(Features.from_json(one) if isinstance(one, Mapping) else one, axis)

    rows, cols = given
    return restore(rows, observations.row_axis), restore(cols, observations.col_axis)


def _restore_scales(
    meta: dict[str, Any], arrays: Mapping[str, Any], observations: Observations
) -> Scales | None:
    side = meta.get("scaled")
    if side is None:
        return None
    if side not in get_args(Side):
        raise DataError(f"expected scales of columns or rows, got {side!r}")
    scales = Scales(side, arrays["scales_shift"], arrays["scales_factor"])
    for array in (scales.shift, scales.factor):
        _check_floats(array, (observations.shape[1 if side == "columns" else 0],))
    if not (scales.factor > 0).all():
        raise DataError("expected scales above zero, got others")
    return scales


def _restore_chain(
    meta: dict[str, Any],
    k: int,
    arrays: Mapping[str, Any],
    observations: Observations,
    fit: ModelSpec,
    limited: int,
) -> Chain:
    rank = meta["rank"]
    if not _is_whole(rank) or rank > min(observations.shape):
        raise DataError(f"expected a rank of 0 to {min(observations.shape)}, got {rank!r}")
    parts = {name: arrays[f"chain{k}_{name}"] for name in GibbsState._fields if name != "latent"}
    state = GibbsState(**parts, latent=arrays[f"chain{k}_latent"] if limited else np.empty(0))
    (m1, m2), law = observations.shape, fit.likelihood
    columns, weights = rank + 2 * fit.effects, observations.n if law.weighted else 0
    scalars = SCALARS + law.n_cuts + (law.count_weights((m1, m2)) if law.by_line else 0)
    shapes = ((m1, columns), (m2, columns), (scalars,), (weights,), (limited,))
    for array, shape in zip(state, shapes, strict=True):
        _check_floats(array, shape)
    if not (state.scalars[1:3] > 0).all() or not (state.weights > 0).all():
        raise DataError("expected a chain with variances and weights above zero, got others")
    np.random.PCG64().state = meta["stream"]  # refuses what is no state of a generator
    return Chain(rank, state, meta["stream"])


def _check_draws(
    draws: Draws, chains: tuple[Chain, ...], shape: tuple[int, int], fit: ModelSpec, *, mapped: bool
) -> None:
    """Refuse draws that do not fit the matrix, the chains or the noise; large ones that are mapped are not read."""
    if not chains or draws.mu is None or draws.mu.ndim != 2 or not draws.mu.size:
        raise DataError("expected draws of at least one chain, got none")
    (m1, m2), R, each = shape, max(chain.rank for chain in chains), (len(chains), draws.mu.shape[1])
    shapes = {"left": (m1, R), "right": (m2, R), "row": (m1,), "col": (m2,)}
    lines = fit.likelihood.count_weights(shape) if fit.likelihood.by_line else 0
    shapes |= {"cuts": (max(len(fit.likelihood.levels) - 1, 0),), "rho": (2,), "spread": (lines,)}
    for name, array in draws._asdict().items():
        if array is not None:
            _check_floats(array, (*each, *shapes.get(name, ())), values=not (mapped and name in LARGE))
    needed = {**dict.fromkeys((*LARGE, "mu", "eta2"), True), "nu": fit.likelihood.weighted}
    needed |= {
        "cuts": bool(fit.likelihood.levels),
        "omega2": fit.likelihood.split,
        "rho": fit.features != (None, None),
        "spread": lines > 0,
    }
    needed |= {"sigma2": True} if R else {}
    for name, wanted in needed.items():
        if (getattr(draws, name) is not None) != wanted:
            raise DataError(f"expected {'draws' if wanted else 'no draws'} of {name}")
    if not all(
        (positive > 0).all()
        for positive in (draws.eta2, draws.sigma2, draws.nu, draws.rho, draws.spread)
        if positive is not None
    ):
        raise DataError("expected draws of variances above zero, got others")
    if draws.omega2 is not None and not ((draws.omega2 > 0) & (draws.omega2 <= draws.eta2)).all():
        raise DataError("expected draws of omega2 above zero and up to eta2, got others")
    if draws.cuts is not None and not (np.diff(draws.cuts) > 0).all():
        raise DataError("expected cuts between grades that rise, got others")


def _check_floats(array: NDArray[Any], shape: tuple[int, ...], *, values: bool = True) -> None:
    if array.shape != shape or array.dtype not in (np.float64, np.float32):
        raise DataError(f"expected floats of shape {shape}, got {array.dtype} of shape {array.shape}")
    if values and not np.isfinite(array).all():
        raise DataError(f"expected finite numbers in an array of shape {shape}, got others")


def _restore_watched(arrays: Mapping[str, Any], observations: Observations, n_chains: int) -> Watched:
    found = {name: arrays[f"watched_{name}"] for name in WATCHED}
    rows, cols, count = found["rows"], found["cols"], found["count"]
    if not rows.ndim == cols.ndim == count.ndim == 1 or any(a.dtype.kind != "i" for a in (rows, cols, count)):
        raise DataError("expected watched entries by position, got others")
    observations.row_axis.within(rows), observations.col_axis.within(cols)
    if rows.shape != cols.shape or count.shape != (n_chains,) or (count < 0).any():
        raise DataError("expected watched entries of all chains, got others")
    for name in ("chain_mean", "squares"):
        _check_floats(found[name], (n_chains, rows.size))
    return Watched(**found, observations=observations)


def _restore_choice(meta: dict[str, Any]) -> RankChoice:
    ranks = tuple(meta["ranks"])
    errors, weights = (tuple(map(float, meta[name])) for name in ("errors", "weights"))
    if not len(ranks) == len(errors) == len(weights) > 0 or not all(
        map(_is_whole, (*ranks, meta["n_held_out"]))
    ):
        raise DataError("expected a choice of ranks with an error and a weight each, got another")
    return RankChoice(ranks, errors, weights, meta["n_held_out"])


def _is_whole(x: Any) -> bool:
    return isinstance(x, int) and not isinstance(x, bool) and 0 <= x < 2**62
