"""Time each step of the compiler by itself."""

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
from tlf.compiler.driver.driver import PASSES, TARGETS, emit, new_context, parse
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
        """Count what runs inside, with the garbage collector off."""
        gc.collect()
        gc.disable()
        start = process_time()
        try:
            yield
        finally:
            spent = process_time() - start
            gc.enable()
            self.seconds[step] = self.seconds.get(step, 0.0) + spent


def pipeline(name: str) -> tuple[ModulePass, ...]:
    """The passes that a program, by its name, is taken through."""
    steps = [CLEAN, TILED, MEMORY] if name in GRAPH else [CLEAN, MEMORY]
    return build_passes(",".join(steps), PASSES, PIPELINES)


def time_steps(name: str, program: Program) -> Seconds:
    """CPU seconds of every step for a program of `PROGRAMS`, by its name."""
    clock = Clock()
    context, module = time_parsers(clock, program)
    with clock.measure("print"):
        emit(context, module, build_target("mlir", TARGETS))
    _verify(clock, module)
    load_target_spec("npu").attach(module)
    for each in pipeline(name):
        with clock.measure(each.name):
            each.apply(context, module)
        with clock.measure("locations"):
            propagate_locations(module)
    module.verify()
    return clock.seconds


def time_parsers(clock: Clock, program: Program) -> tuple[Context, ModuleOp]:
    """Read a program with xDSL's parser and with TLF's; return what TLF's read."""
    context, plain = new_context(), new_context()
    for each in (context, plain):
        _load_dialects(each)
    with clock.measure("parse, xDSL's own"):
        Parser(plain, program.text, "program.mlir").parse_module()
    with clock.measure("parse"):
        module = parse(context, Source(program.text, "program.mlir"))
    return context, module


def _load_dialects(context: Context) -> None:
    """Load the dialects of all programs, which happens once per process."""
    for dialect in ("func", "arith", "graph", "tile"):
        context.load_registered_dialect(dialect)


def _verify(clock: Clock, module: ModuleOp) -> None:
    with clock.measure("verify"):
        module.verify()
    with clock.measure("dominance"):
        verify_dominance(module)


def best_of(name: str, operations: int, runs: int) -> tuple[int, Mapping[str, float]]:
    """
    The operations of a program of about so many, and microseconds per operation of each
    step, the least of several runs.
    """
    program = PROGRAMS[name](operations)
    best: Seconds = {}
    # What is there already is not looked through at each step.
    gc.freeze()
    for _ in range(runs):
        for step, seconds in time_steps(name, program).items():
            best[step] = min(seconds, best.get(step, seconds))
    gc.unfreeze()
    scale = 1e6 / program.operations
    return program.operations, {step: value * scale for step, value in best.items()}
