"""Compiled programs store every result once, and read none back."""

from pathlib import Path

import numpy as np
import pytest
from differential import new_context, printed
from kept_groups import (
    BUFFERS,
    INSTRUCTIONS,
    TILES,
    groups_of,
    plan_all,
    run_passes,
    ungrouped,
)
from numpy.random import Generator
from random_layouts import shuffle
from xdsl.dialects.builtin import ModuleOp

import tlf
from tlf.dialects.entry_point import find_entry_point
from tlf.dialects.target import load_target_spec
from tlf.passes.report.tile_verify_coverage import ATTRIBUTE
from tlf.runtime.npu import Report, parse, run
from tlf.runtime.npu.dtypes import DTYPES

EXAMPLES = Path(__file__).parents[2] / "examples"


def stored_once(text: str) -> Report:
    """Run a program with random inputs; it traps where a byte is stored again."""
    program = parse(text)
    generator = np.random.default_rng(0)
    inputs = {
        each: generator.random(buffer.shape).astype(DTYPES[buffer.dtype])
        for each, buffer in program.inputs.items()
    }
    report = run(program, inputs, exactly_once=True)
    written = sum(buffer.nbytes for buffer in program.outputs.values())
    assert report.traffic["L3"].written >= written
    return report


@pytest.mark.one_in(3)
@pytest.mark.parametrize("name", ["softmax", "residual_mlp", "rolling_bottleneck"])
def test_exactly_once(name: str):
    compiled = tlf.compile(EXAMPLES / f"{name}.mlir", target="npu-tiny")
    stored_once(compiled.ir("program.npu"))


@pytest.mark.one_in(1)
@pytest.mark.parametrize("rows", [250, 700, 1025])
def test_exactly_once_in_chunks(rows: int):
    """Stores in chunks, where rows of a tile are no multiple of eight."""
    kind = f"tensor<{rows}x512xf16>"
    compiled = tlf.compile(
        f"""func.func @f(%x: {kind}, %y: {kind}) -> {kind} {{
          %0 = graph.add %x, %y : ({kind}, {kind}) -> {kind}
          func.return %0 : {kind}
        }}""",
        target="u85-like",
    )
    stored_once(compiled.ir("program.npu"))


def planned(rng: Generator, results: int, layouts: bool) -> ModuleOp:
    """Random groups that keep and hold tensors in L2, several results, layouts."""
    context, target = new_context(), load_target_spec("npu-tiny")
    module = ungrouped(context, rng, results)
    target.attach_to_module(module)
    run_passes(context, module, target, "graph-group{level=L2 max-operations=2}")
    plan_all(module, target, rng)
    if layouts:
        shuffle(module, rng)
    module.verify()
    return module


@pytest.mark.one_in(2)
@pytest.mark.parametrize("seed", range(8))
def test_exactly_once_around_kept_tensors(seed: int):
    """Static and dynamic: tiles cover the results, and no byte is stored twice."""
    layouts = seed % 2 == 1
    context, target = new_context(), load_target_spec("npu-tiny")
    module = planned(np.random.default_rng(seed), 3, layouts)
    run_passes(context, module, target, f"{TILES},tile-verify-coverage")
    assert ATTRIBUTE in find_entry_point(module).attributes
    run_passes(context, module, target, f"{BUFFERS},{INSTRUCTIONS}")
    stored_once(printed(context, module, target))


def test_random_plans_have_what_is_tried():
    modules = [planned(np.random.default_rng(seed), 3, False) for seed in range(8)]
    plans = [group.plan for module in modules for group in groups_of(module)]
    assert any(plan and plan.retained_results for plan in plans)
    assert any(plan and plan.resident_operands for plan in plans)
    assert any(len(group.results) > 1 for m in modules for group in groups_of(m))
