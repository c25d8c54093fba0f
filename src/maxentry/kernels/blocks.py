"""Variances of factored draws over a block of the matrix: sixteen entries at once, four rows times four columns.

Draws lie side by side in vectors of eight (`lanes`). Each vector of a row's factor is multiplied by those of four
columns, and the other way round: eight loads serve sixteen fused multiply-adds. What four rows or columns need is
laid out in the order of reading first.
"""

from typing import Any

import numpy as np
from llvmlite import ir
from numba import njit, types
from numba.extending import intrinsic
from numpy.typing import NDArray

from maxentry.kernels.lanes import (
    LANES,
    VECTOR,
    across,
    data_of,
    every,
    fused,
    load,
    load_vector,
    plus,
    store_vector,
)

CALLED = "687ec0cefe3a"  # a digest of the kernels imported, by which Numba knows when to compile again

Array = NDArray[np.float64]
Indices = NDArray[np.int64]

SIDE = 4
INT = ir.IntType(64)


@njit(cache=True, nogil=True)
def _laid_out(X: Array, effect: Array, index: Indices) -> Array:
    """The factors of index[4 g : 4 g + 4] as [g, s / 8, r, 4, 8], the effect last; draws beyond the last are zero."""
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
def _sixteen(typing: Any, P: Any, p: Any, Q: Any, q: Any, R: Any, D: Any, d: Any) -> Any:
    """D.flat[d : d + 128] <- eight draws of sixteen entries, of rows laid out at P.flat[p], columns at Q.flat[q]."""

    def build(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        P, p, Q, q, R, D, d = (
            data_of(context, builder, kind, value) if isinstance(kind, types.Array) else value
            for kind, value in zip(signature.args, args, strict=True)
        )
        step = INT(SIDE * LANES)
        last = builder.mul(R, step)
        begin = [
            builder.fadd(x, y)
            for x in _four(builder, P, builder.add(p, last))
            for y in _four(builder, Q, builder.add(q, last))
        ]

        def add(r: Any, sums: list[Any]) -> list[Any]:
            here = builder.mul(r, step)
            x, y = _four(builder, P, builder.add(p, here)), _four(builder, Q, builder.add(q, here))
            return [fused(builder, x[e // SIDE], y[e % SIDE], total) for e, total in enumerate(sums)]

        for e, total in enumerate(_loop(builder, R, begin, add)):
            store_vector(builder, total, D, builder.add(d, INT(e * LANES)))
        return context.get_dummy_value()

    i = types.intp
    return types.void(P, i, Q, i, i, D, i), build


def _four(builder: Any, base: Any, position: Any) -> list[Any]:
    """Four vectors from base[position] on."""
    return [load_vector(builder, base, builder.add(position, INT(k * LANES)), VECTOR) for k in range(SIDE)]


def _loop(builder: Any, n: Any, begin: list[Any], add: Any) -> list[Any]:
    """The sums after add(r, sums) for r = 0 .. n - 1, each in a register of its own."""
    before = builder.block
    loop, after = builder.append_basic_block("factors"), builder.append_basic_block("done")
    builder.cbranch(builder.icmp_signed("<", INT(0), n), loop, after)
    builder.position_at_end(loop)
    r, sums = builder.phi(INT), [builder.phi(VECTOR) for _ in begin]
    added, following = add(r, sums), builder.add(r, INT(1))
    for phi, first, last in zip([r, *sums], [INT(0), *begin], [following, *added], strict=True):
        phi.add_incoming(first, before)
        phi.add_incoming(last, loop)
    builder.cbranch(builder.icmp_signed("<", following, n), loop, after)
    builder.position_at_end(after)
    totals = [builder.phi(VECTOR) for _ in begin]
    for total, first, last in zip(totals, begin, added, strict=True):
        total.add_incoming(first, before)
        total.add_incoming(last, loop)
    return totals


@njit(cache=True, nogil=True)
def _variance(D: Array, e: int, S: int) -> float:
    """The variance of the S draws of entry e of sixteen: D is [s / 8, entry, 8]."""
    whole, one = S // LANES, every(1.0)
    sums = every(0.0)
    for t in range(whole):
        sums = plus(one, load(D, (t * SIDE * SIDE + e) * LANES), sums)
    total = across(sums)
    for s in range(whole * LANES, S):
        total += D[whole, e, s - whole * LANES]
    mean = total / S
    sums, less = every(0.0), every(-mean)
    for t in range(whole):
        d = plus(one, load(D, (t * SIDE * SIDE + e) * LANES), less)
        sums = plus(d, d, sums)
    squares: float = across(sums)
    for s in range(whole * LANES, S):
        squares += (D[whole, e, s - whole * LANES] - mean) ** 2
    return squares / S


@njit(cache=True, nogil=True)
def variances(
    A: Array, B: Array, a: Array, b: Array, rows: Indices, cols: Indices, least: float, v: Array
) -> None:
    """v[n, k] <- the variance of the draws of entry (rows[n], cols[k])."""
    R, S = A.shape[1], A.shape[2]
    Q = _laid_out(B, b, cols)
    vectors = Q.shape[1]
    D = np.empty((vectors, SIDE * SIDE, LANES))
    step = (R + 1) * SIDE * LANES
    for n in range(0, rows.size, SIDE):
        P = _laid_out(A, a, rows[n : n + SIDE])
        for k in range(Q.shape[0]):
            for t in range(vectors):
                _sixteen(P, t * step, Q, (k * vectors + t) * step, R, D, t * SIDE * SIDE * LANES)
            for p in range(min(SIDE, rows.size - n)):
                for q in range(min(SIDE, cols.size - SIDE * k)):
                    found = _variance(D, SIDE * p + q, S)
                    v[n + p, SIDE * k + q] = found if found >= least else 0.0
