"""SIMD vectors for compiled loops, and the sampler's inner loop: P = sum w f f' with its borders, in registers.

`float64x8` is a Numba type of eight numbers side by side. Numba's own loops round a product before it is added, and
keep their sums in memory. Here sums stay in registers and every multiply-add is rounded once, on every processor:
without such an instruction LLVM calls the C library's `fma`, with shorter registers it uses several. So results depend
on neither.

The accumulators below add up, over one row's observations n with features f, targets t and weights w:

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
from llvmlite import ir
from numba import config, types
from numba.core import cgutils, errors
from numba.extending import intrinsic, models, register_model

LANES = 8
DOUBLE = ir.DoubleType()
VECTOR = ir.VectorType(DOUBLE, LANES)
INT = ir.IntType(64)
STRIP = 4  # rows of P that are added up together
LOOP_FEATURES = 16  # features of one loop: up to four strips


class Float64x8(types.Type):  # type: ignore[misc]
    """The Numba type of eight float64 in one vector."""

    def __init__(self) -> None:
        super().__init__("float64x8")


float64x8 = Float64x8()


@register_model(Float64x8)
class _Float64x8Model(models.PrimitiveModel):  # type: ignore[misc]
    def __init__(self, dmm: Any, fe_type: Any) -> None:
        super().__init__(dmm, fe_type, VECTOR)


# Emitters: each appends LLVM instructions to a builder


def emit_broadcast(builder: Any, x: Any, width: int) -> Any:
    """Emit a vector of `width` copies of the number x."""
    kind = ir.VectorType(DOUBLE, width)
    one = builder.insert_element(ir.Constant(kind, ir.Undefined), x, ir.Constant(ir.IntType(32), 0))
    zeros = ir.Constant(ir.VectorType(ir.IntType(32), width), [0] * width)
    return builder.shuffle_vector(one, ir.Constant(kind, ir.Undefined), zeros)


def emit_fma(builder: Any, a: Any, b: Any, c: Any) -> Any:
    """Emit a b + c, rounded once."""
    return _emit_call(builder, "fma", a, b, c)


def _emit_call(builder: Any, name: str, *values: Any) -> Any:
    """Emit a call of LLVM's intrinsic of this name, for numbers or vectors."""
    kind = values[0].type
    suffix = f"v{kind.count}f64" if isinstance(kind, ir.VectorType) else "f64"
    signature = ir.FunctionType(kind, [kind] * len(values))
    return builder.call(
        cgutils.get_or_insert_function(builder.module, signature, f"llvm.{name}.{suffix}"), values
    )


def data_pointer(context: Any, builder: Any, array_type: Any, array: Any) -> Any:
    """Return the pointer to the first number of a contiguous array."""
    if array_type.layout != "C":
        raise errors.TypingError(f"expected a contiguous array, got {array_type}")
    return cgutils.create_struct_proxy(array_type)(context, builder, value=array).data


def data_pointers(context: Any, builder: Any, kinds: Any, args: Any) -> list[Any]:
    """Return the arguments of a call, with pointers in place of arrays."""
    return [
        data_pointer(context, builder, kind, value) if isinstance(kind, types.Array) else value
        for kind, value in zip(kinds, args, strict=True)
    ]


def emit_load(builder: Any, base: Any, position: Any, kind: Any) -> Any:
    """Emit the load of a vector or number of type `kind` at base[position], aligned or not."""
    return builder.load(_vector_pointer(builder, base, position, kind), align=8)


def emit_store(builder: Any, value: Any, base: Any, position: Any) -> None:
    """Emit the store of a vector or number at base[position], aligned or not."""
    builder.store(value, _vector_pointer(builder, base, position, value.type), align=8)


def _vector_pointer(builder: Any, base: Any, position: Any, kind: Any) -> Any:
    return builder.bitcast(builder.gep(base, [position]), kind.as_pointer())


def emit_loop(builder: Any, start: Any, stop: Any, begin: list[Any], add: Any) -> list[Any]:
    """Emit the loop sums <- add(n, sums) for n = start .. stop - 1, each sum in a register of its own."""
    before = builder.block
    loop, after = builder.append_basic_block("loop"), builder.append_basic_block("done")
    builder.cbranch(builder.icmp_signed("<", start, stop), loop, after)
    builder.position_at_end(loop)
    n, sums = builder.phi(INT), [builder.phi(first.type) for first in begin]
    added, following = add(n, sums), builder.add(n, INT(1))
    for phi, first, last in zip([n, *sums], [start, *begin], [following, *added], strict=True):
        phi.add_incoming(first, before)
        phi.add_incoming(last, loop)
    builder.cbranch(builder.icmp_signed("<", following, stop), loop, after)
    builder.position_at_end(after)
    totals = [builder.phi(first.type) for first in begin]
    for total, first, last in zip(totals, begin, added, strict=True):
        total.add_incoming(first, before)
        total.add_incoming(last, loop)
    return totals


# Functions of float64x8, for compiled code only


@intrinsic
def load(typing: Any, array: Any, position: Any) -> Any:
    """array.flat[position : position + 8] of a contiguous array."""

    def build(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return emit_load(builder, data_pointer(context, builder, signature.args[0], args[0]), args[1], VECTOR)

    return float64x8(array, types.intp), build


@intrinsic
def store(typing: Any, array: Any, position: Any, value: Any) -> Any:
    """array.flat[position : position + 8] <- value."""

    def build(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        emit_store(builder, args[2], data_pointer(context, builder, signature.args[0], args[0]), args[1])
        return context.get_dummy_value()

    return types.void(array, types.intp, float64x8), build


@intrinsic
def broadcast(typing: Any, x: Any) -> Any:
    """Eight copies of x."""

    def build(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return emit_broadcast(builder, args[0], LANES)

    return float64x8(types.float64), build


def lane_by_lane(arity: int, emit: Any) -> Any:
    """Return what an intrinsic of so many vectors returns: its signature, and the builder of its instructions."""

    def build(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return emit(builder, *args)

    return float64x8(*[float64x8] * arity), build


@intrinsic
def fma(typing: Any, a: Any, b: Any, c: Any) -> Any:
    """a b + c, rounded once."""
    return lane_by_lane(3, emit_fma)


@intrinsic
def fnma(typing: Any, a: Any, b: Any, c: Any) -> Any:
    """c - a b, rounded once."""
    return lane_by_lane(3, lambda builder, a, b, c: emit_fma(builder, builder.fneg(a), b, c))


@intrinsic
def multiply(typing: Any, a: Any, b: Any) -> Any:
    """a b, lane by lane."""
    return lane_by_lane(2, lambda builder, a, b: builder.fmul(a, b))


@intrinsic
def absolute(typing: Any, a: Any) -> Any:
    """|a|, lane by lane."""
    return lane_by_lane(1, lambda builder, a: _emit_call(builder, "fabs", a))


@intrinsic
def rsqrt(typing: Any, a: Any) -> Any:
    """1 / sqrt(a), both steps rounded correctly."""

    def emit(builder: Any, a: Any) -> Any:
        one = emit_broadcast(builder, ir.Constant(DOUBLE, 1.0), LANES)
        return builder.fdiv(one, _emit_call(builder, "sqrt", a))

    return lane_by_lane(1, emit)


@intrinsic
def horizontal_sum(typing: Any, a: Any) -> Any:
    """The sum of the eight lanes: of neighbours, then of neighbouring pairs, then of both halves."""

    def build(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        parts = [builder.extract_element(args[0], ir.Constant(ir.IntType(32), k)) for k in range(LANES)]
        while len(parts) > 1:
            parts = [builder.fadd(x, y) for x, y in zip(parts[::2], parts[1::2], strict=True)]
        return parts[0]

    return types.float64(float64x8), build


@intrinsic
def fetch_and_increment(typing: Any, counter: Any) -> Any:
    """Return counter[0] and add one to it, as one atomic step; no two threads get the same number."""

    def build(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        pointer = data_pointer(context, builder, signature.args[0], args[0])
        return builder.atomic_rmw("add", pointer, INT(1), "seq_cst")

    return types.int64(counter), build


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
