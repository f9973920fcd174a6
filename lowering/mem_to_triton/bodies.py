"""
Scalar regions as lines of Python, one per operation.
"""

from collections.abc import Iterable, Mapping, Sequence

from xdsl.dialects import arith
from xdsl.ir import Operation, SSAValue

from tlf.dialects import mem
from tlf.dialects.interfaces import Array
from tlf.dialects.interpreters.scalars import apply
from tlf.lowering.mem_to_triton import scalars
from tlf.lowering.mem_to_triton.alignment import aligned, broadcast, dimensions
from tlf.lowering.mem_to_triton.scalars import Scalar
from tlf.lowering.mem_to_triton.source import Source
from tlf.lowering.mem_to_triton.types import element_of, shape_of, triton_name


def inputs(
    source: Source, op: mem.StructuredOp, names: Mapping[SSAValue, str]
) -> list[Scalar]:
    """
    The inputs of structured compute, each aligned to the iteration domain.
    """
    result: list[Scalar] = []
    for value, indexing in zip(op.input_operands, op.input_maps, strict=True):
        dims = dimensions(indexing, op.extents)
        text, shape = aligned(source, names[value], shape_of(value), dims, op.extents)
        result.append(Scalar(text, element_of(value), shape))
    return result


def evaluate(
    source: Source, ops: Iterable[Operation], known: dict[SSAValue, Scalar]
) -> None:
    """
    Write one line for each scalar operation, and add its result to `known`. What
    depends on constants alone is computed now.
    """
    numbers: dict[SSAValue, Array] = {}
    for op in ops:
        result = op.results[0]
        if all(value in numbers for value in op.operands):
            numbers[result] = apply(op, [numbers[value] for value in op.operands])
            known[result] = _literal(op, numbers[result])
            continue
        operands = [known[value] for value in op.operands]
        name = source.assign("v", scalars.expression(op, operands))
        shape = _broadcast_shape([operand.shape for operand in operands])
        known[result] = Scalar(name, result.type, shape)


def _literal(op: Operation, value: Array) -> Scalar:
    if isinstance(op, arith.ConstantOp):
        return scalars.constant(op)
    known = int(value) if value.dtype.kind in "bi" else float(value)
    return scalars.number(known, op.results[0].type)


def full(scalar: Scalar, domain: Sequence[int]) -> str:
    """
    The tile of `scalar` in the whole shape of the domain.
    """
    if scalar.is_literal:
        dtype = triton_name(scalar.element_type)
        return f"tl.full({list(domain)}, {scalar.text}, {dtype})"
    return broadcast(scalar.text, scalar.shape, domain)


def _broadcast_shape(shapes: Sequence[tuple[int, ...]]) -> tuple[int, ...]:
    ranked = [shape for shape in shapes if shape]
    return tuple(max(extents) for extents in zip(*ranked, strict=True))
