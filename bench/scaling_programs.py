"""Generator of programs of any number of operations, to measure compile-time growth."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice

MATRIX = "tensor<64x64xf32>"
TILE = "tensor<16x64xf32, #tile.encoding<L1>>"
ARGUMENTS = (
    f"%x: {MATRIX}, %w: {MATRIX}, %b: tensor<64xf32>, "
    f"%r: tensor<1x64xf32>, %c: tensor<64x1xf32>"
)


@dataclass(frozen=True)
class Program:
    """Function as text, with its number of operations."""

    text: str
    operations: int


def _build_function(lines: list[str], result: str) -> Program:
    """
    Return a function; each line of its body is an operation or the end of a region.
    """
    body = "\n".join(f"  {line}" for line in lines)
    text = (
        f"func.func @f({ARGUMENTS}) -> {MATRIX} {{\n{body}\n"
        f"  func.return {result} : {MATRIX}\n}}\n"
    )
    return Program(text, sum(line != "}" for line in lines) + 1)


def _take(lines: Iterator[str], count: int) -> list[str]:
    return list(islice(lines, count))


def chain(operations: int) -> Program:
    """Return a chain of elementwise operations."""

    def lines() -> Iterator[str]:
        last = "%x"
        for index in range(operations):
            kind = index % 4
            if kind == 3:
                yield f"%{index} = graph.tanh {last} : {MATRIX}"
            else:
                name, operand, type_ = (
                    ("add", "%b", "tensor<64xf32>"),
                    ("mul", "%r", "tensor<1x64xf32>"),
                    ("sub", "%c", "tensor<64x1xf32>"),
                )[kind]
                yield (
                    f"%{index} = graph.{name} {last}, {operand} : "
                    f"({MATRIX}, {type_}) -> {MATRIX}"
                )
            last = f"%{index}"

    return _build_function(_take(lines(), operations), f"%{operations - 1}")


def _layer(source: str, number: int) -> list[str]:
    """Return a matrix product with a bias and an activation."""
    return [
        f"%m{number} = graph.matmul {source}, %w : ({MATRIX}, {MATRIX}) -> {MATRIX}",
        f"%a{number} = graph.add %m{number}, %b : ({MATRIX}, tensor<64xf32>) -> "
        f"{MATRIX}",
        f"%t{number} = graph.tanh %a{number} : {MATRIX}",
        f"%y{number} = graph.mul %t{number}, %r : ({MATRIX}, tensor<1x64xf32>) -> "
        f"{MATRIX}",
    ]


def layers(operations: int) -> Program:
    """Return a chain of matrix products with elementwise tails."""
    count = max(1, operations // 4)
    lines = [
        line
        for index in range(count)
        for line in _layer(f"%y{index - 1}" if index else "%x", index)
    ]
    return _build_function(lines, f"%y{count - 1}")


def scales(operations: int) -> Program:
    """
    Return a chain of matrix products with constant weights whose results are scaled.
    """
    count = max(1, (operations - 2) // 4)
    lines = [
        f"%k = graph.constant dense<0.5> : {MATRIX}",
        "%half = graph.constant dense<0.25> : tensor<1x1xf32>",
    ]
    for index in range(count):
        source = f"%y{index - 1}" if index else "%x"
        lines += [
            f"%m{index} = graph.matmul {source}, %k : ({MATRIX}, {MATRIX}) -> {MATRIX}",
            f"%s{index} = graph.mul %m{index}, %half : ({MATRIX}, tensor<1x1xf32>) -> "
            f"{MATRIX}",
            f"%a{index} = graph.add %s{index}, %b : ({MATRIX}, tensor<64xf32>) -> "
            f"{MATRIX}",
            f"%y{index} = graph.tanh %a{index} : {MATRIX}",
        ]
    return _build_function(lines, f"%y{count - 1}")


def wide(operations: int) -> Program:
    """Return independent layers, each on its own input, and their sum."""
    count = max(1, operations // 6)
    lines: list[str] = []
    for index in range(count):
        value = f"dense<{index + 1}.0> : {MATRIX}"
        lines.append(f"%k{index} = graph.constant {value}")
        lines.append(
            f"%s{index} = graph.add %x, %k{index} : ({MATRIX}, {MATRIX}) -> {MATRIX}"
        )
        lines += _layer(f"%s{index}", index)
    terms = [f"%y{index}" for index in range(count)]
    sums = 0
    while len(terms) > 1:
        left, right, *terms = terms
        lines.append(
            f"%sum{sums} = graph.add {left}, {right} : ({MATRIX}, {MATRIX}) -> {MATRIX}"
        )
        terms.append(f"%sum{sums}")
        sums += 1
    return _build_function(lines, terms[0])


def _loop(source: str, number: int, low: str, high: str, body: list[str]) -> list[str]:
    """
    Return a parallel loop over strips; `body` computes `%v{number}` from `%u{number}`.
    """
    return [
        f"%e{number} = tile.empty : {MATRIX}",
        f"%y{number} = tile.while (%i{number} = {low} to {high} step 16) parallel "
        f"mapping(loop) into(%o{number} = %e{number} : {MATRIX}) {{",
        f"%u{number} = tile.slice {source}[%i{number}, 0] : {MATRIX} -> {TILE}",
        *body,
        f"%n{number} = tile.deslice %v{number} into %o{number}[%i{number}, 0] : "
        f"{TILE} into {MATRIX}",
        f"tile.yield %n{number} : {MATRIX}",
        "}",
    ]


def loops(operations: int) -> Program:
    """
    Return a chain of loops over tiles, each reading the result of the previous loop.
    """
    count = max(1, operations // 9)
    lines: list[str] = []
    for index in range(count):
        body = [
            f"%a{index} = graph.tanh %u{index} : {TILE}",
            f"%b{index} = graph.add %a{index}, %u{index} : ({TILE}, {TILE}) -> {TILE}",
            f"%c{index} = graph.relu %b{index} : {TILE}",
            f"%v{index} = graph.mul %c{index}, %u{index} : ({TILE}, {TILE}) -> {TILE}",
        ]
        source = f"%y{index - 1}" if index else "%x"
        lines += _loop(source, index, "0", "64", body)
    return _build_function(lines, f"%y{count - 1}")


def shared_operands(operations: int) -> Program:
    """Return loops that all use the same bounds, constants and weights."""
    count = max(1, operations // 7)
    weights = "tensor<16x64xf32>"
    numbers = ", ".join(f"{column}.5" for column in range(64))
    lines = [
        "%low = arith.constant 0 : index",
        "%high = arith.constant 64 : index",
        f"%one = graph.constant dense<1.5> : tensor<16x64xf32> -> {TILE}",
        f"%k = graph.constant dense<[{', '.join([f'[{numbers}]'] * 16)}]> : {weights}",
        f"%near = tile.slice %k[0, 0] : {weights} -> {TILE}",
    ]
    for index in range(count):
        body = [
            f"%a{index} = graph.add %u{index}, %one : ({TILE}, {TILE}) -> {TILE}",
            f"%v{index} = graph.mul %a{index}, %near : ({TILE}, {TILE}) -> {TILE}",
        ]
        source = f"%y{index - 1}" if index else "%x"
        lines += _loop(source, index, "%low", "%high", body)
    return _build_function(lines, f"%y{count - 1}")


def body(operations: int) -> Program:
    """Return one loop over tiles whose long body is a chain of operations."""
    steps: list[str] = []
    last, count = "%u0", max(1, (operations - 6) // 3)
    for index in range(count):
        steps += [
            f"%s{index} = tile.slice %w[%i0, {index}] : {MATRIX} -> {TILE}",
            f"%t{index} = graph.tanh {last} : {TILE}",
            f"%p{index} = graph.add %t{index}, %s{index} : ({TILE}, {TILE}) -> {TILE}",
        ]
        last = f"%p{index}"
    steps[-1] = steps[-1].replace(f"%p{count - 1} =", "%v0 =")
    return _build_function(_loop("%x", 0, "0", "64", steps), "%y0")


PROGRAMS: Mapping[str, Callable[[int], Program]] = {
    "chain": chain,
    "layers": layers,
    "scales": scales,
    "wide": wide,
    "loops": loops,
    "shared": shared_operands,
    "body": body,
}
"""Generators by name; the argument is the approximate number of operations."""

GRAPH = frozenset({"chain", "layers", "scales", "wide"})
"""Names of the programs on whole tensors."""
