"""API: programs that were compiled in this process, with their stages."""

from __future__ import annotations

import time
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp

from tlf.compiler.api.argument_conversion import ArgumentType
from tlf.compiler.api.callable_program import CallableProgram
from tlf.compiler.api.runtime_checks import RuntimeChecks
from tlf.compiler.backends.backends import CompilingBackend, select_backend
from tlf.compiler.backends.cached_compilation import compile_with_cache
from tlf.compiler.backends.emitted_program import EmittedProgram
from tlf.compiler.backends.executables import Executable, Signature
from tlf.compiler.backends.interpreted_program import format_self_contained
from tlf.compiler.driver.diagnostics import locate_errors
from tlf.compiler.driver.entry_function import entry_function_of
from tlf.compiler.driver.module_verifier import verify_module
from tlf.compiler.driver.source import Source, read_source
from tlf.dialects.entry_point import argument_types
from tlf.dialects.parameter_attribute import is_parameter
from tlf.dialects.target import TargetSpec
from tlf.dialects.types import dtype_of

if TYPE_CHECKING:
    from tlf.compiler.driver.compilation_records import CompilationRecords


class CompiledProgram(CallableProgram):
    """
    A callable program with its stages and explanations. The passes do not run for a
    program of the cache, until a stage or an explanation is asked for.
    """

    def __init__(
        self,
        module: ModuleOp,
        target: str | TargetSpec = "reference",
        entry: str | None = None,
        side_file_folder: Path = Path(),
        passes: str | None = None,
        check_indices: bool = False,
        cache: bool = True,
    ) -> None:
        self.module = module
        self.target = target
        started = time.perf_counter()
        with locate_errors(None, "the target"):
            self._backend = select_backend(target, entry, side_file_folder, passes)
        with locate_errors(module, "the verifier"):
            verify_module(module)
        types = _read_argument_types(module, entry)
        self.source = module.clone()
        """Program that is compiled: `module` with its checks."""
        function = entry_function_of(self.source, entry)
        checks = RuntimeChecks.insert_into(function) if check_indices else None
        self.emitted: EmittedProgram | None = None
        """Emitted program; `None` for the reference."""
        self.is_cached = False
        """True if the emitted program was in the cache."""
        signature, executable = self._compile(cache)
        super().__init__(signature, types, executable, checks)
        self._figures["compile_seconds"] = time.perf_counter() - started

    def _compile(self, uses_cache: bool) -> tuple[Signature, Executable]:
        """Return the executable with its signature."""
        if not isinstance(self._backend, CompilingBackend):
            signature, lowered = self._lower()
            executable = self._backend.build(self._context, lowered, signature)
            return signature, executable
        backend = self._backend

        def emit() -> tuple[Signature, EmittedProgram]:
            signature, lowered = self._lower()
            return signature, backend.emit(self._context, lowered, signature)

        result = compile_with_cache(self.source, backend, emit, uses_cache)
        self.emitted, self.is_cached = result.emitted, result.is_cached
        return result.signature, result.executable

    def _lower(self) -> tuple[Signature, ModuleOp]:
        """Run the passes on a copy of the program, and record them."""
        self._records, signature, module = self._run_passes(records_stages=False)
        return signature, module

    def _run_passes(
        self, records_stages: bool
    ) -> tuple[CompilationRecords, Signature, ModuleOp]:
        """Run the passes on a copy of the program, and return their records, too."""
        # Imported only here: a program of the cache needs no pass.
        from tlf.compiler.driver.compilation_records import CompilationRecords

        records = CompilationRecords(records_stages)
        module = self.source.clone()
        signature = self._backend.lower(
            self._context, module, records.make_pass_manager
        )
        return records, signature, module

    @property
    def target_name(self) -> str:
        """Name of the target, as its description has it."""
        if isinstance(self._backend, CompilingBackend):
            return self._backend.target.name
        return "reference"

    def format_source(self) -> str:
        """Return the text of the program that is compiled, with all constants in it."""
        return format_self_contained(self.source)

    @cached_property
    def _context(self) -> Context:
        """Context of the passes."""
        from tlf.compiler.driver.driver import new_context

        return new_context()

    @cached_property
    def _records(self) -> CompilationRecords:
        """Records of the passes, which are run if the program is of the cache."""
        self._lower()
        return self._records

    @cached_property
    def _modules(self) -> Mapping[str, ModuleOp]:
        """
        Program after each pass, by name. The passes are run again, as few users look at
        it, and a copy after each pass takes time and memory.
        """
        return self._run_passes(records_stages=True)[0].stages

    @property
    def stages(self) -> tuple[str, ...]:
        """Valid arguments of `ir`: `input`, each pass, and the generated texts."""
        return ("input", *self._modules, *self.executable.artifacts)

    def ir(self, stage: str = "input") -> str:
        """Return the program at a stage. Raises `KeyError` for an unknown stage."""
        if stage in self.executable.artifacts:
            return self.executable.artifacts[stage]
        stages = {"input": self.module, **self._modules}
        if stage not in stages:
            raise KeyError(f"expected a stage among {', '.join(self.stages)}")
        return f"{stages[stage]!s}\n"

    def explain(self) -> str:
        """
        Return a description of the groups: a line with the plan of each, then its lower
        bound and predicted time where known. Remarks of passes follow: rewrites that
        were applied, and rewrites that were missed with the reason.
        """
        return self._explanation

    @cached_property
    def _explanation(self) -> str:
        """
        Description of planned groups with remarks, or a sentence if there are none.
        """
        from tlf.compiler.driver.planning_observers import has_planned_groups
        from tlf.compiler.explain.remark_report import collect_remarks
        from tlf.compiler.explain.summary import describe_groups

        planned = self._records.planned_module
        if planned is None or not has_planned_groups(planned):
            return "the reference runs each operation by itself"
        return describe_groups(planned, collect_remarks(self._records))


def _read_argument_types(module: ModuleOp, entry: str | None) -> list[ArgumentType]:
    """Return the declared types of the arguments. Raises `CompileError`."""
    function = entry_function_of(module, entry)
    with locate_errors(function, "the arguments"):
        types = argument_types(function)
    weights = map(is_parameter, function.body.block.args)
    return [
        ArgumentType(tuple(type_.get_shape()), dtype_of(type_.element_type).name, each)
        for type_, each in zip(types, weights, strict=False)
    ]


def read_verified_program(program: str | Path | ModuleOp) -> tuple[ModuleOp, Path]:
    """
    Return a verified module, given as text, as a file or as a module, and the folder
    that its paths are relative to. A string with a line break is text; any other string
    is a path.
    """
    from tlf.compiler.driver.driver import new_context
    from tlf.compiler.driver.verified_parsing import parse_and_verify

    if isinstance(program, ModuleOp):
        with locate_errors(program, "the verifier"):
            verify_module(program)
        return program, Path()
    if isinstance(program, str) and "\n" in program:
        return parse_and_verify(new_context(), Source(program, "<text>")), Path()
    source = read_source(str(program))
    return parse_and_verify(new_context(), source), Path(program).parent
