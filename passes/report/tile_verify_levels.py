"""Pass `tile-verify-levels`: verifies that the target has the levels in use."""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

from xdsl.context import Context
from xdsl.dialects.builtin import MemRefType, ModuleOp, StringAttr
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.utils.exceptions import PassFailedException

from tlf.dialects.defined_values import values_defined_by
from tlf.dialects.encoding_attribute import level_of
from tlf.dialects.target import LevelKind, TargetSpec


@dataclass(frozen=True)
class TileVerifyLevelsPass(ModulePass):
    """
    Verify that every tile and buffer is in a level of the target that is not a cache,
    because caches are not explicitly addressed, and that no buffer is in a level of
    values. Without a target, the pass does nothing.

    ```
    tile.slice: expected a level among L1, L3 of h200, got L2, which is a cache
    ```

    Raises `PassFailedException` for the first operation with another level.
    """

    name = "tile-verify-levels"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        if not TargetSpec.is_attached_to(op):
            return
        target = TargetSpec.read_from_module(op)
        for each in op.walk():
            for value in values_defined_by(each):
                _verify_level_of_value(each, value, target)


def _verify_level_of_value(op: Operation, value: SSAValue, target: TargetSpec) -> None:
    """Raise `PassFailedException` if the target lacks or refuses a value's level."""
    if (name := _memory_level_of_type(value.type)) is None:
        return
    refused = {LevelKind.CACHE: "is a cache"}
    if isinstance(value.type, MemRefType):
        refused[LevelKind.VALUE] = "holds no buffers"
    allowed = [each.name for each in target.levels.values() if each.kind not in refused]
    if name in allowed:
        return
    level = target.levels.get(name)
    reason = "" if level is None else f", which {refused[level.kind]}"
    message = (
        f"{op.name}: expected a level among {', '.join(allowed)} of {target.name}, got "
        f"{name}{reason}"
    )
    op.emit_error(message, PassFailedException(message))


def _memory_level_of_type(type_: Attribute) -> str | None:
    """Return the memory level that a tensor or memref type names, or None."""
    if not isinstance(type_, MemRefType):
        return level_of(type_)
    space = cast("MemRefType[Attribute]", type_).memory_space
    return space.data if isinstance(space, StringAttr) else None
