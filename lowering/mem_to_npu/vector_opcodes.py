"""
Lowering of scalar operations to vector and reduction opcodes of the NPU; supported
element types.
"""

from collections.abc import Mapping

from xdsl.dialects import arith, math
from xdsl.dialects.builtin import FloatAttr, IntegerAttr, f32, i1, i8, i32
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.utils.exceptions import PassFailedException

from tlf.dialects.mem import RemFOp
from tlf.dialects.types import is_16_bit_float

VECTOR_OPCODES: Mapping[type[Operation], str] = {
    arith.AddfOp: "add",
    arith.AddiOp: "add",
    arith.AndIOp: "and",
    arith.DivfOp: "div",
    arith.DivSIOp: "div",
    arith.MaximumfOp: "max",
    arith.MaxnumfOp: "maxnum",
    arith.MaxSIOp: "max",
    arith.MinimumfOp: "min",
    arith.MinnumfOp: "minnum",
    arith.MinSIOp: "min",
    arith.MulfOp: "mul",
    arith.MuliOp: "mul",
    arith.NegfOp: "neg",
    arith.OrIOp: "or",
    arith.RemSIOp: "rem",
    arith.ShLIOp: "shl",
    arith.ShRSIOp: "shr",
    arith.SubfOp: "sub",
    arith.SubiOp: "sub",
    arith.XOrIOp: "xor",
    RemFOp: "rem",
    math.AbsFOp: "abs",
    math.AbsIOp: "abs",
    math.AcosOp: "acos",
    math.AcoshOp: "acosh",
    math.AsinOp: "asin",
    math.AsinhOp: "asinh",
    math.Atan2Op: "atan2",
    math.AtanOp: "atan",
    math.AtanhOp: "atanh",
    math.CbrtOp: "cbrt",
    math.CeilOp: "ceil",
    math.CopySignOp: "copysign",
    math.CosOp: "cos",
    math.CoshOp: "cosh",
    math.ErfOp: "erf",
    math.Exp2Op: "exp2",
    math.ExpM1Op: "expm1",
    math.ExpOp: "exp",
    math.FloorOp: "floor",
    math.Log10Op: "log10",
    math.Log1pOp: "log1p",
    math.Log2Op: "log2",
    math.LogOp: "log",
    math.PowFOp: "pow",
    math.RoundEvenOp: "rint",
    math.RoundOp: "round",
    math.RsqrtOp: "rsqrt",
    math.SinOp: "sin",
    math.SinhOp: "sinh",
    math.SqrtOp: "sqrt",
    math.TanOp: "tan",
    math.TanhOp: "tanh",
    math.TruncOp: "trunc",
}

REDUCE_OPCODES: Mapping[type[Operation], str] = {
    arith.AddfOp: "sum",
    arith.AddiOp: "sum",
    arith.AndIOp: "min",
    arith.MaximumfOp: "max",
    arith.MaxSIOp: "max",
    arith.MinimumfOp: "min",
    arith.MinSIOp: "min",
    arith.MulfOp: "prod",
    arith.MuliOp: "prod",
    arith.OrIOp: "max",
}

FLOAT_RELATIONS = ("oeq", "ogt", "oge", "olt", "ole", "une")
INTEGER_RELATIONS = ("eq", "ne", "slt", "sle", "sgt", "sge")

CASTS = (
    arith.ExtFOp,
    arith.ExtSIOp,
    arith.ExtUIOp,
    arith.FPToSIOp,
    arith.SIToFPOp,
    arith.TruncFOp,
    arith.TruncIOp,
    arith.UIToFPOp,
)


def select_vector_opcode(op: Operation) -> tuple[str, tuple[SSAValue, ...]]:
    """Return the vector opcode of a scalar operation, and its operands in order."""
    if (name := VECTOR_OPCODES.get(type(op))) is not None:
        return name, tuple(op.operands)
    match op:
        case arith.CmpfOp() | arith.CmpiOp():
            return f"cmp.{_relation_of_comparison(op)}", tuple(op.operands)
        case arith.SelectOp():
            return "select", (op.lhs, op.rhs, op.cond)
        case _ if isinstance(op, CASTS) and _is_cast_by_copy(op):
            return "copy", tuple(op.operands)
        case _:
            raise PassFailedException(f"the npu has no vector operation for {op.name}")


def _is_cast_by_copy(op: Operation) -> bool:
    """Return `True` if a copy implements a cast; casts of `i1` depend on the sign."""
    source, result = op.operands[0].type, op.results[0].type
    if isinstance(op, arith.UIToFPOp | arith.ExtUIOp):
        return source == i1
    return i1 not in (source, result)


def _relation_of_comparison(op: arith.CmpfOp | arith.CmpiOp) -> str:
    """Return the two-letter relation of a comparison; raise if the NPU lacks it."""
    supported = FLOAT_RELATIONS if isinstance(op, arith.CmpfOp) else INTEGER_RELATIONS
    names = arith.CMPF_COMPARISON_OPERATIONS
    if isinstance(op, arith.CmpiOp):
        names = arith.CMPI_COMPARISON_OPERATIONS
    relation = names[op.predicate.value.data]
    if relation not in supported:
        raise PassFailedException(
            f"{op.name}: the npu compares by {', '.join(supported)}, got {relation}"
        )
    return relation[-2:]


def scalar_constant_of(value: SSAValue) -> float | None:
    """
    Return the number of a scalar `arith.constant`, true as 1, or `None` for other
    values.
    """
    if not isinstance(value.owner, arith.ConstantOp):
        return None
    attribute = value.owner.value
    if isinstance(attribute, FloatAttr):
        return attribute.value.data
    if isinstance(attribute, IntegerAttr):
        return abs(attribute.value.data) if value.type == i1 else attribute.value.data
    return None


def can_accumulate_in(element_type: Attribute, accumulator_type: Attribute) -> bool:
    """
    Return `True` if a reduction may read `element_type` and accumulate in
    `accumulator_type`.
    """
    if is_16_bit_float(element_type):
        return accumulator_type in (element_type, f32)
    return element_type == accumulator_type or (
        element_type == i8 and accumulator_type == i32
    )
