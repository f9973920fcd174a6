"""
Driver: pass manager, which runs passes on a module, and verifies, times and prints
between them.
"""

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from enum import StrEnum, auto
from typing import TypeAlias

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from tlf.compiler.driver.diagnostics import locate_errors
from tlf.compiler.driver.gc_tuning import reduce_garbage_collections
from tlf.compiler.driver.module_verifier import IncrementalVerifier
from tlf.compiler.driver.timing import Timing
from tlf.dialects.located_rewriting import propagate_locations
from tlf.dialects.reporting_pass import ReportingPass
from tlf.support.call_stack import reserve_stack
from tlf.support.progress import report_step


class PrintAfter(StrEnum):
    """
    Choice of passes after which the program is printed: chosen passes only, also those
    that change its text, or all.
    """

    CHOSEN = auto()
    CHANGE = auto()
    ALL = auto()


class VerifyEach(StrEnum):
    """
    Verification between passes: none; what changed, after conversions between levels
    and the last pass, or after each pass; or the whole module after each pass.
    """

    NOTHING = auto()
    LEVELS = auto()
    CHANGED = auto()
    FULL = auto()


CONVERSION_PREFIX = "convert-"
"""Start of the names of passes that convert a program to another level."""

CLEAN_UP = ("canonicalize", "tlf-cse", "dce")
"""
Names of the passes of `tidy`, which have no effect but on the program, and which
pipelines repeat.
"""


Observer: TypeAlias = Callable[[int, ModuleOp, bool], object]
"""
Callback before the first pass and after each pass: number of passes run, the module,
and whether it changed since.
"""


def _observe_nothing(count: int, module: ModuleOp, is_changed: bool) -> None:
    """Observe nothing."""


def _write_to_stderr(text: str) -> None:
    sys.stderr.write(text)


@dataclass
class PassManager:
    """
    Pass manager that runs `passes` in order. The module is verified before the first
    pass, and after each pass as far as it changed since the last verification. New
    operations inherit the location of the operations that they replace. Clean-up passes
    that changed nothing do not run again until the module has changed.
    """

    passes: Sequence[ModulePass]
    verify_each: VerifyEach = VerifyEach.CHANGED
    print_after: PrintAfter = PrintAfter.CHOSEN
    printed_passes: frozenset[str] = frozenset()
    """Names of passes after which the program is printed in any case."""
    timing: Timing = field(default_factory=Timing)
    write_output: Callable[[str], object] = _write_to_stderr
    observer: Observer = _observe_nothing
    _verifier: IncrementalVerifier = field(init=False)
    _ineffective: list[ModulePass] = field(init=False, default_factory=list[ModulePass])
    """Clean-up passes that left the module unchanged, as it still is."""

    def __post_init__(self) -> None:
        is_full = self.verify_each is VerifyEach.FULL
        self._verifier = IncrementalVerifier(verifies_unchanged=is_full)

    @reserve_stack
    def run(self, context: Context, module: ModuleOp) -> None:
        """Apply all passes to `module` in place. Raises `CompileError`."""
        with reduce_garbage_collections():
            self._run_passes(context, module)

    def _run_passes(self, context: Context, module: ModuleOp) -> None:
        """Apply each pass to `module`, then locate, print, verify and observe it."""
        self._ineffective.clear()
        is_changed = self._verify_if_changed(module, "verifier", 0)
        self.observer(0, module, is_changed)
        before = (
            self._print_to_text(module) if self.print_after is PrintAfter.CHANGE else ""
        )
        for count, each in enumerate(self.passes, 1):
            step = f"pass `{each.name}`"
            with report_step(each.name, count, len(self.passes)):
                may_differ = each not in self._ineffective and self._apply_pass(
                    each, context, module
                )
                before = self._print_if_requested(each.name, module, before)
                is_changed = may_differ and self._verify_if_changed(module, step, count)
                self._record_effect(each, is_changed)
                self.observer(count, module, is_changed)

    def _apply_pass(
        self, applied: ModulePass, context: Context, module: ModuleOp
    ) -> bool:
        """Apply a pass; return `False` if it reports that it changed nothing."""
        step = f"pass `{applied.name}`"
        with self.timing.measure(applied.name), locate_errors(module, step):
            if not isinstance(applied, ReportingPass):
                applied.apply(context, module)
            elif not applied.rewrite(context, module):
                return False
        propagate_locations(module)
        return True

    def _record_effect(self, applied: ModulePass, is_changed: bool) -> None:
        """Record whether a pass changed the module, which ends what is known of it."""
        if is_changed:
            self._ineffective.clear()
        elif applied.name in CLEAN_UP:
            self._ineffective.append(applied)

    def _is_verified_after(self, count: int) -> bool:
        """Return `True` if the module is verified after the first `count` passes."""
        if self.verify_each is not VerifyEach.LEVELS:
            return self.verify_each is not VerifyEach.NOTHING
        if count in (0, len(self.passes)):
            return True
        return self.passes[count - 1].name.startswith(CONVERSION_PREFIX)

    def _verify_if_changed(self, module: ModuleOp, step: str, count: int) -> bool:
        """
        Verify a module after `count` passes if it changed; return `True` if it did, as
        far as is known.
        """
        if not self._is_verified_after(count):
            return True
        with self.timing.measure("(verify)"), locate_errors(module, step):
            return self._verifier.verify_changes(module)

    def _print_if_requested(
        self, name: str, module: ModuleOp, previous_text: str
    ) -> str:
        """Print `module` if requested; return the text to compare the next one with."""
        compares = self.print_after is PrintAfter.CHANGE
        is_chosen = self.print_after is PrintAfter.ALL or name in self.printed_passes
        if not (compares or is_chosen):
            return previous_text
        after = self._print_to_text(module)
        if is_chosen or after != previous_text:
            self.write_output(f"// -----// IR after {name} //----- //\n{after}\n")
        return after

    @staticmethod
    def _print_to_text(module: ModuleOp) -> str:
        return str(module)
