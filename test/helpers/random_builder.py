"""Builder of random programs of the graph dialect, step by step."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Sequence

from graph_program import Program, Step, Value

EXTENTS = (1, 2, 3, 4, 5, 7, 8, 9, 11, 13, 16, 17, 20)
LONG_EXTENTS = (29, 37, 64, 100, 127)
"""Extents of axes; the long ones only if tensors may have many elements."""

BOUND = 1000.0
"""Largest magnitude of an element."""

INTEGERS = ("i64", "i32", "i8")
"""Integer types, except booleans."""

SPELLED = 60
"""Maximum number of elements of a constant with distinct elements."""


class Builder:
    """Builder of a program from random steps."""

    def __init__(self, seed: int, largest: int = 2000) -> None:
        self.random = random.Random(seed)
        self.largest = largest
        """Maximum number of elements of a tensor."""
        self.extents = EXTENTS if largest < 10000 else EXTENTS + LONG_EXTENTS
        self.arguments: list[Value] = []
        self.steps: list[Step] = []
        self.element = self.random.choices(
            ["f32", "f16", "bf16", "i32", "i64", "i8"], [12, 3, 3, 2, 1, 1]
        )[0]

    def program(
        self, rules: Sequence[Callable[[Builder], None]], count: int
    ) -> Program:
        """Return a program of about `count` steps, each by a random rule."""
        self.argument(self.shape(), self.element)
        tries = 0
        while len(self.steps) < count and (tries := tries + 1) < 20 * count:
            self.random.choice(rules)(self)
        return Program(
            tuple(self.arguments), tuple(self.steps), tuple(self._results())
        ).live()

    def _results(self) -> list[Value]:
        """Return unused values, and sometimes a used one."""
        used = {operand for step in self.steps for operand in step.operands}
        values = [step.result for step in self.steps] or self.arguments
        ends = [value for value in values if value not in used][-3:]
        if self.random.random() < 0.3:
            ends.append(self.random.choice(values))
        return list(dict.fromkeys(ends))

    def shape(self, rank: int | None = None) -> tuple[int, ...]:
        """Return a random shape."""
        rank = self.random.choice([1, 2, 2, 3, 3, 4]) if rank is None else rank
        while True:
            shape = tuple(self.extent() for _ in range(rank))
            if math.prod(shape) <= self.largest:
                return shape

    def extent(self) -> int:
        """Return a random extent of an axis."""
        return self.random.choice(self.extents)

    def value(self, *elements: str) -> Value:
        """
        Return an existing value, preferably a late one, of one of the element types.
        """
        values = [*self.arguments, *(step.result for step in self.steps)]
        fitting = [each for each in values if not elements or each.element in elements]
        if not fitting:
            element = self.element if self.element in elements else elements[0]
            return self.argument(self.shape(), element)
        return self.random.choice(fitting[-self.random.choice([1, 2, 3, 9]) :])

    def argument(
        self,
        shape: Sequence[int],
        element: str,
        low: float = -1.0,
        high: float = 1.0,
    ) -> Value:
        """Add an argument."""
        if element in INTEGERS:
            low, high = -8, 7
        elif element == "i1":
            low, high = 0, 1
        name = f"a{len(self.arguments)}"
        is_weight = len(self.arguments) % 3 == 1
        value = Value(name, tuple(shape), element, low, high, parameter=is_weight)
        self.arguments.append(value)
        return value

    def other(self, shape: Sequence[int], element: str) -> Value:
        """Return a value of a shape: an existing one, a constant, or a new argument."""
        values = [*self.arguments, *(step.result for step in self.steps)]
        fitting = [
            each
            for each in values
            if each.shape == tuple(shape) and each.element == element
        ]
        if fitting and self.random.random() < 0.7:
            return self.random.choice(fitting)
        if self.random.random() < 0.2:
            return self.constant(tuple(shape), element)
        return self.argument(shape, element)

    def constant(self, shape: tuple[int, ...], element: str) -> Value:
        """Add a constant: a splat, or one with random elements."""
        count = math.prod(shape)
        if count > SPELLED or self.random.random() < 0.5:
            count = 1
        numbers = [self._number(element) for _ in range(count)]
        texts = [_literal(each, element) for each in numbers]
        dense = texts[0] if count == 1 else _nested(texts, shape)
        value = Value(self._name(), shape, element, min(numbers), max(numbers))
        self.steps.append(Step(value, f"graph.constant dense<{dense}>", ()))
        return value

    def _number(self, element: str) -> float:
        if element == "i1":
            return self.random.randrange(2)
        if element in INTEGERS:
            return self.random.randrange(-4, 5)
        return self.random.choice([0.0, 1.0, -1.5, 0.5, 0.25, 2.0, -0.125])

    def add(
        self,
        pattern: str,
        operands: Sequence[Value],
        shape: Sequence[int],
        bounds: tuple[float, float],
        element: str | None = None,
        exact: bool = False,
    ) -> None:
        """Add a step, unless its result has too many or too large elements."""
        element = operands[0].element if element is None else element
        largest = 127 if element == "i8" else BOUND
        if max(map(abs, bounds)) > largest or math.prod(shape) > self.largest:
            return
        exact = element in ("i1", *INTEGERS) or (
            exact and all(v.exact for v in operands)
        )
        low, high = min(bounds), max(bounds)
        value = Value(self._name(), tuple(shape), element, low, high, exact)
        self.steps.append(Step(value, pattern, tuple(operands)))

    def made(
        self,
        pattern: str,
        shape: Sequence[int],
        element: str,
        bounds: tuple[float, float],
    ) -> Value:
        """Add a step without operands."""
        value = Value(self._name(), tuple(shape), element, *bounds)
        self.steps.append(Step(value, pattern, ()))
        return value

    def _name(self) -> str:
        return f"v{len(self.steps)}"

    def maybe(self, text: str) -> str:
        """Return the text or an empty string."""
        return self.random.choice(["", f" {text}"])


def _literal(number: float, element: str) -> str:
    if element == "i1":
        return "true" if number else "false"
    return str(int(number)) if element in INTEGERS else f"{number:e}"


def _nested(texts: Sequence[str], shape: Sequence[int]) -> str:
    if not shape:
        return texts[0]
    size = len(texts) // shape[0]
    rows = [texts[index * size : (index + 1) * size] for index in range(shape[0])]
    return f"[{', '.join(_nested(row, shape[1:]) for row in rows)}]"
