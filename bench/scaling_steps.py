"""Timing of each step of the compiler."""

from __future__ import annotations

import gc
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from time import process_time

from scaling_programs import GRAPH, PROGRAMS, Program
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.parser import Parser
from xdsl.passes import ModulePass

from tlf.compiler.driver.dominance import verify_dominance
from tlf.compiler.driver.driver import (
    PASSES,
    TARGETS,
    emit_text,
    new_context,
    parse_module,
)
from tlf.compiler.driver.pipeline import build_passes, build_target
from tlf.compiler.driver.source import Source
from tlf.dialects.located_rewriting import propagate_locations
from tlf.dialects.target import load_target_spec
from tlf.lowering.pipelines import PIPELINES

CLEAN = "canonicalize,tlf-cse,dce"
TILED = "graph-group{level=L1},graph-select-tile-sizes{level=L1},convert-graph-to-tile"
MEMORY = "convert-tile-to-mem,mem-split-maps,mem-plan"

Seconds = dict[str, float]


class Clock:
    """CPU seconds by step, in the order in which steps first ran."""

    def __init__(self) -> None:
        self.seconds: Seconds = {}

    @contextmanager
    def measure(self, step: str) -> Generator[None]:
        """Add the CPU time of the body to a step, with the garbage collector off."""
        gc.collect()
        gc.disable()
        start = process_time()
        try:
            yield
        finally:
            elapsed = process_time() - start
            gc.enable()
            self.seconds[step] = self.seconds.get(step, 0.0) + elapsed


def pipeline(name: str) -> tuple[ModulePass, ...]:
    """Return the passes that are timed on the program `name`."""
    steps = [CLEAN, TILED, MEMORY] if name in GRAPH else [CLEAN, MEMORY]
    if name == "scales":
        steps.insert(1, "graph-hoist-scales")
    return build_passes(",".join(steps), PASSES, PIPELINES)


def time_steps(name: str, program: Program) -> Seconds:
    """Return the CPU seconds of every step for the program `name` of `PROGRAMS`."""
    clock = Clock()
    context, module = time_parsers(clock, program)
    with clock.measure("print"):
        emit_text(context, module, build_target("mlir", TARGETS))
    _verify(clock, module)
    load_target_spec("npu").attach_to_module(module)
    for each in pipeline(name):
        with clock.measure(each.name):
            each.apply(context, module)
        with clock.measure("locations"):
            propagate_locations(module)
    module.verify()
    return clock.seconds


def time_parsers(clock: Clock, program: Program) -> tuple[Context, ModuleOp]:
    """Parse a program with xDSL's parser and with TLF's; return the module of TLF's."""
    context, xdsl_context = new_context(), new_context()
    for each in (context, xdsl_context):
        _load_dialects(each)
    with clock.measure("parse, xDSL's own"):
        Parser(xdsl_context, program.text, "program.mlir").parse_module()
    with clock.measure("parse"):
        module = parse_module(context, Source(program.text, "program.mlir"))
    return context, module


def _load_dialects(context: Context) -> None:
    """Load the dialects of all programs; a context loads each dialect only once."""
    for dialect in ("func", "arith", "graph", "tile"):
        context.load_registered_dialect(dialect)


def _verify(clock: Clock, module: ModuleOp) -> None:
    with clock.measure("verify"):
        module.verify()
    with clock.measure("dominance"):
        verify_dominance(module)


def best_of(name: str, operations: int, runs: int) -> tuple[int, Mapping[str, float]]:
    """
    Return the number of operations of a program, and the time of each step.

    The program has about `operations` operations. Times are microseconds per operation,
    the minimum of several runs.
    """
    program = PROGRAMS[name](operations)
    best: Seconds = {}
    # Exclude existing objects from the collection before each step.
    gc.freeze()
    for _ in range(runs):
        for step, seconds in time_steps(name, program).items():
            best[step] = min(seconds, best.get(step, seconds))
    gc.unfreeze()
    scale = 1e6 / program.operations
    return program.operations, {step: value * scale for step, value in best.items()}
