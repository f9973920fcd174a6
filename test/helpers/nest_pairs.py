"""
Pairs of loop nests that share a tensor, with fusion legality checked by elements.

The check is independent of the analyses of the compiler.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Literal, TypeAlias

Kind: TypeAlias = Literal["parallel", "sequential"]
Sharing: TypeAlias = Literal["RAW", "WAR", "WAW", "RAR"]
Point: TypeAlias = tuple[int, ...]


@dataclass(frozen=True)
class Moved:
    """
    Box whose start is affine in the loop variables.

    Along an axis it starts at `factor * variable + summand`, with the variable of the
    loop in `loops`.
    """

    loops: tuple[int, ...]
    factors: tuple[int, ...]
    summands: tuple[int, ...]
    extents: tuple[int, ...]

    def starts(self, point: Point) -> Point:
        """Return the start of the box in an iteration."""
        axes = zip(self.loops, self.factors, self.summands, strict=True)
        return tuple(factor * point[loop] + plus for loop, factor, plus in axes)

    def elements(self, point: Point, shape: Sequence[int]) -> frozenset[Point]:
        """Return the elements of a tensor in the box."""
        ranges = (
            range(max(0, start), min(bound, start + extent))
            for start, extent, bound in zip(
                self.starts(point), self.extents, shape, strict=True
            )
        )
        return frozenset(product(*ranges))

    def offsets(self, prefix: str) -> tuple[list[str], str]:
        """
        Return the operations that compute the start of the box, and the list of
        offsets.
        """
        lines: list[str] = []
        names: list[str] = []
        axes = zip(self.loops, self.factors, self.summands, strict=True)
        for axis, (loop, factor, plus) in enumerate(axes):
            name = f"%{prefix}{axis}"
            map_ = f"affine_map<(d0) -> (d0 * {factor} + {plus})>"
            lines.append(f"{name} = affine.apply {map_}(%i{loop})")
            names.append(name)
        return lines, ", ".join(names)


@dataclass(frozen=True)
class Nest:
    """Bounds and steps of loops, and boxes in the shared tensor and in another one."""

    loops: tuple[tuple[int, int, int], ...]
    shared: Moved
    other: Moved

    def points(self) -> Iterator[Point]:
        """Yield the induction variables of all iterations, in order."""
        yield from product(*(range(*loop) for loop in self.loops))


@dataclass(frozen=True)
class NestPair:
    """
    Two nests of one kind that share a tensor.

    RAW: the first writes the tensor, and the second reads it. WAR: the first reads it,
    and the second overwrites it in place. WAW: the second updates the result of the
    first. RAR: both read an argument.
    """

    kind: Kind
    sharing: Sharing
    shape: tuple[int, ...]
    first: Nest
    second: Nest

    def preventing(self) -> bool:
        """
        Return `True` if fusion would reverse a dependence or carry it in parallel
        loops.
        """
        if self.sharing == "RAR":
            return False
        pairs = product(enumerate(self.first.points()), enumerate(self.second.points()))
        return any(
            (one > other or (one != other and self.kind == "parallel"))
            and not self.first.shared.elements(first_point, self.shape).isdisjoint(
                self.second.shared.elements(second_point, self.shape)
            )
            for (one, first_point), (other, second_point) in pairs
        )

    def is_valid(self) -> bool:
        """Return `True` if parallel iterations of each nest write disjoint elements."""
        if self.kind == "sequential":
            return True
        return all(
            left.isdisjoint(right)
            for nest, boxes in self._written()
            for right, left in _pairs(
                [boxes.elements(point, self.shape) for point in nest.points()]
            )
        )

    def _written(self) -> Iterator[tuple[Nest, Moved]]:
        if self.sharing in ("RAW", "WAW"):
            yield self.first, self.first.shared
        if self.sharing in ("WAR", "WAW"):
            yield self.second, self.second.shared
        yield self.first, self.first.other
        yield self.second, self.second.other

    def text(self) -> str:
        """Return the program, with two arguments and two results."""
        type_ = _type(self.shape)
        lines = [
            f"func.func @f(%x: {type_}, %d: {type_}) -> ({type_}, {type_}) {{",
            f"%e = tile.empty : {type_}",
            f"%z = tile.fill 0.0 : f32 : {type_}",
            f"%y = tile.fill 1.0 : f32 : {type_}",
            *self._first(),
            *self._second(),
        ]
        first = {"RAW": "%z", "WAW": "%d"}.get(self.sharing, "%a")
        return "\n".join((*lines, f"func.return {first}, %b : {type_}, {type_}", "}"))

    def _first(self) -> list[str]:
        nest = self.first
        match self.sharing:
            case "RAW":
                return self._nest("a", nest, "%z", ("%x", nest.other), nest.shared)
            case "WAW":
                return self._nest("a", nest, "%d", ("%x", nest.other), nest.shared)
            case "WAR":
                return self._nest("a", nest, "%z", ("%d", nest.shared), nest.other)
            case "RAR":
                return self._nest("a", nest, "%z", ("%x", nest.shared), nest.other)

    def _second(self) -> list[str]:
        nest = self.second
        match self.sharing:
            case "RAW":
                return self._nest("b", nest, "%y", ("%a", nest.shared), nest.other)
            case "WAW":
                return self._nest("b", nest, "%a", ("%x", nest.other), nest.shared)
            case "WAR":
                return self._nest("b", nest, "%d", ("%x", nest.other), nest.shared)
            case "RAR":
                return self._nest("b", nest, "%y", ("%x", nest.shared), nest.other)

    def _nest(
        self, name: str, nest: Nest, init: str, source: tuple[str, Moved], into: Moved
    ) -> list[str]:
        """
        Return a nest that slices a tile, computes with it, and inserts the result.
        """
        tensor_type = _type(self.shape)
        loops = ", ".join(
            f"%i{index} = {lower} to {upper} step {step}"
            for index, (lower, upper, step) in enumerate(nest.loops)
        )
        keyword = "into" if self.kind == "parallel" else "carry"
        value, boxes = source
        reads, read = boxes.offsets("r")
        writes, write = into.offsets("w")
        tile = _type(boxes.extents, "L1")
        function = "exp" if name == "a" else "tanh"
        return [
            f"%{name} = tile.while ({loops}) {self.kind} mapping(loop) "
            f"{keyword}(%o = {init} : {tensor_type}) {{",
            *reads,
            *writes,
            f"%t = tile.slice {value}[{read}] fill 0.5 : f32 : {tensor_type} -> {tile}",
            f"%u = graph.{function} %t : {tile}",
            f"%n = tile.deslice %u into %o[{write}] : {tile} into {tensor_type}",
            f"tile.yield %n : {tensor_type}",
            "}",
        ]


def _type(shape: Sequence[int], level: str = "") -> str:
    extents = "x".join(str(extent) for extent in shape)
    return f"tensor<{extents}xf32{f', #tile.encoding<{level}>' if level else ''}>"


def _pairs(
    sets: Sequence[frozenset[Point]],
) -> Iterator[tuple[frozenset[Point], frozenset[Point]]]:
    for position, each in enumerate(sets):
        for other in sets[:position]:
            yield each, other


def random_pair(generator: random.Random, kind: Kind, sharing: Sharing) -> NestPair:
    """Return a random pair of valid nests with equal trip counts."""
    while True:
        pair = _random_pair(generator, kind, sharing)
        if pair.is_valid():
            return pair


def _random_pair(generator: random.Random, kind: Kind, sharing: Sharing) -> NestPair:
    rank = generator.choice([1, 1, 2])
    trips = [generator.randint(1, 4) for _ in range(rank)]
    extents = tuple(generator.randint(1, 3) for _ in range(rank))
    shape = tuple(generator.randint(3, 12) for _ in range(rank))
    first, second = (_nest(generator, trips, extents) for _ in range(2))
    if generator.random() < 0.4:
        second = Nest(first.loops, first.shared, second.other)
    return NestPair(kind, sharing, shape, first, second)


def _nest(
    generator: random.Random, trips: Sequence[int], extents: tuple[int, ...]
) -> Nest:
    loops: list[tuple[int, int, int]] = []
    for count in trips:
        step, lower = generator.choice([1, 2, 3]), generator.choice([0, 0, 1])
        last = lower + step * (count - 1)
        loops.append((lower, last + generator.randint(1, step), step))
    steps = [step for _, _, step in loops]
    shared = _moved(generator, steps, extents, True)
    return Nest(tuple(loops), shared, _moved(generator, steps, extents, False))


def _moved(
    generator: random.Random,
    steps: Sequence[int],
    extents: tuple[int, ...],
    is_free: bool,
) -> Moved:
    """
    Return boxes that mostly follow the loops, so that iterations write disjoint
    elements.
    """
    rank = len(steps)
    loops = list(range(rank))
    factors = [-(-extents[n] // steps[n]) for n in range(rank)]
    if is_free:
        generator.shuffle(loops)
        factors = [generator.choice([factor, 1, 2, 0, -1]) for factor in factors]
    summands = tuple(generator.choice([0, 0, 1, 2, -1, -2, 5]) for _ in range(rank))
    return Moved(tuple(loops), tuple(factors), summands, extents)
