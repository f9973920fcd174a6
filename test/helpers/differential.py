"""Differential testing of the compiler against the reference, pass by pass."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from random_plans import scramble
from xdsl.context import Context
from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from tlf.compiler.backends.backends import (
    CompilingBackend,
    add_preparation_to_signature,
    lowered_result_count,
)
from tlf.compiler.backends.executables import Signature
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
from tlf.compiler.driver.snapshot import take_snapshot
from tlf.compiler.driver.source import Source
from tlf.dialects.entry_point import find_entry_point
from tlf.dialects.interfaces import Array
from tlf.dialects.interpreters.interpret import interpret
from tlf.dialects.npu import ProgramOp
from tlf.dialects.target import TargetSpec, load_target_spec
from tlf.dialects.triton import KERNEL
from tlf.dialects.weight_preparation_attributes import PREPARES
from tlf.lowering.pipelines import pipelines_for
from tlf.passes.plan.graph_partition import GraphPartitionPass
from tlf.passes.plan.graph_select_tile_sizes import GraphSelectTileSizesPass
from tlf.runtime import npu, triton
from tlf.runtime.npu.npu_errors import NPUError
from tlf.runtime.triton.runtime_errors import TritonRuntimeError
from tlf.tools.run_check import MAX_ELEMENT_RATIO, TOLERANCES
from tlf.tools.run_inputs import make_inputs

Arrays = Mapping[str, Array]


@dataclass(frozen=True)
class Fault:
    """Fault of a compilation or a run, and the step after which it occurred."""

    kind: str
    """One of `refused`, `internal`, `runtime` and `wrong`."""
    step: str
    message: str

    def __str__(self) -> str:
        return f"{self.kind} after {self.step}: {self.message}"


@dataclass(frozen=True)
class Stage:
    """Program after a pass: whether it was interpreted, and its fault, if any."""

    name: str
    runs: bool
    fault: Fault | None


@dataclass(frozen=True)
class Case:
    """Program with inputs, its expected results, and their sensitivity to rounding."""

    text: str
    inputs: Arrays
    expected: tuple[Array, ...]
    noise: tuple[float, ...]
    """Change of each result when inputs change in their last place."""

    def module(self) -> tuple[Context, ModuleOp]:
        """Return the parsed and verified program."""
        return parsed(self.text)


def parsed(text: str) -> tuple[Context, ModuleOp]:
    """Return a context and the verified module of a text."""
    context = new_context()
    module = parse_module(context, Source(text, "program.mlir"))
    verify_module(module)
    return context, module


def make_case(text: str, seed: int = 0, entry: str | None = None) -> Case:
    """Run a program of the graph dialect on the reference interpreter."""
    _, module = parsed(text)
    inputs = make_inputs(find_entry_point(module, entry), (), seed)
    expected = interpret(module, inputs, entry)
    noise = [0.0] * len(expected)
    generator = np.random.default_rng(seed + 1)
    for _ in range(2):
        perturbed = {name: _nudged(array, generator) for name, array in inputs.items()}
        for position, array in enumerate(interpret(module, perturbed, entry)):
            change = _norm(_difference(array, expected[position]))
            noise[position] = max(noise[position], change)
    return Case(text, inputs, expected, tuple(noise))


def _nudged(array: Array, generator: np.random.Generator) -> Array:
    """
    Return the array with each float changed by about half a unit in the last place.
    """
    if array.dtype not in TOLERANCES:
        return array
    unit = 2.0**-23 if array.dtype.itemsize == 4 else TOLERANCES[array.dtype] / 2
    factor = 1 + unit * generator.uniform(-1, 1, array.shape)
    return (array.astype(np.float64) * factor).astype(array.dtype)


def _difference(left: Array, right: Array) -> Array:
    difference = left.astype(np.float64) - right.astype(np.float64)
    same = np.isclose(left.astype(np.float64), right.astype(np.float64), 0, 0, True)
    return np.where(same, 0.0, difference)


def _norm(array: Array) -> float:
    return float(np.linalg.norm(array.astype(np.float64)))


def disagreement(case: Case, results: Sequence[Array]) -> str | None:
    """Return the first error of results as one line, or `None` if they are correct."""
    if len(results) != len(case.expected):
        return f"expected {len(case.expected)} results, got {len(results)}"
    for position, (actual, expected) in enumerate(
        zip(results, case.expected, strict=True)
    ):
        if (actual.shape, actual.dtype) != (expected.shape, expected.dtype):
            return (
                f"result {position}: expected {expected.dtype} {expected.shape}, "
                f"got {actual.dtype} {actual.shape}"
            )
        if (text := _distance(actual, expected, case.noise[position])) is not None:
            return f"result {position}: {text}"
    return None


def _distance(found: Array, wanted: Array, noise: float) -> str | None:
    tolerance = TOLERANCES.get(wanted.dtype, 0.0)
    difference = _difference(found, wanted)
    finite = wanted.astype(np.float64)
    finite = finite[np.isfinite(finite)]
    error, norm = _norm(difference), _norm(finite)
    scale = float(np.abs(finite).max(initial=0.0))
    largest = float(np.abs(difference).max(initial=0.0))
    allowed = tolerance * norm + 20 * noise
    spike = MAX_ELEMENT_RATIO * tolerance * scale + 20 * noise
    if error <= allowed and largest <= spike:
        return None
    return (
        f"error {error:.2e} (at most {allowed:.2e}), "
        f"{largest:.2e} in one element (at most {spike:.2e})"
    )


def steps_of(target: TargetSpec, pipeline: str | None = None) -> tuple[ModulePass, ...]:
    """Return the passes of a pipeline; by default of the target pipeline."""
    text = pipeline or f"{target.backend}-pipeline"
    return build_passes(text, PASSES, pipelines_for(target))


def with_and_without(
    text: str, target: TargetSpec, name: str
) -> tuple[Context, ModuleOp, ModuleOp]:
    """
    Return a program compiled with and without a pass.

    Passes before it run once for both.
    """
    context, module = parsed(text)
    target.attach_to_module(module)
    passes = steps_of(target)
    index = [each.name for each in passes].index(name)
    PassManager(passes[:index]).run(context, module)
    without = module.clone()
    PassManager(passes[index:]).run(context, module)
    PassManager(passes[index + 1 :]).run(context, without)
    return context, module, without


def runnable(module: ModuleOp) -> bool:
    """Return `True` if the interpreter supports all operations of a program."""
    names = {op.name.partition(".")[0] for op in module.walk()}
    return not names & {"npu", "triton"}


def lowered(
    case: Case,
    target: TargetSpec,
    context: Context,
    module: ModuleOp,
    stages: bool = True,
    plans: random.Random | None = None,
    search: bool = True,
) -> Iterator[Stage]:
    """
    Apply a target's pipeline to a program, pass by pass.

    With `plans`, plans are random. Without `search`, the first plans found are used. A
    fault of the compiler ends the stages; a wrong result does not.
    """
    target.attach_to_module(module)
    before = take_snapshot(module)
    manager = PassManager(())
    steps = steps_of(target)
    for each in steps if search and plans is None else map(limit_search, steps):
        manager.passes = [each]
        try:
            manager.run(context, module)
        except CompileError as error:
            yield Stage(each.name, False, _compile_fault(each.name, error))
            return
        if plans is not None and each.name == "graph-select-tile-sizes":
            scramble(module, plans)
        fault, runs = None, stages and runnable(module)
        if runs and (after := take_snapshot(module)) != before:
            before, fault = after, _interpreted(case, each.name, module)
        yield Stage(each.name, runs, fault)


def limit_search(step: ModulePass) -> ModulePass:
    """Return a pass with minimal evaluation of candidates."""
    match step:
        case GraphPartitionPass():
            return replace(step, max_evaluations=1)
        case GraphSelectTileSizesPass():
            return replace(step, max_evaluations=0)
        case _:
            return step


def _compile_fault(step: str, error: CompileError) -> Fault:
    message = error.diagnostic.message
    internal = message.startswith("internal error")
    return Fault("internal" if internal else "refused", step, message)


def _interpreted(case: Case, step: str, module: ModuleOp) -> Fault | None:
    try:
        with locate_errors(module, "the interpreter"):
            results = interpret(module, case.inputs)
    except CompileError as error:
        return Fault("internal", step, error.diagnostic.message)
    message = disagreement(case, results)
    return None if message is None else Fault("wrong", step, message)


def printed(context: Context, module: ModuleOp, target: TargetSpec) -> str:
    """
    Return the text that a target emits for a lowered program. Raises `CompileError`.
    """
    with locate_errors(module, "the target"):
        return emit_text(context, module, build_target(target.backend, TARGETS))


def executed(text: str, target: TargetSpec, inputs: Arrays) -> tuple[Array, ...]:
    """
    Run the text that a target emitted, on inputs in order.

    Raises the errors of the runtimes.
    """
    values = list(inputs.values())
    if target.backend == "npu":
        program = npu.parse(text, Path())
        report = npu.run(program, dict(zip(program.inputs, values, strict=True)))
        return tuple(report.outputs.values())
    outputs = triton.run(triton.load_plan(text), values)
    return tuple(np.asarray(each) for each in outputs.values())


def run_lowered(
    context: Context, module: ModuleOp, target: TargetSpec, inputs: Arrays
) -> tuple[Array, ...]:
    """
    Run a lowered program, including load-time preparation, on inputs in order.

    Raises `CompileError` and the errors of the runtimes.
    """
    (entry,) = (
        op
        for op in module.ops
        if isinstance(op, ProgramOp | func.FuncOp)
        and not {PREPARES, KERNEL} & {*op.attributes}
    )
    outputs = tuple(f"result {n}" for n in range(lowered_result_count(entry)))
    signature = Signature(tuple(inputs), outputs, entry.sym_name.data)
    backend = CompilingBackend(target, None, Path())
    program = backend.build(
        context, module, add_preparation_to_signature(module, signature)
    )
    return tuple(np.asarray(each) for each in program(inputs).results.values())


def tiled(text: str, target: TargetSpec, pipeline: str | None = None) -> ModuleOp:
    """Return a program after the last pass that creates loops over tiles."""
    context, module = parsed(text)
    target.attach_to_module(module)
    passes = steps_of(target, pipeline)
    names = [each.name for each in passes]
    count = len(names) - names[::-1].index("convert-graph-to-tile")
    PassManager(passes[:count]).run(context, module)
    return module


def compiled_text(
    text: str, name: str, pipeline: str | None = None, *, search: bool = True
) -> str:
    """
    Return the text that a program is compiled to, for a target given by name.

    The pipeline is the target's own unless given. Without `search`, the first plans
    found are used. Raises `CompileError`.
    """
    context, module = parsed(text)
    target = load_target_spec(name)
    target.attach_to_module(module)
    steps = steps_of(target, pipeline)
    PassManager(steps if search else tuple(map(limit_search, steps))).run(
        context, module
    )
    return printed(context, module, target)


def compiled_results(
    text: str, inputs: Arrays, name: str, pipeline: str | None = None
) -> tuple[Array, ...]:
    """
    Return the results of a program, on `reference` or on a target given by name.

    Uses the first plans found, without a search.
    """
    if name == "reference":
        return interpret(parsed(text)[1], inputs)
    target = load_target_spec(name)
    context, module = parsed(text)
    target.attach_to_module(module)
    steps = tuple(map(limit_search, steps_of(target, pipeline)))
    PassManager(steps).run(context, module)
    return run_lowered(context, module, target, inputs)


def _run(
    case: Case, target: TargetSpec, context: Context, module: ModuleOp
) -> Fault | None:
    step = f"running on {target.name}"
    try:
        results = run_lowered(context, module, target, case.inputs)
    except CompileError as error:
        return _compile_fault(step, error)
    except (NPUError, TritonRuntimeError) as error:
        return Fault("runtime", step, " ".join(str(error).split())[:300])
    message = disagreement(case, results)
    return None if message is None else Fault("wrong", step, message)


def check(
    case: Case,
    name: str,
    stages: bool = True,
    plans: int | None = None,
    search: bool = False,
) -> Fault | None:
    """
    Return the first fault of a program on a target given by name.

    `plans` is the seed of random plans. With `search`, plans near the best are
    evaluated, which takes most of the time.
    """
    target = load_target_spec(name)
    context, module = case.module()
    generator = None if plans is None else random.Random(plans)
    for stage in lowered(case, target, context, module, stages, generator, search):
        if stage.fault is not None:
            return stage.fault
    return _run(case, target, context, module)
