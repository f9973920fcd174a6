"""
Legality checks of kernels in the lowering to Triton, before their source is emitted.
"""

import math
from typing import cast

from xdsl.dialects import func, memref, scf
from xdsl.dialects.builtin import IndexType, TensorType
from xdsl.ir import Attribute, Operation
from xdsl.utils.exceptions import DiagnosticException, PassFailedException

from tlf.dialects import mem
from tlf.lowering.mem_to_triton import scalar_expressions
from tlf.lowering.mem_to_triton.contraction_writer import (
    MAX_ELEMENTS,
    largest_intermediate_element_count,
)
from tlf.lowering.mem_to_triton.element_types import is_supported_by_triton, shape_of
from tlf.lowering.mem_to_triton.index_expressions import INDEX_OPERATIONS
from tlf.lowering.mem_to_triton.tile_broadcasting import domain_dims_of

_STRUCTURAL = (
    func.ReturnOp,
    memref.ReinterpretCastOp,
    memref.SubviewOp,
    mem.YieldOp,
    scf.ForOp,
    scf.ParallelOp,
    scf.ReduceOp,
    scf.YieldOp,
)

_COMPUTE = (
    mem.ArgsortOp,
    mem.ContractOp,
    mem.FillOp,
    mem.GatherOp,
    mem.Im2colOp,
    mem.LoadOp,
    mem.MapOp,
    mem.MaskOp,
    mem.ReduceOp,
    mem.ScanOp,
    mem.ScatterOp,
    mem.StoreOp,
)


def check_kernel_is_supported(kernel: func.FuncOp) -> None:
    """
    Raise `PassFailedException` for an operation of a kernel that is not supported.
    """
    for nested in kernel.body.walk():
        _check_operation_is_supported(nested)


def _check_operation_is_supported(op: Operation) -> None:
    """Raise `PassFailedException` if Triton cannot express `op` or its value types."""
    for value in (*op.operands, *op.results):
        _check_value_type(op, value.type)
    if isinstance(op.parent_op(), mem.MapOp | mem.ReduceOp | mem.ScanOp):
        if op.name not in scalar_expressions.SUPPORTED_OPERATIONS and not isinstance(
            op, mem.YieldOp
        ):
            raise PassFailedException(f"triton has no scalar operation {op.name}")
        return
    if isinstance(op, mem.StructuredOp | mem.FillOp | mem.MaskOp) and not op.results:
        raise PassFailedException(
            f"{op.name}: expected values on triton, got buffers in an inner level"
        )
    if isinstance(op, mem.StructuredOp):
        _check_structured_compute(op)
    elif isinstance(op, mem.GatherOp | mem.ScatterOp):
        _check_index_map(op)
    elif isinstance(op, INDEX_OPERATIONS):
        if not isinstance(op.results[0].type, IndexType):
            raise PassFailedException(
                f"{op.name}: expected an index outside of scalar regions, got "
                f"{op.results[0].type}"
            )
    elif not isinstance(op, _STRUCTURAL + _COMPUTE):
        raise PassFailedException(f"triton does not support {op.name}")


def _check_value_type(op: Operation, type_: Attribute) -> None:
    """
    Raise `PassFailedException` if the element type, extents or size of a tensor do not
    fit Triton tiles.
    """
    if not isinstance(type_, TensorType):
        return
    tensor = cast(TensorType[Attribute], type_)
    shape = tensor.get_shape()
    if not is_supported_by_triton(tensor.element_type):
        raise PassFailedException(
            f"{op.name}: triton has no element type {tensor.element_type}"
        )
    if odd := [extent for extent in shape if extent < 1 or extent & (extent - 1)]:
        raise PassFailedException(
            f"{op.name}: expected tiles with extents that are powers of two, got "
            f"{odd[0]} in {tensor}"
        )
    if math.prod(shape) > MAX_ELEMENTS:
        raise PassFailedException(
            f"{op.name}: expected tiles of at most {MAX_ELEMENTS} elements, got "
            f"{math.prod(shape)} in {tensor}"
        )


def _check_index_map(op: mem.GatherOp | mem.ScatterOp) -> None:
    """
    Raise `PassFailedException` if the index map of an indexed access is not supported.
    """
    try:
        domain_dims_of(op.index_map, shape_of(op.value))
    except DiagnosticException as error:
        raise PassFailedException(f"{op.name}: {error}") from error


def _check_structured_compute(op: mem.StructuredOp) -> None:
    """
    Raise `PassFailedException` if the domain, maps or intermediate tile of `op` do not
    fit Triton tiles.
    """
    if odd := [extent for extent in op.domain_extents if extent & (extent - 1)]:
        raise PassFailedException(
            f"{op.name}: expected a domain of powers of two, got {odd[0]}"
        )
    try:
        for indexing in op.maps:
            domain_dims_of(indexing, op.domain_extents)
        count = (
            largest_intermediate_element_count(op)
            if isinstance(op, mem.ContractOp)
            else 1
        )
    except DiagnosticException as error:
        raise PassFailedException(f"{op.name}: {error}") from error
    if isinstance(op, mem.ReduceOp | mem.MapOp | mem.ScanOp):
        count = math.prod(op.domain_extents)
    if count > MAX_ELEMENTS:
        raise PassFailedException(
            f"{op.name}: expected intermediate tiles of at most {MAX_ELEMENTS} "
            f"elements, got {count}"
        )
