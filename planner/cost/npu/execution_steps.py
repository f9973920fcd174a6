"""
Cost model of NPU buffers: steps in which a group's operations run and use its values.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence

from xdsl.ir import Operation, SSAValue

from tlf.analysis.tiling.group_tiling import TiledOperation
from tlf.dialects.slice_views import is_unit_stride_slice
from tlf.dialects.types import itemsize_of
from tlf.planner.cost.npu.buffer_reuse import BufferReuse, buffer_reuse_of
from tlf.planner.cost.npu.inner_transfers import InnerTransfer, collect_inner_transfers
from tlf.planner.cost.npu.nest_prediction import Nests
from tlf.planner.cost.npu.nest_structure import NestStructure, nest_structures_of


class ExecutionSteps:
    """
    Execution steps of a group, independent of its tiles: one step per operation or,
    with `nests`, one step per nest over inner tiles.
    """

    def __init__(
        self, operations: Collection[Operation], nests: Nests | None = None
    ) -> None:
        order = {op: number for number, op in enumerate(operations)}
        self.of = order if nests is None else {op: nests[op] for op in order}
        """The step of each operation."""
        self.end = 1 + max(self.of.values(), default=-1)
        self._nests = nests
        self._done: dict[tuple[Operation, ...] | None, list[InnerTransfer]] = {}
        self._structures: dict[tuple[Operation, ...] | None, list[NestStructure]] = {}
        self._uses: dict[SSAValue, tuple[int, ...]] = {}
        self._firsts: dict[SSAValue, int] = {}
        self._handed: dict[SSAValue, bool] = {}
        self._items: dict[SSAValue, int] = {}
        self._reuses: dict[Operation, BufferReuse] = {}

    def buffer_reuse_of(self, op: Operation) -> BufferReuse:
        """Return the operands whose buffers an operation may reuse."""
        if (known := self._reuses.get(op)) is None:
            known = self._reuses[op] = buffer_reuse_of(op, self.of)
        return known

    def use_steps_of(self, value: SSAValue) -> tuple[int, ...]:
        """
        Return the steps at which operations of the group use a value or a slice of it.
        A slice that leaves the group is used at the step of its operation.
        """
        if (known := self._uses.get(value)) is None:
            known = tuple(self._find_use_steps(value))
            self._uses[value] = known
        return known

    def _find_use_steps(self, value: SSAValue) -> Iterator[int]:
        """
        Yield the steps that use a value directly or through unit-stride slices; a slice
        itself counts only if it leaves the group.
        """
        for use in value.uses:
            op = use.operation
            if op not in self.of:
                continue
            is_slice = is_unit_stride_slice(op)
            if not is_slice or self._is_live_out(op):
                yield self.of[op]
            if is_slice:
                yield from self.use_steps_of(op.results[0])

    def _is_live_out(self, op: Operation) -> bool:
        """
        Return `True` if the result of an operation has no users, or users outside of
        the group.
        """
        users = [use.operation for use in op.results[0].uses]
        return not users or any(user not in self.of for user in users)

    def has_later_users(self, value: SSAValue) -> bool:
        """
        Return `True` if a value has users in steps other than that of its definition.
        """
        if (known := self._handed.get(value)) is None:
            owner = value.owner
            own = self.of.get(owner) if isinstance(owner, Operation) else None
            known = any(step != own for step in self.use_steps_of(value))
            self._handed[value] = known
        return known

    def first_use_step_of(self, value: SSAValue) -> int:
        """Return the first step that uses a value directly; 0 if there is none."""
        if (known := self._firsts.get(value)) is None:
            users = (use.operation for use in value.uses)
            steps = (self.of[user] for user in users if user in self.of)
            known = self._firsts[value] = min(steps, default=0)
        return known

    def inner_transfers_of(
        self, tiles: Mapping[Operation, TiledOperation]
    ) -> Sequence[InnerTransfer]:
        """Return the transfers of some operations in their nests, in order."""
        assert self._nests is not None
        key = self._key_of_tiles(tiles)
        if (known := self._done.get(key)) is None:
            known = self._done[key] = [*collect_inner_transfers(tiles, self._nests)]
        return known

    def nest_structures_of(
        self, tiles: Mapping[Operation, TiledOperation]
    ) -> Sequence[NestStructure]:
        """Return the structures of the nests of some operations."""
        assert self._nests is not None
        key = self._key_of_tiles(tiles)
        if (known := self._structures.get(key)) is None:
            transfers = self.inner_transfers_of(tiles)
            known = nest_structures_of(tiles, self._nests, transfers)
            self._structures[key] = known
        return known

    def _key_of_tiles(
        self, tiles: Mapping[Operation, TiledOperation]
    ) -> tuple[Operation, ...] | None:
        """Return a key of operations; `None` for all, which most queries are for."""
        return None if len(tiles) == len(self.of) else tuple(tiles)

    def item_bytes_of(self, value: SSAValue) -> int:
        """Return the bytes per element of a value."""
        if (known := self._items.get(value)) is None:
            known = itemsize_of(value)
            self._items[value] = known
        return known
