"""Networks compute the same once convolutions of the same images are one."""

from itertools import product

import pytest
from differential import disagreement, make_case, parsed
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

from tlf.compiler.driver.driver import PASSES
from tlf.compiler.driver.pass_manager import PassManager
from tlf.compiler.driver.pipeline import build_passes
from tlf.dialects import graph
from tlf.dialects.interpreters.interpret import interpret
from tlf.dialects.target import load_target_spec
from tlf.lowering.pipelines import PIPELINES

IMAGES = "tensor<2x8x5x6xf32>"


def run_passes(text: str, pipeline: str) -> ModuleOp:
    """Return a program after some passes for a GPU."""
    context, module = parsed(text)
    load_target_spec("h200").attach_to_module(module)
    PassManager(build_passes(pipeline, PASSES, PIPELINES)).run(context, module)
    return module


def count(module: Operation, kind: type[Operation]) -> int:
    return sum(isinstance(op, kind) for op in module.walk())


def residues(*windows: tuple[int, int]) -> str:
    """
    Return a program that interleaves convolutions along both axes of an image, with
    every pair of windows; a window is its number of taps and its low padding.
    """
    lines, names, filters = list[str](), list[str](), list[str]()
    for number, (rows, columns) in enumerate(product(windows, repeat=2)):
        taps = f"{rows[0]}x{columns[0]}"
        high = [each[0] - 1 - each[1] for each in (rows, columns)]
        padding = [rows[1], columns[1], *high]
        w, y = f"tensor<4x8x{taps}xf32>", "tensor<2x4x5x6xf32>"
        filters.append(f"%w{number}: {w} {{tlf.parameter}}")
        lines += (
            f"%c{number} = graph.conv2d %x, %w{number} padding {padding} "
            f": ({IMAGES}, {w}) -> {y}",
            f"%r{number} = graph.reshape %c{number} : ({y}) -> tensor<2x4x5x1x6x1xf32>",
        )
        names.append(f"%r{number}")
    line, count_ = "tensor<2x4x5x1x6x1xf32>", len(windows)
    row, whole = f"tensor<2x4x5x1x6x{count_}xf32>", f"2x4x5x{count_}x6x{count_}"
    for number in range(count_):
        operands = ", ".join(names[number * count_ : (number + 1) * count_])
        types = ", ".join([line] * count_)
        lines.append(
            f"%k{number} = graph.concat {operands} axis 5 : ({types}) -> {row}"
        )
    operands = ", ".join(f"%k{number}" for number in range(count_))
    result = f"tensor<2x4x{5 * count_}x{6 * count_}xf32>"
    types = ", ".join([row] * count_)
    lines += (
        f"%k = graph.concat {operands} axis 3 : ({types}) -> tensor<{whole}xf32>",
        f"%i = graph.reshape %k : (tensor<{whole}xf32>) -> {result}",
        f"%y = graph.tanh %i : {result}",
        f"func.return %y : {result}",
    )
    arguments = ", ".join([f"%x: {IMAGES}", *filters])
    body = "\n".join(f"  {each}" for each in lines)
    return f"func.func @main({arguments}) -> {result} {{\n{body}\n}}\n"


WINDOWS = [
    # Kernels of 3 and 4 with stride 2, of 5 with stride 3, and far apart.
    [(1, 0), (2, 0)],
    [(2, 1), (2, 0)],
    [(2, 1), (1, 0), (2, 0)],
    [(2, 1), (2, 1)],
    [(1, 0), (3, 2)],
]


@pytest.mark.one_in(1 / 4)
@pytest.mark.parametrize("pipeline", ["graph-merge-convolutions", "graph-pipeline"])
@pytest.mark.parametrize("windows", WINDOWS)
def test_interleaved_convolutions(windows: list[tuple[int, int]], pipeline: str):
    text = residues(*windows)
    case = make_case(text)
    module = run_passes(text, pipeline)
    assert disagreement(case, interpret(module, case.inputs)) is None
    is_converted = pipeline == "graph-pipeline"
    assert count(module, graph.Conv2dOp) == (0 if is_converted else 1)
    assert count(module, graph.ContractOp) == (1 if is_converted else 0)


def test_results_are_written_interleaved():
    module = run_passes(residues((1, 0), (2, 0)), "graph-pipeline")
    (product_,) = (op for op in module.walk() if isinstance(op, graph.ContractOp))
    *_, tanh = (op for op in module.walk() if isinstance(op, graph.TanhOp))
    assert tanh.operand is product_.result
    assert product_.result.type.get_shape() == (2, 4, 5, 2, 6, 2)
