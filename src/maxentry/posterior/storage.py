"""A posterior in one .npz file: arrays, and a JSON text for the rest. No pickle, so no code runs on load."""

from __future__ import annotations

import json
import os
import tempfile
import zipfile
from dataclasses import asdict
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from maxentry.errors import DataError
from maxentry.model.priors import InverseGamma, Priors
from maxentry.observations import Observations
from maxentry.posterior.chains import Chain
from maxentry.posterior.conjugate import State, Units
from maxentry.posterior.fit import Fit
from maxentry.posterior.monitored import Draws
from maxentry.posterior.rank import RankChoice
from maxentry.posterior.sampling import Sampling

if TYPE_CHECKING:
    from maxentry.posterior.posterior import Posterior

FORMAT = 1


def save(posterior: Posterior, path: str | PathLike[str]) -> None:
    """Write beside the target and rename, so that a crash leaves the old file or the new one, never half."""
    p, data = posterior, posterior.observations
    arrays: dict[str, Any] = {"rows": data.rows, "cols": data.cols, "values": data.values}
    arrays |= {f"draws_{name}": array for name, array in p.draws._asdict().items() if array is not None}
    for c, chain in enumerate(p.chains):
        arrays |= {f"chain{c}_{name}": array for name, array in chain.state._asdict().items()}
    target = Path(path)
    handle, temporary = tempfile.mkstemp(dir=target.parent, prefix=target.name, suffix=".part")
    try:
        with os.fdopen(handle, "wb") as file:
            np.savez(file, meta=np.array(json.dumps(_meta(p))), **arrays)
        os.replace(temporary, target)
    except BaseException:
        os.unlink(temporary)
        raise


def load(path: str | PathLike[str]) -> Posterior:
    """Read what `save` wrote."""
    from maxentry.posterior.posterior import Posterior

    try:
        with np.load(path, allow_pickle=False) as file:
            arrays = {name: file[name] for name in file.files}
        meta = json.loads(str(arrays["meta"]))
    except (ValueError, KeyError, zipfile.BadZipFile, EOFError) as error:
        raise DataError(
            f"expected a posterior written by maxentry, but {path} is not one ({error})."
        ) from error
    if meta.get("maxentry_posterior") != FORMAT:
        raise DataError(
            f"expected a posterior of format {FORMAT}, but {path} has format {meta.get('maxentry_posterior')}; "
            "it was written by another version of maxentry."
        )
    observations = Observations(
        tuple(meta["shape"]), arrays["rows"], arrays["cols"], arrays["values"],
        _labels(meta["row_labels"]), _labels(meta["col_labels"]), meta["frame_kind"],
    )  # fmt: skip
    chains = tuple(
        Chain(c["rank"], State(*(arrays[f"chain{k}_{name}"] for name in State._fields)), c["stream"])
        for k, c in enumerate(meta["chains"])
    )
    draws = Draws(**{name: arrays.get(f"draws_{name}") for name in Draws._fields})  # type: ignore[arg-type]
    return Posterior(
        observations, _fit(meta["fit"]), Sampling(**meta["sampling"]), chains, draws,
        _choice(meta["rank_choice"]), meta["interrupted"],
    )  # fmt: skip


def _meta(p: Posterior) -> dict[str, Any]:
    data, fit = p.observations, p.fit
    return {
        "maxentry_posterior": FORMAT,
        "shape": data.shape,
        "row_labels": _plain(data.row_labels),
        "col_labels": _plain(data.col_labels),
        "frame_kind": data.frame_kind,
        "fit": {
            "noise": fit.noise,
            "effects": fit.effects,
            "priors": None if fit.priors is None else asdict(fit.priors),
            "units": fit.units,
        },
        "sampling": asdict(p.sampling),
        "chains": [{"rank": chain.rank, "stream": chain.stream} for chain in p.chains],
        "rank_choice": None if p.rank_choice is None else asdict(p.rank_choice),
        "interrupted": p.interrupted,
    }


def _fit(meta: dict[str, Any]) -> Fit:
    given: dict[str, Any] = meta["priors"] or {}
    laws: dict[str, Any] = {k: InverseGamma(**v) if isinstance(v, dict) else v for k, v in given.items()}
    return Fit(meta["noise"], meta["effects"], Priors(**laws) if laws else None, Units(*meta["units"]))


def _choice(meta: dict[str, Any] | None) -> RankChoice | None:
    if meta is None:
        return None
    lists = {name: tuple(meta[name]) for name in ("ranks", "scores", "weights")}
    return RankChoice(**lists, n_held_out=meta["n_held_out"])


def _plain(labels: tuple[Any, ...] | None) -> list[Any] | None:
    """Labels for JSON: text, numbers and truth values as they are, anything else (dates, tuples) as text."""
    if labels is None:
        return None
    return [label if isinstance(label, str | int | float | bool) else str(label) for label in labels]


def _labels(labels: list[Any] | None) -> tuple[Any, ...] | None:
    return None if labels is None else tuple(labels)
