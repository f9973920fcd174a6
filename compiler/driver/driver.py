"""Driver: contexts, and parsing and printing of modules, for all tools."""

from __future__ import annotations

import dataclasses
from io import StringIO

from xdsl.context import Context
from xdsl.dialect_interfaces.op_asm import OpAsmDialectInterface
from xdsl.dialects.builtin import Builtin, ModuleOp
from xdsl.ir import Dialect
from xdsl.passes import ModulePass
from xdsl.targets.mlir import MLIRTarget
from xdsl.utils.target import Target

from tlf.compiler.driver.located_parser import LocatedParser
from tlf.compiler.driver.plugins import (
    BUILTIN_UNIVERSES,
    FactoryRegistry,
    PluginContext,
)
from tlf.compiler.driver.source import Source
from tlf.dialects.target import TargetSpec
from tlf.planner.context import Evaluator, Memo


def _load_canonicalize_pass() -> type[ModulePass]:
    """Return the pass class, imported on first use."""
    from tlf.dialects.located_canonicalization import LocatedCanonicalizePass

    return LocatedCanonicalizePass


def _load_dead_operation_erasure_pass() -> type[ModulePass]:
    """Return the pass class, imported on first use."""
    from tlf.dialects.dead_operations import DeadOperationErasurePass

    return DeadOperationErasurePass


PASSES = FactoryRegistry(
    lambda universe: universe.all_passes,
    {
        "canonicalize": _load_canonicalize_pass,
        "dce": _load_dead_operation_erasure_pass,
    },
)
TARGETS = FactoryRegistry(lambda universe: universe.all_targets)


def new_context(allow_unregistered: bool = False) -> Context:
    """Return a context with the dialects of xDSL, TLF and plugins, loaded lazily."""
    context = PluginContext(allow_unregistered, _make_cycle_evaluator)
    for universe in BUILTIN_UNIVERSES:
        for name, factory in universe.all_dialects.items():
            context.register_dialect(
                name, _make_builtin_dialect if name == Builtin.name else factory
            )
    context.load_registered_dialect(Builtin.name)
    return context


def _make_cycle_evaluator(target: TargetSpec, steps: int, memo: Memo) -> Evaluator:
    """Return an evaluator that lowers copies of programs to count their cycles."""
    from tlf.lowering.evaluator import LoweringEvaluator

    return LoweringEvaluator(target, steps, memo)


def _make_builtin_dialect() -> Dialect:
    """
    Return the builtin dialect with a resource store of its own: xDSL's is global to the
    process, and confuses equal keys of two modules.
    """
    return Dialect(
        Builtin.name,
        list(Builtin.operations),
        list(Builtin.attributes),
        [OpAsmDialectInterface()],
    )


def parse_module(
    context: Context, source: Source, allow_implicit_module: bool = True
) -> ModuleOp:
    """Parse a module, with a location for every operation. Raises `ParseError`."""
    parser = LocatedParser(context, source.text, source.name)
    return parser.parse_module(allow_implicit_module)


def emit_text(
    context: Context, module: ModuleOp, target: Target, **printing: bool
) -> str:
    """
    Return the text of `module` in `target`; `printing` applies to the target `mlir`
    only.
    """
    if isinstance(target, MLIRTarget):
        target = dataclasses.replace(target, **printing)
    output = StringIO()
    target.emit(context, module, output)
    text = output.getvalue()
    return text.rstrip("\n") + "\n" if isinstance(target, MLIRTarget) else text
