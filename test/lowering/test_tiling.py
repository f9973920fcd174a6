"""Groups of every kind of operation, tiled at random, compute what they did before."""

from collections import Counter
from collections.abc import Mapping
from contextlib import suppress
from itertools import product
from math import ceil, prod

import numpy as np
import pytest
from numpy.typing import NDArray
from planned_groups import planned
from random_groups import (
    FAMILIES,
    Family,
    convolution,
    crossed,
    halo,
    softmax,
    statistics,
    two_convolutions,
)
from tiled_groups import arguments_of, check_equal, tiled
from xdsl.dialects.builtin import ModuleOp
from xdsl.interpreter import (
    Interpreter,
    InterpreterFunctions,
    PythonValues,
    impl,
    register_impls,
)
from xdsl.interpreters.affine import AffineFunctions
from xdsl.interpreters.func import FuncFunctions
from xdsl.ir import BlockArgument, Operation

from tlf.analysis.tiling.banded_windows import banded_matmul_of
from tlf.analysis.tiling.group_analysis import tile_rules_of
from tlf.analysis.tiling.group_members import members_of_group_op
from tlf.analysis.tiling.group_tiling import (
    GroupTiling,
    TiledOperation,
    TilingError,
    count_elements_of_box,
)
from tlf.dialects import graph, tile
from tlf.dialects.entry_point import find_entry_point
from tlf.dialects.interfaces import Array
from tlf.dialects.interpreters.graph import GraphFunctions
from tlf.dialects.interpreters.interpret import interpret
from tlf.dialects.interpreters.tile import TileFunctions, clip_box_to_slices
from tlf.dialects.target import TargetSpec, load_target_spec
from tlf.dialects.types import dtype_of, tensor_type

ROUNDS = 12
"""Number of random plans of each family that are tried on each target."""

FEWER: Mapping[tuple[Family, str], int] = {
    (convolution, "h200"): ROUNDS // 6,
    (convolution, "npu-tiny"): ROUNDS // 2,
    (crossed, "h200"): 0,
    (halo, "h200"): 0,
    (halo, "npu-tiny"): ROUNDS // 4,
    (softmax, "h200"): ROUNDS // 3,
    (softmax, "npu-tiny"): ROUNDS // 3,
    (statistics, "h200"): ROUNDS // 3,
    (two_convolutions, "h200"): 0,
}
"""
Minimum numbers of plans that are carried out, if not all: where tiles cannot be sliced,
where several tiles would write the same elements, where a tile belongs to several
groups, and where one is needed in the loop of a cascade and behind it.
"""


@register_impls
class CountingFunctions(InterpreterFunctions):
    """Counts how often each `tile.deslice` writes each element."""

    def __init__(self) -> None:
        self.counts: dict[Operation, NDArray[np.int64]] = {}

    @impl(tile.DesliceOp)
    def run_deslice(
        self, interpreter: Interpreter, op: tile.DesliceOp, args: PythonValues
    ) -> PythonValues:
        source, destination, *dynamic = args
        indices = iter(dynamic)
        offsets = [
            offset if isinstance(offset, int) else int(next(indices))
            for offset in op.mixed_offsets
        ]
        whole, box = clip_box_to_slices(
            offsets, op.valid_box_extents, destination.shape
        )
        if op not in self.counts:
            shape = tensor_type(op.destination).get_shape()
            self.counts[op] = np.zeros(shape, np.int64)
        self.counts[op][whole] += 1
        result = destination.copy()
        result[whole] = source[box]
        return (result,)


def writes(module: ModuleOp, arguments: Mapping[str, Array]) -> list[NDArray[np.int64]]:
    """Return the number of writes of each element of each result."""
    counting = CountingFunctions()
    interpreter = Interpreter(module)
    for functions in (
        FuncFunctions(),
        AffineFunctions(),
        GraphFunctions(),
        TileFunctions(),
        counting,
    ):
        interpreter.register_implementations(functions, override=True)
    interpreter.call_op(find_entry_point(module), tuple(arguments.values()))
    return list(counting.counts.values())


@pytest.mark.one_in(4)
@pytest.mark.filterwarnings("ignore:invalid value:RuntimeWarning")
@pytest.mark.parametrize("name", ["npu-tiny", "h200"])
@pytest.mark.parametrize("family", FAMILIES)
def test_tiles_compute_the_same(family: Family, name: str):
    target, done = load_target_spec(name), 0
    for seed in range(ROUNDS):
        try:
            module, _, rng = planned(family, target, seed)
            arguments = arguments_of(module, rng)
            expected = interpret(module, arguments)
            tiled(module, target)
        except TilingError:
            continue
        check_equal(interpret(module, arguments), expected)
        for count in writes(module, arguments):
            np.testing.assert_array_equal(count, np.ones_like(count))
        done += 1
    least = FEWER.get((family, name), ROUNDS)
    assert done >= least, f"only {done} of {ROUNDS} plans could be carried out"


def cut_from_arguments(module: ModuleOp) -> Counter[tuple[int, ...]]:
    """The shapes of the tiles that are cut from arguments."""
    return Counter(
        tensor_type(op.result).get_shape()
        for op in module.walk()
        if isinstance(op, tile.SliceOp) and isinstance(op.source, BlockArgument)
    )


def computed(module: ModuleOp) -> Counter[tuple[str, tuple[int, ...]]]:
    """The operations of the graph dialect, and the shapes of their tiles."""
    return Counter(
        (op.name, tensor_type(op.results[0]).get_shape())
        for op in module.walk()
        if op.name.startswith("graph.")
    )


def name_of(tiling: GroupTiling, tiled: TiledOperation) -> str:
    """
    Return the name of the operation that computes a tile: the operation itself, or a
    banded product.
    """
    bands = banded_matmul_of(tiling.rules.array, tiled.op, tiled.box, tiled.facts)
    return tiled.op.name if bands is None else graph.LinearContractOp.name


def shapes(tiling: GroupTiling) -> Counter[tuple[int, ...]]:
    """The shapes of the tiles that the analysis wants to be cut."""
    return Counter(tuple(i.tile_extent for i in box) for _, box in tiling.input_tiles())


def analysed(group: graph.GroupOp, target: TargetSpec) -> GroupTiling:
    """Return the analysis of a group with a plan."""
    plan = group.plan
    assert plan is not None
    return members_of_group_op(group).analyze_tiles_of_sizes(
        plan.tile_sizes, plan.reduce_sizes, tile_rules_of(target, plan.level.data)
    )


@pytest.mark.parametrize("family", FAMILIES)
def test_the_analysis_foresees_what_is_emitted(family: Family):
    """Plans are chosen by what the analysis says tiles take."""
    target = load_target_spec("npu-tiny")
    level = target.levels["L1"]
    for seed in range(ROUNDS):
        try:
            module, group, _ = planned(family, target, seed)
            tiling = analysed(group, target)
        except TilingError:
            assert (family, target.name) in FEWER
            continue
        wanted, read = shapes(tiling), tiling.bytes_of_input_tiles()
        results = Counter(
            (
                name_of(tiling, each),
                tuple(interval.tile_extent for interval in each.result),
            )
            for each in tiling.tiles.values()
        )
        for value, box in tiling.input_tiles():
            assert count_elements_of_box(box) == prod(
                interval.tile_extent for interval in box
            ), value
        tiled(module, target)
        assert cut_from_arguments(module) == wanted
        assert computed(module) == results
        slices = (
            tensor_type(op.result)
            for op in module.walk()
            if isinstance(op, tile.SliceOp) and isinstance(op.source, BlockArgument)
        )
        sizes = (
            prod(type_.get_shape()) * dtype_of(type_.element_type).itemsize
            for type_ in slices
        )
        align = level.alignment
        assert sum(ceil(size / align) * align for size in sizes) == read


def test_every_kind_of_loop_is_tried():
    """The random plans have loops of both kinds, orders, masks and partial tiles."""
    found: Counter[str] = Counter()
    words = ("sequential", "order(", "valid", "fill 0xff", "tile.mask")
    target = load_target_spec("h200")
    for family, seed in product(FAMILIES, range(ROUNDS)):
        with suppress(TilingError):
            module, _, _ = planned(family, target, seed)
            tiled(module, target)
            text = str(module)
            found.update(word for word in words if word in text)
    assert all(found[word] > 4 for word in words), found
