"""Measurements known only to lie between two ends: draws of their latent values, and the laws without these.

    z_n ~ N(x_n, eta2 / (beta w_n)),   low_n < z_n <= high_n       (a limit, a yes or no, a grade)

Each sweep draws z_n given x_n and writes it in place of the measurement; the rest of the sweep is that of plain values.
Truncated normals are drawn by inverting their law, eight at a time; far out and in narrow intervals by rejection, from
the tail where the ends lie there (Robert 1995). Both are exact to rounding.

**Scales without z.** Where most measurements are limits, eta2 given z creeps: z follows eta2 and eta2 follows z. So
now and then eta2 is drawn with z integrated out, by a slice step on

    log p(log eta2) = log IG + sum_limits log[Phi((high - x)/s) - Phi((low - x)/s)] + sum_values log N(y; x, s^2)

and z right after it. The cuts between grades do not move at all given z, and are drawn in the same way.

At beta < 1 a limit is N(z; x, eta2/beta) over its interval, a whole measurement with more noise, so that the law stays
proper. A value counts as beta measurements, as everywhere.
"""

import math
from typing import Any, NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from maxentry._types import Array
from maxentry.kernels.rng import POINT, begin_slice, move_slice
from maxentry.kernels.simd import (
    EDGE_END,
    LANES,
    SMALLEST,
    Lanes,
    add,
    all_positive,
    beyond_factor,
    broadcast,
    clamp,
    fma,
    formula,
    gather,
    gather_pairs,
    horizontal_sum,
    load,
    logarithm,
    multiply,
    normal_quantile,
    positive_part,
    store,
    subtract,
    tail_factor,
    transposed_sums,
    uniforms,
    upper_tail,
)

ROOT_2 = math.sqrt(2.0)
LOG_ROOT_2PI = 0.5 * math.log(2.0 * math.pi)
KNOWN = 1e15  # shape of the law of a noise that is known, and stays
MOST_ROUNDS = 1000  # numbers need a few; NaN would try for ever
BLOCK = 256  # measurements drawn together, a multiple of GROUP
GROUP = 8 * LANES  # probabilities of one logarithm in each lane
ASYMPTOTIC = 37.0  # beyond it erfc underflows
FAR, LEAST = 2.0, 0.01  # lower ends and probabilities of intervals up to which their law is inverted
NARROW = 1e-5  # intervals whose probability is their width times the density in the middle
SMALL_SHARE = (
    1e-3  # of the tail beyond its lower end, below which an interval's probability is computed by itself
)


class Latent(NamedTuple):
    """The L measurements with ends, in the order of the right side, and arrays to work in.

    `pair` and `mean` are padded to a multiple of GROUP; there the last line of `ends` holds, which are infinite.
    """

    pair: NDArray[np.int32]  # the line of `ends` that holds
    place: NDArray[np.int32]  # (L,) the position among all measurements of the right side
    source: NDArray[np.int32]  # (L,) the same of the left side
    indptr: NDArray[np.int64]  # where the measurements of each column begin
    rows: NDArray[np.int32]  # (L,) of the measurements
    ends: Array  # (P + 1, 2) low and high, in standard units; those of grades move with the cuts
    mean: Array  # the entries, before z is drawn
    every: Array  # (N,) the entries of all measurements; empty where all have ends
    inner: NDArray[np.int64]  # the lines of `ends` whose upper end is a cut that is drawn
    often: Array  # (1,) share of the sweeps that draw the scales without z


def make_latent(
    pair: NDArray[np.int32], ends: Array, source: NDArray[np.int32], indptr: NDArray[np.int64],
    index: NDArray[np.int32], inner: NDArray[np.int64],
) -> Latent:  # fmt: skip
    """Collect the measurements with pair >= 0, the line of `ends` that holds for each."""
    place = np.flatnonzero(pair >= 0).astype(np.int32)
    padded = np.full(-(-place.size // GROUP) * GROUP, len(ends), np.int32)
    padded[: place.size] = pair[place]
    before = np.concatenate([[0], np.cumsum(pair >= 0)])
    table = np.vstack([ends, [-np.inf, np.inf]])
    mean, every = np.zeros(padded.size), np.zeros(pair.size if place.size < pair.size else 0)
    return Latent(
        padded, place, source[place], before[indptr].astype(np.int64), index[place], table, mean, every, inner,
        np.zeros(1),
    )  # fmt: skip


# Truncated normals


@njit(cache=True, nogil=True, inline="always")
def choose_proposal(a: float, b: float) -> int:
    """Return which law to reject from: 0 exponential tail, 1 uniform. For a > 0.45 at least a third is accepted.

    Wider intervals that begin below are left to inversion: theirs is no small probability.
    """
    return int((b - a) * max(a, 0.5) <= 1.0)


@njit(cache=True, nogil=True)
def log_tail(a: float) -> float:
    """log P(Z > a) of a standard normal Z."""
    if a < ASYMPTOTIC:
        return math.log(0.5 * math.erfc(a / ROOT_2))
    r = 1.0 / (a * a)
    return -0.5 * a * a - math.log(a) - LOG_ROOT_2PI + math.log1p(-r * (1.0 - r * (3.0 - 15.0 * r)))


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


@formula
def mirror_sign(c: Lanes, d: Lanes) -> Lanes:
    """-1 where c + d < 0: the interval (c, d) is mirrored, so that its nearer tail is the upper one."""
    return (0.0 - (c + d)).where_positive(-1.0, 1.0)


@formula
def nearer(sign: Lanes, c: Lanes, d: Lanes) -> Lanes:
    """The lower end of (c, d) or of its mirror image; swapped, the upper end."""
    return sign.where_positive(c, 0.0 - d)


@formula
def plain_margin(share: Lanes, a: Lanes) -> Lanes:
    """Positive where the probability of an interval has all its digits in `upper_tail`."""
    return (share - LEAST).most(FAR - a)


@formula
def inversion_margin(q: Lanes, share: Lanes, a: Lanes) -> Lanes:
    """Positive where the law of an interval is inverted well at q."""
    return (q * 4.0 * (1.0 - q) - SMALLEST).most(share - LEAST).most(FAR - a)


@njit(cache=True, nogil=True)
def entry_means(
    indptr: NDArray[np.int64], index: NDArray[np.int32], left: Array, right: Array, offset_row: Array,
    offset_col: Array, mu: float, mean: Array,
) -> None:  # fmt: skip
    """mean[n] <- the entry of measurement n, whose row is index[n]; factors are padded to whole vectors."""
    w = left.shape[1]
    for j in range(right.shape[0]):
        base, n, stop = mu + offset_col[j], indptr[j], indptr[j + 1]
        if w > 0:
            while n + LANES <= stop:
                v = load(right, j * w)
                a = multiply(v, load(left, index[n] * w))
                b = multiply(v, load(left, index[n + 1] * w))
                c = multiply(v, load(left, index[n + 2] * w))
                d = multiply(v, load(left, index[n + 3] * w))
                e = multiply(v, load(left, index[n + 4] * w))
                f = multiply(v, load(left, index[n + 5] * w))
                g = multiply(v, load(left, index[n + 6] * w))
                h = multiply(v, load(left, index[n + 7] * w))
                for k in range(LANES, w, LANES):
                    v = load(right, j * w + k)
                    a = fma(v, load(left, index[n] * w + k), a)
                    b = fma(v, load(left, index[n + 1] * w + k), b)
                    c = fma(v, load(left, index[n + 2] * w + k), c)
                    d = fma(v, load(left, index[n + 3] * w + k), d)
                    e = fma(v, load(left, index[n + 4] * w + k), e)
                    f = fma(v, load(left, index[n + 5] * w + k), f)
                    g = fma(v, load(left, index[n + 6] * w + k), g)
                    h = fma(v, load(left, index[n + 7] * w + k), h)
                sums = transposed_sums(a, b, c, d, e, f, g, h)
                store(mean, n, add(sums, add(broadcast(base), gather(offset_row, index, n))))
                n += LANES
        for k in range(n, stop):
            i = index[k]
            sums = broadcast(0.0)
            for at in range(0, w, LANES):
                sums = fma(load(left, i * w + at), load(right, j * w + at), sums)
            mean[k] = horizontal_sum(sums) + (base + offset_row[i])


@njit(cache=True, nogil=True, inline="always")
def one_sided(ends: Array) -> bool:
    """Whether every pair of ends has one at infinity."""
    inside = 0
    for k in range(len(ends)):
        inside += int(ends[k, 0] > -np.inf and ends[k, 1] < np.inf)
    return inside == 0


class Block(NamedTuple):
    """Arrays of one number for each of BLOCK measurements."""

    root: Array  # 1 / sd
    sd: Array
    low: Array  # ends of the standard normal, mirrored so that the nearer tail is the upper one
    high: Array
    slope: Array  # sd, negative where mirrored: z = mean + slope x
    q: Array  # the probability beyond the draw, uniform between those beyond both ends
    share: Array  # the probability between the ends
    margin: Array  # positive where the draw is good
    z: Array  # the draw


@njit(cache=True, nogil=True)
def new_block(precision: float) -> Block:
    """Allocate the arrays; all measurements have this precision where they have no weights."""
    t = np.full((9, BLOCK), np.inf)
    for q in range(BLOCK):
        t[0, q], t[1, q] = math.sqrt(precision), 1.0 / math.sqrt(precision)
    return Block(t[0], t[1], t[2], t[3], t[4], t[5], t[6], t[7], t[8])


@njit(cache=True, nogil=True, inline="always")
def begin_block(start: int, latent: Latent, weights: Array, precision: float, block: Block) -> int:
    """Set the sds of a block of measurements from `start` on, where they have weights; return their number."""
    place, size = latent.place, min(BLOCK, latent.pair.size - start)
    if weights.size > 0:
        for q in range(min(size, place.size - start)):
            block.root[q] = math.sqrt(precision * weights[place[start + q]])
            block.sd[q] = 1.0 / block.root[q]
    return size


@njit(cache=True, nogil=True, inline="always")
def standard_ends(n: int, root: Any, mean: Any, pair: Array, ends: Array) -> Any:
    """Return the ends of eight measurements from n on, mirrored where low + high < 0, and -1 where they are."""
    low, high = gather_pairs(ends, pair, n)
    c, d = multiply(root, subtract(low, mean)), multiply(root, subtract(high, mean))
    sign = mirror_sign(c, d)
    return nearer(sign, c, d), nearer(sign, d, c), sign


@njit(cache=True, nogil=True, inline="always")
def invert(
    start: int, size: int, single: bool, key: np.uint64, latent: Latent, block: Block, draws: Array, at: int
) -> None:
    """Draw latent values by inverting their laws at the numbers from `start` on of the sequence of `key`.

    They go into `draws` from `at` on. In two loops, so that the processor can work on several vectors at once.
    """
    roots, sds, lower, upper, slopes, tails = (
        block.root,
        block.sd,
        block.low,
        block.high,
        block.slope,
        block.q,
    )
    shares, margins, means, pair, ends = block.share, block.margin, latent.mean, latent.pair, latent.ends
    for q in range(0, size, LANES):
        a, b, sign = standard_ends(start + q, load(roots, q), load(means, start + q), pair, ends)
        share, u = upper_tail(a), uniforms(key, start + q)
        if single:
            u = multiply(u, share)
        else:
            beyond = upper_tail(b)
            share = subtract(share, beyond)
            u = fma(u, share, beyond)
            store(upper, q, b)
        store(lower, q, a)
        store(slopes, q, multiply(sign, load(sds, q)))
        store(tails, q, u)
        store(shares, q, share)
        store(margins, q, inversion_margin(u, share, a))
    for q in range(0, size, LANES):
        x = clamp(normal_quantile(load(tails, q)), load(lower, q), load(upper, q))
        store(draws, at + q, fma(x, load(slopes, q), load(means, start + q)))


class Rest(NamedTuple):
    """Up to 2 BLOCK measurements that are drawn by rejection: a standard normal between a and b for each."""

    a: Array
    b: Array  # a + b >= 0
    x: Array
    sd: Array  # z = centre + sd x
    centre: Array
    which: NDArray[np.int64]  # of the measurements with ends
    waiting: NDArray[np.int64]  # (2, 2 BLOCK + 1) positions, one list for each proposal
    counts: NDArray[np.int64]  # (2,) of each list


@njit(cache=True, nogil=True)
def new_rest() -> Rest:
    """Allocate the arrays."""
    t = np.zeros((5, 2 * BLOCK))
    lists = np.zeros(2 * BLOCK, np.int64), np.zeros((2, 2 * BLOCK + 1), np.int64), np.zeros(2, np.int64)
    return Rest(t[0], t[1], t[2], t[3], t[4], lists[0], lists[1], lists[2])


@njit(cache=True, nogil=True)
def find_rest(start: int, size: int, late: int, latent: Latent, block: Block, rest: Rest) -> int:
    """Add the measurements of a block whose draws are no good to those that wait; return how many wait then."""
    low, high, slope, tails = block.low, block.high, block.slope, block.q
    margins, shares, mean, waiting, counts = block.margin, block.share, latent.mean, rest.waiting, rest.counts
    to_a, to_b, to_sd, to_centre, to_which = rest.a, rest.b, rest.sd, rest.centre, rest.which
    for g in range(0, size, LANES):
        if all_positive(load(margins, g)):
            continue
        for q in range(g, min(g + LANES, size)):
            if margins[q] > 0.0:
                continue
            a, b, s = low[q], high[q], slope[q]
            if shares[q] > LEAST and a < FAR:  # its uniform falls beyond the edge
                if tails[q] > 0.5:
                    s, b = -s, -a
                a = EDGE_END
            to_a[late], to_b[late], to_sd[late], to_centre[late] = a, b, s, mean[start + q]
            to_which[late] = start + q
            p = choose_proposal(a, b)
            waiting[p, counts[p]] = late
            counts[p] += 1
            late += 1
    return late


@njit(cache=True, nogil=True)
def draw_rest(
    size: int, rest: Rest, place: NDArray[np.int32], right: Array, rng: np.random.Generator
) -> None:
    """Draw the measurements that wait, by rejection, and write them into the values of the right side.

    Every round proposes for those that wait, and moves the rejected ones to the front of their list. A branch on each
    would cost several times as much as the random numbers: the processor stalls on what it cannot foresee.
    """
    a, b, out, waiting, counts = rest.a, rest.b, rest.x, rest.waiting, rest.counts
    for _ in range(MOST_ROUNDS):
        if counts[0] + counts[1] == 0:
            break
        kept = 0
        for q in range(counts[0]):
            k = waiting[0, q]
            rate = 0.5 * (a[k] + math.sqrt(a[k] * a[k] + 4.0))
            x = a[k] + rng.standard_exponential() / rate
            out[k] = x
            waiting[0, kept] = k
            kept += 1 - int((rng.standard_exponential() >= 0.5 * (x - rate) * (x - rate)) & (x <= b[k]))
        counts[0], kept = kept, 0
        for q in range(counts[1]):
            k = waiting[1, q]
            x = a[k] + (b[k] - a[k]) * rng.random()
            out[k] = x
            top = max(a[k], 0.0)
            waiting[1, kept] = k
            kept += 1 - int(rng.standard_exponential() >= 0.5 * (x - top) * (x + top))
        counts[1] = kept
    for p in range(2):  # not numbers
        for q in range(counts[p]):
            out[waiting[p, q]] = a[waiting[p, q]]
        counts[p] = 0
    centre, sd, which = rest.centre, rest.sd, rest.which
    for q in range(size):
        right[place[which[q]]] = centre[q] + sd[q] * out[q]


@njit(cache=True, nogil=True)
def fill_latent(
    latent: Latent, weights: Array, precision: float, left: Array, right: Array, rng: np.random.Generator
) -> None:
    """Draw z of every measurement with ends, given its mean, into the values of both sides.

    The law is inverted, eight at a time. Ends far out and narrow intervals get draws by rejection instead; and so do
    the few whose uniform falls beyond EDGE_END, from the tail there.
    """
    place, source = latent.place, latent.source
    single, block, rest, late = one_sided(latent.ends), new_block(precision), new_rest(), 0
    key = np.uint64(rng.random() * 2.0**53) ^ (np.uint64(rng.random() * 2.0**53) << np.uint64(11))
    for start in range(0, place.size, BLOCK):
        size = begin_block(start, latent, weights, precision, block)
        draws, at = block.z, 0
        if start + size <= place.size and place[start + size - 1] - place[start] == size - 1:
            draws, at = right, int(place[start])  # side by side
        invert(start, size, single, key, latent, block, draws, at)
        size = min(size, place.size - start)
        if at == 0:
            for q in range(size):
                right[place[start + q]] = draws[q]
        late = find_rest(start, size, late, latent, block, rest)
        if late > BLOCK:
            draw_rest(late, rest, place, right, rng)
            late = 0
    draw_rest(late, rest, place, right, rng)
    # at the end: between draws, writes that wait for memory would hold these up
    if place.size == right.size:
        for q in range(place.size):
            left[source[q]] = right[q]
    else:
        for q in range(place.size):
            left[source[q]] = right[place[q]]


# The scales without z


@njit(cache=True, nogil=True)
def log_probability(latent: Latent, ends: Array, weights: Array, precision: float) -> float:
    """Sum the log probabilities of the measurements, with these ends."""
    single, block, pair, means = one_sided(ends), new_block(precision), latent.pair, latent.mean
    squares, logs, total, roots = broadcast(0.0), broadcast(0.0), 0.0, block.root
    for start in range(0, pair.size, BLOCK):
        size = begin_block(start, latent, weights, precision, block)
        for g in range(0, size, GROUP):
            product = broadcast(1.0)
            for q in range(g, g + GROUP, LANES):
                a, b, _ = standard_ends(start + q, load(roots, q), load(means, start + q), pair, ends)
                share = upper_tail(a)
                if not single:
                    share = subtract(share, upper_tail(b))
                if all_positive(plain_margin(share, a)):
                    product = multiply(product, share)
                    continue
                factor, p = tail_factor(a), positive_part(a)
                if not single:
                    between = subtract(factor, beyond_factor(a, b))
                    if not all_positive(subtract(between, multiply(broadcast(SMALL_SHARE), factor))):
                        store(block.low, 0, a)
                        store(block.high, 0, b)
                        for k in range(LANES):
                            total += log_between(block.low[k], block.high[k])
                        continue
                    factor = between
                squares = fma(p, p, squares)
                product = multiply(product, factor)
            logs = add(logs, logarithm(product))
    return float(total + horizontal_sum(logs) - 0.5 * horizontal_sum(squares))


@njit(cache=True, nogil=True)
def log_noise_density(
    log_eta2: float, latent: Latent, weights: Array, beta: float, shape: float, scale: float
) -> float:
    """log p(log eta2) up to a constant; shape and scale are those of an inverse gamma with the values in it."""
    eta2 = math.exp(log_eta2)
    return float(log_probability(latent, latent.ends, weights, beta / eta2) - shape * log_eta2 - scale / eta2)


@njit(cache=True, nogil=True)
def redraw_noise(
    eta2: float, latent: Latent, weights: Array, beta: float, shape: float, scale: float, step: float,
    rng: np.random.Generator,
) -> float:  # fmt: skip
    """One slice step on log eta2 with z integrated out."""
    x = math.log(eta2)
    height = log_noise_density(x, latent, weights, beta, shape, scale)
    s = begin_slice(x, height, step, -np.inf, np.inf, rng)
    while not move_slice(s, log_noise_density(s[POINT], latent, weights, beta, shape, scale), rng):
        pass
    return math.exp(s[POINT])


@njit(cache=True, nogil=True)
def log_at_cut(cut: float, k: int, ends: Array, latent: Latent, weights: Array, precision: float) -> float:
    """Move the cut above grade k, and return the log probability of the grades beside it."""
    ends[k, 1], ends[k + 1, 0] = cut, cut
    return float(log_probability(latent, ends, weights, precision))


@njit(cache=True, nogil=True)
def select_pairs(latent: Latent, k: int) -> Latent:
    """Return the measurements whose line of `ends` is k or k + 1, with the means that they have now."""
    n, end = 0, np.int32(len(latent.ends) - 1)
    pair, place, mean = np.empty_like(latent.pair), np.empty_like(latent.place), np.empty_like(latent.mean)
    for q in range(latent.place.size):
        pair[n], place[n], mean[n] = latent.pair[q], latent.place[q], latent.mean[q]
        n += int((latent.pair[q] == k) | (latent.pair[q] == k + 1))
    size = -(-n // GROUP) * GROUP
    for q in range(n, size):
        pair[q], mean[q] = end, 0.0
    return Latent(
        pair[:size], place[:n], latent.source, latent.indptr, latent.rows, latent.ends, mean[:size], latent.every,
        latent.inner, latent.often,
    )  # fmt: skip


@njit(cache=True, nogil=True)
def redraw_cut(
    k: int, latent: Latent, weights: Array, precision: float, step: float, rng: np.random.Generator
) -> None:
    """One slice step on the cut between grades k and k + 1, the lines of `ends`, with z integrated out.

    Its prior is uniform between the cuts beside it. The other grades say nothing of it.
    """
    least, x, most = latent.ends[k, 0], latent.ends[k, 1], latent.ends[k + 1, 1]
    beside, ends = select_pairs(latent, k), latent.ends.copy()
    s = begin_slice(x, log_at_cut(x, k, ends, beside, weights, precision), step, least, most, rng)
    while not move_slice(s, log_at_cut(s[POINT], k, ends, beside, weights, precision), rng):
        pass
    latent.ends[k, 1], latent.ends[k + 1, 0] = s[POINT], s[POINT]


@njit(cache=True, nogil=True)
def redraw_scales(
    latent: Latent, values: Array, weights: Array, beta: float, eta2: float, shape: float, scale: float,
    cuts: Array, rng: np.random.Generator,
) -> float:  # fmt: skip
    """Draw eta2 and the cuts with z integrated out; return eta2. shape, scale: of its prior; the cuts in place."""
    n_limits, rss = 0, 0.0
    for n in range(latent.every.size):
        if n_limits < latent.place.size and latent.place[n_limits] == n:
            n_limits += 1
        else:
            e = values[n] - latent.every[n]
            rss += e * e * (weights[n] if weights.size > 0 else 1.0)
    count = max(latent.every.size - latent.place.size, 0)  # of plain values
    step = 8.0 * math.sqrt(2.0 / (values.size + 8.0))
    if shape < KNOWN:
        eta2 = redraw_noise(
            eta2, latent, weights, beta, shape + 0.5 * beta * count, scale + 0.5 * beta * rss, step, rng
        )
    for c in range(latent.inner.size):
        redraw_cut(latent.inner[c], latent, weights, beta / eta2, step * math.sqrt(eta2 / beta), rng)
        cuts[c] = latent.ends[latent.inner[c], 1]
    return eta2
