"""Programs with indexed reads of tensors, and their inputs."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from differential import parsed
from numpy.random import Generator

from tlf.dialects.entry_point import find_entry_point
from tlf.dialects.interfaces import Array
from tlf.dialects.types import ELEMENT_TYPES, dtype_of, tensor_type

DTYPES = {str(element): dtype_of(element) for element in ELEMENT_TYPES}
"""Dtypes of all element types, by their names."""

FLOATS = [np.nan, np.inf, -np.inf, -0.0, 0.0, 1e-40, 1.5, -3.25]
"""Special values that a wrong lowering may change."""


def shaped(shape: Sequence[int], element: str) -> str:
    """Return the text of a tensor type."""
    return f"tensor<{'x'.join([*map(str, shape), element])}>"


@dataclass(frozen=True)
class Lookup:
    """Operation that reads a table by indices: its name, shapes and types."""

    name: str
    table: tuple[int, ...]
    indices: tuple[int, ...]
    axis: int
    element: str = "f32"
    index: str = "i64"

    @property
    def result(self) -> tuple[int, ...]:
        """Shape of the result."""
        if self.name == "gather":
            return self.indices
        before, after = self.table[: self.axis], self.table[self.axis + 1 :]
        return (*before, *self.indices, *after)

    @property
    def text(self) -> str:
        """Program with only this operation."""
        table, indices = (
            shaped(self.table, self.element),
            shaped(self.indices, self.index),
        )
        result = shaped(self.result, self.element)
        return f"""
func.func @main(%t: {table}, %n: {indices}) -> {result} {{
  %y = graph.{self.name} %t, %n axis {self.axis} : ({table}, {indices}) -> {result}
  func.return %y : {result}
}}
"""

    def inputs(self, rng: Generator) -> dict[str, Array]:
        """
        Return a table with special values, and indices, some of them out of bounds.
        """
        return {
            "t": some_table(rng, self.table, self.element),
            "n": some_indices(rng, self.indices, self.index, self.table[self.axis]),
        }


def some_table(rng: Generator, shape: Sequence[int], element: str) -> Array:
    """Return random values of an element type, including its special values."""
    dtype = DTYPES[element]
    if dtype.kind == "b":
        return rng.random(tuple(shape)) < 0.5
    if dtype.kind == "i":
        limits = np.iinfo(dtype.name)
        values = rng.integers(limits.min, limits.max, tuple(shape), dtype.name, True)
        return np.asarray(values)
    values = rng.standard_normal(tuple(shape))
    special = rng.choice(FLOATS, tuple(shape))
    return np.where(rng.random(tuple(shape)) < 0.3, special, values).astype(dtype)


def some_indices(
    rng: Generator, shape: Sequence[int], index: str, extent: int
) -> Array:
    """Return indices of an axis, some of them out of bounds on either side."""
    dtype = DTYPES[index]
    limits = np.iinfo(dtype.name)
    inside = rng.integers(0, extent, tuple(shape))
    outside = rng.choice([-1, extent, limits.min, limits.max, -extent], tuple(shape))
    return np.where(rng.random(tuple(shape)) < 0.3, outside, inside).astype(dtype)


ROWS = Lookup("take", (19, 7), (5,), 0)

LOOKUPS = [
    ROWS,
    Lookup("take", (19, 7), (5,), 1),
    Lookup("take", (300, 33), (37,), 0, index="i32"),
    Lookup("take", (9,), (11,), 0),
    Lookup("take", (9,), (), 0, index="i32"),
    Lookup("take", (5, 6, 7), (2, 3), 1),
    Lookup("take", (5, 6, 7), (3,), 2, index="i32"),
    Lookup("take", (5, 6, 7), (), 1),
    Lookup("take", (3, 4, 130), (2, 1, 9), 0),
    Lookup("take", (1, 3), (6,), 0),
    Lookup("take", (3, 1), (6,), 1),
    Lookup("take", (1,), (1,), 0),
    Lookup("take", (3, 3000), (2,), 0),
    Lookup("take", (3000, 3), (2000,), 0),
    Lookup("gather", (19, 7), (5, 7), 0),
    Lookup("gather", (19, 7), (19, 5), 1, index="i32"),
    Lookup("gather", (9,), (31,), 0),
    Lookup("gather", (5, 6, 7), (4, 70, 3), 1),
    Lookup("gather", (5, 6, 1), (5, 2, 9), 2, index="i32"),
    Lookup("gather", (1, 6), (9, 6), 0),
    Lookup("gather", (1, 1), (1, 1), 1),
    Lookup("gather", (40, 90), (33, 77), 0),
]
"""Single operations of several shapes, along several axes."""

TABLE, TOKENS, WORDS = "tensor<50x24xf32>", "tensor<3x7xi64>", "tensor<3x7x24xf32>"
TAKE = f"graph.take %t, %n axis 0 : ({TABLE}, {TOKENS}) -> {WORDS}"

FUSED = {
    "sum-of-two": f"""
func.func @main(%t: {TABLE}, %n: {TOKENS}, %p: tensor<7x24xf32>) -> {WORDS} {{
  %0 = {TAKE}
  %i = graph.iota axis 0 : tensor<7xi64>
  %1 = graph.take %p, %i axis 0
    : (tensor<7x24xf32>, tensor<7xi64>) -> tensor<7x24xf32>
  %y = graph.add %0, %1 : ({WORDS}, tensor<7x24xf32>) -> {WORDS}
  func.return %y : {WORDS}
}}""",
    "scaled": f"""
func.func @main(%t: {TABLE}, %n: {TOKENS}) -> {WORDS} {{
  %0 = {TAKE}
  %c = graph.constant dense<4.5> : tensor<f32>
  %y = graph.mul %0, %c : ({WORDS}, tensor<f32>) -> {WORDS}
  func.return %y : {WORDS}
}}""",
    "computed-indices": f"""
func.func @main(%t: {TABLE}, %n: {TOKENS}, %m: {TOKENS}) -> {WORDS} {{
  %0 = graph.add %n, %m : ({TOKENS}, {TOKENS}) -> {TOKENS}
  %y = graph.take %t, %0 axis 0 : ({TABLE}, {TOKENS}) -> {WORDS}
  func.return %y : {WORDS}
}}""",
    "both-results": f"""
func.func @main(%t: {TABLE}, %n: {TOKENS}) -> ({WORDS}, {WORDS}) {{
  %0 = {TAKE}
  %1 = graph.neg %0 : {WORDS}
  func.return %0, %1 : {WORDS}, {WORDS}
}}""",
    "greatest-of-row": f"""
func.func @main(%t: {TABLE}, %n: {TOKENS}) -> tensor<3x7xf32> {{
  %0 = {TAKE}
  %y = graph.reduce %0 <max> axes [2] : ({WORDS}) -> tensor<3x7xf32>
  func.return %y : tensor<3x7xf32>
}}""",
    "greatest-of-words": f"""
func.func @main(%t: {TABLE}, %n: {TOKENS}) -> tensor<3x24xf32> {{
  %0 = {TAKE}
  %y = graph.reduce %0 <min> axes [1] : ({WORDS}) -> tensor<3x24xf32>
  func.return %y : tensor<3x24xf32>
}}""",
    "transposed": f"""
func.func @main(%t: {TABLE}, %n: {TOKENS}) -> tensor<24x3x7xf32> {{
  %0 = {TAKE}
  %y = graph.transpose %0 permutation [2, 0, 1] : ({WORDS}) -> tensor<24x3x7xf32>
  func.return %y : tensor<24x3x7xf32>
}}""",
    "constant-indices": f"""
func.func @main(%t: {TABLE}) -> {WORDS} {{
  %n = graph.constant dense<3> : {TOKENS}
  %y = {TAKE}
  func.return %y : {WORDS}
}}""",
}
"""Programs of one kernel, exact in f32."""

APART = {
    "computed-table": (
        f"""
func.func @main(%x: {TABLE}, %n: {TOKENS}) -> {WORDS} {{
  %t = graph.neg %x : {TABLE}
  %y = {TAKE}
  func.return %y : {WORDS}
}}""",
        2,
    ),
    "constant-table": (
        f"""
func.func @main(%n: {TOKENS}) -> {WORDS} {{
  %t = graph.constant dense<2.5> : {TABLE}
  %y = {TAKE}
  func.return %y : {WORDS}
}}""",
        2,
    ),
    "row-of-row": (
        f"""
func.func @main(%t: {TABLE}, %n: {TOKENS}, %k: tensor<2xi32>) -> tensor<2x7x24xf32> {{
  %0 = {TAKE}
  %y = graph.take %0, %k axis 0
    : ({WORDS}, tensor<2xi32>) -> tensor<2x7x24xf32>
  func.return %y : tensor<2x7x24xf32>
}}""",
        2,
    ),
    "indices-of-indices": (
        f"""
func.func @main(%t: {TABLE}, %n: tensor<9xi64>, %k: {TOKENS}) -> {WORDS} {{
  %0 = graph.take %n, %k axis 0 : (tensor<9xi64>, {TOKENS}) -> {TOKENS}
  %y = graph.take %t, %0 axis 0 : ({TABLE}, {TOKENS}) -> {WORDS}
  func.return %y : {WORDS}
}}""",
        1,
    ),
    "own-indices": (
        """
func.func @main(%n: tensor<9xi64>) -> tensor<9xi64> {
  %y = graph.take %n, %n axis 0 : (tensor<9xi64>, tensor<9xi64>) -> tensor<9xi64>
  func.return %y : tensor<9xi64>
}""",
        1,
    ),
    "own-indices-computed": (
        """
func.func @main(%n: tensor<9xi64>) -> tensor<9xi64> {
  %0 = graph.neg %n : tensor<9xi64>
  %y = graph.take %0, %0 axis 0 : (tensor<9xi64>, tensor<9xi64>) -> tensor<9xi64>
  func.return %y : tensor<9xi64>
}""",
        2,
    ),
}
"""Programs with their numbers of kernels: a computed table is never fused."""


def drawn(text: str, rng: Generator) -> dict[str, np.ndarray]:
    """Return inputs for the arguments of a program."""
    arrays: dict[str, np.ndarray] = {}
    for argument in find_entry_point(parsed(text)[1], None).body.block.args:
        name, type_ = str(argument.name_hint), tensor_type(argument)
        element, shape = str(type_.element_type), type_.get_shape()
        if element.startswith("i"):
            arrays[name] = some_indices(rng, shape, element, 9)
        else:
            # Reductions may return either of two signed zeros.
            table = some_table(rng, shape, element)
            arrays[name] = np.add(table, np.float32(0))
    return arrays
