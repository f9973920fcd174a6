"""Emission of Triton code for scalar regions: one Python line per operation."""

from collections.abc import Iterable, Mapping, Sequence

from xdsl.dialects import arith
from xdsl.ir import Operation, SSAValue

from tlf.dialects import mem
from tlf.dialects.interfaces import Array
from tlf.dialects.interpreters.scalar_functions import evaluate_scalar_operation
from tlf.lowering.mem_to_triton import scalar_expressions
from tlf.lowering.mem_to_triton.element_types import (
    element_type_of,
    shape_of,
    triton_type_name,
)
from tlf.lowering.mem_to_triton.packed_arithmetic import broadcast_shape
from tlf.lowering.mem_to_triton.python_source import PythonSource
from tlf.lowering.mem_to_triton.scalar_expressions import ScalarTile
from tlf.lowering.mem_to_triton.tile_broadcasting import (
    align_tile_to_domain,
    broadcast_tile_to_domain,
    domain_dims_of,
)


def align_inputs_to_domain(
    source: PythonSource, op: mem.StructuredOp, names: Mapping[SSAValue, str]
) -> list[ScalarTile]:
    """Return the inputs of structured compute, aligned to the iteration domain."""
    result: list[ScalarTile] = []
    for value, indexing in zip(op.input_operands, op.input_maps, strict=True):
        dims = domain_dims_of(indexing, op.domain_extents)
        text, shape = align_tile_to_domain(
            source, names[value], shape_of(value), dims, op.domain_extents
        )
        result.append(ScalarTile(text, element_type_of(value), shape))
    return result


def write_scalar_operations(
    source: PythonSource,
    ops: Iterable[Operation],
    tiles_by_value: dict[SSAValue, ScalarTile],
) -> None:
    """
    Write one line per scalar operation. Operations with only constant operands are
    folded.
    """
    constants: dict[SSAValue, Array] = {}
    for op in ops:
        result = op.results[0]
        if all(value in constants for value in op.operands):
            constants[result] = evaluate_scalar_operation(
                op, [constants[value] for value in op.operands]
            )
            tiles_by_value[result] = _literal_of_folded_result(op, constants[result])
            continue
        operands = [tiles_by_value[value] for value in op.operands]
        name = source.assign_variable(
            "v", scalar_expressions.scalar_expression(op, operands)
        )
        shape = broadcast_shape([operand.shape for operand in operands])
        tiles_by_value[result] = ScalarTile(name, result.type, shape)


def _literal_of_folded_result(op: Operation, value: Array) -> ScalarTile:
    """Return a folded `value` as a literal of the element type of `op`."""
    if isinstance(op, arith.ConstantOp):
        return scalar_expressions.constant_literal(op)
    number = int(value) if value.dtype.kind in "bi" else float(value)
    return scalar_expressions.scalar_literal(number, op.results[0].type)


def broadcast_scalar_to_domain(scalar: ScalarTile, domain: Sequence[int]) -> str:
    """Return the text of `scalar` broadcast to a tile with the full shape `domain`."""
    if scalar.is_literal:
        dtype = triton_type_name(scalar.element_type)
        return f"tl.full({list(domain)}, {scalar.text}, {dtype})"
    return broadcast_tile_to_domain(scalar.text, scalar.shape, domain)
