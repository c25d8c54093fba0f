"""Which features matter: what they say of rows and columns, drawn given each draw of all else."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from maxentry._io import check_memory
from maxentry._types import Array
from maxentry.model.link import PRIOR, find_basis
from maxentry.observations import Observations
from maxentry.posterior.chains import Chain, ModelSpec
from maxentry.posterior.draws import Draws


class Coefficients(NamedTuple):
    """What features say of a side in one draw, in user's units: rows g ~ N(centre + f W, Q^-1), f as a basis has it."""

    Q: Array  # (K, K), K the rank of the chain, and one more with effects
    centre: Array  # (K,)
    W: Array  # (p, K)


def draw_coefficients(
    draws: Draws, chains: Sequence[Chain], fit: ModelSpec, observations: Observations, side: int
) -> Iterator[Coefficients]:
    """Draw the coefficients of the features given each draw of all else, so that they need not be stored."""
    assert draws.rho is not None
    assert fit.units is not None
    scale, rng = fit.units.scale, np.random.default_rng(side)
    basis = find_basis(fit.features[side], observations.observed, side)
    factors, effect = (draws.left, draws.row) if side == 0 else (draws.right, draws.col)
    # of factors and effects; those of columns are as the sampler has them
    sizes = [1.0 if side else scale, scale]
    for c, chain in enumerate(chains):
        for s in range(draws.mu.shape[1]):
            G = np.asarray(factors[c, s, :, : chain.rank], dtype=float) / sizes[0]
            unit = np.full(chain.rank, sizes[0])
            if fit.effects:
                G = np.column_stack([G, np.asarray(effect[c, s], dtype=float) / sizes[1]])
                unit = np.append(unit, sizes[1])
            Q, centre, W = basis.draw_coefficients(G, float(draws.rho[c, s, side]), PRIOR, fit.effects, rng)
            yield Coefficients(Q / np.outer(unit, unit), centre * unit, W * unit)


def stack_coefficients(
    draws: Draws, chains: Sequence[Chain], fit: ModelSpec, observations: Observations, Q: Array
) -> tuple[Array, Array]:
    """Draw what features say of new rows, the centres (S, K) and W (S, p, K), and the precisions around it into Q.

    Directions beyond a chain's rank have no columns, and any prior.
    """
    S, K, p = len(Q), Q.shape[1], find_basis(fit.features[0], observations.observed, 0).p
    check_memory(8 * S * p * K, f"{S} draws of the coefficients of {p} features")
    centre, W = np.zeros((S, K)), np.zeros((S, p, K))
    for s, drawn in enumerate(draw_coefficients(draws, chains, fit, observations, 0)):
        at = np.arange(len(drawn.Q))
        if fit.effects:
            at[-1] = K - 1
        Q[s] = np.eye(K)
        Q[s][np.ix_(at, at)], centre[s, at], W[s][:, at] = drawn.Q, drawn.centre, drawn.W
    return centre, W


def describe_features(
    draws: Draws, chains: Sequence[Chain], fit: ModelSpec, observations: Observations, level: float
) -> dict[str, Any]:
    """Columns of `Posterior.features`: coefficients for one sd of a feature, in the units of the model."""
    parts: list[dict[str, Any]] = []
    sides = (("row", draws.right, observations.col_axis), ("column", draws.left, observations.row_axis))
    for side, (name, others, axis) in enumerate(sides):
        basis = find_basis(fit.features[side], observations.observed, side)
        if not basis.p:
            continue
        average, pattern = np.empty((draws.mu.size, basis.p)), np.zeros(basis.p)
        unit = basis.spread / basis.length
        drawn = draw_coefficients(draws, chains, fit, observations, side)
        for s, coefficients in enumerate(drawn):
            c, rank = s // draws.mu.shape[1], len(coefficients.Q) - fit.effects
            B = np.asarray(others[c, s % draws.mu.shape[1], :, :rank], dtype=float)
            W = coefficients.W * unit[:, None]
            average[s] = W[:, :rank] @ B.mean(axis=0) + (W[:, rank] if fit.effects else 0.0)
            pattern += ((W[:, :rank] @ (B - B.mean(axis=0)).T) ** 2).mean(axis=1) / draws.mu.size
        low, high = np.percentile(average, [50 * (1 - level), 100 - 50 * (1 - level)], axis=0)
        observed = [f"observed {label}" for label in axis.labels or range(axis.size)]
        names = observed if basis.features is None else basis.features.names
        parts.append(
            {"side": [name] * basis.p, "feature": list(names), "coefficient": average.mean(axis=0), "low": low,
             "high": high, "pattern": np.sqrt(pattern), "matters": (low > 0) | (high < 0)}
        )  # fmt: skip
    whole = {key: np.concatenate([np.asarray(part[key]) for part in parts]) for key in parts[0]}
    order = np.argsort(-(whole["coefficient"] ** 2 + whole["pattern"] ** 2), kind="stable")
    return {key: column[order] for key, column in whole.items()}
