"""Implementation of `tlf-explain` behind its command line."""

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
    Simulated,
)
from tlf.compiler.backends.prepared_program import PreparedProgram
from tlf.compiler.driver.described import load_target
from tlf.compiler.driver.diagnostics import errors_located
from tlf.compiler.driver.driver import new_context
from tlf.compiler.driver.pass_manager import PassManager
from tlf.compiler.driver.pipeline import PipelineError
from tlf.compiler.driver.planned import has_plans, planned_after
from tlf.compiler.driver.records import Records, told_after
from tlf.compiler.driver.source import SourceError, read_source
from tlf.compiler.driver.source_names import SourceNames, operations_named
from tlf.compiler.driver.verified import parse_verified
from tlf.compiler.explain.apart import Verdict, why_apart
from tlf.compiler.explain.choices import Choice, Cost, RecordingPartitionPass
from tlf.compiler.explain.explain_data import Function, function_of
from tlf.compiler.explain.explain_text import answer, details, overview
from tlf.compiler.explain.group_costs import simulated
from tlf.compiler.explain.kernel_costs import has_kernels
from tlf.compiler.explain.pricing import Pricing
from tlf.compiler.explain.remarks import remarks
from tlf.compiler.explain.report import reports
from tlf.compiler.explain.told_groups import told
from tlf.dialects.target import Target, bytes_of
from tlf.passes.plan.graph_partition import GraphPartitionPass
from tlf.tools.explain_options import Options

Until: TypeAlias = "Callable[[Sequence[ModulePass]], int]"
"""Function that gives the number of passes to run, from all passes."""

NO_GROUPS = "expected a program with groups that have plans, got none"


class ExplainError(Exception):
    """Something that cannot be explained; the message is one line."""


def explain(options: Options) -> str:
    """
    Return the report that `options` ask for, as text. Raises `ExplainError`, and
    `CompileError` for a wrong program.
    """
    try:
        return _explain(options)
    except (DiagnosticException, PipelineError, SourceError) as error:
        raise ExplainError(str(error)) from error
    except NotSimulatedError as error:
        raise ExplainError(str(error)) from error


@dataclass
class _Compilation:
    """
    One compilation of a program, as far as it is to be told of, and what was chosen
    from on the way.
    """

    written: ModuleOp
    """The program before all passes."""
    backend: CompilingBackend
    target: str
    names: SourceNames
    records: Records = field(default_factory=lambda: Records(keeps_stages=False))
    partitioner: RecordingPartitionPass | None = None
    """The pass that put groups together, if there was one."""
    functions: Sequence[Function] = ()
    """Reports on functions whose groups have plans."""
    context: Context = field(default_factory=new_context)
    module: ModuleOp = field(init=False)
    """The program after all passes that ran."""

    def run(self, until: Until) -> Signature:
        """Run the pipeline of the target, or the first of its passes."""

        def manager(passes: Sequence[ModulePass]) -> PassManager:
            chosen = [self._recording(each) for each in passes[: until(passes)]]
            return self.records.manager(chosen, self._look_at)

        self.module = self.written.clone()
        return self.backend.lower(self.context, self.module, manager)

    @property
    def choices(self) -> Sequence[Choice]:
        """The choices of groups, with their alternatives."""
        return () if self.partitioner is None else self.partitioner.choices

    def _recording(self, each: ModulePass) -> ModulePass:
        if not isinstance(each, GraphPartitionPass):
            return each
        recording = RecordingPartitionPass.like(each)
        self.partitioner = self.partitioner or recording
        return recording

    def _look_at(self, module: ModuleOp) -> None:
        """Tell of a module whose groups have plans, before they become loops."""
        if has_kernels(self.backend.target):
            return
        with errors_located(module, "the report"):
            self.functions = [
                function_of(each, self.target, self.choices, self.names)
                for each in reports(module)
            ]


def _explain(options: Options) -> str:
    source = read_source(options.file)
    module = parse_verified(new_context(), source)
    target, name = _target(options, module)
    backend = CompilingBackend(
        target, options.entry, Path(options.file).parent, options.passes
    )
    names = SourceNames(source)
    compilation = _Compilation(module, backend, name, names)
    if has_kernels(target):
        return _kernels(options, compilation)
    Pricing(target)
    pair = _pair(options.why_not_fuse, module, names)
    if pair is not None:
        compilation.run(planned_after)
        return _why_not_fuse(compilation, pair, options.json)
    functions = _functions(options, compilation)
    if options.json:
        return json.dumps([asdict(each) for each in functions], indent=2)
    return "\n\n".join(_text(each, options.group) for each in functions)


def _functions(options: Options, compilation: _Compilation) -> Sequence[Function]:
    """Return the report on each function, from one compilation."""
    is_alone = options.group is not None
    until = len if options.simulate else planned_after if is_alone else told_after
    signature = compilation.run(until)
    functions = compilation.functions
    if not functions:
        raise ExplainError(NO_GROUPS)
    if not is_alone:
        said = remarks(compilation.records)
        functions = [replace(e, remarks=said.get(e.name, ())) for e in functions]
    if options.simulate:
        outcome = _simulated(compilation, signature)
        target = compilation.backend.target
        functions = [_achieved(each, outcome, target) for each in functions]
    return [_only(each, options.group) for each in functions]


def _kernels(options: Options, compilation: _Compilation) -> str:
    """Return the report on the kernels for a GPU, with the remarks of passes."""
    given = {
        "--group": options.group is not None,
        "--why-not-fuse": options.why_not_fuse is not None,
        "--simulate": options.simulate,
        "--json": options.json,
    }
    for option, is_given in given.items():
        if is_given:
            raise ExplainError(
                f"expected a target of the backend npu for {option}, "
                f"got {compilation.backend.target.name}"
            )
    compilation.run(told_after)
    planned = compilation.records.planned
    if planned is None or not has_plans(planned):
        raise ExplainError(NO_GROUPS)
    return told(planned, remarks(compilation.records))


def _pair(
    words: str | None, module: ModuleOp, names: SourceNames
) -> tuple[str, str] | None:
    """The two names in `A,B`, if they are asked for."""
    if words is None:
        return None
    found = [each.strip() for each in words.split(",")]
    if len(found) != 2:
        raise ExplainError(f"expected two names `A,B`, got `{words}`")
    for name in found:
        if not any(names.is_named(op, name) for op in module.walk()):
            raise _unknown(name)
    return found[0], found[1]


def _unknown(name: str) -> ExplainError:
    return ExplainError(
        "expected the name of a result, or a place `line:column`, of something "
        f"that is computed at every call, got `{name}`"
    )


def _target(options: Options, module: ModuleOp) -> tuple[Target, str]:
    """The target, and what it is called."""
    if options.target is None and Target.is_known(module):
        target, name = Target.of(module), Target.of(module).name
    else:
        name = options.target or "npu"
        target = load_target(name)
    if options.l2 is not None:
        target = target.resized({"L2": bytes_of(options.l2)})
        name = f"{name} with L2 of {options.l2}"
    return target, name


def _only(function: Function, number: int | None) -> Function:
    """A function with one of its groups."""
    if number is None:
        return function
    if not 0 <= number < len(function.groups):
        raise ExplainError(
            f"expected a group from 0 to {len(function.groups) - 1} of "
            f"@{function.name}, got {number}"
        )
    return replace(function, groups=[function.groups[number]])


def _text(function: Function, number: int | None) -> str:
    parts = [] if number is not None else ["\n".join(overview(function))]
    parts += ["\n".join(details(each)) for each in function.groups]
    if function.remarks:
        parts.append("\n".join(map(str, function.remarks)))
    return "\n\n".join(parts)


def _simulated(compilation: _Compilation, signature: Signature) -> Outcome:
    """
    Return the cost of the compiled program on the simulator, preparations left out.
    """
    executable = compilation.backend.build(
        compilation.context, compilation.module, signature
    )
    if isinstance(executable, PreparedProgram):
        executable = executable.main
    if not isinstance(executable, Simulated):
        raise NotSimulatedError
    return executable.time()


def _achieved(function: Function, outcome: Outcome, target: Target) -> Function:
    """A function with what a simulated run of it took."""
    figures, level = outcome.figures, target.outermost.name
    moved = figures.get(f"{level}.read", 0) + figures.get(f"{level}.written", 0)
    places = [
        frozenset(each.place for each in group.operations if each.place is not None)
        for group in function.groups
    ]
    spent = simulated(places, outcome.stretches)
    groups = [
        replace(group, simulated_cycles=spent.get(group.number))
        for group in function.groups
    ]
    whole = Cost(int(figures["cycles"]), int(moved))
    return replace(function, groups=groups, simulated=whole)


def _why_not_fuse(
    compilation: _Compilation, names: tuple[str, str], as_json: bool
) -> str:
    partitioner = compilation.partitioner
    if partitioner is None or not partitioner.before:
        raise ExplainError("expected a pipeline with `graph-partition`")
    before = partitioner.before[0]
    pairs = [_found(compilation, before, name) for name in names]
    with errors_located(before, "the search"):
        verdict = why_apart(
            before,
            _nearest(*pairs),
            compilation.backend.target,
            partitioner,
            partitioner.choices,
        )
    if as_json:
        return json.dumps({"names": names, **_plain(verdict)}, indent=2)
    return "\n".join(answer(names, verdict))


def _plain(verdict: Verdict) -> dict[str, object]:
    return {**asdict(verdict), "stake": verdict.stake}


def _found(
    compilation: _Compilation, before: ModuleOp, name: str
) -> Sequence[Operation]:
    """The operations that come from what is called so, before groups are merged."""
    found = operations_named(compilation.written, before, compilation.names, name)
    if not found:
        raise _unknown(name)
    return found


def _nearest(
    first: Sequence[Operation], second: Sequence[Operation]
) -> tuple[Operation, Operation]:
    """
    Of operations that come from two places, those that are to run together: the last
    of the one that comes first, and the first of the other.
    """
    order = {op: number for number, op in enumerate(_all(first[0]))}
    if order[first[-1]] <= order[second[-1]]:
        return first[-1], second[0]
    return first[0], second[-1]


def _all(op: Operation) -> list[Operation]:
    """All operations of a module in order."""
    top = op
    while (parent := top.parent_op()) is not None:
        top = parent
    return list(top.walk())
