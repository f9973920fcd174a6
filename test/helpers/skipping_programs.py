"""Random chains of convolutions with concatenations of much earlier results."""

from __future__ import annotations

import random
from collections.abc import Callable

SIDE = 8
"""Rows and columns of the images."""

CHANNELS = (4, 8, 12, 16, 24)


def skipping_program(seed: int, element: str = "f16", count: int = 6) -> str:
    """
    Return a program of images, each computed from the last one.

    Some of them are concatenated with an earlier one.
    """
    rng = random.Random(seed)
    image, arguments, lines = _image(element), list[str](), list[str]()
    arguments.append(f"%x: {image(8)}")
    values, last = list[tuple[str, int]](), ("%x", 8)
    for index in range(count):
        name, depth = last
        filters, window = rng.choice(CHANNELS), rng.choice((1, 3))
        weight = f"tensor<{filters}x{depth}x{window}x{window}x{element}>"
        arguments.append(f"%w{index}: {weight}")
        padding = f"padding [{', '.join([str(window // 2)] * 4)}]"
        accumulates = "" if element == "f32" else " acc f32"
        lines.append(
            f"%c{index} = graph.conv2d {name}, %w{index} {padding}{accumulates} : "
            f"({image(depth)}, {weight}) -> {image(filters)}"
        )
        lines.append(f"%v{index} = graph.relu %c{index} : {image(filters)}")
        last = f"%v{index}", filters
        if values and rng.random() < 0.5:
            other, width = values.pop(rng.randrange(len(values)))
            operands = [(other, width), last]
            rng.shuffle(operands)
            names = ", ".join(operand_name for operand_name, _ in operands)
            types = ", ".join(image(extent) for _, extent in operands)
            result_type = image(filters + width)
            lines.append(
                f"%j{index} = graph.concat {names} axis 1 : ({types}) -> {result_type}"
            )
            last = f"%j{index}", filters + width
        values.append(last)
    name, depth = last
    body = "\n  ".join(lines)
    return (
        f"func.func @main({', '.join(arguments)}) -> {image(depth)} {{\n  {body}\n"
        f"  func.return {name} : {image(depth)}\n}}\n"
    )


def _image(element: str) -> Callable[[int], str]:
    """Return a function from a number of channels to the type of an image."""

    def image(channels: int) -> str:
        return f"tensor<1x{channels}x{SIDE}x{SIDE}x{element}>"

    return image
