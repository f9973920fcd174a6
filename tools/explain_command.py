"""Command `tlf-explain`: compilation of a program, and the report on its plans."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import TypeAlias

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation
from xdsl.passes import ModulePass
from xdsl.utils.exceptions import DiagnosticException

from tlf.compiler.backends.backends import CompilingBackend
from tlf.compiler.backends.executables import (
    NotSimulatedError,
    Outcome,
    Signature,
    SimulatedProgram,
)
from tlf.compiler.backends.prepared_program import PreparedProgram
from tlf.compiler.driver.compilation_records import (
    CompilationRecords,
    count_passes_until_last_remark,
)
from tlf.compiler.driver.diagnostics import locate_errors
from tlf.compiler.driver.driver import new_context
from tlf.compiler.driver.pass_manager import PassManager
from tlf.compiler.driver.pipeline import PipelineError
from tlf.compiler.driver.planning_observers import (
    count_passes_until_planned,
    has_planned_groups,
)
from tlf.compiler.driver.source import SourceError, read_source
from tlf.compiler.driver.source_names import SourceNames, find_named_operations
from tlf.compiler.driver.target_loading import load_target
from tlf.compiler.driver.verified_parsing import parse_and_verify
from tlf.compiler.explain.cost_estimates import GroupEstimator
from tlf.compiler.explain.group_costs import attribute_cycles_to_groups
from tlf.compiler.explain.kernel_costs import has_kernel_model
from tlf.compiler.explain.partition_choices import (
    Cost,
    PartitionChoice,
    RecordingPartitionPass,
)
from tlf.compiler.explain.plan_report import report_functions
from tlf.compiler.explain.remark_report import collect_remarks
from tlf.compiler.explain.report_data import Function, make_function_report
from tlf.compiler.explain.report_text import (
    format_group,
    format_overview,
    format_verdict,
)
from tlf.compiler.explain.summary import describe_groups
from tlf.compiler.explain.why_not_fused import FusionVerdict, explain_why_not_fused
from tlf.dialects.target import TargetSpec, parse_bytes
from tlf.passes.plan.graph_partition import GraphPartitionPass
from tlf.tools.explain_options import ExplainOptions

PassLimit: TypeAlias = "Callable[[Sequence[ModulePass]], int]"
"""Function from all passes to the number of passes to run."""

NO_GROUPS = "expected a program with groups that have plans, got none"


class ExplainError(Exception):
    """A program or question that cannot be explained; the message is one line."""


def explain(options: ExplainOptions) -> str:
    """
    Return the report that `options` request, as text. Raises `ExplainError`, and
    `CompileError` for an invalid program.
    """
    try:
        return _make_report(options)
    except (DiagnosticException, PipelineError, SourceError) as error:
        raise ExplainError(str(error)) from error
    except NotSimulatedError as error:
        raise ExplainError(str(error)) from error


@dataclass
class _Compilation:
    """One compilation of a program, with the reports and choices recorded during it."""

    source_module: ModuleOp
    """The program before all passes."""
    backend: CompilingBackend
    target: str
    names: SourceNames
    records: CompilationRecords = field(
        default_factory=lambda: CompilationRecords(records_stages=False)
    )
    partitioner: RecordingPartitionPass | None = None
    """Partition pass with its recorded choices, if the pipeline has one."""
    functions: Sequence[Function] = ()
    """Reports on functions with planned groups."""
    context: Context = field(default_factory=new_context)
    module: ModuleOp = field(init=False)
    """The program after all executed passes."""

    def run(self, pass_limit: PassLimit) -> Signature:
        """
        Lower a copy of the program into `module` by the first `pass_limit(passes)`
        passes of its pipeline; return its signature.
        """

        def manager(passes: Sequence[ModulePass]) -> PassManager:
            selected = [
                self._replace_by_recording_pass(each)
                for each in passes[: pass_limit(passes)]
            ]
            return self.records.make_pass_manager(selected, self._report_plans)

        self.module = self.source_module.clone()
        return self.backend.lower(self.context, self.module, manager)

    @property
    def choices(self) -> Sequence[PartitionChoice]:
        """Partitions chosen by the search, with their alternatives."""
        return () if self.partitioner is None else self.partitioner.choices

    def _replace_by_recording_pass(self, module_pass: ModulePass) -> ModulePass:
        """Return a recording copy of `graph-partition`; any other pass unchanged."""
        if not isinstance(module_pass, GraphPartitionPass):
            return module_pass
        recording = RecordingPartitionPass.with_options_of(module_pass)
        self.partitioner = self.partitioner or recording
        return recording

    def _report_plans(self, module: ModuleOp) -> None:
        """Report on a module with planned groups, before they are lowered to loops."""
        if has_kernel_model(self.backend.target):
            return
        with locate_errors(module, "the report"):
            self.functions = [
                make_function_report(each, self.target, self.choices, self.names)
                for each in report_functions(module)
            ]


def _make_report(options: ExplainOptions) -> str:
    """Compile the program, and return the report on kernels, on fusion or on groups."""
    source = read_source(options.file)
    module = parse_and_verify(new_context(), source)
    target, name = _select_target(options, module)
    backend = CompilingBackend(
        target, options.entry, Path(options.file).parent, options.passes
    )
    names = SourceNames(source)
    compilation = _Compilation(module, backend, name, names)
    if has_kernel_model(target):
        return _explain_kernels(options, compilation)
    GroupEstimator(target)
    pair = _parse_operation_pair(options.why_not_fuse, module, names)
    if pair is not None:
        compilation.run(count_passes_until_planned)
        return _explain_why_not_fused(compilation, pair, options.json)
    functions = _report_functions(options, compilation)
    if options.json:
        return json.dumps([asdict(each) for each in functions], indent=2)
    return "\n\n".join(_format_function(each, options.group) for each in functions)


def _report_functions(
    options: ExplainOptions, compilation: _Compilation
) -> Sequence[Function]:
    """
    Compile the program and return the report data of each function, with remarks or
    simulated costs as requested.
    """
    is_single_group = options.group is not None
    until = (
        len
        if options.simulate
        else count_passes_until_planned
        if is_single_group
        else count_passes_until_last_remark
    )
    signature = compilation.run(until)
    functions = compilation.functions
    if not functions:
        raise ExplainError(NO_GROUPS)
    if not is_single_group:
        remarks = collect_remarks(compilation.records)
        functions = [replace(e, remarks=remarks.get(e.name, ())) for e in functions]
    if options.simulate:
        outcome = _simulate_program(compilation, signature)
        target = compilation.backend.target
        functions = [_add_simulated_costs(each, outcome, target) for each in functions]
    return [_select_group(each, options.group) for each in functions]


def _explain_kernels(options: ExplainOptions, compilation: _Compilation) -> str:
    """
    Compile the program for a GPU and return predicted costs of its kernels, with
    remarks of passes, as text.
    """
    unsupported = {
        "--group": options.group is not None,
        "--why-not-fuse": options.why_not_fuse is not None,
        "--simulate": options.simulate,
        "--json": options.json,
    }
    for option, is_given in unsupported.items():
        if is_given:
            raise ExplainError(
                f"expected a target of the backend npu for {option}, "
                f"got {compilation.backend.target.name}"
            )
    compilation.run(count_passes_until_last_remark)
    planned = compilation.records.planned_module
    if planned is None or not has_planned_groups(planned):
        raise ExplainError(NO_GROUPS)
    return describe_groups(planned, collect_remarks(compilation.records))


def _parse_operation_pair(
    text: str | None, module: ModuleOp, names: SourceNames
) -> tuple[str, str] | None:
    """
    Return the two names in `text` of the form `A,B`, or `None` if it is `None`. Raises
    `ExplainError` for a name that `module` lacks.
    """
    if text is None:
        return None
    parts = [each.strip() for each in text.split(",")]
    if len(parts) != 2:
        raise ExplainError(f"expected two names `A,B`, got `{text}`")
    for name in parts:
        if not any(names.is_named(op, name) for op in module.walk()):
            raise _unknown_name_error(name)
    return parts[0], parts[1]


def _unknown_name_error(name: str) -> ExplainError:
    """Return the error for a `name` from the command line that no operation has."""
    return ExplainError(
        "expected the name of a result, or a place `line:column`, of something "
        f"that is computed at every call, got `{name}`"
    )


def _select_target(options: ExplainOptions, module: ModuleOp) -> tuple[TargetSpec, str]:
    """
    Return the target of the options, else of `module`, else `npu`, with the requested
    capacity of L2, and its display name.
    """
    if options.target is None and TargetSpec.is_attached_to(module):
        target, name = (
            TargetSpec.read_from_module(module),
            TargetSpec.read_from_module(module).name,
        )
    else:
        name = options.target or "npu"
        target = load_target(name)
    if options.l2 is not None:
        target = target.with_capacities({"L2": parse_bytes(options.l2)})
        name = f"{name} with L2 of {options.l2}"
    return target, name


def _select_group(function: Function, group_index: int | None) -> Function:
    """
    Return a copy of a function's report with one group only; the report itself if
    `group_index` is `None`.
    """
    if group_index is None:
        return function
    if not 0 <= group_index < len(function.groups):
        raise ExplainError(
            f"expected a group from 0 to {len(function.groups) - 1} of "
            f"@{function.name}, got {group_index}"
        )
    return replace(function, groups=[function.groups[group_index]])


def _format_function(function: Function, group_index: int | None) -> str:
    """Return overview, groups and remarks as text; a single group has no overview."""
    parts = [] if group_index is not None else ["\n".join(format_overview(function))]
    parts += ["\n".join(format_group(each)) for each in function.groups]
    if function.remarks:
        parts.append("\n".join(map(str, function.remarks)))
    return "\n\n".join(parts)


def _simulate_program(compilation: _Compilation, signature: Signature) -> Outcome:
    """Return the simulated cost of the compiled program, without preparations."""
    executable = compilation.backend.build(
        compilation.context, compilation.module, signature
    )
    if isinstance(executable, PreparedProgram):
        executable = executable.main
    if not isinstance(executable, SimulatedProgram):
        raise NotSimulatedError
    return executable.simulate_timing()


def _add_simulated_costs(
    function: Function, outcome: Outcome, target: TargetSpec
) -> Function:
    """
    Return a copy of a function's report with simulated costs of a run, in total and by
    group.
    """
    figures, level = outcome.figures, target.outermost_level.name
    moved = figures.get(f"{level}.read", 0) + figures.get(f"{level}.written", 0)
    locations = [
        frozenset(
            each.location for each in group.operations if each.location is not None
        )
        for group in function.groups
    ]
    group_cycles = attribute_cycles_to_groups(locations, outcome.segments)
    groups = [
        replace(group, simulated_cycles=group_cycles.get(group.number))
        for group in function.groups
    ]
    total = Cost(int(figures["cycles"]), int(moved))
    return replace(function, groups=groups, simulated=total)


def _explain_why_not_fused(
    compilation: _Compilation, names: tuple[str, str], as_json: bool
) -> str:
    """
    Return the verdict on two named operations, as text or JSON. Raises `ExplainError`
    if the pipeline has no `graph-partition`.
    """
    partitioner = compilation.partitioner
    if partitioner is None or not partitioner.modules_before:
        raise ExplainError("expected a pipeline with `graph-partition`")
    before = partitioner.modules_before[0]
    pairs = [_find_operations(compilation, before, name) for name in names]
    with locate_errors(before, "the search"):
        verdict = explain_why_not_fused(
            before,
            _closest_pair(*pairs),
            compilation.backend.target,
            partitioner,
            partitioner.choices,
        )
    if as_json:
        return json.dumps({"names": names, **_verdict_to_dict(verdict)}, indent=2)
    return "\n".join(format_verdict(names, verdict))


def _verdict_to_dict(verdict: FusionVerdict) -> dict[str, object]:
    return {**asdict(verdict), "cycle_difference": verdict.cycle_difference}


def _find_operations(
    compilation: _Compilation, unmerged_module: ModuleOp, name: str
) -> Sequence[Operation]:
    """Return the operations that originate from a name, before groups are merged."""
    operations = find_named_operations(
        compilation.source_module, unmerged_module, compilation.names, name
    )
    if not operations:
        raise _unknown_name_error(name)
    return operations


def _closest_pair(
    first_operations: Sequence[Operation], second_operations: Sequence[Operation]
) -> tuple[Operation, Operation]:
    """Return the closest pair of operations from two locations, in program order."""
    order = {
        op: index
        for index, op in enumerate(_operations_of_enclosing_module(first_operations[0]))
    }
    if order[first_operations[-1]] <= order[second_operations[-1]]:
        return first_operations[-1], second_operations[0]
    return first_operations[0], second_operations[-1]


def _operations_of_enclosing_module(op: Operation) -> list[Operation]:
    """
    Return the outermost ancestor of `op` and all operations nested in it, in pre-order.
    """
    top = op
    while (parent := top.parent_op()) is not None:
        top = parent
    return list(top.walk())
