"""
Comparison of operations with their simplified forms, on edge values of their types.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import cast

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray
from xdsl.builder import Builder
from xdsl.ir import Attribute, Block, Operation, OpResult, SSAValue
from xdsl.rewriter import InsertPoint

from tlf.dialects.interfaces import (
    Array,
    ReferenceInterface,
    SimplificationInterface,
)
from tlf.dialects.types import dtype_of, is_float, tensor_type

Arrays = Mapping[SSAValue, Array]

UNITS = {2: 2.0**-7, 4: 2.0**-23, 8: 2.0**-52}
"""
Spacing of floats near 1, by bytes of the type; the spacing of bf16 for 16-bit types.
"""


def evaluate(value: SSAValue, known: Arrays) -> Array:
    """Evaluate a value, given the values without a producer."""
    if value in known:
        return known[value]
    owner = value.owner
    assert isinstance(owner, ReferenceInterface)
    assert isinstance(value, OpResult)
    operands = [evaluate(each, known) for each in owner.operands]
    return owner.compute_reference(*operands)[value.index]


def edges(element: Attribute) -> NDArray[np.generic]:
    """Return special numbers of an element type, and some ordinary ones."""
    dtype = dtype_of(element)
    if dtype.kind == "b":
        return np.array([False, True])
    if dtype.kind == "i":
        lowest, highest = np.iinfo(dtype.name).min, np.iinfo(dtype.name).max
        return np.array([lowest, lowest + 1, -7, -1, 0, 1, 2, 100, highest], dtype)
    bits = np.dtype(f"u{dtype.itemsize}")
    digits = {"bfloat16": 7, "float16": 10, "float32": 23, "float64": 52}[dtype.name]
    infinite = np.array(np.inf).astype(dtype).view(bits)[()]
    patterns = np.array([1, (1 << digits) - 1, 1 << digits, infinite - 1], bits)
    extremes = patterns.view(dtype)
    plain = np.array([0.0, 1.0, 0.5, 3.0, 0.1, 7.25, np.inf]).astype(dtype)
    half = np.concatenate([plain, extremes])
    nan = np.array([np.nan]).astype(dtype)
    return np.concatenate([half, np.negative(half), nan])


def arrays_for(value: SSAValue, rng: Generator, tame: bool) -> Array:
    """Return numbers for a tensor: edge values and random ones, or numbers near 1."""
    type_ = tensor_type(value)
    dtype, count = dtype_of(type_.element_type), int(np.prod(type_.get_shape()))
    if tame and is_float(type_.element_type):
        flat = rng.uniform(0.5, 2, count).astype(dtype)
    elif dtype.kind == "b":
        flat = rng.integers(0, 2, count).astype(dtype)
    else:
        raw = rng.integers(0, 256, count * dtype.itemsize, np.uint8).view(dtype)
        if is_float(type_.element_type):
            # Libraries disagree on powers of 1 with a signalling NaN.
            with np.errstate(invalid="ignore"):
                raw[np.isnan(raw)] = np.nan
        edge_values = rng.permutation(edges(type_.element_type))[:count]
        flat = rng.permutation(np.concatenate([edge_values, raw[edge_values.size :]]))
    return flat.reshape(type_.get_shape())


def sources(op: Operation) -> Iterator[SSAValue]:
    """Yield the values without a producer that an operation depends on."""
    for operand in op.operands:
        owner = cast(Operation, operand.owner)
        if isinstance(owner, ReferenceInterface):
            yield from sources(owner)
        else:
            yield operand


@dataclass(frozen=True)
class Compared:
    """Expected and actual result of a simplification."""

    wanted: Array
    found: Array
    exact: bool = True
    """True if every bit must be equal."""

    def is_identical(self) -> bool:
        """Return `True` if all bits are equal, except for those of NaN."""
        if (self.wanted.shape, self.wanted.dtype) != (
            self.found.shape,
            self.found.dtype,
        ):
            return False
        raw = [
            np.ascontiguousarray(each).view(f"u{each.dtype.itemsize}")
            for each in (self.wanted, self.found)
        ]
        with np.errstate(invalid="ignore"):
            both = [
                np.isnan(each.astype(np.float64)) for each in (self.wanted, self.found)
            ]
        return bool(((raw[0] == raw[1]) | (both[0] & both[1])).all())

    def is_close(self) -> bool:
        """Return `True` if the results differ by rounding only."""
        if self.wanted.dtype.kind in "ib":
            return self.is_identical()
        unit = UNITS[self.wanted.dtype.itemsize]
        one, two = (each.astype(np.float64) for each in (self.wanted, self.found))
        error = np.abs(one - two)
        return bool((error <= 8 * unit * np.maximum(np.abs(one), 1)).all())


def compared(op: Operation, rng: Generator, tame: bool = False) -> list[Compared]:
    """Return all simplified forms of an operation, computed on the same numbers."""
    assert isinstance(op, SimplificationInterface)
    forms = list(op.simplifications())
    arrays = {each: arrays_for(each, rng, tame) for each in sources(op)}
    with np.errstate(all="ignore"):
        expected = evaluate(op.results[0], arrays)
        results: list[Compared] = []
        for form in forms:
            simplified = form.build(Builder(InsertPoint.at_end(Block())))
            assert simplified.type == op.results[0].type
            results.append(
                Compared(expected, evaluate(simplified, arrays), form.is_exact)
            )
    return results
