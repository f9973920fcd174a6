"""
Emission of Triton code for packed arithmetic: one instruction on two 16-bit floats.

LLVM finds such instructions where operations in f32 follow the widening of their
operands and precede rounding. It does not for multiply-adds, nor where Triton
distributes a widened row or column to the threads of a tile. A fused multiply-add
rounds once; f32 arithmetic and rounding give the same, since f32 has more than twice
the precision of 16 bits (Figueroa, "When is double rounding innocuous?", 1995).
"""

from collections.abc import Mapping, Sequence
from math import prod

from xdsl.dialects import arith, math
from xdsl.ir import Operation

from tlf.dialects.types import is_16_bit_float

_TRITON_TYPES: Mapping[str, str] = {"f16": "tl.float16", "bf16": "tl.bfloat16"}

_OPERATIONS: Mapping[type[Operation], str] = {
    arith.AddfOp: "add",
    arith.SubfOp: "sub",
    arith.MulfOp: "mul",
    math.FmaOp: "fma",
}

_FACTORS_AND_ADDENDS: Mapping[str, str] = {
    "add": "x, tl.full([], 1.0, {0}), y",
    "sub": "y, tl.full([], -1.0, {0}), x",
    "mul": "x, y, tl.full([], -32768, tl.int16).to({0}, bitcast=True)",
    "fma": "x, y, z",
}
"""Operands of the multiply-add, by operation; adding -0 keeps the sign of a product."""


def _packed_function(name: str, element: str) -> str:
    """Return the source of a function of two or three tiles of 16-bit floats."""
    type_ = _TRITON_TYPES[element]
    return f"""\
@triton.jit
def {name}_{element}x2({"x, y, z" if name == "fma" else "x, y"}):
    text: tl.constexpr = "fma.rn.{element}x2 $0, $1, $2, $3;"
    operands = [{_FACTORS_AND_ADDENDS[name].format(type_)}]
    return tl.inline_asm_elementwise(text, "=r,r,r,r", operands, {type_}, True, pack=2)
"""


PACKED_ARITHMETIC: Mapping[str, str] = {
    f"{name}_{element}x2": _packed_function(name, element)
    for name in _OPERATIONS.values()
    for element in _TRITON_TYPES
}
"""Sources of the functions of packed arithmetic, by name."""


def packed_function_of(op: Operation, shapes: Sequence[tuple[int, ...]]) -> str | None:
    """
    Return the function that computes an operation on tiles by pairs of 16-bit floats:
    a multiply-add, or arithmetic with a tile that is broadcast; `None` for others.
    `shapes` are those of the tiles; a literal has none.
    """
    name, type_ = _OPERATIONS.get(type(op)), op.results[0].type
    if name is None or not is_16_bit_float(type_):
        return None
    is_broadcast = len({shape for shape in shapes if shape}) > 1
    if not is_broadcast and not isinstance(op, math.FmaOp):
        return None
    return f"{name}_{type_}x2" if is_paired(broadcast_shape(shapes)) else None


def broadcast_shape(shapes: Sequence[tuple[int, ...]]) -> tuple[int, ...]:
    """Return the shape of tiles broadcast with each other; literals have none."""
    ranked = [shape for shape in shapes if shape]
    return tuple(max(extents) for extents in zip(*ranked, strict=True))


def is_paired(shape: Sequence[int]) -> bool:
    """Return `True` if the elements of a tile form pairs."""
    return prod(shape) % 2 == 0
