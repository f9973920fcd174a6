"""IR utility of the dialects: canonicalization that keeps locations of operations."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cache

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation, Region
from xdsl.pattern_rewriter import (
    GreedyRewritePatternApplier,
    PatternRewriter,
    PatternRewriterListener,
    PatternRewriteWalker,
    RewritePattern,
)
from xdsl.traits import HasCanonicalizationPatternsTrait, HasFolder, MemoryEffect
from xdsl.transforms.canonicalize import CanonicalizePass

from tlf.dialects.dead_operations import erase_dead_operations, has_uses, is_dead
from tlf.dialects.located_rewriting import LocatedPattern
from tlf.dialects.reporting_pass import ReportingPass


class _Canonicalization(RewritePattern):
    """
    Folding, erasure and canonicalization of operations, by rules that are looked up
    once per class: most operations of large programs are of classes without any.
    """

    def __init__(self, ctx: Context) -> None:
        self._ctx = ctx
        self._appliers: dict[type[Operation], GreedyRewritePatternApplier] = {}

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter) -> None:
        if is_dead(op):
            rewriter.erase(op)
            return
        kind = type(op)
        if (applier := self._appliers.get(kind)) is None:
            applier = self._appliers[kind] = self._build_applier(kind)
        applier.match_and_rewrite(op, rewriter)

    def _build_applier(self, kind: type[Operation]) -> GreedyRewritePatternApplier:
        """
        Return the folder and the canonicalization patterns of a class, for operations
        that are not dead.
        """
        patterns = [
            pattern
            for trait in kind.get_traits_of_type(HasCanonicalizationPatternsTrait)
            for pattern in trait.get_patterns(kind)
        ]
        return GreedyRewritePatternApplier(
            patterns,
            ctx=self._ctx,
            folding_enabled=kind.has_trait(HasFolder, value_if_unregistered=False),
            dce_enabled=False,
        )


@cache
def _is_invariant(kind: type[Operation]) -> bool:
    """
    Return `True` if operations of a class have unknown effects, so that they are never
    erased, and are neither folded nor canonicalized.
    """
    changing = HasFolder, HasCanonicalizationPatternsTrait, MemoryEffect
    return not any(kind.has_trait(e, value_if_unregistered=True) for e in changing)


@cache
def _is_only_erased(kind: type[Operation]) -> bool:
    """Return `True` if operations of a class are neither folded nor canonicalized."""
    changing = HasFolder, HasCanonicalizationPatternsTrait
    return not any(kind.has_trait(e, value_if_unregistered=True) for e in changing)


@dataclass(eq=False, repr=False)
class _CanonicalizationWalker(PatternRewriteWalker):
    """
    Walker that rewrites a region until nothing changes. After a walk over all
    operations, it repeats those around new operations, such as loops out of which
    constants move one level at a time, before it walks over all operations again.
    """

    _changed_parents: set[Operation] = field(default_factory=set[Operation], init=False)
    """Operations around those that were inserted since they were last rewritten."""

    def rewrite_region(self, region: Region) -> bool:
        listener = self._get_rewriter_listener()
        listener.operation_insertion_handler.append(self._record_parent)
        is_changed_by_any_walk = False
        while self._walk_over_region(region, listener):
            is_changed_by_any_walk = True
        return is_changed_by_any_walk

    def _walk_over_region(
        self, region: Region, listener: PatternRewriterListener
    ) -> bool:
        """
        Rewrite all operations, then those around new ones; return `True` on a change.
        """
        self._changed_parents.clear()
        self._populate_worklist(region)
        is_changed = self._process_worklist(listener)
        while parents := self._changed_parents.copy():
            self._changed_parents.clear()
            for op in reversed(_in_program_order(parents, region)):
                self._worklist.push(op)
            is_changed |= self._process_worklist(listener)
        return erase_dead_operations(region, listener) or is_changed

    def _populate_worklist(self, op: Operation | Region | Block) -> None:
        """Populate the worklist with all nested operations that may change by now."""
        for each in op.walk(reverse=True, region_first=True):
            if not (_is_invariant(kind := type(each))) and not (
                _is_only_erased(kind) and has_uses(each)
            ):
                self._worklist.push(each)

    def _record_parent(self, op: Operation) -> None:
        if (parent := op.parent_op()) is not None:
            self._changed_parents.add(parent)


def _in_program_order(operations: set[Operation], region: Region) -> list[Operation]:
    """Return those of some operations that are still in a region, in program order."""
    inside = [op for op in operations if region.is_ancestor(op)]
    if len(inside) < 2:
        return inside
    return [op for op in region.walk() if op in operations]


class LocatedCanonicalizePass(ReportingPass, CanonicalizePass):
    """
    Pass `canonicalize` of xDSL, which also gives new operations the location of the
    operation that they were built for.
    """

    def rewrite(self, ctx: Context, op: ModuleOp) -> bool:
        located = LocatedPattern(_Canonicalization(ctx))
        walker = _CanonicalizationWalker(located, listener=located.listener)
        return walker.rewrite_module(op)
