"""Random chains of convolutions that join what they have made long before."""

from __future__ import annotations

import random
from collections.abc import Callable

SIDE = 8
"""The images are squares of so many elements along a side."""

CHANNELS = (4, 8, 12, 16, 24)


def skipping_program(seed: int, element: str = "f16", count: int = 6) -> str:
    """
    A program whose values are images, each made of the last one, some of them joined
    with an earlier one.
    """
    rng = random.Random(seed)
    image, arguments, lines = _image(element), list[str](), list[str]()
    arguments.append(f"%x: {image(8)}")
    values, last = list[tuple[str, int]](), ("%x", 8)
    for number in range(count):
        name, depth = last
        filters, window = rng.choice(CHANNELS), rng.choice((1, 3))
        weight = f"tensor<{filters}x{depth}x{window}x{window}x{element}>"
        arguments.append(f"%w{number}: {weight}")
        padding = f"padding [{', '.join([str(window // 2)] * 4)}]"
        accumulates = "" if element == "f32" else " acc f32"
        lines.append(
            f"%c{number} = graph.conv2d {name}, %w{number} {padding}{accumulates} : "
            f"({image(depth)}, {weight}) -> {image(filters)}"
        )
        lines.append(f"%v{number} = graph.relu %c{number} : {image(filters)}")
        last = f"%v{number}", filters
        if values and rng.random() < 0.5:
            other, width = values.pop(rng.randrange(len(values)))
            parts = [(other, width), last]
            rng.shuffle(parts)
            names = ", ".join(part for part, _ in parts)
            types = ", ".join(image(extent) for _, extent in parts)
            whole = image(filters + width)
            lines.append(
                f"%j{number} = graph.concat {names} axis 1 : ({types}) -> {whole}"
            )
            last = f"%j{number}", filters + width
        values.append(last)
    name, depth = last
    body = "\n  ".join(lines)
    return (
        f"func.func @main({', '.join(arguments)}) -> {image(depth)} {{\n  {body}\n"
        f"  func.return {name} : {image(depth)}\n}}\n"
    )


def _image(element: str) -> Callable[[int], str]:
    """The types of images of so many channels."""

    def image(channels: int) -> str:
        return f"tensor<1x{channels}x{SIDE}x{SIDE}x{element}>"

    return image
