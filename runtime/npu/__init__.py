"""
Simulator: API of a small simulated NPU, to `parse` a text program and `run` it on numpy
arrays.

docs/npu-isa.md is the reference of the text format. The simulator is independent of the
compiler.
"""

from tlf.runtime.npu.npu_errors import (
    NPUError,
    NPUInputError,
    NPUParseError,
    NPUTrap,
)
from tlf.runtime.npu.npu_parser import parse
from tlf.runtime.npu.npu_program import Program
from tlf.runtime.npu.run_report import Report
from tlf.runtime.npu.simulator import run

__all__ = [
    "NPUError",
    "NPUInputError",
    "NPUParseError",
    "NPUTrap",
    "Program",
    "Report",
    "parse",
    "run",
]
