"""The ways to run a program: by reference, on the simulated NPU, or with Triton."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

import numpy as np
from xdsl.context import Context
from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp

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

Row = tuple[str, str]


@dataclass
class Outcome:
    """The results of a run, and what is known of its cost as rows of a table."""

    results: Mapping[str, Array]
    rows: Sequence[Row] = ()
    artifacts: Mapping[str, str] = field(default_factory=dict[str, str])
    """Texts that the run came from, by file name."""


class Backend(Protocol):
    """Compiles a module and runs it."""

    def run(
        self, context: Context, module: ModuleOp, inputs: Mapping[str, Array]
    ) -> Outcome:
        """Compile `module`, changing it, and run it on arrays by argument name."""
        ...


@dataclass(frozen=True)
class ReferenceBackend:
    """Interprets the program as it is, on numpy arrays."""

    entry: str | None
    passes: str | None = None
    """The passes to run before, for those that need no target."""

    def run(
        self, context: Context, module: ModuleOp, inputs: Mapping[str, Array]
    ) -> Outcome:
        """Interpret the module."""
        if self.passes is not None:
            passes = build_passes(self.passes, PASSES, pipelines_for(None))
            PassManager(passes).run(context, module)
        names = result_names(entry_point(module, self.entry))
        with errors_located(module, "the reference"):
            results = interpret(module, inputs, self.entry)
        return Outcome(dict(zip(names, results, strict=True)))


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

    def run(
        self, context: Context, module: ModuleOp, inputs: Mapping[str, Array]
    ) -> Outcome:
        """Compile and run the module."""
        function = entry_point(module, self.entry)
        arguments = argument_names(function)
        names = result_names(function)
        drop_others(module, function)
        self.target.attach(module)
        backend = self.target.backend
        pipeline = self.passes or f"{backend}-pipeline"
        passes = build_passes(pipeline, PASSES, pipelines_for(self.target))
        PassManager(passes).run(context, module)
        with errors_located(module, f"target `{backend}`"):
            text = emit(context, module, build_target(backend, TARGETS))
        values = [inputs[name] for name in arguments]
        if backend == "npu":
            return self._simulate(text, values, names)
        return self._launch(text, values, names)

    def _simulate(
        self, text: str, values: Sequence[Array], names: Sequence[str]
    ) -> Outcome:
        from tlf.runtime import npu

        program = npu.parse(text, self.base)
        report = npu.run(program, dict(zip(program.inputs, values, strict=True)))
        results = dict(zip(names, report.outputs.values(), strict=True))
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
        return Outcome(results, rows, {"program.npu": text})

    def _launch(
        self, text: str, values: Sequence[Array], names: Sequence[str]
    ) -> Outcome:
        from tlf.runtime import triton

        plan = triton.load_plan(text)
        outputs = triton.run(plan, values)
        arrays = [np.asarray(output) for output in outputs.values()]
        results = dict(zip(names, arrays, strict=True))
        rows = [("kernels", str(len(plan.kernels)))]
        return Outcome(results, rows, {"program.triton.py": text})


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
