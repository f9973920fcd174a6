"""Random gathers of windows as rows, and programs that read them."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from indexed_programs import DTYPES, shaped
from numpy.random import Generator

from tlf.support.affine.delinearized_access import DelinearizedAccess
from tlf.support.affine.index_access import IndexAccess

FILLS = {
    "f": ("0.0", "0.0", "1.5", "-3.0", "inf", "-inf", "nan"),
    "i": ("0", "7", "-5"),
    "b": ("false", "true"),
}
"""Numbers outside of the operand, by the kind of a dtype."""

PRODUCTS = ("f32", "f16", "bf16")
"""Element types of matrix products."""

ELEMENTS = (*DTYPES, *PRODUCTS, *PRODUCTS)
"""Element types, those of matrix products more often."""


@dataclass(frozen=True)
class Windows:
    """A gather of windows: its accesses to a tensor of some shape, and the fill."""

    access: DelinearizedAccess
    source: tuple[int, ...]
    element: str
    fill: str

    @property
    def kind(self) -> str:
        """Kind of the dtype: `f`, `i` or `b`."""
        return "f" if "f" in self.element else "b" if self.element == "i1" else "i"

    def users(self) -> tuple[str, ...]:
        """Return the operations that may read the windows."""
        users = ("elementwise",) if self.kind == "b" else ("elementwise", "max")
        is_matrix = len(self.access.shape) > 1 and self.element in PRODUCTS
        return (*users, "contract") if is_matrix else users

    def program(self, user: str) -> str:
        """Return a program in which `user` reads the windows."""
        x, u = (shaped(e, self.element) for e in (self.source, self.access.shape))
        basis = [list(extents) for extents in self.access.basis]
        parameters, body, result = self._reading_operation(user)
        return f"""
func.func @f(%x: {x}{parameters}) -> {result} {{
  %u = graph.im2col %x map {self.map_text} basis {basis} fill {self.fill} : ({x}) -> {u}
  %y = {body}
  func.return %y : {result}
}}"""

    @property
    def fill_value(self) -> float:
        """Number outside of the operand."""
        return float({"true": "1", "false": "0"}.get(self.fill, self.fill))

    @property
    def map_text(self) -> str:
        """Map from the digits to the axes of the operand."""
        dims = [f"d{n}" for n in range(len(self.access.digits))]
        axes = [
            " + ".join([*(f"{dims[n]} * {c}" for n, c in each.terms), str(each.offset)])
            for each in self.access.accesses
        ]
        return f"affine_map<({', '.join(dims)}) -> ({', '.join(axes)})>"

    def _reading_operation(self, user: str) -> tuple[str, str, str]:
        """Return parameters, an operation that reads `%u`, and its type."""
        shape = self.access.shape
        u, last = shaped(shape, self.element), len(shape) - 1
        if user == "elementwise":
            name = "or" if self.kind == "b" else "maximum"
            return f", %b: {u}", f"graph.{name} %u, %b : ({u}, {u}) -> {u}", u
        if user == "max":
            y = shaped(shape[:-1], self.element)
            return "", f"graph.reduce %u <max> axes [{last}] : ({u}) -> {y}", y
        w, y = (shaped(e, self.element) for e in ((24, shape[-1]), (*shape[:-1], 24)))
        rows = [f"m{n}" for n in range(last)]
        domain, maps = [*rows, "n", "k"], ([*rows, "k"], ["n", "k"], [*rows, "n"])
        text = ", ".join(
            f"affine_map<({', '.join(domain)}) -> ({', '.join(e)})>" for e in maps
        )
        acc = "" if self.element == "f32" else "acc f32 "
        body = f"graph.contract %u, %w maps [{text}] {acc}: ({u}, {w}) -> {y}"
        return f", %w: {w}", body, y

    def inputs(self, user: str, rng: Generator) -> dict[str, np.ndarray]:
        """Return whole numbers, so that sums are exact."""
        shapes = {"x": self.source}
        if user == "elementwise":
            shapes["b"] = self.access.shape
        if user == "contract":
            shapes["w"] = (24, self.access.shape[-1])
        dtype = DTYPES[self.element]
        low = 0 if self.kind == "b" else -3
        return {
            name: rng.integers(low, 2 if self.kind == "b" else 4, shape).astype(dtype)
            for name, shape in shapes.items()
        }


@dataclass(frozen=True)
class _Axis:
    """Axis of the operand: its extent and offset, and digits with coefficients."""

    extent: int
    offset: int
    row: tuple[int, int] | None = None
    column: tuple[int, int] | None = None


def random_windows(
    generator: random.Random, elements: Sequence[str] = ELEMENTS
) -> Windows:
    """Return images of one to three axes and windows that slide over them."""
    axes = [_image_axis(generator) for _ in range(generator.choice((1, 1, 2, 2, 3)))]
    channels = _Axis(generator.choice((1, 3, 8, 16)), 0)
    channels = _Axis(channels.extent, 0, None, (channels.extent, 1))
    position = generator.choice((0, len(axes)))
    axes.insert(position, channels)
    batch = generator.choice((1, 2, 3))
    axes.insert(0, _Axis(batch, 0, (batch, 1)))
    groups = generator.choice((None, None, 2))
    return _assemble(generator, axes, groups, generator.choice(elements))


def _image_axis(generator: random.Random) -> _Axis:
    """Return an axis with a window, its stride, dilation and padding."""
    window, dilation = generator.choice((1, 2, 3, 3)), generator.choice((1, 1, 2))
    stride, padding = generator.choice((1, 1, 2, -1)), generator.choice((0, 1, 1, 2))
    extent, count = generator.randint(1, 7), generator.randint(1, 6)
    offset = -padding if stride > 0 else count - 1
    return _Axis(extent, offset, (count, stride), (window, dilation))


def _assemble(
    generator: random.Random, axes: list[_Axis], groups: int | None, element: str
) -> Windows:
    """Return the gather of axes, with digits in random order, and unused ones."""
    rows = [(n, *each.row) for n, each in enumerate(axes) if each.row]
    columns = [(n, *each.column) for n, each in enumerate(axes) if each.column]
    for digits in (rows, columns):
        if generator.random() < 0.4:
            generator.shuffle(digits)
        if generator.random() < 0.15:
            digits.insert(generator.randint(0, len(digits)), (-1, 2, 0))
    lists = [rows, columns]
    if groups is not None:
        lists.insert(generator.randint(0, 2), [(len(axes), groups, 1)])
        axes = [*axes, _Axis(groups, 0)]
    elif generator.random() < 0.15:
        lists = [rows + columns]
    terms: list[list[tuple[int, int]]] = [[] for _ in axes]
    flat = [digit for digits in lists for digit in digits]
    for dimension, (axis, _, coefficient) in enumerate(flat):
        if coefficient:
            terms[axis].append((dimension, coefficient))
    accesses = tuple(
        IndexAccess(tuple(each), axis.offset)
        for axis, each in zip(axes, terms, strict=True)
    )
    basis = tuple(tuple(extent for _, extent, _ in digits) for digits in lists)
    kind = "f" if "f" in element else "b" if element == "i1" else "i"
    source = tuple(axis.extent for axis in axes)
    fill = generator.choice(FILLS[kind])
    return Windows(DelinearizedAccess(accesses, basis), source, element, fill)
