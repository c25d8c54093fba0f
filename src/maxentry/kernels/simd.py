"""P = sum w f f' and its borders over one row's observations, in registers: the inner loop of the sampler.

P is cut into strips of four rows. A strip has its columns up to the diagonal, in vectors of eight numbers and, where
the diagonal leaves half of one, of four. One loop over the observations keeps every sum of up to four strips (16
features) in a register of its own: an observation loads its vectors once, multiplies them by its weight, and adds them
times each feature of the strips, times t (for b = sum w t f) and as they are (sum w f, the column of the effects,
which so needs no feature of its own).

Each sum is one chain of fused multiply-adds in the order of the observations, whatever the tiles: processors with
fewer or shorter registers get other tiles, and the same bits.
"""

from typing import Any, NamedTuple

import llvmlite.binding as llvm
from llvmlite import ir
from numba import config, types
from numba.core import cgutils, errors
from numba.extending import intrinsic, models, register_model

# Eight numbers side by side as a type of Numba's: what a vector register holds, with fused multiply-adds.
#
# Numba's own loops round a product before it is added, and keep what they add to in memory. With these, sums stay in
# registers and every multiply-add is one rounding, on every processor: where there is no such instruction, LLVM calls
# the C library's `fma`, and where registers are shorter, it uses several. So the results do not depend on either.
LANES = 8
DOUBLE = ir.DoubleType()
VECTOR = ir.VectorType(DOUBLE, LANES)


class LanesType(types.Type):  # type: ignore[misc]
    """The type of eight numbers; there is one."""

    def __init__(self) -> None:
        super().__init__("Lanes")


lanes = LanesType()


@register_model(LanesType)
class _LanesModel(models.PrimitiveModel):  # type: ignore[misc]
    def __init__(self, dmm: Any, fe_type: Any) -> None:
        super().__init__(dmm, fe_type, VECTOR)


# Pieces of LLVM's language


def broadcast(builder: Any, x: Any, width: int) -> Any:
    """A vector of `width` times the number x."""
    kind = ir.VectorType(DOUBLE, width)
    one = builder.insert_element(ir.Constant(kind, ir.Undefined), x, ir.Constant(ir.IntType(32), 0))
    zeros = ir.Constant(ir.VectorType(ir.IntType(32), width), [0] * width)
    return builder.shuffle_vector(one, ir.Constant(kind, ir.Undefined), zeros)


def fused(builder: Any, a: Any, b: Any, c: Any) -> Any:
    """a b + c, rounded once."""
    return _call(builder, "fma", a, b, c)


def _call(builder: Any, name: str, *values: Any) -> Any:
    """LLVM's function of that name, for numbers or vectors."""
    kind = values[0].type
    suffix = f"v{kind.count}f64" if isinstance(kind, ir.VectorType) else "f64"
    signature = ir.FunctionType(kind, [kind] * len(values))
    return builder.call(
        cgutils.get_or_insert_function(builder.module, signature, f"llvm.{name}.{suffix}"), values
    )


def data_of(context: Any, builder: Any, array_type: Any, array: Any) -> Any:
    """Where the numbers of an array begin; they must lie one after the other."""
    if array_type.layout != "C":
        raise errors.TypingError(f"expected a contiguous array, got {array_type}")
    return cgutils.create_struct_proxy(array_type)(context, builder, value=array).data


def load_vector(builder: Any, base: Any, position: Any, kind: Any) -> Any:
    """A vector (or number) of that kind from base[position] on, which need not be aligned."""
    return builder.load(_place(builder, base, position, kind), align=8)


def store_vector(builder: Any, value: Any, base: Any, position: Any) -> None:
    """The numbers of `value` to base[position] and on."""
    builder.store(value, _place(builder, base, position, value.type), align=8)


def _place(builder: Any, base: Any, position: Any, kind: Any) -> Any:
    return builder.bitcast(builder.gep(base, [position]), kind.as_pointer())


# Functions of lanes, for compiled code only


@intrinsic
def load(typing: Any, array: Any, position: Any) -> Any:
    """Lanes array.flat[position : position + 8] of a contiguous array."""

    def build(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return load_vector(builder, data_of(context, builder, signature.args[0], args[0]), args[1], VECTOR)

    return lanes(array, types.intp), build


@intrinsic
def store(typing: Any, array: Any, position: Any, value: Any) -> Any:
    """array.flat[position : position + 8] <- value."""

    def build(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        store_vector(builder, args[2], data_of(context, builder, signature.args[0], args[0]), args[1])
        return context.get_dummy_value()

    return types.void(array, types.intp, lanes), build


@intrinsic
def every(typing: Any, x: Any) -> Any:
    """Lanes that all hold x."""

    def build(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return broadcast(builder, args[0], LANES)

    return lanes(types.float64), build


@intrinsic
def plus(typing: Any, a: Any, b: Any, c: Any) -> Any:
    """a b + c, rounded once."""

    def build(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return fused(builder, *args)

    return lanes(lanes, lanes, lanes), build


@intrinsic
def minus(typing: Any, a: Any, b: Any, c: Any) -> Any:
    """c - a b, rounded once."""

    def build(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return fused(builder, builder.fneg(args[0]), args[1], args[2])

    return lanes(lanes, lanes, lanes), build


@intrinsic
def times(typing: Any, a: Any, b: Any) -> Any:
    """The product."""

    def build(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.fmul(*args)

    return lanes(lanes, lanes), build


@intrinsic
def size(typing: Any, a: Any) -> Any:
    """|a|."""

    def build(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return _call(builder, "fabs", args[0])

    return lanes(lanes), build


@intrinsic
def reciprocal_root(typing: Any, a: Any) -> Any:
    """1 / sqrt(a), both steps rounded correctly."""

    def build(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        one = broadcast(builder, ir.Constant(DOUBLE, 1.0), LANES)
        return builder.fdiv(one, _call(builder, "sqrt", args[0]))

    return lanes(lanes), build


@intrinsic
def across(typing: Any, a: Any) -> Any:
    """The sum of the eight: of neighbours, of neighbouring pairs, of both halves."""

    def build(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        parts = [builder.extract_element(args[0], ir.Constant(ir.IntType(32), k)) for k in range(LANES)]
        while len(parts) > 1:
            parts = [builder.fadd(x, y) for x, y in zip(parts[::2], parts[1::2], strict=True)]
        return parts[0]

    return types.float64(lanes), build


STRIP = 4  # rows of P that belong together
BLOCK = 16  # features of one pass
INT = ir.IntType(64)


class Tile(NamedTuple):
    """`rows` of P times `width` columns, both from where they begin; row -1 stands for t and -2 for one."""

    rows: tuple[int, ...]
    col: int
    width: int


def diagonal(strips: int) -> list[Tile]:
    """The tiles of up to four strips on the diagonal, with the two borders."""
    tiles = []
    for col in range(0, strips * STRIP, LANES):
        half = col + STRIP == strips * STRIP  # the last vector is half of one
        own = tuple(range(col, col + STRIP))
        below = tuple(range(col + STRIP, strips * STRIP))
        if half:
            tiles += [Tile((*own, -1, -2), col, STRIP)]
        else:
            tiles += [Tile(own, col, STRIP), Tile((*below, -1, -2), col, LANES)]
    return tiles


def below(strips: int) -> list[Tile]:
    """The tile of up to four strips times eight columns, all left of the diagonal."""
    return [Tile(tuple(range(strips * STRIP)), 0, LANES)]


def many_registers() -> bool:
    """Whether the processor that is compiled for has AVX-512: 32 registers of eight numbers."""
    if config.CPU_NAME == "generic":
        return False
    features = config.CPU_FEATURES or llvm.get_host_cpu_features().flatten()
    return "+avx512f" in features.split(",")


def passes(tiles: list[Tile]) -> list[list[Tile]]:
    """The tiles of each loop over the observations: all, those of a vector of columns, or what short registers hold.

    With more than twenty sums at once the compiler moves them out of its 32 registers and back.
    """
    if not many_registers():
        cut = []
        for rows, col, width in tiles:
            at_once = 4 if width == LANES else 8
            cut += [[Tile(rows[k : k + at_once], col, width)] for k in range(0, len(rows), at_once)]
        return cut
    if sum(len(tile.rows) for tile in tiles) <= 20:
        return [tiles]
    return [[tile for tile in tiles if tile.col == col] for col in sorted({tile.col for tile in tiles})]


class Row(NamedTuple):
    """What a pass reads and writes, as values of LLVM."""

    start: Any
    stop: Any
    index: Any
    values: Any
    weights: Any
    F: Any
    length: Any  # of a row of F, and of out
    row: Any  # where the strips begin among the features
    col: Any  # where their columns begin
    offset: Any
    mu: Any
    fresh: Any  # whether sums begin at zero or go on from what is there
    out: Any
    sums: Any
    block: Any  # which three of sums


class Pass:
    """Writes one loop over the observations of a row that adds up some tiles."""

    def __init__(self, builder: Any, row: Row, tiles: list[Tile], scalars: bool, weighted: bool) -> None:
        self.builder, self.row, self.tiles = builder, row, tiles
        self.scalars, self.weighted = scalars, weighted

    def write(self) -> None:
        """The loop, from the sums that it begins with to their places."""
        b, row = self.builder, self.row
        begin = self._first_sums()
        before, loop, after = b.block, b.append_basic_block("observations"), b.append_basic_block("done")
        some = b.icmp_signed("<", row.start, row.stop)
        b.cbranch(some, loop, after)
        b.position_at_end(loop)
        n = b.phi(INT)
        n.add_incoming(row.start, before)
        sums = [b.phi(value.type) for value in begin]
        for phi, value in zip(sums, begin, strict=True):
            phi.add_incoming(value, before)
        added = self._add(n, sums)
        following = b.add(n, INT(1))
        n.add_incoming(following, loop)
        for phi, value in zip(sums, added, strict=True):
            phi.add_incoming(value, loop)
        b.cbranch(b.icmp_signed("<", following, row.stop), loop, after)
        b.position_at_end(after)
        totals = [b.phi(value.type) for value in begin]
        for total, first, last in zip(totals, begin, added, strict=True):
            total.add_incoming(first, before)
            total.add_incoming(last, loop)
        for total, place in zip(totals, self._places(), strict=True):
            store_vector(b, total, *place)

    def _places(self) -> list[tuple[Any, Any]]:
        """Where each sum is kept: a row of `out` for every row of a tile, then three numbers of `sums`."""
        b, row = self.builder, self.row
        found = []
        for tile in self.tiles:
            for r in tile.rows:
                # the borders lie below the last feature: t in row `length`, one in the row after
                line = b.add(row.length, INT(-1 - r)) if r < 0 else b.add(row.row, INT(r))
                found.append((row.out, b.add(b.mul(line, row.length), b.add(row.col, INT(tile.col)))))
        if self.scalars:
            found += [(row.sums, b.add(b.mul(row.block, INT(3)), INT(k))) for k in range(3)]
        return found

    def _kinds(self) -> list[Any]:
        vectors = [ir.VectorType(DOUBLE, tile.width) for tile in self.tiles for _ in tile.rows]
        return vectors + [DOUBLE] * 3 * self.scalars

    def _first_sums(self) -> list[Any]:
        b = self.builder
        begin = []
        for (base, position), kind in zip(self._places(), self._kinds(), strict=True):
            there = load_vector(b, base, position, kind)
            begin.append(b.select(self.row.fresh, ir.Constant(kind, None), there))
        return begin

    def _add(self, n: Any, sums: list[Any]) -> list[Any]:
        """The sums with observation n."""
        b, row = self.builder, self.row
        j = b.sext(b.load(b.gep(row.index, [n])), INT)
        line = b.mul(j, row.length)
        t = b.fsub(b.fsub(self._number(row.values, n), row.mu), self._number(row.offset, j))
        w = self._number(row.weights, n) if self.weighted else None
        vectors = self._vectors(b.add(line, row.col), w)
        features = b.add(line, row.row)
        added: list[Any] = []
        for tile in self.tiles:
            v = vectors[tile.col, tile.width]
            for r in tile.rows:
                s = sums[len(added)]
                if r == -2:
                    added.append(b.fadd(s, v))
                    continue
                x = t if r == -1 else self._number(row.F, b.add(features, INT(r)))
                added.append(fused(b, broadcast(b, x, tile.width), v, s))
        if self.scalars:
            added += self._add_scalars(t, w, sums[-3:])
        return added

    def _add_scalars(self, t: Any, w: Any, sums: list[Any]) -> list[Any]:
        """sum w, sum w t and sum w t^2."""
        b = self.builder
        if w is None:
            return [b.fadd(sums[0], DOUBLE(1.0)), b.fadd(sums[1], t), fused(b, t, t, sums[2])]
        return [b.fadd(sums[0], w), fused(b, w, t, sums[1]), fused(b, b.fmul(w, t), t, sums[2])]

    def _vectors(self, line: Any, w: Any) -> dict[tuple[int, int], Any]:
        """The vectors of the columns, times the weight; the half of one that is there is not loaded again."""
        b = self.builder
        found: dict[tuple[int, int], Any] = {}
        for tile in sorted(self.tiles, key=lambda tile: -tile.width):
            key = tile.col, tile.width
            if (tile.col, LANES) in found and tile.width == STRIP:
                whole = found[tile.col, LANES]
                low = ir.Constant(ir.VectorType(ir.IntType(32), STRIP), list(range(STRIP)))
                found[key] = b.shuffle_vector(whole, ir.Constant(whole.type, ir.Undefined), low)
            elif key not in found:
                v = load_vector(b, self.row.F, b.add(line, INT(tile.col)), ir.VectorType(DOUBLE, tile.width))
                found[key] = v if w is None else b.fmul(v, broadcast(b, w, tile.width))
        return found

    def _number(self, base: Any, position: Any) -> Any:
        return load_vector(self.builder, base, position, DOUBLE)


def adder(tiles: list[Tile], scalars: bool) -> Any:
    """A function for compiled code that adds one row's observations from start to stop to its tiles.

    Whether they have weights is a matter of type: no weights are an empty array of truths.
    """

    @intrinsic
    def add_up(
        typing: Any, start: Any, stop: Any, index: Any, values: Any, weights: Any, F: Any, length: Any,
        row: Any, col: Any, offset: Any, mu: Any, fresh: Any, out: Any, sums: Any, block: Any,
    ) -> Any:  # fmt: skip
        weighted = weights.dtype == types.float64

        def build(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            plain = [
                data_of(context, builder, kind, value) if isinstance(kind, types.Array) else value
                for kind, value in zip(signature.args, args, strict=True)
            ]
            for k, part in enumerate(passes(tiles) or [[]]):
                Pass(builder, Row(*plain), part, scalars and k == 0, weighted).write()
            return context.get_dummy_value()

        i, x = types.intp, types.float64
        given = (i, i, index, values, weights, F, i, i, i, offset, x, types.boolean, out, sums, i)
        return types.void(*given), build

    return add_up
