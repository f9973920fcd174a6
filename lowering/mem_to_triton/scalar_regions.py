"""Emission of Triton code for scalar regions: one Python line per operation."""

from collections.abc import Iterable, Mapping, Sequence

from xdsl.dialects import arith
from xdsl.ir import Operation, SSAValue

from tlf.dialects import mem
from tlf.dialects.interfaces import Array
from tlf.dialects.interpreters.scalar_functions import apply_scalar
from tlf.lowering.mem_to_triton import scalar_expressions
from tlf.lowering.mem_to_triton.element_types import (
    element_type_of,
    shape_of,
    triton_type_name,
)
from tlf.lowering.mem_to_triton.python_source import PythonSource
from tlf.lowering.mem_to_triton.scalar_expressions import ScalarTile
from tlf.lowering.mem_to_triton.tile_broadcasting import (
    align_to_domain,
    broadcast_tile,
    domain_dims_of,
)


def align_inputs(
    source: PythonSource, op: mem.StructuredOp, names: Mapping[SSAValue, str]
) -> list[ScalarTile]:
    """Return the inputs of structured compute, aligned to the iteration domain."""
    result: list[ScalarTile] = []
    for value, indexing in zip(op.input_operands, op.input_maps, strict=True):
        dims = domain_dims_of(indexing, op.extents)
        text, shape = align_to_domain(
            source, names[value], shape_of(value), dims, op.extents
        )
        result.append(ScalarTile(text, element_type_of(value), shape))
    return result


def write_scalar_operations(
    source: PythonSource, ops: Iterable[Operation], known: dict[SSAValue, ScalarTile]
) -> None:
    """
    Write one line per scalar operation. Operations with only constant operands are
    folded.
    """
    constants: dict[SSAValue, Array] = {}
    for op in ops:
        result = op.results[0]
        if all(value in constants for value in op.operands):
            constants[result] = apply_scalar(
                op, [constants[value] for value in op.operands]
            )
            known[result] = _to_literal(op, constants[result])
            continue
        operands = [known[value] for value in op.operands]
        name = source.assign("v", scalar_expressions.scalar_expression(op, operands))
        shape = _broadcast_shape([operand.shape for operand in operands])
        known[result] = ScalarTile(name, result.type, shape)


def _to_literal(op: Operation, value: Array) -> ScalarTile:
    if isinstance(op, arith.ConstantOp):
        return scalar_expressions.constant_literal(op)
    number = int(value) if value.dtype.kind in "bi" else float(value)
    return scalar_expressions.scalar_literal(number, op.results[0].type)


def broadcast_scalar(scalar: ScalarTile, domain: Sequence[int]) -> str:
    """Return `scalar` broadcast to the full shape of the domain."""
    if scalar.is_literal:
        dtype = triton_type_name(scalar.element_type)
        return f"tl.full({list(domain)}, {scalar.text}, {dtype})"
    return broadcast_tile(scalar.text, scalar.shape, domain)


def _broadcast_shape(shapes: Sequence[tuple[int, ...]]) -> tuple[int, ...]:
    ranked = [shape for shape in shapes if shape]
    return tuple(max(extents) for extents in zip(*ranked, strict=True))
