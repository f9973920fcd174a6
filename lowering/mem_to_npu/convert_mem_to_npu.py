"""Pass `convert-mem-to-npu`: lower moves and compute to NPU instructions."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from xdsl.context import Context
from xdsl.dialects import func, memref, scf
from xdsl.dialects.builtin import (
    IntegerAttr,
    ModuleOp,
    TensorType,
)
from xdsl.ir import Attribute, Operation, Region, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import Rewriter
from xdsl.utils.exceptions import PassFailedException

from tlf.analysis.buffers.disjoint_accesses import count_disjoint_boxes
from tlf.dialects import mem, npu
from tlf.dialects.global_elements import load_global_elements
from tlf.dialects.located_rewriting import replace_op
from tlf.dialects.physical_axes_attribute import get_argument_axes, logical_type_of
from tlf.dialects.target import TargetSpec
from tlf.dialects.tile import with_axis_order
from tlf.dialects.weight_preparation_attributes import PREPARE_ARGS, PREPARES, RESULTS
from tlf.lowering.mem_to_npu.control_flow_lowering import lower_control_flow
from tlf.lowering.mem_to_npu.dma_moves import convert_move_to_dma
from tlf.lowering.mem_to_npu.elementwise_instructions import (
    convert_fill_to_vector_instructions,
    convert_map_to_vector_instructions,
    convert_mask_to_fills,
)
from tlf.lowering.mem_to_npu.indexed_dma_moves import (
    convert_gather_to_dma,
    convert_scatter_to_dma,
)
from tlf.lowering.mem_to_npu.instruction_tree import BufferAccess, InstructionTree
from tlf.lowering.mem_to_npu.lowered_operations import (
    check_is_supported_by_npu,
    erase_lowered_operations,
)
from tlf.lowering.mem_to_npu.matmul_instructions import convert_contraction_to_matmul
from tlf.lowering.mem_to_npu.memref_views import BufferView, BufferViews
from tlf.lowering.mem_to_npu.multibuffer_slots import BufferSlot
from tlf.lowering.mem_to_npu.reduce_instructions import (
    convert_reduction_to_instructions,
)
from tlf.lowering.mem_to_npu.software_pipelining import issue_instructions_ahead
from tlf.lowering.mem_to_npu.synchroniser import Synchroniser
from tlf.support.affine.axis_orders import Order
from tlf.support.affine.index_access import AffineSum

COMPUTE_LEVEL = "L1"
"""Memory level of the operands of the matrix and vector engines."""

CONVERTED_OPERATIONS = (mem.Move, mem.FillOp, mem.MaskOp, mem.StructuredOp)


@dataclass(frozen=True)
class ConvertMemToNpuPass(ModulePass):
    """
    Replace every function with a body by an `npu.program`, and erase the globals.

    Requires planned buffers (`mem-plan`), maps of one operation (`mem-split-maps`), and
    moves between adjacent levels. Semaphores order instructions of different engines
    that access the same buffer, at least one as a write. A move is ordered before later
    operations only by a `mem.wait` for it. An instruction with `ahead` is issued that
    many iterations early. A loop that only moves chunks is synchronised chunk by chunk.
    """

    name = "convert-mem-to-npu"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        machine = TargetSpec.read_from_module(op)
        machine.require_backend("npu")
        functions = [each for each in op.ops if isinstance(each, func.FuncOp)]
        globals_ = [each for each in op.ops if isinstance(each, memref.GlobalOp)]
        for function in functions:
            if not function.is_declaration:
                lower_control_flow(function, machine.cores)
                _FunctionConversion(function, machine, globals_).convert_function()
        for each in globals_:
            Rewriter.erase_op(each)


@dataclass
class _FunctionConversion:
    """Replacement of one `mem` function by an `npu.program`."""

    function: func.FuncOp
    machine: TargetSpec
    globals: Sequence[memref.GlobalOp]
    accesses: dict[Operation, list[BufferAccess]] = field(
        default_factory=dict[Operation, list[BufferAccess]]
    )
    moves: dict[mem.Move, Sequence[npu.DmaOp]] = field(
        default_factory=dict[mem.Move, Sequence[npu.DmaOp]]
    )
    prefetch_distances: dict[npu.EngineOp, int] = field(
        default_factory=dict[npu.EngineOp, int]
    )
    """Prefetch distance of instructions issued ahead, in iterations."""

    def convert_function(self) -> None:
        """Replace the function by an `npu.program` of synchronised instructions."""
        body = self.function.body.block
        for each in body.walk():
            check_is_supported_by_npu(each)
        views = BufferViews.from_planned_function(self.function)
        converted: list[Operation] = []
        for each in list(body.walk()):
            if isinstance(each, CONVERTED_OPERATIONS):
                self._convert_to_instructions(each, views)
                converted.append(each)
        terminator = body.last_op
        assert terminator is not None
        replace_op(terminator, npu.HaltOp())
        tree = InstructionTree(self.accesses, self.moves, self.prefetch_distances)
        tree.collect_instructions(body)
        own = {name for name, e in self.machine.levels.items() if e.scope == "core"}
        synchroniser = Synchroniser(tree, body, frozenset(own))
        synchroniser.insert_signals_and_waits()
        memory_map = self._build_memory_map(views)
        erase_lowered_operations(body, converted)
        issue_instructions_ahead(
            self.prefetch_distances,
            synchroniser.sync_operations,
            synchroniser.late_waits,
            synchroniser.chunk_loop_fronts,
        )
        first = body.first_op
        assert first is not None
        body.insert_ops_before(memory_map, first)
        self._replace_function_by_program(synchroniser.semaphore_count)

    def _convert_to_instructions(self, op: Operation, views: BufferViews) -> None:
        """Build an operation's instructions before it; record their memory accesses."""
        _check_is_in_compute_level(op, views)
        before = op.prev_op
        match op:
            case mem.DmaOp():
                self.moves[op] = convert_move_to_dma(op, views, self.machine)
            case mem.DmaGatherOp():
                self.moves[op] = [convert_gather_to_dma(op, views, self.machine)]
            case mem.DmaScatterOp():
                self.moves[op] = [convert_scatter_to_dma(op, views, self.machine)]
            case mem.MapOp() if op.is_on_buffers:
                convert_map_to_vector_instructions(op, views)
            case mem.ReduceOp() if op.is_on_buffers:
                convert_reduction_to_instructions(op, views)
            case mem.ContractOp() if op.is_on_buffers:
                convert_contraction_to_matmul(op, views, self.machine)
            case mem.FillOp() if op.destination is not None:
                convert_fill_to_vector_instructions(op, views)
            case mem.MaskOp() if op.result is None:
                convert_mask_to_fills(op, views)
            case _:
                raise PassFailedException(f"{op.name}: expected buffers, got tensors")
        accesses = [
            BufferAccess(view.buffer_extent, writes, (*view.slots, *iteration_slots))
            for buffer, writes in _accessed_buffers(op)
            for view in [views.view_of(buffer)]
            for iteration_slots in [
                _disjoint_slots_of(op, buffer) if isinstance(op, mem.DmaOp) else ()
            ]
        ]
        self._record_accesses(op, before, accesses)

    def _record_accesses(
        self, op: Operation, before: Operation | None, accesses: list[BufferAccess]
    ) -> None:
        """Record the accesses of the instructions built between `before` and `op`."""
        parent = op.parent
        assert parent is not None
        iterations = _prefetch_distance_of(op)
        new = parent.first_op if before is None else before.next_op
        while new is not None and new is not op:
            for each in new.walk():
                if isinstance(each, npu.EngineOp):
                    self.accesses[each] = accesses
                    each.location = op.location
                    if iterations and each is new:
                        self.prefetch_distances[each] = iterations
            new = new.next_op

    def _build_memory_map(self, buffer_views: BufferViews) -> list[Operation]:
        """Return the `npu` operations that declare inputs, outputs and constants."""
        count = self.function.attributes.get(RESULTS)
        results = count.value.data if isinstance(count, IntegerAttr) else 0
        inputs = len(self.function.args) - results
        ops: list[Operation] = []
        names: set[str] = set()
        axes = get_argument_axes(self.function)
        for index, argument in enumerate(self.function.args):
            view = buffer_views.view_of(argument)
            type_ = _logical_type_in_memory(view, axes[index])
            is_input = index < inputs
            stem = "arg" if is_input else "result"
            position = index if is_input else index - inputs
            name = _unique_program_name(
                argument.name_hint or f"{stem}{position}", names
            )
            kind = npu.InputOp if is_input else npu.OutputOp
            ops.append(kind(name, view.level, view.buffer_extent.low, type_))
        for each in self.globals:
            ops.append(_build_program_constant(each, buffer_views, names))
        return ops

    def _replace_function_by_program(self, semaphore_count: int) -> None:
        """Replace the function by an `npu.program` with its body and no arguments."""
        body = self.function.body.detach_block(0)
        while body.args:
            body.erase_arg(body.args[-1])
        program = npu.ProgramOp(
            self.function.sym_name.data, Region(body), semaphore_count
        )
        program.location = self.function.location
        for name in (PREPARES, PREPARE_ARGS):
            if name in self.function.attributes:
                program.attributes[name] = self.function.attributes[name]
        replace_op(self.function, program)


def _check_is_in_compute_level(op: Operation, views: BufferViews) -> None:
    """Raise `PassFailedException` if an operation computes in another level."""
    for buffer, _ in _accessed_buffers(op):
        if (
            not isinstance(op, mem.Move)
            and views.view_of(buffer).level != COMPUTE_LEVEL
        ):
            raise PassFailedException(
                f"{op.name}: the npu computes in {COMPUTE_LEVEL}, got a buffer in "
                f"{views.view_of(buffer).level}"
            )


def _prefetch_distance_of(op: Operation) -> int:
    """Return the prefetch distance of an operation's instructions, in iterations."""
    return op.prefetch_distance if isinstance(op, mem.Move | mem.ContractOp) else 0


def _accessed_buffers(op: Operation) -> Iterable[tuple[SSAValue, bool]]:
    """Return the buffers that an operation accesses; `True` for writes."""
    match op:
        case mem.DmaOp():
            return [(op.source, False), (op.destination, True)]
        case mem.DmaGatherOp() | mem.DmaScatterOp():
            reads = [(op.source, False), (op.indices, False)]
            return [*reads, (op.destination, True)]
        case mem.StructuredOp():
            reads = [(value, False) for value in op.input_operands]
            return reads + [(value, True) for value in op.output_operands]
        case _:
            return [(op.operands[0], True)]


def _build_program_constant(
    global_op: memref.GlobalOp, views: BufferViews, used_names: set[str]
) -> npu.ConstantOp:
    """Return the `npu.constant` of a planned global, with its address and elements."""
    type_ = global_op.type
    if (value := load_global_elements(global_op)) is None:
        raise PassFailedException(
            f"memref.global @{global_op.sym_name.data}: expected an initial value"
        )
    name = global_op.sym_name.data
    if name not in views.globals:
        raise PassFailedException(
            f"memref.global @{name}: expected a planned global: run `mem-plan` first"
        )
    return npu.ConstantOp(
        _unique_program_name(name, used_names),
        mem.level_of(type_),
        views.globals[name],
        value,
    )


def _logical_type_in_memory(
    view: BufferView, axes: Order | None
) -> TensorType[Attribute]:
    """
    Return the type of an argument or result as a caller knows it, with its order of
    axes in memory; `axes` are those of the function's argument.
    """
    type_ = logical_type_of(TensorType(view.element_type, view.shape), axes)
    order = view.memory_axis_order
    if axes is not None:
        order = tuple(axes[dimension] for dimension in order)
    return with_axis_order(type_, order)


def _unique_program_name(name: str, used_names: set[str]) -> str:
    """Return `name` as an identifier not in `used_names`, and add it to them."""
    stem = re.sub(r"\W", "_", name)
    unique, count = stem, 0
    while unique in used_names:
        count += 1
        unique = f"{stem}_{count}"
    used_names.add(unique)
    return unique


def _disjoint_slots_of(op: mem.DmaOp, buffer: SSAValue) -> tuple[BufferSlot, ...]:
    """Return the slot that each iteration accesses, if accesses are disjoint."""
    loop = op.parent_op()
    if not isinstance(loop, scf.ForOp):
        return ()
    is_source = buffer is op.source
    offsets = op.mixed_source_offsets if is_source else op.mixed_destination_offsets
    if (count := count_disjoint_boxes(loop, buffer, offsets, op.box_sizes)) is None:
        return ()
    return (
        BufferSlot(
            count,
            AffineSum.of_symbol(loop),
            comparison_key=(buffer, offsets, op.box_sizes),
        ),
    )
