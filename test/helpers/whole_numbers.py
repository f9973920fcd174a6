"""Random programs of whole numbers that nothing is read for."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

RELATIONS = ("eq", "ne", "lt", "le", "gt", "ge")
SHAPES = ((), (5,), (4, 1), (4, 5), (3, 4, 5))


def together(*shapes: tuple[int, ...]) -> tuple[int, ...] | None:
    """The shape that shapes broadcast to, if there is one."""
    try:
        return np.broadcast_shapes(*shapes)
    except ValueError:
        return None


@dataclass
class Numbers:
    """A random program of whole numbers of one type."""

    random: random.Random
    element: str
    constants: Sequence[int] = (-7, -1, 0, 1, 2, 3, 40)
    lines: list[str] = field(default_factory=list[str])
    values: list[tuple[str, tuple[int, ...], str]] = field(
        default_factory=list[tuple[str, tuple[int, ...], str]]
    )

    def add(self, text: str, shape: tuple[int, ...], element: str | None = None):
        """Add an operation; `RESULT` in its text stands for the type of its result."""
        element = element or self.element
        name = f"%{len(self.values)}"
        type_ = "x".join([*map(str, shape), element])
        self.lines.append(f"{name} = {text.replace('RESULT', f'tensor<{type_}>')}")
        self.values.append((name, shape, f"tensor<{type_}>"))

    def pick(self, element: str) -> tuple[str, tuple[int, ...], str]:
        """A value of an element type."""
        found = [each for each in self.values if each[2].endswith(f"{element}>")]
        return self.random.choice(found)

    def start(self) -> None:
        """Indices along axes, numbers, and an array that grows evenly or does not."""
        for shape in SHAPES:
            number = self.random.choice(self.constants)
            self.add(f"graph.constant dense<{number}> : RESULT", shape)
            for axis in range(len(shape)):
                self.add(f"graph.iota axis {axis} : RESULT", shape)
        first, step, odd = (self.random.choice([-3, 0, 1, 2]) for _ in range(3))
        listed = [first + step * place + odd * (place == 3) for place in range(5)]
        self.add(f"graph.constant dense<{listed}> : RESULT", (5,))
        self.binary("compare", "i1", f" <{self.random.choice(RELATIONS)}>")

    def binary(self, name: str, element: str | None = None, option: str = "") -> None:
        """An operation on two values."""
        lhs, rhs = self.pick(self.element), self.pick(self.element)
        if (shape := together(lhs[1], rhs[1])) is None:
            return
        types = f"({lhs[2]}, {rhs[2]}) -> RESULT"
        self.add(f"graph.{name} {lhs[0]}, {rhs[0]}{option} : {types}", shape, element)

    def unary(self, name: str) -> None:
        """An operation on a value."""
        operand, shape, type_ = self.pick(self.element)
        self.add(f"graph.{name} {operand} : ({type_}) -> RESULT", shape)

    def select(self) -> None:
        """One of two values, by a condition."""
        picked = [self.pick(each) for each in ("i1", self.element, self.element)]
        if (shape := together(*(each[1] for each in picked))) is None:
            return
        names = ", ".join(each[0] for each in picked)
        types = ", ".join(each[2] for each in picked)
        self.add(f"graph.select {names} : ({types}) -> RESULT", shape)

    def move(self) -> None:
        """A value under another shape, or with axes in another order, or part of it."""
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
            moved = tuple(shape[axis] for axis in axes)
            text = f"graph.transpose {name} permutation {axes}"
            self.add(f"{text} : ({type_}) -> RESULT", moved)
        elif kind == "slice":
            offsets = [self.random.randrange(extent) for extent in shape]
            sizes = tuple(map(int.__sub__, shape, offsets))
            text = f"graph.slice {name} offsets {offsets} strides {[1] * len(shape)}"
            self.add(f"{text} : ({type_}) -> RESULT", sizes)
        else:
            dims = ", ".join(f"d{axis}" for axis in range(len(shape)))
            last = f"{shape[-1] - 1} - d{len(shape) - 1}"
            places = ", ".join([*(f"d{axis}" for axis in range(len(shape) - 1)), last])
            text = f"graph.unfold {name} map affine_map<({dims}) -> ({places})> fill 0"
            self.add(f"{text} : ({type_}) -> RESULT", shape)

    def text(self) -> str:
        """The program, with twenty operations."""
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
