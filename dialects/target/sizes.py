"""Sizes of memories as people write them, and targets with other ones."""

from __future__ import annotations

import re
from collections.abc import Mapping

from xdsl.utils.exceptions import DiagnosticException

_SIZE = re.compile(r"([0-9]+)(?:([KMGT])(?:iB)?)?")
_UNITS = {unit: 1 << 10 * power for power, unit in enumerate("KMGT", 1)}
_SIZED = re.compile(r"(?P<target>.+?):(?P<sizes>L[0-9]+=[^=,/]*(?:,L[0-9]+=[^=,/]*)*)")


def bytes_of(text: str) -> int:
    """Read a size such as `65536`, `512K` or `16MiB`; the units are powers of 1024."""
    match = _SIZE.fullmatch(text)
    if match is None or int(match[1]) == 0:
        raise DiagnosticException(f"expected a size such as 512K, got `{text}`")
    return int(match[1]) * _UNITS.get(match[2], 1)


def split_sizes(text: str) -> tuple[str, Mapping[str, int]]:
    """Split a target such as `npu:L2=512K` into its name and the capacities it says."""
    match = _SIZED.fullmatch(text)
    if match is None:
        return text, {}
    pairs = (pair.partition("=") for pair in match["sizes"].split(","))
    return match["target"], {name: bytes_of(size) for name, _, size in pairs}
