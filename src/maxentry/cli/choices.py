"""What may be named in a study, for its help: spelled out here, since looking it up would load all of the studies."""

from __future__ import annotations

from collections.abc import Sequence

from maxentry.errors import ParameterError

STRATEGIES = (
    "uniform", "balanced", "balanced_uniform", "maxent", "maxent_nearest", "predictive_variance",
    "integrated_variance", "top_variance", "leverage", "means", "cheapest", "oboe", "oboe_own", "smurff_variance",
    "papers_maxent", "papers_uniform", "papers_balanced",
)  # fmt: skip
MATRICES = (
    "sim30", "sim60", "sim30, past the degrees of freedom", "direct arylation", "Buchwald-Hartwig", "kinase pKd",
    "AutoML error", "AutoML log s", "SAT11, log s", "SAT20, log s", "Jester", "MovieLens 100K", "MovieLens 1M",
    "AutoML error of new data sets, by run time",
)  # fmt: skip


def listed(names: Sequence[str]) -> str:
    """Names, some of which have commas in them."""
    return "; ".join(names)


def check_matrices(names: Sequence[str]) -> None:
    """Refuse what is no matrix of the suite."""
    for name in names:
        if name not in MATRICES:
            raise ParameterError(f"expected matrices among {listed(MATRICES)}; but {name!r} came.")
