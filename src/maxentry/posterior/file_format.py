"""A posterior in one .npz file: arrays, and a JSON text for the rest. No pickle, so no code runs on load.

Or in a folder: large draws in files of their own, mapped into memory (`FolderStore`), and such an .npz for the rest.
"""

from __future__ import annotations

import json
import zipfile
from dataclasses import asdict
from os import PathLike
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from maxentry import labels as labels
from maxentry._io import write_atomically
from maxentry.errors import DataError, ParameterError
from maxentry.model.priors import InverseGamma, Priors
from maxentry.observations import Observations
from maxentry.posterior.chains import Chain, ModelSpec
from maxentry.posterior.draws import Draws, FolderStore
from maxentry.posterior.gibbs import GibbsState, Units
from maxentry.posterior.rank import RankChoice
from maxentry.posterior.schedule import Sampling
from maxentry.posterior.streaming import Watched
from maxentry.transform import Transform

FORMAT = 2  # 1 had no transform
LARGE = ("left", "right", "row", "col")  # of the draws: those that a folder has in files of their own
REST = "posterior.npz"
WATCHED = ("rows", "cols", "count", "chain_mean", "squares")


class Parts(NamedTuple):
    """What a posterior is made of, in the order of its constructor."""

    observations: Observations
    fit: ModelSpec
    sampling: Sampling
    chains: tuple[Chain, ...]
    draws: Draws
    rank_choice: RankChoice | None
    interrupted: bool
    watched: Watched | None = None


def save(p: Parts, path: str | PathLike[str]) -> None:
    """Write beside the target and rename, so that a crash leaves the old file or the new one, never half."""
    target = Path(path)
    if not target.parent.is_dir():
        raise DataError(f"expected a folder to write {target.name} into, but {target.parent} does not exist.")
    if target.is_dir():
        raise DataError(f"expected the name of a file to write, got {target}, which is a folder")
    _write(target, _meta(p), _arrays(p))


def save_rest(p: Parts, folder: FolderStore) -> None:
    """Write what a folder with the large draws lacks, so that it can be loaded."""
    large = {name: getattr(p.draws, name) for name in LARGE}
    files = {name: {"shape": array.shape, "dtype": str(array.dtype)} for name, array in large.items()}
    arrays = {name: array for name, array in _arrays(p).items() if name.removeprefix("draws_") not in large}
    _write(folder.path / REST, _meta(p) | {"files": files}, arrays)


def _write(target: Path, meta: dict[str, Any], arrays: dict[str, Any]) -> None:
    text = np.array(json.dumps(meta, default=_number))
    try:
        with write_atomically(target) as temporary, temporary.open("xb") as file:
            np.savez(file, meta=text, **arrays)
    except OSError as error:
        raise DataError(f"cannot write {target}: {error.strerror or error}") from error


def load(path: str | PathLike[str]) -> Parts:
    """Read what `save` wrote, or the folder of a fit, whose draws are fetched as they are read."""
    if not isinstance(path, str | PathLike):
        raise ParameterError(f"expected the path of a posterior, got {path!r}")
    folder = FolderStore(Path(path).expanduser())
    try:
        file_of_it = folder.path / REST if folder.path.is_dir() else folder.path
        if file_of_it.exists() and not zipfile.is_zipfile(file_of_it):
            raise ValueError("it is no .npz file")
        with np.load(file_of_it, allow_pickle=False) as file:
            arrays = {name: file[name] for name in file.files}
        meta = json.loads(str(arrays["meta"]))
        for name, known in meta.get("files", {}).items():
            arrays[f"draws_{name}"] = folder.read(name, tuple(known["shape"]), known["dtype"])
        written = meta["maxentry_posterior"]
        if written in (1, FORMAT):
            return _parts(meta, arrays)
    except FileNotFoundError as error:
        missing = error.filename or path
        raise DataError(
            f"expected a posterior written by maxentry, got {missing}, which does not exist"
        ) from None
    except OSError as error:
        raise DataError(f"cannot read {path}: {error.strerror or error}") from error
    except _NOT_OURS as error:
        raise DataError(f"expected a posterior written by maxentry, got {path} ({error})") from error
    raise DataError(
        f"expected a posterior of format 1 to {FORMAT}, got {path} of format {written}: "
        "it was written by another version of maxentry."
    )


_NOT_OURS = (
    ValueError, KeyError, TypeError, AttributeError, NotImplementedError, zipfile.BadZipFile, EOFError,
)  # fmt: skip


def _parts(meta: dict[str, Any], arrays: dict[str, Any]) -> Parts:
    observations = Observations(
        tuple(meta["shape"]), arrays["rows"], arrays["cols"], arrays["values"],
        labels.decode(meta["row_labels"]), labels.decode(meta["col_labels"]), meta["frame_kind"],
        meta.get("row_name"), meta.get("col_name"),
    )  # fmt: skip
    chains = tuple(
        Chain(
            c["rank"], GibbsState(*(arrays[f"chain{k}_{name}"] for name in GibbsState._fields)), c["stream"]
        )
        for k, c in enumerate(meta["chains"])
    )
    draws = Draws(**{name: arrays.get(f"draws_{name}") for name in Draws._fields})  # type: ignore[arg-type]
    return Parts(
        observations, _fit(meta["fit"]), Sampling(**meta["sampling"]), chains, draws,
        _choice(meta["rank_choice"]), meta["interrupted"], _watched(arrays, observations),
    )  # fmt: skip


def _arrays(p: Parts) -> dict[str, Any]:
    data = p.observations
    arrays: dict[str, Any] = {"rows": data.rows, "cols": data.cols, "values": data.values}
    arrays |= {f"draws_{name}": array for name, array in p.draws._asdict().items() if array is not None}
    for c, chain in enumerate(p.chains):
        arrays |= {f"chain{c}_{name}": array for name, array in chain.state._asdict().items()}
    if p.watched is not None:
        arrays |= {f"watched_{name}": getattr(p.watched, name) for name in WATCHED}
    return arrays


def _watched(arrays: dict[str, Any], observations: Observations) -> Watched | None:
    if "watched_rows" not in arrays:
        return None
    found = {name: arrays[f"watched_{name}"] for name in WATCHED}
    return Watched(**found, observations=observations)


def _meta(p: Parts) -> dict[str, Any]:
    data, fit = p.observations, p.fit
    return {
        "maxentry_posterior": FORMAT,
        "shape": data.shape,
        "row_labels": labels.encode(data.row_labels),
        "col_labels": labels.encode(data.col_labels),
        "frame_kind": data.frame_kind,
        "row_name": _text(data.row_name),
        "col_name": _text(data.col_name),
        "fit": {
            "noise": fit.noise,
            "effects": fit.effects,
            "priors": None if fit.priors is None else asdict(fit.priors),
            "units": fit.units,
            "transform": str(fit.transform),
        },
        "sampling": asdict(p.sampling),
        "chains": [{"rank": chain.rank, "stream": chain.stream} for chain in p.chains],
        "rank_choice": None if p.rank_choice is None else asdict(p.rank_choice),
        "interrupted": p.interrupted,
    }


def _fit(meta: dict[str, Any]) -> ModelSpec:
    given: dict[str, Any] = meta["priors"] or {}
    laws: dict[str, Any] = {k: InverseGamma(**v) if isinstance(v, dict) else v for k, v in given.items()}
    transform = Transform.parse(meta.get("transform", "none"))
    return ModelSpec(
        meta["noise"], meta["effects"], Priors(**laws) if laws else None, Units(*meta["units"]), transform
    )


def _choice(meta: dict[str, Any] | None) -> RankChoice | None:
    if meta is None:
        return None
    lists = {name: tuple(meta[name]) for name in ("ranks", "errors", "weights")}
    return RankChoice(**lists, n_held_out=meta["n_held_out"])


def _text(name: object) -> str | None:
    """What a frame calls its rows or columns; a name that is no text is not worth a format of its own."""
    return name if isinstance(name, str) else None


def _number(value: Any) -> Any:
    """NumPy's numbers as Python's, for JSON."""
    return value.item()
