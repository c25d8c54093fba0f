"""SIMD vectors for compiled loops, and functions of them: the normal law for eight numbers at a time.

`float64x8` is a Numba type of eight numbers side by side. Numba's own loops round a product before it is added, and
keep their sums in memory. Here sums stay in registers and every multiply-add is rounded once, on every processor:
without such an instruction LLVM calls the C library's `fma`, with shorter registers it uses several. So results depend
on neither.

`formula` makes a function of vectors from an expression of `Lanes`. Those here are of the standard normal: eight at a
time, without branches, to the last digits.
"""

import math
from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils, errors
from numba.extending import intrinsic, models, register_model

LANES = 8
DOUBLE = ir.DoubleType()
VECTOR = ir.VectorType(DOUBLE, LANES)
INT = ir.IntType(64)
INT64X8, INT32X8 = ir.VectorType(INT, LANES), ir.VectorType(ir.IntType(32), LANES)

# Of `Lanes.exp_minus` and `Lanes.log`. The polynomials interpolate, at Chebyshev's points, exp(-x) for
# |x| <= log(2)/2 and log((1 + s)/(1 - s))/s in powers of s^2 for (1 + s)/(1 - s) from sqrt(1/2) to sqrt(2).
LN2 = 0.6931471805599453
LN2_HIGH, LN2_LOW = 6.93147180369123816490e-01, 1.90821492927058770002e-10  # the sum has 75 bits
ROUNDER = 1.5 * 2.0**52
ROOT_HALF = 0x3FE6A09E667F3BCD  # the bits of sqrt(1/2)
EXP = (
    1.0, -1.0000000000000067, 0.50000000000000056, -0.16666666666554404, 0.041666666666573143, -0.0083333333856677825,
    0.0013888888932488598, -0.00019841170270440068, 2.4801504346997687e-5, -2.7640180796209851e-6,
    2.7626357241447223e-7,
)  # fmt: skip
LOG = (
    2.0, 0.66666666666667646, 0.39999999999302338, 0.2857142876064168, 0.22222197056726047, 0.18183631680229329,
    0.15312528148364191, 0.14809710360655277,
)  # fmt: skip

# Of the normal law, interpolated likewise: (1 + x) P(Z > x) exp(x^2/2) in powers of (x - 5)/(x + 5), to 3e-16 for
# x >= 0; and z / (1 - 2q) for P(Z > z) = q in powers of w = -log(4q(1 - q)) <= EDGE, to 4e-15 (Giles 2010).
MILLS = (
    0.46151582985003778, -0.091552281834011218, 0.031030368425963, 0.010002352385420083, -0.026401042966279819,
    0.02453696323875023, -0.015170415402960762, 0.0065220007266222934, -0.0016760723409777718, 7.7912068843738716e-6,
    0.00018233412838847882, -5.3605996728379926e-5, -9.8960490063988195e-6, 9.0556949073868095e-6,
    -7.0437666388963418e-8, -1.300390192741394e-6, 1.2798783282864648e-7, 1.8841037002082981e-7,
    -2.6367971673522994e-8, -2.5444050458042445e-8, 3.6618365358408603e-9, 2.2027448318370216e-9,
    -2.8847947240630099e-10,
)  # fmt: skip
QUANTILE = (
    1.2533141373154954, 0.3281168738699056, 0.016333236130951942, -0.0033023322631242346, -0.00018108128104986363,
    6.59206471754575e-5, 2.8525695368508373e-6, -1.426353341391808e-6, -5.826290746708839e-8, 3.6236088671575039e-8,
    -1.0894285556927515e-9, 1.1643007410392996e-10, -2.665225938008821e-10, 6.1607638737603697e-11,
    -2.2395081677244053e-12, -1.4228036953997295e-12, 3.3056488219691476e-13, -3.7309133160891901e-14,
    2.4753402780563103e-15, -9.305592208946462e-17, 1.5454626448752506e-18,
)  # fmt: skip
# P(Z > x)^(1/8) for 0 <= x <= END in powers of 2x/END - 1, by least squares weighted so that its eighth power is right
# to 1e-16 everywhere. It costs half of exp(-x^2/2) times Mills's ratio.
END = 8.3
TAIL = (
    0.25269181203341184, -0.5726794909546982, 0.38893188554565916, 0.09281298071393927, -0.23876312989863038,
    0.05637981945841732, 0.06726325595222776, -0.03939729260660186, -0.0064828256283258855, 0.010568433398617511,
    -0.0008677714198430382, -0.0017998379461121824, 0.0006082879389038937, 0.0004085609794452007,
    -0.00038800056863836263, -0.0007498463492371373, -0.0005973326319051165, 0.00022298511225315985,
    0.000905404682734573, 0.0008307779956433301, 0.0003636824639010501, 6.41354631577806e-05,
)  # fmt: skip
EDGE = 6.25
SMALLEST = math.exp(-EDGE)  # 4q(1 - q) at the edge
EDGE_END = math.sqrt(1.0 - SMALLEST) * sum(c * EDGE**k for k, c in enumerate(QUANTILE))  # the normal there
MOST_EXPONENT = 600.0  # products with exp(-700) may be denormal numbers, which take a hundred times as long


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
    kind = ir.VectorType(x.type, width)
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
def gather(typing: Any, array: Any, index: Any, n: Any) -> Any:
    """array[index[n]] to array[index[n + 7]], of int32 positions that are not negative."""

    def build(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        b, (base, positions, first) = builder, data_pointers(context, builder, signature.args, args)
        gathered = ir.Constant(VECTOR, ir.Undefined)
        for k in range(LANES):
            at = b.zext(emit_load(b, positions, b.add(first, INT(k)), ir.IntType(32)), INT)
            gathered = b.insert_element(
                gathered, emit_load(b, base, at, DOUBLE), ir.Constant(ir.IntType(32), k)
            )
        return gathered

    return float64x8(array, index, types.intp), build


@intrinsic
def gather_pairs(typing: Any, table: Any, index: Any, n: Any) -> Any:
    """table[k, 0] and table[k, 1] for the int32 positions k = index[n] to index[n + 7]; two vectors."""

    def build(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        b, (base, positions, first) = builder, data_pointers(context, builder, signature.args, args)
        two, parts = ir.VectorType(DOUBLE, 2), []
        for k in range(LANES):
            at = b.zext(emit_load(b, positions, b.add(first, INT(k)), ir.IntType(32)), INT)
            parts.append(emit_load(b, base, b.mul(at, INT(2)), two))
        while len(parts) > 1:  # side by side: 2, 4, 8, 16 numbers
            width = 2 * parts[0].type.count
            order = ir.Constant(ir.VectorType(ir.IntType(32), width), list(range(width)))
            parts = [b.shuffle_vector(x, y, order) for x, y in zip(parts[::2], parts[1::2], strict=True)]
        sides = [ir.Constant(INT32X8, list(range(k, 2 * LANES, 2))) for k in (0, 1)]
        nothing = ir.Constant(parts[0].type, ir.Undefined)
        pair = [b.shuffle_vector(parts[0], nothing, side) for side in sides]
        return context.make_tuple(b, signature.return_type, pair)

    return types.UniTuple(float64x8, 2)(table, index, types.intp), build


@intrinsic
def all_positive(typing: Any, a: Any) -> Any:
    """Whether all lanes are above zero."""

    def build(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        positive = builder.fcmp_ordered(">", args[0], ir.Constant(VECTOR, [0.0] * LANES))
        return builder.icmp_unsigned(
            "==", builder.bitcast(positive, ir.IntType(LANES)), ir.IntType(LANES)(255)
        )

    return types.boolean(float64x8), build


@intrinsic
def transposed_sums(typing: Any, a: Any, b: Any, c: Any, d: Any, e: Any, f: Any, g: Any, h: Any) -> Any:
    """The `horizontal_sum` of each of eight vectors, to the last bit, in one vector."""

    def emit(builder: Any, *vectors: Any) -> Any:
        parts = list(vectors)
        while len(parts) > 1:
            added = []
            for x, y in zip(parts[::2], parts[1::2], strict=True):
                sides = [ir.Constant(INT32X8, list(range(k, 2 * LANES, 2))) for k in (0, 1)]
                added.append(builder.fadd(*(builder.shuffle_vector(x, y, side) for side in sides)))
            parts = added
        return parts[0]

    return lane_by_lane(LANES, emit)


@intrinsic
def uniforms(typing: Any, key: Any, n: Any) -> Any:
    """Eight numbers of (0, 1), those at n to n + 7 of the sequence SplitMix64 that begins at `key`."""

    def build(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        b = builder

        def constant(*numbers: int) -> Any:
            return ir.Constant(INT64X8, list(numbers) * (LANES // len(numbers)))

        step = 0x9E3779B97F4A7C15
        first = emit_broadcast(b, b.add(args[0], b.mul(args[1], INT(step))), LANES)
        z = b.add(first, constant(*(k * step % 2**64 for k in range(1, LANES + 1))))
        for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB), (31, 1)):
            z = b.mul(b.xor(z, b.lshr(z, constant(shift))), constant(factor))
        # 52 bits below a one make a number of [1, 2)
        x = b.bitcast(b.or_(b.lshr(z, constant(12)), constant(0x3FF << 52)), VECTOR)
        return b.fsub(x, ir.Constant(VECTOR, [1.0 - 2.0**-53] * LANES))

    return float64x8(types.uint64, types.int64), build


class Lanes:
    """Eight numbers in a formula: operators emit the instructions that compute it, every product rounded once."""

    __slots__ = ("builder", "value")

    def __init__(self, builder: Any, value: Any) -> None:
        self.builder, self.value = builder, value

    def _lift(self, x: Any) -> Any:
        return x.value if isinstance(x, Lanes) else ir.Constant(VECTOR, [float(x)] * LANES)

    def _apply(self, emit: Any, *others: Any) -> "Lanes":
        return Lanes(self.builder, emit(self.value, *map(self._lift, others)))

    def __add__(self, x: Any) -> "Lanes":
        return self._apply(self.builder.fadd, x)

    def __sub__(self, x: Any) -> "Lanes":
        return self._apply(self.builder.fsub, x)

    def __rsub__(self, x: Any) -> "Lanes":
        return self._apply(lambda a, b: self.builder.fsub(b, a), x)

    def __mul__(self, x: Any) -> "Lanes":
        return self._apply(self.builder.fmul, x)

    def __truediv__(self, x: Any) -> "Lanes":
        return self._apply(self.builder.fdiv, x)

    def reciprocal(self) -> "Lanes":
        """1 / self."""
        return self._apply(lambda a, one: self.builder.fdiv(one, a), 1.0)

    def __abs__(self) -> "Lanes":
        return self._apply(lambda a: _emit_call(self.builder, "fabs", a))

    def fma(self, x: Any, y: Any) -> "Lanes":
        """self x + y, rounded once."""
        return self._apply(lambda a, b, c: emit_fma(self.builder, a, b, c), x, y)

    def polynomial(self, coefficients: tuple[float, ...]) -> "Lanes":
        """The sum of coefficients[k] self^k: Horner's rule for even and for odd k, side by side."""
        square, sums = self * self, []
        for part in (coefficients[::2], coefficients[1::2]):
            total = square.fma(part[-1], part[-2])
            for c in part[-3::-1]:
                total = total.fma(square, c)
            sums.append(total)
        return self.fma(sums[1], sums[0])

    def where_positive(self, x: Any, y: Any) -> "Lanes":
        """x in the lanes where self > 0, y in the others."""
        zero = ir.Constant(VECTOR, [0.0] * LANES)
        return self._apply(
            lambda a, b, c: self.builder.select(self.builder.fcmp_ordered(">", a, zero), b, c), x, y
        )

    def most(self, x: Any) -> "Lanes":
        """The smaller of self and x."""
        b = self.builder
        return self._apply(lambda a, c: b.select(b.fcmp_ordered("<", c, a), c, a), x)

    def least(self, x: Any) -> "Lanes":
        """The greater of self and x."""
        b = self.builder
        return self._apply(lambda a, c: b.select(b.fcmp_ordered(">", c, a), c, a), x)

    def exp_minus(self) -> "Lanes":
        """exp(-self) for 0 <= self <= 700, to the last digit or two."""
        b = self.builder
        shifted = self.fma(1.0 / LN2, ROUNDER)  # its last bits are the nearest whole number
        k = shifted - ROUNDER
        rest = k.fma(-LN2_LOW, k.fma(-LN2_HIGH, self))
        last = b.and_(b.bitcast(shifted.value, INT64X8), ir.Constant(INT64X8, [0xFFFF] * LANES))
        biased = b.sub(ir.Constant(INT64X8, [1023] * LANES), last)
        power = b.bitcast(b.shl(biased, ir.Constant(INT64X8, [52] * LANES)), VECTOR)
        return rest.polynomial(EXP) * Lanes(b, power)

    def log(self) -> "Lanes":
        """log(self) for normal positive numbers, to the last digit or two."""
        b = self.builder
        bits, shift = b.bitcast(self.value, INT64X8), ir.Constant(INT64X8, [52] * LANES)
        exponent = b.ashr(b.sub(bits, ir.Constant(INT64X8, [ROOT_HALF] * LANES)), shift)
        f = Lanes(b, b.bitcast(b.sub(bits, b.shl(exponent, shift)), VECTOR)) - 1.0
        s, k = f / (f + 2.0), Lanes(b, b.sitofp(exponent, VECTOR))
        return k.fma(LN2_HIGH, k.fma(LN2_LOW, s * (s * s).polynomial(LOG)))


def formula(function: Any) -> Any:
    """Make a formula of one, two or three `Lanes` a function of float64x8 for compiled code."""

    def emit(builder: Any, *vectors: Any) -> Any:
        return function(*(Lanes(builder, v) for v in vectors)).value

    def one(typing: Any, a: Any) -> Any:
        return lane_by_lane(1, emit)

    def two(typing: Any, a: Any, b: Any) -> Any:
        return lane_by_lane(2, emit)

    def three(typing: Any, a: Any, b: Any, c: Any) -> Any:
        return lane_by_lane(3, emit)

    return intrinsic((one, two, three)[function.__code__.co_argcount - 1])


@intrinsic
def fetch_and_increment(typing: Any, counter: Any) -> Any:
    """Return counter[0] and add one to it, as one atomic step; no two threads get the same number."""

    def build(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        pointer = data_pointer(context, builder, signature.args[0], args[0])
        return builder.atomic_rmw("add", pointer, INT(1), "seq_cst")

    return types.int64(counter), build


# The standard normal, and arithmetic


def _mills(x: Lanes) -> Lanes:
    """P(Z > x) exp(x^2/2) for x >= 0."""
    inverse = ((x + 5.0) * (x + 1.0)).reciprocal()  # one division for two
    return ((x - 5.0) * (x + 1.0) * inverse).polynomial(MILLS) * ((x + 5.0) * inverse)


def _half_square(x: Lanes) -> Lanes:
    return (x * x * 0.5).most(MOST_EXPONENT)


@formula
def upper_tail(a: Lanes) -> Lanes:
    """P(Z > a) to 1e-15, so all its digits up to a = 2 and fewer beyond."""
    root = abs(a).most(END).fma(2.0 / END, -1.0).polynomial(TAIL)
    square = root * root
    tail = square * square * (square * square)
    return a.where_positive(tail, 1.0 - tail)


@formula
def normal_quantile(q: Lanes) -> Lanes:
    """The z with P(Z > z) = q, where 4q(1 - q) >= SMALLEST."""
    w = 0.0 - (q * 4.0 * (1.0 - q)).log()
    return w.polynomial(QUANTILE) * (1.0 - q * 2.0)


@formula
def clamp(x: Lanes, a: Lanes, b: Lanes) -> Lanes:
    """x, not below a and not above b."""
    return x.least(a).most(b)


@formula
def positive_part(a: Lanes) -> Lanes:
    """max(a, 0)."""
    return a.where_positive(a, 0.0)


@formula
def tail_factor(a: Lanes) -> Lanes:
    """P(Z > a) exp(max(a, 0)^2 / 2)."""
    x = abs(a).most(1e9)
    mills = _mills(x)
    return a.where_positive(mills, 1.0 - _half_square(x).exp_minus() * mills)


@formula
def beyond_factor(a: Lanes, b: Lanes) -> Lanes:
    """P(Z > b) exp(max(a, 0)^2 / 2) for b >= |a|."""
    p, x = a.where_positive(a, 0.0), b.most(1e9)
    return ((x - p) * (x + p) * 0.5).most(MOST_EXPONENT).exp_minus() * _mills(x)


@formula
def add(a: Lanes, b: Lanes) -> Lanes:
    """a + b."""
    return a + b


@formula
def subtract(a: Lanes, b: Lanes) -> Lanes:
    """a - b."""
    return a - b


@formula
def logarithm(a: Lanes) -> Lanes:
    """log(a) of normal positive numbers."""
    return a.log()
