"""The sum for elementwise groups against the analysis of their smallest tiles."""

import random

import pytest
from xdsl.dialects import func

from tlf.analysis.tiling.elementwise_footprints import ElementwiseFootprints
from tlf.analysis.tiling.group_analysis import group_members_of, tile_rules_of
from tlf.compiler.driver.driver import new_context, parse_module
from tlf.compiler.driver.source import Source
from tlf.dialects.interfaces import TilingInterface
from tlf.dialects.target import load_target_spec

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
    module = parse_module(new_context(), Source(text, "program.mlir"))
    (function,) = (op for op in module.ops if isinstance(op, func.FuncOp))
    for op in reversed(list(function.body.block.ops)):
        if op.results and not any(result.uses for result in op.results):
            op.detach()
            op.erase()
    return [op for op in function.body.block.ops if isinstance(op, TilingInterface)]


@pytest.mark.one_in(1 / 2)
@pytest.mark.parametrize("seed", range(40))
@pytest.mark.parametrize("name", ["npu", "npu-tiny", "h200"])
def test_sum_is_that_of_the_analysis(seed: int, name: str):
    generator = random.Random(seed)
    element = generator.choice(["f32", "f16", "bf16"])
    operations = used_operations(random_program(generator, element))
    target = load_target_spec(name)
    level = target.tile_levels[-1]
    rules = tile_rules_of(target, level.name)
    members = group_members_of(operations)
    tiling = members.analyze_tiles_of_sizes(
        members.tileable_axes(rules).min_tile(), (), rules
    )
    needed = (
        tiling.bytes_of_all_tiles()
        if level.kind == "buffer"
        else tiling.bytes_of_input_tiles()
    )

    assert ElementwiseFootprints(level).min_bytes_of_group(operations) == needed


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
    groups = ElementwiseFootprints(load_target_spec("npu").tile_levels[-1])

    assert groups.min_bytes_of_group([second]) is not None
    assert groups.min_bytes_of_group([first, second]) is None
    assert groups.min_bytes_of_group([second, third]) is None
    assert groups.min_bytes_of_group([second, last]) is None
