"""Measurements known only to lie between two ends: draws of their latent values, and the laws without these.

    z_n ~ N(x_n, eta2 / (beta w_n)),   low_n < z_n <= high_n       (a limit, a yes or no, a grade)

Each sweep draws z_n given x_n and writes it in place of the measurement; the rest of the sweep is that of plain values.
Truncated normals are drawn by rejection, from the tail where the ends lie there (Robert 1995): exact however far out.

**Scales without z.** Where most measurements are limits, eta2 given z creeps: z follows eta2 and eta2 follows z. So
now and then eta2 is drawn with z integrated out, by a slice step on

    log p(log eta2) = log IG + sum_limits log[Phi((high - x)/s) - Phi((low - x)/s)] + sum_values log N(y; x, s^2)

and z right after it. The cuts between grades do not move at all given z, and are drawn in the same way.

At beta < 1 a limit is N(z; x, eta2/beta) over its interval, a whole measurement with more noise, so that the law stays
proper. A value counts as beta measurements, as everywhere.
"""

import math
from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from maxentry._types import Array
from maxentry.kernels.simd import LANES, broadcast, fma, horizontal_sum, load

ROOT_2 = math.sqrt(2.0)
LOG_ROOT_2PI = 0.5 * math.log(2.0 * math.pi)
NORMAL_ENDS = 0.45  # lower ends up to which plain normals are rejected; beyond it the tail's exponential
MOST_ROUNDS = 1000  # numbers need a few; NaN would try for ever
BLOCK = 1024  # measurements drawn together
ASYMPTOTIC = 37.0  # beyond it erfc underflows
FIRST_KNOT, N_KNOTS, KNOTS = (
    -10.0,
    1600,
    32,
)  # of the table of log tails: its start, and steps in all and in one
NARROW = 1e-5  # intervals whose probability is their width times the density in the middle
STEPS = 20  # of the brackets of a slice


class Latent(NamedTuple):
    """The measurements with ends, in the order of the right side, and arrays to work in."""

    pair: NDArray[np.int32]  # (N,) the line of `ends` that holds, -1 for a plain value
    ends: Array  # (P, 2) low and high, in standard units; those of grades move with the cuts
    mean: Array  # (N,) the entries, before z is drawn
    inner: NDArray[np.int64]  # the lines of `ends` whose upper end is a cut that is drawn
    often: Array  # (1,) share of the sweeps that draw the scales without z


# Truncated normals


@njit(cache=True, nogil=True, inline="always")
def standard_ends(mean: float, root: float, low: float, high: float) -> tuple[float, float, float]:
    """Return a, b and a sign: the ends around the mean times `root` (1/sd), mirrored so that a + b >= 0."""
    c, d = root * (low - mean), root * (high - mean)
    mirrored = c + d < 0.0
    return (-d if mirrored else c), (-c if mirrored else d), (-1.0 if mirrored else 1.0)


@njit(cache=True, nogil=True, inline="always")
def choose_proposal(a: float, b: float) -> int:
    """Return which law to reject from: 0 normal, 1 exponential tail, 2 uniform. At least a third is accepted."""
    return 2 if (b - a) * max(a, 0.5) <= 1.0 else int(a > NORMAL_ENDS)


@njit(cache=True, nogil=True)
def draw_between(
    a: Array,
    b: Array,
    waiting: NDArray[np.int64],
    counts: NDArray[np.int64],
    out: Array,
    rng: np.random.Generator,
) -> None:
    """out[k] <- a standard normal between a[k] and b[k], for a block of them; a + b >= 0.

    `waiting` are three lists of positions, one for each proposal, counts[p] in each. Every round proposes for those
    that wait, and moves the rejected ones to the front of the list. A branch on each would cost several times as much
    as the random numbers: the processor stalls on what it cannot foresee.
    """
    for _ in range(MOST_ROUNDS):
        if counts[0] + counts[1] + counts[2] == 0:
            return
        rest = 0
        for q in range(counts[0]):
            k = waiting[0, q]
            x = rng.standard_normal()
            x = abs(x) if a[k] >= 0.0 else x
            out[k] = x
            waiting[0, rest] = k
            rest += 1 - int((x > a[k]) & (x <= b[k]))
        counts[0], rest = rest, 0
        for q in range(counts[1]):
            k = waiting[1, q]
            rate = 0.5 * (a[k] + math.sqrt(a[k] * a[k] + 4.0))
            x = a[k] + rng.standard_exponential() / rate
            out[k] = x
            waiting[1, rest] = k
            rest += 1 - int((rng.standard_exponential() >= 0.5 * (x - rate) * (x - rate)) & (x <= b[k]))
        counts[1], rest = rest, 0
        for q in range(counts[2]):
            k = waiting[2, q]
            x = a[k] + (b[k] - a[k]) * rng.random()
            out[k] = x
            top = max(a[k], 0.0)
            waiting[2, rest] = k
            rest += 1 - int(rng.standard_exponential() >= 0.5 * (x - top) * (x + top))
        counts[2] = rest
    for p in range(3):  # not numbers
        for q in range(counts[p]):
            out[waiting[p, q]] = a[waiting[p, q]]


@njit(cache=True, nogil=True)
def log_tail(a: float) -> float:
    """log P(Z > a) of a standard normal Z."""
    if a < ASYMPTOTIC:
        return math.log(0.5 * math.erfc(a / ROOT_2))
    r = 1.0 / (a * a)
    return -0.5 * a * a - math.log(a) - LOG_ROOT_2PI + math.log1p(-r * (1.0 - r * (3.0 - 15.0 * r)))


def _table() -> Array:
    """Values of `log_tail`, and its slopes times the step, from FIRST_KNOT on."""
    knots = [FIRST_KNOT + k / KNOTS for k in range(N_KNOTS + 1)]
    values = [log_tail.py_func(a) for a in knots]
    slopes = [
        -math.exp(-0.5 * a * a - LOG_ROOT_2PI - value) / KNOTS for a, value in zip(knots, values, strict=True)
    ]
    return np.array([values, slopes]).T.copy()


TABLE = _table()


@njit(cache=True, nogil=True, inline="always")
def quick_log_tail(a: float) -> float:
    """`log_tail` by cubic interpolation, to 1e-9; exact beyond the table. For sums over all measurements."""
    if a >= FIRST_KNOT + (N_KNOTS - 1) / KNOTS:
        return float(log_tail(a))
    t = max(a - FIRST_KNOT, 0.0) * KNOTS
    k = int(t)
    t -= k
    f0, f1, d0, d1 = TABLE[k, 0], TABLE[k + 1, 0], TABLE[k, 1], TABLE[k + 1, 1]
    rise = f1 - f0
    return float(f0 + t * (d0 + t * (3.0 * rise - 2.0 * d0 - d1 + t * (d0 + d1 - 2.0 * rise))))


@njit(cache=True, nogil=True)
def log_between(a: float, b: float) -> float:
    """log P(a < Z <= b) of a standard normal Z, to all digits in the tails and for narrow intervals."""
    if b <= 0.0:
        a, b = -b, -a
    if b == np.inf:
        return float(log_tail(a))
    width = b - a
    if width * max(1.0, abs(a)) < NARROW:
        middle = a + 0.5 * width
        return float(math.log(max(width, 1e-300)) - 0.5 * middle * middle - LOG_ROOT_2PI)
    if a <= 0.0:
        return float(math.log1p(-0.5 * (math.erfc(b / ROOT_2) + math.erfc(-a / ROOT_2))))
    tail = log_tail(a)
    return float(tail + math.log1p(-math.exp(log_tail(b) - tail)))


@njit(cache=True, nogil=True)
def entry_means(
    pair: NDArray[np.int32], every: bool, indptr: NDArray[np.int64], index: NDArray[np.int32], left: Array,
    right: Array, offset_row: Array, offset_col: Array, mu: float, mean: Array,
) -> None:  # fmt: skip
    """mean[n] <- the entry of each measurement with ends, or of every one; factors are padded to whole vectors."""
    width = left.shape[1]
    for j in range(right.shape[0]):
        base = mu + offset_col[j]
        for n in range(indptr[j], indptr[j + 1]):
            if every or pair[n] >= 0:
                i = index[n]
                x = base + offset_row[i]
                if width > 0:
                    sums = broadcast(0.0)
                    for k in range(0, width, LANES):
                        sums = fma(load(left, i * width + k), load(right, j * width + k), sums)
                    x += horizontal_sum(sums)
                mean[n] = x


@njit(cache=True, nogil=True)
def fill_latent(
    latent: Latent, source: NDArray[np.int32], weights: Array, precision: float, left: Array, right: Array,
    rng: np.random.Generator,
) -> None:  # fmt: skip
    """Draw z of every measurement with ends, given its mean, into the values of both sides.

    A plain normal is tried first, which most ends allow; those that do not get a draw of their own law.
    """
    pair, ends, mean, root = latent.pair, latent.ends, latent.mean, math.sqrt(precision)
    weighted, sd = weights.size > 0, 1.0 / math.sqrt(precision)
    rejected, counts, waiting = (
        np.empty(BLOCK, np.int64),
        np.zeros(3, np.int64),
        np.empty((3, BLOCK + 1), np.int64),
    )
    a, b, scale, x = np.empty(BLOCK), np.empty(BLOCK), np.empty(BLOCK), np.empty(BLOCK)
    for start in range(0, pair.size, BLOCK):
        size = 0
        for n in range(start, min(start + BLOCK, pair.size)):
            k = pair[n]
            if k >= 0:
                s = sd / math.sqrt(weights[n]) if weighted else sd
                z = mean[n] + s * rng.standard_normal()
                right[n] = z
                left[source[n]] = z
                rejected[size] = n
                size += 1 - int((z > ends[k, 0]) & (z <= ends[k, 1]))
        for q in range(size):
            n = rejected[q]
            k = pair[n]
            r = root * math.sqrt(weights[n]) if weighted else root
            a[q], b[q], sign = standard_ends(mean[n], r, ends[k, 0], ends[k, 1])
            scale[q] = sign / r
            p = choose_proposal(a[q], b[q])
            waiting[p, counts[p]] = q
            counts[p] += 1
        draw_between(a, b, waiting, counts, x, rng)
        for q in range(size):
            n = rejected[q]
            z = mean[n] + scale[q] * x[q]
            right[n] = z
            left[source[n]] = z


# The scales without z


@njit(cache=True, nogil=True)
def log_probability(latent: Latent, weights: Array, precision: float, first: int, last: int) -> float:
    """Sum the log probabilities of the measurements whose ends are in lines first to last."""
    pair, ends, root = latent.pair, latent.ends, math.sqrt(precision)
    weighted = weights.size > 0
    total, product = 0.0, 1.0
    for n in range(pair.size):
        k = pair[n]
        if first <= k <= last:
            r = root * math.sqrt(weights[n]) if weighted else root
            a, b, _ = standard_ends(latent.mean[n], r, ends[k, 0], ends[k, 1])
            tail = quick_log_tail(a)
            if b < np.inf:
                share = 1.0 - math.exp(quick_log_tail(b) - tail)
                if share < 1e-3:
                    tail, share = log_between(a, b), 1.0
                product *= share  # one logarithm for many
                if product < 1e-250:
                    total += math.log(product)
                    product = 1.0
            total += tail
    return total + math.log(product)


@njit(cache=True, nogil=True)
def log_noise_density(
    log_eta2: float, latent: Latent, weights: Array, beta: float, shape: float, scale: float
) -> float:
    """log p(log eta2) up to a constant; shape and scale are those of an inverse gamma with the values in it."""
    eta2 = math.exp(log_eta2)
    return float(
        log_probability(latent, weights, beta / eta2, 0, len(latent.ends)) - shape * log_eta2 - scale / eta2
    )


@njit(cache=True, nogil=True)
def redraw_noise(
    eta2: float, latent: Latent, weights: Array, beta: float, shape: float, scale: float, step: float,
    rng: np.random.Generator,
) -> float:  # fmt: skip
    """One slice step (Neal 2003: stepping out, shrinking) on log eta2 with z integrated out."""
    x = math.log(eta2)
    height = log_noise_density(x, latent, weights, beta, shape, scale) - rng.standard_exponential()
    low = x - step * rng.random()
    high = low + step
    down = int(rng.random() * STEPS)
    up = STEPS - 1 - down
    while down > 0 and log_noise_density(low, latent, weights, beta, shape, scale) > height:
        low -= step
        down -= 1
    while up > 0 and log_noise_density(high, latent, weights, beta, shape, scale) > height:
        high += step
        up -= 1
    for _ in range(1000):
        new = low + (high - low) * rng.random()
        if log_noise_density(new, latent, weights, beta, shape, scale) >= height:
            return math.exp(new)
        if new < x:
            low = new
        else:
            high = new
    return eta2


@njit(cache=True, nogil=True)
def redraw_cut(
    k: int, latent: Latent, weights: Array, precision: float, step: float, rng: np.random.Generator
) -> None:
    """One slice step on the cut between the grades of lines k and k + 1 of `ends`, with z integrated out.

    Its prior is uniform between the cuts beside it. The brackets are as in `redraw_noise`, but end at those.
    """
    ends, x = latent.ends, latent.ends[k, 1]
    least, most = ends[k, 0], ends[k + 1, 1]
    height = log_probability(latent, weights, precision, k, k + 1) - rng.standard_exponential()
    low = x - step * rng.random()
    high = low + step
    down = int(rng.random() * STEPS)
    up = STEPS - 1 - down
    while down > 0 and low > least and log_at_cut(low, k, latent, weights, precision) > height:
        low -= step
        down -= 1
    while up > 0 and high < most and log_at_cut(high, k, latent, weights, precision) > height:
        high += step
        up -= 1
    for _ in range(1000):
        new = low + (high - low) * rng.random()
        if least < new < most and log_at_cut(new, k, latent, weights, precision) >= height:
            return
        if new < x:
            low = new
        else:
            high = new
    log_at_cut(x, k, latent, weights, precision)


@njit(cache=True, nogil=True)
def log_at_cut(cut: float, k: int, latent: Latent, weights: Array, precision: float) -> float:
    """Move the cut above line k of `ends`, and return the log probability of the grades beside it."""
    latent.ends[k, 1], latent.ends[k + 1, 0] = cut, cut
    return float(log_probability(latent, weights, precision, k, k + 1))


@njit(cache=True, nogil=True)
def redraw_scales(
    latent: Latent, values: Array, weights: Array, beta: float, eta2: float, shape: float, scale: float,
    cuts: Array, rng: np.random.Generator,
) -> float:  # fmt: skip
    """Draw eta2 and the cuts with z integrated out; return eta2. shape, scale: of its prior; the cuts in place."""
    pair, count, rss = latent.pair, 0, 0.0
    for n in range(pair.size):
        if pair[n] < 0:
            e = values[n] - latent.mean[n]
            rss += e * e * (weights[n] if weights.size > 0 else 1.0)
            count += 1
    step = 4.0 * math.sqrt(2.0 / (pair.size + 8.0))
    if shape < 1e15:  # otherwise the noise is known
        eta2 = redraw_noise(
            eta2, latent, weights, beta, shape + 0.5 * beta * count, scale + 0.5 * beta * rss, step, rng
        )
    for c in range(latent.inner.size):
        redraw_cut(latent.inner[c], latent, weights, beta / eta2, step * math.sqrt(eta2 / beta), rng)
        cuts[c] = latent.ends[latent.inner[c], 1]
    return eta2


# Standard errors, and deviations of entries


class Errors(NamedTuple):
    """Known errors of the measurements, and of entries that deviate from the pattern, in classes of equal variance.

    A measurement has variance v = omega2 + error. Its error is `var`, or nu2 / `times`: it is the mean of that many
    with the noise nu2. eta2 = omega2 + nu2 has the prior, and the share nu2 / eta2 is uniform, or nu2 is known.
    """

    group: NDArray[np.int32]  # (N,) the class of each measurement, in the order of the right side
    times: Array  # (C,) 0: `var` holds
    var: Array  # (C,)
    n: Array  # (C,) measurements in the class
    squares: Array  # (C,) sums of their squared residuals, to work in
    mean: Array  # (N,) to work in
    prior: Array  # (2,) shape and scale of the inverse gamma of eta2
    noise: Array  # (3,) nu2 (negative: it is learned), degrees of freedom and sum of squares within entries


LOG_OMEGA2, LOG_ETA2, SHARE = 0, 1, 2  # what a slice step moves; the others are fixed


@njit(cache=True, nogil=True)
def error_variance(c: int, errors: Errors, omega2: float, nu2: float) -> float:
    """Return the variance of the measurements of a class around the pattern."""
    return float(omega2 + (nu2 / errors.times[c] if errors.times[c] > 0.0 else errors.var[c]))


@njit(cache=True, nogil=True)
def log_error_density(x: float, which: int, eta2: float, share: float, errors: Errors, beta: float) -> float:
    """log p(x) given the residuals, up to a constant: of log omega2, log eta2 or the share of the noise in it."""
    if which == LOG_OMEGA2:
        omega2, nu2 = math.exp(x), errors.noise[0]
        eta2 = omega2 + nu2
    else:
        eta2 = math.exp(x) if which == LOG_ETA2 else eta2
        nu2 = (x if which == SHARE else share) * eta2
        omega2 = eta2 - nu2
    total, product = 0.0, 1.0
    for c in range(errors.n.size):
        v = error_variance(c, errors, omega2, nu2)
        total += errors.squares[c] / v
        if errors.n[c] > 1.0:
            total += errors.n[c] * math.log(v)
        else:
            product *= v  # one logarithm for many
            if not 1e-150 < product < 1e150:
                total += math.log(product)
                product = 1.0
    total += math.log(product)
    if errors.noise[1] > 0.0:
        total += errors.noise[1] * math.log(nu2) + errors.noise[2] / nu2
    prior = -(errors.prior[0] + 1.0) * math.log(eta2) - errors.prior[1] / eta2
    return float(-0.5 * beta * total + prior + (x if which != SHARE else 0.0))


@njit(cache=True, nogil=True)
def slice_errors(
    x: float, which: int, eta2: float, share: float, errors: Errors, beta: float, rng: np.random.Generator
) -> float:
    """One slice step on log omega2, log eta2 or the share."""
    step = 0.5
    height = log_error_density(x, which, eta2, share, errors, beta) - rng.standard_exponential()
    low, high = 0.0, 1.0
    if which != SHARE:
        low = x - step * rng.random()
        high = low + step
        down = int(rng.random() * STEPS)
        up = STEPS - 1 - down
        while down > 0 and log_error_density(low, which, eta2, share, errors, beta) > height:
            low -= step
            down -= 1
        while up > 0 and log_error_density(high, which, eta2, share, errors, beta) > height:
            high += step
            up -= 1
    for _ in range(1000):
        new = low + (high - low) * rng.random()
        if log_error_density(new, which, eta2, share, errors, beta) >= height:
            return new
        if new < x:
            low = new
        else:
            high = new
    return x


@njit(cache=True, nogil=True)
def redraw_errors(
    errors: Errors, values: Array, beta: float, eta2: float, share: float, rng: np.random.Generator
) -> tuple[float, float]:
    """Draw the noise beside known errors, and the deviation of entries beside the noise; return eta2 and the share."""
    for c in range(errors.n.size):
        errors.squares[c] = 0.0
    for n in range(values.size):
        e = values[n] - errors.mean[n]
        errors.squares[errors.group[n]] += e * e
    nu2 = errors.noise[0]
    if nu2 >= 0.0:
        x = math.log(max(eta2 - nu2, 1e-6 * eta2))
        omega2 = math.exp(slice_errors(x, LOG_OMEGA2, eta2, share, errors, beta, rng))
        return omega2 + nu2, nu2 / (omega2 + nu2)
    eta2 = math.exp(slice_errors(math.log(eta2), LOG_ETA2, eta2, share, errors, beta, rng))
    return eta2, slice_errors(share, SHARE, eta2, share, errors, beta, rng)


@njit(cache=True, nogil=True)
def weigh_errors(
    errors: Errors, eta2: float, share: float, source: NDArray[np.int32], left: Array, right: Array
) -> None:
    """Set the weights eta2 / v of the measurements, on both sides."""
    nu2 = share * eta2
    for n in range(source.size):
        w = eta2 / error_variance(errors.group[n], errors, eta2 - nu2, nu2)
        right[n] = w
        left[source[n]] = w
