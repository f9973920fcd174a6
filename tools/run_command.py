"""
Command `tlf-run`: compilation of a program, its run, and the table of its cost and
errors.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.utils.exceptions import DiagnosticException

from tlf.compiler.api.runtime_checks import RuntimeChecks
from tlf.compiler.backends.backends import Backend, select_backend
from tlf.compiler.backends.executables import (
    NotSimulatedError,
    Outcome,
    Signature,
    SimulatedProgram,
)
from tlf.compiler.backends.npu_report_rows import Row
from tlf.compiler.backends.prepared_program import PreparedProgram
from tlf.compiler.driver.diagnostics import locate_errors
from tlf.compiler.driver.driver import new_context
from tlf.compiler.driver.entry_function import entry_function_of
from tlf.compiler.driver.pipeline import PipelineError
from tlf.compiler.driver.planning_observers import make_observed_manager_factory
from tlf.compiler.driver.source import SourceError, read_source, write_text_file
from tlf.compiler.driver.source_names import SourceNames
from tlf.compiler.driver.target_loading import load_target
from tlf.compiler.driver.verified_parsing import parse_and_verify
from tlf.compiler.explain.group_costs import GroupTable
from tlf.dialects.entry_point import result_names
from tlf.dialects.interfaces import Array
from tlf.dialects.interpreters.interpret import interpret_poison_free
from tlf.dialects.target import TargetSpec, parse_bytes
from tlf.runtime.array_file import write_array_file
from tlf.runtime.npu.npu_errors import NPUError
from tlf.runtime.triton.runtime_errors import TritonRuntimeError
from tlf.support.progress import report_step
from tlf.tools.run_check import Comparison, compare_result
from tlf.tools.run_inputs import InputError, make_inputs
from tlf.tools.run_layouts import declare_layouts
from tlf.tools.run_options import RunOptions

FAILURES = (
    DiagnosticException,
    InputError,
    NPUError,
    NotSimulatedError,
    PipelineError,
    SourceError,
    TritonRuntimeError,
)

NO_RESULTS = (
    "expected results for `--check`, got none: the attribute `tlf.results` of a "
    "function on buffers says how many of its last arguments are results"
)


class RunError(Exception):
    """A run that failed; the message is one line."""


def run(options: RunOptions) -> bool:
    """
    Execute `options` and print a table; return `True` if the results are correct.
    Raises `RunError`, and `CompileError` for an invalid program.
    """
    try:
        return _compile_and_run(options)
    except FAILURES as error:
        raise RunError(str(error)) from error
    except MemoryError as error:
        raise RunError(f"out of memory: {error}") from error
    except BrokenPipeError:
        raise
    except OSError as error:
        raise RunError(f"cannot write `{error.filename}`: {error.strerror}") from error


def _compile_and_run(options: RunOptions) -> bool:
    """Compile, run and report a program; return `True` if all results are correct."""
    source = read_source(options.file)
    context = new_context()
    module = parse_and_verify(context, source)
    function = entry_function_of(module, options.entry)
    declare_layouts(function, options.layout)
    base = Path(options.file).parent
    name = options.target or _default_target(module)
    target = _with_l2_size(name, options.l2) if options.l2 is not None else name
    backend = select_backend(target, options.entry, base, options.passes)
    table = GroupTable(SourceNames(source))
    if options.dump_dir is not None:
        _check_folder_is_writable(options.dump_dir)
    if options.timing:
        return _compile_and_time(
            context, module, backend, options, _display_name_of(name), table
        )
    if options.check and not result_names(function):
        raise InputError(NO_RESULTS)
    inputs = make_inputs(function, options.input, options.seed)
    references = _compute_references(module, inputs, options) if options.check else None
    checks = RuntimeChecks.insert_into(function) if options.check_indices else None
    started = time.perf_counter()
    signature = _lower_and_record(backend, context, module, options, table)
    outcome = backend.build(context, module, signature)(inputs)
    if checks is not None:
        outcome.results = checks.verify_and_strip(outcome.results)
    elapsed = time.perf_counter() - started
    comparisons = _compare_results(outcome, references)
    _print_report(options, _display_name_of(name), table, outcome, comparisons, elapsed)
    if options.dump_dir is not None:
        _dump_files(options.dump_dir, outcome, module)
    return all(comparison.is_within_tolerance for comparison in comparisons)


def _print_report(
    options: RunOptions,
    target_name: str,
    table: GroupTable,
    outcome: Outcome,
    comparisons: Sequence[Comparison],
    elapsed: float,
) -> None:
    """
    Print the table of a run: its cost, shapes and dtypes of results, and comparisons.
    """
    rows = [
        ("program", f"{options.file} on {target_name}"),
        *outcome.rows,
        *_group_rows(table, outcome),
        *_result_rows(outcome.results),
        *(comparison.to_row() for comparison in comparisons),
        ("compiled and run in", f"{elapsed:.1f} s"),
    ]
    print(_format_rows(rows))


def _compare_results(
    outcome: Outcome, references: Sequence[Array] | None
) -> list[Comparison]:
    """Return the comparison of each result with its reference, if there are any."""
    with report_step("compare results"):
        return [
            compare_result(name, result, reference)
            for (name, result), reference in zip(
                outcome.results.items(), references or (), strict=references is not None
            )
        ]


def _lower_and_record(
    backend: Backend,
    context: Context,
    module: ModuleOp,
    options: RunOptions,
    table: GroupTable,
) -> Signature:
    """Lower the module, and record the predicted costs of groups if requested."""
    if not options.groups:
        return backend.lower(context, module)
    return backend.lower(
        context, module, make_observed_manager_factory(table.record_module)
    )


def _group_rows(table: GroupTable, outcome: Outcome) -> Iterator[Row]:
    cycles = outcome.figures.get("cycles")
    return table.cost_rows(outcome.segments, None if cycles is None else int(cycles))


def _compile_and_time(
    context: Context,
    module: ModuleOp,
    backend: Backend,
    options: RunOptions,
    name: str,
    table: GroupTable,
) -> bool:
    """
    Compile a program, simulate its timing without values, and print the cost; return
    `True`.
    """
    if options.check or options.input:
        raise InputError("expected no `--check` and no `--input` with `--timing`")
    started = time.perf_counter()
    signature = _lower_and_record(backend, context, module, options, table)
    executable = backend.build(context, module, signature)
    if not isinstance(executable, SimulatedProgram | PreparedProgram):
        raise NotSimulatedError
    outcome = executable.simulate_timing()
    elapsed = time.perf_counter() - started
    rows = [
        ("program", f"{options.file} on {name}"),
        *outcome.rows,
        *_group_rows(table, outcome),
        ("compiled and timed in", f"{elapsed:.1f} s"),
    ]
    print(_format_rows(rows))
    if options.dump_dir is not None:
        _dump_files(options.dump_dir, outcome, module)
    return True


def _default_target(module: ModuleOp) -> str | TargetSpec:
    """Return the target attached to a program, or the default target."""
    return (
        TargetSpec.read_from_module(module)
        if TargetSpec.is_attached_to(module)
        else "npu"
    )


def _with_l2_size(target: str | TargetSpec, size: str) -> TargetSpec:
    """Return the target with an L2 of `size`. Raises `InputError` for `reference`."""
    if target == "reference":
        raise InputError("expected a target with levels for `--l2`, got reference")
    chip = load_target(target) if isinstance(target, str) else target
    return chip.with_capacities({"L2": parse_bytes(size)})


def _display_name_of(target: str | TargetSpec) -> str:
    return target if isinstance(target, str) else target.name


def _compute_references(
    module: ModuleOp, inputs: Mapping[str, Array], options: RunOptions
) -> tuple[Array, ...]:
    with report_step("compute reference"), locate_errors(module, "the reference"):
        return interpret_poison_free(module, inputs, options.entry)


def _result_rows(results: Mapping[str, Array]) -> list[Row]:
    """Return a table row for each result, with its name, shape and dtype."""
    return [
        (f"result {name}", f"{'x'.join(map(str, array.shape)) or '()'} {array.dtype}")
        for name, array in results.items()
    ]


def _format_rows(rows: Sequence[Row]) -> str:
    width = max(len(title) for title, _ in rows)
    return "\n".join(f"{title:<{width}}  {text}" for title, text in rows)


def _check_folder_is_writable(folder: Path) -> None:
    """Raise `InputError` if files cannot be written to `folder`; do not create it."""
    existing = next(each for each in (folder, *folder.parents) if each.exists())
    if not existing.is_dir():
        raise InputError(f"expected a folder for `--dump-dir`, got the file {existing}")
    if not os.access(existing, os.W_OK):
        raise InputError(f"cannot write in `{existing}`: Permission denied")


def _dump_files(folder: Path, outcome: Outcome, module: ModuleOp) -> None:
    """Write the results, the compiled texts and the last IR to files."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, array in outcome.results.items():
        write_array_file(folder / f"{name}.npy", array)
    texts = {**outcome.artifacts, "lowered.mlir": f"{module!s}\n"}
    for name, text in texts.items():
        write_text_file(str(folder / name), text)
