"""Programs that are small enough to be compiled for many chips."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path

from cores import attention, matmul, softmax
from xdsl.dialects.builtin import ModuleOp
from zoo import workload

from tlf.compiler.driver.driver import new_context
from tlf.compiler.driver.source import Source
from tlf.compiler.driver.verified_parsing import parse_and_verify

EXAMPLES = Path(__file__).parents[1] / "examples"


def parse_program(text: str) -> ModuleOp:
    """Return the verified program of a text."""
    return parse_and_verify(new_context(), Source(text, "program"))


def read_example(name: str) -> ModuleOp:
    """Return a program of the folder `examples`."""
    return parse_program((EXAMPLES / f"{name}.mlir").read_text(encoding="utf-8"))


def zoo_module(
    name: str, size: int, element: str = "f16", divisor: int = 1
) -> ModuleOp:
    """Return a workload of `zoo.py`, with its channels divided."""
    return workload(name).module(size, dtype=element, divisor=divisor)


PROGRAMS: Mapping[str, Callable[[], ModuleOp]] = {
    "matmul": lambda: parse_program(matmul(96, "f32")),
    "softmax": lambda: parse_program(softmax(64, 512)),
    "attention": lambda: parse_program(attention(2, 64, 32)),
    "residual-mlp": partial(read_example, "residual_mlp"),
    "bottleneck": partial(zoo_module, "bottleneck", 14, "f32", 8),
    "vgg16-head": partial(zoo_module, "vgg16-head", 14, "f16", 8),
    "gemv": partial(zoo_module, "gemv", 256, "f32"),
    "random-dag": partial(zoo_module, "random-dag", 8, "f32", 4),
}
"""Builders of the programs, by name."""
