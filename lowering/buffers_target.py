"""
Output target `buffers`: emission of the live ranges of a function's buffers in one
memory level as text.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import IO

from xdsl.context import Context
from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp
from xdsl.utils.exceptions import DiagnosticException
from xdsl.utils.target import Target

from tlf.analysis.buffers.mem_liveness import MemLiveness, to_allocation_buffer
from tlf.dialects import mem, target
from tlf.dialects.weight_preparation_attributes import is_preparation_function


@dataclass(frozen=True)
class BuffersTarget(Target):
    """
    Print a function's allocations in one memory level as comma-separated values.

    The format is the input of `tlf-plan`: live ranges in steps of the function, sizes
    in bytes, and the offsets assigned by `mem-plan`, if it has run. Requires a module
    with a function of `mem` and a target description.
    """

    name = "buffers"

    level: str | None = None
    """Memory level; by default the innermost level with allocations."""

    function: str | None = None
    """Symbol name; by default the only function that is not load-time preparation."""

    def emit(self, ctx: Context, module: ModuleOp, output: IO[str]) -> None:
        """Write a CSV row per allocation of the chosen memory level to `output`."""
        machine = target.TargetSpec.read_from_module(module)
        function = self._find_function_to_print(module)
        levels = machine.levels
        if self.level is not None and self.level not in levels:
            raise DiagnosticException(
                f"expected a level of {', '.join(levels)}, got {self.level}"
            )
        ops = [op for op in function.body.walk() if isinstance(op, mem.AllocOp)]
        used = [each for each in levels if any(op.level == each for op in ops)]
        chosen = self.level or next(iter(used), next(iter(levels)))
        liveness = MemLiveness.of(function.body)
        print("id,lower,upper,size,alignment,offset", file=output)
        names: dict[str, int] = {}
        for op in ops:
            if op.level != chosen:
                continue
            buffer = to_allocation_buffer(op, liveness, levels[chosen].alignment)
            (span,) = buffer.spans
            offset = "" if op.offset is None else op.offset.value.data
            print(
                f"{_unique_buffer_name(op, names)},{span.start},{span.end},"
                f"{buffer.size},{buffer.alignment},{offset}",
                file=output,
            )

    def _find_function_to_print(self, module: ModuleOp) -> func.FuncOp:
        """
        Return the selected function of `module`; raise `DiagnosticException` unless
        exactly one function matches.
        """
        functions = [
            op
            for op in module.walk()
            if isinstance(op, func.FuncOp) and not op.is_declaration
        ]
        matches = [
            op
            for op in functions
            if (
                op.sym_name.data == self.function
                if self.function
                else not is_preparation_function(op)
            )
        ]
        if len(matches) != 1:
            names = ", ".join(op.sym_name.data for op in functions) or "none"
            expected = (
                f"a function @{self.function}" if self.function else "one function"
            )
            raise DiagnosticException(f"expected {expected} in the module, got {names}")
        return matches[0]


def _unique_buffer_name(op: mem.AllocOp, name_counts: dict[str, int]) -> str:
    """Return the buffer's name hint, with a suffix if the name is already used."""
    name = op.buffer.name_hint or "buffer"
    name_counts[name] = name_counts.get(name, 0) + 1
    return name if name_counts[name] == 1 else f"{name}.{name_counts[name] - 1}"
