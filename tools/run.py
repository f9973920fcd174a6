"""Implementation of `tlf-run` behind its command line."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.utils.exceptions import DiagnosticException

from tlf.compiler.api.checked_values import CheckedResults
from tlf.compiler.backends.backends import Backend, backend_named
from tlf.compiler.backends.executables import (
    NotSimulatedError,
    Outcome,
    Signature,
    Simulated,
)
from tlf.compiler.backends.npu_rows import Row
from tlf.compiler.backends.prepared_program import PreparedProgram
from tlf.compiler.driver.described import load_target
from tlf.compiler.driver.diagnostics import errors_located
from tlf.compiler.driver.driver import new_context
from tlf.compiler.driver.entry import entry_of
from tlf.compiler.driver.pipeline import PipelineError
from tlf.compiler.driver.planned import watched
from tlf.compiler.driver.source import SourceError, read_source
from tlf.compiler.driver.source_names import SourceNames
from tlf.compiler.driver.verified import parse_verified
from tlf.compiler.explain.group_costs import GroupTable
from tlf.dialects.entry import result_names
from tlf.dialects.interfaces import Array
from tlf.dialects.interpreters.run import interpret_defined
from tlf.dialects.target import Target, bytes_of
from tlf.runtime.npu.errors import NPUError
from tlf.runtime.triton.errors import TritonRuntimeError
from tlf.tools.run_check import compare
from tlf.tools.run_inputs import InputError, make_inputs
from tlf.tools.run_layouts import declare_layouts
from tlf.tools.run_options import Options

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
    """A run that cannot be done; the message is one line."""


def run(options: Options) -> bool:
    """
    Do what `options` say and print a table; return whether the results were right.
    Raises `RunError`, and `CompileError` for a wrong program.
    """
    try:
        return _run(options)
    except FAILURES as error:
        raise RunError(str(error)) from error
    except MemoryError as error:
        raise RunError(f"out of memory: {error}") from error
    except BrokenPipeError:
        raise
    except OSError as error:
        raise RunError(f"cannot write `{error.filename}`: {error.strerror}") from error


def _run(options: Options) -> bool:
    source = read_source(options.file)
    context = new_context()
    module = parse_verified(context, source)
    function = entry_of(module, options.entry)
    declare_layouts(function, options.layout)
    base = Path(options.file).parent
    name = options.target or _own_target(module)
    target = _resized(name, options.l2) if options.l2 is not None else name
    backend = backend_named(target, options.entry, base, options.passes)
    table = GroupTable(SourceNames(source))
    if options.dump_dir is not None:
        _check_folder(options.dump_dir)
    if options.timing:
        return _time(context, module, backend, options, _name_of(name), table)
    if options.check and not result_names(function):
        raise InputError(NO_RESULTS)
    inputs = make_inputs(function, options.input, options.seed)
    references = _references(module, inputs, options) if options.check else None
    checked = CheckedResults.added(function) if options.check_indices else None
    started = time.perf_counter()
    signature = _lower(backend, context, module, options, table)
    outcome = backend.build(context, module, signature)(inputs)
    if checked is not None:
        outcome.results = checked.without_checks(outcome.results)
    elapsed = time.perf_counter() - started
    comparisons = [
        compare(name, result, reference)
        for (name, result), reference in zip(
            outcome.results.items(), references or (), strict=references is not None
        )
    ]
    rows = [
        ("program", f"{options.file} on {_name_of(name)}"),
        *outcome.rows,
        *_group_rows(table, outcome),
        *_result_rows(outcome.results),
        *(comparison.row() for comparison in comparisons),
        ("compiled and run in", f"{elapsed:.1f} s"),
    ]
    print(_table(rows))
    if options.dump_dir is not None:
        _dump(options.dump_dir, outcome, module)
    return all(comparison.agrees for comparison in comparisons)


def _lower(
    backend: Backend,
    context: Context,
    module: ModuleOp,
    options: Options,
    table: GroupTable,
) -> Signature:
    """Compile, and take down on the way what groups are to cost, if wanted."""
    if not options.groups:
        return backend.lower(context, module)
    return backend.lower(context, module, watched(table.see))


def _group_rows(table: GroupTable, outcome: Outcome) -> Iterator[Row]:
    cycles = outcome.figures.get("cycles")
    return table.rows(outcome.stretches, None if cycles is None else int(cycles))


def _time(
    context: Context,
    module: ModuleOp,
    backend: Backend,
    options: Options,
    name: str,
    table: GroupTable,
) -> bool:
    if options.check or options.input:
        raise InputError("expected no `--check` and no `--input` with `--timing`")
    started = time.perf_counter()
    signature = _lower(backend, context, module, options, table)
    executable = backend.build(context, module, signature)
    if not isinstance(executable, Simulated | PreparedProgram):
        raise NotSimulatedError
    outcome = executable.time()
    elapsed = time.perf_counter() - started
    rows = [
        ("program", f"{options.file} on {name}"),
        *outcome.rows,
        *_group_rows(table, outcome),
        ("compiled and timed in", f"{elapsed:.1f} s"),
    ]
    print(_table(rows))
    if options.dump_dir is not None:
        _dump(options.dump_dir, outcome, module)
    return True


def _own_target(module: ModuleOp) -> str | Target:
    """The target that a program was given before, or the usual one."""
    return Target.of(module) if Target.is_known(module) else "npu"


def _resized(target: str | Target, size: str) -> Target:
    if target == "reference":
        raise InputError("expected a target with levels for `--l2`, got reference")
    chip = load_target(target) if isinstance(target, str) else target
    return chip.resized({"L2": bytes_of(size)})


def _name_of(target: str | Target) -> str:
    return target if isinstance(target, str) else target.name


def _references(
    module: ModuleOp, inputs: Mapping[str, Array], options: Options
) -> tuple[Array, ...]:
    with errors_located(module, "the reference"):
        return interpret_defined(module, inputs, options.entry)


def _result_rows(results: Mapping[str, Array]) -> list[Row]:
    return [
        (f"result {name}", f"{'x'.join(map(str, array.shape)) or '()'} {array.dtype}")
        for name, array in results.items()
    ]


def _table(rows: Sequence[Row]) -> str:
    width = max(len(title) for title, _ in rows)
    return "\n".join(f"{title:<{width}}  {text}" for title, text in rows)


def _check_folder(folder: Path) -> None:
    """Find out before anything is compiled whether a folder can be made."""
    there = next(each for each in (folder, *folder.parents) if each.exists())
    if not there.is_dir():
        raise InputError(f"expected a folder for `--dump-dir`, got the file {there}")
    if not os.access(there, os.W_OK):
        raise InputError(f"cannot write in `{there}`: Permission denied")


def _dump(folder: Path, outcome: Outcome, module: ModuleOp) -> None:
    """Write the results, the compiled texts and the last IR to files."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, array in outcome.results.items():
        np.save(folder / f"{name}.npy", array)
    texts = {**outcome.artifacts, "lowered.mlir": f"{module!s}\n"}
    for name, text in texts.items():
        (folder / name).write_text(text, encoding="utf-8")
