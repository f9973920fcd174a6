"""Reductions in one loop near the engines of an NPU, with products issued early."""

import numpy as np
import pytest
from cascade_programs import BODIES, ROWS, assert_alike, near_engines, program
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
from xdsl.dialects import scf
from xdsl.dialects.builtin import ModuleOp

from tlf.dialects import mem, tile
from tlf.dialects.interfaces import Array
from tlf.dialects.interpreters.interpret import interpret
from tlf.dialects.target import TargetSpec, load_target_spec

BUFFERS = "convert-tile-to-mem,tidy,mem-fold-fills,mem-fold-casts,mem-pipeline"
INSTRUCTIONS = "mem-split-maps,mem-prefetch,mem-plan,convert-mem-to-npu,tidy"
PRODUCTS = set(BODIES) - set(ROWS)
"""Programs whose scores are multiplied with something."""


def compute(
    text: str, inputs: dict[str, Array], plan: tuple[int, int, int, int]
) -> tuple[tuple[Array, ...], list[int]]:
    """Results on the NPU, and how far ahead the products of the loop start."""
    context, module = near_engines(text, *plan)
    target = load_target_spec("npu")

    def run(passes: str) -> None:
        made = build_passes(passes, PASSES, pipelines_for(target))
        PassManager(made).run(context, module)

    assert any(
        isinstance(op, tile.WhileOp) and op.kind.data is tile.LoopKind.SEQUENTIAL
        for op in module.walk()
    )
    run(BUFFERS)
    products = [op for op in module.walk() if isinstance(op, mem.ContractOp)]
    run(INSTRUCTIONS)
    ahead = [op.prefetch_distance for op in products]
    return run_lowered(
        context, module, TargetSpec.read_from_module(module), inputs
    ), ahead


def loads_beside_loops(module: ModuleOp) -> list[mem.DmaOp]:
    """The loads of the nearest level in bodies that have a loop, too."""
    inner = [op.parent for op in module.walk() if isinstance(op, scf.ForOp)]
    return [
        op
        for op in module.walk()
        if isinstance(op, mem.DmaOp)
        and op.parent in inner
        and isinstance(op.parent_op(), scf.ForOp | scf.ParallelOp)
        and mem.level_of(op.destination.type) == "L1"
    ]


@pytest.mark.parametrize("pieces", [1, 2, 3])
def test_rows_come_an_iteration_early(pieces: int):
    """Queries, while the keys of the rows before are looked at, if that overlaps."""
    text = program("attention", (32, 24, 16, 8), "f16")
    context, module = near_engines(text, 8, 4, 1, pieces)
    made = build_passes(BUFFERS, PASSES, pipelines_for(load_target_spec("npu")))
    PassManager(made).run(context, module)

    loads = loads_beside_loops(module)
    assert loads
    assert {each.prefetch_distance for each in loads} == {min(1, pieces - 1)}


@pytest.mark.one_in(12)
@pytest.mark.parametrize("body", BODIES)
@pytest.mark.parametrize("element", ["f32", "f16", "bf16"])
@pytest.mark.parametrize("seed", range(4))
def test_random_sizes(seed: int, element: str, body: str):
    rng = np.random.default_rng(seed)
    rows, columns, inner = (int(n) for n in rng.integers([1, 8, 1], 40))
    sizes = rows, columns, inner, int(rng.integers(1, columns))
    case = make_case(program(body, sizes, element), seed)
    steps = int(rng.integers(1, columns // 3))
    stages, pieces = (int(n) for n in rng.integers(1, 4, 2))

    plan = int(rng.integers(1, rows + 1)), steps, stages, pieces
    results, ahead = compute(case.text, dict(case.inputs), plan)

    early = pieces - 1 if body in PRODUCTS else 0
    assert max(ahead) == early
    assert disagreement(case, results) is None


@pytest.mark.one_in(1 / 4)
@pytest.mark.parametrize("element", ["f32", "f16"])
@pytest.mark.parametrize("value", [-np.inf, np.inf, np.nan, 3.0e4])
def test_special_rows(value: float, element: str):
    """A masked row, masked first and last steps, and single numbers."""
    text = program("attention", (6, 12, 4, 5), element)
    inputs = dict(make_case(text).inputs)
    bias = np.array(inputs["b"])
    bias[0] = bias[1, :5] = bias[2, 7:] = bias[3, 6] = value
    inputs["b"] = bias.astype(DTYPE[element])

    (right,) = interpret(parsed(text)[1], inputs)
    (found,), _ = compute(text, inputs, (4, 4, 1, 3))

    assert_alike(found, right, element)
