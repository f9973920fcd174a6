"""
Planted faults.

Each fault damages a correct program at one stage of its compilation; a run must detect
it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum, auto
from functools import cache, wraps
from pathlib import Path
from typing import TypeVar

import numpy as np
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

from tlf.compiler.driver.diagnostics import CompileError, locate_errors
from tlf.compiler.driver.driver import (
    PASSES,
    TARGETS,
    emit_text,
    new_context,
    parse_module,
)
from tlf.compiler.driver.module_verifier import verify_module
from tlf.compiler.driver.pass_manager import PassManager
from tlf.compiler.driver.pipeline import build_passes, build_target
from tlf.compiler.driver.source import Source
from tlf.dialects.entry_point import argument_names, find_entry_point
from tlf.dialects.interfaces import Array
from tlf.dialects.interpreters.interpret import interpret
from tlf.dialects.target import load_target_spec
from tlf.lowering.pipelines import PIPELINES
from tlf.runtime import npu, triton
from tlf.runtime.npu.npu_errors import NPUParseError, NPUTrap
from tlf.runtime.triton.runtime_errors import KernelError, PlanError
from tlf.runtime.triton.sanitizers import sanitize
from tlf.tools.run_check import compare_result
from tlf.tools.run_inputs import make_inputs

OperationT = TypeVar("OperationT", bound=Operation)


class Stage(StrEnum):
    """Stage of compilation at which a fault is planted."""

    GRAPH = auto()
    GROUPS = auto()
    """Groups with their plans, in the loops of outer levels."""
    TILE = auto()
    MEM = auto()
    PLANNED = auto()
    """The mem dialect with addresses."""
    TEXT = auto()
    """Text of the target: a program of the NPU, or kernels with their launch plan."""


class Kind(StrEnum):
    """Outcome of a run."""

    RIGHT = auto()
    REFUSED = auto()
    """The text is rejected by a parser, a verifier or a conversion."""
    TRAP = auto()
    """The simulator traps, or a sanitizer of the kernels' interpreter finds a fault."""
    WRONG = auto()
    """`compare` rejects a result."""


@dataclass(frozen=True)
class Program:
    """Correct program, with the passes to each stage and to its target."""

    name: str
    source: str
    target: str
    pipelines: tuple[tuple[Stage, str], ...]
    """Passes between a stage and the previous one; `TEXT` has the remaining passes."""

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True)
class Mutation:
    """Fault: its stage and program, its change, and the expected failure."""

    stage: Stage
    program: Program
    kind: Kind
    says: str
    """Substring of the expected message."""
    change: Callable[[str], str]

    def __str__(self) -> str:
        return f"{self.program}-{self.stage}-{self.change.__name__}"


@cache
def inputs_of(program: Program) -> Mapping[str, Array]:
    """Return the random arguments of a program."""
    return make_inputs(find_entry_point(_module(program.source)), (), 0)


@cache
def references_of(program: Program) -> tuple[Array, ...]:
    """Return the results of a program on the reference interpreter."""
    return interpret(_module(program.source), inputs_of(program))


@cache
def text_at(program: Program, stage: Stage) -> str:
    """Return the text of a correct program at a stage."""
    if stage is Stage.GRAPH:
        return program.source
    before = list(Stage)[list(Stage).index(stage) - 1]
    return _advance(program, text_at(program, before), stage)


def outcome(program: Program, stage: Stage, text: str) -> tuple[Kind, str]:
    """Compile a text from a stage on and run it; return the outcome and its message."""
    stages = list(Stage)
    try:
        for later in stages[stages.index(stage) + 1 :]:
            text = _advance(program, text, later)
        results = _execute(program, text)
    except (CompileError, NPUParseError, PlanError) as error:
        return Kind.REFUSED, str(error)
    except (NPUTrap, KernelError) as error:
        return Kind.TRAP, str(error)
    return _compared(program, results)


def interpreted(program: Program, text: str) -> tuple[Kind, str]:
    """
    Run a text of the tile or mem dialect on the interpreter.

    Undefined elements invalidate every result.
    """
    try:
        module = _module(text)
        with locate_errors(module, "the interpreter"):
            results = interpret(module, inputs_of(program))
    except CompileError as error:
        return Kind.REFUSED, str(error)
    return _compared(program, results)


def _compared(program: Program, results: Sequence[Array]) -> tuple[Kind, str]:
    comparisons = [
        compare_result(f"result {position}", result, reference)
        for position, (result, reference) in enumerate(
            zip(results, references_of(program), strict=True)
        )
    ]
    agree = all(comparison.is_within_tolerance for comparison in comparisons)
    rows = "; ".join(": ".join(comparison.to_row()) for comparison in comparisons)
    return (Kind.RIGHT if agree else Kind.WRONG), rows


def _parsed(text: str) -> tuple[Context, ModuleOp]:
    context = new_context()
    with locate_errors(None, "the parser"):
        module = parse_module(context, Source(text, "program.mlir"))
    with locate_errors(module, "the verifier"):
        verify_module(module)
    return context, module


def _module(text: str) -> ModuleOp:
    return _parsed(text)[1]


def _advance(program: Program, text: str, stage: Stage) -> str:
    """Return the text at the next stage."""
    context, module = _parsed(text)
    target = load_target_spec(program.target)
    target.attach_to_module(module)
    passes = build_passes(dict(program.pipelines).get(stage, ""), PASSES, PIPELINES)
    PassManager(passes).run(context, module)
    if stage is not Stage.TEXT:
        return str(module) + "\n"
    with locate_errors(module, "the target"):
        return emit_text(context, module, build_target(target.backend, TARGETS))


def _execute(program: Program, text: str) -> Sequence[Array]:
    """Return the results of a text of the target."""
    inputs = inputs_of(program)
    names = argument_names(find_entry_point(_module(program.source)))
    values = [inputs[name] for name in names]
    if load_target_spec(program.target).backend == "npu":
        parsed = npu.parse(text, Path())
        report = npu.run(parsed, dict(zip(parsed.inputs, values, strict=True)))
        return tuple(report.outputs.values())
    with sanitize():
        outputs = triton.run(triton.load_plan(text), values)
        return [np.asarray(each) for each in outputs.values()]


@dataclass
class Faults:
    """Registry of the faults of one stage."""

    stage: Stage
    planted: list[Mutation] = field(default_factory=list[Mutation])

    def in_text(
        self, program: Program, kind: Kind, says: str = ""
    ) -> Callable[[Callable[[str], str]], Callable[[str], str]]:
        """Return a decorator of functions that change a text."""

        def plant(change: Callable[[str], str]) -> Callable[[str], str]:
            self.planted.append(Mutation(self.stage, program, kind, says, change))
            return change

        return plant

    def in_module(
        self, program: Program, kind: Kind, says: str = ""
    ) -> Callable[[Callable[[ModuleOp], None]], Callable[[str], str]]:
        """Return a decorator of functions that change operations."""

        def plant(change: Callable[[ModuleOp], None]) -> Callable[[str], str]:
            @wraps(change)
            def changed(text: str) -> str:
                module = _module(text)
                change(module)
                return str(module) + "\n"

            return self.in_text(program, kind, says)(changed)

        return plant


def find(module: ModuleOp, kind: type[OperationT], number: int = 0) -> OperationT:
    """Return an operation of a kind by its position among them, in program order."""
    return [op for op in module.walk() if isinstance(op, kind)][number]


def replaced(text: str, pattern: str, by: str, number: int = 0) -> str:
    """
    Return the text with one match of a pattern replaced.

    Raises `ValueError` if there is no such match, so that every fault takes effect.
    """
    matches = list(re.finditer(pattern, text, re.MULTILINE))
    if not -len(matches) <= number < len(matches):
        raise ValueError(f"expected match {number} of `{pattern}`, got {len(matches)}")
    match = matches[number]
    return text[: match.start()] + match.expand(by) + text[match.end() :]
