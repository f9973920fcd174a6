"""Numbers at the edges of their types, and programs that compute with them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
from differential import parsed, run_lowered, steps_of
from graph_program import Program, Step, Value

from tlf.compiler.driver.pass_manager import PassManager
from tlf.dialects.interfaces import Array
from tlf.dialects.interpreters.interpret import interpret
from tlf.dialects.target import load_target_spec
from tlf.dialects.types import DTYPES

FLOATS = ("f32", "f16", "bf16")
DTYPE = {str(element): dtype for element, dtype in DTYPES.items()}
TOLERANCE = {"f32": 1e-5, "f16": 2e-3, "bf16": 1.6e-2}
"""By how much functions may differ, relative to the result."""

INTERPRETED: Mapping[str, Mapping[str, str]] = {
    "npu-tiny": {"convert-graph-to-tile": "tiles", "mem-plan": "buffers"},
    "h200": {"convert-tile-to-mem": "values"},
}
"""By target and pass, the level that is interpreted after the pass has last run."""

TARGETS = tuple(INTERPRETED)
"""Targets of the programs; the levels before each are interpreted, too."""


def numbers_of_bits(element: str) -> Array:
    """
    The least and the largest denormal number of a float type, the least normal one, the
    one after 1, and the largest.
    """
    integer, normal, after_one, largest = {
        "f32": (np.uint32, 0x00800000, 0x3F800001, 0x7F7FFFFF),
        "f16": (np.uint16, 0x0400, 0x3C01, 0x7BFF),
        "bf16": (np.uint16, 0x0080, 0x3F81, 0x7F7F),
    }[element]
    bits = np.array([1, normal - 1, normal, after_one, largest], integer)
    return bits.view(DTYPE[element])


def special(element: str) -> Array:
    """Numbers of a type that are unlike others, and a few that are not."""
    if element == "i1":
        return np.array([False, True])
    if element == "i32":
        least, most = -(2**31), 2**31 - 1
        near = [least, least + 1, -65537, -46341, -2, -1]
        return np.array([*near, 0, 1, 3, 46341, 65536, most - 1, most], np.int32)
    denormal, plain = numbers_of_bits(element), [1.0, -1.0, 0.5, -2.5, 3.0, 0.1]
    every = [np.nan, np.inf, -np.inf, 0.0, -0.0, 88.75, -88.75, *plain]
    others = np.array(every).astype(DTYPE[element])
    return np.concatenate([others, denormal, np.negative(denormal)])


def rows(element: str) -> Array:
    """Rows of five numbers, at least one of each row special."""
    least, _, _, _, most = numbers_of_bits(element).astype(np.float64)
    return np.array(
        [
            [1, np.nan, 2, 3, 4],
            [np.nan] * 5,
            [np.inf, 1, 2, 3, 4],
            [-np.inf, np.inf, 1, 1, 1],
            [-np.inf] * 5,
            [-0.0] * 5,
            [0.0] * 5,
            [least] * 5,
            [most] * 5,
            [-most, most, 1, 1, 1],
            [1, 2, 3, 4, 5],
        ]
    ).astype(DTYPE[element])


def program(arguments: Sequence[Value], steps: Sequence[Step]) -> str:
    """A function that returns what every one of its operations computes."""
    results = tuple(step.result for step in steps)
    return Program(tuple(arguments), tuple(steps), results).text()


def step(
    number: int, pattern: str, result: tuple[tuple[int, ...], str], *operands: Value
) -> Step:
    """An operation of `graph` with the shape and element type of its result."""
    return Step(Value(f"r{number}", *result), f"graph.{pattern}", operands)


def run(
    text: str, inputs: Mapping[str, Array], name: str
) -> Iterator[tuple[str, tuple[Array, ...]]]:
    """
    The results of a program on each level of a target's pipeline, from the outermost
    to the target itself, with the name of the level.
    """
    context, module = parsed(text)
    target = load_target_spec(name)
    target.attach(module)
    passes, manager = steps_of(target), PassManager(())
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
    Return the differences of two arrays. NaN is equal to NaN; zeros differ by their
    signs, if `zeros`; other numbers may differ by `tolerance`, relative to the larger.
    """
    if (found.shape, found.dtype) != (wanted.shape, wanted.dtype):
        return [f"{found.dtype}{found.shape} for {wanted.dtype}{wanted.shape}"]
    one, two = (each.astype(np.float64) for each in (found, wanted))
    with np.errstate(invalid="ignore"):
        same = np.abs(one - two) <= tolerance * np.maximum(np.abs(one), np.abs(two))
    same |= (one == two) | (np.isnan(one) & np.isnan(two))
    # A tolerance of infinity is no tolerance.
    same &= np.isinf(one) == np.isinf(two)
    if zeros and found.dtype.kind not in "ib":
        same &= (np.signbit(one) == np.signbit(two)) | np.isnan(one)
    places = [tuple(map(int, place)) for place in np.argwhere(~same)]
    return [f"{found[at]} for {wanted[at]} at {at}" for at in places]
