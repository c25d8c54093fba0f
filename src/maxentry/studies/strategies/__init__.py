"""All strategies by name: ours, and what others do."""

from maxentry.errors import ParameterError
from maxentry.studies.strategies.cheapest import CHEAPEST
from maxentry.studies.strategies.leverage import LEVERAGE
from maxentry.studies.strategies.means import MEANS
from maxentry.studies.strategies.oboe import OBOE, OBOE_OWN
from maxentry.studies.strategies.ours import OURS
from maxentry.studies.strategies.papers_own import PAPERS_OWN
from maxentry.studies.strategies.smurff_peer import SMURFF_VARIANCE
from maxentry.studies.strategies.strategy import Strategy as Strategy
from maxentry.studies.strategies.top_variance import TOP_VARIANCE

PEERS = (TOP_VARIANCE, LEVERAGE, MEANS, CHEAPEST, OBOE, OBOE_OWN, SMURFF_VARIANCE, *PAPERS_OWN)
STRATEGIES: dict[str, Strategy] = {s.name: s for s in (*OURS, *PEERS)}


def named(name: str) -> Strategy:
    """The strategy of this name."""
    if name not in STRATEGIES:
        raise ParameterError(f"expected one of the strategies {', '.join(STRATEGIES)}, but {name!r} came.")
    return STRATEGIES[name]
