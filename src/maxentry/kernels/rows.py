"""Draw one side given the other: every row (a_i, r_i) from its Gaussian conditional, linear in the observations.

Rows are pure functions of the data, the features and their normals, so they may be drawn in any order and by any
number of threads. Eight are solved side by side: one row's square roots and divisions wait for each other, eight rows'
do not. The sums of squares come with the sums that the solve needs, without another look at the observations.
"""

import numpy as np
from numba import njit
from numpy.typing import NDArray

from maxentry.kernels.simd import (
    BLOCK,
    LANES,
    STRIP,
    adder,
    below,
    diagonal,
    every,
    load,
    minus,
    plus,
    reciprocal_root,
    size,
    store,
    times,
)

# The sums that one row's conditional needs, over its observations: tiles put together for any number of features.
Array = NDArray[np.float64]
NEAR = 2048  # numbers of F that stay in the nearest cache from pass to pass, half of it
none, one, two, three, four = (adder(diagonal(strips), True) for strips in range(5))
one_below, two_below, three_below, four_below = (adder(below(strips), False) for strips in range(1, 5))


@njit(cache=True, nogil=True)
def on_diagonal(
    strips: int, start: int, stop: int, index: Array, values: Array, weights: Array, F: Array, at: int,
    offset: Array, mu: float, fresh: bool, out: Array, sums: Array,
) -> None:  # fmt: skip
    """The tiles of up to four strips from feature `at` on, on the diagonal, and their borders."""
    n, block = F.shape[1], at // BLOCK
    if strips == 1:
        one(start, stop, index, values, weights, F, n, at, at, offset, mu, fresh, out, sums, block)
    elif strips == 2:
        two(start, stop, index, values, weights, F, n, at, at, offset, mu, fresh, out, sums, block)
    elif strips == 3:
        three(start, stop, index, values, weights, F, n, at, at, offset, mu, fresh, out, sums, block)
    elif strips == 4:
        four(start, stop, index, values, weights, F, n, at, at, offset, mu, fresh, out, sums, block)
    else:
        none(start, stop, index, values, weights, F, n, at, at, offset, mu, fresh, out, sums, block)


@njit(cache=True, nogil=True)
def left_of_diagonal(
    strips: int, start: int, stop: int, index: Array, values: Array, weights: Array, F: Array, at: int, col: int,
    offset: Array, mu: float, fresh: bool, out: Array, sums: Array,
) -> None:  # fmt: skip
    """The tile of up to four strips from feature `at` on times the eight columns from `col` on."""
    n = F.shape[1]
    if strips == 1:
        one_below(start, stop, index, values, weights, F, n, at, col, offset, mu, fresh, out, sums, 0)
    elif strips == 2:
        two_below(start, stop, index, values, weights, F, n, at, col, offset, mu, fresh, out, sums, 0)
    elif strips == 3:
        three_below(start, stop, index, values, weights, F, n, at, col, offset, mu, fresh, out, sums, 0)
    else:
        four_below(start, stop, index, values, weights, F, n, at, col, offset, mu, fresh, out, sums, 0)


@njit(cache=True, nogil=True)
def row_sums(
    start: int, stop: int, index: Array, values: Array, weights: Array, F: Array, R: int, offset: Array,
    mu: float, out: Array, sums: Array,
) -> None:  # fmt: skip
    """Sums over one row's observations, t = y - mu - offset: out <- sum w f f' (lower triangle), and in its last two
    rows sum w t f and sum w f; sums <- sum w, sum w t, sum w t^2.

    Rows of F have R features and zeros up to a multiple of eight; out is two rows longer than they. Where there are
    several passes, a few observations go through all of them before the next.
    """
    strips = (R + STRIP - 1) // STRIP
    step = max(stop - start, 1) if strips < 4 else max(NEAR // F.shape[1], 8)
    for first in range(start, max(stop, start + 1), step):
        last, fresh = min(first + step, stop), first == start
        for at in range(0, max(strips * STRIP, 1), BLOCK):
            here = min(4, strips - at // STRIP)
            on_diagonal(here, first, last, index, values, weights, F, at, offset, mu, fresh, out, sums)
            for col in range(0, at, LANES):
                left_of_diagonal(
                    here, first, last, index, values, weights, F, at, col, offset, mu, fresh, out, sums
                )


SPARE = 4  # rows below the precisions: of b, and room for a block of four that begins at b
CANCELLED = 1e-8  # the least share of its terms that a sum of squares may be and keep digits enough


@njit(cache=True, nogil=True)
def spread(out: Array, sums: Array, R: int, effects: bool, lane: int, S: Array) -> None:
    """One row's sums into its lane of S: (R or R + 1) rows of sum w f f', the effect's last, then sum w t f."""
    K, last = R + int(effects), out.shape[1]
    for a in range(R):
        for c in range(a + 1):
            S[a, c, lane] = out[a, c]
        S[K, a, lane] = out[last, a]
    if effects:
        for c in range(R):
            S[R, c, lane] = out[last + 1, c]
        S[R, R, lane] = sums[0]
        S[K, R, lane] = sums[1]


@njit(cache=True, nogil=True)
def factorise(S: Array, precision: float, Q: Array, K: int, C: Array) -> None:
    """Q + precision S = C C' in every lane; C's diagonal holds its reciprocal, and row K is then C^-1 b.

    Four rows at a time, their sums in registers. Below row K, whatever is there does no harm.
    """
    p = every(precision)
    for j in range(K):
        inverse = every(1.0)
        for i in range(j, K + 1, 4):
            at = (i * K + j) * LANES
            down = K * LANES
            x0 = plus(p, load(S, at), every(Q[i, j]))
            x1 = plus(p, load(S, at + down), every(Q[i + 1, j]))
            x2 = plus(p, load(S, at + 2 * down), every(Q[i + 2, j]))
            x3 = plus(p, load(S, at + 3 * down), every(Q[i + 3, j]))
            row, other = i * K * LANES, j * K * LANES
            for _ in range(j):
                c = load(C, other)
                x0 = minus(load(C, row), c, x0)
                x1 = minus(load(C, row + down), c, x1)
                x2 = minus(load(C, row + 2 * down), c, x2)
                x3 = minus(load(C, row + 3 * down), c, x3)
                row += LANES
                other += LANES
            if i == j:
                inverse = reciprocal_root(x0)
                store(C, at, inverse)
            else:
                store(C, at, times(x0, inverse))
            store(C, at + down, times(x1, inverse))
            store(C, at + 2 * down, times(x2, inverse))
            store(C, at + 3 * down, times(x3, inverse))


@njit(cache=True, nogil=True)
def solve(C: Array, K: int, g: Array) -> None:
    """g <- C'^-1 (C^-1 b + g) in every lane."""
    for a in range(K):
        store(g, a * LANES, plus(every(1.0), load(C, (K * K + a) * LANES), load(g, a * LANES)))
    for a in range(K - 1, -1, -1):
        x = times(load(g, a * LANES), load(C, (a * K + a) * LANES))
        store(g, a * LANES, x)
        for k in range(a):
            store(g, k * LANES, minus(load(C, (a * K + k) * LANES), x, load(g, k * LANES)))


@njit(cache=True, nogil=True)
def squares(S: Array, K: int, g: Array, t2: Array, rss: Array, terms: Array) -> None:
    """sum w (t - f'g)^2 = sum w t^2 - 2 b'g + g'Sg in every lane, and the sum of the sizes of its terms."""
    total = load(t2, 0)
    largest = total
    for a in range(K):
        x = load(g, a * LANES)
        b = load(S, (K * K + a) * LANES)
        near, far = times(every(-1.0), b), size(b)
        for c in range(a):
            s, y = load(S, (a * K + c) * LANES), load(g, c * LANES)
            near = plus(s, y, near)
            far = plus(size(s), size(y), far)
        s = load(S, (a * K + a) * LANES)
        total = plus(x, plus(every(2.0), near, times(s, x)), total)
        largest = plus(size(x), plus(every(2.0), far, times(s, size(x))), largest)
    store(rss, 0, total)
    store(terms, 0, largest)


@njit(cache=True, nogil=True)
def residual_sums(
    start: int, stop: int, index: Array, values: Array, weights: Array, F: Array, offset: Array, mu: float,
    g: Array, R: int, effect: float, here: Array,
) -> None:  # fmt: skip
    """here <- sum w, w e and w e^2 of one row's residuals e = y - mu - offset - f'g - effect, one by one."""
    weighted = weights.size > 0
    sum_w, sum_we, sum_we2 = 0.0, 0.0, 0.0
    for n in range(start, stop):
        j = index[n]
        e = values[n] - mu - offset[j] - effect
        for a in range(R):
            e -= F[j, a] * g[a]
        w = weights[n] if weighted else 1.0
        sum_w += w
        sum_we += w * e
        sum_we2 += w * e * e
    here[0], here[1], here[2] = sum_w, sum_we, sum_we2


@njit(cache=True, nogil=True)
def draw_rows(
    first: int, last: int, indptr: Array, index: Array, values: Array, weights: Array, F: Array, offset: Array,
    mu: float, precision: float, Q: Array, slope: Array, R: int, effects: bool, Z: Array,
    factors: Array, free: Array, aligned: Array, here: Array,
) -> None:  # fmt: skip
    """Draw rows first to last, g_i = P_i^-1 b_i + C_i'^-1 z_i with P_i = Q + precision sum w f f' = C_i C_i'.

    The first R of g_i are its factors, the next, with effects, its free effect; the aligned one is slope'g_i.
    here <- sum w, w e and w e^2 of each row's residuals, and the squared length of its factors.
    """
    K, length = R + int(effects), F.shape[1]
    S, C = np.zeros((K + SPARE, K, LANES)), np.zeros((K + SPARE, K, LANES))
    g, p = np.empty((K, LANES)), np.empty(LANES)
    sums, out = np.zeros(3 * (length // 16 + 1)), np.empty((length + 2, length))
    w, t2, rss, terms = np.zeros(LANES), np.zeros(LANES), np.empty(LANES), np.empty(LANES)
    we, g2 = np.zeros(LANES), np.empty(LANES)
    of_prior = False  # whether C has the factors of Q
    for group in range(first, last, LANES):
        n = min(LANES, last - group)
        nothing = indptr[group] == indptr[group + n]
        if nothing and not of_prior:
            S[:] = 0.0
            t2[:] = 0.0
        for lane in range(n):  # lanes beyond the last row have what was there, and are not used
            i = group + lane
            if not nothing:
                row_sums(indptr[i], indptr[i + 1], index, values, weights, F, R, offset, mu, out, sums)
                spread(out, sums, R, effects, lane, S)
                w[lane], t2[lane] = sums[0], sums[2]
            for a in range(K):
                g[a, lane] = Z[i, a]
        if not (nothing and of_prior):
            factorise(S, precision, Q, K, C)
        of_prior = nothing
        solve(C, K, g)
        align(g, R, slope, p, g2)
        if not nothing:
            squares(S, K, g, t2, rss, terms)
            if effects:
                left_over(S, K, g, we)
        for lane in range(n):
            i = group + lane
            for a in range(R):
                factors[i, a] = g[a, lane]
            if effects:
                free[i], aligned[i] = g[R, lane], p[lane]
            here[i, 3] = g2[lane]
            if nothing:
                here[i, 0], here[i, 1], here[i, 2] = 0.0, 0.0, 0.0
            elif rss[lane] > CANCELLED * terms[lane]:
                here[i, 0], here[i, 1], here[i, 2] = w[lane], we[lane], rss[lane]
            else:
                effect = free[i] if effects else 0.0
                residual_sums(
                    indptr[i],
                    indptr[i + 1],
                    index,
                    values,
                    weights,
                    F,
                    offset,
                    mu,
                    factors[i],
                    R,
                    effect,
                    here[i],
                )


@njit(cache=True, nogil=True)
def left_over(S: Array, K: int, g: Array, we: Array) -> None:
    """sum w e = sum w t - (sum w f)'g in every lane, where the effect is the last of K."""
    total = load(S, (K * K + K - 1) * LANES)
    for c in range(K):
        total = minus(load(S, ((K - 1) * K + c) * LANES), load(g, c * LANES), total)
    store(we, 0, total)


@njit(cache=True, nogil=True)
def align(g: Array, R: int, slope: Array, p: Array, g2: Array) -> None:
    """p <- slope'g and g2 <- g'g over the first R, in every lane."""
    total, length = every(0.0), every(0.0)
    for a in range(R):
        x = load(g, a * LANES)
        total = plus(x, every(slope[a]), total)
        length = plus(x, x, length)
    store(p, 0, total)
    store(g2, 0, length)
