"""Programs of the graph dialect as data, with their text and reduced variants."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace


@dataclass(frozen=True)
class Value:
    """Tensor, with a known range of its elements."""

    name: str
    shape: tuple[int, ...]
    element: str
    low: float = -1.0
    high: float = 1.0
    exact: bool = True
    """True if every correct computation of the value gives the same bits."""
    parameter: bool = False
    """True if the value is an argument that holds a weight."""

    @property
    def type(self) -> str:
        """Type in the IR."""
        return f"tensor<{''.join(f'{each}x' for each in self.shape)}{self.element}>"

    @property
    def bound(self) -> float:
        """Largest magnitude of an element."""
        return max(abs(self.low), abs(self.high))

    @property
    def is_float(self) -> bool:
        """True if elements are floats."""
        return self.element in ("f32", "f16", "bf16")


@dataclass(frozen=True)
class Step:
    """Operation: its result, and its text with a `{}` for each operand."""

    result: Value
    pattern: str
    operands: tuple[Value, ...]

    def text(self) -> str:
        """Return the operation in the IR."""
        text = self.pattern.format(*(f"%{each.name}" for each in self.operands))
        types = ", ".join(each.type for each in self.operands)
        inputs = f"({types}) -> " if self.operands else ""
        return f"%{self.result.name} = {text} : {inputs}{self.result.type}"


@dataclass(frozen=True)
class Program:
    """Function: arguments, operations in order, and results."""

    arguments: tuple[Value, ...]
    steps: tuple[Step, ...]
    results: tuple[Value, ...]
    name: str = "main"

    def text(self) -> str:
        """
        Return the function in the IR; arguments carry the range of their elements.
        """
        arguments = ",\n    ".join(map(_argument, self.arguments))
        types = ", ".join(each.type for each in self.results)
        names = ", ".join(f"%{each.name}" for each in self.results)
        lines = [f"  {step.text()}" for step in self.steps]
        return "\n".join(
            [
                f"func.func @{self.name}({arguments})\n    -> ({types}) {{",
                *lines,
                f"  func.return {names} : {types}",
                "}",
                "",
            ]
        )

    def live(self) -> Program:
        """Return the program without dead operations and arguments."""
        needed = set(self.results)
        steps: list[Step] = []
        for step in reversed(self.steps):
            if step.result in needed:
                steps.insert(0, step)
                needed.update(step.operands)
        results = {step.result for step in steps}
        arguments = [each for each in self.arguments if each in needed]
        undefined = needed - results - set(arguments)
        arguments += sorted(undefined, key=lambda value: value.name)
        return replace(self, arguments=tuple(arguments), steps=tuple(steps))

    def smaller(self) -> Iterator[Program]:
        """
        Yield reduced programs: one result, one last step less, or an argument in place
        of a step.
        """
        if len(self.results) > 1:
            for each in self.results:
                yield replace(self, results=(each,)).live()
        for step in reversed(self.steps):
            if step.result in self.results:
                for operand in step.operands:
                    if operand not in self.arguments:
                        remaining = _without(self.results, step.result)
                        results = dict.fromkeys((*remaining, operand))
                        yield replace(self, results=tuple(results)).live()
        for removed in self.steps:
            if removed.operands and removed.result not in self.results:
                steps = tuple(step for step in self.steps if step is not removed)
                yield replace(self, steps=steps).live()


def _without(values: Iterable[Value], value: Value) -> Sequence[Value]:
    return [each for each in values if each != value]


def _argument(value: Value) -> str:
    attributes = ["tlf.parameter"] if value.parameter else []
    if value.is_float and (value.low, value.high) != (-1.0, 1.0):
        attributes.append(f"tlf.range = [{value.low:e}, {value.high:e}]")
    listed = f" {{{', '.join(attributes)}}}" if attributes else ""
    return f"%{value.name}: {value.type}{listed}"
