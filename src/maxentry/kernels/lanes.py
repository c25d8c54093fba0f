"""Eight numbers side by side as a type of Numba's: what a vector register holds, with fused multiply-adds.

Numba's own loops round a product before it is added, and keep what they add to in memory. With these, sums stay in
registers and every multiply-add is one rounding, on every processor: where there is no such instruction, LLVM calls
the C library's `fma`, and where registers are shorter, it uses several. So the results do not depend on either.
"""

from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils, errors
from numba.extending import intrinsic, models, register_model

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
