"""No compiled program beats the bounds of what it was compiled from."""

from pathlib import Path

import pytest
from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp

from tlf.dialects.prepared import is_preparation
from tlf.dialects.target import load
from tlf.lowering.npu_target import NpuTarget
from tlf.lowering.pipelines import PIPELINES, pipelines_for
from tlf.passes.analysis.bounds import bounds_of
from tlf.runtime import npu
from tlf.tools.driver import PASSES, emit, new_context, parse
from tlf.tools.pass_manager import PassManager
from tlf.tools.pipeline import build_passes
from tlf.tools.source import Source

EXAMPLES = Path(__file__).parents[2] / "examples"
GRAPHS = [
    file.stem
    for file in sorted(EXAMPLES.glob("*.mlir"))
    if "tile." not in file.read_text(encoding="utf-8")
]
RUNS = [
    *((name, "npu-tiny") for name in GRAPHS),
    ("bottleneck", "npu"),
    ("attention", "npu"),
]


def function_of(module: ModuleOp) -> func.FuncOp:
    (function,) = (
        op
        for op in module.ops
        if isinstance(op, func.FuncOp) and not is_preparation(op)
    )
    return function


@pytest.mark.parametrize(("name", "target_name"), RUNS)
def test_no_program_beats_its_bounds(name: str, target_name: str):
    context, target = new_context(), load(target_name)
    file = EXAMPLES / f"{name}.mlir"
    module = parse(context, Source(file.read_text(encoding="utf-8"), file.name))
    target.attach(module)
    PassManager(build_passes("graph-pipeline", PASSES, PIPELINES)).run(context, module)
    function = function_of(module)
    entry = function.sym_name.data
    bounds = bounds_of(function, target)

    pipeline = pipelines_for(target)["npu-pipeline"].removeprefix("graph-pipeline,")
    passes = build_passes(pipeline, PASSES, pipelines_for(target))
    PassManager(passes, verifies=False).run(context, module)
    text = emit(context, module, NpuTarget(function=entry))
    report = npu.run(npu.parse(text, EXAMPLES), {}, functional=False)

    moved = report.traffic["L3"]
    assert bounds.payload_bytes <= moved.payload
    assert bounds.bus_bytes <= moved.bus
    assert bounds.cycles <= bounds.cycles_quantised <= report.cycles
    assert bounds.cycles_any_engine <= bounds.cycles_quantised
