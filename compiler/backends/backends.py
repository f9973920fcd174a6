"""
Backends: compilation of modules to executables of the reference interpreter, the
simulated NPU, or Triton.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Protocol, TypeAlias

from xdsl.context import Context
from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation
from xdsl.passes import ModulePass

from tlf.compiler.backends.emitted_program import EmittedProgram
from tlf.compiler.backends.executables import Executable, Preparation, Signature
from tlf.compiler.backends.interpreted_program import InterpretedProgram
from tlf.compiler.driver.diagnostics import locate_errors
from tlf.compiler.driver.entry_function import entry_function_of, isolate_entry_function
from tlf.compiler.driver.pass_manager import PassManager
from tlf.compiler.driver.target_loading import load_target
from tlf.dialects import npu
from tlf.dialects.entry_point import result_argument_count
from tlf.dialects.npu_element_types import unsupported_type_message
from tlf.dialects.target import TargetSpec
from tlf.dialects.weight_preparation_attributes import (
    argument_indices_of_preparation,
    find_preparation_function,
)
from tlf.support.progress import report_step

ManagerFactory: TypeAlias = "Callable[[Sequence[ModulePass]], PassManager]"
"""Factory of a pass manager for a sequence of passes."""


class Backend(Protocol):
    """
    Protocol of a backend: `lower` changes a module in place, `build` makes an
    executable.
    """

    def lower(
        self,
        context: Context,
        module: ModuleOp,
        make_manager: ManagerFactory = PassManager,
    ) -> Signature:
        """
        Run the passes on `module` in place; return the signature of its entry function.
        """
        ...

    def build(
        self, context: Context, module: ModuleOp, signature: Signature
    ) -> Executable:
        """Return an executable of a lowered module."""
        ...


@dataclass(frozen=True)
class ReferenceBackend:
    """
    Backend that interprets a module on numpy arrays, lowered only by `passes`, if
    given.
    """

    entry: str | None
    passes: str | None = None
    """Passes to run first; they must not need a target."""

    def lower(
        self,
        context: Context,
        module: ModuleOp,
        make_manager: ManagerFactory = PassManager,
    ) -> Signature:
        """
        Run only `passes`, if given, on `module`; return the signature of its entry.
        """
        if self.passes is not None:
            make_manager(_build_pipeline(self.passes, None)).run(context, module)
        return Signature.from_function(entry_function_of(module, self.entry))

    def build(
        self, context: Context, module: ModuleOp, signature: Signature
    ) -> Executable:
        return InterpretedProgram(module, self.entry, signature.outputs)


@dataclass(frozen=True)
class CompilingBackend:
    """
    Backend that lowers the program with the pipeline of its target, and runs the
    emitted text.
    """

    target: TargetSpec
    entry: str | None
    side_file_folder: Path
    """The folder that paths of side files are relative to."""
    passes: str | None = None
    """Pipeline to run instead of the default of the backend."""

    def lower(
        self,
        context: Context,
        module: ModuleOp,
        make_manager: ManagerFactory = PassManager,
    ) -> Signature:
        """
        Run the target's pipeline on the isolated entry; add the preparation that it
        split off to the returned signature.
        """
        function = entry_function_of(module, self.entry)
        signature = Signature.from_function(function)
        isolate_entry_function(module, function)
        self.target.attach_to_module(module)
        pipeline = self.passes or f"{self.target.backend}-pipeline"
        make_manager(_build_pipeline(pipeline, self.target)).run(context, module)
        return add_preparation_to_signature(module, signature)

    def build(
        self, context: Context, module: ModuleOp, signature: Signature
    ) -> Executable:
        """
        Return one executable, or a `PreparedProgram` if the signature has a
        preparation.
        """
        emitted = self.emit(context, module, signature)
        return emitted.build_executable(signature, self.side_file_folder)

    def emit(
        self, context: Context, module: ModuleOp, signature: Signature
    ) -> EmittedProgram:
        """
        Return the text of the function `signature.name` of a lowered module, and that
        of its preparation.
        """
        preparation, preparation_text = signature.preparation, ""
        if preparation is not None:
            preparation_text = self._emit_function(context, module, preparation.name)
        text = self._emit_function(context, module, signature.name)
        return EmittedProgram(self.target.backend, text, preparation, preparation_text)

    def _emit_function(self, context: Context, module: ModuleOp, name: str) -> str:
        """Return the text of one function of a lowered module."""
        from tlf.compiler.driver.driver import TARGETS, emit_text
        from tlf.compiler.driver.pipeline import build_target

        backend = self.target.backend
        options = "{origins=true}" if backend == "npu" else ""
        printer: Any = build_target(f"{backend}{options}", TARGETS)
        with report_step("emit"), locate_errors(module, f"target `{backend}`"):
            return emit_text(context, module, replace(printer, function=name))


def _build_pipeline(pipeline: str, target: TargetSpec | None) -> Sequence[ModulePass]:
    """
    Return the passes of a pipeline for a target. Passes are imported only here, because
    a program of the cache needs none.
    """
    from tlf.compiler.driver.driver import PASSES
    from tlf.compiler.driver.pipeline import build_passes
    from tlf.lowering.pipelines import pipelines_for

    return build_passes(pipeline, PASSES, pipelines_for(target))


def add_preparation_to_signature(module: ModuleOp, signature: Signature) -> Signature:
    """Return the signature of a function after its module was lowered."""
    return replace(signature, preparation=_find_preparation(module, signature.name))


def _find_preparation(module: ModuleOp, name: str) -> Preparation | None:
    """
    Return the preparation that computes arguments of the function `name` of a lowered
    module; `None` if there is none.
    """
    preparation = find_preparation_function(module, name)
    if not isinstance(preparation, npu.ProgramOp | func.FuncOp):
        return None
    count = lowered_result_count(preparation)
    return Preparation(
        preparation.sym_name.data, argument_indices_of_preparation(preparation), count
    )


def lowered_result_count(op: npu.ProgramOp | func.FuncOp) -> int:
    """Return the number of results of a lowered function."""
    if isinstance(op, func.FuncOp):
        return result_argument_count(op)
    return sum(isinstance(each, npu.OutputOp) for each in npu.arrays_in_memory_map(op))


def select_backend(
    name: str | TargetSpec,
    entry: str | None,
    side_file_folder: Path,
    passes: str | None = None,
) -> Backend:
    """
    Return the backend for `reference`, or for a target given by its description, name
    or file.
    """
    if name == "reference":
        return ReferenceBackend(entry, passes)
    target = load_target(name, ["reference"]) if isinstance(name, str) else name
    return CompilingBackend(target, entry, side_file_folder, passes)


def takes_tensors_in_place(target: str | TargetSpec) -> bool:
    """
    Return `True` if programs for a target use tensors where they are, in their layouts.
    Raises `CompileError` and `DiagnosticException` like `load_target`.
    """
    if target == "reference":
        return False
    machine = load_target(target, ["reference"]) if isinstance(target, str) else target
    return machine.backend == "triton"


def make_type_objection(target: str | TargetSpec) -> Callable[[Operation], str | None]:
    """
    Return a function that returns the reason why a target does not support the element
    types of an operation of `graph`, as far as it is known without compiling; `None` if
    there is no such reason.
    """
    if target == "reference":
        return lambda op: None
    machine = load_target(target, ["reference"]) if isinstance(target, str) else target
    if machine.backend != "npu":
        return lambda op: None
    return lambda op: unsupported_type_message(op, machine)
