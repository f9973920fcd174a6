"""
Rewrite rules of the `graph` dialect: simplify operations by the laws of
`algebraic_laws`.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import TypeVar

from xdsl.builder import Builder
from xdsl.ir import Operation, SSAValue

from tlf.dialects.graph.algebraic_laws import (
    COMPOSITIONS,
    CONSTANT_OPERAND_LAWS,
    INVERSES,
    SAME_OPERAND_LAWS,
    CompositionResult,
    ConstantOperandLaw,
    LawOperandResult,
    OperationType,
    SameOperandLaw,
)
from tlf.dialects.graph.remark_equations import format_number, format_operation_term
from tlf.dialects.graph.splat_tensors import (
    build_splat_tensor,
    is_equal_known_scalar,
    splat_scalar_of,
)
from tlf.dialects.graph.tensor_types import element_type_of_value
from tlf.dialects.graph.unary_functions import NegOp
from tlf.dialects.interfaces import Simplification
from tlf.dialects.types import tensor_type

AnyLaw = TypeVar("AnyLaw", ConstantOperandLaw, SameOperandLaw)


def _group_laws_by_operation(
    laws: Sequence[AnyLaw],
) -> Mapping[OperationType, Sequence[AnyLaw]]:
    """
    Return the laws keyed by the operation type that they apply to, in their order.
    """
    groups: dict[OperationType, list[AnyLaw]] = defaultdict(list)
    for law in laws:
        groups[law.operation_type].append(law)
    return groups


_LAWS, _SAME = (
    _group_laws_by_operation(CONSTANT_OPERAND_LAWS),
    _group_laws_by_operation(SAME_OPERAND_LAWS),
)


def reuse_value(value: SSAValue, _builder: Builder) -> SSAValue:
    """Return an existing value; build nothing."""
    return value


def rebuild_with_operands(
    op: Operation, operands: Sequence[SSAValue], builder: Builder
) -> SSAValue:
    """
    Build a copy of an operation on other operands, with the same result types, and
    return its first result.
    """
    new_op = type(op).create(
        operands=operands,
        result_types=op.result_types,
        properties=dict(op.properties),
        attributes=dict(op.attributes),
    )
    return builder.insert(new_op).results[0]


def _build_negation(value: SSAValue, builder: Builder) -> SSAValue:
    return builder.insert(NegOp(value)).result


def _simplify_by_law(
    law: ConstantOperandLaw | SameOperandLaw, op: Operation, free_operand: SSAValue
) -> Simplification | None:
    """
    Return the simplification of an operation by a law; `None` if it does not apply.
    `free_operand` is the operand that the law does not fix.
    """
    result = tensor_type(op.results[0])
    if not isinstance(law.result, LawOperandResult):
        if (number := law.result(result.element_type)) is None:
            return None
        return Simplification(
            format_number(number),
            partial(build_splat_tensor, number=number, type_=result),
            law.is_exact,
        )
    if free_operand.type != result:
        return None
    if law.result is LawOperandResult.OTHER:
        return Simplification("x", partial(reuse_value, free_operand), law.is_exact)
    return Simplification(
        format_operation_term(NegOp, "x"),
        partial(_build_negation, free_operand),
        law.is_exact,
    )


def _add_equation_left_side(
    left_side: str, simplification: Simplification
) -> Simplification:
    """Return `simplification` with its equation prefixed by `left_side` and ` = `."""
    return Simplification(
        f"{left_side} = {simplification.equation}",
        simplification.build,
        simplification.is_exact,
    )


def apply_constant_operand_laws(op: Operation) -> Iterable[Simplification]:
    """
    Yield the simplifications of `op` by laws with a constant operand; change no IR.
    """
    splats = [splat_scalar_of(each) for each in op.operands]
    if not any(each is not None for each in splats):
        return
    for law in _LAWS.get(type(op), ()):
        number = law.constant(element_type_of_value(op.operands[0]))
        if number is None or not is_equal_known_scalar(
            splats[law.constant_operand_index], number
        ):
            continue
        names = ["x", "x"]
        names[law.constant_operand_index] = format_number(number)
        if (
            simplification := _simplify_by_law(
                law, op, op.operands[1 - law.constant_operand_index]
            )
        ) is not None:
            yield _add_equation_left_side(
                format_operation_term(type(op), *names), simplification
            )


def apply_same_operand_laws(op: Operation) -> Iterable[Simplification]:
    """Yield the simplifications of `op` by laws of `x op x`; change no IR."""
    if len(op.operands) != 2 or op.operands[0] is not op.operands[1]:
        return
    for law in _SAME.get(type(op), ()):
        if (simplification := _simplify_by_law(law, op, op.operands[0])) is not None:
            yield _add_equation_left_side(
                format_operation_term(type(op), "x", "x"), simplification
            )


def fold_unary_composition(op: Operation) -> Iterable[Simplification]:
    """
    Yield the simplifications of a unary operation on the result of another; change no
    IR.
    """
    inner = op.operands[0].owner
    if not isinstance(inner, Operation) or len(inner.operands) != 1:
        return
    kind, inner_kind = type(op), type(inner)
    (x,) = inner.operands
    left = format_operation_term(kind, format_operation_term(inner_kind, "x"))
    if INVERSES.get(kind) is inner_kind:
        yield Simplification(f"{left} = x", partial(reuse_value, x), is_exact=False)
    match COMPOSITIONS.get((kind, inner_kind)):
        case CompositionResult.ARGUMENT:
            yield Simplification(f"{left} = x", partial(reuse_value, x))
        case CompositionResult.INNER:
            text = f"{left} = {format_operation_term(inner_kind, 'x')}"
            yield Simplification(text, partial(reuse_value, inner.results[0]))
        case CompositionResult.OUTER:
            build = partial(rebuild_with_operands, op, [x])
            yield Simplification(f"{left} = {format_operation_term(kind, 'x')}", build)
        case None:
            pass
