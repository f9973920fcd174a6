"""IR utility of the dialects: erasure of unused operations without other effects."""

from __future__ import annotations

from functools import cache

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, Region, SSAValue
from xdsl.pattern_rewriter import PatternRewriterListener
from xdsl.traits import (
    EffectInstance,
    IsTerminator,
    MemoryEffect,
    MemoryEffectKind,
    RecursiveMemoryEffect,
    SymbolOpInterface,
)
from xdsl.transforms.dead_code_elimination import DeadCodeElimination, region_dce

from tlf.dialects.reporting_pass import ReportingPass


def erase_dead_operations(
    region: Region, listener: PatternRewriterListener | None = None
) -> bool:
    """
    Erase operations that no live operation uses and that have no other effect; return
    `True` if there were any. xDSL's elimination, which computes the effects of all
    operations several times, runs only if it has something to erase.
    """
    return _has_dead_operation(region) and region_dce(region, listener)


def has_uses(op: Operation) -> bool:
    """Return `True` if a result of an operation is used."""
    for result in op.results:
        if result.first_use is not None:
            return True
    return False


def is_dead(op: Operation) -> bool:
    """
    Return `True` if an operation is unused and has no other effect, like
    `is_trivially_dead` of xDSL, which collects the effects of all nested operations.
    """
    if has_uses(op) or _is_always_live(type(op)):
        return False
    return not _has_observable_effect(op, op)


def _has_dead_operation(region: Region) -> bool:
    """
    Return `True` if a region has an operation that is unused and has no other effect,
    or a block that may be unreachable. Uses follow definitions, so that the last dead
    operation is always unused.
    """
    if (block := region.first_block) is None:
        return False
    if block.next_block is not None:
        return True
    op = block.first_op
    while op is not None:
        if is_dead(op):
            return True
        if op.regions and any(map(_has_dead_operation, op.regions)):
            return True
        op = op.next_op
    return False


@cache
def _is_always_live(kind: type[Operation]) -> bool:
    """Return `True` if operations of a class are never erased, even if unused."""
    if kind.has_trait(IsTerminator, value_if_unregistered=False):
        return True
    if kind.has_trait(SymbolOpInterface, value_if_unregistered=False):
        return True
    return not kind.has_trait(MemoryEffect, value_if_unregistered=True)


def _has_observable_effect(op: Operation, root: Operation) -> bool:
    """
    Return `True` if an operation in `root` may have an effect on others than those in
    `root`, found at the first one.
    """
    if not (interfaces := _effect_interfaces_of(type(op))):
        return True
    for interface in interfaces:
        if type(interface) is RecursiveMemoryEffect:
            blocks = (block for region in op.regions for block in region.blocks)
            inner = (each for block in blocks for each in block.ops)
            if any(_has_observable_effect(each, root) for each in inner):
                return True
        elif (effects := interface.get_effects(op)) is None or any(
            _is_observable(each, root) for each in effects
        ):
            return True
    return False


def _is_observable(effect: EffectInstance, root: Operation) -> bool:
    """Return `True` unless an effect is a read, or an allocation of a value of root."""
    if effect.kind is MemoryEffectKind.ALLOC and isinstance(effect.value, SSAValue):
        return not root.is_ancestor(effect.value.owner)
    return effect.kind is not MemoryEffectKind.READ


@cache
def _effect_interfaces_of(kind: type[Operation]) -> tuple[MemoryEffect, ...]:
    """Return the interfaces of the effects of a class; none if they are unknown."""
    return tuple(kind.get_traits_of_type(MemoryEffect))


class DeadOperationErasurePass(ReportingPass, DeadCodeElimination):
    """Pass `dce` of xDSL, which is fast on modules without dead operations."""

    def rewrite(self, ctx: Context, op: ModuleOp) -> bool:
        return erase_dead_operations(op.body)
