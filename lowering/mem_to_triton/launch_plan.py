"""
Emission of the launch plan of a host function for Triton: buffers, kernels and launch
order, as JSON.

`tlf.runtime.triton.launch_plan` documents the format.
"""

import base64
import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import cast

from xdsl.dialects import func, memref, scf
from xdsl.dialects.builtin import (
    DenseIntOrFPElementsAttr,
    MemRefType,
    ModuleOp,
)
from xdsl.ir import Block, SSAValue
from xdsl.utils.exceptions import DiagnosticException
from xdsl.utils.symbol_table import SymbolTable

from tlf.dialects import mem, triton
from tlf.dialects.entry_point import argument_names, result_argument_count, result_names
from tlf.dialects.global_elements import load_global_elements
from tlf.dialects.physical_axes_attribute import get_argument_axes
from tlf.dialects.types import byte_count, memref_type
from tlf.lowering.mem_to_triton.access_writer import static_strides_and_offset
from tlf.lowering.mem_to_triton.element_types import plan_type_name
from tlf.lowering.mem_to_triton.index_expressions import (
    INDEX_OPERATIONS,
    IndexExpr,
    IndexTable,
)
from tlf.lowering.mem_to_triton.kernel_writer import KernelText, print_kernel
from tlf.lowering.mem_to_triton.temporary_placement import place_temporaries
from tlf.support.affine.axis_orders import Order, inverse_order
from tlf.support.affine.dense_strides import strides_in_axis_order

Json = dict[str, object]

SCHEMA = "tlf-triton-plan"

VERSION = 5


@dataclass
class LaunchPlanBuilder:
    """
    Builder of the JSON launch plan of one host function and the kernels it launches.
    """

    module: ModuleOp
    function: func.FuncOp
    indices: IndexTable = field(default_factory=IndexTable)
    names: dict[SSAValue, str] = field(default_factory=dict[SSAValue, str])
    buffers: list[Json] = field(default_factory=list[Json])
    ranges: dict[str, dict[int, tuple[int, int]]] = field(
        default_factory=dict[str, dict[int, tuple[int, int]]]
    )
    launches: dict[str, triton.LaunchOp] = field(
        default_factory=dict[str, triton.LaunchOp]
    )
    temporary_bytes: dict[str, int] = field(default_factory=dict[str, int])
    """Sizes of the temporaries by name."""
    result_bytes: dict[str, int] = field(default_factory=dict[str, int])
    """Sizes of the results by name."""
    loops: int = 0
    sources: list[str] = field(default_factory=list[str])

    def build_plan_json(self) -> Json:
        """
        Return the plan as a JSON object. Raises `DiagnosticException` for operations
        that the host does not support.
        """
        arguments, results = self._add_argument_and_result_buffers()
        steps = self._build_launch_steps(self.function.body.block)
        symbols = SymbolTable(self.module)
        kernels = [
            self._build_kernel_record(cast(func.FuncOp, symbols.lookup(name)), launch)
            for name, launch in self.launches.items()
        ]
        return {
            "schema": SCHEMA,
            "version": VERSION,
            "function": self.function.sym_name.data,
            "kernels": kernels,
            "buffers": self.buffers,
            "arena_bytes": self._place_temporaries(steps),
            "arguments": arguments,
            "results": results,
            "steps": steps,
        }

    def _add_argument_and_result_buffers(self) -> tuple[list[str], list[str]]:
        """Record the argument and result buffers in the plan; return their names."""
        values = self.function.body.block.args
        inputs = len(values) - result_argument_count(self.function)
        if inputs < 0:
            raise DiagnosticException(
                f"expected at most {len(values)} results, got {len(values) - inputs}"
            )
        hints = [value.name_hint or "prepared" for value in values]
        names = [*argument_names(self.function)]
        names += hints[len(names) : inputs]
        axes = get_argument_axes(self.function)
        for value, name, order in zip(values[:inputs], names, axes, strict=False):
            self._add_buffer_record(value, "argument", name, order)
        names = result_names(self.function)[: len(values) - inputs]
        for value, name, order in zip(
            values[inputs:], names, axes[inputs:], strict=True
        ):
            record = self._add_buffer_record(value, "result", name, order)
            self.result_bytes[str(record["name"])] = byte_count(memref_type(value))
        unique_names = [self.names[value] for value in values]
        return unique_names[:inputs], unique_names[inputs:]

    def _add_buffer_record(
        self, value: SSAValue, kind: str, name: str, order: Order | None = None
    ) -> Json:
        """
        Append and return the plan record of a contiguous buffer, uniquely named;
        `order` are its physical axes.
        """
        if not isinstance(value.type, MemRefType):
            raise DiagnosticException(
                f"expected buffers as arguments, got {value.type}"
            )
        type_ = memref_type(value)
        shape = type_.get_shape()
        contiguous = MemRefType(type_.element_type, shape)
        if -1 in shape or static_strides_and_offset(type_) != static_strides_and_offset(
            contiguous
        ):
            raise DiagnosticException(f"expected a contiguous buffer, got {type_}")
        taken = {str(buffer["name"]) for buffer in self.buffers}
        suffix, unique = 1, name
        while unique in taken:
            unique, suffix = f"{name}_{suffix}", suffix + 1
        self.names[value] = unique
        buffer: Json = {
            "name": unique,
            "kind": kind,
            "dtype": plan_type_name(type_.element_type),
            **_describe_layout(shape, order),
        }
        self.buffers.append(buffer)
        return buffer

    def _build_launch_steps(self, block: Block) -> list[Json]:
        """Return the launches and host loops of `block`, and record its buffers."""
        steps: list[Json] = []
        for op in block.ops:
            match op:
                case mem.AllocOp():
                    self._add_temporary_buffer(op.buffer)
                case memref.GetGlobalOp():
                    self._add_constant_buffer(op)
                case triton.LaunchOp():
                    steps.append(self._build_launch_record(op))
                case scf.ForOp():
                    bounds = [(op.lb, op.ub, op.step)]
                    steps.append(self._build_host_loops(op.body.block, bounds))
                case scf.ParallelOp():
                    bounds = zip(op.lowerBound, op.upperBound, op.step, strict=True)
                    steps.append(self._build_host_loops(op.body.block, list(bounds)))
                case func.ReturnOp() | scf.YieldOp() | scf.ReduceOp():
                    pass
                case _ if isinstance(op, INDEX_OPERATIONS):
                    self.indices.evaluate_and_record(op)
                case _:
                    raise DiagnosticException(f"the host does not support {op.name}")
        return steps

    def _place_temporaries(self, steps: Sequence[Json]) -> int:
        """
        Record the offset of each temporary, and the result that contains it, if one
        does; return the bytes of the arena of the others.
        """
        names_by_step = [_buffers_of_step(each) for each in steps]
        layout = place_temporaries(
            self.temporary_bytes, names_by_step, self.result_bytes
        )
        records = {str(buffer["name"]): buffer for buffer in self.buffers}
        for name, offset in layout.offsets.items():
            records[name]["offset"] = offset
            if name in layout.results:
                records[name]["result"] = layout.results[name]
        return layout.size

    def _add_temporary_buffer(self, buffer: SSAValue) -> None:
        """Add an allocated buffer, whose offset is known after all steps."""
        name = buffer.name_hint or "temporary"
        record = self._add_buffer_record(buffer, "temporary", name)
        self.temporary_bytes[str(record["name"])] = byte_count(memref_type(buffer))

    def _add_constant_buffer(self, op: memref.GetGlobalOp) -> None:
        """Add the buffer of a constant global, with its elements in base64."""
        symbol = op.name_
        global_op = SymbolTable(self.module).lookup(symbol.root_reference.data)
        is_global = isinstance(global_op, memref.GlobalOp)
        if not is_global or (elements := load_global_elements(global_op)) is None:
            raise DiagnosticException(f"expected {symbol} to be a constant global")
        buffer = self._add_buffer_record(
            op.memref, "constant", symbol.root_reference.data
        )
        buffer["data"] = base64.b64encode(_bytes_of_elements(elements)).decode("ascii")

    def _build_host_loops(
        self, block: Block, bounds: Sequence[tuple[SSAValue, SSAValue, SSAValue]]
    ) -> Json:
        """
        Return the JSON of nested host loops, one per axis, the first outermost, around
        the steps of the body.
        """
        loops: list[Json] = []
        for argument, axis_bounds in zip(block.args, bounds, strict=False):
            low, high, step = (
                self.indices.expression_of(value).constant for value in axis_bounds
            )
            if low is None or high is None or step is None or step < 1:
                raise DiagnosticException("expected constant bounds of a host loop")
            name = f"h{self.loops}"
            self.loops += 1
            last = low + max(0, high - 1 - low) // step * step
            self.indices.expressions[argument] = IndexExpr(name, low, last)
            loops.append({"loop": name, "lower": low, "upper": high, "step": step})
        inner = self._build_launch_steps(block)
        for loop in reversed(loops):
            loop["steps"] = inner
            inner = [loop]
        return inner[0]

    def _build_launch_record(self, op: triton.LaunchOp) -> Json:
        """Return a launch's plan record; extend the ranges of its index arguments."""
        ranges = self.ranges.setdefault(op.kernel_name, {})
        arguments: list[Json] = []
        for position, value in enumerate(op.arguments):
            if (name := self.names.get(value)) is not None:
                arguments.append({"buffer": name})
                continue
            index = self.indices.expression_of(value)
            low, high = ranges.get(position, (index.low, index.high))
            ranges[position] = min(low, index.low), max(high, index.high)
            arguments.append({"index": index.text})
        first = self.launches.setdefault(op.kernel_name, op)
        if first.properties != op.properties:
            raise DiagnosticException(
                f"expected all launches of {op.kernel} to be equal"
            )
        return {"launch": op.kernel_name, "arguments": arguments}

    def _build_kernel_record(self, function: func.FuncOp, op: triton.LaunchOp) -> Json:
        """Return the plan record of a kernel: source, hash, grid, warps and stages."""
        text = print_kernel(function, self.ranges.get(op.kernel_name))
        self.sources.append(text.source)
        return {
            "name": op.kernel_name,
            "sha256": hashlib.sha256(text.source.encode()).hexdigest(),
            "source": text.source,
            "grid": list(op.grid_sizes),
            "num_warps": op.warps.value.data,
            "num_stages": op.stages.value.data,
            "arguments": list(text.parameters),
            **_describe_descriptors(text),
        }


def _describe_descriptors(text: KernelText) -> Json:
    """Return the record of the tensor descriptors that a kernel takes, if any."""
    records: list[Json] = [
        {
            "argument": each.argument,
            "dtype": each.dtype,
            "offset": each.offset,
            "shape": list(each.shape),
            "strides": list(each.strides),
            "box": list(each.box),
        }
        for each in text.descriptors
    ]
    return {"descriptors": records} if records else {}


def _describe_layout(physical_shape: Sequence[int], order: Order | None) -> Json:
    """
    Return the shape of a buffer, and of an argument or result with physical axes the
    shape and the strides of the caller's tensor.
    """
    if order is None:
        return {"shape": list(physical_shape)}
    shape = [physical_shape[position] for position in inverse_order(order)]
    return {"shape": shape, "strides": list(strides_in_axis_order(shape, order))}


def _buffers_of_step(step: Json) -> frozenset[str]:
    """Return the names of the buffers that a launch or a loop accesses."""
    if "launch" in step:
        arguments = cast(Sequence[Json], step["arguments"])
        return frozenset(str(each["buffer"]) for each in arguments if "buffer" in each)
    inner = cast(Sequence[Json], step["steps"])
    return frozenset[str]().union(*map(_buffers_of_step, inner))


def _bytes_of_elements(value: DenseIntOrFPElementsAttr) -> bytes:
    """
    Return the stored bytes of a dense attribute; each boolean becomes a byte 0 or 1.
    """
    data = value.data.data
    if str(value.get_element_type()) == "i1":
        return bytes(byte != 0 for byte in data)
    return data
