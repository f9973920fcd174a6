"""Edge values of element types, and programs that compute with them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
from differential import limit_search, parsed, run_lowered, steps_of
from graph_program import Program, Step, Value

from tlf.compiler.driver.pass_manager import PassManager
from tlf.dialects.interfaces import Array
from tlf.dialects.interpreters.interpret import interpret
from tlf.dialects.target import load_target_spec
from tlf.dialects.types import DTYPES

FLOATS = ("f32", "f16", "bf16")
DTYPE = {str(element): dtype for element, dtype in DTYPES.items()}
TOLERANCE = {"f32": 1e-5, "f16": 2e-3, "bf16": 1.6e-2}
"""Tolerance of functions, relative to the result."""

INTERPRETED: Mapping[str, Mapping[str, str]] = {
    "npu-tiny": {"convert-graph-to-tile": "tiles", "mem-plan": "buffers"},
    "h200": {"convert-tile-to-mem": "values"},
}
"""
Name of the level that is interpreted after the last run of a pass, by target and pass.
"""

TARGETS = tuple(INTERPRETED)
"""Targets of the programs; the levels before each target are interpreted, too."""


def numbers_of_bits(element: str) -> Array:
    """
    Return the least and the largest denormal number of a float type, the least normal
    number, the successor of 1, and the largest number.
    """
    integer, normal, after_one, largest = {
        "f32": (np.uint32, 0x00800000, 0x3F800001, 0x7F7FFFFF),
        "f16": (np.uint16, 0x0400, 0x3C01, 0x7BFF),
        "bf16": (np.uint16, 0x0080, 0x3F81, 0x7F7F),
    }[element]
    bits = np.array([1, normal - 1, normal, after_one, largest], integer)
    return bits.view(DTYPE[element])


def special(element: str) -> Array:
    """Return special numbers of a type, and a few ordinary ones."""
    if element == "i1":
        return np.array([False, True])
    if element == "i32":
        lowest, highest = -(2**31), 2**31 - 1
        negative = [lowest, lowest + 1, -65537, -46341, -2, -1]
        return np.array(
            [*negative, 0, 1, 3, 46341, 65536, highest - 1, highest], np.int32
        )
    denormal, plain = numbers_of_bits(element), [1.0, -1.0, 0.5, -2.5, 3.0, 0.1]
    floats = [np.nan, np.inf, -np.inf, 0.0, -0.0, 88.75, -88.75, *plain]
    converted = np.array(floats).astype(DTYPE[element])
    return np.concatenate([converted, denormal, np.negative(denormal)])


def rows(element: str) -> Array:
    """Return rows of five numbers, most of them with special numbers."""
    smallest, _, _, _, largest = numbers_of_bits(element).astype(np.float64)
    return np.array(
        [
            [1, np.nan, 2, 3, 4],
            [np.nan] * 5,
            [np.inf, 1, 2, 3, 4],
            [-np.inf, np.inf, 1, 1, 1],
            [-np.inf] * 5,
            [-0.0] * 5,
            [0.0] * 5,
            [smallest] * 5,
            [largest] * 5,
            [-largest, largest, 1, 1, 1],
            [1, 2, 3, 4, 5],
        ]
    ).astype(DTYPE[element])


def program(arguments: Sequence[Value], steps: Sequence[Step]) -> str:
    """Return a function that returns the results of all its operations."""
    results = tuple(step.result for step in steps)
    return Program(tuple(arguments), tuple(steps), results).text()


def step(
    number: int, pattern: str, result: tuple[tuple[int, ...], str], *operands: Value
) -> Step:
    """Return an operation of `graph` with the shape and element type of its result."""
    return Step(Value(f"r{number}", *result), f"graph.{pattern}", operands)


def run(
    text: str, inputs: Mapping[str, Array], name: str
) -> Iterator[tuple[str, tuple[Array, ...]]]:
    """
    Yield the name and the results of each level of a target's pipeline, the target
    last. Plans are the first ones found.
    """
    context, module = parsed(text)
    target = load_target_spec(name)
    target.attach_to_module(module)
    passes, manager = tuple(map(limit_search, steps_of(target))), PassManager(())
    names = [each.name for each in passes]
    start = 0
    for last, level in INTERPRETED[target.name].items():
        end = len(names) - names[::-1].index(last)
        manager.passes = passes[start:end]
        manager.run(context, module)
        yield level, interpret(module, inputs)
        start = end
    manager.passes = passes[start:]
    manager.run(context, module)
    yield name, run_lowered(context, module, target, inputs)


def differences(
    found: Array, wanted: Array, tolerance: float = 0.0, zeros: bool = True
) -> list[str]:
    """
    Return the differences of two arrays.

    NaN equals NaN. With `zeros`, zeros differ by sign. Other numbers may differ by
    `tolerance`, relative to the larger one.
    """
    if (found.shape, found.dtype) != (wanted.shape, wanted.dtype):
        return [f"{found.dtype}{found.shape} for {wanted.dtype}{wanted.shape}"]
    one, two = (each.astype(np.float64) for each in (found, wanted))
    with np.errstate(invalid="ignore"):
        same = np.abs(one - two) <= tolerance * np.maximum(np.abs(one), np.abs(two))
    same |= (one == two) | (np.isnan(one) & np.isnan(two))
    # An infinite number makes the tolerance infinite, so infinities must coincide.
    same &= np.isinf(one) == np.isinf(two)
    if zeros and found.dtype.kind not in "ib":
        same &= (np.signbit(one) == np.signbit(two)) | np.isnan(one)
    indices = [tuple(map(int, index)) for index in np.argwhere(~same)]
    return [
        f"{found[position]} for {wanted[position]} at {position}"
        for position in indices
    ]
