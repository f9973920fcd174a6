"""No compiled program beats the bounds of what it was compiled from."""

from pathlib import Path

import numpy as np
import pytest
from bounded import function_of
from optimality_chip import with_level
from optimality_graphs import small_network
from random_stacks import stack
from xdsl.dialects.builtin import ModuleOp
from zoo_builder import GraphBuilder, WorkloadSizes

from tlf.analysis.bounds.lower_bounds import LowerBounds, lower_bounds_of
from tlf.compiler.driver.driver import PASSES, emit_text, new_context, parse_module
from tlf.compiler.driver.pass_manager import PassManager, VerifyEach
from tlf.compiler.driver.pipeline import build_passes
from tlf.compiler.driver.source import Source
from tlf.dialects import graph
from tlf.dialects.target import TargetSpec, load_target_spec
from tlf.lowering.mem_to_npu.npu_target import NpuTarget
from tlf.lowering.pipelines import PIPELINES, pipelines_for
from tlf.runtime import npu

EXAMPLES = Path(__file__).parents[2] / "examples"
GRAPHS = [
    file.stem
    for file in sorted(EXAMPLES.glob("*.mlir"), key=lambda file: file.stat().st_size)
    if "tile." not in file.read_text(encoding="utf-8")
]
RUNS = [
    *((name, "npu-tiny") for name in GRAPHS),
    ("bottleneck", "npu"),
    ("attention", "npu"),
]


@pytest.mark.one_in(16)
@pytest.mark.parametrize(("name", "target_name"), RUNS)
def test_no_program_beats_its_bounds(name: str, target_name: str):
    file = EXAMPLES / f"{name}.mlir"
    source = Source(file.read_text(encoding="utf-8"), file.name)

    check(parse_module(new_context(), source), load_target_spec(target_name))


@pytest.mark.one_in(8)
@pytest.mark.parametrize("sizes", ["L2=4K,L1=1K", "L2=16K,L1=2K", "L2=64K"])
@pytest.mark.parametrize("seed", [1, 2, 4, 8])
def test_no_network_beats_its_bounds(seed: int, sizes: str):
    target = load_target_spec(f"npu-tiny:{sizes}")

    check(small_network(seed), target)
    text = stack(np.random.default_rng(seed))
    check(parse_module(new_context(), Source(text, "stack.mlir")), target)


@pytest.mark.searched
@pytest.mark.one_in(1)
@pytest.mark.parametrize(("kib", "binds"), [(16, "capacity"), (512, "order")])
def test_no_chain_with_large_weights_beats_its_bounds(kib: int, binds: str):
    """The final reads exceed what fits in the inner levels or can be loaded before."""
    target = with_level(load_target_spec(f"npu-tiny:L2={kib}K"), "L3", bandwidth=4)
    builder = GraphBuilder(WorkloadSizes(1))
    x = builder.input("x", (256, 64))
    x = builder.linear("first", builder.linear("zeroth", x, 64, False), 64, False)
    x = builder.emit(graph.ReduceOp(x, graph.ReduceKind.MAX, [0], True))
    y = builder.linear("last", builder.linear("second", x, 64, False), 1024, False)

    bounds = check(builder.build_module("chain", y), target)

    assert bounds.binding == binds


def check(module: ModuleOp, target: TargetSpec) -> LowerBounds:
    """Compile a program, and compare what it moves and takes with its bounds."""
    context = new_context()
    target.attach_to_module(module)
    PassManager(build_passes("graph-pipeline", PASSES, PIPELINES)).run(context, module)
    function = function_of(module)
    entry = function.sym_name.data
    bounds = lower_bounds_of(function, target)

    pipeline = pipelines_for(target)["npu-pipeline"].removeprefix("graph-pipeline,")
    passes = build_passes(pipeline, PASSES, pipelines_for(target))
    PassManager(passes, verify_each=VerifyEach.NOTHING).run(context, module)
    text = emit_text(context, module, NpuTarget(function=entry))
    report = npu.run(npu.parse(text, EXAMPLES), {}, functional=False)

    moved = report.traffic["L3"]
    assert bounds.payload_bytes <= moved.payload
    assert bounds.bus_bytes <= moved.bus
    assert bounds.cycles <= bounds.cycles_quantised <= report.cycles
    assert bounds.cycles_any_engine <= bounds.cycles_quantised
    return bounds
