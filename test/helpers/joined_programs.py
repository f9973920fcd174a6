"""Random programs with concat operands of any kind and any other uses."""

from __future__ import annotations

import random
from dataclasses import dataclass, field

Shape = tuple[int, ...]


@dataclass
class JoinedProgram:
    """Function of images in which many values are concat operands."""

    random: random.Random
    element: str = "f16"
    lines: list[str] = field(default_factory=list[str])
    arguments: list[str] = field(default_factory=list[str])
    values: list[tuple[str, Shape]] = field(default_factory=list[tuple[str, Shape]])

    def type(self, shape: Shape) -> str:
        """Return the type of a tensor."""
        return f"tensor<{'x'.join(map(str, (*shape, self.element)))}>"

    def argument(self, shape: Shape) -> str:
        """Add an argument, and return its name."""
        name = f"%a{len(self.arguments)}"
        self.arguments.append(f"{name}: {self.type(shape)}")
        return name

    def add(self, text: str, operands: list[tuple[str, Shape]], shape: Shape) -> None:
        """Add a value; `{}` in the text is replaced by the operand names."""
        name = f"%v{len(self.lines)}"
        names = ", ".join(each for each, _ in operands)
        types = ", ".join(self.type(each) for _, each in operands)
        line = f"{name} = {text.format(names)} : ({types}) -> {self.type(shape)}"
        self.lines.append(line)
        self.values.append((name, shape))

    def step(self) -> None:
        """Add an operation; every other one concatenates tensors."""
        value = self.random.choice(self.values[-4:])
        _, shape = value
        match self.random.randrange(8):
            case 0:
                self._negate(value)
            case 1:
                self._cut(value)
            case 2:
                self._merge(value)
            case 3 if min(shape[2:]) > 2:
                filters = self.random.randint(1, 5), shape[1], 3, 3
                weight = self.argument(filters), filters
                text = "graph.conv2d {} padding [1, 1, 1, 1]"
                text += " acc f32" if self.element != "f32" else ""
                self.add(text, [value, weight], (shape[0], filters[0], *shape[2:]))
            case _:
                self._join(value)

    def _negate(self, value: tuple[str, Shape]) -> None:
        name, shape = value
        result = f"%v{len(self.lines)}"
        self.lines.append(f"{result} = graph.neg {name} : {self.type(shape)}")
        self.values.append((result, shape))

    def _merge(self, value: tuple[str, Shape]) -> None:
        """Add a computation between two reshapes that add or remove an axis."""
        _, shape = value
        factor = self.random.choice([n for n in range(1, 8) if shape[2] % n == 0])
        split = (*shape[:2], factor, shape[2] // factor, shape[3])
        flat = (*shape[:2], shape[2] * shape[3])
        self.add("graph.reshape {}", [value], self.random.choice([split, flat]))
        self._negate(self.values.pop())
        self.add("graph.reshape {}", [self.values.pop()], shape)

    def _cut(self, value: tuple[str, Shape]) -> None:
        name, shape = value
        axis = self.random.randrange(4)
        first = self.random.randrange(shape[axis])
        extent = self.random.randint(1, shape[axis] - first)
        offsets = [first if each == axis else 0 for each in range(4)]
        result_shape = (*shape[:axis], extent, *shape[axis + 1 :])
        text = f"graph.slice {{}} offsets {offsets} strides [1, 1, 1, 1]"
        self.add(text, [(name, shape)], result_shape)

    def _join(self, value: tuple[str, Shape]) -> None:
        _, shape = value
        axis = self.random.choice([0, 1, 1, 1, 2, 3])

        def fits(other: Shape) -> bool:
            return all(
                mine == theirs or each == axis
                for each, (mine, theirs) in enumerate(zip(shape, other, strict=True))
            )

        fitting = [each for each in self.values if fits(each[1])]
        count = self.random.randint(1, 3)
        operands = [value, *(self.random.choice(fitting) for _ in range(count))]
        if self.random.random() < 0.3:
            extent = self.random.randint(1, 4)
            argument_shape = (*shape[:axis], extent, *shape[axis + 1 :])
            operands.append((self.argument(argument_shape), argument_shape))
        self.random.shuffle(operands)
        total = sum(each[axis] for _, each in operands)
        if total > 40:
            return
        result_shape = (*shape[:axis], total, *shape[axis + 1 :])
        self.add(f"graph.concat {{}} axis {axis}", operands, result_shape)


def joined_program(seed: int, element: str = "f16", count: int = 8) -> str:
    """Return a program that returns all unused values and some used ones."""
    program = JoinedProgram(random.Random(seed), element)
    shape = tuple(program.random.choice([1, 2, 4, 5, 6]) for _ in range(4))
    program.values.append((program.argument(shape), shape))
    for _ in range(count):
        program.step()
    body = "\n  ".join(program.lines)
    returned = [
        each
        for each in program.values[1:]
        if f"{each[0]}," not in body or program.random.random() < 0.2
    ][-5:] or program.values[:1]
    names = ", ".join(name for name, _ in returned)
    types = ", ".join(program.type(shape) for _, shape in returned)
    return (
        f"func.func @main({', '.join(program.arguments)}) -> ({types}) {{\n  "
        f"{body}\n  func.return {names} : {types}\n}}\n"
    )
