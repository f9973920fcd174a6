"""
Driver: verifier of modules, whole or incremental: only the operations that changed
since its last run.

An operation is verified again if it, an operation inside of it, or the definition of an
operand changed, or if an operation around it is new. Symbol users are verified whenever
the module changed, because they refer to other operations by name. Dominance is
verified for the whole module. Operations of the same form are verified once.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation
from xdsl.traits import SymbolUserOpInterface

from tlf.compiler.driver.detached_users import verify_no_detached_users
from tlf.compiler.driver.dominance import verify_dominance
from tlf.compiler.driver.snapshot import Snapshot, take_snapshot
from tlf.compiler.driver.verified_forms import FormReader, VerifiedForms
from tlf.compiler.driver.verify_attributes import verify_no_stray_attributes
from tlf.dialects.defined_values import values_defined_by


def verify_module(module: ModuleOp) -> None:
    """Check the operations, their attributes, and definitions and users of values."""
    module.verify()
    for op in module.walk():
        verify_no_stray_attributes(op)
    verify_dominance(module)
    verify_no_detached_users(module)


@dataclass
class IncrementalVerifier:
    """Verifier of one module between the passes that change it."""

    verifies_unchanged: bool = False
    """True if a module that changed is verified as a whole."""
    _snapshot: Snapshot = field(init=False, default=())
    """Snapshot of the module at its last verification."""
    _forms: VerifiedForms = field(init=False, default_factory=VerifiedForms)

    def verify_changes(self, module: ModuleOp) -> bool:
        """
        Verify the operations that may be affected by changes since the last call, all
        at the first call; return `True` if anything changed. Raises `VerifyException`.
        """
        snapshot = take_snapshot(module)
        if snapshot == self._snapshot:
            return False
        if self.verifies_unchanged or not self._snapshot:
            verify_module(module)
        else:
            # Both snapshots reference their operations, so that ids are unique.
            known = {id(contents[0]): contents for contents in self._snapshot}
            changed = [e[0] for e in snapshot if known.get(id(e[0])) != e]
            added = [op for op in changed if id(op) not in known]
            everything = [contents[0] for contents in snapshot]
            affected = _affected_operations(everything, changed, added)
            _verify_operations(
                module, [op for op in everything if id(op) in affected], self._forms
            )
        self._snapshot = snapshot
        return True


def _verify_operations(
    module: ModuleOp, operations: Sequence[Operation], forms: VerifiedForms
) -> None:
    """
    Check some operations, given in program order, inner ones first, except those of
    forms that verified, and the dominance of all values.
    """
    reader, known = FormReader(forms), set[int]()
    for op in _inner_operations_first(operations):
        _verify_block_structure(op)
        if (form := reader.form_of(op)) is not None and form in forms:
            known.add(id(op))
            continue
        op.verify(verify_nested_ops=False)
        if form is not None:
            forms.add(form)
    for op in operations:
        if id(op) not in known:
            verify_no_stray_attributes(op)
    verify_dominance(module)


def _inner_operations_first(operations: Sequence[Operation]) -> Iterator[Operation]:
    """
    Yield operations, which include those around each of them, in the order in which
    they end instead of that in which they begin.
    """
    open_operations: list[Operation] = []
    for op in operations:
        parent = op.parent_op()
        while open_operations and open_operations[-1] is not parent:
            yield open_operations.pop()
        open_operations.append(op)
    yield from reversed(open_operations)


def _affected_operations(
    operations: Sequence[Operation],
    changed: Sequence[Operation],
    added: Sequence[Operation],
) -> set[int]:
    """
    Return the ids of those of all operations whose verification depends on changed
    operations.
    """
    new = set(map(id, added))
    affected = {id(op): op for op in (*_symbol_users(operations), *changed)}
    for op in added:
        # The operations inside of the outermost new ones include those of inner ones.
        if id(op.parent_op()) not in new:
            affected.update((id(each), each) for each in op.walk())
    for op in changed:
        values = values_defined_by(op)
        users = (use.operation for value in values for use in value.uses)
        affected.update((id(user), user) for user in users)
    for op in tuple(affected.values()):
        parent = op.parent_op()
        while parent is not None and id(parent) not in affected:
            affected[id(parent)] = parent
            parent = parent.parent_op()
    return set(affected)


def _symbol_users(operations: Sequence[Operation]) -> Iterator[Operation]:
    """Yield those operations that refer to other operations by name."""
    are_users: dict[type[Operation], bool] = {}
    for op in operations:
        kind = type(op)
        if kind not in are_users:
            are_users[kind] = op.has_trait(SymbolUserOpInterface)
        if are_users[kind]:
            yield op


def _verify_block_structure(op: Operation) -> None:
    """
    Check that the blocks of an operation refer to it, and that none is empty that needs
    a terminator.
    """
    for region in op.regions:
        for block in region.blocks:
            if block.parent is not region or region.parent is not op:
                raise ValueError("expected blocks to refer to their region")
            for each in block.ops:
                if each.parent is not block:
                    text = "expected operations to refer to the block around them"
                    raise ValueError(text)
            if block.is_empty:
                block.verify()
