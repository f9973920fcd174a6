"""Tiles that roll compute what they did before, and read nothing twice."""

from collections import Counter

import numpy as np
import pytest
from numpy.random import Generator
from numpy.typing import NDArray
from random_stacks import stack
from tiled_groups import arguments_of, check_equal, tiled
from xdsl.dialects.builtin import ModuleOp
from xdsl.interpreter import Interpreter, PythonValues
from xdsl.interpreters.affine import AffineFunctions
from xdsl.interpreters.func import FuncFunctions
from xdsl.ir import Operation, SSAValue
from xdsl.parser import Parser

from tlf.analysis.operations.op_facts import OpFacts
from tlf.analysis.tiling.group_members import members_of_group_op
from tlf.analysis.tiling.group_tiling import TilingError
from tlf.compiler.driver.driver import new_context
from tlf.dialects import graph, tile
from tlf.dialects.entry_point import find_entry_point
from tlf.dialects.interfaces import Array
from tlf.dialects.interpreters.graph import GraphFunctions
from tlf.dialects.interpreters.interpret import interpret
from tlf.dialects.interpreters.tile import TileFunctions, clip_box_to_slices
from tlf.dialects.target import load_target_spec
from tlf.dialects.tile import level_of
from tlf.dialects.types import tensor_type

ROUNDS = 100


def rolling(seed: int, lead: int = 0) -> tuple[ModuleOp, Generator]:
    """A random stack whose tiles roll along its rows or columns, with a lead or not."""
    rng = np.random.default_rng(seed)
    module = Parser(new_context(), stack(rng)).parse_module()
    (group,) = (op for op in module.walk() if isinstance(op, graph.GroupOp))
    images, channels, *extents = OpFacts(
        members_of_group_op(group).root
    ).parallel_extents
    axis = int(rng.integers(2))
    sizes = [int(rng.integers(1, images + 1)), channels, *extents]
    sizes[2 + axis] = int(rng.integers(1, extents[axis] + 1))
    if rng.random() < 0.3:
        sizes[3 - axis] = int(rng.integers(1, extents[1 - axis] + 1))
    values = len(group.inputs) + len(list(group.body.block.ops)) - 1
    recompute = rng.permutation(values)[: rng.choice([0, 0, 1, 2])]
    again = [int(each) for each in recompute]
    group.plan = graph.PlanAttr(
        "L2", sizes, sliding=[2 + axis], recompute=again, prefetch_distance=lead
    )
    module.verify()
    return module, rng


class Counting(Interpreter.Listener):
    """Counts how often each element of an argument is moved to another level."""

    def __init__(self) -> None:
        self.counts: dict[SSAValue, NDArray[np.int64]] = {}

    def will_interpret_op(self, op: Operation, args: PythonValues) -> None:
        if not isinstance(op, tile.SliceOp) or level_of(op.source.type) is not None:
            return
        dynamic = args[1:]
        indices = iter(dynamic)
        offsets = [
            offset if isinstance(offset, int) else int(next(indices))
            for offset in op.mixed_offsets
        ]
        shape = tensor_type(op.source).get_shape()
        whole, _ = clip_box_to_slices(offsets, op.valid_box_extents, shape)
        count = self.counts.setdefault(op.source, np.zeros(shape, np.int64))
        count[whole] += 1


def reads(module: ModuleOp, arguments: dict[str, Array]) -> list[NDArray[np.int64]]:
    """Return the number of reads of each element of each argument."""
    counting = Counting()
    interpreter = Interpreter(module, listeners=(counting,))
    for functions in (
        FuncFunctions(),
        AffineFunctions(),
        GraphFunctions(),
        TileFunctions(),
    ):
        interpreter.register_implementations(functions)
    interpreter.call_op(find_entry_point(module), tuple(arguments.values()))
    return list(counting.counts.values())


@pytest.mark.one_in(1 / 2)
@pytest.mark.parametrize("lead", range(2))
@pytest.mark.parametrize("chunk", range(4))
def test_rolling_tiles_compute_the_same(chunk: int, lead: int):
    done: Counter[str] = Counter()
    for seed in range(chunk, ROUNDS, 4):
        module, rng = rolling(seed, lead)
        arguments = arguments_of(module, rng)
        expected = interpret(module, arguments)
        plan = next(op.plan for op in module.walk() if isinstance(op, graph.GroupOp))
        assert plan is not None
        try:
            tiled(module, load_target_spec("npu-tiny"))
        except TilingError:
            done["refused"] += 1
            continue
        check_equal(interpret(module, arguments), expected)
        done["all"] += 1
        if "tile.roll" not in str(module) or plan.recomputed_values:
            continue
        done["rolled"] += 1
        if (
            plan.tile_sizes[5 - (plan.sliding_window_axis or 0)]
            < expected[0].shape[5 - (plan.sliding_window_axis or 0)]
        ):
            continue
        done["only"] += 1
        for count in reads(module, arguments):
            assert count.max() <= 1
    assert done["refused"] <= 1
    assert done["rolled"] > 3
    assert done["only"] > 2
