"""What the programs of a kernel read and write of one tensor."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import gcd, prod

from xdsl.ir import SSAValue

from tlf.dialects.access import Access, Box, region
from tlf.dialects.tile import layout_of
from tlf.dialects.types import dtype_of, tensor_type
from tlf.machine.bursts import bus_bytes
from tlf.passes.cost.phases import phases
from tlf.passes.cost.traffic import covered_extent
from tlf.passes.tiling.boxes import covering_all, moves_with
from tlf.passes.tiling.model import GroupTiling, Loop, TiledOperation, elements

VECTOR = 16
"""The most bytes that a thread loads or stores at once."""

ADDRESSES = 2
"""Steps of a lane for the address and the mask of one access."""


@dataclass(frozen=True)
class Traffic:
    """What all programs together move of one tile, in bytes."""

    payload: float
    bus: float
    """In whole sectors."""
    unique: float
    """What one program moves, what it repeats counted once."""
    touched: float
    """What all programs move, what they repeat counted once."""
    loops: frozenset[Loop]
    """Loops over programs that move the tile."""
    accesses: float
    """How often threads load or store."""
    steps: float
    """Steps of lanes for addresses."""
    is_read: bool = True


@dataclass
class Accesses:
    """Finds the traffic of the tiles of a group."""

    tiling: GroupTiling
    sector: int
    threads: int = 1
    """Of a program."""

    def __post_init__(self) -> None:
        self.outer = tuple(self.tiling.loops.values())
        self.inner = tuple(self.tiling.inner_loops.values())
        self.programs = prod(loop.trips for loop in self.outer)

    def box(
        self, value: SSAValue, box: Box, *, inner: bool = False, is_read: bool = True
    ) -> Traffic:
        """
        A tile that is cut from a tensor, or put into one, in every iteration of the
        reduction if it is `inner`, else once in every program.
        """
        tensor = _Tensor.of(value)
        payload = self._payload(box, tensor.shape, inner) * tensor.item
        width = self.width(value, box)
        return self._traffic(
            tensor,
            box,
            payload,
            payload * tensor.sectors(box, self.sector),
            payload / width,
            ADDRESSES * payload / width,
            is_read,
        )

    def gathered(self, tiled: TiledOperation, *, inner: bool) -> Traffic:
        """A tile of a movement's result, found element by element in its operand."""
        tensor = _Tensor.of(tiled.op.operands[0])
        result = _Tensor.of(tiled.op.results[0])
        accesses = tiled.form.operands[0] or ()
        payload = self._payload(tiled.result, result.shape, inner) * tensor.item
        run = _run(accesses, tiled.box, tensor)
        is_whole = run % self.sector == 0 and _is_plain(accesses)
        extra = 0 if is_whole else self.sector - tensor.item
        width = self.gathered_width(tiled)
        terms = sum(1 + len(access.terms) for access in accesses)
        # Every element has an address of its own.
        return self._traffic(
            tensor,
            region(accesses, tiled.box),
            payload,
            payload * (run + extra) / run,
            payload / width,
            terms * payload / tensor.item,
            is_read=True,
        )

    def width(self, value: SSAValue, box: Box) -> int:
        """The bytes that a thread moves at once of a tile that is cut from a tensor."""
        tensor = _Tensor.of(value)
        return self._shared_out(tensor.width(box), box, tensor.item)

    def gathered_width(self, tiled: TiledOperation) -> int:
        """The bytes that a thread loads at once of a movement's operand."""
        tensor = _Tensor.of(tiled.op.operands[0])
        accesses = tiled.form.operands[0] or ()
        if not _is_plain(accesses):
            return tensor.item
        width = gcd(_run(accesses, tiled.box, tensor), VECTOR)
        return self._shared_out(width, tiled.result, tensor.item)

    def _shared_out(self, width: int, box: Box, item: int) -> int:
        """A width, if every thread is to have a part of a tile."""
        each = max(1, elements(box) // self.threads) * item
        return max(item, min(width, each))

    def _traffic(
        self,
        tensor: _Tensor,
        box: Box,
        payload: float,
        bus: float,
        accesses: float,
        steps: float,
        is_read: bool,
    ) -> Traffic:
        once = tensor.bytes(covering_all(box, self.inner))
        touched = tensor.bytes(covering_all(box, (*self.outer, *self.inner)))
        moving = frozenset(loop for loop in self.outer if moves_with(box, (loop,)))
        each = payload / self.programs
        return Traffic(
            payload=payload,
            bus=bus,
            unique=min(once, each),
            touched=min(touched, payload),
            loops=moving,
            accesses=accesses,
            steps=steps,
            is_read=is_read,
        )

    def _payload(self, box: Box, shape: Sequence[int], inner: bool) -> float:
        """The elements of a box within a tensor, over all iterations that move it."""
        within = (*self.outer, *self.inner) if inner else self.outer
        covered = prod(
            covered_extent(interval, extent)
            for interval, extent in zip(box, shape, strict=True)
        )
        times = prod(loop.trips for loop in within if not moves_with(box, (loop,)))
        return float(covered * times)


@dataclass(frozen=True)
class _Tensor:
    """A tensor in memory: sizes in elements, strides in bytes."""

    shape: tuple[int, ...]
    axes: tuple[int, ...]
    """Its axes as they lie in memory, the last one contiguous."""
    strides: tuple[int, ...]
    item: int

    @staticmethod
    def of(value: SSAValue) -> _Tensor:
        type_ = tensor_type(value)
        shape = type_.get_shape()
        axes = tuple(layout_of(type_)) or tuple(range(len(shape)))
        item = dtype_of(type_.element_type).itemsize
        strides, size = dict[int, int](), item
        for axis in reversed(axes):
            strides[axis] = size
            size *= shape[axis]
        along = tuple(strides[axis] for axis in range(len(shape)))
        return _Tensor(shape, axes, along, item)

    def bytes(self, box: Box) -> float:
        """What there is of a box that no loop moves."""
        inside = (
            max(0, min(each.offset.constant + each.size, n) - max(0, start))
            for each, n in zip(box, self.shape, strict=True)
            for start in (each.offset.constant,)
        )
        return float(prod(inside) * self.item)

    def sectors(self, box: Box, sector: int) -> float:
        """Bytes in whole sectors for each byte of a box."""
        sizes = [min(each.size, n) for each, n in zip(box, self.shape, strict=True)]
        walked = tuple(sizes[axis] for axis in self.axes)
        strides = tuple(self.strides[axis] for axis in self.axes)
        starts = phases(box, self.strides, sector)
        moved = sum(
            bus_bytes(start, walked, strides, self.item, sector) for start in starts
        )
        return moved / (len(starts) * prod(sizes) * self.item)

    def width(self, box: Box) -> int:
        """
        The bytes that a thread moves at once: threads take elements that lie side by
        side, as far as every row of the tile starts at a multiple of them.
        """
        width, run, is_whole = VECTOR, self.item, True
        for axis in reversed(self.axes):
            interval, extent = box[axis], self.shape[axis]
            stride = self.strides[axis]
            width = gcd(width, interval.offset.constant * stride)
            for symbol, factor in interval.offset.terms:
                step = symbol.tile if isinstance(symbol, Loop) else 1
                width = gcd(width, factor * step * stride)
            size = min(interval.size, extent)
            if is_whole and stride == run:
                run, is_whole = run * size, size == extent
            elif size > 1:
                width, is_whole = gcd(width, stride), False
        return max(self.item, gcd(width, run))


def _run(accesses: Sequence[Access], box: Box, tensor: _Tensor) -> int:
    """The bytes side by side that threads find of a gathered tile."""
    if not accesses:
        return tensor.item
    last = accesses[tensor.axes[-1]]
    if last.index is not None:
        return tensor.item
    sizes = [box[iterator].size for iterator, factor in last.terms if factor == 1]
    return tensor.item * max(sizes, default=1)


def _is_plain(accesses: Sequence[Access]) -> bool:
    """Whether every axis is one iterator, so that rows start where tiles do."""
    return all(access.is_plain or not access.terms for access in accesses)
