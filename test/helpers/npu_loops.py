"""Random programs of the NPU with nested loops, for timing without execution."""

import random
from collections.abc import Iterator
from dataclasses import dataclass, field

ENGINES = ("matrix", "vector", "dma_l3_l2", "dma_l2_l3", "dma_l2_l1", "dma_l1_l2")
MOVES = {
    "dma_l3_l2": ("L3", "L2"),
    "dma_l2_l3": ("L2", "L3"),
    "dma_l2_l1": ("L2", "L1"),
    "dma_l1_l2": ("L1", "L2"),
}
_OPERATIONS = ("add", "sub", "mul", "min", "max", "div", "rem")
SIGNALS = 6
"""Number of signals of every semaphore before the loops."""


@dataclass
class LoopWriter:
    """Writer of the code of one program."""

    random: random.Random
    cores: bool = False
    """True if some of the code is in `cores`."""
    registers: list[str] = field(default_factory=list[str])
    count: int = 0
    _core: str | None = None
    """Register with the index of the core inside `cores`, else `None`."""

    def code(self) -> str:
        """Return the code between `.code` and `halt`."""
        lines = [
            f"signal {self.random.choice(ENGINES)} s{semaphore}"
            for semaphore in range(8)
            for _ in range(SIGNALS)
        ]
        for _ in range(self.random.randrange(1, 4)):
            lines += self._cores(0) if self._may_spread() else self._loop(0)
        return "\n".join(lines) + "\n"

    def _may_spread(self) -> bool:
        return self.cores and not self._core and self.random.random() < 0.5

    def _cores(self, depth: int) -> Iterator[str]:
        enclosing = list(self.registers)
        self._core = self._new("c")
        self.registers.append(self._core)
        yield f"cores {self._core} {{"
        for _ in range(self.random.randrange(1, 3)):
            yield from self._loop(depth)
        yield "}"
        self._core = None
        self.registers[:] = enclosing

    def _loop(self, depth: int) -> Iterator[str]:
        enclosing = list(self.registers)
        name = self._new("i")
        step = self.random.randrange(1, 9)
        lower = self.random.choice([0, 0, 3, -5])
        trips = self.random.choice([1, 2, 5, 9, 30] if depth < 2 else [1, 3, 12])
        upper = str(lower + trips * step - self.random.randrange(step))
        if enclosing and self.random.random() < 0.3:
            yield f"{self._new('u')} = min {self.random.choice(enclosing)} {upper}"
            upper = self.registers[-1]
        if self._core and self.random.random() < 0.5:
            lower = self._core
        yield f"loop {name} = {lower} to {upper} step {step} {{"
        self.registers.append(name)
        for _ in range(self.random.randrange(1, 6)):
            if depth < 2 and self.random.random() < 0.3:
                spread = self._may_spread()
                yield from (self._cores if spread else self._loop)(depth + 1)
            else:
                yield from self._step()
        yield "}"
        self.registers[:] = [each for each in self.registers if each in enclosing]

    def _new(self, letter: str) -> str:
        self.count += 1
        if letter not in "ic":
            self.registers.append(f"%{letter}{self.count}")
        return f"%{letter}{self.count}"

    def _step(self) -> Iterator[str]:
        kind = self.random.randrange(5)
        if kind == 0:
            semaphore = f"s{self.random.randrange(8)}"
            engines = self._engines()
            words = [f"signal {self.random.choice(engines)} {semaphore}"]
            words.append(f"wait {self.random.choice(engines)} {semaphore}")
            self.random.shuffle(words)
            yield from words
        elif kind == 1:
            yield from self._scalar()
        elif kind == 2:
            yield from self._move()
        else:
            yield from self._compute()

    def _engines(self) -> list[str]:
        """Return the engines that an instruction may use here."""
        return [each for each in ENGINES if not (self._core and "l3" in each)]

    def _scalar(self) -> Iterator[str]:
        source = self.random.choice(self.registers)
        operation = self.random.choice(_OPERATIONS)
        yield f"{self._new('r')} = {operation} {source} {self.random.randrange(1, 70)}"

    def _size(self) -> Iterator[str]:
        """Append a register with a value between 0 and 40 to `registers`."""
        source = self.random.choice(self.registers)
        yield f"{self._new('n')} = sub {self.random.randrange(60)} {source}"
        yield f"{self._new('n')} = max 0 {self.registers[-2]}"
        limit = self.random.randrange(1, 40)
        yield f"{self._new('n')} = min {limit} {self.registers[-2]}"

    def _move(self) -> Iterator[str]:
        name = self.random.choice([e for e in self._engines() if e in MOVES])
        source, destination = MOVES[name]
        yield from self._size()
        size = self.registers[-1]
        base = f"%b{self.count}"
        self.count += 1
        yield f"{base} = mul {self.random.choice(self.registers)} 4"
        inside = ""
        if self.random.random() < 0.5:
            low, high = (self.random.choice([size, "0", "3"]) for _ in range(2))
            inside = f"inside=(0:2,{low}:{high})"
        row = self.random.choice([28, 64, 256])
        yield (
            f"dma {name} dst={destination}[{base}](256,4) "
            f"src={source}[{base}]({row},4) shape=(3,{size}) type=f32 {inside}"
        )

    def _compute(self) -> Iterator[str]:
        yield from self._size()
        size, tile = self.registers[-1], "L1[0](4,4):f32"
        kind = self.random.randrange(3)
        if kind == 0:
            k = self.random.choice([size, "8"])
            yield (
                f"matmul c={tile} a={tile} b={tile} batch=() m=(5) n=({size}) k=({k}) "
                f"{self._accumulate()}"
            )
        elif kind == 1:
            name = self.random.choice(["exp", "neg"])
            yield f"vector {name} dst={tile} a={tile} shape=(4,{size})"
        else:
            yield (
                f"reduce sum dst=L1[0](4,0):f32 a={tile} shape=(4,{size}) axes=(1) "
                f"{self._accumulate()}"
            )

    def _accumulate(self) -> str:
        condition = self.random.choice([*self.registers, "1"])
        return self.random.choice(["", "accumulate", f"accumulate={condition}"])
