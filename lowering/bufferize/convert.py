"""The conversion of a function's tiles to buffers and values."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from xdsl.builder import Builder
from xdsl.dialects import arith, func, memref, scf
from xdsl.dialects.builtin import (
    IndexType,
    IntegerAttr,
    MemRefType,
    StringAttr,
    TensorType,
    i64,
)
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.ir.affine import AffineMap
from xdsl.rewriter import InsertPoint

from tlf.dialects import mem, tile
from tlf.dialects.interfaces import (
    AccumulatingInterface,
    ConstantInterface,
    ContractionInterface,
    ElementwiseInterface,
    MovementInterface,
    ReductionInterface,
    ViewInterface,
)
from tlf.dialects.target import Target
from tlf.dialects.tile import Index, level_of
from tlf.dialects.types import (
    AnyTensor,
    dtype_of,
    scalar_attribute,
    scalar_value,
    tensor_type,
)
from tlf.lowering.bufferize.buffers import (
    Moves,
    buffer_type,
    is_contiguous,
    reshaped,
    subview,
)
from tlf.lowering.bufferize.compute import (
    Map,
    accumulation,
    copy_body,
    elementwise_map,
    movement_map,
    splat_of,
)
from tlf.lowering.bufferize.errors import BufferizationError
from tlf.lowering.bufferize.globals import Globals
from tlf.lowering.bufferize.liveness import Liveness, Storage


class FunctionConverter:
    """
    Rewrites a function so that every tile has a buffer, or is a value where the target
    manages the level of the tile itself.
    """

    def __init__(
        self, function: func.FuncOp, target: Target, constants: Globals
    ) -> None:
        self.function = function
        self.target = target
        self.constants = constants
        self.liveness = Liveness(function)
        self.values: dict[SSAValue, SSAValue] = {}
        self.storages: dict[SSAValue, Storage] = {}
        self.destinations: dict[SSAValue, SSAValue] = {}
        self.moves = Moves()
        self.builder = Builder(InsertPoint.at_end(Block()))

    # Functions

    def convert(self) -> None:
        """Replace the function's body and type."""
        old = self.function.body.block
        new = Block()
        outermost = self.target.outermost.name
        for argument in old.args:
            type_ = argument.type
            if isinstance(type_, TensorType):
                type_ = buffer_type(cast(AnyTensor, type_), outermost)
            made = new.insert_arg(type_, len(new.args))
            made.name_hint = argument.name_hint
            self.bind(argument, made, Storage(writable=False))
        results = self._results(old, new)
        self._convert_block(old, new)
        self.builder = Builder(InsertPoint.at_end(new))
        self.moves.wait_all(self.builder)
        self.builder.insert(func.ReturnOp())
        self.function.body.detach_block(old)
        for op in reversed(list(old.ops)):
            op.drop_all_references()
        self.function.body.add_block(new)
        inputs = [argument.type for argument in new.args]
        self.function.properties["function_type"] = func.FunctionType.from_lists(
            inputs, []
        )
        self.function.attributes["tlf.results"] = IntegerAttr(results, i64)

    def _results(self, old: Block, new: Block) -> int:
        """Add an argument for each result, and say which tile is to be put there."""
        returned = old.last_op
        assert isinstance(returned, func.ReturnOp)
        builder = Builder(InsertPoint.at_end(new))
        for number, value in enumerate(returned.arguments):
            if not isinstance(value.type, TensorType):
                raise BufferizationError(
                    returned, f"expected tensors, got {value.type}"
                )
            type_ = buffer_type(tensor_type(value), self.target.outermost.name)
            made = new.insert_arg(type_, len(new.args))
            made.name_hint = value.name_hint or f"result{number}"
            self._destine(returned, value, builder, made)
        return len(returned.arguments)

    def _destine(
        self, op: Operation, value: SSAValue, builder: Builder, place: SSAValue
    ) -> None:
        """Let the tile that a returned value is built in be its result argument."""
        origin = value
        while not isinstance(origin.owner, tile.EmptyOp):
            owner = origin.owner
            if isinstance(owner, tile.WhileOp):
                origin = owner.inits[list(owner.results).index(origin)]
            elif isinstance(owner, ViewInterface):
                origin = owner.operands[0]
            else:
                raise BufferizationError(
                    op, "expected a returned value that tiles were put into"
                )
        if origin in self.destinations:
            raise BufferizationError(op, "expected every value to be returned once")
        self.destinations[origin] = reshaped(
            builder, place, tensor_type(origin).get_shape()
        )

    # Blocks

    def _convert_block(self, old: Block, new: Block) -> None:
        """Convert the operations of a block, all but the last."""
        outer_builder, outer_moves = self.builder, self.moves
        self.builder, self.moves = Builder(InsertPoint.at_end(new)), Moves()
        for op in old.ops:
            if op is old.last_op:
                break
            first = new.last_op
            self._convert_op(op)
            _locate(op, new.first_op if first is None else first.next_op)
        if new.parent_op() is None and isinstance(old.last_op, func.ReturnOp):
            return
        self.moves.wait_all(self.builder)
        self.builder, self.moves = outer_builder, outer_moves

    def _convert_op(self, op: Operation) -> None:
        match op:
            case tile.EmptyOp():
                self._empty(op)
            case tile.FillOp():
                self._fill(op, op.result, scalar_value(op.value))
            case tile.SliceOp():
                self._slice(op)
            case tile.DesliceOp():
                self._deslice(op)
            case tile.MaskOp():
                self._mask(op)
            case tile.RollOp():
                self._roll(op)
            case tile.WhileOp():
                self._parallel(op) if op.parallel else self._sequential(op)
            case ConstantInterface():
                self._constant(op)
            case ViewInterface():
                self._view(op)
            case MovementInterface():
                self._map(op, movement_map(op))
            case ElementwiseInterface():
                self._map(op, elementwise_map(op))
            case ReductionInterface() | ContractionInterface():
                self._accumulate(op)
            case _:
                self._copy_op(op)

    def _copy_op(self, op: Operation) -> None:
        """Keep an operation that knows nothing of tensors."""
        if any(isinstance(v.type, TensorType) for v in (*op.operands, *op.results)):
            raise BufferizationError(
                op,
                "expected an operation on tiles: run `graph-decompose`, "
                "`graph-group` and `convert-graph-to-tile` first",
            )
        copy = op.clone(self.values)
        self.builder.insert(copy)
        for old, new in zip(op.results, copy.results, strict=True):
            self.values[old] = new

    # Values and buffers

    def bind(self, value: SSAValue, new: SSAValue, storage: Storage) -> None:
        """Say what a tile became, and where it is stored."""
        self.values[value] = new
        self.storages[value] = storage
        storage.values.append(value)
        if new.name_hint is None:
            new.name_hint = value.name_hint

    def is_value(self, type_: Attribute) -> bool:
        """Whether tiles of a type are values, not buffers."""
        level = self.target.levels.get(self.level(type_))
        return level is not None and level.kind == "value"

    def level(self, type_: Attribute) -> str:
        """The memory level of a tile."""
        return level_of(type_) or self.target.outermost.name

    def allocate(self, type_: AnyTensor) -> SSAValue:
        """A new buffer for a tile."""
        made = mem.AllocOp(buffer_type(type_, self.level(type_)))
        return self.builder.insert(made).buffer

    def index(self, offset: Index) -> Index:
        """An offset with its values converted."""
        return offset if isinstance(offset, int) else self.values[offset]

    def indices(self, offsets: Sequence[Index]) -> list[Index]:
        """Offsets with their values converted."""
        return [self.index(offset) for offset in offsets]

    def operand(self, value: SSAValue) -> SSAValue:
        """What a tile became; a constant of one value becomes a filled tile now."""
        if value not in self.values and (constant := splat_of(value)) is not None:
            number = scalar_value(cast(Attribute, constant.splat()))
            self._fill(constant, value, number)
        return self.values[value]

    def reading(self, *values: SSAValue) -> None:
        """Wait for what is on its way to some tiles."""
        known = [self.storages[value] for value in values if value in self.storages]
        self.moves.wait(self.builder, reads=known)

    # Tiles

    def _empty(self, op: tile.EmptyOp) -> None:
        place = self.destinations.get(op.result)
        if place is None:
            place = self.allocate(tensor_type(op.result))
        self.bind(op.result, place, Storage())

    def _fill(self, op: Operation, result: SSAValue, number: float) -> None:
        type_ = tensor_type(result)
        if self.is_value(type_):
            made = self.builder.insert(mem.FillOp(number, result_type=type_)).result
            assert made is not None
            self.bind(result, made, Storage())
            return
        place = self.allocate(type_)
        self.builder.insert(mem.FillOp(number, place))
        self.bind(result, place, Storage())

    def _constant(self, op: ConstantInterface) -> None:
        if op.splat() is not None and level_of(op.results[0].type) is not None:
            return
        level = self.target.outermost.name
        place = self.constants.get(op, buffer_type(tensor_type(op.results[0]), level))
        made = self.builder.insert(place)
        self.bind(op.results[0], made.memref, Storage(writable=False))

    def _slice(self, op: tile.SliceOp) -> None:
        type_ = tensor_type(op.result)
        source = self.operand(op.source)
        offsets = self.indices(op.mixed_offsets)
        self.reading(op.source)
        fill = None if op.fill is None else scalar_value(op.fill)
        if self.level(op.source.type) == self.level(type_):
            self._slice_within_level(op, source, offsets)
        elif self.is_value(type_):
            made = self.builder.insert(mem.LoadOp(source, offsets, type_, fill))
            self.bind(op.result, made.value, Storage())
        else:
            place = self.allocate(type_)
            storage = Storage()
            zeros = [0] * len(offsets)
            shape = type_.get_shape()
            move = mem.DmaOp(source, offsets, place, zeros, shape, fill)
            token = self.builder.insert(move).token
            self.moves.start(token, self.storages[op.source], storage)
            self.bind(op.result, place, storage)

    def _slice_within_level(
        self, op: tile.SliceOp, source: SSAValue, offsets: Sequence[Index]
    ) -> None:
        type_ = tensor_type(op.result)
        if op.fill is not None:
            raise BufferizationError(
                op, "expected a slice within a memory level to have no fill value"
            )
        if not self.is_value(type_):
            view = subview(self.builder, source, offsets, type_.get_shape())
            self.bind(op.result, view, self.storages[op.source])
            return
        if type_.get_shape() != tensor_type(op.source).get_shape():
            raise BufferizationError(op, "cannot take a part of a tile of registers")
        self.bind(op.result, source, self.storages[op.source])

    def _deslice(self, op: tile.DesliceOp) -> None:
        place = self.values[op.destination]
        storage = self.storages[op.destination]
        offsets = self.indices(op.mixed_offsets)
        source = self.operand(op.source)
        self.reading(op.source)
        self.moves.wait(self.builder, writes=[storage])
        shape = tensor_type(op.source).get_shape()
        if self.is_value(op.source.type):
            self.builder.insert(mem.StoreOp(source, place, offsets))
        elif self.level(op.source.type) == self.level(op.destination.type):
            part = subview(self.builder, place, offsets, shape)
            self.copy(op, source, part)
        else:
            zeros = [0] * len(offsets)
            move = mem.DmaOp(source, zeros, place, offsets, shape)
            token = self.builder.insert(move).token
            self.moves.start(token, self.storages[op.source], storage)
        self.bind(op.result, place, storage)

    def _mask(self, op: tile.MaskOp) -> None:
        offsets = self.indices(op.mixed_offsets)
        bounds = tuple(op.bounds.get_values())
        fill = scalar_value(op.fill)
        if self.is_value(op.result.type):
            source = self.operand(op.source)
            made = self.builder.insert(mem.MaskOp(source, offsets, bounds, fill))
            assert made.result is not None
            self.bind(op.result, made.result, Storage())
            return
        place, storage = self._own(op, op.source)
        self.builder.insert(mem.MaskOp(place, offsets, bounds, fill))
        self.bind(op.result, place, storage)

    def _own(self, op: Operation, value: SSAValue) -> tuple[SSAValue, Storage]:
        """
        A buffer with the elements of a tile that `op` may change: that of the tile,
        if nobody needs it afterwards, or a copy.
        """
        source = self.operand(value)
        storage = self.storages[value]
        if self.liveness.overwritable(value, storage, op):
            self.moves.wait(self.builder, writes=[storage])
            return source, storage
        self.reading(value)
        place = self.allocate(tensor_type(value))
        self.copy(op, source, place)
        return place, Storage()

    def copy(self, op: Operation, source: SSAValue, place: SSAValue) -> None:
        """Copy one buffer to another in the same level, where engines compute."""
        if source is place:
            return
        if isinstance(source.type, MemRefType) and isinstance(place.type, MemRefType):
            level = cast(StringAttr, place.type.memory_space).data
            if level != next(iter(self.target.levels)):
                raise BufferizationError(
                    op, f"cannot copy a tile within {level}, where no engine computes"
                )
        rank = len(cast(MemRefType[Attribute], place.type).get_shape())
        shape = cast(MemRefType[Attribute], place.type).get_shape()
        element = cast(MemRefType[Attribute], place.type).element_type
        identity = AffineMap.identity(rank)
        body = copy_body(TensorType(element, shape))
        self.builder.insert(
            mem.MapOp([source], [place], shape, [identity, identity], body)
        )

    def _roll(self, op: tile.RollOp) -> None:
        window, following = tensor_type(op.window), tensor_type(op.next)
        if self.is_value(window):
            raise BufferizationError(op, "cannot roll a tile of registers")
        axis = op.axis.value.data
        shape, count = list(window.get_shape()), following.get_shape()[axis]
        self.reading(op.window, op.next)
        place = self.allocate(window)
        kept = [*shape]
        kept[axis] -= count
        start = [count if each == axis else 0 for each in range(len(shape))]
        end = [shape[axis] - count if each == axis else 0 for each in range(len(shape))]
        zeros = [0] * len(shape)
        if kept[axis]:
            source = subview(self.builder, self.operand(op.window), start, kept)
            self.copy(op, source, subview(self.builder, place, zeros, kept))
        part = subview(self.builder, place, end, following.get_shape())
        self.copy(op, self.operand(op.next), part)
        self.bind(op.result, place, Storage())

    # Computation

    def _view(self, op: ViewInterface) -> None:
        source = op.operands[0]
        if self.is_value(source.type):
            self._map(op, movement_map(op))
            return
        self.reading(source)
        place, storage = self.operand(source), self.storages[source]
        if not is_contiguous(place):
            place = self.allocate(tensor_type(source))
            self.copy(op, self.operand(source), place)
            storage = Storage()
        shape = tensor_type(op.results[0]).get_shape()
        self.bind(op.results[0], reshaped(self.builder, place, shape), storage)

    def _map(self, op: MovementInterface | ElementwiseInterface, map_: Map) -> None:
        inputs = [self.operand(value) for value in map_.inputs]
        result = op.results[0]
        self.reading(*map_.inputs)
        if self.is_value(result.type):
            made = mem.MapOp(
                inputs, [], map_.domain, map_.maps, map_.body, [result.type]
            )
            self.bind(result, self.builder.insert(made).results[0], Storage())
            return
        place, storage = self._map_output(op, map_)
        made = mem.MapOp(inputs, [place], map_.domain, map_.maps, map_.body)
        self.builder.insert(made)
        self.bind(result, place, storage)

    def _map_output(
        self, op: MovementInterface | ElementwiseInterface, map_: Map
    ) -> tuple[SSAValue, Storage]:
        """The buffer of an input that ends here and fits, or a new one."""
        result = tensor_type(op.results[0])
        size = dtype_of(result.element_type).itemsize
        for value, indexing in zip(map_.inputs, map_.maps, strict=False):
            operand = tensor_type(value)
            same = operand.get_shape() == result.get_shape() and (
                operand.element_type == result.element_type
            )
            storage = self.storages[value]
            if (
                same
                and size == dtype_of(operand.element_type).itemsize
                and indexing == AffineMap.identity(len(map_.domain))
                and self.liveness.overwritable(value, storage, op)
            ):
                self.moves.wait(self.builder, writes=[storage])
                return self.values[value], storage
        return self.allocate(result), Storage()

    def _accumulate(self, op: ReductionInterface | ContractionInterface) -> None:
        result = tensor_type(op.results[0])
        if result.element_type != op.accumulator_type:
            raise BufferizationError(
                op,
                f"expected a result of {op.accumulator_type}, the type it accumulates "
                f"in, got {result.element_type}: run `graph-decompose`",
            )
        compute = accumulation(op)
        inputs = [self.operand(value) for value in op.inputs]
        self.reading(*op.inputs)
        total, storage = self._start(op)
        if self.is_value(result):
            if compute.output_shape != result.get_shape():
                raise BufferizationError(op, "cannot split an axis of a register tile")
            made = self.builder.insert(compute.build(inputs, total))
            self.bind(op.results[0], made.results[0], Storage())
            return
        seen = reshaped(self.builder, total, compute.output_shape)
        self.builder.insert(compute.build(inputs, seen))
        self.bind(op.results[0], total, storage)

    def _start(self, op: AccumulatingInterface) -> tuple[SSAValue, Storage]:
        """What the result is accumulated on, in its place."""
        result = tensor_type(op.results[0])
        if op.init_value is None:
            neutral = scalar_attribute(op.neutral(), result.element_type)
            number = scalar_value(neutral)
            if self.is_value(result):
                fill = mem.FillOp(number, result_type=result)
                made = self.builder.insert(fill).result
                assert made is not None
                return made, Storage()
            place = self.allocate(result)
            self.builder.insert(mem.FillOp(number, place))
            return place, Storage()
        if self.is_value(result):
            return self.operand(op.init_value), Storage()
        return self._own(op, op.init_value)

    # Loops

    def _bounds(self, op: tile.WhileOp) -> list[list[SSAValue]]:
        """Lower bounds, upper bounds and steps as values."""
        bounds = (op.mixed_lower, op.mixed_upper, op.step_values)
        return [[self._constant_index(self.index(b)) for b in each] for each in bounds]

    def _constant_index(self, index: Index) -> SSAValue:
        if not isinstance(index, int):
            return index
        attribute = IntegerAttr(index, IndexType())
        return self.builder.insert(arith.ConstantOp(attribute)).result

    def _settle(self, op: tile.WhileOp) -> None:
        """Wait for everything that a loop uses."""
        storages = {
            self.storages[operand]
            for inner in op.walk()
            for operand in inner.operands
            if operand in self.storages
        }
        writes = [self.storages[init] for init in op.inits if init in self.storages]
        self.moves.wait(self.builder, reads=list(storages), writes=writes)

    def _parallel(self, op: tile.WhileOp) -> None:
        for init in op.inits:
            self.operand(init)
            self._check_destination(op, init)
        self._settle(op)
        shared = [Storage(writable=False) for _ in op.inits]
        for init, argument, storage in zip(op.inits, op.carried, shared, strict=True):
            self.bind(argument, self.values[init], storage)
        body = self._nest(op)
        self._convert_block(op.body.block, body)
        if body is not self.builder.insertion_point.block:
            body.add_op(scf.ReduceOp())
        for init, result in zip(op.inits, op.results, strict=True):
            self.bind(result, self.values[init], Storage())

    def _check_destination(self, op: tile.WhileOp, init: SSAValue) -> None:
        """Whether a loop may write where its destination is from the start."""
        if self.is_value(init.type):
            raise BufferizationError(op, "cannot put tiles into a tile of registers")
        storage = self.storages[init]
        if not storage.writable:
            raise BufferizationError(
                op, "expected a destination of its own: arguments are read-only"
            )
        if not all(self.liveness.dead_after(v, op) for v in storage.values):
            raise BufferizationError(
                op, "expected a destination that is not used after the loop"
            )
        if any(not _reads_own_tile(op, use.operation) for use in init.uses):
            raise BufferizationError(
                op, "expected the loop to read of its destination what it writes next"
            )

    def _nest(self, op: tile.WhileOp) -> Block:
        """Build the loops of a parallel nest, and return the block of its body."""
        if not op.step_values and op.mapping.data is not tile.Mapping.GRID:
            return self.builder.insertion_point.block
        lower, upper, steps = self._bounds(op)
        if not lower:
            lower, upper, steps = ([self._constant_index(bound)] for bound in (0, 1, 1))
        body = Block(arg_types=[IndexType()] * len(lower))
        loop = scf.ParallelOp(lower, upper, steps, Region(body))
        loop.attributes["mapping"] = StringAttr(str(op.mapping.data))
        if op.order is not None:
            loop.attributes["order"] = op.order
        self.builder.insert(loop)
        for old, new in zip(op.induction_variables, body.args, strict=False):
            new.name_hint = old.name_hint
            self.values[old] = new
        return body

    def _sequential(self, op: tile.WhileOp) -> None:
        as_values = all(self.is_value(init.type) for init in op.inits)
        if not as_values and any(self.is_value(init.type) for init in op.inits):
            raise BufferizationError(op, "expected carried values in one memory level")
        if as_values and op.inits:
            self._sequential_values(op)
        else:
            self._sequential_buffers(op)

    def _sequential_values(self, op: tile.WhileOp) -> None:
        self._settle(op)
        carried = [self.operand(init) for init in op.inits]
        outer = self.builder
        loops: list[tuple[scf.ForOp, Block]] = []
        for bound in zip(*self._bounds(op), op.induction_variables, strict=True):
            *limits, variable = bound
            body = Block(arg_types=[IndexType(), *(v.type for v in carried)])
            lower, upper, step = limits
            loop = scf.ForOp(lower, upper, step, carried, body)
            self._stage(op, loop)
            self.builder.insert(loop)
            self.values[variable] = body.args[0]
            body.args[0].name_hint = variable.name_hint
            carried = list(body.args[1:])
            loops.append((loop, body))
            self.builder = Builder(InsertPoint.at_end(body))
        for argument, value in zip(op.carried, carried, strict=True):
            self.bind(argument, value, Storage())
        innermost = loops[-1][1]
        self._convert_block(op.body.block, innermost)
        results = [self.operand(value) for value in op.yielded.arguments]
        for loop, body in reversed(loops):
            body.add_op(scf.YieldOp(*results))
            results = list(loop.results)
        self.builder = outer
        for result, value in zip(op.results, results, strict=True):
            self.bind(result, value, Storage())

    @staticmethod
    def _stage(op: tile.WhileOp, loop: Operation) -> None:
        if op.stages is not None:
            loop.attributes["stages"] = op.stages

    def _sequential_buffers(self, op: tile.WhileOp) -> None:
        places = [self._own(op, init)[0] for init in op.inits]
        self._settle(op)
        outer = self.builder
        for lower, upper, step, variable in zip(
            *self._bounds(op), op.induction_variables, strict=True
        ):
            body = Block(arg_types=[IndexType()])
            loop = scf.ForOp(lower, upper, step, [], body)
            self._stage(op, loop)
            self.builder.insert(loop)
            self.builder = Builder(InsertPoint.at_end(body))
            self.values[variable] = body.args[0]
            body.args[0].name_hint = variable.name_hint
        for argument, place in zip(op.carried, places, strict=True):
            self.bind(argument, place, Storage())
        innermost = self.builder.insertion_point.block
        self._convert_block(op.body.block, innermost)
        self.builder = Builder(InsertPoint.at_end(innermost))
        for value, place in zip(op.yielded.arguments, places, strict=True):
            self.copy(op, self.operand(value), place)
        self._close(innermost, outer.insertion_point.block)
        self.builder = outer
        for result, place in zip(op.results, places, strict=True):
            self.bind(result, place, Storage())

    @staticmethod
    def _close(innermost: Block, outer: Block) -> None:
        block: Block | None = innermost
        while block is not None and block is not outer:
            block.add_op(scf.YieldOp())
            parent = block.parent_op()
            block = None if parent is None else parent.parent


def _locate(source: Operation, made: Operation | None) -> None:
    """Give operations that `source` became its place in the source file."""
    while made is not None:
        for inner in made.walk():
            if str(inner.location) == "loc(unknown)":
                inner.location = source.location
        made = made.next_op


def _reads_own_tile(loop: tile.WhileOp, user: Operation) -> bool:
    """
    Whether an operation in a loop reads of its destination only the tile that the same
    iteration writes.
    """
    if user is loop:
        return True
    if not isinstance(user, tile.SliceOp) or user.parent is not loop.body.block:
        return not loop.is_ancestor(user)
    return any(
        isinstance(other, tile.DesliceOp)
        and other.mixed_offsets == user.mixed_offsets
        and tensor_type(other.source).get_shape()
        == tensor_type(user.result).get_shape()
        for other in loop.body.block.ops
    )
