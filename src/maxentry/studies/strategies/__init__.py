"""All strategies by name: ours, and what others do."""

from maxentry.errors import ParameterError
from maxentry.studies.strategies.ours import OURS
from maxentry.studies.strategies.strategy import Strategy as Strategy

STRATEGIES: dict[str, Strategy] = {s.name: s for s in OURS}


def named(name: str) -> Strategy:
    """The strategy of this name."""
    if name not in STRATEGIES:
        raise ParameterError(f"expected one of the strategies {', '.join(STRATEGIES)}, but {name!r} came.")
    return STRATEGIES[name]
