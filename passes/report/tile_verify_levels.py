"""Pass `tile-verify-levels`: verifies that the target has the levels that are used."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import cast

from xdsl.context import Context
from xdsl.dialects.builtin import MemRefType, ModuleOp, StringAttr
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.utils.exceptions import PassFailedException

from tlf.dialects.encoding import level_of
from tlf.dialects.target import LevelKind, TargetSpec


@dataclass(frozen=True)
class TileVerifyLevelsPass(ModulePass):
    """
    Check that every tile and every buffer is in a memory that the target has, and that
    is not a cache, to which nothing can be brought; and that no buffer is in a memory
    of values. Without a target nothing is known.

    ```
    tile.slice: expected a level among L1, L3 of h200, got L2, which is a cache
    ```

    Raises `PassFailedException` for the first operation with another level.
    """

    name = "tile-verify-levels"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        if not TargetSpec.is_attached_to(op):
            return
        target = TargetSpec.of(op)
        for each in op.walk():
            for value in _values_defined_by(each):
                _verify_level(each, value, target)


def _values_defined_by(op: Operation) -> Iterator[SSAValue]:
    """The results of an operation, and the arguments of its blocks."""
    yield from op.results
    for region in op.regions:
        for block in region.blocks:
            yield from block.args


def _verify_level(op: Operation, value: SSAValue, target: TargetSpec) -> None:
    if (name := _level_of(value.type)) is None:
        return
    refused = {LevelKind.CACHE: "is a cache"}
    if isinstance(value.type, MemRefType):
        refused[LevelKind.VALUE] = "holds no buffers"
    known = [each.name for each in target.levels.values() if each.kind not in refused]
    if name in known:
        return
    level = target.levels.get(name)
    why = "" if level is None else f", which {refused[level.kind]}"
    message = (
        f"{op.name}: expected a level among {', '.join(known)} of {target.name}, got "
        f"{name}{why}"
    )
    op.emit_error(message, PassFailedException(message))


def _level_of(type_: Attribute) -> str | None:
    """Return the memory level that a type names, or None."""
    if not isinstance(type_, MemRefType):
        return level_of(type_)
    space = cast("MemRefType[Attribute]", type_).memory_space
    return space.data if isinstance(space, StringAttr) else None
