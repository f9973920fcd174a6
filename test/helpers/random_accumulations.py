"""
Random programs of accumulations on values with other accumulating or reading uses.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field

KINDS = ("add", "mul", "max", "min", "set")


@dataclass
class Accumulations:
    """Writer of steps on tensors of one type; each step adds a value."""

    random: random.Random
    shape: tuple[int, int]
    element: str
    values: list[str] = field(default_factory=lambda: ["%x", "%y"])
    lines: list[str] = field(default_factory=list[str])

    @property
    def type(self) -> str:
        """Type of the values."""
        return self._of(*self.shape)

    @property
    def places(self) -> str:
        """Type of indices, one for each element of a value."""
        return self.type.replace(self.element, "i64")

    def _of(self, *extents: int) -> str:
        return f"tensor<{'x'.join(map(str, extents))}x{self.element}>"

    def value(self) -> str:
        """Return a value, preferably one of the last few."""
        return self.random.choice([*self.values, *self.values[-3:]])

    def _add(self, text: str, result: str | None = None) -> str:
        name = f"%{len(self.lines)}"
        self.lines.append(f"  {name} = {text} -> {result or self.type}")
        return name

    def _keep(self, text: str) -> None:
        self.values.append(self._add(text))

    def gathered(self) -> str:
        """Add a gather from a value."""
        index, axis = self.random.choice(["%i", "%j"]), self.random.randrange(2)
        operands = f"{self.value()}, {index} axis {axis}"
        return self._add(f"graph.gather {operands} : ({self.type}, {self.places})")

    def scatter(self) -> None:
        """Add a scatter to a value; updates may be gathered from values."""
        axis, kind = self.random.randrange(2), self.random.choice(KINDS)
        updates = self.gathered() if self.random.random() < 0.4 else self.value()
        index = self.random.choice(["%i", "%j"])
        self._keep(
            f"graph.scatter {self.value()}, {index}, {updates} axis {axis} <{kind}>"
            f" : ({self.type}, {self.places}, {self.type})"
        )

    def product(self) -> None:
        """Add a matrix product accumulated on a value, perhaps after reshapes."""
        start, (rows, columns) = self.value(), self.shape
        if self.random.random() < 0.3:
            flat = self._of(rows * columns)
            line = self._add(f"graph.reshape {start} : ({self.type})", flat)
            start = self._add(f"graph.reshape {line} : ({flat})")
        left = self.value() if self.random.random() < 0.3 else "%l"
        types = self.type if left != "%l" else self._of(rows, columns)
        self._keep(
            f"graph.matmul {left}, %r init {start}"
            f" : ({types}, {self._of(columns, columns)}, {self.type})"
        )

    def total(self) -> None:
        """Add sums of rows, accumulated on a value."""
        stacked = self._of(*self.shape, 3)
        self._keep(
            f"graph.reduce %s <sum> init {self.value()} axes [2]"
            f" : ({stacked}, {self.type})"
        )

    def elementwise(self) -> None:
        """Add an elementwise function."""
        name = self.random.choice(["add", "sub", "maximum", "minimum"])
        operands = f"{self.value()}, {self.value()}"
        self._keep(f"graph.{name} {operands} : ({self.type}, {self.type})")

    def text(self, count: int) -> str:
        """Return a program of `count` steps that returns some of the values."""
        steps: list[Callable[[], None]] = [
            *[self.scatter] * 4,
            *([self.product] * 2 if self.element == "f32" else []),
            self.total,
            *[self.elementwise] * 2,
        ]
        for _ in range(count):
            self.random.choice(steps)()
        added = self.values[2:]
        sampled = self.random.sample(added, self.random.randrange(len(added)))
        results = list(dict.fromkeys([added[-1], *sampled]))
        rows, columns = self.shape
        index_type = f"{self.places} {{tlf.range = [0, {min(self.shape) - 1}]}}"
        arguments = ", ".join(
            f"{name}: {type_}"
            for name, type_ in {
                "%x": self.type,
                "%y": self.type,
                "%l": self.type,
                "%r": self._of(columns, columns),
                "%s": self._of(rows, columns, 3),
                "%i": index_type,
                "%j": index_type,
            }.items()
        )
        types = ", ".join([self.type] * len(results))
        head = f"func.func @main({arguments}) -> ({types}) {{"
        tail = f"  func.return {', '.join(results)} : {types}\n}}"
        return "\n".join([head, *self.lines, tail])


def random_accumulations(seed: int, count: int = 5) -> str:
    """Return the program of a seed."""
    generator = random.Random(seed)
    shape = generator.choice([(5, 4), (4, 9), (1, 6), (7, 1)])
    element = generator.choice(["f32", "f32", "i32"])
    return Accumulations(generator, shape, element).text(count)
