"""Variances of entries over factored draws, and the lazy search for the best of many candidates.

    A, B    m1 x R x S, m2 x R x S    the draws' factors, draws last so that loops over them are contiguous
    a, b    m1 x S, m2 x S            the draws' effects
    d       S                         an entry's draws less their mean, d_s = A_i.s . B_j.s + a_is + b_js - mean
    F       M x p                     features: the covariance of two candidates is the product of their rows
    W       k x p                     measured entries as directions: K = I - W'W, v = f'K f
    least   -                         variances below it are rounding, and count as zero

No `fastmath`: sums are taken in one order, whatever the processor's vectors hold, so that what is chosen is the same on
all. `sum8` and `dot8` keep eight sums, which is nearly as fast.
"""

import math
from typing import Any

import numpy as np
from numba import njit, types
from numba.extending import intrinsic

from maxentry._types import Array, Indices
from maxentry.kernels.jit_cache import inner
from maxentry.kernels.simd import (
    INT,
    LANES,
    VECTOR,
    broadcast,
    data_pointers,
    emit_fma,
    emit_load,
    emit_loop,
    emit_store,
    fma,
    horizontal_sum,
    load,
)

CLOSED = -1.0  # the score of a candidate that may not be chosen; other scores are at least zero
EQUAL = 1e-10  # scores that differ by less than this share are a tie
REACH = 9.0  # sds that tables of distribution functions go from zero
SIDE = 4  # of a register block, in entries


@inner
def sum8(x: Array) -> float:
    """The sum of x as eight interleaved sums."""
    t0 = t1 = t2 = t3 = t4 = t5 = t6 = t7 = 0.0
    for n in range(x.size // 8):
        p = x[8 * n : 8 * n + 8]
        t0, t1, t2, t3 = t0 + p[0], t1 + p[1], t2 + p[2], t3 + p[3]
        t4, t5, t6, t7 = t4 + p[4], t5 + p[5], t6 + p[6], t7 + p[7]
    for s in range(x.size - x.size % 8, x.size):
        t0 += x[s]
    return ((t0 + t1) + (t2 + t3)) + ((t4 + t5) + (t6 + t7))


@inner
def dot8(x: Array, y: Array) -> float:
    """The sum of x y, in the order of `sum8`."""
    t0 = t1 = t2 = t3 = t4 = t5 = t6 = t7 = 0.0
    for n in range(x.size // 8):
        p, q = x[8 * n : 8 * n + 8], y[8 * n : 8 * n + 8]
        t0, t1, t2, t3 = t0 + p[0] * q[0], t1 + p[1] * q[1], t2 + p[2] * q[2], t3 + p[3] * q[3]
        t4, t5, t6, t7 = t4 + p[4] * q[4], t5 + p[5] * q[5], t6 + p[6] * q[6], t7 + p[7] * q[7]
    for s in range(x.size - x.size % 8, x.size):
        t0 += x[s] * y[s]
    return ((t0 + t1) + (t2 + t3)) + ((t4 + t5) + (t6 + t7))


@inner
def centre_entry(A: Array, B: Array, a: Array, b: Array, i: int, j: int, least: float, d: Array) -> float:
    """Overwrite d by the draws of entry (i, j) less their mean; return their variance. Both are zero below `least`."""
    R, S = A.shape[1], d.size
    for s in range(S):
        d[s] = a[i, s] + b[j, s]
    for r in range(R):
        for s in range(S):
            d[s] += A[i, r, s] * B[j, r, s]
    mean = sum8(d) / S
    for s in range(S):
        d[s] -= mean
    v: float = dot8(d, d) / S
    if v < least:
        d[:] = 0.0
        return 0.0
    return v


@njit(cache=True, nogil=True)
def fill_features(
    A: Array, B: Array, a: Array, b: Array, rows: Indices, cols: Indices, least: float, F: Array
) -> None:
    """F[n] <- d / sqrt(S), for the entries (rows, cols)."""
    S = F.shape[1]
    root = math.sqrt(S)
    for n in range(rows.size):
        centre_entry(A, B, a, b, rows[n], cols[n], least, F[n])
        for s in range(S):
            F[n, s] /= root


@njit(cache=True, nogil=True)
def entry_variances(
    A: Array, B: Array, a: Array, b: Array, rows: Indices, cols: Indices, least: float, v: Array
) -> None:
    """v[n] <- the variance of the draws of entry (rows[n], cols[n])."""
    d = np.empty(A.shape[2])
    for n in range(rows.size):
        v[n] = centre_entry(A, B, a, b, rows[n], cols[n], least, d)


@njit(cache=True, nogil=True, inline="always")
def look_up(t: float, table: Array) -> float:
    """The value at t of a table from -REACH to REACH, between its knots by a straight line."""
    last = table.size - 1
    place = min(max((t + REACH) * (last / (2 * REACH)), 0.0), float(last))
    k = min(int(place), last - 1)
    found: float = table[k] + (place - k) * (table[k + 1] - table[k])
    return found


@njit(cache=True, nogil=True)
def add_cells(
    x: Array, origin: Array, line: Indices, root: float, cuts: Array, cdf: Array, loss: Array, seen: int, p: Array,
    sums: Array,
) -> None:  # fmt: skip
    """Add one draw x of some entries: p[n] += probabilities of the cells between the cuts of their lines.

    root is 1 / sd of the noise; distances are from the origin. sums[n] += entropy of the cells, distance, its square;
    then, for the cell that is seen, its probability, this times the distance and its square, and what a value there
    tells of x, in units of 1 / variance of the noise.
    """
    K = cuts.shape[1]
    for n in range(x.size):
        d, below = x[n] - origin[n], 0.0
        sums[n, 1] += d
        sums[n, 2] += d * d
        for k in range(K + 1):
            up_to = 1.0
            if k < K:
                cut = cuts[line[n], k]
                if math.isfinite(cut):
                    up_to = look_up(root * (cut - x[n]), cdf)
                elif cut < 0:
                    up_to = 0.0
            q = up_to - below
            below = up_to
            if q > 0.0:
                p[n, k] += q
                sums[n, 0] += q * math.log(q)
                if k == seen:
                    told = 1.0
                    if k > 0 and math.isfinite(cuts[line[n], k - 1]):
                        told -= look_up(root * (cuts[line[n], k - 1] - x[n]), loss)
                    if k < K and math.isfinite(cuts[line[n], k]):
                        told -= look_up(root * (x[n] - cuts[line[n], k]), loss)
                    sums[n, 3] += q
                    sums[n, 4] += q * d
                    sums[n, 5] += q * d * d
                    sums[n, 6] += max(told, 0.0)


@inner
def _refresh(
    n: int, F: Array, W: Array, k: int, eta2: float, cost: Array, v: Array, version: Indices, score: Array
) -> None:
    """Bring v and score of candidate n up to date with k directions."""
    if version[n] < k:
        left = v[n]  # less what the directions explain that have joined since
        for t in range(version[n], k):
            c = dot8(F[n], W[t])
            left -= c * c
        v[n], version[n] = max(left, 0.0), k
        if score[n] != CLOSED:
            score[n] = 0.5 * math.log1p(v[n] / eta2) / cost[n]


@njit(cache=True, nogil=True)
def best_candidate(
    F: Array, W: Array, k: int, eta2: float, keys: Indices, cost: Array, v: Array, version: Indices, score: Array
) -> int:  # fmt: skip
    """Find the candidate of greatest score 1/2 log(1 + v / eta2) / cost given k directions; of equals, the least key.

    v and score may be stale (version < k directions taken off): they only fall, so a candidate whose stale score
    is below the best need not be updated (Minoux's lazy greedy search). Returns -1 where all are closed.
    """
    M = keys.size
    if M == 0:
        return -1
    best = 0
    for n in range(1, M):
        if score[n] > score[best]:
            best = n
    _refresh(best, F, W, k, eta2, cost, v, version, score)
    for n in range(M):
        if score[n] > score[best]:
            _refresh(n, F, W, k, eta2, cost, v, version, score)
            if score[n] > score[best]:
                best = n
    top = score[best]
    if top == CLOSED:
        return -1
    tied = top * (1.0 - EQUAL)
    for n in range(M):
        if score[n] >= tied and keys[n] < keys[best]:
            _refresh(n, F, W, k, eta2, cost, v, version, score)
            if score[n] >= tied:
                best = n
    return best


@njit(cache=True, nogil=True)
def rotate_moments(X: Array, effect: Array, rotations: Array, mean: Array, cov: Array, fourth: Array) -> None:
    """cov[i] <- covariance over the draws of x_i O_s and the effect, and fourth[i] <- E|x_i O_s - mean_i|^4.

    rotations is R x R x S, the O_s; effects have means of zero.
    """
    m, R, S = X.shape
    d, length = np.empty((R + 1, S)), np.empty(S)
    for i in range(m):
        for s in range(S):
            d[R, s] = effect[i, s]
        length[:] = 0.0
        for t in range(R):
            d[t] = -mean[i, t]
            for r in range(R):
                for s in range(S):
                    d[t, s] += X[i, r, s] * rotations[r, t, s]
            for s in range(S):
                length[s] += d[t, s] * d[t, s]
        fourth[i] = dot8(length, length) / S
        for t in range(R + 1):
            for r in range(t + 1):
                cov[i, t, r] = cov[i, r, t] = dot8(d[t], d[r]) / S


# Variances over a block of the matrix: register blocks of four rows times four columns. Eight loads of packed factors
# serve sixteen fused multiply-adds, each of eight draws.


@inner
def _pack(X: Array, effect: Array, index: Indices) -> Array:
    """Copy the factors of index[4 g : 4 g + 4] to [g, s / 8, r, 4, 8], the effect last; pad the draws by zeros."""
    R, S = X.shape[1], X.shape[2]
    groups, vectors = (index.size + SIDE - 1) // SIDE, (S + LANES - 1) // LANES
    out = np.zeros((groups, vectors, R + 1, SIDE, LANES))
    for t in range(groups * SIDE):
        i = index[min(t, index.size - 1)]
        for r in range(R + 1):
            x = X[i, r] if r < R else effect[i]
            for s in range(S):
                out[t // SIDE, s // LANES, r, t % SIDE, s % LANES] = x[s]
    return out


@intrinsic
def _multiply_block(typing: Any, P: Any, p: Any, Q: Any, q: Any, R: Any, D: Any, d: Any) -> Any:
    """D.flat[d : d + 128] <- eight draws of sixteen entries, from rows packed at P.flat[p] and columns at Q.flat[q]."""

    def build(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        P, p, Q, q, R, D, d = data_pointers(context, builder, signature.args, args)
        step = INT(SIDE * LANES)
        last = builder.mul(R, step)
        begin = [
            builder.fadd(x, y)
            for x in _load_four(builder, P, builder.add(p, last))
            for y in _load_four(builder, Q, builder.add(q, last))
        ]

        def add(r: Any, sums: list[Any]) -> list[Any]:
            here = builder.mul(r, step)
            x, y = _load_four(builder, P, builder.add(p, here)), _load_four(builder, Q, builder.add(q, here))
            return [emit_fma(builder, x[e // SIDE], y[e % SIDE], total) for e, total in enumerate(sums)]

        for e, total in enumerate(emit_loop(builder, INT(0), R, begin, add)):
            emit_store(builder, total, D, builder.add(d, INT(e * LANES)))
        return context.get_dummy_value()

    i = types.intp
    return types.void(P, i, Q, i, i, D, i), build


def _load_four(builder: Any, base: Any, position: Any) -> list[Any]:
    """Emit the loads of four vectors from base[position] on."""
    return [emit_load(builder, base, builder.add(position, INT(k * LANES)), VECTOR) for k in range(SIDE)]


@inner
def _variance(D: Array, e: int, S: int) -> float:
    """The variance of the S draws of entry e of sixteen: D is [s / 8, entry, 8]."""
    whole, one = S // LANES, broadcast(1.0)
    sums = broadcast(0.0)
    for t in range(whole):
        sums = fma(one, load(D, (t * SIDE * SIDE + e) * LANES), sums)
    total = horizontal_sum(sums)
    for s in range(whole * LANES, S):
        total += D[whole, e, s - whole * LANES]
    mean = total / S
    sums, less = broadcast(0.0), broadcast(-mean)
    for t in range(whole):
        d = fma(one, load(D, (t * SIDE * SIDE + e) * LANES), less)
        sums = fma(d, d, sums)
    squares: float = horizontal_sum(sums)
    for s in range(whole * LANES, S):
        squares += (D[whole, e, s - whole * LANES] - mean) ** 2
    return squares / S


@njit(cache=True, nogil=True)
def block_variances(
    A: Array, B: Array, a: Array, b: Array, rows: Indices, cols: Indices, least: float, v: Array
) -> None:
    """v[n, k] <- the variance of the draws of entry (rows[n], cols[k])."""
    R, S = A.shape[1], A.shape[2]
    Q = _pack(B, b, cols)
    vectors = Q.shape[1]
    D = np.empty((vectors, SIDE * SIDE, LANES))
    step = (R + 1) * SIDE * LANES
    for n in range(0, rows.size, SIDE):
        P = _pack(A, a, rows[n : n + SIDE])
        for k in range(Q.shape[0]):
            for t in range(vectors):
                _multiply_block(P, t * step, Q, (k * vectors + t) * step, R, D, t * SIDE * SIDE * LANES)
            for p in range(min(SIDE, rows.size - n)):
                for q in range(min(SIDE, cols.size - SIDE * k)):
                    variance = _variance(D, SIDE * p + q, S)
                    v[n + p, SIDE * k + q] = variance if variance >= least else 0.0
