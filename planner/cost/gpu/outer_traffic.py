"""Cost model of a GPU kernel: traffic of the outermost memory for all programs."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence

from tlf.analysis.tiling.group_tiling import TileLoop
from tlf.planner.cost.gpu.global_traffic import TileTraffic
from tlf.planner.cost.gpu.gpu_parameters import Chip
from tlf.planner.cost.gpu.kernel_cost import OuterTraffic
from tlf.planner.settings.gpu_calibration import TRITON_CALIBRATION


def outer_traffic_of(
    moves: Sequence[TileTraffic],
    chip: Chip,
    program_count: int,
    share_of_loads: Callable[[Collection[TileLoop]], float],
) -> OuterTraffic:
    """
    Return the traffic of the outermost memory. Data that several concurrent programs
    read is loaded once, as are tensors that stay in the cache. `share_of_loads` returns
    the share of concurrent programs whose tile, which depends on some loops, no other
    one of them loads.
    """
    reread = [each for each in moves if each.is_read and _is_read_repeatedly(each)]
    reread_bytes = sum(each.kernel_footprint for each in reread)
    limit = TRITON_CALIBRATION.cached_fraction * chip.cache.capacity
    is_cached = reread_bytes <= limit
    required: list[float] = []
    for each in moves:
        if is_cached or not (each.is_read and _is_read_repeatedly(each)):
            required.append(_min_bytes_of_move(each))
        else:
            share = share_of_loads(each.program_loops)
            moved = each.program_footprint * program_count * share
            moved = min(moved, each.totals.payload)
            required.append(max(each.kernel_footprint, moved))
    return _total_traffic(moves, required, chip)


def min_outer_traffic_of(moves: Sequence[TileTraffic], chip: Chip) -> OuterTraffic:
    """Return the traffic if all tensors stay in the cache: a lower bound."""
    return _total_traffic(moves, list(map(_min_bytes_of_move, moves)), chip)


def _total_traffic(
    moves: Sequence[TileTraffic], required_bytes: Sequence[float], chip: Chip
) -> OuterTraffic:
    """Return the traffic of moves, given the bytes that each requires."""
    total, gaps = 0.0, 0.0
    for each, required in zip(moves, required_bytes, strict=True):
        moved = each.totals
        times = required / moved.payload if moved.payload else 0.0
        total += times * moved.bus_bytes
        gaps += times * moved.row_count * chip.gpu.gap
    return OuterTraffic(total, gaps)


def _min_bytes_of_move(move: TileTraffic) -> float:
    """Return the bytes of a move if all that it reads is read once."""
    return move.kernel_footprint if move.is_read else move.totals.payload


def _is_read_repeatedly(move: TileTraffic) -> bool:
    """Return `True` if some bytes are read more than once."""
    return move.totals.payload > move.kernel_footprint
