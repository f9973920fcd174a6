"""
Faults in a program that the compiler made: the simulator names the instruction, and the
operation of the source that it comes from.
"""

import re
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path

import pytest
from differential import make_case, parsed, steps_of
from mutations import replaced

from tlf.compiler.driver.driver import TARGETS, emit_text
from tlf.compiler.driver.pass_manager import PassManager
from tlf.compiler.driver.pipeline import build_target
from tlf.dialects.target import load_target_spec
from tlf.runtime import npu
from tlf.runtime.npu import NPUTrap

SOURCE = """\
func.func @f(%x: tensor<61x67xf32>, %w: tensor<67x59xf32>, %b: tensor<59xf32>)
    -> tensor<61x59xf32> {
  %0 = graph.matmul %x, %w
      : (tensor<61x67xf32>, tensor<67x59xf32>) -> tensor<61x59xf32>
  %1 = graph.add %0, %b : (tensor<61x59xf32>, tensor<59xf32>) -> tensor<61x59xf32>
  %y = graph.exp %1 : tensor<61x59xf32>
  func.return %y : tensor<61x59xf32>
}
"""


@cache
def text() -> str:
    """The program, each instruction with its place in the source."""
    context, module = parsed(SOURCE)
    target = load_target_spec("npu-tiny")
    target.attach_to_module(module)
    PassManager(steps_of(target)).run(context, module)
    return emit_text(context, module, build_target("npu{origins=true}", TARGETS))


def trap_of(changed: str) -> NPUTrap:
    program = npu.parse(changed, Path())
    values = make_case(SOURCE).inputs.values()
    inputs = dict(zip(program.inputs, values, strict=True))
    with pytest.raises(NPUTrap) as caught:
        npu.run(program, inputs)
    return caught.value


def without(pattern: str) -> str:
    """The program without the first line that matches a pattern."""
    return replaced(text(), rf"^ *{pattern}.*\n", "")


def overlapping() -> str:
    """
    Return a program that loads for the vector engine where the matrix engine reads.
    """
    moves = re.findall(r"dma dma_l2_l1 dst=L1\[([^]]+)\]", text())
    bases = (re.search(r"(?:^|\+)(\d+)$", move) for move in moves)
    factor, *_ = (base[1] for base in bases if base is not None)
    return text().replace(f"dst=L1[{moves[-1]}]", f"dst=L1[{factor}]")


def moved(address: int) -> str:
    """The exponential at another address."""
    return replaced(text(), r"(vector exp dst=L1)\[[^]]+\]", rf"\1[{address}]")


FAULTS: Mapping[str, tuple[Callable[[], str], str]] = {
    "uninitialised read": (
        lambda: without("dma dma_l2_l1 "),
        "was never written",
    ),
    "race": (
        lambda: replaced(text(), r"(?:^ *wait matrix .*\n)+(?= *matmul)", ""),
        "no wait orders that before",
    ),
    "overlap of live buffers": (
        overlapping,
        "is still in use: `matrix` reads it",
    ),
    "deadlock": (
        lambda: without("signal dma_l2_l1 "),
        "deadlock: ",
    ),
    "out of bounds": (
        lambda: moved(8188),
        "is out of the capacity of 8192 bytes",
    ),
    "misalignment": (
        lambda: moved(2),
        "are not multiples of the element size 4",
    ),
}


@pytest.mark.parametrize("name", FAULTS)
def test_traps_of_compiled_programs_name_the_source(name: str):
    change, reason = FAULTS[name]
    changed = change()
    trap = trap_of(changed)
    assert reason in trap.reason
    line = changed.splitlines()[trap.line - 1].strip()
    assert line == f"{trap.text} ; {trap.origin}"
    assert trap.origin is not None
    file, row, column = trap.origin.rsplit(":", 2)
    assert file == "program.mlir"
    operation = SOURCE.splitlines()[int(row) - 1][int(column) - 1 :]
    assert re.match(r"%\w+ = graph\.", operation)
    assert f"line {trap.line} of {trap.origin}: `{trap.text}`" in str(trap)
