"""Executables: compiled programs behind one protocol for all backends."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias, cast

import numpy as np
from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp

from tlf.compiler.backends.npu_report_rows import Row, report_figures, report_rows
from tlf.compiler.driver.diagnostics import locate_errors
from tlf.dialects.entry_point import argument_names, result_names
from tlf.dialects.interfaces import Array
from tlf.dialects.interpreters.interpret import interpret_poison_free

if TYPE_CHECKING:
    from tlf.runtime.npu.npu_program import Program as NpuProgram
    from tlf.runtime.npu.run_metrics import Segment
    from tlf.runtime.triton.executable import Executable as TritonExecutable

Buffer: TypeAlias = Any
"""A numpy array, or a torch tensor where the backend takes them."""


def is_tensor(value: object) -> bool:
    """Return `True` if a value is a torch tensor, without loading torch."""
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(value, torch.Tensor)


@dataclass
class Outcome:
    """The results of a run, and what is known of its cost as rows of a table."""

    results: Mapping[str, Buffer]
    rows: Sequence[Row] = ()
    figures: Mapping[str, float] = field(default_factory=dict[str, float])
    """Figures of its cost, by name."""
    artifacts: Mapping[str, str] = field(default_factory=dict[str, str])
    """Texts that the run came from, by file name."""
    segments: Sequence[Segment] = ()
    """Progress of a simulated program over time."""


@dataclass(frozen=True)
class Preparation:
    """The function that computes the last arguments of another one."""

    name: str
    argument_indices: tuple[int, ...]
    """Indices of the arguments of the other function that it takes."""
    results: int


@dataclass(frozen=True)
class Signature:
    """The names of the arguments and results of a function."""

    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    name: str = ""
    preparation: Preparation | None = None

    @staticmethod
    def of(function: func.FuncOp) -> Signature:
        """The names that `function` gives."""
        name = function.sym_name.data
        return Signature(argument_names(function), result_names(function), name)

    def split(self, prepared: Preparation) -> tuple[Signature, Signature]:
        """The signatures of the preparation, and of the function it prepares."""
        names = tuple(f"prepared {number}" for number in range(prepared.results))
        taken = tuple(self.inputs[position] for position in prepared.argument_indices)
        return (
            Signature(taken, names, prepared.name),
            Signature((*self.inputs, *names), self.outputs, self.name),
        )


class NotSimulatedError(Exception):
    """The time of a program was asked for that no simulator runs."""

    def __init__(self) -> None:
        super().__init__("expected a target of the backend npu for the time of a run")


class Executable(Protocol):
    """A compiled program, to run as often as wanted."""

    @property
    def artifacts(self) -> Mapping[str, str]:
        """Texts that it runs from, by file name."""
        ...

    @property
    def takes_tensors(self) -> bool:
        """True if it runs on torch tensors in place, not on numpy arrays only."""
        ...

    def device_for(self, inputs: Mapping[str, Buffer]) -> Any:
        """The device of torch that a run takes place on, None for that of numpy."""
        ...

    def __call__(self, inputs: Mapping[str, Buffer], device: Any = None) -> Outcome:
        """Run on arrays by the names of arguments, on a device if that is known."""
        ...


class HostExecutable:
    """A program that runs where numpy does."""

    def device_for(self, inputs: Mapping[str, Buffer]) -> None:
        """No device of torch."""


@dataclass(frozen=True)
class InterpretedProgram(HostExecutable):
    """A program that the interpreters of its dialects run, on numpy arrays."""

    module: ModuleOp
    entry: str | None
    names: tuple[str, ...]
    artifacts: Mapping[str, str] = field(default_factory=dict[str, str])
    takes_tensors: bool = False

    def __call__(self, inputs: Mapping[str, Buffer], device: Any = None) -> Outcome:
        with locate_errors(self.module, "the reference"):
            arrays = cast(Mapping[str, Array], inputs)
            results = interpret_poison_free(self.module, arrays, self.entry)
        # Results may be views of arguments, of constants or of each other.
        fresh = [np.array(each, order="C") for each in results]
        return Outcome(dict(zip(self.names, fresh, strict=True)))


@dataclass(frozen=True)
class EmptyProgram(HostExecutable):
    """A program without results: there is nothing to run."""

    artifacts: Mapping[str, str] = field(default_factory=dict[str, str])
    takes_tensors: bool = True

    def __call__(self, inputs: Mapping[str, Buffer], device: Any = None) -> Outcome:
        return Outcome({})


@dataclass(frozen=True)
class SimulatedProgram(HostExecutable):
    """A program of the simulated NPU, on numpy arrays."""

    program: NpuProgram
    signature: Signature
    artifacts: Mapping[str, str]
    takes_tensors: bool = False

    @staticmethod
    def of(text: str, base: Path, signature: Signature) -> SimulatedProgram:
        """The program that `text` holds."""
        from tlf.runtime import npu

        program = npu.parse(text, base)
        return SimulatedProgram(program, signature, {"program.npu": text})

    def __call__(self, inputs: Mapping[str, Buffer], device: Any = None) -> Outcome:
        from tlf.runtime import npu

        values = [cast(Array, inputs[name]) for name in self.signature.inputs]
        named = dict(zip(self.program.inputs, values, strict=True))
        report = npu.run(self.program, named)
        outputs = report.outputs.values()
        results = dict(zip(self.signature.outputs, outputs, strict=True))
        found = report_rows(report), report_figures(report), self.artifacts
        return Outcome(results, *found, report.segments)

    def time(self) -> Outcome:
        """Return the cost of a run from timing alone: no data, no results."""
        from tlf.runtime import npu

        report = npu.run(self.program, {}, functional=False)
        found = report_rows(report), report_figures(report), self.artifacts
        return Outcome({}, *found, report.segments)


@dataclass(frozen=True)
class TritonKernels:
    """Kernels of Triton, on numpy arrays or torch tensors."""

    executable: TritonExecutable
    signature: Signature
    artifacts: Mapping[str, str]
    takes_tensors: bool = True
    as_tensors: bool | None = None
    """
    True if results are torch tensors; if `None`, they are where all arguments are.
    """

    @staticmethod
    def of(text: str, signature: Signature) -> TritonKernels:
        """The plan that `text` holds, its kernels loaded."""
        from tlf.runtime import triton

        executable = triton.prepare(triton.load_plan(text))
        return TritonKernels(executable, signature, {"program.triton.py": text})

    def device_for(self, inputs: Mapping[str, Buffer]) -> Any:
        """That of the tensors among the arguments, or the usual one."""
        return self.executable.device_for(inputs.values())

    def __call__(self, inputs: Mapping[str, Buffer], device: Any = None) -> Outcome:
        values = [inputs[name] for name in self.signature.inputs]
        found = self.executable(values, self.as_tensors, device)
        results = dict(zip(self.signature.outputs, found.values(), strict=True))
        kernels = len(self.executable.plan.kernels)
        row = ("kernels", str(kernels))
        return Outcome(results, [row], {"kernels": kernels}, self.artifacts)
