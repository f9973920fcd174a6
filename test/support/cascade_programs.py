"""Programs whose reductions along one axis need each other's results."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from xdsl.dialects.builtin import ModuleOp

from tlf.dialects import graph, tile
from tlf.dialects.interfaces import ConstantInterface, TilingInterface
from tlf.dialects.target import load
from tlf.dialects.types import tensor_type
from tlf.passes.graph_group import build_group
from tlf.passes.tiling.group import members_of
from tlf.tools.driver import PASSES, new_context, parse
from tlf.tools.pass_manager import PassManager
from tlf.tools.pipeline import build_passes
from tlf.tools.source import Source

BODIES: Mapping[str, str] = {
    "attention": """
  %p = graph.softmax %t axis 1 : ({S}) -> {S}
  %y = graph.matmul %p, %v : ({S}, {V}) -> {Y}""",
    "negative exponents": """
  %m = graph.reduce %t <min> axes [1] keepdims : ({S}) -> {R}
  %d = graph.sub %m, %t : ({R}, {S}) -> {S}
  %e = graph.exp %d : {S}
  %y = graph.matmul %e, %v : ({S}, {V}) -> {Y}""",
    "rectified": """
  %p = graph.relu %t : {S}
  %y = graph.matmul %p, %v : ({S}, {V}) -> {Y}""",
    "gated": """
  %l = graph.reduce %t <sum> axes [1] keepdims : ({S}) -> {R}
  %h = graph.tanh %t : {S}
  %o = graph.matmul %h, %v : ({S}, {V}) -> {Y}
  %y = graph.mul %o, %l : ({Y}, {R}) -> {Y}""",
    "logarithm": """
  %m = graph.reduce %t <max> axes [1] keepdims : ({S}) -> {R}
  %d = graph.sub %t, %m : ({S}, {R}) -> {S}
  %e = graph.exp %d : {S}
  %l = graph.reduce %e <sum> axes [1] keepdims : ({S}) -> {R}
  %g = graph.log %l : {R}
  %y = graph.add %g, %m : ({R}, {R}) -> {R}""",
    "moments": """
  %m = graph.reduce %t <sum> axes [1] keepdims : ({S}) -> {R}
  %u = graph.mul %t, %t : ({S}, {S}) -> {S}
  %l = graph.reduce %u <sum> axes [1] keepdims : ({S}) -> {R}
  %n = graph.mul %m, %m : ({R}, {R}) -> {R}
  %y = graph.sub %l, %n : ({R}, {R}) -> {R}""",
}
"""What follows scores `t`, of rows and columns, with values `v` for each column."""

ROWS = ("logarithm", "moments")
"""Those of which one number comes for each row."""


def program(body: str, sizes: Sequence[int], element: str) -> str:
    """
    The scores of some queries and keys, with a bias, and what follows. `sizes` are
    rows, columns, and how long queries and values are.
    """
    rows, columns, inner, depth = sizes
    shapes = {
        "Q": (rows, inner),
        "K": (inner, columns),
        "S": (rows, columns),
        "V": (columns, depth),
        "R": (rows, 1),
        "Y": (rows, 1 if body in ROWS else depth),
    }
    types = {name: f"tensor<{m}x{n}x{element}>" for name, (m, n) in shapes.items()}
    lines = """
  %s = graph.matmul %q, %k : ({Q}, {K}) -> {S}
  %t = graph.add %s, %b : ({S}, {S}) -> {S}"""
    arguments = "%q: {Q}, %k: {K}, %b: {S}, %v: {V}".format(**types)
    if body in ROWS:
        arguments = arguments.rpartition(",")[0]
    text = (lines + BODIES[body] + "\n  func.return %y : {Y}").format(**types)
    return f"func.func @main({arguments}) -> {types['Y']} {{{text}\n}}\n"


def in_one_loop(text: str, rows: int, columns: int) -> ModuleOp:
    """
    A program as one group for a GPU, in tiles of so many rows, in steps of so many
    columns.
    """
    context, target = new_context(), load("h200")
    module = parse(context, Source(text, "cascade"))
    target.attach(module)
    passes = "graph-decompose,graph-move-factors"
    PassManager(build_passes(passes, PASSES, {})).run(context, module)
    operations = [
        op
        for op in module.walk()
        if isinstance(op, TilingInterface) and not isinstance(op, ConstantInterface)
    ]
    members = members_of(operations)
    _, depth = tensor_type(members.results[0]).get_shape()
    group = build_group(members)
    group.plan = graph.PlanAttr("L1", (rows, depth), (columns,), tile.Mapping.GRID)
    passes = "convert-graph-to-tile"
    PassManager(build_passes(passes, PASSES, {})).run(context, module)
    return module
