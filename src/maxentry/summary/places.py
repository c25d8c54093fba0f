"""Where a value lies in the distribution that was predicted for it: a place u from 0 to 1.

If predictions are right, places are spread evenly, and the share of values with |2u - 1| <= level is that level.
Limits, and values at the ends of a scale, say only between which places theirs is: it is drawn at random there. Without
limits the values left would not be evenly placed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from maxentry._types import Array, Indices
from maxentry.belief import BLOCK_NUMBERS, Entries

if TYPE_CHECKING:
    from maxentry.posterior.posterior import Posterior


def place_values(
    posterior: Posterior,
    entries: Entries,
    values: Array,
    ends: tuple[Array, Array] | None = None,
    se: Array | None = None,
) -> Array:
    """Places in the posterior predictive distribution: the mean over the draws of the noise's distribution function.

    ends: of limits and ranges, the value itself at plain ones. Values at the ends of the scale are limits, too.
    se: standard errors, which are noise besides.
    """
    belief, value_map = posterior.belief, posterior.value_map
    low, high = state_ends(values, ends, posterior.likelihood.limits)
    limited, error = np.flatnonzero(low < high), scale_errors(posterior, entries, values, se)

    def places(end: Array, which: Indices) -> Array:
        found = np.empty(len(which))
        step = max(1, BLOCK_NUMBERS // belief.n_draws)
        for start in range(0, len(which), step):
            some = which[start : start + step]
            at = entries.rows[some], entries.cols[some]
            law = posterior.noise_law.at(*at)
            if error is not None:
                var = law.var if law.var.ndim == 2 else law.var[:, None]
                law = law._replace(var=var + error[some] ** 2)
            z = value_map.forward_end(end[some], *at)
            found[start : start + step] = law.cdf(z - belief.at(*at)).mean(0)
        return found

    place = places(high, np.arange(len(values)))
    if limited.size:
        below = places(low, limited)
        place[limited] = below + np.random.default_rng(0).random(limited.size) * (place[limited] - below)
    return place


def scale_errors(posterior: Posterior, entries: Entries, values: Array, se: Array | None) -> Array | None:
    """Return the standard errors of values on the scale of the model; None if there are none."""
    return None if se is None or not se.any() else se * posterior.value_map.slope(values, *entries)


def state_ends(
    values: Array, ends: tuple[Array, Array] | None, limits: tuple[float, float] | None
) -> tuple[Array, Array]:
    """What values say: themselves, their own ends, or no more than that they are at an end of the scale."""
    low, high = (values.copy() if ends is None else ends[k].copy() for k in (0, 1))
    plain, (least, most) = low == high, limits or (-np.inf, np.inf)
    low[plain & (values <= least)], high[plain & (values >= most)] = -np.inf, np.inf
    return low, high
