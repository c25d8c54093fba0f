"""All strategies by name: the package's own, and what others do."""

from evidence.strategies.leverage import LEVERAGE
from evidence.strategies.oboe import OBOE, OBOE_OWN
from evidence.strategies.papers_own import PAPERS_OWN
from evidence.strategies.simple import CHEAPEST, MEANS, TOP_VARIANCE
from evidence.strategies.smurff import SMURFF_VARIANCE
from maxentry.compare.scenario import OURS, Strategy, find_strategy

PEERS = (TOP_VARIANCE, LEVERAGE, MEANS, CHEAPEST, OBOE, OBOE_OWN, SMURFF_VARIANCE, *PAPERS_OWN)
STRATEGIES = (*OURS, *PEERS)


def get_strategy(name: str) -> Strategy:
    """Return the strategy of this name."""
    return find_strategy(name, STRATEGIES)
