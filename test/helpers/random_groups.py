"""Random functions with one group, for every kind of operation."""

from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias

from numpy.random import Generator

Family: TypeAlias = Callable[[Generator], str]


def text_of(arguments: Mapping[str, str], body: str, *results: tuple[str, str]) -> str:
    """Return a function with one group: `body` computes `results` from `arguments`."""
    types = ", ".join(arguments.values())
    outputs = ", ".join(type_ for _, type_ in results)
    values = ", ".join(f"%{name}" for name, _ in results)
    bindings = ", ".join(f"%{name} = %{name}_0" for name in arguments)
    parameters = ", ".join(f"%{name}_0: {type_}" for name, type_ in arguments.items())
    numbers = ", ".join(f"%r{position}" for position in range(len(results)))
    return f"""
      func.func @f({parameters}) -> ({outputs}) {{
        {numbers} = graph.group ins({bindings} : {types}) -> ({outputs}) {{
          {body}
          graph.yield {values} : {outputs}
        }}
        func.return {numbers} : {outputs}
      }}
    """


def tensor(shape: Sequence[int], element: str = "f32") -> str:
    return f"tensor<{''.join(f'{extent}x' for extent in shape)}{element}>"


def some(rng: Generator, count: int, most: int = 20) -> list[int]:
    return [int(extent) for extent in rng.integers(1, most, count)]


def chain(rng: Generator) -> str:
    shape = some(rng, 3)
    x, row, column = tensor(shape), tensor(shape[-1:]), tensor([shape[1], 1])
    return text_of(
        {"x": x, "r": row, "c": column},
        f"""
          %0 = graph.exp %r : {row}
          %1 = graph.mul %x, %0 : ({x}, {row}) -> {x}
          %2 = graph.sub %c, %1 : ({column}, {x}) -> {x}
          %3 = graph.tanh %2 : {x}
        """,
        ("3", x),
    )


def matmul(rng: Generator) -> str:
    batch, rows, depth, columns = some(rng, 4)
    element = str(rng.choice(["f32", "bf16"]))
    x = tensor([batch, rows, depth], element)
    w = tensor([depth, columns], element)
    y, b = tensor([batch, rows, columns]), tensor([columns])
    return text_of(
        {"x": x, "w": w, "b": b},
        f"""
          %0 = graph.matmul %x, %w : ({x}, {w}) -> {y}
          %1 = graph.add %0, %b : ({y}, {b}) -> {y}
          %2 = graph.relu %1 : {y}
        """,
        ("2", y),
    )


def matmul_on_init(rng: Generator) -> str:
    rows, depth, columns = some(rng, 3)
    x, w = tensor([rows, depth]), tensor([depth, columns])
    y, t = tensor([rows, columns]), tensor([columns, rows])
    return text_of(
        {"x": x, "w": w, "i": y},
        f"""
          %0 = graph.matmul %x, %w init %i : ({x}, {w}, {y}) -> {y}
          %1 = graph.transpose %0 permutation [1, 0] : ({y}) -> {t}
        """,
        ("1", t),
    )


def prologue(rng: Generator) -> str:
    """Return a product whose elementwise prologue is computed inside its loop."""
    rows, depth, columns = some(rng, 3)
    x, w, y = tensor([rows, depth]), tensor([depth, columns]), tensor([rows, columns])
    return text_of(
        {"x": x, "w": w},
        f"""
          %0 = graph.exp %x : {x}
          %1 = graph.exp %w : {w}
          %2 = graph.matmul %0, %1 : ({x}, {w}) -> {y}
        """,
        ("2", y),
    )


def contract(rng: Generator) -> str:
    a, b, c, d = some(rng, 4, 10)
    x, w, y = tensor([a, b, c]), tensor([d, c, a]), tensor([d, a, b])
    maps = ", ".join(
        f"affine_map<(a, b, c, d) -> ({axes})>"
        for axes in ("a, b, c", "d, c, a", "d, a, b")
    )
    return text_of(
        {"x": x, "w": w},
        f"%0 = graph.contract %x, %w maps [{maps}] : ({x}, {w}) -> {y}",
        ("0", y),
    )


def weighted_sum(rng: Generator) -> str:
    rows, columns = some(rng, 2, 40)
    x, w, y = tensor([rows, columns]), tensor([columns]), tensor([rows])
    return text_of(
        {"x": x, "w": w},
        f"""
          %0 = graph.mul %x, %w : ({x}, {w}) -> {x}
          %1 = graph.exp %0 : {x}
          %2 = graph.reduce %1 <sum> axes [1] : ({x}) -> {y}
          %3 = graph.sqrt %2 : {y}
        """,
        ("3", y),
    )


def integers(rng: Generator) -> str:
    shape = some(rng, 3)
    kind = rng.choice(["sum", "max", "min", "prod"])
    x, y = tensor(shape, "i32"), tensor(shape[1:2], "i32")
    return text_of(
        {"x": x},
        f"%0 = graph.reduce %x <{kind}> axes [0, 2] : ({x}) -> {y}",
        ("0", y),
    )


def softmax(rng: Generator) -> str:
    rows, columns = some(rng, 2, 40)
    x, y = tensor([rows, columns]), tensor([rows, 1])
    return text_of(
        {"x": x},
        f"""
          %0 = graph.reduce %x <max> axes [1] keepdims : ({x}) -> {y}
          %1 = graph.sub %x, %0 : ({x}, {y}) -> {x}
          %2 = graph.exp %1 : {x}
          %3 = graph.reduce %2 <sum> axes [1] keepdims : ({x}) -> {y}
          %4 = graph.div %2, %3 : ({x}, {y}) -> {x}
        """,
        ("4", x),
    )


def statistics(rng: Generator) -> str:
    """Return a group with two results: the sum of every row, and its operand."""
    rows, columns = some(rng, 2, 40)
    x, y = tensor([rows, columns]), tensor([rows])
    return text_of(
        {"x": x},
        f"""
          %0 = graph.exp %x : {x}
          %1 = graph.reduce %0 <sum> axes [1] : ({x}) -> {y}
        """,
        ("1", y),
        ("0", x),
    )


def movements(rng: Generator) -> str:
    a, b, c = some(rng, 3)
    x, t, y = tensor([a, b]), tensor([b, a]), tensor([c, b, a])
    return text_of(
        {"x": x},
        f"""
          %0 = graph.transpose %x permutation [1, 0] : ({x}) -> {t}
          %1 = graph.exp %0 : {t}
          %2 = graph.broadcast %1 : ({t}) -> {y}
        """,
        ("2", y),
    )


def crossed(rng: Generator) -> str:
    """Return a group that reads a value both directly and transposed."""
    (extent,) = some(rng, 1)
    x = tensor([extent, extent])
    return text_of(
        {"x": x},
        f"""
          %0 = graph.exp %x : {x}
          %1 = graph.transpose %0 permutation [1, 0] : ({x}) -> {x}
          %2 = graph.sub %0, %1 : ({x}, {x}) -> {x}
        """,
        ("2", x),
    )


def convolution(rng: Generator) -> str:
    images, channels, filters = some(rng, 3, 6)
    groups = int(rng.choice([1, 1, 2]))
    extents, taps, strides = some(rng, 2, 10), some(rng, 2, 4), some(rng, 2, 4)
    dilation, padding = some(rng, 2, 3), [int(n) for n in rng.integers(0, 3, 4)]
    spans = [by * (tap - 1) + 1 for by, tap in zip(dilation, taps, strict=True)]
    extents = [extent + span for extent, span in zip(extents, spans, strict=True)]
    outputs = [
        (extent + padding[axis] + padding[axis + 2] - spans[axis]) // strides[axis] + 1
        for axis, extent in enumerate(extents)
    ]
    x = tensor([images, channels * groups, *extents])
    w = tensor([filters * groups, channels, *taps])
    y = tensor([images, filters * groups, *outputs])
    return text_of(
        {"x": x, "w": w},
        f"""
          %0 = graph.conv2d %x, %w strides {strides} padding {padding}
              dilation {dilation} groups {groups} : ({x}, {w}) -> {y}
          %1 = graph.relu %0 : {y}
        """,
        ("1", y),
    )


def halo(rng: Generator) -> str:
    """Return a group with a result that is also read with a halo."""
    images, channels, filters = some(rng, 3, 4)
    extents = some(rng, 2, 12)
    x, y = (tensor([images, each, *extents]) for each in (channels, filters))
    w = tensor([filters, channels, 3, 3])
    return text_of(
        {"x": x, "w": w},
        f"""
          %0 = graph.exp %x : {x}
          %1 = graph.conv2d %0, %w padding [1, 1, 1, 1] : ({x}, {w}) -> {y}
        """,
        ("1", y),
        ("0", x),
    )


def two_convolutions(rng: Generator) -> str:
    images, channels, filters = some(rng, 3, 5)
    extents = some(rng, 2, 12)
    x, h = (tensor([images, each, *extents]) for each in (channels, filters))
    v, w = tensor([filters, channels, 1, 3]), tensor([channels, filters, 3, 3])
    return text_of(
        {"x": x, "v": v, "w": w},
        f"""
          %0 = graph.conv2d %x, %v padding [0, 1, 0, 1] : ({x}, {v}) -> {h}
          %1 = graph.exp %0 : {h}
          %2 = graph.conv2d %1, %w padding [1, 1, 1, 1] : ({h}, {w}) -> {x}
          %3 = graph.add %2, %x : ({x}, {x}) -> {x}
        """,
        ("3", x),
    )


FAMILIES: Sequence[Family] = (
    chain,
    contract,
    convolution,
    crossed,
    halo,
    integers,
    matmul,
    matmul_on_init,
    movements,
    prologue,
    softmax,
    statistics,
    two_convolutions,
    weighted_sum,
)
