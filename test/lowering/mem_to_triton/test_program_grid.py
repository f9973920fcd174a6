"""
The order in which the programs of a grid run.
"""

from collections.abc import Callable, Mapping

import numpy as np
import pytest
from xdsl.dialects import arith, scf
from xdsl.dialects.builtin import IntegerAttr, i64
from xdsl.ir import Block, Region

from tlf.lowering.mem_to_triton.index_expressions import IndexExpr
from tlf.lowering.mem_to_triton.program_grid import iteration_indices_of_program
from tlf.lowering.mem_to_triton.python_source import PythonSource
from tlf.runtime.triton.launch_plan import Plan

Check = Callable[[str, Mapping[str, np.ndarray]], Mapping[str, np.ndarray]]


class Minimum:
    """Stand-in for the functions of Triton that emitted index arithmetic calls."""

    minimum = staticmethod(min)


def visited(counts: tuple[int, ...], group: int) -> list[tuple[int, ...]]:
    """
    The iteration that each program runs, by evaluation of the emitted expressions.
    """
    bound = arith.ConstantOp.from_int_and_width(0, 64).result
    bounds = [bound] * len(counts)
    op = scf.ParallelOp(bounds, bounds, bounds, Region(Block()))
    op.attributes["group"] = IntegerAttr(group, i64)
    source, total = PythonSource(), int(np.prod(counts))
    numbers = iteration_indices_of_program(
        source, op, IndexExpr("pid", 0, total - 1), counts
    )
    order: list[tuple[int, ...]] = []
    for program in range(total):
        names: dict[str, object] = {"tl": Minimum, "pid": program}
        exec("\n".join(line.strip() for line in source.lines), names)
        values = [eval(numbers[axis].text, names) for axis in range(len(counts))]
        for axis, value in enumerate(values):
            assert numbers[axis].low <= value <= numbers[axis].high
        order.append(tuple(values))
    return order


@pytest.mark.parametrize("group", [1, 2, 4, 16])
@pytest.mark.parametrize(
    "counts",
    [(5,), (1, 7), (7, 1), (4, 3), (7, 3), (8, 8), (33, 2), (2, 5, 3), (3, 1, 9, 4)],
)
def test_every_iteration_runs_once(counts: tuple[int, ...], group: int) -> None:
    order = visited(counts, group)
    assert sorted(order) == sorted(np.ndindex(*counts))


def test_groups() -> None:
    """
    Two rows go with each column, and the odd row alone.
    """
    assert visited((3, 2), 1) == [(0, 0), (0, 1), (1, 0), (1, 1), (2, 0), (2, 1)]
    assert visited((3, 2), 2) == [(0, 0), (1, 0), (0, 1), (1, 1), (2, 0), (2, 1)]


PRODUCT = """
func.func @f(%x: memref<80x16xf32, "L3">, %w: memref<16x48xf32, "L3">,
    %y: memref<80x48xf32, "L3">) attributes {tlf.results = 1 : i64} {
  %zero = arith.constant 0 : index
  %rows = arith.constant 80 : index
  %columns = arith.constant 48 : index
  %step = arith.constant 16 : index
  "scf.parallel"(%zero, %zero, %rows, %columns, %step, %step)
      <{operandSegmentSizes = array<i32: 2, 2, 2, 0>}> ({
  ^bb0(%i: index, %j: index):
    %a = mem.load %x[%i, 0] size [16, 16] : memref<80x16xf32, "L3"> -> tensor<16x16xf32>
    %b = mem.load %w[0, %j] size [16, 16] : memref<16x48xf32, "L3"> -> tensor<16x16xf32>
    %s = mem.fill 0.0 -> tensor<16x16xf32>
    %r = mem.contract ins(%a, %b : tensor<16x16xf32>, tensor<16x16xf32>)
        outs(%s : tensor<16x16xf32>) domain [16, 16, 16]
        maps [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>,
              affine_map<(m, n, k) -> (m, n)>] -> tensor<16x16xf32>
    mem.store %r to %y[%i, %j] : tensor<16x16xf32> to memref<80x48xf32, "L3">
    scf.reduce
  }) {mapping = "grid"} : (index, index, index, index, index, index) -> ()
  func.return
}"""


@pytest.mark.parametrize(
    ("attribute", "lines"),
    [
        # Five rows in one group, as many in groups of two, and in the order given.
        ("", ["i0 = (pid0 % 5) * 16", "i1 = (pid0 // 5) * 16"]),
        (
            ", group = 2",
            [
                "g0 = pid0 % 6",
                "g1 = tl.minimum(5 - ((pid0 // 6) * 2), 2)",
                "i0 = ((pid0 // 6) * 2 + g0 % g1) * 16",
                "i1 = (g0 // g1) * 16",
            ],
        ),
        (
            ", order = array<i64: 0, 1>",
            ["i0 = (pid0 // 3) * 16", "i1 = (pid0 % 3) * 16"],
        ),
    ],
    ids=["default", "given", "ordered"],
)
def test_products(
    check: Check, plan_of: Callable[[str], Plan], attribute: str, lines: list[str]
) -> None:
    text = PRODUCT.replace('"grid"', f'"grid"{attribute}')
    draw = np.random.default_rng(4)
    x = draw.standard_normal((80, 16)).astype(np.float32)
    w = draw.standard_normal((16, 48)).astype(np.float32)
    got = check(text, {"x": x, "w": w})["y"]
    np.testing.assert_allclose(got, x.astype(np.float64) @ w, rtol=1e-5, atol=1e-5)
    source = plan_of(text).kernels[0].source.splitlines()
    start = next(n for n, line in enumerate(source) if "pid0 =" in line) + 1
    found = [line.strip().partition("  #")[0] for line in source[start:]]
    assert found[: len(lines)] == lines


@pytest.mark.parametrize("programs", [4, 132])
def test_programs_that_run_several_iterations(
    check: Check, plan_of: Callable[[str], Plan], programs: int
) -> None:
    """Fifteen iterations, on at most as many programs."""
    text = PRODUCT.replace('"grid"', f'"persistent", programs = {programs}')
    draw = np.random.default_rng(4)
    x = draw.standard_normal((80, 16)).astype(np.float32)
    w = draw.standard_normal((16, 48)).astype(np.float32)
    got = check(text, {"x": x, "w": w})["y"]
    np.testing.assert_allclose(got, x.astype(np.float64) @ w, rtol=1e-5, atol=1e-5)
    (kernel,) = plan_of(text).kernels
    assert kernel.grid == (min(programs, 15),)
    loop = f"for t0 in tl.range(tl.program_id(0), 15, {programs}, flatten=True):"
    assert loop in kernel.source
