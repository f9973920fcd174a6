"""Operand swaps of products: the model agrees with the backend on the left factor."""

from collections.abc import Sequence

import pytest
from gpu_programs import H200, parsed
from xdsl.dialects.builtin import ModuleOp

from tlf.analysis.tiling.group_analysis import tile_rules_of
from tlf.analysis.tiling.group_members import members_of_group_op
from tlf.compiler.driver.driver import PASSES, new_context
from tlf.compiler.driver.pass_manager import PassManager
from tlf.compiler.driver.pipeline import build_passes
from tlf.dialects import graph, mem
from tlf.dialects.interfaces import ContractionInterface
from tlf.lowering.mem_to_triton.contraction_roles import ContractionRoles
from tlf.lowering.mem_to_triton.dot_operand_order import needs_operand_swap
from tlf.lowering.mem_to_triton.dot_shapes import is_lowered_to_dot
from tlf.lowering.pipelines import PIPELINES
from tlf.planner.cost.gpu.gpu_parameters import Chip
from tlf.planner.cost.gpu.kernel_model import KernelModel

ROWS, COLUMNS, DEPTH = 256, 128, 512

COMPUTED = "%e = graph.exp %a : {a}\n"
OTHER = "%o = graph.exp %b : {b}\n"
SUMMED = (
    "%c = graph.cast %e : ({a}) -> {wide}\n"
    "%s = graph.reduce %c <sum> axes [1] keepdims : ({wide}) -> {sums}\n"
)
SCALED = "%q = graph.mul %p, %s : ({out}, {sums}) -> {out}\n"
MADE = (
    "%d = graph.matmul %a, %a2 : ({a}, {square}) -> {wide}\n"
    "%g = graph.exp %d : {wide}\n"
    "%e = graph.cast %g : ({wide}) -> {a}\n"
)


def program(
    body: str,
    factors: str,
    tile: Sequence[int],
    reduce: Sequence[int],
    element: str = "bf16",
    lies: str = "mk",
    result: str = "mn",
) -> str:
    """A group with a product of what `body` computes of `%a`, `%a2` and `%b`."""
    sizes = {"m": ROWS, "n": COLUMNS, "k": DEPTH, "1": 1}

    def type_(dims: str, element: str) -> str:
        return f"tensor<{'x'.join(str(sizes[each]) for each in dims)}x{element}>"

    types = {
        "a": type_(lies, element),
        "square": type_("kk", element),
        "b": type_("kn", element),
        "wide": type_(lies, "f32"),
        "sums": type_("m1", "f32"),
        "out": type_(result, "f32"),
    }
    maps = ", ".join(
        f"affine_map<(m, n, k) -> ({', '.join(dims)})>" for dims in (lies, "kn", result)
    )
    product = (
        f"%p = graph.contract {factors} maps [{maps}] : ({{a}}, {{b}}) -> {{out}}\n"
    )
    after = SCALED if SUMMED in body else ""
    text = (
        "func.func @f(%x: {a}, %y: {square}, %w: {b}) -> {out} {{\n"
        "%r = graph.group ins(%a = %x, %a2 = %y, %b = %w : {a}, {square}, {b}) plan "
        f"#graph.plan<L1, tile {list(tile)}, reduce {list(reduce)}, mapping grid> "
        f"-> ({{out}}) {{{{\n{body}{product}{after}"
        f"graph.yield {'%q' if after else '%p'} : {{out}}\n}}}}\n"
        "func.return %r : {out}\n}}"
    )
    return text.format(**types)


def by_model(module: ModuleOp) -> list[bool]:
    """
    Return, for all products of matrices, whether the model assumes an operand swap.
    """
    chip = Chip.from_target(H200)
    assert chip is not None
    (group,) = (op for op in module.walk() if isinstance(op, graph.GroupOp))
    assert group.plan is not None
    sizes = group.plan.tile_sizes, group.plan.reduce_sizes
    tiling = members_of_group_op(group).analyze_tiles_of_sizes(
        *sizes, tile_rules_of(H200, "L1")
    )
    arithmetic = KernelModel(chip, H200).resource_demand_of(tiling).compute_model
    return [
        arithmetic.has_swapped_operands(tiled)
        for op, tiled in tiling.tiles.items()
        if isinstance(op, ContractionInterface)
        and arithmetic.has_mma_shape(arithmetic.matrix_product_of(tiled))
    ]


def by_backend(module: ModuleOp) -> list[bool]:
    """Return, for all products in kernels, whether their operands are swapped."""
    steps = "convert-graph-to-tile,tidy,convert-tile-to-mem,tidy,convert-mem-to-triton"
    H200.attach_to_module(module)
    PassManager(build_passes(steps, PASSES, PIPELINES)).run(new_context(), module)
    return [
        needs_operand_swap(op, ContractionRoles.classify_dims(op))
        for op in module.walk()
        if isinstance(op, mem.ContractOp) and is_lowered_to_dot(op)
    ]


CASES = {
    "loaded": (program("", "%a, %b", (64, 64), (64,)), [False]),
    "loaded, turned": (program("", "%a, %b", (64, 64), (64,), lies="km"), [False]),
    "result turned": (
        program("", "%a, %b", (64, 64), (64,), result="nm"),
        [True],
    ),
    "computed": (program(COMPUTED, "%e, %b", (64, 64), (64,)), [False]),
    "turned": (program(COMPUTED, "%e, %b", (64, 64), (64,), lies="km"), [True]),
    "turned, f32": (
        program(COMPUTED, "%e, %b", (64, 64), (32,), element="f32", lies="km"),
        [False],
    ),
    "turned, the other computed": (
        program(OTHER, "%a, %o", (64, 64), (64,), lies="km"),
        [False],
    ),
    "both turned": (
        program(COMPUTED + OTHER, "%e, %o", (64, 64), (64,), lies="km"),
        [False],
    ),
    "result and other turned": (
        program(OTHER, "%a, %o", (64, 64), (64,), result="nm"),
        [False],
    ),
    "few rows": (program(COMPUTED, "%e, %b", (32, 64), (64,)), [True]),
    "few rows and columns": (program(COMPUTED, "%e, %b", (32, 32), (64,)), [False]),
    "summed": (
        program(COMPUTED + SUMMED, "%e, %b", (64, COLUMNS), (64,)),
        [True],
    ),
    "made of a product": (
        program(MADE, "%e, %b", (16, COLUMNS), (64, 64)),
        [False, False],
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_the_model_knows_which_factor_is_left(name: str) -> None:
    text, expected = CASES[name]
    assert by_model(parsed(text)) == by_backend(parsed(text)) == expected
