"""Bitwise comparison of the results after every pass, and on a target."""

from collections.abc import Iterator

import numpy as np
from differential import (
    Arrays,
    executed,
    limit_search,
    parsed,
    printed,
    runnable,
    steps_of,
)

from tlf.compiler.driver.pass_manager import PassManager
from tlf.dialects.interpreters.interpret import interpret
from tlf.dialects.target import load_target_spec
from tlf.runtime.triton.sanitizers import sanitize

Results = tuple[np.ndarray, ...]


def every_result(text: str, inputs: Arrays, name: str) -> Iterator[tuple[str, Results]]:
    """
    Yield the results after every pass that changes a program, and on a target.

    A program is interpreted as long as the interpreter supports it. Plans are the first
    ones found.
    """
    target = load_target_spec(name)
    context, module = parsed(text)
    target.attach_to_module(module)
    before = ""
    for step in map(limit_search, steps_of(target)):
        PassManager([step]).run(context, module)
        if runnable(module) and (after := str(module)) != before:
            before = after
            yield step.name, interpret(module, inputs)
    program = printed(context, module, target)
    if target.backend == "triton":
        with sanitize():
            yield name, executed(program, target, inputs)
    else:
        yield name, executed(program, target, inputs)


def bits(array: np.ndarray) -> bytes:
    """Return the bytes of an array, with all NaNs equal."""
    if array.dtype.kind in "ib":
        return array.tobytes()
    return np.where(np.isnan(array), array.dtype.type(np.nan), array).tobytes()


def check(text: str, inputs: Arrays, name: str = "h200") -> None:
    """Compare the results of all stages with the reference."""
    expected = interpret(parsed(text)[1], inputs)
    for step, results in every_result(text, inputs, name):
        for actual, reference in zip(results, expected, strict=True):
            same = (actual.shape, actual.dtype) == (reference.shape, reference.dtype)
            assert same, step
            assert bits(actual) == bits(reference), f"after {step}"
