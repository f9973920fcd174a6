"""
Structured form of tile operations in their lowering to `mem`: iteration domain,
indexing maps and body.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from xdsl.builder import Builder
from xdsl.dialects import arith
from xdsl.dialects.builtin import (
    BFloat16Type,
    Float16Type,
    Float32Type,
    IntegerType,
    MemRefType,
    i1,
)
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.ir.affine import AffineExpr, AffineMap
from xdsl.rewriter import InsertPoint
from xdsl.utils.exceptions import PassFailedException

from tlf.dialects import mem
from tlf.dialects.interfaces import (
    ContractionInterface,
    ElementwiseInterface,
    MovementInterface,
    ReductionInterface,
    ScanInterface,
    TilingInterface,
    splat_attribute_of,
    to_affine_map,
)
from tlf.dialects.types import (
    AnyTensor,
    scalar_attribute,
    scalar_value,
    tensor_type,
)
from tlf.support.affine.index_access import Accesses


@dataclass(frozen=True)
class StructuredMap:
    """An elementwise computation: its inputs, indexing maps and body."""

    inputs: tuple[SSAValue, ...]
    domain: tuple[int, ...]
    maps: tuple[AffineMap, ...]
    body: Region


def structured_map_of_elementwise(op: ElementwiseInterface) -> StructuredMap:
    """Return an elementwise operation as a map; splat constants are in the body."""
    rank = len(op.iteration_domain())
    body = Block()
    builder = Builder(InsertPoint.at_end(body))
    inputs: list[SSAValue] = []
    maps: list[AffineMap] = []
    elements: list[SSAValue] = []
    for operand, accesses in zip(op.operands, op.indexing_maps(), strict=True):
        element = tensor_type(operand).element_type
        if (
            constant := splat_attribute_of(operand)
        ) is not None and accesses is not None:
            scalar = scalar_value(constant)
            elements.append(
                _build_scalar_constant(builder, scalar, tensor_type(operand))
            )
            continue
        inputs.append(operand)
        maps.append(to_affine_map(accesses or (), rank).data)
        elements.append(body.insert_arg(element, len(body.args)))
    builder.insert(mem.YieldOp([op.build_scalar_computation(builder, *elements)]))
    maps.append(AffineMap.identity(rank))
    domain = tensor_type(op.results[0]).get_shape()
    return StructuredMap(tuple(inputs), domain, tuple(maps), Region(body))


def _build_scalar_constant(
    builder: Builder, constant: float, model: AnyTensor
) -> SSAValue:
    attribute = scalar_attribute(constant, model.element_type)
    return builder.insert(arith.ConstantOp(attribute)).result


def structured_map_of_movement(op: MovementInterface) -> StructuredMap:
    """Return a movement as a map from result elements to operand elements."""
    shape = tensor_type(op.results[0]).get_shape()
    source = op.indexing_maps()[0] or ()
    axis_of = _operand_axes_by_iterator(op, op.result_indexing_maps()[0])
    expressions: list[AffineExpr] = []
    for access in source:
        axes = [axis_of.get(iterator) for iterator, _ in access.terms]
        plain = access.width == 1 and access.offset == 0 and len(axes) < 2
        if not plain or None in axes or any(factor != 1 for _, factor in access.terms):
            raise PassFailedException(
                f"{op.name}: cannot move elements of {op.operands[0].type} to "
                f"{op.results[0].type} without a contiguous buffer"
            )
        used_axes = [axis for axis in axes if axis is not None]
        expressions.append(
            AffineExpr.dimension(used_axes[0]) if used_axes else AffineExpr.constant(0)
        )
    maps = (
        AffineMap(len(shape), 0, tuple(expressions)),
        AffineMap.identity(len(shape)),
    )
    return StructuredMap(
        (op.operands[0],),
        shape,
        maps,
        build_copy_body(tensor_type(op.operands[0]).element_type),
    )


def result_strides_in_operand_buffer(
    op: MovementInterface, buffer_strides: Sequence[int]
) -> tuple[int, ...] | None:
    """
    Return the strides, along the axes of a movement's result, in an operand buffer with
    the given strides; `None` if elements repeat along an axis.
    """
    axis_of = _operand_axes_by_iterator(op, op.result_indexing_maps()[0])
    result_strides = [0] * tensor_type(op.results[0]).get_num_dims()
    for access, stride in zip(op.indexing_maps()[0] or (), buffer_strides, strict=True):
        for iterator, factor in access.terms:
            if access.width != 1 or (axis := axis_of.get(iterator)) is None:
                return None
            result_strides[axis] += factor * stride
    shape = tensor_type(op.results[0]).get_shape()
    pairs = list(zip(result_strides, shape, strict=True))
    if any(stride == 0 and extent > 1 for stride, extent in pairs):
        return None
    return tuple(stride or 1 for stride, _ in pairs)


def offset_of_first_read_element(
    op: MovementInterface, buffer_strides: Sequence[int]
) -> int:
    """
    Return the offset of the first element that a movement reads, in an operand buffer
    with the given strides.
    """
    accesses = op.indexing_maps()[0] or ()
    return sum(
        a.offset * stride for a, stride in zip(accesses, buffer_strides, strict=True)
    )


def is_permutation_or_broadcast(op: MovementInterface) -> bool:
    """Return `True` if a movement only permutes and repeats the axes of its operand."""
    accesses = op.indexing_maps()[0] or ()
    used = [iterator for access in accesses for iterator, _ in access.terms]
    return len(set(used)) == len(used) and all(
        access.width == 1
        and access.offset == 0
        and len(access.terms) < 2
        and all(factor == 1 for _, factor in access.terms)
        for access in accesses
    )


def _operand_axes_by_iterator(
    op: TilingInterface, accesses: Accesses
) -> dict[int, int]:
    """Return the axis along which each iterator runs alone, with factor 1."""
    return {
        access.terms[0][0]: axis
        for axis, access in enumerate(accesses)
        if len(access.terms) == 1 and access.terms[0][1] == 1 and access.width == 1
    }


def build_copy_body(element: Attribute) -> Region:
    """Build a body that yields its argument."""
    body = Block(arg_types=[element])
    body.add_op(mem.YieldOp([body.args[0]]))
    return Region(body)


def build_combiner_body(op: ReductionInterface) -> Region:
    """Build a body that combines an element, promoted to the accumulator type."""
    element = tensor_type(op.operands[0]).element_type
    total = op.accumulator_type
    body = Block(arg_types=[element, total])
    builder = Builder(InsertPoint.at_end(body))
    value: SSAValue = body.args[0]
    if element != total:
        value = _promote_element(builder, op, value)
    builder.insert(
        mem.YieldOp([op.build_combination_of_scalars(builder, value, body.args[1])])
    )
    return Region(body)


def build_scan_body(op: ScanInterface) -> Region:
    """Build a body that combines an element with those before it."""
    element = tensor_type(op.operands[0]).element_type
    body = Block(arg_types=[element, element])
    builder = Builder(InsertPoint.at_end(body))
    builder.insert(mem.YieldOp([op.build_combination_of_scalars(builder, *body.args)]))
    return Region(body)


def _promote_element(
    builder: Builder, op: ReductionInterface, value: SSAValue
) -> SSAValue:
    """Build the `arith.extf` or `arith.extsi` of `value` to the accumulator type."""
    match value.type, op.accumulator_type:
        case Float16Type() | BFloat16Type(), Float32Type() as wide:
            return builder.insert(arith.ExtFOp(value, wide)).result
        case IntegerType() as element, IntegerType() as wide if element != i1:
            return builder.insert(arith.ExtSIOp(value, wide)).result
        case _:
            pass
    raise PassFailedException(
        f"{op.name}: cannot combine elements of {value.type} in {op.accumulator_type}"
    )


@dataclass(frozen=True)
class StructuredAccumulation:
    """
    A reduction or contraction: its iteration domain, indexing maps, and output shape.
    Each axis of the output shape is one dim of the domain.
    """

    domain: tuple[int, ...]
    maps: tuple[AffineMap, ...]
    output_shape: tuple[int, ...]
    build: Callable[[Sequence[SSAValue], SSAValue], Operation]


def structured_form_of_accumulation(
    op: ReductionInterface | ContractionInterface,
) -> StructuredAccumulation:
    """
    Return the domain, maps and builder of the `mem` operation of an accumulating
    operation; builds nothing yet.
    """
    domain = tuple(iterator.extent for iterator in op.iteration_domain())
    rank = len(domain)
    inputs = op.indexing_maps()[: len(op.inputs)]
    for access in (access for each in inputs for access in each or ()):
        if access.width != 1:
            raise PassFailedException(
                f"{op.name}: expected every iteration to read one element"
            )
    maps = [to_affine_map(accesses or (), rank).data for accesses in inputs]
    output, shape = _split_output_axes_by_iterator(op, domain)
    maps.append(AffineMap(rank, 0, output))

    def build(operands: Sequence[SSAValue], total: SSAValue) -> Operation:
        if isinstance(op, ContractionInterface):
            lhs, rhs = operands
            return mem.ContractOp(lhs, rhs, total, domain, maps, op.precision)
        types = [] if isinstance(total.type, MemRefType) else [total.type]
        body = build_combiner_body(op)
        return mem.ReduceOp(operands, [total], domain, maps, body, types)

    return StructuredAccumulation(domain, tuple(maps), shape, build)


def _split_output_axes_by_iterator(
    op: TilingInterface, domain: Sequence[int]
) -> tuple[tuple[AffineExpr, ...], tuple[int, ...]]:
    """Split output axes indexed by several iterators into one axis per iterator."""
    accesses = op.result_indexing_maps()[0]
    shape = tensor_type(op.results[0]).get_shape()
    expressions: list[AffineExpr] = []
    extents: list[int] = []
    for access, extent in zip(accesses, shape, strict=True):
        terms = sorted(access.terms, key=lambda term: -term[1])
        if not terms:
            expressions.append(AffineExpr.constant(0))
            extents.append(extent)
        for iterator, _ in terms:
            expressions.append(AffineExpr.dimension(iterator))
            extents.append(domain[iterator])
    return tuple(expressions), tuple(extents)
