"""A pass manager that verifies, times and prints between passes."""

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from enum import StrEnum, auto
from typing import TypeAlias

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from tlf.compiler.driver.diagnostics import locate_errors
from tlf.compiler.driver.dominance import verify_dominance
from tlf.compiler.driver.gc_tuning import reduce_collections
from tlf.compiler.driver.snapshot import Snapshot, take_snapshot
from tlf.compiler.driver.timing import Timing
from tlf.compiler.driver.verify_attributes import verify_no_stray_attributes
from tlf.dialects.located_rewriting import propagate_locations


class PrintAfter(StrEnum):
    """After which passes the program is shown."""

    CHOSEN = auto()
    CHANGE = auto()
    ALL = auto()


def verify(module: ModuleOp) -> None:
    """Check the operations, their attributes and the dominance of values."""
    module.verify()
    verify_no_stray_attributes(module)
    verify_dominance(module)


Observer: TypeAlias = Callable[[int, ModuleOp, bool], object]
"""
Sees the module before the first pass and after each of them, with how many ran, and
whether it changed since.
"""


def _observe_nothing(count: int, module: ModuleOp, is_changed: bool) -> None:
    """Observe nothing."""


@dataclass
class PassManager:
    """
    Runs `passes` in order. The module is verified before the first and after each that
    changed it, but not as it was when it was last verified here; operations that passes
    make take the location of what they replace.
    """

    passes: Sequence[ModulePass]
    verifies: bool = True
    print_after: PrintAfter = PrintAfter.CHOSEN
    chosen: frozenset[str] = frozenset()
    """Names of passes after which the program is shown in any case."""
    timing: Timing = field(default_factory=Timing)
    show: Callable[[str], object] = sys.stderr.write
    observer: Observer = _observe_nothing
    _verified: Snapshot | None = field(default=None, init=False)
    """The module as it was when it was last verified."""

    def run(self, context: Context, module: ModuleOp) -> None:
        """Apply all passes to `module` in place. Raises `CompileError`."""
        with reduce_collections():
            self._run(context, module)

    def _run(self, context: Context, module: ModuleOp) -> None:
        is_changed = self._verify(module, "verifier")
        self.observer(0, module, is_changed)
        before = self._text(module) if self.print_after is PrintAfter.CHANGE else ""
        for count, each in enumerate(self.passes, 1):
            step = f"pass `{each.name}`"
            with self.timing.measure(each.name), locate_errors(module, step):
                each.apply(context, module)
            propagate_locations(module)
            before = self._print_if_requested(each.name, module, before)
            is_changed = self._verify(module, step)
            self.observer(count, module, is_changed)

    def _verify(self, module: ModuleOp, step: str) -> bool:
        """Verify a module that changed; return whether it did, as far as is known."""
        if not self.verifies:
            return True
        with self.timing.measure("(verify)"), locate_errors(module, step):
            found = take_snapshot(module)
            if is_changed := found != self._verified:
                verify(module)
            self._verified = found
        return is_changed

    def _print_if_requested(self, name: str, module: ModuleOp, before: str) -> str:
        """Show `module` if asked to; return the text to compare the next one with."""
        compares = self.print_after is PrintAfter.CHANGE
        is_chosen = self.print_after is PrintAfter.ALL or name in self.chosen
        if not (compares or is_chosen):
            return before
        after = self._text(module)
        if is_chosen or after != before:
            self.show(f"// -----// IR after {name} //----- //\n{after}\n")
        return after

    @staticmethod
    def _text(module: ModuleOp) -> str:
        return str(module)
