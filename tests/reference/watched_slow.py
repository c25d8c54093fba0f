"""Moments of entries the obvious way: keep the draw of every sweep, then take mean and sd."""

import numpy as np

from maxentry import Sampling, complete
from maxentry.posterior.posterior import Posterior


def every_sweep(data, rank: int, plan: Sampling, seed: int, **options) -> Posterior:
    """The same fit with every sweep after settling kept."""
    all_kept = Sampling(plan.kind, plan.chains, plan.anneal, plan.settle, plan.draws * plan.thin, 1)
    return complete(data, rank, sampling=all_kept, seed=seed, progress=False, **options)


def moments(posterior: Posterior, rows, cols) -> tuple[np.ndarray, np.ndarray]:
    """Mean and sd of entries by position over all draws, in the user's units."""
    x = np.array(
        [posterior.transform.inverse(posterior.belief.draw(s)) for s in range(posterior.belief.n_draws)]
    )
    x = x[:, rows, cols]
    return x.mean(0), x.std(0, ddof=1)
