"""What `tlf-explain` does once its command line is read."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation
from xdsl.utils.exceptions import DiagnosticException

from tlf.dialects.target import Target, bytes_of
from tlf.passes.explain.apart import Verdict, why_apart
from tlf.passes.explain.choices import Choice, Cost, RecordingPartitionPass
from tlf.passes.explain.pricing import Pricing
from tlf.passes.explain.report import reports
from tlf.tools.backends import CompilingBackend
from tlf.tools.described import load_target
from tlf.tools.diagnostics import errors_located
from tlf.tools.driver import new_context
from tlf.tools.executables import NotSimulatedError, Outcome, Simulated
from tlf.tools.explain_data import Function, function_of
from tlf.tools.explain_options import Options
from tlf.tools.explain_text import answer, details, overview
from tlf.tools.group_costs import simulated
from tlf.tools.kernel_costs import has_kernels
from tlf.tools.pipeline import PipelineError
from tlf.tools.planned import Planned, has_plans, plan
from tlf.tools.prepared_program import PreparedProgram
from tlf.tools.remarks import remarks
from tlf.tools.source import SourceError, read_source
from tlf.tools.source_names import SourceNames, operations_named
from tlf.tools.told_groups import told
from tlf.tools.verified import parse_verified

NO_GROUPS = "expected a program with groups that have plans, got none"


class ExplainError(Exception):
    """Something that cannot be explained; the message is one line."""


def explain(options: Options) -> str:
    """
    What `options` ask for, as text. Raises `ExplainError`, and `CompileError` for a
    wrong program.
    """
    try:
        return _explain(options)
    except (DiagnosticException, PipelineError, SourceError) as error:
        raise ExplainError(str(error)) from error
    except NotSimulatedError as error:
        raise ExplainError(str(error)) from error


@dataclass(frozen=True)
class _Explained:
    """A program that has plans, and what they were chosen from."""

    written: ModuleOp
    """As it was before all passes."""
    module: ModuleOp
    backend: CompilingBackend
    target: str
    names: SourceNames
    planned: Planned

    @property
    def partitioner(self) -> RecordingPartitionPass | None:
        """The pass that put groups together, if there was one."""
        return self.planned.partitioner

    @property
    def choices(self) -> Sequence[Choice]:
        """What was chosen from."""
        return () if self.partitioner is None else self.partitioner.choices


def _explain(options: Options) -> str:
    source = read_source(options.file)
    context = new_context()
    module = parse_verified(context, source)
    target, name = _target(options, module)
    backend = CompilingBackend(
        target, options.entry, Path(options.file).parent, options.passes
    )
    if has_kernels(target):
        return _kernels(options, context, module, backend)
    Pricing(target)
    names = SourceNames(source)
    pair = _pair(options.why_not_fuse, module, names)
    written = module.clone()
    planned = plan(backend, context, module)
    explained = _Explained(written, module, backend, name, names, planned)
    if pair is not None:
        return _why_not_fuse(explained, pair, options.json)
    functions = _functions(explained)
    if options.group is None:
        said = remarks(context, module, planned)
        functions = [replace(e, remarks=said.get(e.name, ())) for e in functions]
    if options.simulate:
        outcome = _simulated(context, written, backend)
        functions = [_achieved(each, outcome, target) for each in functions]
    functions = [_only(each, options.group) for each in functions]
    if options.json:
        return json.dumps([asdict(each) for each in functions], indent=2)
    return "\n\n".join(_text(each, options.group) for each in functions)


def _kernels(
    options: Options, context: Context, module: ModuleOp, backend: CompilingBackend
) -> str:
    """What the kernels for a GPU do, and what passes told of them."""
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
                f"got {backend.target.name}"
            )
    planned = plan(backend, context, module)
    if not has_plans(module):
        raise ExplainError(NO_GROUPS)
    return told(module, remarks(context, module, planned))


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


def _functions(explained: _Explained) -> list[Function]:
    with errors_located(explained.module, "the report"):
        found = [
            function_of(each, explained.target, explained.choices, explained.names)
            for each in reports(explained.module)
        ]
    if not found:
        raise ExplainError(NO_GROUPS)
    return found


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


def _simulated(
    context: Context, module: ModuleOp, backend: CompilingBackend
) -> Outcome:
    """What the compiled program takes on the simulator, preparations left out."""
    signature = backend.lower(context, module)
    executable = backend.build(context, module, signature)
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


def _why_not_fuse(explained: _Explained, names: tuple[str, str], as_json: bool) -> str:
    partitioner = explained.partitioner
    if partitioner is None or not partitioner.before:
        raise ExplainError("expected a pipeline with `graph-partition`")
    before = partitioner.before[0]
    pairs = [_found(explained, before, name) for name in names]
    with errors_located(before, "the search"):
        verdict = why_apart(
            before,
            _nearest(*pairs),
            explained.backend.target,
            partitioner,
            partitioner.choices,
        )
    if as_json:
        return json.dumps({"names": names, **_plain(verdict)}, indent=2)
    return "\n".join(answer(names, verdict))


def _plain(verdict: Verdict) -> dict[str, object]:
    return {**asdict(verdict), "stake": verdict.stake}


def _found(explained: _Explained, before: ModuleOp, name: str) -> Sequence[Operation]:
    """The operations that come from what is called so, before groups are merged."""
    found = operations_named(explained.written, before, explained.names, name)
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
