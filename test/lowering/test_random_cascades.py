"""Random reductions that the criterion accepts run in one loop, and are right."""

import random

import numpy as np
import pytest
from cascade_programs import in_one_group, run
from differential import parsed
from random_cascades import Cascade
from special_values import DTYPE
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp

from tlf.analysis.tiling.group_analysis import group_members_of
from tlf.dialects import tile
from tlf.dialects.interfaces import Array, ConstantInterface, TilingInterface
from tlf.dialects.interpreters.interpret import interpret
from tlf.dialects.target import load_target_spec
from tlf.passes.graph.reassociate.distribute_sums import distribute_sum

UNIT = {"f32": 2.0**-24, "f16": 2.0**-11, "bf16": 2.0**-8}
CASCADES = 200


def written(element: str, seed: int) -> tuple[Cascade, str]:
    rng = random.Random(seed)
    cascade = Cascade(rng, element, rng.randint(1, 4))
    return cascade, cascade.program()


def split(text: str) -> tuple[Context, ModuleOp]:
    """A program whose sums of several terms are split, whether that pays or not."""
    context, module = parsed(text)
    load_target_spec("h200").attach_to_module(module)
    run("graph-decompose,canonicalize,tlf-cse,dce", context, module)
    for op in list(module.walk()):
        distribute_sum(op)
    run("canonicalize,tlf-cse,dce", context, module)
    return context, module


def accepts(module: ModuleOp) -> bool:
    """Return `True` if all reductions of a program may be fused into one loop."""
    tiling = (op for op in module.walk() if isinstance(op, TilingInterface))
    members = group_members_of(
        [e for e in tiling if not isinstance(e, ConstantInterface)]
    )
    return len(members.accumulating_operations) == 1 or members.cascade is not None


def error(found: Array, wanted: Array) -> float:
    distance = np.abs(found.astype(np.float64) - wanted.astype(np.float64))
    return float(distance.max() / max(1.0, np.abs(wanted).max()))


@pytest.mark.one_in(10)
@pytest.mark.parametrize("element", UNIT)
@pytest.mark.parametrize("seed", range(CASCADES))
def test_values(seed: int, element: str):
    """At most four times the errors of the program as it was, against f64."""
    cascade, text = written(element, seed)
    context, module = split(text)
    if not accepts(module):
        pytest.skip("no correction")
    rng = random.Random(seed)
    steps = rng.randint(1, cascade.columns - 1)

    in_one_group(context, module, rng.randint(1, cascade.rows), steps)

    loops = [op for op in module.walk() if isinstance(op, tile.WhileOp)]
    kinds = [op.kind.data for op in loops]
    assert kinds.count(tile.LoopKind.SEQUENTIAL) == 1
    generator = np.random.default_rng(seed)
    inputs = {
        name: generator.standard_normal(shape).astype(DTYPE[element])
        for name, shape in cascade.shapes().items()
    }
    wide = {name: each.astype(np.float64) for name, each in inputs.items()}
    (wanted,) = interpret(parsed(text.replace(element, "f64"))[1], wide)
    (whole,) = interpret(parsed(text)[1], inputs)
    (found,) = interpret(module, inputs)
    if not np.isfinite(whole.astype(float)).all():
        pytest.skip("numbers too large for the type")
    assert error(found, wanted) <= 4 * max(error(whole, wanted), 8 * UNIT[element])


def test_that_many_are_accepted():
    """Cascades of two reductions and more, too, are often one loop."""
    deep = [seed for seed in range(60) if written("f32", seed)[0].depth > 1]
    accepted = sum(accepts(split(written("f32", seed)[1])[1]) for seed in deep)
    assert accepted >= len(deep) / 4
