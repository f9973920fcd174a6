"""Pass `tlf-cse`: common subexpression elimination, also of operations with regions."""

from __future__ import annotations

from collections.abc import Generator, Hashable, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache

from xdsl.context import Context
from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp, UnregisteredOp
from xdsl.ir import Block, Operation, Region, SSAValue
from xdsl.rewriter import Rewriter
from xdsl.traits import (
    IsolatedFromAbove,
    IsTerminator,
    MemoryEffectKind,
    get_effects,
)

from tlf.analysis.buffers.lifetimes import needs_longer_lifetime
from tlf.dialects import graph
from tlf.dialects.dead_operations import is_dead
from tlf.dialects.interfaces import ViewInterface
from tlf.dialects.pure_operations import is_pure
from tlf.dialects.reporting_pass import ReportingPass

Numbering = dict[SSAValue | Block, int]


def structural_key(op: Operation) -> Hashable:
    """
    Return a key that equivalent operations share: equal names, operands, attributes and
    types, and regions that are equal up to the names of their values.
    """
    return _structural_key_of_op(op, {})


def structural_key_of_regions(op: Operation) -> Hashable:
    """Return a key that operations with equivalent regions share."""
    return tuple(_structural_key_of_region(region, {}) for region in op.regions)


def _structural_key_of_op(op: Operation, numbering: Numbering) -> Hashable:
    """Return a key of `op`, with its values by `numbering`; number its results."""
    key = (
        op.op_name.data if isinstance(op, UnregisteredOp) else op.name,
        tuple(numbering.get(operand, operand) for operand in op.operands),
        op.result_types,
        frozenset(op.properties.items()),
        frozenset(op.attributes.items()),
        tuple(numbering.get(successor, successor) for successor in op.successors),
        tuple(_structural_key_of_region(region, numbering) for region in op.regions),
    )
    for result in op.results:
        numbering[result] = len(numbering)
    return key


def _structural_key_of_region(region: Region, numbering: Numbering) -> Hashable:
    """Return a key of a region; number its blocks, block arguments and results."""
    for block in region.blocks:
        numbering[block] = len(numbering)
        for argument in block.args:
            numbering[argument] = len(numbering)
    return tuple(
        (
            tuple(argument.type for argument in block.args),
            tuple(_structural_key_of_op(op, numbering) for op in block.ops),
        )
        for block in region.blocks
    )


@dataclass
class _SubexpressionElimination:
    """Walk over a program, with the available expressions by structural key."""

    available_operations: dict[Hashable, list[Operation]] = field(
        default_factory=dict[Hashable, "list[Operation]"]
    )
    """
    Operations by a key that equivalent ones share, the most recent one last. Most are
    the only ones with their key.
    """
    scope_log: list[list[Operation]] = field(default_factory=list["list[Operation]"])
    """Lists of available operations that grew, to restore the outer scope."""
    structural_keys: dict[Operation, Hashable] = field(
        default_factory=dict[Operation, Hashable]
    )
    """Structural keys of available operations, as far as they are known."""
    visited: set[Operation] = field(default_factory=set[Operation])
    """Operations that the walk has simplified."""
    is_changed: bool = False
    """True if the walk merged or erased operations."""
    write_count: int = 0
    """Number of visited operations that may write."""

    def eliminate_in_regions(self, op: Operation) -> None:
        """Merge and erase operations in the blocks of `op`, each in its own scope."""
        for region in op.regions:
            for block in region.blocks:
                with self._restore_available_on_exit():
                    self._eliminate_in_block(block)

    @contextmanager
    def _restore_available_on_exit(self) -> Generator[None]:
        """
        Restore on exit the expressions that were available on entry: values of a block
        are not visible outside of it.
        """
        outer = len(self.scope_log)
        yield
        for operations in self.scope_log[outer:]:
            operations.pop()
        del self.scope_log[outer:]

    def _eliminate_in_block(self, block: Block) -> None:
        """Simplify each operation of `block` in order, its nested regions first."""
        for op in list(block.ops):
            if op.regions:
                walk = self._walk_inside_of(op)
                walk.eliminate_in_regions(op)
                self.is_changed |= walk.is_changed
            self._erase_dead_or_merge_equivalent(op)
            self.visited.add(op)

    def _walk_inside_of(self, op: Operation) -> _SubexpressionElimination:
        """Return the walk over the regions of `op`, a new one if they see no values."""
        if op.has_trait(IsolatedFromAbove, value_if_unregistered=True):
            return _SubexpressionElimination()
        return self

    def _erase_dead_or_merge_equivalent(self, op: Operation) -> None:
        """
        Erase `op` if it is unused or an equivalent operation is available; otherwise
        make it available.
        """
        if _is_terminator(type(op)):
            return
        if is_dead(op):
            _remark_on_whole_tensor_op(op, "dropped, because nothing uses it")
            self._erase(op)
            return
        if (key := self._necessary_key(op)) is None:
            return
        candidates = self.available_operations.setdefault(key, [])
        existing = self._find_equivalent(op, candidates)
        if existing is None or needs_longer_lifetime(existing, op, self.visited):
            candidates.append(op)
            self.scope_log.append(candidates)
            return
        _remark_on_whole_tensor_op(existing, "computed once for all users")
        for old, new in zip(op.results, existing.results, strict=True):
            old.replace_all_uses_with(new)
            new.name_hint = new.name_hint or old.name_hint
        self._erase(op)

    def _erase(self, op: Operation) -> None:
        """Erase an operation without uses."""
        Rewriter.erase_op(op)
        self.is_changed = True

    def _find_equivalent(
        self, op: Operation, candidates: Sequence[Operation]
    ) -> Operation | None:
        """Return the last candidate that is equivalent to `op`, or None."""
        if not candidates:
            return None
        key = self.structural_keys[op] = structural_key(op)
        for each in reversed(candidates):
            if each not in self.structural_keys:
                self.structural_keys[each] = structural_key(each)
            if self.structural_keys[each] == key:
                return each
        return None

    def _necessary_key(self, op: Operation) -> Hashable | None:
        """
        Return a key that operations equivalent to `op` share; `None` if no other
        operation may replace it. Operations that read share a key only in the same
        block without a write between them, for which `write_count` counts the
        operations that may write.
        """
        # Few operations share operands, but many have none.
        operands = tuple(op.operands)
        if is_pure(type(op)):
            return (op.name, operands) if operands else structural_key(op)
        effects = get_effects(op)
        kinds = None if effects is None else {effect.kind for effect in effects}
        if kinds is None or kinds - {MemoryEffectKind.READ, MemoryEffectKind.ALLOC}:
            self.write_count += 1
            return None
        if MemoryEffectKind.ALLOC in kinds:
            return None
        key = (op.name, operands) if operands else structural_key(op)
        return (op.parent, self.write_count, key) if kinds else key


@cache
def _is_terminator(kind: type[Operation]) -> bool:
    """Return `True` if operations of a class end blocks."""
    return kind.has_trait(IsTerminator)


def _remark_on_whole_tensor_op(op: Operation, remark_text: str) -> None:
    """Emit a remark on an operation on whole tensors, unless it is a constant."""
    is_whole = isinstance(op.parent_op(), func.FuncOp) and op.name.startswith("graph.")
    if is_whole and op.operands and not isinstance(op, ViewInterface):
        graph.add_remark(op, CsePass.name, "passed", remark_text)


@dataclass(frozen=True)
class CsePass(ReportingPass):
    """
    Merge equivalent operations, and erase unused ones.

    Operations with regions are compared by their bodies. Operations that allocate or
    write are not merged; operations that read are merged within a block if no operation
    between them may write. Copies in another memory are merged only where the live
    range of the first does not grow, because plans may have allocated its memory to
    other buffers. A value is reused where it is visible: later in its block and in
    regions nested there, but not inside of operations isolated from above, nor in
    another block of a control-flow graph. Remarks name the operations on whole tensors
    that are merged or erased.
    """

    name = "tlf-cse"

    def rewrite(self, ctx: Context, op: ModuleOp) -> bool:
        walk = _SubexpressionElimination()
        walk.eliminate_in_regions(op)
        return walk.is_changed
