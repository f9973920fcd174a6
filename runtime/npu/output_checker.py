"""Simulator: check that output bytes are written exactly once and never read."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tlf.runtime.npu.byte_footprint import Footprint
from tlf.runtime.npu.npu_errors import Fault
from tlf.runtime.npu.npu_program import Buffer, Program


@dataclass
class _OutputWriters:
    buffer: Buffer
    writer_instructions: npt.NDArray[np.int32]
    """Number of the instruction that wrote each granule; 0 if none did."""
    is_input: npt.NDArray[np.bool_]
    """
    True for each granule that may be read, because it is also an input or a constant.
    """


class OutputChecker:
    """Checker that bytes of outputs are written at most once and are not read."""

    def __init__(self, program: Program) -> None:
        self._granule = program.granule
        self._writers = [
            self._track_output_buffer(buffer, program)
            for buffer in program.outputs.values()
            if buffer.nbytes
        ]

    def _track_output_buffer(self, buffer: Buffer, program: Program) -> _OutputWriters:
        """Return the state of an unwritten output, with overlaps by inputs marked."""
        count = buffer.nbytes // self._granule
        is_input = np.zeros(count, np.bool_)
        for other in (*program.inputs.values(), *program.constants.values()):
            if other.level == buffer.level:
                low = (other.address - buffer.address) // self._granule
                high = low + other.nbytes // self._granule
                is_input[max(low, 0) : max(high, 0)] = True
        return _OutputWriters(buffer, np.zeros(count, np.int32), is_input)

    def record_output_write(
        self, level: str, base: int, footprint: Footprint, instruction: int
    ) -> None:
        """Record a write by instruction `instruction`; faults on a second write."""
        for writers, granules in self._find_overlapped_outputs(level, base, footprint):
            earlier = writers.writer_instructions[granules]
            if earlier.any():
                first = int(earlier.argmax())
                address = writers.buffer.address + int(granules[first]) * self._granule
                raise Fault(
                    f"{level}[{address}] of output `{writers.buffer.name}` is written "
                    "twice",
                    address,
                    int(earlier[first]),
                )
            writers.writer_instructions[granules] = instruction

    def check_output_is_unread(
        self, level: str, base: int, footprint: Footprint
    ) -> None:
        """
        Raise `Fault` if a read touches output bytes that are not input or constant
        bytes too.
        """
        for writers, granules in self._find_overlapped_outputs(level, base, footprint):
            allowed = writers.is_input[granules]
            if not allowed.all():
                first = int(granules[int(allowed.argmin())])
                address = writers.buffer.address + first * self._granule
                raise Fault(
                    f"{level}[{address}] of output `{writers.buffer.name}` is read",
                    address,
                )

    def _find_overlapped_outputs(
        self, level: str, base: int, footprint: Footprint
    ) -> list[tuple[_OutputWriters, npt.NDArray[np.int64]]]:
        """Return the outputs that an access overlaps, with the granules of each."""
        overlaps: list[tuple[_OutputWriters, npt.NDArray[np.int64]]] = []
        low, high = base + footprint.low, base + footprint.high
        for writers in self._writers:
            buffer = writers.buffer
            end = buffer.address + buffer.nbytes
            if buffer.level != level or high <= buffer.address or end <= low:
                continue
            granules = np.zeros(1, np.int64) + (low - buffer.address) // self._granule
            for extent, stride in zip(footprint.shape, footprint.strides, strict=True):
                steps = np.arange(extent, dtype=np.int64) * stride
                granules = np.add.outer(granules, steps).reshape(-1)
            inside = (granules >= 0) & (granules < len(writers.writer_instructions))
            overlaps.append((writers, granules[inside]))
        return overlaps
