"""
Emission of Triton code for device functions that kernels call: faster or more exact
than libdevice.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from xdsl.dialects import arith, math
from xdsl.dialects.builtin import BFloat16Type, Float16Type, f32
from xdsl.ir import Attribute, Operation

from tlf.analysis.work.vector_step_costs import is_approximate_function
from tlf.dialects import mem
from tlf.dialects.types import is_16_bit_float
from tlf.lowering.mem_to_triton.element_types import bit_width
from tlf.lowering.mem_to_triton.packed_arithmetic import (
    PACKED_ARITHMETIC,
    broadcast_shape,
    is_paired,
    packed_function_of,
)
from tlf.lowering.mem_to_triton.row_sorts import ROW_SORTS
from tlf.lowering.mem_to_triton.sine_and_cosine import SINE_AND_COSINE

DEVICE_FUNCTIONS: Mapping[str, str] = {
    **SINE_AND_COSINE,
    **ROW_SORTS,
    **PACKED_ARITHMETIC,
    "tanh_f32": """\
@triton.jit
def tanh_f32(x):
    size = tl.abs(x)
    text: tl.constexpr = "rcp.approx.ftz.f32 $0, $1;"
    sums = [tl.exp2(size * 2.8853900817779268) + 1.0]
    inverse = tl.inline_asm_elementwise(text, "=r,r", sums, tl.float32, True, pack=1)
    far = 1.0 - 2.0 * inverse
    square = x * x
    series = square * -0.005138660781085491 + 0.020091969519853592
    series = square * series - 0.05355885997414589
    series = square * series + 0.1332911103963852
    series = square * series - 0.3333319127559662
    near = x * (square * series + 1.0)
    return tl.where(size < 0.7, near, libdevice.copysign(far, x))
""",
    "tanh_approx": """\
@triton.jit
def tanh_approx(x):
    text: tl.constexpr = "tanh.approx.f32 $0, $1;"
    wide = x.to(tl.float32)
    y = tl.inline_asm_elementwise(text, "=r,r", [wide], tl.float32, True, pack=1)
    return y.to(x.dtype)
""",
    "tanh_approx_x2": """\
@triton.jit
def tanh_approx_x2(x):
    text: tl.constexpr = \"\"\"{
        .reg .b32 a, b;
        shl.b32 a, $1, 16;
        and.b32 b, $1, 0xffff0000;
        tanh.approx.f32 a, a;
        tanh.approx.f32 b, b;
        cvt.rn.bf16x2.f32 $0, b, a;
    }\"\"\"
    return tl.inline_asm_elementwise(text, "=r,r", [x], tl.bfloat16, True, pack=2)
""",
    "expm1_f32": """\
@triton.jit
def expm1_f32(x):
    far = tl.exp2(x * 1.4426950408889634) - 1.0
    series = x * 0.0001984981004674971 + 0.0013996176364975972
    series = x * series + 0.008333579033572748
    series = x * series + 0.0416653585967809
    series = x * series + 0.16666663985562025
    series = x * series + 0.5000000385317035
    return tl.where(tl.abs(x) < 0.5, x * (x * series + 1.0), far)
""",
    "expm1_approx": """\
@triton.jit
def expm1_approx(x):
    wide = x.to(tl.float32)
    far = tl.exp2(wide * 1.4426950408889634) - 1.0
    near = wide * (wide * 0.5 + 1.0)
    return tl.where(tl.abs(wide) < 0.015625, near, far).to(x.dtype)
""",
    "erf_f32": """\
@triton.jit
def erf_f32(x):
    wide = x.to(tl.float32)
    size = tl.abs(wide)
    far = tl.fma(size, -0.001743681845255196, 0.021989991888403893)
    far = tl.fma(size, far, -0.1299571394920349)
    far = tl.fma(size, far, -0.9410569667816162)
    far = tl.fma(size, far, -1.614480972290039)
    far = 1.0 - tl.exp2(tl.fma(size, far, -0.003167819930240512))
    square = wide * wide
    series = tl.fma(square, -0.0005862060934305191, 0.004967501852661371)
    series = tl.fma(square, series, -0.026748860254883766)
    series = tl.fma(square, series, 0.11281320452690125)
    series = tl.fma(square, series, -0.37612447142601013)
    series = tl.fma(square, series, 0.12837913632392883)
    near = tl.fma(series, wide, wide)
    y = tl.where(size < 0.95, near, libdevice.copysign(far, wide))
    return y.to(x.dtype)
""",
    "fmod_wide": """\
@triton.jit
def fmod_wide(x, y):
    first, second = x.to(tl.float32), y.to(tl.float32)
    rest = libdevice.fmod(first.to(tl.float64), second.to(tl.float64))
    return rest.to(tl.float32).to(x.dtype)
""",
    **{
        f"{name}_{suffix}": f"""\
@triton.jit
def {name}_{suffix}(x, y):
    like = (x + y).dtype
    if like == tl.float64:
        return tl.{name}(x, y, propagate_nan=tl.PropagateNan.{option})
    text: tl.constexpr = "{instruction}.f32 $0, $1, $2;"
    wide = [tl.cast(x, tl.float32), tl.cast(y, tl.float32)]
    result = tl.inline_asm_elementwise(text, "=r,r,r", wide, tl.float32, True, pack=1)
    return result.to(like)
"""
        for name, suffix, option, instruction in (
            ("maximum", "nan", "ALL", "max.NaN"),
            ("minimum", "nan", "ALL", "min.NaN"),
            ("maximum", "num", "NONE", "max"),
            ("minimum", "num", "NONE", "min"),
        )
    },
    **{
        f"atomic_{name}_f32": f"""\
@triton.jit
def atomic_{name}_f32(pointer, value, mask):
    bits = tl.where(value == value, value.to(tl.int32, bitcast=True), {nan_bits})
    signed = pointer.to(tl.pointer_type(tl.int32), bitcast=True)
    tl.atomic_{name}(signed, bits, mask=mask & (bits >= 0), sem="relaxed")
    negative = mask & (bits < 0)
    bits = bits.to(tl.uint32, bitcast=True)
    unsigned = pointer.to(tl.pointer_type(tl.uint32), bitcast=True)
    tl.atomic_{opposite}(unsigned, bits, mask=negative, sem="relaxed")
"""
        for name, opposite, nan_bits in (
            ("max", "min", 0x7FC00000),
            ("min", "max", 0xFFC00000 - 2**32),
        )
    },
    "awaited": """\
@triton.jit
def awaited(x):
    text: tl.constexpr = "mov.b32 $0, $1;"
    return tl.inline_asm_elementwise(text, "=r,r", [x], x.dtype, True, pack=1)
""",
    **{
        f"to_{short}x2": f"""\
@triton.jit
def to_{short}x2(x):
    text: tl.constexpr = "cvt.rn.{short}x2.f32 $0, $2, $1;"
    return tl.inline_asm_elementwise(text, "=r,r,r", [x], {name}, True, pack=2)
"""
        for short, name in (("f16", "tl.float16"), ("bf16", "tl.bfloat16"))
    },
}
"""
Sources of device functions by name.

- `tanh_approx`: `tanh.approx.f32` has a relative error of at most 2^-11 (PTX ISA,
  `tanh`). The result rounds to the nearest bf16, and to the nearest f16 or an adjacent
  one.
- `..._x2`, `to_...x2`: packed pairs of 16-bit values. One instruction rounds two
  values; LLVM often emits one instruction per value.
- `tanh_f32`: branch-free, unlike libdevice, so that a thread computes several values in
  parallel. Near 0 it is a polynomial of minimal relative error, fitted to
  `(tanh(x) / x - 1) / x**2`, with an error below 2 ulp; elsewhere an exponential.
- `expm1_f32`: likewise, with a polynomial fitted to `(expm1(x) / x - 1) / x`. The error
  is below 3 ulp from -1 to 1; beyond, it is that of the exponential.
- `expm1_approx`: for 16 bits, with two terms of the series.
- `erf_f32`: branch-free, without libdevice's selection of coefficients. Near 0 it is a
  polynomial fitted to `erf(x) / x`; elsewhere an exponential of one fitted to
  `log2(1 - erf(x))`. The error is below 1.5 ulp.
- `fmod_wide`: `fmod` in f64, because `fmod` in f32 flushes denormals to 0. The result
  is exact in the narrower type.
- `maximum_nan`, `minimum_nan`: NaN where an operand is NaN. `maximum_num`,
  `minimum_num`: the other operand where one is NaN. All are computed in f32, by inline
  assembly that LLVM does not narrow: `ptxas` 12.8 and 12.9 lose the sign of a negative
  constant that is packed with another operand of a 16-bit extremum.
- `awaited`: identity of a product that waits for its matrix instructions.
"""


def device_function_of(op: Operation, shapes: Sequence[tuple[int, ...]]) -> str | None:
    """
    Return the device function of a scalar operation on tiles of some shapes, or `None`.
    """
    if (packed := packed_function_of(op, shapes)) is not None:
        return packed
    type_, shape = op.results[0].type, broadcast_shape(shapes)
    match op:
        case math.TanhOp() if is_approximate_function(op):
            pairs = is_paired(shape) and isinstance(type_, BFloat16Type)
            return "tanh_approx_x2" if pairs else "tanh_approx"
        case math.TanhOp() if type_ == f32:
            return "tanh_f32"
        case math.ExpM1Op() if is_approximate_function(op):
            return "expm1_approx"
        case math.ExpM1Op() if type_ == f32:
            return "expm1_f32"
        case math.SinOp() | math.CosOp() if shape and bit_width(type_) < 64:
            return f"{op.name.removeprefix('math.')}_{_sine_suffix(op)}"
        case math.ErfOp() if bit_width(type_) < 64:
            return "erf_f32"
        case mem.RemFOp() if type_ == f32 or isinstance(type_, BFloat16Type):
            return "fmod_wide"
        case arith.TruncFOp() if op.input.type == f32 and (
            rounding := rounding_function_to(type_, shape)
        ):
            return rounding
        case _:
            return None


def rounding_function_to(type_: Attribute, shape: Sequence[int]) -> str | None:
    """
    Return the function that rounds a tile of f32 to pairs of 16-bit floats, or `None`.
    """
    is_rounded = is_16_bit_float(type_) and is_paired(shape)
    return f"to_{type_}x2" if is_rounded else None


def _sine_suffix(op: math.SinOp | math.CosOp) -> str:
    """Return the suffix of the function for a sine or cosine of at most 32 bits."""
    if isinstance(op.result.type, Float16Type):
        return "f16"
    return "short" if is_approximate_function(op) else "f32"


def device_function_sources_in(kernel_text: str) -> list[str]:
    """Return the sources of the device functions that a kernel calls."""
    return [
        source
        for name, source in DEVICE_FUNCTIONS.items()
        if re.search(rf"\b{name}\b", kernel_text)
    ]
