"""Command `tlf-opt`: parsing of a program, its passes, and the output text."""

from __future__ import annotations

import sys
import traceback
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass
from xdsl.universe import XDSL_UNIVERSE
from xdsl.utils.exceptions import DiagnosticException
from xdsl.utils.target import Target

from tlf.compiler.driver.diagnostics import CompileError, Diagnostic, locate_errors
from tlf.compiler.driver.driver import (
    PASSES,
    TARGETS,
    emit_text,
    new_context,
    parse_module,
)
from tlf.compiler.driver.expected_diagnostics import (
    ExpectationError,
    find_expectations,
    match_diagnostics,
)
from tlf.compiler.driver.pass_manager import PassManager, PrintAfter, VerifyEach
from tlf.compiler.driver.pipeline import PipelineError, build_passes, build_target
from tlf.compiler.driver.source import Source, SourceError, read_source, write_text_file
from tlf.compiler.driver.source_names import SourceNames
from tlf.compiler.driver.target_loading import load_target
from tlf.compiler.driver.timing import Timing
from tlf.compiler.driver.universe import TLF_UNIVERSE
from tlf.dialects import target as descriptions
from tlf.lowering.pipelines import PIPELINES, pipelines_for
from tlf.support.progress import report_step
from tlf.tools.opt_options import OptOptions


class UsageError(Exception):
    """An invalid request on the command line."""


def run(options: OptOptions) -> bool:
    """
    Execute `options`; return `True` on success. Problems are printed to stderr. Raises
    `UsageError`.
    """
    for stream in (sys.stdout, sys.stderr):
        reconfigure: Any = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(encoding="utf-8")
    try:
        if options.list:
            print(_list_names())
            return True
        opt = OptRun.from_options(options)
        source = read_source(options.input)
        succeeded = opt.process_source(source)
        text = "// -----\n".join(opt.outputs)
        if options.output is None:
            sys.stdout.write(text)
        elif succeeded:
            write_text_file(options.output, text)
    except CompileError as error:
        print(error.diagnostic, file=sys.stderr)
        return False
    except (PipelineError, SourceError, DiagnosticException) as error:
        raise UsageError(str(error)) from error
    if options.timing:
        print(opt.timing.format_table(), file=sys.stderr)
    return succeeded


@dataclass
class OptRun:
    """State of one run of `tlf-opt`: resolved options, timings, and outputs so far."""

    options: OptOptions
    passes: Sequence[ModulePass]
    output_format: Target
    target: descriptions.TargetSpec | None
    timing: Timing = field(default_factory=Timing)
    outputs: list[str] = field(default_factory=list[str])
    """Printed parts of the source that had no errors."""

    @classmethod
    def from_options(cls, options: OptOptions) -> OptRun:
        """
        Resolve the names in `options`. Raises `PipelineError`, and
        `DiagnosticException` for a target description.
        """
        target = _load_target(options)
        known = pipelines_for(target)
        passes = build_passes(",".join(options.passes), PASSES, known)
        build_passes(",".join(options.print_ir_after), PASSES, {})
        output = build_target(options.emit, TARGETS)
        return cls(options, passes, output, target)

    def process_source(self, source: Source) -> bool:
        """Process all of `source`; return `True` if there were no problems."""
        parts = (
            source.split_at_separators() if self.options.split_input_file else [source]
        )
        problems = [problem for part in parts for problem in self._process_part(part)]
        for problem in problems:
            print(problem, file=sys.stderr)
        return not problems

    def _process_part(self, source_part: Source) -> Sequence[object]:
        """
        Compile one part of the source, and append its text to `outputs` on success;
        return errors, or mismatches with expected ones.
        """
        expects = self.options.verify_diagnostics
        try:
            expectations = find_expectations(source_part) if expects else []
        except ExpectationError as error:
            return [error]
        diagnostics: list[Diagnostic] = []
        try:
            self.outputs.append(self._compile_part(source_part))
        except CompileError as error:
            if self.options.traceback:
                traceback.print_exception(error)
            diagnostics.append(error.diagnostic)
        return match_diagnostics(expectations, diagnostics) if expects else diagnostics

    def _compile_part(self, source_part: Source) -> str:
        """Parse one part, run the passes on it, and return it in the output format."""
        options = self.options
        context = new_context(options.allow_unregistered_dialect)
        with (
            report_step("parse"),
            self.timing.measure("(parse)"),
            locate_errors(None, "the parser"),
        ):
            module = parse_module(context, source_part, not options.no_implicit_module)
        if self.target is not None:
            self.target.attach_to_module(module)
        if options.groups:
            self._run_and_print_group_costs(context, module, source_part)
        else:
            self._make_manager(self.passes).run(context, module)
        with (
            report_step("print"),
            self.timing.measure("(print)"),
            locate_errors(module, "the printer"),
        ):
            return emit_text(
                context,
                module,
                self.output_format,
                print_generic_format=options.print_op_generic,
                print_debuginfo=options.print_debuginfo,
            )

    def _run_and_print_group_costs(
        self, context: Context, module: ModuleOp, source_part: Source
    ) -> None:
        """Run the passes, and print the predicted costs of groups to stderr."""
        # Imported late because it loads passes that the program may not need.
        from tlf.compiler.driver.planning_observers import insert_planning_observer
        from tlf.compiler.explain.group_costs import GroupTable

        table = GroupTable(SourceNames(source_part))
        self._make_manager(
            insert_planning_observer(self.passes, table.record_module)
        ).run(context, module)
        for title, text in table.cost_rows((), None):
            print(f"{title:<14}  {text}", file=sys.stderr)

    def _make_manager(self, passes: Sequence[ModulePass]) -> PassManager:
        """Return a pass manager that verifies and prints as the options say."""
        options = self.options
        print_after = PrintAfter.CHOSEN
        if options.print_ir_after_change:
            print_after = PrintAfter.CHANGE
        if options.print_ir_after_all:
            print_after = PrintAfter.ALL
        return PassManager(
            passes,
            verify_each=_verification_of(options),
            print_after=print_after,
            printed_passes=frozenset(options.print_ir_after),
            timing=self.timing,
        )


def _verification_of(options: OptOptions) -> VerifyEach:
    if options.disable_verify:
        return VerifyEach.NOTHING
    return VerifyEach(options.verify_each)


def _load_target(options: OptOptions) -> descriptions.TargetSpec | None:
    """Return the target, with L2 of size `--l2` if given; `None` without `--target`."""
    if options.target is None:
        if options.l2 is not None:
            raise UsageError("expected `--target` with `--l2`")
        return None
    target = load_target(options.target)
    if options.l2 is None:
        return target
    return target.with_capacities({"L2": descriptions.parse_bytes(options.l2)})


def _list_names() -> str:
    """
    Return the names that `-p`, `-t` and `--target` accept, with passes of xDSL and
    plugins last.
    """
    groups = {
        "passes": TLF_UNIVERSE.all_passes,
        "pipelines": PIPELINES,
        "formats": TARGETS,
        "target descriptions": descriptions.preset_names(),
        "passes of xDSL": XDSL_UNIVERSE.all_passes,
        "passes of plugins": PASSES.plugin_names(),
    }
    return "\n".join(
        f"{title}:\n" + "".join(f"  {name}\n" for name in sorted(names))
        for title, names in groups.items()
        if names
    ).rstrip()
