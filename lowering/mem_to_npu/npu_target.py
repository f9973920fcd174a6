"""Output target `npu`: emission of an NPU program as text for the simulator."""

import base64
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import IO, cast

import numpy as np
from xdsl.context import Context
from xdsl.dialects import arith, scf
from xdsl.dialects.builtin import (
    DenseIntOrFPElementsAttr,
    FileLineColLoc,
    ModuleOp,
    TensorType,
)
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.utils.exceptions import DiagnosticException
from xdsl.utils.target import Target

from tlf.dialects import npu, target
from tlf.dialects.affine_values import constant_value_of
from tlf.dialects.mem.number_literals import format_number
from tlf.dialects.mixed_offsets import Index
from tlf.dialects.source_locations import nearest_location_of
from tlf.dialects.target.description import Data
from tlf.dialects.tile import layout_of
from tlf.dialects.types import dtype_of
from tlf.dialects.weight_preparation_attributes import is_preparation_function

SCALAR_OPCODES: Mapping[type[Operation], str] = {
    arith.AddiOp: "add",
    arith.DivSIOp: "div",
    arith.FloorDivSIOp: "div",
    arith.MaxSIOp: "max",
    arith.MinSIOp: "min",
    arith.MuliOp: "mul",
    arith.RemSIOp: "rem",
    arith.SubiOp: "sub",
}
"""Control processor opcodes of `index` arithmetic."""


@dataclass(frozen=True)
class NpuTarget(Target):
    """
    Print the module's NPU program: machine, memory map and code.

    Requires a module with an `npu.program` and a target description.
    """

    name = "npu"

    function: str | None = None
    """Program to print; by default the only one that is not load-time preparation."""
    origins: bool = False
    """
    `True` to append the source location to every instruction, as a comment `;
    file:line:column`, which traps report.
    """

    def emit(self, ctx: Context, module: ModuleOp, output: IO[str]) -> None:
        """Write machine, memory map and code of the selected program to `output`."""
        programs = [op for op in module.ops if isinstance(op, npu.ProgramOp)]
        matches = [
            op
            for op in programs
            if (
                op.sym_name.data == self.function
                if self.function
                else not is_preparation_function(op)
            )
        ]
        names = ", ".join(op.sym_name.data for op in programs) or "none"
        if self.function is not None and not matches:
            raise DiagnosticException(
                f"expected a program of @{self.function}, got {names}"
            )
        if len(matches) != 1:
            hint = "" if programs else ": `-p npu-pipeline` lowers a function to one"
            raise DiagnosticException(
                f"expected one npu.program in the module, got {names}{hint}"
            )
        for line in _program_lines(
            target.TargetSpec.read_from_module(module), matches[0], self.origins
        ):
            print(line, file=output)


def _program_lines(
    machine: target.TargetSpec, program: npu.ProgramOp, prints_origins: bool
) -> Iterator[str]:
    """Yield the lines of a program: machine, memory map, semaphore count and code."""
    yield ".npu 1"
    yield from _machine_lines(machine)
    yield from _memory_map_lines(program)
    yield f".semaphores {program.semaphores.value.data}"
    yield ".code"
    yield from _CodePrinter(prints_origins).block_lines(program.body.block, "")


def _machine_lines(machine: target.TargetSpec) -> Iterator[str]:
    """Yield the `.machine`, `.level` and `.engine` lines of the target description."""
    scalars = {"name": re.sub(r"[\s\";]", "_", machine.name) or "unnamed"}
    for key in ("clock_ghz", "issue_cycles", "cores"):
        if key in machine.data:
            scalars[key] = str(machine.data[key])
    yield f".machine {_format_key_value_settings(scalars)}"
    # Outermost level first.
    levels = list(machine.levels.values())[::-1]
    for level in levels:
        keys = ("capacity", "bandwidth", "latency", "burst", "alignment")
        values = {key: str(getattr(level, key)) for key in keys}
        if level.shared:
            values["shared"] = "true"
        if machine.cores > 1:
            values["scope"] = level.scope
        yield f".level {level.name} {_format_key_value_settings(values)}"
    for engine in ("matrix", "vector"):
        if engine in machine.engines:
            yield (
                f".engine {engine} "
                f"{_format_key_value_settings(_flatten_engine_settings(machine.engines[engine]))}"
            )
    for outer, inner in pairwise(levels):
        for source, destination in ((outer, inner), (inner, outer)):
            name = npu.dma_engine_name(source.name, destination.name)
            line = f".engine {name} from={source.name} to={destination.name}"
            row = inner.indexed_row
            yield line if row is None else f"{line} indexed={row}"


def _format_location(location: FileLineColLoc) -> str:
    """Format a source location as `file:line:column`, on one line."""
    file = " ".join(location.filename.data.split())
    return f"{file}:{location.line.data}:{location.column.data}"


def _format_key_value_settings(values: Mapping[str, str]) -> str:
    return " ".join(f"{key}={value}" for key, value in sorted(values.items()))


def _flatten_engine_settings(engine: Mapping[str, Data]) -> dict[str, str]:
    """Return the settings of an engine; a table becomes one setting per entry."""
    flat: dict[str, str] = {}
    for key, value in engine.items():
        if isinstance(value, Mapping):
            flat |= {f"{key}.{name}": str(each) for name, each in value.items()}
        else:
            flat[key] = str(value).lower() if isinstance(value, bool) else str(value)
    return flat


def _memory_map_lines(program: npu.ProgramOp) -> Iterator[str]:
    """Yield an `.input`, `.output` or `.const` line per array in the memory map."""
    for buffer in npu.arrays_in_memory_map(program):
        words = [
            buffer.sym_name.data,
            buffer.level.data,
            str(buffer.address.value.data),
            str(buffer.type.element_type),
            "x".join(str(size) for size in buffer.type.get_shape()) or "scalar",
        ]
        if order := layout_of(buffer.type):
            words.append(f"order={','.join(map(str, order))}")
        match buffer:
            case npu.InputOp():
                yield f".input {' '.join(words)}"
            case npu.OutputOp():
                yield f".output {' '.join(words)}"
            case npu.ConstantOp():
                contents = base64.b64encode(_bytes_of_constant(buffer.value)).decode()
                yield f".const {' '.join(words)} {contents}"


def _bytes_of_constant(value: DenseIntOrFPElementsAttr) -> bytes:
    """Return the bytes of all elements: splats repeated, booleans as 0 or 1."""
    shaped = cast(TensorType[Attribute], value.type)
    dtype = dtype_of(shaped.element_type)
    data = value.data.data
    if len(data) == dtype.itemsize:
        data *= shaped.element_count()
    if dtype == np.bool_:
        data = np.not_equal(np.frombuffer(data, np.uint8), 0).tobytes()
    return data


@dataclass
class _CodePrinter:
    """Printer of a program's instructions, with names for its registers."""

    origins: bool
    names: dict[SSAValue, str] = field(default_factory=dict[SSAValue, str])
    used_names: set[str] = field(default_factory=set[str])
    last_suffixes: dict[str, int] = field(default_factory=dict[str, int])
    """The number of the last register of each stem."""

    def block_lines(self, block: Block, indent: str) -> Iterator[str]:
        """Yield the indented lines of a block, with source locations if `origins`."""
        for op in block.ops:
            lines = self.operation_lines(op)
            if self.origins and (location := nearest_location_of(op)) is not None:
                first = next(lines, None)
                if first is not None:
                    yield f"{indent}{first} ; {_format_location(location)}"
            yield from (indent + line for line in lines)

    def operation_lines(self, op: Operation) -> Iterator[str]:
        """Yield the program lines of `op`; none for constants, yields and arrays."""
        match op:
            case npu.InputOp() | npu.OutputOp() | npu.ConstantOp():
                return
            case arith.ConstantOp() | scf.YieldOp():
                return
            case scf.ForOp():
                yield from self.loop_lines(op)
            case npu.CoresOp():
                yield from self.cores_lines(op)
            case npu.EngineOp():
                yield self.format_instruction(op)
            case npu.SignalOp():
                yield f"signal {op.engine} s{op.semaphore_id}"
            case npu.WaitOp():
                yield f"wait {op.engine} s{op.semaphore_id}"
            case npu.HaltOp():
                yield "halt"
            case _ if type(op) in SCALAR_OPCODES:
                operands = " ".join(
                    self.format_index(operand) for operand in op.operands
                )
                yield (
                    f"{self.define_register(op.results[0])} = "
                    f"{SCALAR_OPCODES[type(op)]} {operands}"
                )
            case _:
                raise DiagnosticException(f"the npu has no instruction for {op.name}")

    def loop_lines(self, op: scf.ForOp) -> Iterator[str]:
        """Yield the lines of an `scf.for` and its body; raise if it carries values."""
        if op.iter_args:
            raise DiagnosticException(
                f"expected a loop without carried values, got {len(op.iter_args)}"
            )
        lower, upper, step = (
            self.format_index(each) for each in (op.lb, op.ub, op.step)
        )
        counter = self.define_register(op.body.block.args[0])
        yield f"loop {counter} = {lower} to {upper} step {step} {{"
        yield from self.block_lines(op.body.block, "  ")
        yield "}"

    def cores_lines(self, op: npu.CoresOp) -> Iterator[str]:
        yield f"cores {self.define_register(op.core_index)} {{"
        yield from self.block_lines(op.body.block, "  ")
        yield "}"

    def format_instruction(self, op: npu.EngineOp) -> str:
        """Return the text of a DMA, matmul, vector or reduce instruction."""
        match op:
            case npu.DmaOp():
                return self.format_dma(op)
            case npu.MatmulOp():
                return self.format_matmul(op)
            case npu.VectorOp():
                names = ("dst", "a", "b", "c")
                shape = self.format_index_tuple(op.mixed_shape)
                operands = self.format_operands(op, names)
                return f"vector {op.operation.data} {operands} shape={shape}"
            case npu.ReduceOp():
                shape, axes = (
                    self.format_index_tuple(list(array.get_values()))
                    for array in (op.shape, op.axes)
                )
                operands = self.format_operands(op, ("dst", "a"))
                text = f"reduce {op.operation.data} {operands}"
                text += f" shape={shape} axes={axes}"
                return text + self.format_accumulate(op)
            case _:
                raise DiagnosticException(f"the npu has no instruction for {op.name}")

    def format_dma(self, op: npu.DmaOp) -> str:
        """Return the text of a DMA with shape, index table, read ranges and fill."""
        destination, source = (
            self.format_address(each, has_type=False)
            for each in (op.destination, op.source)
        )
        text = f"dma {op.engine} dst={destination} src={source}"
        text += (
            f" shape={self.format_index_tuple(op.mixed_shape)} "
            f"type={op.source.element_type}"
        )
        if (indexed := op.indexed_rows) is not None:
            word = "scatter" if indexed.is_scatter else "gather"
            text += f" index={self.format_address(indexed.indices)}"
            rows = indexed.row_stride_bytes, indexed.axis_extent
            text += f" {word}={self.format_index_tuple(rows)}"
            text += " accumulate" if indexed.is_accumulating else ""
        if op.read_ranges:
            ranges = [
                f"{self.format_index(low)}:{self.format_index(high)}"
                for low, high in op.read_ranges
            ]
            text += f" inside=({', '.join(ranges)})"
        if op.fill is not None:
            text += f" fill={format_number(op.fill_value)}"
        return text

    def format_matmul(self, op: npu.MatmulOp) -> str:
        """Return the text of a matmul with batch, m, n and k extents and precision."""
        roles = [
            f"{name}={self.format_index_tuple(extents)}"
            for name, extents in zip(
                ("batch", "m", "n", "k"), op.batch_m_n_k_extents, strict=True
            )
        ]
        text = f"matmul {self.format_operands(op, ('c', 'a', 'b'))} {' '.join(roles)}"
        text += self.format_accumulate(op)
        if op.precision is not None:
            text += f" precision={op.precision.data}"
        return text

    def format_accumulate(self, op: npu.AccumulatingOp) -> str:
        if op.condition is not None:
            return f" accumulate={self.format_index(op.condition)}"
        return " accumulate" if op.accumulate else ""

    def format_operands(self, op: npu.EngineOp, names: Sequence[str]) -> str:
        """Return the operands as `name=value` texts, with `#` before constants."""
        texts = [
            f"{name}={self.format_operand(operand, op.destination)}"
            for name, operand in zip(names, op.addresses, strict=False)
        ]
        return " ".join(texts)

    def format_operand(
        self, operand: npu.Access | float, destination: npu.Access
    ) -> str:
        if isinstance(operand, npu.Access):
            return self.format_address(operand)
        return f"#{format_number(operand)}"

    def format_address(self, access: npu.Access, has_type: bool = True) -> str:
        """Return an access as `level[offset](strides)`, with `:type` if `has_type`."""
        base = str(access.offset)
        if access.base is not None:
            base = self.format_index(access.base)
            if not base.startswith("%"):
                base = str(int(base) + access.offset)
            elif access.offset:
                base = f"{base}{access.offset:+d}"
        suffix = f":{access.element_type}" if has_type else ""
        return (
            f"{access.level}[{base}]{self.format_index_tuple(access.strides)}{suffix}"
        )

    def format_index_tuple(self, values: Sequence[Index]) -> str:
        texts = [self.format_index(value) for value in values]
        return f"({', '.join(texts)})"

    def format_index(self, value: Index) -> str:
        """
        Return the text of an index: its value if constant, or its register's name.
        """
        if (constant := constant_value_of(value)) is not None:
            return str(constant)
        if isinstance(value, int) or value not in self.names:
            raise DiagnosticException("expected a value that the program computes")
        return self.names[value]

    def define_register(self, value: SSAValue) -> str:
        """
        Assign a new register name, such as `%r_1`, to a value, and return the name.
        """
        stem = re.sub(r"\W", "_", value.name_hint or "r")
        count = self.last_suffixes.get(stem, 0)
        name = f"%{stem}_{count}" if count else f"%{stem}"
        while name in self.used_names:
            count += 1
            name = f"%{stem}_{count}"
        self.last_suffixes[stem] = count
        self.used_names.add(name)
        self.names[value] = name
        return name
