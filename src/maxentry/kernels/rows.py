"""Draw one side given the other: every row (a_i, r_i) from its Gaussian conditional, linear in the observations.

    f_j     R      features that column j gives to a row; with effects a constant feature follows them
    K       -      R, or R + 1 with effects: coefficients of a row
    t_n     -      y_n - mu - offset_j, the target of observation n
    S_i     K x K  sum w f f' over the observations of row i; row K of its array holds sum w t f
    P_i     K x K  Q + precision S_i = C_i C_i', with Q the prior precision
    b_i     K      precision sum w t f
    g_i     K      the draw, P_i^-1 b_i + C_i'^-1 z_i with z_i ~ N(0, I)

Rows are pure functions of the data, the features and their normals, so they may be drawn in any order and by any
number of threads. Eight are solved side by side: one row's square roots and divisions wait for each other, eight rows'
do not. The residual sums of squares follow from the sums that the solve needs, without another pass over the data.

**The inner loop.** The accumulators add up, over one row's observations n with features f, targets t and weights w:

    P    R x R    sum w f f', the lower triangle only
    b    R        sum w t f, the border -1 of P
    s    R        sum w f, the border -2 of P: the column of the effects, which so needs no feature of its own

P is cut into strips of four rows. A strip has its columns up to the diagonal, in vectors of eight numbers and, where
the diagonal leaves half of one, of four. One loop over the observations keeps every sum of up to four strips (16
features) in a register of its own: an observation loads its vectors once, multiplies them by its weight, and adds them
times each feature, times t and times one.

Each sum is one chain of fused multiply-adds in the order of the observations, whatever the register blocks:
processors with fewer or shorter registers get other blocks, and the same bits.
"""

from typing import Any, NamedTuple

import llvmlite.binding as llvm
import numpy as np
from llvmlite import ir
from numba import config, types
from numba.extending import intrinsic

from maxentry._types import Array
from maxentry.kernels.jit_cache import inner
from maxentry.kernels.simd import (
    DOUBLE,
    INT,
    LANES,
    absolute,
    broadcast,
    data_pointers,
    emit_broadcast,
    emit_fma,
    emit_load,
    emit_loop,
    emit_store,
    fma,
    fnma,
    load,
    multiply,
    rsqrt,
    store,
)

CACHE_SIZE = 2048  # numbers of F that stay in the L1 cache between loops: half of it
PADDING_ROWS = 4  # rows below the precisions: of b, and to fill a block of four that begins at b
CANCELLATION = 1e-8  # a sum of squares below this share of its terms has too few digits left
STRIP = 4  # rows of P that are added up together
LOOP_FEATURES = 16  # features of one loop: up to four strips


class RegisterBlock(NamedTuple):
    """A block of sums: `rows` of P times `width` columns from `col` on; row -1 stands for t and -2 for one."""

    rows: tuple[int, ...]
    col: int
    width: int


def diagonal_blocks(strips: int) -> list[RegisterBlock]:
    """The register blocks of up to four strips on the diagonal, with both borders."""
    blocks = []
    for col in range(0, strips * STRIP, LANES):
        half = col + STRIP == strips * STRIP  # the last vector is half of one
        own = tuple(range(col, col + STRIP))
        below = tuple(range(col + STRIP, strips * STRIP))
        if half:
            blocks += [RegisterBlock((*own, -1, -2), col, STRIP)]
        else:
            blocks += [RegisterBlock(own, col, STRIP), RegisterBlock((*below, -1, -2), col, LANES)]
    return blocks


def lower_block(strips: int) -> list[RegisterBlock]:
    """The register block of up to four strips times eight columns, all left of the diagonal."""
    return [RegisterBlock(tuple(range(strips * STRIP)), 0, LANES)]


def has_avx512() -> bool:
    """Whether the target processor has AVX-512: 32 registers of eight numbers."""
    if config.CPU_NAME == "generic":
        return False
    features = config.CPU_FEATURES or llvm.get_host_cpu_features().flatten()
    return "+avx512f" in features.split(",")


def split_into_loops(blocks: list[RegisterBlock]) -> list[list[RegisterBlock]]:
    """Split register blocks among loops over the observations, so that the sums of each loop fit the registers.

    With more than twenty sums in a loop the compiler spills some of its 32 registers to memory.
    """
    if not has_avx512():
        loops = []
        for rows, col, width in blocks:
            at_once = 4 if width == LANES else 8
            loops += [
                [RegisterBlock(rows[k : k + at_once], col, width)] for k in range(0, len(rows), at_once)
            ]
        return loops
    if sum(len(block.rows) for block in blocks) <= 20:
        return [blocks]
    return [
        [block for block in blocks if block.col == col] for col in sorted({block.col for block in blocks})
    ]


class LoopArguments(NamedTuple):
    """What a loop reads and writes, as values of LLVM."""

    start: Any
    stop: Any
    index: Any
    values: Any
    weights: Any
    F: Any
    stride: Any  # of the rows of F and of out
    row: Any  # the first feature of the strips
    col: Any  # the first feature of their columns
    offset: Any
    mu: Any
    fresh: Any  # whether sums start at zero, or at what `out` and `sums` hold
    out: Any
    sums: Any
    block: Any  # which three of `sums`


class SumLoop:
    """One loop over the observations of a row, which adds up some register blocks and, if asked, the scalars."""

    def __init__(
        self, builder: Any, args: LoopArguments, blocks: list[RegisterBlock], scalars: bool, weighted: bool
    ) -> None:
        self.builder, self.args, self.blocks = builder, args, blocks
        self.scalars, self.weighted = scalars, weighted

    def write(self) -> None:
        """Emit the loop: load the sums, add every observation, store the sums."""
        b, args = self.builder, self.args
        totals = emit_loop(b, args.start, args.stop, self._load_sums(), self._add)
        for total, place in zip(totals, self._places(), strict=True):
            emit_store(b, total, *place)

    def _places(self) -> list[tuple[Any, Any]]:
        """Return base and position of each sum: a row of `out` for every row of a block, then three of `sums`."""
        b, args = self.builder, self.args
        places = []
        for block in self.blocks:
            for r in block.rows:
                # the borders lie below the last feature: t in row `stride`, one in the row after
                line = b.add(args.stride, INT(-1 - r)) if r < 0 else b.add(args.row, INT(r))
                places.append((args.out, b.add(b.mul(line, args.stride), b.add(args.col, INT(block.col)))))
        if self.scalars:
            places += [(args.sums, b.add(b.mul(args.block, INT(3)), INT(k))) for k in range(3)]
        return places

    def _kinds(self) -> list[Any]:
        vectors = [ir.VectorType(DOUBLE, block.width) for block in self.blocks for _ in block.rows]
        return vectors + [DOUBLE] * 3 * self.scalars

    def _load_sums(self) -> list[Any]:
        b = self.builder
        first = []
        for (base, position), kind in zip(self._places(), self._kinds(), strict=True):
            stored = emit_load(b, base, position, kind)
            first.append(b.select(self.args.fresh, ir.Constant(kind, None), stored))
        return first

    def _add(self, n: Any, sums: list[Any]) -> list[Any]:
        """Emit the sums with observation n added."""
        b, args = self.builder, self.args
        j = b.sext(b.load(b.gep(args.index, [n])), INT)
        line = b.mul(j, args.stride)
        t = b.fsub(b.fsub(self._number(args.values, n), args.mu), self._number(args.offset, j))
        w = self._number(args.weights, n) if self.weighted else None
        vectors = self._vectors(b.add(line, args.col), w)
        features = b.add(line, args.row)
        added: list[Any] = []
        for block in self.blocks:
            v = vectors[block.col, block.width]
            for r in block.rows:
                s = sums[len(added)]
                if r == -2:
                    added.append(b.fadd(s, v))
                    continue
                x = t if r == -1 else self._number(args.F, b.add(features, INT(r)))
                added.append(emit_fma(b, emit_broadcast(b, x, block.width), v, s))
        if self.scalars:
            added += self._add_scalars(t, w, sums[-3:])
        return added

    def _add_scalars(self, t: Any, w: Any, sums: list[Any]) -> list[Any]:
        """Emit sum w, sum w t and sum w t^2."""
        b = self.builder
        if w is None:
            return [b.fadd(sums[0], DOUBLE(1.0)), b.fadd(sums[1], t), emit_fma(b, t, t, sums[2])]
        return [b.fadd(sums[0], w), emit_fma(b, w, t, sums[1]), emit_fma(b, b.fmul(w, t), t, sums[2])]

    def _vectors(self, line: Any, w: Any) -> dict[tuple[int, int], Any]:
        """Emit the features of the columns times the weight; half of a loaded vector is not loaded again."""
        b = self.builder
        vectors: dict[tuple[int, int], Any] = {}
        for block in sorted(self.blocks, key=lambda block: -block.width):
            key = block.col, block.width
            if (block.col, LANES) in vectors and block.width == STRIP:
                whole = vectors[block.col, LANES]
                low = ir.Constant(ir.VectorType(ir.IntType(32), STRIP), list(range(STRIP)))
                vectors[key] = b.shuffle_vector(whole, ir.Constant(whole.type, ir.Undefined), low)
            elif key not in vectors:
                v = emit_load(b, self.args.F, b.add(line, INT(block.col)), ir.VectorType(DOUBLE, block.width))
                vectors[key] = v if w is None else b.fmul(v, emit_broadcast(b, w, block.width))
        return vectors

    def _number(self, base: Any, position: Any) -> Any:
        return emit_load(self.builder, base, position, DOUBLE)


def make_accumulator(blocks: dict[int, list[RegisterBlock]], scalars: bool) -> Any:
    """Make a function for compiled code that adds one row's observations from start to stop to register blocks.

    blocks: those of each number of strips. Weights are known by their type: an empty array of bool means none.
    """

    @intrinsic
    def accumulate(
        typing: Any, strips: Any, start: Any, stop: Any, index: Any, values: Any, weights: Any, F: Any, stride: Any,
        row: Any, col: Any, offset: Any, mu: Any, fresh: Any, out: Any, sums: Any, block: Any,
    ) -> Any:  # fmt: skip
        weighted = weights.dtype == types.float64

        def build(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            strips, *pointers = data_pointers(context, builder, signature.args, args)
            done = builder.append_basic_block("accumulated")
            switch = builder.switch(strips, done)
            for n, chosen in blocks.items():
                switch.add_case(INT(n), case := builder.append_basic_block(f"strips{n}"))
                builder.position_at_end(case)
                for k, part in enumerate(split_into_loops(chosen) or [[]]):
                    SumLoop(builder, LoopArguments(*pointers), part, scalars and k == 0, weighted).write()
                builder.branch(done)
            builder.position_at_end(done)
            return context.get_dummy_value()

        i, x = types.intp, types.float64
        parameters = (i, i, i, index, values, weights, F, i, i, i, offset, x, types.boolean, out, sums, i)
        return types.void(*parameters), build

    return accumulate


add_diagonal = make_accumulator({strips: diagonal_blocks(strips) for strips in range(5)}, True)
add_lower = make_accumulator({strips: lower_block(strips) for strips in range(1, 5)}, False)


@inner
def accumulate_row(
    start: int, stop: int, index: Array, values: Array, weights: Array, F: Array, R: int, offset: Array,
    mu: float, out: Array, sums: Array,
) -> None:  # fmt: skip
    """Sums over one row's observations, t = y - mu - offset: out <- sum w f f' (lower triangle), and in its last two
    rows sum w t f and sum w f; sums <- sum w, sum w t, sum w t^2.

    Rows of F have R features and zeros up to a multiple of eight; out is two rows longer than they. Where there are
    several loops, a few observations go through all of them before the next, so that their features stay in cache.
    """
    strips, stride = (R + STRIP - 1) // STRIP, F.shape[1]
    step = max(stop - start, 1) if strips < 4 else max(CACHE_SIZE // stride, 8)
    for first in range(start, max(stop, start + 1), step):
        last, fresh = min(first + step, stop), first == start
        for at in range(0, max(strips * STRIP, 1), LOOP_FEATURES):
            n, block = min(4, strips - at // STRIP), at // LOOP_FEATURES
            add_diagonal(
                n, first, last, index, values, weights, F, stride, at, at, offset, mu, fresh, out, sums, block
            )
            for col in range(0, at, LANES):
                add_lower(
                    n,
                    first,
                    last,
                    index,
                    values,
                    weights,
                    F,
                    stride,
                    at,
                    col,
                    offset,
                    mu,
                    fresh,
                    out,
                    sums,
                    0,
                )


@inner
def scatter_to_lane(out: Array, sums: Array, R: int, effects: bool, lane: int, S: Array) -> None:
    """Copy one row's sums into its lane of S: K rows of sum w f f', the effect's last, then sum w t f."""
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


@inner
def factorise(S: Array, precision: float, Q: Array, K: int, C: Array) -> None:
    """Q + precision S = C C' in every lane; C's diagonal holds its reciprocal, and row K is then C^-1 b.

    Four rows at a time, their sums in registers. What stands below row K has no effect.
    """
    p = broadcast(precision)
    for j in range(K):
        inverse = broadcast(1.0)
        for i in range(j, K + 1, 4):
            at = (i * K + j) * LANES
            down = K * LANES
            x0 = fma(p, load(S, at), broadcast(Q[i, j]))
            x1 = fma(p, load(S, at + down), broadcast(Q[i + 1, j]))
            x2 = fma(p, load(S, at + 2 * down), broadcast(Q[i + 2, j]))
            x3 = fma(p, load(S, at + 3 * down), broadcast(Q[i + 3, j]))
            row, other = i * K * LANES, j * K * LANES
            for _ in range(j):
                c = load(C, other)
                x0 = fnma(load(C, row), c, x0)
                x1 = fnma(load(C, row + down), c, x1)
                x2 = fnma(load(C, row + 2 * down), c, x2)
                x3 = fnma(load(C, row + 3 * down), c, x3)
                row += LANES
                other += LANES
            if i == j:
                inverse = rsqrt(x0)
                store(C, at, inverse)
            else:
                store(C, at, multiply(x0, inverse))
            store(C, at + down, multiply(x1, inverse))
            store(C, at + 2 * down, multiply(x2, inverse))
            store(C, at + 3 * down, multiply(x3, inverse))


@inner
def solve(C: Array, K: int, g: Array) -> None:
    """g <- C'^-1 (C^-1 b + g) in every lane."""
    for a in range(K):
        store(g, a * LANES, fma(broadcast(1.0), load(C, (K * K + a) * LANES), load(g, a * LANES)))
    for a in range(K - 1, -1, -1):
        x = multiply(load(g, a * LANES), load(C, (a * K + a) * LANES))
        store(g, a * LANES, x)
        for k in range(a):
            store(g, k * LANES, fnma(load(C, (a * K + k) * LANES), x, load(g, k * LANES)))


@inner
def residual_squares(S: Array, K: int, g: Array, t2: Array, rss: Array, terms: Array) -> None:
    """sum w (t - f'g)^2 = sum w t^2 - 2 b'g + g'Sg in every lane, and the sum of the absolute values of its terms."""
    total = load(t2, 0)
    largest = total
    for a in range(K):
        x = load(g, a * LANES)
        b = load(S, (K * K + a) * LANES)
        inner, bound = multiply(broadcast(-1.0), b), absolute(b)
        for c in range(a):
            s, y = load(S, (a * K + c) * LANES), load(g, c * LANES)
            inner = fma(s, y, inner)
            bound = fma(absolute(s), absolute(y), bound)
        s = load(S, (a * K + a) * LANES)
        total = fma(x, fma(broadcast(2.0), inner, multiply(s, x)), total)
        largest = fma(absolute(x), fma(broadcast(2.0), bound, multiply(s, absolute(x))), largest)
    store(rss, 0, total)
    store(terms, 0, largest)


@inner
def sum_residuals(
    start: int, stop: int, index: Array, values: Array, weights: Array, F: Array, offset: Array, mu: float,
    g: Array, R: int, effect: float, residual_sums: Array,
) -> None:  # fmt: skip
    """residual_sums <- sum w, w e and w e^2 of one row's residuals e = y - mu - offset - f'g - effect, one by one."""
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
    residual_sums[0], residual_sums[1], residual_sums[2] = sum_w, sum_we, sum_we2


@inner
def residual_sum(S: Array, K: int, g: Array, we: Array) -> None:
    """sum w e = sum w t - (sum w f)'g in every lane, where the effect is the last of K."""
    total = load(S, (K * K + K - 1) * LANES)
    for c in range(K):
        total = fnma(load(S, ((K - 1) * K + c) * LANES), load(g, c * LANES), total)
    store(we, 0, total)


@inner
def project_on_slope(g: Array, R: int, slope: Array, p: Array, g2: Array) -> None:
    """p <- slope'g and g2 <- g'g over the first R, in every lane."""
    total, length = broadcast(0.0), broadcast(0.0)
    for a in range(R):
        x = load(g, a * LANES)
        total = fma(x, broadcast(slope[a]), total)
        length = fma(x, x, length)
    store(p, 0, total)
    store(g2, 0, length)


@inner
def shift_target(S: Array, K: int, M: Array, b: Array) -> None:
    """Row K of S, b = sum w t f, <- b - S M in every lane: the same of t less what the prior means M say; b is kept."""
    for a in range(K):
        at = (K * K + a) * LANES
        x = load(S, at)
        store(b, a * LANES, x)
        for c in range(K):
            s = load(S, (a * K + c) * LANES) if c <= a else load(S, (c * K + a) * LANES)
            x = fnma(s, load(M, c * LANES), x)
        store(S, at, x)


@inner
def shift_back(S: Array, K: int, M: Array, b: Array, g: Array) -> None:
    """g <- g + M and row K of S <- b in every lane."""
    for a in range(K):
        store(S, (K * K + a) * LANES, load(b, a * LANES))
        store(g, a * LANES, fma(broadcast(1.0), load(M, a * LANES), load(g, a * LANES)))


@inner
def draw_rows(
    first: int, last: int, indptr: Array, index: Array, values: Array, weights: Array, F: Array, offset: Array,
    mu: float, precision: float, Q: Array, slope: Array, R: int, effects: bool, Z: Array,
    factors: Array, free: Array, aligned: Array, residual_sums: Array, means: Array | None = None,
    mean_effects: Array | None = None,
) -> None:  # fmt: skip
    """Draw rows first to last, g_i = P_i^-1 b_i + C_i'^-1 z_i with P_i = Q + precision sum w f f' = C_i C_i'.

    With prior means of factors and effects that is the law of what g_i deviates from them.

    The first R of g_i are its factors, the next, with effects, its free effect; the aligned one is slope'g_i.
    residual_sums <- sum w, w e and w e^2 of each row's residuals, and the squared length of its factors.
    """
    K, length = R + int(effects), F.shape[1]
    S, C = np.zeros((K + PADDING_ROWS, K, LANES)), np.zeros((K + PADDING_ROWS, K, LANES))
    g, p = np.empty((K, LANES)), np.empty(LANES)
    sums, out = np.zeros(3 * (length // 16 + 1)), np.empty((length + 2, length))
    w, t2, rss, terms = np.zeros(LANES), np.zeros(LANES), np.empty(LANES), np.empty(LANES)
    we, g2 = np.zeros(LANES), np.empty(LANES)
    M, b = np.zeros((K, LANES)), np.empty((K, LANES))
    prior_factored = False  # whether C holds the factors of Q
    for group in range(first, last, LANES):
        n = min(LANES, last - group)
        unobserved = indptr[group] == indptr[group + n]
        if unobserved and not prior_factored:
            S[:] = 0.0
            t2[:] = 0.0
        for lane in range(n):  # lanes beyond the last row hold old numbers, which are not used
            i = group + lane
            if not unobserved:
                accumulate_row(indptr[i], indptr[i + 1], index, values, weights, F, R, offset, mu, out, sums)
                scatter_to_lane(out, sums, R, effects, lane, S)
                w[lane], t2[lane] = sums[0], sums[2]
            for a in range(K):
                g[a, lane] = Z[i, a]
            if means is not None and mean_effects is not None:
                for a in range(R):
                    M[a, lane] = means[i, a]
                if effects:
                    M[R, lane] = mean_effects[i]
        if means is not None:
            shift_target(S, K, M, b)
        if not (unobserved and prior_factored):
            factorise(S, precision, Q, K, C)
        prior_factored = unobserved
        solve(C, K, g)
        if means is not None:
            shift_back(S, K, M, b, g)
        project_on_slope(g, R, slope, p, g2)
        if not unobserved:
            residual_squares(S, K, g, t2, rss, terms)
            if effects:
                residual_sum(S, K, g, we)
        for lane in range(n):
            i = group + lane
            for a in range(R):
                factors[i, a] = g[a, lane]
            if effects:
                free[i], aligned[i] = g[R, lane], p[lane]
            residual_sums[i, 3] = g2[lane]
            if unobserved:
                residual_sums[i, 0], residual_sums[i, 1], residual_sums[i, 2] = 0.0, 0.0, 0.0
            elif rss[lane] > CANCELLATION * terms[lane]:
                residual_sums[i, 0], residual_sums[i, 1], residual_sums[i, 2] = w[lane], we[lane], rss[lane]
            else:
                effect = free[i] if effects else 0.0
                sum_residuals(
                    indptr[i], indptr[i + 1], index, values, weights, F, offset, mu, factors[i], R, effect,
                    residual_sums[i],
                )  # fmt: skip
