"""
Multi-core speed-up: the time of programs on a chip with one core and with more.

    python bench/cores.py
    python bench/cores.py --target npu-4core --cores 1,2,4 --only matmul,bottleneck

All chips have the same L2 and L3; the column headings give the numbers of cores. The
first column of a program is in cycles, the others are speed-ups over it; `floor` is the
largest speed-up that the memories and engines of the last chip allow.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path

import tlf
from tlf.runtime import npu

ZOO = Path(__file__).parent / "zoo.py"


class CoresOptions(argparse.Namespace):
    """Command-line options."""

    target: str
    cores: str
    only: str


def matmul(size: int, element: str) -> str:
    """Return a product of square matrices with a bias and a ReLU."""
    matrix, vector = f"tensor<{size}x{size}x{element}>", f"tensor<{size}x{element}>"
    return f"""
func.func @matmul(%a: {matrix}, %b: {matrix}, %c: {vector}) -> {matrix} {{
  %0 = graph.matmul %a, %b : ({matrix}, {matrix}) -> {matrix}
  %1 = graph.add %0, %c : ({matrix}, {vector}) -> {matrix}
  %2 = graph.relu %1 : ({matrix}) -> {matrix}
  func.return %2 : {matrix}
}}
"""


def softmax(rows: int, columns: int) -> str:
    """Return a softmax of every row."""
    matrix = f"tensor<{rows}x{columns}xf32>"
    return f"""
func.func @softmax(%x: {matrix}) -> {matrix} {{
  %0 = graph.softmax %x axis 1 : ({matrix}) -> {matrix}
  func.return %0 : {matrix}
}}
"""


def attention(heads: int, words: int, width: int) -> str:
    """Return attention with several heads."""
    operand = f"tensor<{heads}x{words}x{width}xf16>"
    transposed = f"tensor<{heads}x{width}x{words}xf16>"
    scores = f"tensor<{heads}x{words}x{words}xf16>"
    return f"""
func.func @attention(%q: {operand}, %k: {transposed}, %v: {operand}) -> {operand} {{
  %0 = graph.matmul %q, %k : ({operand}, {transposed}) -> {scores}
  %1 = graph.softmax %0 axis 2 : ({scores}) -> {scores}
  %2 = graph.matmul %1, %v : ({scores}, {operand}) -> {operand}
  func.return %2 : {operand}
}}
"""


def zoo_program(*words: str) -> str:
    """Return a program of bench/zoo.py."""
    command = [sys.executable, str(ZOO), *words]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


PROGRAMS: Mapping[str, Callable[[], str]] = {
    "matmul f32 512": partial(matmul, 512, "f32"),
    "matmul f16 1024": partial(matmul, 1024, "f16"),
    "softmax 1024x512": partial(softmax, 1024, 512),
    "attention 8x256x64": partial(attention, 8, 256, 64),
    "bottleneck f16 56": partial(
        zoo_program, "bottleneck", "--size", "56", "--dtype", "f16"
    ),
    "bottleneck f32 56": partial(
        zoo_program, "bottleneck", "--size", "56", "--dtype", "f32"
    ),
    "transformer f16 128": partial(
        zoo_program, "transformer", "--size", "128", "--dtype", "f16"
    ),
}


def simulate_program(text: str, target: str) -> npu.Report:
    """Return the simulation report of a program, run without values."""
    code = tlf.compile(text, target=target, cache=False).ir("program.npu")
    return npu.run(npu.parse(code), {}, functional=False)


def format_row(name: str, target: str, counts: Sequence[int]) -> str:
    """Return a row of the table."""
    text = PROGRAMS[name]()
    reports = [simulate_program(text, f"{target}:cores={count}") for count in counts]
    first = reports[0].cycles
    gains = "".join(f"{first / report.cycles:>9.2f}" for report in reports[1:])
    return f"{name:22}{first:>12,}{gains}{first / reports[-1].floor.cycles:>9.2f}"


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("--target", default="npu-4core")
    parser.add_argument("--cores", default="1,2,4")
    parser.add_argument("--only", default="", help="words that names start with")
    options = parser.parse_args(namespace=CoresOptions())
    counts = [int(each) for each in options.cores.split(",")]
    head = "".join(f"{count:>9}" for count in counts[1:])
    print(f"{'cores':22}{counts[0]:>12}{head}{'floor':>9}")
    for name in PROGRAMS:
        if name.startswith(tuple(options.only.split(","))):
            print(format_row(name, options.target, counts), flush=True)


if __name__ == "__main__":
    main()
