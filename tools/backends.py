"""The ways to run a program: by reference, on the simulated NPU, or with Triton."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias, cast

from xdsl.context import Context
from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from tlf.dialects.interfaces import Array
from tlf.dialects.interpreters.run import (
    argument_names,
    entry_point,
    interpret,
    result_names,
)
from tlf.dialects.target import Target, load
from tlf.lowering.pipelines import pipelines_for
from tlf.tools.diagnostics import errors_located
from tlf.tools.driver import PASSES, TARGETS, emit
from tlf.tools.pass_manager import PassManager
from tlf.tools.pipeline import build_passes, build_target

if TYPE_CHECKING:
    from tlf.runtime.npu import Report as NpuReport
    from tlf.runtime.npu.program import Program as NpuProgram
    from tlf.runtime.triton.executable import Executable as TritonExecutable

Row = tuple[str, str]

Buffer: TypeAlias = Any
"""A numpy array, or a torch tensor where the backend takes them."""

Manager: TypeAlias = "Callable[[Sequence[ModulePass]], PassManager]"
"""How a pass manager for a sequence of passes is made."""


@dataclass
class Outcome:
    """The results of a run, and what is known of its cost as rows of a table."""

    results: Mapping[str, Buffer]
    rows: Sequence[Row] = ()
    figures: Mapping[str, float] = field(default_factory=dict[str, float])
    """What is known of its cost, as numbers."""
    artifacts: Mapping[str, str] = field(default_factory=dict[str, str])
    """Texts that the run came from, by file name."""


@dataclass(frozen=True)
class Signature:
    """The names of the arguments and results of a function."""

    inputs: tuple[str, ...]
    outputs: tuple[str, ...]

    @staticmethod
    def of(function: func.FuncOp) -> Signature:
        """The names that `function` gives."""
        return Signature(argument_names(function), result_names(function))


class Executable(Protocol):
    """A compiled program, to run as often as wanted."""

    @property
    def artifacts(self) -> Mapping[str, str]:
        """Texts that it runs from, by file name."""
        ...

    @property
    def takes_tensors(self) -> bool:
        """Whether it runs on torch tensors where they lie, not on numpy arrays only."""
        ...

    def __call__(self, inputs: Mapping[str, Buffer]) -> Outcome:
        """Run on arrays by the names of arguments."""
        ...


class Backend(Protocol):
    """Compiles a module."""

    def lower(
        self, context: Context, module: ModuleOp, manager: Manager = PassManager
    ) -> Signature:
        """Run the passes, changing `module`; return how it is called."""
        ...

    def build(
        self, context: Context, module: ModuleOp, signature: Signature
    ) -> Executable:
        """Make a lowered module ready to run."""
        ...


@dataclass(frozen=True)
class Interpreted:
    """A program that the interpreters of its dialects run, on numpy arrays."""

    module: ModuleOp
    entry: str | None
    names: tuple[str, ...]
    artifacts: Mapping[str, str] = field(default_factory=dict[str, str])
    takes_tensors: bool = False

    def __call__(self, inputs: Mapping[str, Buffer]) -> Outcome:
        with errors_located(self.module, "the reference"):
            arrays = cast(Mapping[str, Array], inputs)
            results = interpret(self.module, arrays, self.entry)
        return Outcome(dict(zip(self.names, results, strict=True)))


@dataclass(frozen=True)
class ReferenceBackend:
    """Interprets the program as it is, on numpy arrays."""

    entry: str | None
    passes: str | None = None
    """The passes to run before, for those that need no target."""

    def lower(
        self, context: Context, module: ModuleOp, manager: Manager = PassManager
    ) -> Signature:
        if self.passes is not None:
            passes = build_passes(self.passes, PASSES, pipelines_for(None))
            manager(passes).run(context, module)
        return Signature.of(entry_point(module, self.entry))

    def build(
        self, context: Context, module: ModuleOp, signature: Signature
    ) -> Executable:
        return Interpreted(module, self.entry, signature.outputs)


@dataclass(frozen=True)
class CompilingBackend:
    """
    Lowers the program with the pipeline of its target, and runs the text that comes
    out.
    """

    target: Target
    entry: str | None
    base: Path
    """The folder that paths of side files start from."""
    passes: str | None = None
    """The pipeline to run instead of the backend's own."""

    def lower(
        self, context: Context, module: ModuleOp, manager: Manager = PassManager
    ) -> Signature:
        function = entry_point(module, self.entry)
        signature = Signature.of(function)
        drop_others(module, function)
        self.target.attach(module)
        pipeline = self.passes or f"{self.target.backend}-pipeline"
        passes = build_passes(pipeline, PASSES, pipelines_for(self.target))
        manager(passes).run(context, module)
        return signature

    def build(
        self, context: Context, module: ModuleOp, signature: Signature
    ) -> Executable:
        backend = self.target.backend
        with errors_located(module, f"target `{backend}`"):
            text = emit(context, module, build_target(backend, TARGETS))
        if backend == "npu":
            return Simulated.of(text, self.base, signature)
        return Launched.of(text, signature)


@dataclass(frozen=True)
class Simulated:
    """A program of the simulated NPU, on numpy arrays."""

    program: NpuProgram
    signature: Signature
    artifacts: Mapping[str, str]
    takes_tensors: bool = False

    @staticmethod
    def of(text: str, base: Path, signature: Signature) -> Simulated:
        """The program that `text` holds."""
        from tlf.runtime import npu

        program = npu.parse(text, base)
        return Simulated(program, signature, {"program.npu": text})

    def __call__(self, inputs: Mapping[str, Buffer]) -> Outcome:
        from tlf.runtime import npu

        values = [cast(Array, inputs[name]) for name in self.signature.inputs]
        named = dict(zip(self.program.inputs, values, strict=True))
        report = npu.run(self.program, named)
        outputs = report.outputs.values()
        results = dict(zip(self.signature.outputs, outputs, strict=True))
        rows = [
            ("cycles", f"{report.cycles:,}"),
            ("time", f"{report.seconds * 1e6:,.1f} us at {report.clock_ghz:g} GHz"),
            ("lower bound", f"{report.bound:,} cycles"),
            ("instructions", f"{sum(report.instructions.values()):,}"),
        ]
        for name, traffic in report.traffic.items():
            moved = f"{traffic.read:,} read, {traffic.written:,} written"
            peak = f"peak use {report.peak.get(name, 0):,}"
            rows.append((f"{name} bytes", f"{moved}; {peak}"))
        return Outcome(results, rows, _figures(report), self.artifacts)


def _figures(report: NpuReport) -> dict[str, float]:
    """Cycles, seconds, and bytes by level."""
    figures: dict[str, float] = {
        "cycles": report.cycles,
        "bound": report.bound,
        "seconds": report.seconds,
        "instructions": sum(report.instructions.values()),
    }
    for name, traffic in report.traffic.items():
        figures[f"{name}.read"] = traffic.read
        figures[f"{name}.written"] = traffic.written
        figures[f"{name}.peak"] = report.peak.get(name, 0)
    return figures


@dataclass(frozen=True)
class Launched:
    """Kernels of Triton, on numpy arrays or torch tensors."""

    executable: TritonExecutable
    signature: Signature
    artifacts: Mapping[str, str]
    takes_tensors: bool = True

    @staticmethod
    def of(text: str, signature: Signature) -> Launched:
        """The plan that `text` holds, its kernels loaded."""
        from tlf.runtime import triton

        executable = triton.prepare(triton.load_plan(text))
        return Launched(executable, signature, {"program.triton.py": text})

    def __call__(self, inputs: Mapping[str, Buffer]) -> Outcome:
        values = [inputs[name] for name in self.signature.inputs]
        found = self.executable(values)
        results = dict(zip(self.signature.outputs, found.values(), strict=True))
        kernels = len(self.executable.plan.kernels)
        rows = [("kernels", str(kernels))]
        return Outcome(results, rows, {"kernels": kernels}, self.artifacts)


def drop_others(module: ModuleOp, entry: func.FuncOp) -> None:
    """Erase the functions of a module that `entry` needs neither itself nor inside."""
    functions = {
        op.sym_name.data: op for op in module.ops if isinstance(op, func.FuncOp)
    }
    needed, pending = set[str](), [entry.sym_name.data]
    while pending:
        if (name := pending.pop()) in needed or name not in functions:
            continue
        needed.add(name)
        pending += [
            op.callee.string_value()
            for op in functions[name].walk()
            if isinstance(op, func.CallOp)
        ]
    for name, function in functions.items():
        if name not in needed:
            function.detach()
            function.erase()


def backend_named(
    name: str | Target, entry: str | None, base: Path, passes: str | None = None
) -> Backend:
    """
    The backend for `reference`, or for a target description by its name or file.
    """
    if name == "reference":
        return ReferenceBackend(entry, passes)
    target = load(name) if isinstance(name, str) else name
    return CompilingBackend(target, entry, base, passes)
