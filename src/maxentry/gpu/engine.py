"""Where chains run: on the processor or on a GPU, what a GPU can take, and when it is worth it.

JAX is imported when it is needed, by `maxentry.gpu.device`.
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib.util import find_spec
from typing import TYPE_CHECKING, Literal

from maxentry.errors import ParameterError, is_choice
from maxentry.model.likelihood import Likelihood
from maxentry.wording import show

if TYPE_CHECKING:
    from maxentry.posterior.gibbs import GibbsData

Engine = Literal["auto", "cpu", "gpu"]
LARGEST_RANK = 64
WORTH = 5e7  # multiplications of a sweep of all chains from which a GPU is faster (benchmarks/gpu.md)
WORTH_WHOLE = (
    3e11  # those of all sweeps that processors do while a new process gets a GPU ready (the same page)
)


def check_engine(name: object, cluster: object = None) -> None:
    """Refuse any other name of an engine, and a GPU beside a cluster."""
    if not is_choice(name, ("auto", "cpu", "gpu")):
        raise ParameterError(f"engine must be 'auto', 'cpu' or 'gpu', got {show(name)}")
    if name == "gpu" and cluster is not None:
        raise ParameterError("the workers of cluster= have no engine='gpu'; leave one of them out")


def why_no_model(likelihood: Likelihood, features: bool, ranks: Sequence[int]) -> str | None:
    """Return what of a model the GPU cannot do, as the end of a sentence; None where it can do all."""
    if likelihood.is_special and likelihood.weighted:
        return f"takes noise='gaussian' with {likelihood}, got noise={likelihood.noise!r}"
    if features:
        return "has no features of rows or columns"
    if likelihood.noise_sd is not None:
        return "takes measurements without standard errors or deviations of entries"
    if likelihood.by_line:
        return f"has noise='gaussian' and 'student', got noise={likelihood.noise!r}"
    for rank in ranks:
        if rank > LARGEST_RANK:
            return f"has ranks up to {LARGEST_RANK}, got {rank}"
    return None


def why_not(data: GibbsData, ranks: Sequence[int]) -> str | None:
    """The same of a model and its data."""
    if data.limits is not None and data.likelihood.weighted:
        return f"takes noise='gaussian' with limits, got noise={data.likelihood.noise!r}"
    if data.errors is not None:
        return "takes measurements without standard errors or deviations of entries"
    return why_no_model(data.likelihood, bool(data.bases), ranks)


def is_worth(work: float, sweeps: int) -> bool:
    """Whether a GPU is faster: for a sweep of all chains, of `work` multiplications, and for all with compilation."""
    return work >= WORTH and work * sweeps >= WORTH_WHOLE


def choose_engine(
    wish: Engine, data: GibbsData, ranks: Sequence[int], work: float, sweeps: int
) -> Literal["cpu", "gpu"]:
    """Return where to run: "auto" takes a GPU where there is one, it can do the problem, and work is plenty.

    work: multiplications of a sweep of all chains; sweeps: of each.
    """
    if wish == "cpu":
        return "cpu"
    reason = why_not(data, ranks)
    if wish == "auto":
        good = reason is None and is_worth(work, sweeps) and find_spec("jax") is not None
        return "gpu" if good and _has_gpu() else "cpu"
    if reason is not None:
        raise ParameterError(f"engine='gpu' {reason}; leave engine= out, or use engine='cpu'")
    if find_spec("jax") is None:
        raise ParameterError("engine='gpu' needs JAX: pip install 'jax[cuda13]'; or use engine='cpu'")
    import jax

    if not _has_gpu() and jax.config.jax_platforms != "cpu":
        raise ParameterError(
            "engine='gpu' needs a GPU that JAX can use, and it found none; use engine='cpu' "
            "(JAX_PLATFORMS=cpu runs it on the processor, to try it out)"
        )
    return "gpu"


def _has_gpu() -> bool:
    import jax

    import maxentry.gpu.algebra  # noqa: F401 - what it sets counts before JAX looks at the machine

    try:
        return bool(jax.default_backend() == "gpu")
    except RuntimeError:  # a driver without a device, or of another version
        return False
