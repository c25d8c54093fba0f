"""R-hat and effective sample size of many quantities at once.

Vehtari, Gelman, Simpson, Carpenter & Bürkner (2021), "Rank-normalization, folding, and localization: an
improved R-hat", Bayesian Analysis 16(2). Every function takes `draws` of shape (chain, draw, ...) and returns
an array of the trailing shape. The result is NaN with fewer than `MIN_DRAWS` draws per chain, or if a draw is not
finite.
"""

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.fft import irfft, next_fast_len, rfft
from scipy.special import ndtri

from maxentry._types import Array

MIN_DRAWS = 4
TAIL = (0.05, 0.95)
_BLOCK_VALUES = 1 << 18  # 2 MiB of doubles: the temporaries of a block of quantities stay in cache
_ROUNDING = 1e-20  # a variance of scores below this is zero


def split_rhat(draws: ArrayLike) -> Array:
    """Rank-normalised split R-hat: the larger of the bulk value (location) and the folded one (scale).

    NaN for a quantity that never changes, and for a single chain, which cannot show that it is stuck. Infinite
    if every half-chain is constant and the constants differ.
    """
    return _by_blocks(_split_rhat, draws, least_chains=2)


def ess_bulk(draws: ArrayLike) -> Array:
    """Bulk effective sample size: that of the rank-normalised draws, by Geyer's initial monotone sequence.

    For a quantity that never changes, it is the number of draws. With fewer than 10 draws per chain no pair of lags
    can be estimated, and the value is the cap S log10 S, which means nothing: use `ess_between` for short chains.
    """
    return _by_blocks(lambda x: _ess(_normal_scores(_split(x))), draws)


def ess_tail(draws: ArrayLike) -> Array:
    """Tail effective sample size: the smaller of those of the 5% and the 95% quantile."""
    return _by_blocks(lambda x: np.minimum(*(_ess(_split(low)) for low in _tail_indicators(x))), draws)


def ess_between(draws: ArrayLike) -> tuple[Array, Array]:
    """Bulk and tail effective sample size of independent chains, from the spread of the chain means alone.

    The mean over C independent chains has variance Var(chain means) / C, however the draws of a chain depend on each
    other. So ESS = C Var(x) / Var(chain means), at least C, is valid even if chains are too short to estimate an
    autocorrelation.
    """
    bulk = _by_blocks(lambda x: _ess_from_means(_normal_scores(x)), draws, least_chains=2)
    tail = _by_blocks(
        lambda x: np.fmin(*(_ess_from_means(low) for low in _tail_indicators(x))), draws, least_chains=2
    )
    return bulk, tail


def _by_blocks(statistic: Callable[[Array], Array], draws: ArrayLike, least_chains: int = 1) -> Array:
    """Apply `statistic`, (quantity, chain, draw) -> (quantity,), to blocks of quantities."""
    draws = np.asarray(draws, dtype=float)
    chains, n, *shape = draws.shape
    flat = draws.reshape(chains, n, -1)
    out = np.full(flat.shape[2], np.nan)
    if n >= MIN_DRAWS and chains >= least_chains:
        size = max(1, _BLOCK_VALUES // (chains * n))
        for start in range(0, out.size, size):
            x = np.ascontiguousarray(np.moveaxis(flat[:, :, start : start + size], 2, 0))
            finite = np.isfinite(x).all(axis=(1, 2))
            if finite.any():
                out[start : start + size][finite] = statistic(x[finite])
    return out.reshape(shape)


def _split(x: Array) -> Array:
    """Split each chain into two halves; the middle draw of an odd number is left out."""
    half = x.shape[2] // 2
    return np.concatenate([x[:, :, :half], x[:, :, -half:]], axis=1)


def _normal_scores(x: Array) -> Array:
    """z = ndtri((rank - 3/8)/(S + 1/4)), ties at their average rank, over all chains of a quantity."""
    flat = x.reshape(len(x), -1)
    size = flat.shape[1]
    order = np.argsort(flat, axis=1)
    # An average rank is a multiple of 1/2, so the possible scores are a table, computed once.
    ranks = 1 + np.arange(2 * size - 1) / 2
    score = ndtri((ranks - 0.375) / (size + 0.25))
    z = np.empty_like(flat)
    np.put_along_axis(z, order, score[_doubled_ranks(np.take_along_axis(flat, order, axis=1))], axis=1)
    return z.reshape(x.shape)


def _doubled_ranks(ordered: Array) -> NDArray[np.intp]:
    """Twice the average rank, from 0, of each value of sorted rows: first + last place of its ties."""
    size = ordered.shape[1]
    place = np.arange(size)
    changes = ordered[:, 1:] != ordered[:, :-1]
    if changes.all():
        return np.broadcast_to(2 * place, ordered.shape)
    edge = np.ones((len(ordered), 1), dtype=bool)
    first = np.maximum.accumulate(np.where(np.hstack([edge, changes]), place, 0), axis=1)
    last = np.where(np.hstack([changes, edge]), place, size)
    doubled: NDArray[np.intp] = first + np.minimum.accumulate(last[:, ::-1], axis=1)[:, ::-1]
    return doubled


def _rhat(z: Array) -> Array:
    n = z.shape[2]
    between = n * z.mean(axis=2).var(axis=1, ddof=1)
    within = z.var(axis=2, ddof=1).mean(axis=1)
    # Scores are of order one; the rounding of a mean must not pass for variance in constant half-chains.
    between, within = (np.where(v < _ROUNDING, 0, v) for v in (between, within))
    with np.errstate(divide="ignore", invalid="ignore"):
        rhat: Array = np.sqrt((between / within + n - 1) / n)
    return rhat


def _split_rhat(x: Array) -> Array:
    x = _split(x)
    folded = np.abs(x - np.median(x, axis=(1, 2), keepdims=True))
    # fmax: a quantity with two equally likely values folds to a constant, whose R-hat is NaN.
    return np.fmax(_rhat(_normal_scores(x)), _rhat(_normal_scores(folded)))


def _tail_indicators(x: Array) -> list[Array]:
    """Whether x <= q, for the 5% and the 95% quantile q (R's type 7) of each quantity."""
    flat = x.reshape(len(x), -1)
    size = flat.shape[1]
    places = [size * prob + (1 - prob) for prob in TAIL]
    uppers = [int(np.clip(np.floor(place), 1, size - 1)) for place in places]
    flat = np.partition(flat, sorted({k - d for k in uppers for d in (0, 1)}), axis=1)
    indicators = []
    for place, k in zip(places, uppers, strict=True):
        low, high = flat[:, k - 1], flat[:, k]
        quantile = low + np.clip(place - k, 0, 1) * (high - low)
        indicators.append((x <= quantile[:, None, None]).astype(float))
    return indicators


def _ess(x: Array) -> Array:
    """Effective sample size of the mean, (quantity, chain, draw) -> (quantity,)."""
    _, chains, n = x.shape
    autocovariance = _mean_autocovariance(x)
    within = autocovariance[:, :1] * n / (n - 1)
    total = autocovariance[:, :1] + x.mean(axis=2).var(axis=1, ddof=1)[:, None]
    constant = np.ptp(x, axis=(1, 2)) < np.finfo(float).resolution
    rho = 1 - (within - autocovariance) / np.where(constant[:, None], 1, total)
    rho[:, 0] = 1
    tau = np.maximum(_geyer_time(rho), 1 / np.log10(chains * n))
    ess: Array = chains * n / np.where(constant, 1, tau)
    return ess


def _mean_autocovariance(x: Array) -> Array:
    """Autocovariance at every lag, averaged over chains (before the inverse transform: it is linear)."""
    n = x.shape[2]
    padded = next_fast_len(2 * n, real=True)
    spectrum = rfft(x - x.mean(axis=2, keepdims=True), n=padded, axis=2)
    power = (spectrum.real**2 + spectrum.imag**2).mean(axis=1)
    covariance: Array = irfft(power, n=padded, axis=1)[:, :n] / n
    return covariance


def _geyer_time(rho: Array) -> Array:
    """Integrated autocorrelation time by Geyer's initial positive, then monotone, sequence of pairs of lags.

    The pairs P_k = rho_2k + rho_2k+1 count up to the first that is not positive, made non-increasing; the
    even lag after them is added once (Vehtari et al. 2021, Sec. 3.2): less variance for antithetic chains.
    """
    n = rho.shape[1]
    room = max((n - 3) // 2, 0)
    pairs = rho[:, : 2 * room + 2].reshape(len(rho), room + 1, 2).sum(axis=2)
    stops = pairs <= 0
    count = np.where(stops.any(axis=1), stops.argmax(axis=1), room)
    used = np.arange(room + 1) < count[:, None]
    monotone = np.minimum.accumulate(pairs, axis=1)
    chosen = np.arange(len(rho)), count
    last_even, last_pair = rho[chosen[0], 2 * count], pairs[chosen]
    last = np.where(last_pair >= 0, last_even, np.maximum(last_even, 0))
    last = np.where(count == 0, 1, last)
    time: Array = -1 + 2 * np.sum(monotone, axis=1, where=used) + last
    return time


def _ess_from_means(x: Array) -> Array:
    _, chains, n = x.shape
    means = x.mean(axis=2).var(axis=1, ddof=1)
    total = means + x.var(axis=2, ddof=1).mean(axis=1) * (n - 1) / n
    size = chains * n
    with np.errstate(divide="ignore", invalid="ignore"):
        ess = np.minimum(chains * total / means, size * np.log10(size))
    counted: Array = np.where(total > 0, ess, size)
    return counted
