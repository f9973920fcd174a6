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
from xdsl.ir import Operation, Region, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import Rewriter
from xdsl.utils.exceptions import PassFailedException

from tlf.analysis.buffers.disjoint_accesses import count_disjoint_boxes
from tlf.dialects import mem, npu
from tlf.dialects.global_elements import load_global_elements
from tlf.dialects.located_rewriting import replace_op
from tlf.dialects.prepack import PREPARE_ARGS, PREPARES, RESULTS
from tlf.dialects.target import TargetSpec
from tlf.dialects.tile import with_axis_order
from tlf.lowering.mem_to_npu.control_flow_lowering import lower_control_flow
from tlf.lowering.mem_to_npu.dma_moves import convert_dma
from tlf.lowering.mem_to_npu.elementwise_instructions import (
    convert_fill,
    convert_map,
    convert_mask,
)
from tlf.lowering.mem_to_npu.indexed_dma_moves import convert_gather, convert_scatter
from tlf.lowering.mem_to_npu.instruction_tree import BufferAccess, InstructionTree
from tlf.lowering.mem_to_npu.issue_ahead import issue_ahead
from tlf.lowering.mem_to_npu.lowered_operations import (
    check_convertible,
    erase_lowered_operations,
)
from tlf.lowering.mem_to_npu.matmul import convert_contract
from tlf.lowering.mem_to_npu.memref_views import BufferViews
from tlf.lowering.mem_to_npu.multibuffer_slots import BufferSlot
from tlf.lowering.mem_to_npu.reduce import convert_reduce
from tlf.lowering.mem_to_npu.synchroniser import Synchroniser
from tlf.support.affine.index_access import AffineSum

COMPUTE_LEVEL = "L1"
"""Memory level of the operands of the matrix and vector engines."""

CONVERTED_OPERATIONS = (mem.Move, mem.FillOp, mem.MaskOp, mem.StructuredOp)


@dataclass(frozen=True)
class ConvertMemToNpuPass(ModulePass):
    """
    Lower every function to an NPU program.

    Requires planned buffers (`mem-plan`), maps of one operation (`mem-split-maps`), and
    moves between adjacent levels. Semaphores order instructions of different engines
    that access the same buffer, at least one as a write. A move is ordered before later
    operations only by a `mem.wait` for it. An instruction with `ahead` is issued that
    many iterations early. A loop that only moves chunks is synchronised chunk by chunk.
    """

    name = "convert-mem-to-npu"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        machine = TargetSpec.of(op)
        machine.check_backend("npu")
        functions = [each for each in op.ops if isinstance(each, func.FuncOp)]
        globals_ = [each for each in op.ops if isinstance(each, memref.GlobalOp)]
        for function in functions:
            if not function.is_declaration:
                lower_control_flow(function, machine.cores)
                _Conversion(function, machine, globals_).run()
        for each in globals_:
            Rewriter.erase_op(each)


@dataclass
class _Conversion:
    """Conversion of one function."""

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

    def run(self) -> None:
        body = self.function.body.block
        for each in body.walk():
            check_convertible(each)
        views = BufferViews.of(self.function)
        converted: list[Operation] = []
        for each in list(body.walk()):
            if isinstance(each, CONVERTED_OPERATIONS):
                self._convert_operation(each, views)
                converted.append(each)
        terminator = body.last_op
        assert terminator is not None
        replace_op(terminator, npu.HaltOp())
        tree = InstructionTree(self.accesses, self.moves, self.prefetch_distances)
        tree.build(body)
        own = {name for name, e in self.machine.levels.items() if e.scope == "core"}
        synchroniser = Synchroniser(tree, body, frozenset(own))
        synchroniser.run()
        memory_map = self._build_memory_map(views)
        erase_lowered_operations(body, converted)
        issue_ahead(
            self.prefetch_distances,
            synchroniser.sync_operations,
            synchroniser.late_waits,
            synchroniser.chunk_loop_fronts,
        )
        first = body.first_op
        assert first is not None
        body.insert_ops_before(memory_map, first)
        self._replace_function(synchroniser.semaphores)

    def _convert_operation(self, op: Operation, views: BufferViews) -> None:
        """Build an operation's instructions before it; record their memory accesses."""
        for buffer, _ in _accessed_buffers(op):
            if (
                not isinstance(op, mem.Move)
                and views.view_of(buffer).level != COMPUTE_LEVEL
            ):
                raise PassFailedException(
                    f"{op.name}: the npu computes in {COMPUTE_LEVEL}, got a buffer in "
                    f"{views.view_of(buffer).level}"
                )
        before = op.prev_op
        match op:
            case mem.DmaOp():
                self.moves[op] = convert_dma(op, views, self.machine)
            case mem.DmaGatherOp():
                self.moves[op] = [convert_gather(op, views, self.machine)]
            case mem.DmaScatterOp():
                self.moves[op] = [convert_scatter(op, views, self.machine)]
            case mem.MapOp() if op.is_buffer_form:
                convert_map(op, views)
            case mem.ReduceOp() if op.is_buffer_form:
                convert_reduce(op, views)
            case mem.ContractOp() if op.is_buffer_form:
                convert_contract(op, views, self.machine)
            case mem.FillOp() if op.destination is not None:
                convert_fill(op, views)
            case mem.MaskOp() if op.result is None:
                convert_mask(op, views)
            case _:
                raise PassFailedException(f"{op.name}: expected buffers, got tensors")
        accesses = [
            BufferAccess(view.whole, writes, (*view.slots, *iteration_slots))
            for buffer, writes in _accessed_buffers(op)
            for view in [views.view_of(buffer)]
            for iteration_slots in [
                _disjoint_slots_of(op, buffer) if isinstance(op, mem.DmaOp) else ()
            ]
        ]
        parent = op.parent
        assert parent is not None
        iterations = _iterations_ahead(op)
        new = parent.first_op if before is None else before.next_op
        while new is not None and new is not op:
            for each in new.walk():
                if isinstance(each, npu.EngineOp):
                    self.accesses[each] = accesses
                    each.location = op.location
                    each.verify()
                    if iterations and each is new:
                        self.prefetch_distances[each] = iterations
            new = new.next_op

    def _build_memory_map(self, views: BufferViews) -> list[Operation]:
        count = self.function.attributes.get(RESULTS)
        results = count.value.data if isinstance(count, IntegerAttr) else 0
        inputs = len(self.function.args) - results
        ops: list[Operation] = []
        names: set[str] = set()
        for index, argument in enumerate(self.function.args):
            view = views.view_of(argument)
            type_ = with_axis_order(
                TensorType(view.element_type, view.shape), view.order
            )
            is_input = index < inputs
            stem = "arg" if is_input else "result"
            position = index if is_input else index - inputs
            name = _unique_name(argument.name_hint or f"{stem}{position}", names)
            kind = npu.InputOp if is_input else npu.OutputOp
            ops.append(kind(name, view.level, view.whole.low, type_))
        for each in self.globals:
            ops.append(_build_constant(each, views, names))
        return ops

    def _replace_function(self, semaphores: int) -> None:
        body = self.function.body.detach_block(0)
        while body.args:
            body.erase_arg(body.args[-1])
        program = npu.ProgramOp(self.function.sym_name.data, Region(body), semaphores)
        program.location = self.function.location
        for name in (PREPARES, PREPARE_ARGS):
            if name in self.function.attributes:
                program.attributes[name] = self.function.attributes[name]
        replace_op(self.function, program)


def _iterations_ahead(op: Operation) -> int:
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


def _build_constant(
    op: memref.GlobalOp, views: BufferViews, names: set[str]
) -> npu.ConstantOp:
    type_ = op.type
    if (value := load_global_elements(op)) is None:
        raise PassFailedException(
            f"memref.global @{op.sym_name.data}: expected an initial value"
        )
    name = op.sym_name.data
    if name not in views.globals:
        raise PassFailedException(
            f"memref.global @{name}: expected a planned global: run `mem-plan` first"
        )
    return npu.ConstantOp(
        _unique_name(name, names), mem.level_of(type_), views.globals[name], value
    )


def _unique_name(name: str, taken: set[str]) -> str:
    """Return a unique name that is valid in program text."""
    stem = re.sub(r"\W", "_", name)
    unique, count = stem, 0
    while unique in taken:
        count += 1
        unique = f"{stem}_{count}"
    taken.add(unique)
    return unique


def _disjoint_slots_of(op: mem.DmaOp, buffer: SSAValue) -> tuple[BufferSlot, ...]:
    """Return the slot that each iteration accesses, if accesses are disjoint."""
    loop = op.parent_op()
    if not isinstance(loop, scf.ForOp):
        return ()
    is_source = buffer is op.source
    offsets = op.mixed_source_offsets if is_source else op.mixed_destination_offsets
    if (count := count_disjoint_boxes(loop, buffer, offsets, op.box)) is None:
        return ()
    return (BufferSlot(count, AffineSum.of(loop), family=(buffer, offsets, op.box)),)
