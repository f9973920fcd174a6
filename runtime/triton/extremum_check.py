"""
Check of minima and maxima in the SASS of compiled Triton kernels, and their source.

`ptxas` 12.8 and 12.9 combine two 16-bit minima or maxima that propagate NaN into one
instruction with three operands, `VHMNMX.NAN`. In some kernels it is wrong: products
behind concatenated operands of DenseNet-121 are NaN on an H200. The kernels are right
without the optimizations of the assembler, or if the instruction ignores NaN or has two
operands (`HMNMX2.NAN`).
"""

from __future__ import annotations

import re
from typing import Any

from tlf.runtime.triton.launch_plan import Kernel
from tlf.runtime.triton.ptxas_selection import disassemble

_NARROW = re.compile(r"\b(max|min)\.NaN\.b?f16")
"""PTX instruction from which the assembler may make a wrong one."""

_WRONG = re.compile(r"\bVHMNMX[\w.]*\.NAN\b")

_DEFINITION = re.compile(
    r"    return tl\.(max|min)imum\(x, y, propagate_nan=tl\.PropagateNan\.ALL\)\n"
)
"""Body of the device functions `maximum_nan` and `minimum_nan`."""

_BODY = """\
    like = (x + y).dtype
    if like == tl.float64:
        return tl.{0}imum(x, y, propagate_nan=tl.PropagateNan.ALL)
    text: tl.constexpr = "{0}.NaN.f32 $0, $1, $2;"
    wide = [tl.cast(x, tl.float32), tl.cast(y, tl.float32)]
    result = tl.inline_asm_elementwise(text, "=r,r,r", wide, tl.float32, True, pack=1)
    return result.to(like)
"""


def has_wrong_extrema(compiled: Any) -> bool:
    """
    Return `True` if a kernel compiled by Triton has a wrong minimum or maximum. Only
    kernels whose PTX has 16-bit ones that propagate NaN are disassembled.
    """
    if _NARROW.search(str(compiled.asm["ptx"])) is None:
        return False
    return _WRONG.search(disassemble(compiled.asm["cubin"])) is not None


def widen_extrema(kernel: Kernel) -> Kernel:
    """
    Return the kernel with minima and maxima that propagate NaN computed in f32, by
    inline assembly, which LLVM does not narrow to 16 bits.
    """
    return kernel.with_source(
        _DEFINITION.sub(lambda found: _BODY.format(found[1]), kernel.source)
    )
