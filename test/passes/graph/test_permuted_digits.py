"""Chains of reshapes and transposes as one permutation of digits."""

import numpy as np
import pytest
from differential import parsed
from xdsl.builder import Builder
from xdsl.dialects import func
from xdsl.rewriter import InsertPoint

from tlf.dialects import graph
from tlf.dialects.interpreters.interpret import interpret
from tlf.passes.graph.permuted_digits import PermutedDigits

CHAINS = [
    ("4x6", ["reshape 4x2x3", "transpose 1,0,2", "reshape 8x3"]),
    ("2x12x5", ["reshape 2x3x4x5", "transpose 0,2,3,1", "reshape 8x15"]),
    ("2x3x4", ["transpose 2,0,1", "reshape 4x6", "reshape 2x2x6", "transpose 1,2,0"]),
    ("1x6x1", ["reshape 2x1x3", "transpose 2,1,0"]),
    ("8x12", ["reshape 8x3x4", "transpose 1,2,0", "reshape 12x8", "transpose 1,0"]),
    ("5x1x3", ["transpose 1,0,2"]),
]
"""Shapes, and the operations of a chain."""


def chain(shape: str, steps: list[str]) -> str:
    """Return a program with a chain of operations."""
    lines, extents = list[str](), [int(each) for each in shape.split("x")]
    for number, step in enumerate(steps):
        name, numbers = step.split()
        before = "x".join(map(str, extents))
        if name == "transpose":
            order = [int(each) for each in numbers.split(",")]
            extents, options = (
                [extents[axis] for axis in order],
                f" permutation {order}",
            )
        else:
            extents, options = [int(each) for each in numbers.split("x")], ""
        after = "x".join(map(str, extents))
        operand = f"%{number - 1}" if number else "%x"
        types = f"(tensor<{before}xf32>) -> tensor<{after}xf32>"
        lines.append(f"%{number} = graph.{name} {operand}{options} : {types}")
    result = "x".join(map(str, extents))
    body = "\n".join(lines)
    last = f"func.return %{len(steps) - 1} : tensor<{result}xf32>"
    return (
        f"func.func @main(%x: tensor<{shape}xf32>) -> tensor<{result}xf32> "
        f"{{\n{body}\n{last}\n}}"
    )


@pytest.mark.parametrize(("shape", "steps"), CHAINS)
def test_chains_are_one_permutation(shape: str, steps: list[str]):
    _, module = parsed(chain(shape, steps))
    extents = [int(each) for each in shape.split("x")]
    x = np.arange(np.prod(extents), dtype=np.float32).reshape(extents)
    (expected,) = interpret(module, {"x": x})
    (function,) = (op for op in module.ops if isinstance(op, func.FuncOp))
    last = function.body.block.last_op
    assert isinstance(last, func.ReturnOp)
    permutation = PermutedDigits.of_chain(last.operands[0])
    assert permutation.source is function.body.block.args[0]
    rebuilt = permutation.build(Builder(InsertPoint.before(last)))
    last.operands[0] = rebuilt
    (actual,) = interpret(module, {"x": x})
    assert np.array_equal(actual, expected)
    assert permutation.keeps_order == np.array_equal(expected.ravel(), x.ravel())


def test_digits_that_do_not_fit_end_the_chain():
    steps = ["reshape 6x4", "transpose 1,0", "reshape 3x8"]
    _, module = parsed(chain("4x6", steps))
    (function,) = (op for op in module.ops if isinstance(op, func.FuncOp))
    *_, reshape = (op for op in module.walk() if isinstance(op, graph.ReshapeOp))
    assert PermutedDigits.of_chain(reshape.result).source is reshape.result
    first = next(op for op in module.walk() if isinstance(op, graph.ReshapeOp))
    # Six rows of four columns are no digits of four rows of six columns.
    digit = PermutedDigits.of_chain(first.result).axes[0][0]
    source = PermutedDigits.of_tensor(function.body.block.args[0])
    assert source.axis_of_source(digit) is None
