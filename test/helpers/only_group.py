"""The group that all operations of a program become."""

from tlf.compiler.driver.driver import PASSES, new_context, parse
from tlf.compiler.driver.pass_manager import PassManager
from tlf.compiler.driver.pipeline import build_passes
from tlf.compiler.driver.source import Source
from tlf.dialects import graph
from tlf.dialects.target import TargetSpec


def only_group(text: str, target: TargetSpec, options: str) -> graph.GroupOp:
    """The only group that `graph-group` with some options makes of a program."""
    module = parse(new_context(), Source(text, "group"))
    target.attach(module)
    passes = build_passes(f"graph-group{{{options}}}", PASSES, {})
    PassManager(passes).run(new_context(), module)
    (group,) = (op for op in module.walk() if isinstance(op, graph.GroupOp))
    return group
