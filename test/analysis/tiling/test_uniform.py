"""The sum for elementwise groups against the analysis of their smallest tiles."""

import random

import pytest
from xdsl.dialects import func

from tlf.analysis.tiling.group import members_of, rules_of
from tlf.analysis.tiling.uniform import UniformGroups
from tlf.compiler.driver.driver import new_context, parse
from tlf.compiler.driver.source import Source
from tlf.dialects.interfaces import TilingInterface
from tlf.dialects.target import load

SHAPES = {"x": "5x7", "row": "7", "column": "5x1", "one": "1x1", "number": ""}


def tensor(shape: str, element: str) -> str:
    """The type of a tensor."""
    return f"tensor<{shape}x{element}>" if shape else f"tensor<{element}>"


def random_program(generator: random.Random, element: str) -> str:
    """Operations on 5x7 elements, each on values that are there."""
    whole = tensor("5x7", element)
    known = ["x"]
    lines: list[str] = []
    for number in range(generator.randint(1, 12)):
        left = generator.choice(known)
        if generator.random() < 0.5:
            kind = generator.choice(["relu", "tanh", "gelu", "exp"])
            option = " <erf>" if kind == "gelu" else ""
            lines.append(f"%{number} = graph.{kind} %{left}{option} : {whole}")
        else:
            right = generator.choice([*known, *SHAPES])
            type_ = tensor(SHAPES.get(right, "5x7"), element)
            kind = generator.choice(["add", "mul", "maximum"])
            lines.append(
                f"%{number} = graph.{kind} %{left}, %{right} : ({whole}, {type_}) -> "
                f"{whole}"
            )
        known.append(str(number))
    arguments = ", ".join(f"%{n}: {tensor(s, element)}" for n, s in SHAPES.items())
    body = "\n".join(lines)
    return (
        f"func.func @f({arguments}) -> {whole} {{\n{body}\n"
        f"func.return %{known[-1]} : {whole}\n}}"
    )


def used_operations(text: str) -> list[TilingInterface]:
    """The operations of a program that its result depends on."""
    module = parse(new_context(), Source(text, "program.mlir"))
    (function,) = (op for op in module.ops if isinstance(op, func.FuncOp))
    for op in reversed(list(function.body.block.ops)):
        if op.results and not any(result.uses for result in op.results):
            op.detach()
            op.erase()
    return [op for op in function.body.block.ops if isinstance(op, TilingInterface)]


@pytest.mark.parametrize("seed", range(40))
@pytest.mark.parametrize("name", ["npu", "npu-tiny", "h200"])
def test_sum_is_that_of_the_analysis(seed: int, name: str):
    generator = random.Random(seed)
    element = generator.choice(["f32", "f16", "bf16"])
    operations = used_operations(random_program(generator, element))
    target = load(name)
    level = target.tile_levels[-1]
    rules = rules_of(target, level.name)
    members = members_of(operations)
    tiling = members.tiling(members.axes(rules).least(), (), rules)
    needed = tiling.bytes() if level.kind == "buffer" else tiling.read_bytes()

    assert UniformGroups(level).needed(operations) == needed


def test_other_operations_have_no_sum():
    text = """
        func.func @f(%x: tensor<4x8xf32>, %s: tensor<4x4xf32>)
            -> tensor<4xf32> {
          %0 = graph.matmul %s, %x
              : (tensor<4x4xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
          %1 = graph.exp %0 : tensor<4x8xf32>
          %2 = graph.reduce %1 <sum> axes [1] : (tensor<4x8xf32>) -> tensor<4xf32>
          %3 = graph.exp %2 : tensor<4xf32>
          func.return %3 : tensor<4xf32>
        }"""
    first, second, third, last = used_operations(text)
    groups = UniformGroups(load("npu").tile_levels[-1])

    assert groups.needed([second]) is not None
    assert groups.needed([first, second]) is None
    assert groups.needed([second, third]) is None
    assert groups.needed([second, last]) is None
