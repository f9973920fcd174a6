"""
Random programs of buffers, moves, loops and compute: the simulated NPU, which traps
when engines are not ordered, agrees with the reference interpreter.
"""

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
import pytest
from numpy.typing import NDArray

from tlf.runtime.npu import Report

Array = NDArray[np.generic]
Interpret = Callable[[str, Sequence[Array]], None]
Simulate = Callable[[str, Sequence[Array], bool], Report]

SHAPES = ((6, 10), (10, 6), (6, 6), (10, 10))
DTYPES = {"f32": np.float32, "i32": np.int32}


@dataclass(frozen=True)
class Buffer:
    """A buffer of the program that is being written."""

    name: str
    shape: tuple[int, int]
    level: str
    dtype: str

    @property
    def type(self) -> str:
        rows, columns = self.shape
        return f'memref<{rows}x{columns}x{self.dtype}, "{self.level}">'


@dataclass
class Writer:
    """Writes a random program; every buffer is initialised first."""

    seed: int
    dtype: str
    lines: list[str] = field(default_factory=list[str])
    buffers: list[Buffer] = field(default_factory=list[Buffer])
    pending: dict[str, tuple[Buffer, Buffer]] = field(
        default_factory=dict[str, tuple[Buffer, Buffer]]
    )
    names: int = 0

    def __post_init__(self) -> None:
        self.random = random.Random(self.seed)

    def program(self) -> str:
        inputs = [self.buffer("x", "L3", shape) for shape in SHAPES]
        outputs = [self.buffer("y", "L3", shape) for shape in SHAPES]
        arguments = ", ".join(f"%{each.name}: {each.type}" for each in inputs + outputs)
        self.lines.append(
            f"func.func @main({arguments}) attributes "
            f"{{tlf.results = {len(outputs)} : i64}} {{"
        )
        for number in range(11):
            self.lines.append(f"%c{number} = arith.constant {number} : index")
        for level in ("L2", "L1", "L2", "L1", "L3"):
            for shape in SHAPES:
                new = self.buffer("b", level, shape)
                self.lines.append(f"%{new.name} = mem.alloc : {new.type}")
        self.initialise(outputs)
        self.block(depth=0, size=8)
        for output in outputs:
            self.wait_for(output)
            source = next(
                b for b in self.buffers if b.level == "L2" and b.shape == output.shape
            )
            self.move(source, output, whole=True)
        self.wait_all()
        self.lines += ["func.return", "}"]
        return "\n".join(self.lines)

    def buffer(self, stem: str, level: str, shape: tuple[int, int]) -> Buffer:
        self.names += 1
        new = Buffer(f"{stem}{self.names}", shape, level, self.dtype)
        self.buffers.append(new)
        return new

    def initialise(self, outputs: list[Buffer]) -> None:
        near = [each for each in self.buffers if each.level == "L1"]
        for each in near:
            self.lines.append(
                f"mem.fill {self.number()} into %{each.name} : {each.type}"
            )
        for level, source in (("L2", "L1"), ("L3", "L2")):
            for each in self.buffers:
                if each.level == level and not each.name.startswith("x"):
                    self.move(self.pick(source, each.shape), each, whole=True)
            self.wait_all()

    def number(self) -> str:
        value = self.random.randint(-3, 3)
        return f"{value}.0" if self.dtype == "f32" else str(value)

    def pick(self, level: str, shape: tuple[int, int] | None = None) -> Buffer:
        return self.random.choice(
            [
                each
                for each in self.buffers
                if each.level == level and shape in (None, each.shape)
            ]
        )

    def block(self, depth: int, size: int) -> None:
        for _ in range(size):
            kind = self.random.choice(
                [
                    "loop",
                    "in",
                    "near",
                    "map",
                    "map",
                    "contract",
                    "reduce",
                    "back",
                    "out",
                ]
            )
            match kind:
                case "loop" if depth < 2:
                    self.loop(depth)
                case "in":
                    self.move(self.pick("L3"), self.pick("L2"), depth=depth)
                case "near":
                    self.move(self.pick("L2"), self.pick("L1"), depth=depth)
                case "back":
                    self.move(self.pick("L1"), self.pick("L2"), depth=depth)
                case "out":
                    names = [b for b in self.buffers if b.name[0] == "y"]
                    self.move(self.pick("L2"), self.random.choice(names), depth=depth)
                case "map":
                    self.map()
                case "contract":
                    self.contract()
                case "reduce":
                    self.reduce()
                case _:
                    pass

    def loop(self, depth: int) -> None:
        self.wait_all()
        step = self.random.randint(1, 4)
        self.lines.append(
            f"scf.for %i{depth} = %c0 to %c{self.random.randint(0, 8)} step %c{step} {{"
        )
        self.block(depth + 1, self.random.randint(1, 6))
        self.wait_all()
        self.lines.append("}")

    def move(
        self, source: Buffer, destination: Buffer, depth: int = 0, whole: bool = False
    ) -> None:
        if source.name == destination.name:
            return
        self.wait_for(source, writes=False)
        self.wait_for(destination)
        sizes = list(destination.shape)
        offsets = ["0", "0"], ["0", "0"]
        if not whole:
            sizes = [self.random.randint(1, 10) for _ in sizes]
            offsets = self.offsets(depth), self.offsets(depth)
        self.names += 1
        token = f"%t{self.names}"
        self.lines.append(
            f"{token} = mem.dma %{source.name}[{', '.join(offsets[0])}] to "
            f"%{destination.name}[{', '.join(offsets[1])}] size {sizes} "
            f"fill {self.number()} : {source.type} to {destination.type}"
        )
        self.pending[token] = source, destination
        if self.random.random() < 0.3:
            self.wait_all()

    def offsets(self, depth: int) -> list[str]:
        counters = [f"%i{each}" for each in range(depth)]
        constants = ["0", "1", "-1", "3", "-2"]
        return [self.random.choice(constants + counters) for _ in range(2)]

    def wait_for(self, buffer: Buffer, writes: bool = True) -> None:
        for token, (source, destination) in list(self.pending.items()):
            if buffer is destination or (writes and buffer is source):
                del self.pending[token]
                self.lines.append(f"mem.wait {token}")

    def wait_all(self) -> None:
        if self.pending:
            self.lines.append(f"mem.wait {', '.join(self.pending)}")
            self.pending.clear()

    def map(self) -> None:
        out = self.pick("L1")
        inputs = [
            self.pick("L1", out.shape),
            self.pick("L1", (out.shape[1], out.shape[0])),
        ]
        if inputs[1] is out:
            return
        for each in inputs:
            self.wait_for(each, writes=False)
        self.wait_for(out)
        suffix = "f" if self.dtype == "f32" else "i"
        largest = "maximumf" if self.dtype == "f32" else "maxsi"
        half = "0.5" if self.dtype == "f32" else "3"
        operation = self.random.choice(["add" + suffix, "sub" + suffix, largest])
        types = ", ".join(each.type for each in inputs)
        self.lines.append(
            f"mem.map ins({', '.join('%' + each.name for each in inputs)} : {types}) "
            f"outs(%{out.name} : {out.type}) domain {list(out.shape)} maps ["
            "affine_map<(a, b) -> (a, b)>, affine_map<(a, b) -> (b, a)>, "
            "affine_map<(a, b) -> (a, b)>] {\n"
            f"^bb0(%p: {self.dtype}, %q: {self.dtype}):\n"
            f"%h = arith.constant {half} : {self.dtype}\n"
            f"%s = arith.mul{suffix} %q, %h : {self.dtype}\n"
            f"%z = arith.{operation} %p, %s : {self.dtype}\n"
            f"%y = arith.mul{suffix} %z, %h : {self.dtype}\n"
            f"mem.yield %y : {self.dtype}\n}}"
        )

    def contract(self) -> None:
        left = self.pick("L1")
        right = self.pick("L1", (left.shape[1], self.random.choice((6, 10))))
        out = self.pick("L1", (left.shape[0], right.shape[1]))
        if out in (left, right):
            return
        self.wait_for(left, writes=False)
        self.wait_for(right, writes=False)
        self.wait_for(out)
        domain = [*out.shape, left.shape[1]]
        self.lines.append(
            f"mem.contract ins(%{left.name}, %{right.name} : {left.type}, {right.type})"
            f" outs(%{out.name} : {out.type}) domain {domain} maps ["
            "affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, "
            "affine_map<(m, n, k) -> (m, n)>]"
        )

    def reduce(self) -> None:
        source, out = self.pick("L1", (6, 10)), self.pick("L1", (6, 6))
        self.wait_for(source, writes=False)
        self.wait_for(out)
        largest = "maximumf" if self.dtype == "f32" else "maxsi"
        self.lines.append(
            f"mem.reduce ins(%{source.name} : {source.type}) "
            f"outs(%{out.name} : {out.type}) domain [6, 6, 5] maps ["
            "affine_map<(a, b, c) -> (a, b + c)>, affine_map<(a, b, c) -> (b, a)>] {\n"
            f"^bb0(%p: {self.dtype}, %q: {self.dtype}):\n"
            f"%z = arith.{largest} %p, %q : {self.dtype}\n"
            f"mem.yield %z : {self.dtype}\n}}"
        )


@pytest.mark.one_in(3 / 8)
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("seed", range(12))
def test_random_programs(
    seed: int, dtype: str, interpret_mem: Interpret, simulate_mem: Simulate
) -> None:
    text = Writer(seed, dtype).program()
    generator = np.random.default_rng(seed)
    element = DTYPES[dtype]
    inputs = [generator.integers(-4, 4, shape).astype(element) for shape in SHAPES]
    outputs = [np.zeros(shape, element) for shape in SHAPES]
    interpret_mem(text, [*inputs, *outputs])
    report = simulate_mem(text, inputs, bool(seed % 2))
    for expected, got in zip(outputs, report.outputs.values(), strict=True):
        largest = float(np.max(np.abs(expected), initial=1))
        np.testing.assert_allclose(got, expected, rtol=1e-4, atol=1e-4 * largest)
