"""A posterior in words, in HTML for notebooks, and for ArviZ."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np

from maxentry.errors import MissingDependencyError
from maxentry.posterior.monitored import monitor
from maxentry.transform import NONE

if TYPE_CHECKING:
    from maxentry.posterior.posterior import Posterior


MOSTLY_MEANS = 0.3  # share of rank 0 from which a user should know what intervals of entries leave out
LEFT_OUT = (
    "counts as noise: .predictive_interval includes it, .interval does not; a fixed rank (rank=2, say) gives intervals "
    "that allow for unseen structure"
)


def lines(posterior: Posterior) -> list[tuple[str, str]]:
    """(name, value) of what a user wants to see first."""
    p, data = posterior, posterior.observations
    (m1, m2), chains, draws = p.shape, *p.draws.mu.shape
    ranks = ", ".join(f"{rank} ({share:.0%})" for rank, share in p.rank_weights.items())
    noise = f"{p.noise_sd:.4g}" + (
        f", Student with {p.noise_df:.3g} degrees of freedom" if p.noise_df else ""
    )
    if p.transform != NONE:
        noise += f", on the {p.transform} scale"
    found = [
        ("matrix", f"{m1} x {m2}, {data.n} measurements of {data.observed.nnz} entries ({data.density:.2%})"),
        ("rank", str(p.rank) if len(p.rank_weights) == 1 else f"{p.rank}, stacked: {ranks}"),
        *(
            [("transform", f"{p.transform}; answers are in the units of the data")]
            if p.transform != NONE
            else []
        ),
        ("noise sd", noise),
        ("draws", f"{chains} chains x {draws}" + _what_is_missing(p)),
    ]
    if p.rank_weights.get(0, 0.0) >= MOSTLY_MEANS:
        found.append(("note", _means_note(p.rank_weights[0])))
    verdict = "converged" if p.diagnostics.converged else "NOT converged"
    found.append((verdict, f"median R-hat of X {p.diagnostics.median_rhat:.3f}"))
    if not p.diagnostics.converged:
        found.append(("advice", p.diagnostics.advice))
    return found


def _means_note(share: float) -> str:
    if share == 1.0:
        return f"the data show little beyond row and column means, so what else there is {LEFT_OUT}"
    return (
        f"{share:.0%} of the chains have row and column means alone, for which what else there is {LEFT_OUT}"
    )


def _what_is_missing(posterior: Posterior) -> str:
    if posterior.interrupted:
        return ", interrupted"
    lost = posterior.sampling.chains - len(posterior.chains)
    return f", {lost} left out (stuck in a mode without mass)" if lost > 0 else ""


def text(posterior: Posterior) -> str:
    """The repr."""
    return "\n".join(["Posterior", *(f"  {name}: {value}" for name, value in lines(posterior))])


def html(posterior: Posterior) -> str:
    """The notebook's view."""
    rows = "".join(
        f"<tr><th style='text-align:left'>{escape(name)}</th><td style='text-align:left'>{escape(value)}</td></tr>"
        for name, value in lines(posterior)
    )
    return f"<table><caption>Posterior</caption>{rows}</table>"


def to_arviz(posterior: Posterior) -> Any:
    """InferenceData (a DataTree, from ArviZ 1) with chain and draw in front of every variable."""
    try:
        import arviz
    except ImportError:
        raise MissingDependencyError("to_arviz needs ArviZ: pip install 'maxentry[arviz]'") from None
    data, draws = posterior.observations, posterior.draws
    entry = np.unique(data.rows.astype(np.int64) * data.shape[1] + data.cols)
    labels = (data.row_labels or range(data.shape[0]), data.col_labels or range(data.shape[1]))
    watched = monitor(draws, entry, np.random.default_rng(0), labels)
    found: dict[str, Any] = {"mu": draws.mu}
    coords, dims = {}, {}
    for group in dict.fromkeys(watched.groups):
        members = [k for k, g in enumerate(watched.groups) if g == group]
        name = group.replace(" ", "_")
        values = watched.draws[..., members]
        if group.startswith("X "):
            values = posterior.transform.inverse(values)
        if len(members) == 1 and name in ("eta2", "sigma2"):
            found[name] = values[..., 0]
            continue
        found[name], dims[name] = values, [f"{name}_of"]
        coords[f"{name}_of"] = [watched.names[k] for k in members]
    if int(arviz.__version__.split(".")[0]) >= 1:
        return arviz.from_dict({"posterior": found}, coords=coords, dims=dims)
    return arviz.from_dict(posterior=found, coords=coords, dims=dims)
