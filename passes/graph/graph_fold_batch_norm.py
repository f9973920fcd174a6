"""
Pass `graph-fold-batch-norm`: folds batch normalizations into the weights before them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from xdsl.context import Context
from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp, f32
from xdsl.ir import Block, Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.pattern_rewriter import PatternRewriter

from tlf.dialects import graph
from tlf.dialects.call_invariants import call_invariant_values_of
from tlf.dialects.graph.tensor_builder import TensorBuilder
from tlf.dialects.interfaces import ContractionInterface
from tlf.dialects.located_rewriting import located_rewriter_at
from tlf.dialects.module_paths import module_path_of
from tlf.dialects.target import TargetSpec
from tlf.dialects.types import is_16_bit_float, tensor_type, tensor_type_like
from tlf.passes.op_replacement import is_in_planned_group, replace_by_built_values

NAME = "graph-fold-batch-norm"

CHANNEL_AXIS = 1
"""The channel axis, which the parameters of a batch normalization run along."""


@dataclass(frozen=True)
class BatchNormFolding:
    """A contraction whose weight can absorb the scale of each channel."""

    op: ContractionInterface
    weight_index: int
    """Index of the operand that is the weight."""
    weight_channel_axis: int
    """The axis of the weight that the channels of the result run along."""
    added_values: tuple[SSAValue, ...]
    """
    Values added to the contraction, each with one element per channel or one for all.
    """


def find_batch_norm_folding(
    norm: graph.BatchNormOp, invariant: set[SSAValue]
) -> BatchNormFolding | str:
    """Return the folding of a normalization, or the reason why it cannot be folded."""
    if any(value not in invariant for value in norm.parameters.values()):
        return "its statistics or parameters are not known before a call"
    value, shifts = norm.operand, list[SSAValue]()
    while (step := _foldable_operation_before_norm(value, invariant)) is not None:
        value = step.source
        shifts += [] if step.added_value is None else [step.added_value]
    op = value.owner
    if not isinstance(op, ContractionInterface) or op.init_value is not None:
        return "its operand is not the result of a contraction"
    if not value.has_one_use():
        return "the contraction before it has other users"
    if is_in_planned_group(op):
        return "the contraction before it has a plan"
    channels = op.result_indexing_maps()[0][CHANNEL_AXIS]
    for side in op.linear_operands():
        accesses = op.indexing_maps()[side] or ()
        if op.operands[side] in invariant and channels in accesses:
            return BatchNormFolding(op, side, accesses.index(channels), tuple(shifts))
    return "the weight of the contraction before it is not known before a call"


class _OperationBeforeNorm(NamedTuple):
    """A foldable operation between a contraction and a batch normalization."""

    source: SSAValue
    added_value: SSAValue | None
    """The value that the operation adds, if any."""


def _foldable_operation_before_norm(
    value: SSAValue, invariant: set[SSAValue]
) -> _OperationBeforeNorm | None:
    """
    Return the step that computes a value, if it has one use and its operation adds an
    invariant value per channel, rounds to 16 bits, or reshapes the axes after the
    channels; else None.
    """
    if not value.has_one_use():
        return None
    match value.owner:
        case graph.AddOp() as add:
            shifts = [
                n for n in range(2) if _is_addition_per_channel(add, n, invariant)
            ]
            if not shifts:
                return None
            return _OperationBeforeNorm(
                add.operands[1 - shifts[0]], add.operands[shifts[0]]
            )
        case graph.CastOp() as cast:
            types = [tensor_type(each).element_type for each in (cast.operand, value)]
            rounds = types[0] == f32 and is_16_bit_float(types[1])
            return _OperationBeforeNorm(cast.operand, None) if rounds else None
        case graph.ReshapeOp() as reshape:
            shapes = [
                tensor_type(each).get_shape() for each in (reshape.operand, value)
            ]
            keeps = shapes[0][: CHANNEL_AXIS + 1] == shapes[1][: CHANNEL_AXIS + 1]
            return _OperationBeforeNorm(reshape.operand, None) if keeps else None
        case _:
            return None


def _is_addition_per_channel(
    add: graph.AddOp, shift_index: int, invariant: set[SSAValue]
) -> bool:
    """
    Return `True` if an operand is invariant and broadcasts along all axes but the
    channels, while the other operand has the shape of the sum.
    """
    value, other = add.operands[shift_index], add.operands[1 - shift_index]
    total = tensor_type(add.result).get_shape()
    shape = tensor_type(value).get_shape()
    first = len(total) - len(shape)
    is_whole = tensor_type(other).get_shape() == total
    return (
        is_whole
        and value in invariant
        and all(
            extent == 1 or first + axis == CHANNEL_AXIS
            for axis, extent in enumerate(shape)
        )
    )


def build_contraction_with_norm(
    norm: graph.BatchNormOp,
    folding: BatchNormFolding,
    builder: PatternRewriter,
    scales_results: bool,
) -> Sequence[SSAValue]:
    """
    Build the contraction with a scaled weight, or with a scaled result if the weight
    would be rounded and the target scales results at no cost, and add the shift.
    """
    program = TensorBuilder.for_operand(builder, norm.operand)
    parameters = {
        name: program.promote_to_builder_type(each)
        for name, each in norm.parameters.items()
    }
    scale, offset = _build_scale_and_offset(norm, folding, parameters, program)
    shape = tensor_type(norm.result).get_shape()
    weight = folding.op.operands[folding.weight_index]
    is_rounded = tensor_type(weight).element_type != program.element
    scales_result = scales_results and is_rounded
    contraction = (
        _build_contraction(folding.op, folding.op.operands, program)
        if scales_result
        else _build_contraction_with_scaled_weight(folding, scale, program)
    )
    if tensor_type(contraction).get_shape() != shape:
        contraction = program.reshape(contraction, shape)
    rank = len(shape)
    column = (tensor_type(scale).get_shape()[0], *(1,) * (rank - 2))
    if scales_result:
        contraction = program.mul(contraction, program.reshape(scale, column))
    if "bias" in parameters:
        added = program.sub(parameters["bias"], offset)
        steps = [contraction, program.reshape(added, column)]
        return [program.build_with_result_type(graph.AddOp, steps, norm.result.type)]
    steps = [contraction, program.reshape(offset, column)]
    return [program.build_with_result_type(graph.SubOp, steps, norm.result.type)]


def _build_scale_and_offset(
    norm: graph.BatchNormOp,
    folding: BatchNormFolding,
    parameters: Mapping[str, SSAValue],
    program: TensorBuilder,
) -> tuple[SSAValue, SSAValue]:
    """Build the factor of each channel, and what is subtracted from its multiples."""
    epsilon = program.constant(norm.epsilon.value.data)
    scale = program.rsqrt(program.add(parameters["variance"], epsilon))
    if "weight" in parameters:
        scale = program.mul(scale, parameters["weight"])
    offset = parameters["mean"]
    for shift in folding.added_values:
        flat = program.reshape(shift, (tensor_type(shift).element_count(),))
        offset = program.sub(offset, program.promote_to_builder_type(flat))
    return scale, program.mul(offset, scale)


def _build_contraction_with_scaled_weight(
    folding: BatchNormFolding, scale: SSAValue, program: TensorBuilder
) -> SSAValue:
    """
    Build the contraction with its weight times `scale`, in the program's element type.
    """
    op = folding.op
    weight = op.operands[folding.weight_index]
    type_ = tensor_type(weight)
    shape = [1] * type_.get_num_dims()
    shape[folding.weight_channel_axis] = tensor_type(scale).element_count()
    wide = program.promote_to_builder_type(weight)
    factors = [wide, program.reshape(scale, shape)]
    operands = list(op.operands)
    operands[folding.weight_index] = program.build_with_result_type(
        graph.MulOp, factors, type_
    )
    return _build_contraction(op, operands, program)


def _build_contraction(
    op: ContractionInterface, operands: Sequence[SSAValue], program: TensorBuilder
) -> SSAValue:
    """Build a contraction with other operands, in the program's element type."""
    result = tensor_type(op.results[0])
    element = result.element_type
    if op.accumulator_type == program.element:
        element = program.element
    contraction = type(op).create(
        operands=operands,
        result_types=[tensor_type_like(result, result.get_shape(), element)],
        properties=dict(op.properties),
        attributes=dict(op.attributes),
    )
    contraction.location = op.location
    return program.promote_to_builder_type(program.insert(contraction))


def _replace_norm_by_contraction(
    norm: graph.BatchNormOp,
    batch_norm_folding: BatchNormFolding,
    scales_results: bool,
) -> None:
    """
    Replace the normalization by a new, folded contraction, and erase the old
    contraction and the operations between.
    """
    unused: list[Operation] = []
    value = norm.operand
    while isinstance(op := value.owner, Operation) and op is not batch_norm_folding.op:
        unused.append(op)
        value = next(
            each for each in op.operands if each not in batch_norm_folding.added_values
        )
    rewriter = located_rewriter_at(norm)
    replace_by_built_values(
        norm,
        rewriter,
        lambda _: build_contraction_with_norm(
            norm, batch_norm_folding, rewriter, scales_results
        ),
    )
    for op in (*unused, batch_norm_folding.op):
        op.detach()
        op.erase()


def _fold_batch_norms_of_block(block: Block, scales_results: bool) -> None:
    """Fold each unplanned batch normalization, and add a remark on the outcome."""
    invariant = call_invariant_values_of(block)
    for norm in list(block.ops):
        if not isinstance(norm, graph.BatchNormOp) or is_in_planned_group(norm):
            continue
        found = find_batch_norm_folding(norm, invariant)
        if isinstance(found, str):
            graph.add_remark(norm, NAME, "missed", found)
            continue
        target = module_path_of(found.op) or found.op.name
        graph.add_remark(norm, NAME, "passed", f"folded into the weight of {target}")
        _replace_norm_by_contraction(norm, found, scales_results)


@dataclass(frozen=True)
class GraphFoldBatchNormPass(ModulePass):
    """
    Fold batch normalizations into the convolutions, matrix products and contractions
    before them, including additions in between: the weight is scaled per channel, and
    one value per channel is added. Requires that the weight, statistics and parameters
    are call-invariant: arguments with the attribute `tlf.parameter`, constants, and
    values computed from them.

    The weight is scaled in f32 and rounded once to its type. On targets that compute on
    tiles in registers, the result in f32 is scaled instead of a narrower weight. The
    sum is rounded once, even if the original program rounds intermediate results.
    """

    name = NAME

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        scales_results = (
            TargetSpec.is_attached_to(op)
            and TargetSpec.read_from_module(op).computes_in_registers
        )
        for function in op.walk():
            if isinstance(function, func.FuncOp):
                for block in function.body.blocks:
                    _fold_batch_norms_of_block(block, scales_results)
