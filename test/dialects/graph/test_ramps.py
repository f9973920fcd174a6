"""Whole numbers that grow evenly along every axis: what is said of them holds."""

import random
from dataclasses import dataclass, field

import numpy as np
import pytest
from differential import parsed
from xdsl.dialects import func
from xdsl.ir import SSAValue

from tlf.dialects import graph
from tlf.dialects.graph.ramps import Ramp, ramp_of
from tlf.dialects.interfaces import Array, ReferenceInterface

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
            number = self.random.choice([-7, -1, 0, 1, 2, 3, 40])
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
            kind = self.random.randrange(9)
            if kind < 5:
                self.binary(("add", "sub", "mul", "maximum", "minimum")[kind])
            elif kind == 5:
                self.binary("compare", "i1", f" <{self.random.choice(RELATIONS)}>")
            elif kind == 6:
                self.select()
            else:
                self.move()
        lines = "\n  ".join(self.lines)
        return f"func.func @numbers() {{\n  {lines}\n  func.return\n}}"


def computed(text: str) -> dict[SSAValue, Array]:
    """Every value of a program."""
    _, module = parsed(text)
    (function,) = module.ops
    assert isinstance(function, func.FuncOp)
    found: dict[SSAValue, Array] = {}
    for op in function.body.block.ops:
        if isinstance(op, ReferenceInterface):
            with np.errstate(over="ignore"):
                (result,) = op.reference(*(found[each] for each in op.operands))
            found[op.results[0]] = result
    return found


@pytest.mark.parametrize("element", ["i64", "i32", "i8"])
def test_ramps_are_what_is_computed(element: str):
    known = total = 0
    for seed in range(40):
        values = computed(Numbers(random.Random(seed), element).text())
        for value, array in values.items():
            total += 1
            if (ramp := ramp_of(value)) is not None:
                known += 1
                assert ramp.shape == array.shape
                assert np.array_equal(ramp.array(), array), (seed, str(value.owner))
    assert known > 0.6 * total


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("number", [-1, 0, 3, 4, 5])
def test_comparisons_are_known_where_all_elements_agree(relation: str, number: int):
    text = f"""
func.func @compared() {{
  %0 = graph.iota axis 0 : tensor<5xi32>
  %1 = graph.constant dense<{number}> : tensor<i32>
  %2 = graph.compare %0, %1 <{relation}> : (tensor<5xi32>, tensor<i32>) -> tensor<5xi1>
  func.return
}}
"""
    *_, (value, array) = computed(text).items()
    agree = bool(array.all()) or not array.any()

    ramp = ramp_of(value)
    # That no element of those between the first and the last is equal is not looked at.
    if not agree:
        assert ramp is None
    elif number in (-1, 5) or relation not in ("eq", "ne"):
        assert ramp == Ramp(int(array[0]), (0,), (5,))


def test_long_chains_are_left_alone():
    lines = ["%0 = graph.iota axis 0 : tensor<5xi32>"]
    lines += [f"%{n + 1} = graph.add %{n}, %{n} : tensor<5xi32>" for n in range(5_000)]
    body = "\n  ".join(lines)
    _, module = parsed(f"func.func @chain() {{\n  {body}\n  func.return\n}}")
    sums = [op for op in module.walk() if isinstance(op, graph.AddOp)]

    assert ramp_of(sums[3].result) == Ramp(0, (16,), (5,))
    assert ramp_of(sums[-1].result) is None
