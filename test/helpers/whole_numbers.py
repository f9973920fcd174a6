"""Random integer programs without inputs."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

RELATIONS = ("eq", "ne", "lt", "le", "gt", "ge")
SHAPES = ((), (5,), (4, 1), (4, 5), (3, 4, 5))


def together(*shapes: tuple[int, ...]) -> tuple[int, ...] | None:
    """Return the common broadcast shape, or `None` if shapes do not broadcast."""
    try:
        return np.broadcast_shapes(*shapes)
    except ValueError:
        return None


@dataclass
class Numbers:
    """Random program on integers of one type."""

    random: random.Random
    element: str
    constants: Sequence[int] = (-7, -1, 0, 1, 2, 3, 40)
    lines: list[str] = field(default_factory=list[str])
    values: list[tuple[str, tuple[int, ...], str]] = field(
        default_factory=list[tuple[str, tuple[int, ...], str]]
    )

    def add(self, text: str, shape: tuple[int, ...], element: str | None = None):
        """Add an operation; `RESULT` in its text is replaced by its result type."""
        element = element or self.element
        name = f"%{len(self.values)}"
        type_ = "x".join([*map(str, shape), element])
        self.lines.append(f"{name} = {text.replace('RESULT', f'tensor<{type_}>')}")
        self.values.append((name, shape, f"tensor<{type_}>"))

    def pick(self, element: str) -> tuple[str, tuple[int, ...], str]:
        """Return a random value of an element type."""
        candidates = [each for each in self.values if each[2].endswith(f"{element}>")]
        return self.random.choice(candidates)

    def start(self) -> None:
        """
        Add indices along axes, constants, a perhaps affine array, and a comparison.
        """
        for shape in SHAPES:
            number = self.random.choice(self.constants)
            self.add(f"graph.constant dense<{number}> : RESULT", shape)
            for axis in range(len(shape)):
                self.add(f"graph.iota axis {axis} : RESULT", shape)
        first, step, deviation = (self.random.choice([-3, 0, 1, 2]) for _ in range(3))
        elements = [
            first + step * index + deviation * (index == 3) for index in range(5)
        ]
        self.add(f"graph.constant dense<{elements}> : RESULT", (5,))
        self.binary("compare", "i1", f" <{self.random.choice(RELATIONS)}>")

    def binary(self, name: str, element: str | None = None, option: str = "") -> None:
        """Add an operation on two values."""
        lhs, rhs = self.pick(self.element), self.pick(self.element)
        if (shape := together(lhs[1], rhs[1])) is None:
            return
        types = f"({lhs[2]}, {rhs[2]}) -> RESULT"
        self.add(f"graph.{name} {lhs[0]}, {rhs[0]}{option} : {types}", shape, element)

    def unary(self, name: str) -> None:
        """Add an operation on a value."""
        operand, shape, type_ = self.pick(self.element)
        self.add(f"graph.{name} {operand} : ({type_}) -> RESULT", shape)

    def select(self) -> None:
        """Add a select of two values by a condition."""
        operands = [self.pick(each) for each in ("i1", self.element, self.element)]
        if (shape := together(*(each[1] for each in operands))) is None:
            return
        names = ", ".join(each[0] for each in operands)
        types = ", ".join(each[2] for each in operands)
        self.add(f"graph.select {names} : ({types}) -> RESULT", shape)

    def move(self) -> None:
        """Add a reshape, a transpose, a slice or a reversal of a value."""
        name, shape, type_ = self.pick(self.element)
        count = int(np.prod(shape))
        kind = self.random.choice(["reshape", "transpose", "slice", "unfold"])
        if kind == "reshape":
            shapes = [(count,), (1, count), (count, 1), shape[::-1]]
            self.add(
                f"graph.reshape {name} : ({type_}) -> RESULT",
                self.random.choice(shapes),
            )
        if not shape or kind == "reshape":
            return
        if kind == "transpose":
            axes = self.random.sample(range(len(shape)), len(shape))
            permuted_shape = tuple(shape[axis] for axis in axes)
            text = f"graph.transpose {name} permutation {axes}"
            self.add(f"{text} : ({type_}) -> RESULT", permuted_shape)
        elif kind == "slice":
            offsets = [self.random.randrange(extent) for extent in shape]
            sizes = tuple(map(int.__sub__, shape, offsets))
            text = f"graph.slice {name} offsets {offsets} strides {[1] * len(shape)}"
            self.add(f"{text} : ({type_}) -> RESULT", sizes)
        else:
            dims = ", ".join(f"d{axis}" for axis in range(len(shape)))
            last = f"{shape[-1] - 1} - d{len(shape) - 1}"
            indices = ", ".join([*(f"d{axis}" for axis in range(len(shape) - 1)), last])
            text = f"graph.unfold {name} map affine_map<({dims}) -> ({indices})> fill 0"
            self.add(f"{text} : ({type_}) -> RESULT", shape)

    def text(self) -> str:
        """Return the program, with twenty operations."""
        self.start()
        for _ in range(20):
            kind = self.random.randrange(11)
            if kind < 5:
                self.binary(("add", "sub", "mul", "maximum", "minimum")[kind])
            elif kind < 7:
                self.unary(("abs", "neg")[kind - 5])
            elif kind == 7:
                self.binary("compare", "i1", f" <{self.random.choice(RELATIONS)}>")
            elif kind == 8:
                self.select()
            else:
                self.move()
        lines = "\n  ".join(self.lines)
        names = ", ".join(name for name, _, _ in self.values)
        types = ", ".join(type_ for _, _, type_ in self.values)
        head = f"func.func @numbers() -> ({types})"
        return f"{head} {{\n  {lines}\n  func.return {names} : {types}\n}}"
