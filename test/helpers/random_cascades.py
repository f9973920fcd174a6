"""Random sequences of reductions along one axis that may depend on earlier ones."""

from __future__ import annotations

import random
from dataclasses import dataclass, field

CONSTANTS = (0.5, 2.0, 0.125, -1.0)


@dataclass
class Cascade:
    """
    Writer of a program with cascaded reductions.

    The program has scores `x` of shape rows x columns, an argument or a product, then
    up to `depth` reductions, then a combination of their results. `rows` and `columns`
    are the extents of the scores.
    """

    rng: random.Random
    element: str
    depth: int
    rows: int = field(init=False)
    columns: int = field(init=False)
    lines: list[str] = field(default_factory=list[str])
    results: list[str] = field(default_factory=list[str])
    """Results of the reductions so far, with one element per row."""
    widths: dict[str, int] = field(default_factory=dict[str, int])
    """Extents of values along the second axis."""
    last: str = ""
    """Result of the last reduction."""

    def __post_init__(self) -> None:
        self.rows, self.columns = self.rng.randint(1, 9), self.rng.randint(8, 60)
        self.widths["%x"] = self.columns

    def program(self) -> str:
        """Return the text of the program."""
        scores = self._scores()
        for index in range(self.depth):
            self._reduce(scores, index == self.depth - 1)
        result = self._end()
        arguments = ", ".join(
            f"%{name}: {self._type(*shape)}" for name, shape in self.shapes().items()
        )
        shape = self._type(self.rows, self.widths[result])
        body = "\n  ".join(self.lines)
        return (
            f"func.func @main({arguments}) -> {shape} {{\n  {body}\n"
            f"  func.return {result} : {shape}\n}}\n"
        )

    def shapes(self) -> dict[str, tuple[int, ...]]:
        """Return the shapes of the arguments."""
        return {
            "x": (self.rows, self.columns),
            "q": (self.rows, 5),
            "k": (5, self.columns),
            "b": (self.columns,),
            "v": (self.columns, 3),
        }

    def _type(self, *shape: int) -> str:
        return f"tensor<{''.join(f'{n}x' for n in shape)}{self.element}>"

    def _put(self, text: str) -> str:
        name = f"%{len(self.lines)}"
        self.lines.append(f"{name} = {text}")
        return name

    def _constant(self) -> str:
        number = self.rng.choice(CONSTANTS)
        return self._put(f"graph.constant dense<{number}> : {self._type()}")

    def _unary(self, name: str, value: str) -> str:
        width = self.widths[value]
        value_ = self._put(f"graph.{name} {value} : {self._type(self.rows, width)}")
        self.widths[value_] = width
        return value_

    def _binary(self, name: str, left: str, right: str) -> str:
        types = [self._type_of(each) for each in (left, right)]
        width = max(self.widths.get(each, 1) for each in (left, right))
        width = self.columns if "%b" in (left, right) else width
        result = self._type(self.rows, width)
        result_ = self._put(
            f"graph.{name} {left}, {right} : ({', '.join(types)}) -> {result}"
        )
        self.widths[result_] = width
        return result_

    def _type_of(self, value: str) -> str:
        if value == "%b":
            return self._type(self.columns)
        if value not in self.widths:
            return self._type()
        return self._type(self.rows, self.widths[value])

    def _scores(self) -> str:
        """Return the value that all reductions reduce."""
        if self.rng.random() < 0.5:
            return "%x"
        row, key = self._type(self.rows, 5), self._type(5, self.columns)
        result = self._type(self.rows, self.columns)
        product = self._put(f"graph.matmul %q, %k : ({row}, {key}) -> {result}")
        self.widths[product] = self.columns
        return (
            self._binary("add", product, "%b") if self.rng.random() < 0.5 else product
        )

    def _row(self) -> str:
        """Add a value with one element per row, computed from earlier results."""
        value = self.rng.choice(self.results)
        match self.rng.randrange(5):
            case 0:
                return self._binary("maximum", value, self._constant())
            case 1:
                return self._binary("mul", value, self._constant())
            case 2:
                return self._binary("add", value, self.rng.choice(self.results))
            case _:
                return value

    def _body(self, scores: str) -> str:
        """
        Add the operand of a reduction, computed from scores and from earlier results.
        """
        value = scores
        if self.rng.random() < 0.3:
            value = self._binary("mul", value, self._constant())
        if not self.results or self.rng.random() < 0.25:
            match self.rng.randrange(4):
                case 0:
                    return self._unary("tanh", value)
                case 1:
                    return self._binary("mul", value, value)
                case _:
                    return value
        difference = self._binary("sub", value, self._row())
        match self.rng.randrange(5):
            case 0:
                return self._binary("mul", difference, difference)
            case 1:
                return self._binary("mul", self._unary("exp", difference), value)
            case 2:
                return self._binary("mul", difference, "%b")
            case _:
                return self._unary("exp", difference)

    def _reduce(self, scores: str, is_last: bool) -> None:
        body = self._body(scores)
        if is_last and self.rng.random() < 0.5:
            types = self._type(self.rows, self.columns), self._type(self.columns, 3)
            result = self._type(self.rows, 3)
            reduced = self._put(
                f"graph.matmul {body}, %v : ({', '.join(types)}) -> {result}"
            )
            self.widths[reduced] = 3
            self.last = reduced
            return
        kind = self.rng.choice(["max", "min", "sum", "sum"])
        reduced = self._put(
            f"graph.reduce {body} <{kind}> axes [1] keepdims : "
            f"({self._type(self.rows, self.columns)}) -> {self._type(self.rows, 1)}"
        )
        self.widths[reduced] = 1
        self.results.append(reduced)
        self.last = reduced

    def _end(self) -> str:
        """Add a combination of all results."""
        result = self.last
        for each in self.results:
            if each != self.last:
                result = self._binary("add", result, each)
        return result
