"""Reductions that need each other's results, in a loop for L2 and in one for L1."""

import numpy as np
import pytest
from cascade_programs import BODIES, assert_alike, at_two_levels, program
from differential import (
    PASSES,
    PassManager,
    build_passes,
    disagreement,
    make_case,
    parsed,
    pipelines_for,
    run_lowered,
)
from special_values import DTYPE
from xdsl.dialects.builtin import ModuleOp

from tlf.dialects import tile
from tlf.dialects.interfaces import Array
from tlf.dialects.interpreters.interpret import interpret
from tlf.dialects.target import TargetSpec, load_target_spec

INSTRUCTIONS = (
    "convert-tile-to-mem,tidy,mem-fold-fills,mem-fold-casts,mem-pipeline,"
    "mem-split-maps,mem-prefetch,mem-plan,convert-mem-to-npu,tidy"
)


def depth_of_loops(module: ModuleOp) -> int:
    """Return the maximum nesting depth of loops over reduction tiles."""
    found = 0
    for op in module.walk():
        depth, around = 0, op
        while around is not None:
            is_loop = isinstance(around, tile.WhileOp) and not around.is_parallel
            depth, around = depth + is_loop, around.parent_op()
        found = max(found, depth)
    return found


@pytest.mark.one_in(12)
@pytest.mark.parametrize("body", BODIES)
@pytest.mark.parametrize("element", ["f32", "f16", "bf16"])
@pytest.mark.parametrize("seed", range(4))
def test_random_sizes(seed: int, element: str, body: str):
    rng = np.random.default_rng(seed)
    rows, columns, inner = (int(n) for n in rng.integers([2, 12, 1], 40))
    sizes = rows, columns, inner, int(rng.integers(1, columns))
    case = make_case(program(body, sizes, element), seed)
    far = int(rng.integers(1, rows + 1)), int(rng.integers(4, columns))
    near = int(rng.integers(1, far[0] + 1)), int(rng.integers(1, far[1]))

    context, module = at_two_levels(case.text, far, near)

    assert depth_of_loops(module) == 2
    assert disagreement(case, interpret(module, case.inputs)) is None
    target = load_target_spec("npu")
    passes = build_passes(INSTRUCTIONS, PASSES, pipelines_for(target))
    PassManager(passes).run(context, module)
    found = run_lowered(
        context, module, TargetSpec.read_from_module(module), dict(case.inputs)
    )
    assert disagreement(case, found) is None


@pytest.mark.one_in(6)
@pytest.mark.parametrize("body", BODIES)
@pytest.mark.parametrize("element", ["f32", "f16"])
@pytest.mark.parametrize("value", [-np.inf, np.inf, np.nan, -3.0e4, 3.0e4])
def test_special_rows(value: float, element: str, body: str):
    """A masked row, masked pieces at both levels, and single numbers."""
    text = program(body, (6, 13, 4, 5), element)
    inputs: dict[str, Array] = dict(make_case(text).inputs)
    bias = np.array(inputs["b"])
    bias[0] = bias[1, :6] = bias[2, 6:] = bias[3, 8] = bias[4, :3] = value
    inputs["b"] = bias.astype(DTYPE[element])

    (right,) = interpret(parsed(text)[1], inputs)
    (found,) = interpret(at_two_levels(text, (4, 6), (2, 3))[1], inputs)

    assert_alike(found, right, element)
