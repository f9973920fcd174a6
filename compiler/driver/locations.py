"""
Keeping locations through rewrites: what replaces an operation inherits its place.
"""

from collections.abc import Generator, Sequence
from contextlib import contextmanager
from functools import wraps

from xdsl.dialects.builtin import UnknownLoc
from xdsl.ir import Operation, SSAValue
from xdsl.pattern_rewriter import PatternRewriter
from xdsl.rewriter import InsertPoint, Rewriter

NewOps = Operation | Sequence[Operation]


@contextmanager
def locations_kept() -> Generator[None]:
    """
    While this is active, operations without a location get one as rewriters insert
    them: that of the replaced operation, else of the matched one. Operations nested in
    a new one inherit from it in turn.
    """
    insert, replace = PatternRewriter.insert, PatternRewriter.replace
    replace_op = Rewriter.replace_op

    @wraps(insert)
    def located_insert(
        self: PatternRewriter, op: NewOps, insertion_point: InsertPoint | None = None
    ) -> NewOps:
        if (matched := _matched(self, insertion_point)) is not None:
            _inherit(op, matched)
        return insert(self, op, insertion_point)

    @wraps(replace)
    def located_replace(
        self: PatternRewriter,
        op: Operation,
        new_ops: NewOps,
        new_results: Sequence[SSAValue | None] | None = None,
        safe_erase: bool = True,
    ) -> None:
        _inherit(new_ops, op)
        replace(self, op, new_ops, new_results, safe_erase)

    @wraps(replace_op)
    def located_replace_op(
        op: Operation,
        new_ops: NewOps,
        new_results: Sequence[SSAValue | None] | None = None,
        safe_erase: bool = True,
    ) -> None:
        _inherit(new_ops, op)
        replace_op(op, new_ops, new_results, safe_erase)

    setattr(PatternRewriter, "insert", located_insert)
    setattr(PatternRewriter, "replace", located_replace)
    setattr(Rewriter, "replace_op", staticmethod(located_replace_op))
    try:
        yield
    finally:
        setattr(PatternRewriter, "insert", insert)
        setattr(PatternRewriter, "replace", replace)
        setattr(Rewriter, "replace_op", staticmethod(replace_op))


def locate_all(op: Operation) -> None:
    """
    Give every operation inside `op` that has no location that of the operation before
    it in its block, else of the one around it.
    """
    for region in op.regions:
        for block in region.blocks:
            nearest = op.location
            for inner in block.ops:
                if isinstance(inner.location, UnknownLoc):
                    inner.location = nearest
                nearest = inner.location
                locate_all(inner)


def _matched(
    rewriter: PatternRewriter, insertion_point: InsertPoint | None
) -> Operation | None:
    """The operation that `rewriter` is at."""
    matched = getattr(rewriter, "_current_operation", None)
    if isinstance(matched, Operation):
        return matched
    point = rewriter.insertion_point if insertion_point is None else insertion_point
    return point.insert_before


def _inherit(new_ops: NewOps, old: Operation) -> None:
    for op in (new_ops,) if isinstance(new_ops, Operation) else new_ops:
        if isinstance(op.location, UnknownLoc):
            op.location = old.location
            locate_all(op)
