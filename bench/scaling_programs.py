"""Generate programs of any number of operations, to see how compile time grows."""

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
    """A function as text, and how many operations it has."""

    text: str
    operations: int


def _build_function(lines: list[str], result: str) -> Program:
    """A function of a body of one operation, or the end of a region, per line."""
    body = "\n".join(f"  {line}" for line in lines)
    text = (
        f"func.func @f({ARGUMENTS}) -> {MATRIX} {{\n{body}\n"
        f"  func.return {result} : {MATRIX}\n}}\n"
    )
    return Program(text, sum(line != "}" for line in lines) + 1)


def _take(lines: Iterator[str], count: int) -> list[str]:
    return list(islice(lines, count))


def chain(operations: int) -> Program:
    """Elementwise operations in one line, each using the one before."""

    def lines() -> Iterator[str]:
        last = "%x"
        for number in range(operations):
            kind = number % 4
            if kind == 3:
                yield f"%{number} = graph.tanh {last} : {MATRIX}"
            else:
                name, operand, type_ = (
                    ("add", "%b", "tensor<64xf32>"),
                    ("mul", "%r", "tensor<1x64xf32>"),
                    ("sub", "%c", "tensor<64x1xf32>"),
                )[kind]
                yield (
                    f"%{number} = graph.{name} {last}, {operand} : "
                    f"({MATRIX}, {type_}) -> {MATRIX}"
                )
            last = f"%{number}"

    return _build_function(_take(lines(), operations), f"%{operations - 1}")


def _layer(source: str, number: int) -> list[str]:
    """A matrix product with its bias and an activation."""
    return [
        f"%m{number} = graph.matmul {source}, %w : ({MATRIX}, {MATRIX}) -> {MATRIX}",
        f"%a{number} = graph.add %m{number}, %b : ({MATRIX}, tensor<64xf32>) -> "
        f"{MATRIX}",
        f"%t{number} = graph.tanh %a{number} : {MATRIX}",
        f"%y{number} = graph.mul %t{number}, %r : ({MATRIX}, tensor<1x64xf32>) -> "
        f"{MATRIX}",
    ]


def layers(operations: int) -> Program:
    """Matrix products with elementwise tails, one layer after the other."""
    count = max(1, operations // 4)
    lines = [
        line
        for number in range(count)
        for line in _layer(f"%y{number - 1}" if number else "%x", number)
    ]
    return _build_function(lines, f"%y{count - 1}")


def wide(operations: int) -> Program:
    """Layers beside each other, each on an input of its own, and their sum."""
    count = max(1, operations // 6)
    lines: list[str] = []
    for number in range(count):
        value = f"dense<{number + 1}.0> : {MATRIX}"
        lines.append(f"%k{number} = graph.constant {value}")
        lines.append(
            f"%s{number} = graph.add %x, %k{number} : ({MATRIX}, {MATRIX}) -> {MATRIX}"
        )
        lines += _layer(f"%s{number}", number)
    terms = [f"%y{number}" for number in range(count)]
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
    """A parallel loop over strips; `body` makes `%v{number}` of `%u{number}`."""
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
    """Loops over tiles with a body, each reading what the one before wrote."""
    count = max(1, operations // 9)
    lines: list[str] = []
    for number in range(count):
        body = [
            f"%a{number} = graph.tanh %u{number} : {TILE}",
            f"%b{number} = graph.add %a{number}, %u{number} : ({TILE}, {TILE}) -> "
            f"{TILE}",
            f"%c{number} = graph.relu %b{number} : {TILE}",
            f"%v{number} = graph.mul %c{number}, %u{number} : ({TILE}, {TILE}) -> "
            f"{TILE}",
        ]
        source = f"%y{number - 1}" if number else "%x"
        lines += _loop(source, number, "0", "64", body)
    return _build_function(lines, f"%y{count - 1}")


def shared_operands(operations: int) -> Program:
    """Loops that all use the same bounds and constants, and the same weights."""
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
    for number in range(count):
        body = [
            f"%a{number} = graph.add %u{number}, %one : ({TILE}, {TILE}) -> {TILE}",
            f"%v{number} = graph.mul %a{number}, %near : ({TILE}, {TILE}) -> {TILE}",
        ]
        source = f"%y{number - 1}" if number else "%x"
        lines += _loop(source, number, "%low", "%high", body)
    return _build_function(lines, f"%y{count - 1}")


def body(operations: int) -> Program:
    """One loop over tiles with a long body, each operation using the one before."""
    steps: list[str] = []
    last, count = "%u0", max(1, (operations - 6) // 3)
    for number in range(count):
        steps += [
            f"%s{number} = tile.slice %w[%i0, {number}] : {MATRIX} -> {TILE}",
            f"%t{number} = graph.tanh {last} : {TILE}",
            f"%p{number} = graph.add %t{number}, %s{number} : ({TILE}, {TILE}) -> "
            f"{TILE}",
        ]
        last = f"%p{number}"
    steps[-1] = steps[-1].replace(f"%p{count - 1} =", "%v0 =")
    return _build_function(_loop("%x", 0, "0", "64", steps), "%y0")


PROGRAMS: Mapping[str, Callable[[int], Program]] = {
    "chain": chain,
    "layers": layers,
    "wide": wide,
    "loops": loops,
    "shared": shared_operands,
    "body": body,
}
"""By name, what makes a program of about so many operations."""

GRAPH = frozenset({"chain", "layers", "wide"})
"""The programs of whole tensors."""
