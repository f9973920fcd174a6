"""Grouping of all operations of a program into one group."""

from tlf.compiler.driver.driver import PASSES, new_context, parse_module
from tlf.compiler.driver.pass_manager import PassManager
from tlf.compiler.driver.pipeline import build_passes
from tlf.compiler.driver.source import Source
from tlf.dialects import graph
from tlf.dialects.target import TargetSpec


def only_group(text: str, target: TargetSpec, options: str) -> graph.GroupOp:
    """Return the only group that `graph-group` forms with some options."""
    module = parse_module(new_context(), Source(text, "group"))
    target.attach_to_module(module)
    passes = build_passes(f"graph-group{{{options}}}", PASSES, {})
    PassManager(passes).run(new_context(), module)
    (group,) = (op for op in module.walk() if isinstance(op, graph.GroupOp))
    return group
