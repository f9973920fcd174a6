"""
Compilation of Triton kernels: statistics of their PTX, such as accesses, products and
spills.
"""

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

_ACCESS = re.compile(
    r"\b(?P<what>ld|st)\.global(?:\.[\w:]+)*?(?:\.v(?P<count>\d))?\.[bfsu](?P<bits>\d+)"
)

_COPY = re.compile(r"\bcp\.async\.c[ag]\.shared\.global [^;]*?, 0x(?P<bytes>[\da-f]+)")

_NARROW_EXTREMA = re.compile(r"\b(?:max|min)(?:\.ftz)?(?:\.NaN)?\.b?f16(?:x2)?\b")

_REGISTERS = re.compile(r"Used (\d+) registers")

_SPILLS = re.compile(r"(\d+) bytes spill stores, (\d+) bytes spill loads")


@dataclass(frozen=True)
class PtxStatistics:
    """
    Counts of instructions in PTX, and register use reported by the assembler.

    `loads` and `stores` map the width in bits of accesses of a thread to global memory
    to the number of instructions; asynchronous copies to shared memory are loads.
    """

    registers: int
    spilled_bytes: int
    wgmma: int
    mma: int
    loads: Mapping[int, int]
    stores: Mapping[int, int]
    is_serialised: bool
    """True if the assembler serializes asynchronous matrix products."""
    narrow_extrema: int
    """Minima and maxima in 16 bits."""


def read_ptx_statistics(ptx: str, log: str) -> PtxStatistics:
    """
    Return the statistics of one kernel from its PTX text and its `ptxas -v` log text.

    Raises `ValueError` if the log does not report registers.
    """
    registers, spills = _REGISTERS.search(log), _SPILLS.search(log)
    if registers is None or spills is None:
        raise ValueError(f"expected a report on registers, got {log.strip()!r}")
    accesses: dict[str, list[int]] = {"ld": [], "st": []}
    for found in _ACCESS.finditer(ptx):
        bits = int(found["count"] or 1) * int(found["bits"])
        accesses[found["what"]].append(bits)
    accesses["ld"] += [8 * int(found["bytes"], 16) for found in _COPY.finditer(ptx)]
    return PtxStatistics(
        int(registers[1]),
        int(spills[1]) + int(spills[2]),
        len(re.findall(r"\bwgmma\.mma_async\b", ptx)),
        len(re.findall(r"\bmma\.sync\b", ptx)),
        _count_accesses_by_width(accesses["ld"]),
        _count_accesses_by_width(accesses["st"]),
        "are serialized" in log,
        len(_NARROW_EXTREMA.findall(ptx)),
    )


def _count_accesses_by_width(values: Iterable[int]) -> dict[int, int]:
    return dict(sorted(Counter(values).items(), reverse=True))
