"""Which entries of a matrix to measure next, and the whole matrix with uncertainty you can trust."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from maxentry.campaign.campaign import Campaign as Campaign
    from maxentry.client.client import connect as connect
    from maxentry.errors import MaxentryError as MaxentryError
    from maxentry.model.priors import HalfCauchy as HalfCauchy
    from maxentry.model.priors import InverseGamma as InverseGamma
    from maxentry.model.priors import Priors as Priors
    from maxentry.observations import Observations as Observations
    from maxentry.posterior.complete import complete as complete
    from maxentry.posterior.posterior import Posterior as Posterior
    from maxentry.posterior.schedule import Sampling as Sampling
    from maxentry.summary.held_out import hold_out as hold_out
else:
    # Names are fetched when they are first used (PEP 562): Numba alone takes longer to import than the command
    # line may take to answer `--help` or a Tab.
    _HOMES = {
        "Campaign": "maxentry.campaign.campaign",
        "connect": "maxentry.client.client",
        "MaxentryError": "maxentry.errors",
        "HalfCauchy": "maxentry.model.priors",
        "InverseGamma": "maxentry.model.priors",
        "Priors": "maxentry.model.priors",
        "Observations": "maxentry.observations",
        "complete": "maxentry.posterior.complete",
        "Posterior": "maxentry.posterior.posterior",
        "Sampling": "maxentry.posterior.schedule",
        "hold_out": "maxentry.summary.held_out",
    }

    def __getattr__(name: str) -> object:
        if name not in _HOMES:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        from importlib import import_module

        value = globals()[name] = getattr(import_module(_HOMES[name]), name)
        return value

    def __dir__() -> list[str]:
        return sorted({*globals(), *_HOMES})


__version__ = "0.2.0"
__all__ = [
    "Campaign",
    "HalfCauchy",
    "InverseGamma",
    "MaxentryError",
    "Observations",
    "Posterior",
    "Priors",
    "Sampling",
    "complete",
    "connect",
    "hold_out",
]
