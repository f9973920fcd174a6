"""IR utility of the dialects: canonicalization that keeps locations of operations."""

from __future__ import annotations

from dataclasses import dataclass, field

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, Region
from xdsl.pattern_rewriter import (
    GreedyRewritePatternApplier,
    PatternRewriter,
    PatternRewriterListener,
    PatternRewriteWalker,
    RewritePattern,
)
from xdsl.traits import HasCanonicalizationPatternsTrait, HasFolder, MemoryEffect
from xdsl.transforms.canonicalize import (
    CanonicalizationRewritePattern,
    CanonicalizePass,
)
from xdsl.transforms.dead_code_elimination import region_dce

from tlf.dialects.located_rewriting import LocatedPattern


class _Canonicalization(RewritePattern):
    """
    Folding, erasure and canonicalization of operations, except for those of classes
    that never change: most operations of large programs are of such classes.
    """

    def __init__(self, ctx: Context) -> None:
        self._applier = GreedyRewritePatternApplier(
            [CanonicalizationRewritePattern()], ctx=ctx, folding_enabled=True
        )
        self._invariant_classes: dict[type[Operation], bool] = {}

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter) -> None:
        kind = type(op)
        if (is_invariant := self._invariant_classes.get(kind)) is None:
            is_invariant = self._invariant_classes[kind] = _is_invariant(op)
        if not is_invariant:
            self._applier.match_and_rewrite(op, rewriter)


def _is_invariant(op: Operation) -> bool:
    """
    Return `True` if operations of this class have unknown effects, so that they are
    never erased, and are neither folded nor canonicalized.
    """
    changing = HasFolder, HasCanonicalizationPatternsTrait, MemoryEffect
    return not any(op.has_trait(each, value_if_unregistered=True) for each in changing)


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
            for op in reversed([each for each in region.walk() if each in parents]):
                self._worklist.push(op)
            is_changed |= self._process_worklist(listener)
        return region_dce(region, listener) or is_changed

    def _record_parent(self, op: Operation) -> None:
        if (parent := op.parent_op()) is not None:
            self._changed_parents.add(parent)


class LocatedCanonicalizePass(CanonicalizePass):
    """
    Pass `canonicalize` of xDSL, which also gives new operations the location of the
    operation that they were built for.
    """

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        located = LocatedPattern(_Canonicalization(ctx))
        walker = _CanonicalizationWalker(located, listener=located.listener)
        walker.rewrite_module(op)
