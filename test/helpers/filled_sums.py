"""Random programs of `mem` with buffers that are filled and accumulated into."""

import random
from dataclasses import dataclass, field

SHAPES = {"a": (3, 5), "b": (5, 4), "s": (3, 4, 2)}
"""Shapes of the inputs: the factors of products, and the operand of reductions."""
OUT = (3, 4)
"""Shape of the accumulators."""
COUNT = 3
COMBINES = {
    "f": ("addf", "maximumf", "minimumf"),
    "i": ("addi", "maxsi", "minsi", "muli"),
}
NEUTRAL = {
    "f": ("0.0", "-inf", "inf", "-0.0", "2.0"),
    "i": ("0", "1", "-2147483648", "2147483647"),
}


@dataclass
class SumWriter:
    """Writer of the text of one program; every buffer is filled first."""

    seed: int
    element: str
    """Element type of the inputs."""
    total: str
    """Element type of the accumulators."""
    lines: list[str] = field(default_factory=list[str])
    names: int = 0

    def __post_init__(self) -> None:
        self.random = random.Random(self.seed)
        self.kind = "i" if self.total.startswith("i") else "f"

    def program(self) -> str:
        """
        Return `main` with inputs in L3, which writes every accumulator to an output.
        """
        inputs = [
            f"%{name}3: {_type(shape, self.element, 'L3')}"
            for name, shape in SHAPES.items()
        ]
        outputs = [f"%y{n}: {self.type('L3')}" for n in range(COUNT)]
        self.lines.append(
            f"func.func @main({', '.join(inputs + outputs)}) attributes "
            f"{{tlf.results = {COUNT} : i64}} {{"
        )
        for index in range(-2, 6):
            name = str(index).replace("-", "m")
            self.lines.append(f"%c{name} = arith.constant {index} : index")
        for name, shape in SHAPES.items():
            self._bring(name, shape)
        for index in range(COUNT):
            self.lines.append(f"%t{index} = mem.alloc : {self.type('L1')}")
            self._fill(index)
        self._block(0, 7)
        for index in range(COUNT):
            self._move_out(index)
        self.lines += ["func.return", "}"]
        return "\n".join(self.lines)

    def type(self, level: str) -> str:
        return _type(OUT, self.total, level)

    def _bring(self, name: str, shape: tuple[int, ...]) -> None:
        for number in (2, 1):
            type_ = _type(shape, self.element, f"L{number}")
            self.lines.append(f"%{name}{number} = mem.alloc : {type_}")
            source = f"%{name}{number + 1}", f"L{number + 1}"
            self._move(source, (f"%{name}{number}", f"L{number}"), shape, self.element)

    def _move_out(self, number: int) -> None:
        self.names += 1
        outer = f"%f{self.names}"
        self.lines.append(f"{outer} = mem.alloc : {self.type('L2')}")
        self._move((f"%t{number}", "L1"), (outer, "L2"), OUT, self.total)
        self._move((outer, "L2"), (f"%y{number}", "L3"), OUT, self.total)

    def _move(
        self,
        source: tuple[str, str],
        destination: tuple[str, str],
        shape: tuple[int, ...],
        element: str,
    ) -> None:
        self.names += 1
        zeros = ", ".join("0" for _ in shape)
        types = [_type(shape, element, each[1]) for each in (source, destination)]
        self.lines += [
            f"%w{self.names} = mem.dma {source[0]}[{zeros}] to {destination[0]}"
            f"[{zeros}] size {list(shape)} : {types[0]} to {types[1]}",
            f"mem.wait %w{self.names}",
        ]

    def _block(self, depth: int, size: int) -> None:
        for _ in range(size):
            number = self.random.randrange(COUNT)
            match self.random.randrange(12):
                case 0:
                    self._fill(number)
                case 1 | 2:
                    self._sum(number, depth)
                case 3 | 4:
                    self._contract(number)
                case 5 | 6:
                    self._reduce(number)
                case 7:
                    self._mask(number)
                case 8:
                    self._copy(number, self.random.randrange(COUNT))
                case _ if depth < 3:
                    self._loop(depth)
                case _:
                    pass

    def _loop(self, depth: int) -> None:
        lower, upper = self.random.choice(
            [(0, 3), (0, 2), (1, 5), (-2, 2), (0, 1), (0, 0), (3, 1)]
        )
        low, high = (str(each).replace("-", "m") for each in (lower, upper))
        step = self.random.randrange(1, 3)
        if self.random.random() < 0.5:
            self._fill(self.random.randrange(COUNT))
        self.lines.append(f"scf.for %i{depth} = %c{low} to %c{high} step %c{step} {{")
        self._block(depth + 1, self.random.randrange(1, 4))
        self.lines.append("}")

    def _sum(self, number: int, depth: int) -> None:
        """Write a fill directly followed by accumulation in loops; mostly removable."""
        zero = NEUTRAL[self.kind][0]
        self.lines.append(f"mem.fill {zero} into %t{number} : {self.type('L1')}")
        loops = self.random.randrange(3)
        for each in range(depth, depth + loops):
            low, high = self.random.choice([("0", "4"), ("m1", "2"), ("2", "3")])
            self.lines.append(f"scf.for %i{each} = %c{low} to %c{high} step %c2 {{")
        self._contract(number)
        self._block(3, self.random.randrange(2))
        self.lines += ["}"] * loops

    def _fill(self, number: int) -> None:
        value = self.random.choice([*NEUTRAL[self.kind][:1], *NEUTRAL[self.kind]])
        self.lines.append(f"mem.fill {value} into %t{number} : {self.type('L1')}")

    def _contract(self, number: int) -> None:
        a, b = (_type(SHAPES[name], self.element, "L1") for name in "ab")
        self.lines.append(
            f"mem.contract ins(%a1, %b1 : {a}, {b}) outs(%t{number} : "
            f"{self.type('L1')}) domain [3, 4, 5] maps [affine_map<(m, n, k) -> (m, k)>"
            ", affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>]"
        )

    def _reduce(self, number: int) -> None:
        combine = self.random.choice(COMBINES[self.kind])
        cast = "extf" if self.kind == "f" else "extsi"
        widen = f"%w = arith.{cast} %e : {self.element} to {self.total}"
        is_same = self.element == self.total
        self.lines.append(
            f"mem.reduce ins(%s1 : {_type(SHAPES['s'], self.element, 'L1')}) "
            f"outs(%t{number} : {self.type('L1')}) domain [3, 4, 2] "
            "maps [affine_map<(m, n, k) -> (m, n, k)>, "
            f"affine_map<(m, n, k) -> (m, n)>] {{\n^bb0(%e: {self.element}, "
            f"%x: {self.total}):\n{'' if is_same else widen}\n"
            f"%z = arith.{combine} {'%e' if is_same else '%w'}, %x : {self.total}\n"
            f"mem.yield %z : {self.total}\n}}"
        )

    def _mask(self, number: int) -> None:
        offset = self.random.randrange(3)
        fill = "2" if self.kind == "i" else "2.0"
        self.lines.append(
            f"mem.mask %t{number} at [{offset}, 0] bounds [3, 3] fill {fill} : "
            f"{self.type('L1')}"
        )

    def _copy(self, source: int, destination: int) -> None:
        if source == destination:
            return
        self.lines.append(
            f"mem.map ins(%t{source} : {self.type('L1')}) "
            f"outs(%t{destination} : {self.type('L1')}) domain [3, 4] "
            "maps [affine_map<(m, n) -> (m, n)>, affine_map<(m, n) -> (m, n)>] {\n"
            f"^bb0(%e: {self.total}):\nmem.yield %e : {self.total}\n}}"
        )


def _type(shape: tuple[int, ...], element: str, level: str) -> str:
    return f'memref<{"x".join(map(str, shape))}x{element}, "{level}">'
