"""Attention and other reductions over positions that a mask shows."""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from cascade_programs import run
from differential import parsed
from numpy.typing import NDArray
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp

from tlf.analysis.tiling.group_analysis import GroupMembers, group_members_of
from tlf.dialects import graph, tile
from tlf.dialects.interfaces import Array, ConstantInterface, TilingInterface
from tlf.dialects.target import load_target_spec
from tlf.passes.plan.graph_group import move_operations_into_group

MASKS: Mapping[str, str] = {
    "causal": """
  %at = graph.add %i, %ahead : ({R1}, {I}) -> {R1}
  %m = graph.compare %at, %j <ge> : ({R1}, {C1}) -> {M}""",
    "window": """
  %at = graph.add %i, %ahead : ({R1}, {I}) -> {R1}
  %d = graph.sub %at, %j : ({R1}, {C1}) -> {D}
  %near = graph.compare %d, %before <le> : ({D}, {I}) -> {M}
  %far = graph.neg %behind : {I}
  %past = graph.compare %d, %far <ge> : ({D}, {I}) -> {M}
  %m = graph.and %near, %past : {M}""",
    "distance": """
  %at = graph.add %i, %ahead : ({R1}, {I}) -> {R1}
  %d = graph.sub %at, %j : ({R1}, {C1}) -> {D}
  %far = graph.abs %d : {D}
  %h = graph.compare %far, %before <gt> : ({D}, {I}) -> {M}
  %m = graph.not %h : {M}""",
    "padding": """
  %row = graph.compare %j, %length <lt> : ({C1}, {I}) -> tensor<1x{C}xi1>
  %m = graph.broadcast %row : (tensor<1x{C}xi1>) -> {M}""",
    "padded causal": """
  %at = graph.add %i, %ahead : ({R1}, {I}) -> {R1}
  %late = graph.compare %at, %j <lt> : ({R1}, {C1}) -> {M}
  %row = graph.compare %j, %length <ge> : ({C1}, {I}) -> tensor<1x{C}xi1>
  %h = graph.or %late, %row : ({M}, tensor<1x{C}xi1>) -> {M}
  %m = graph.not %h : {M}""",
}
"""Masks of R x C elements, true where a column is shown to a row."""


@dataclass(frozen=True)
class MaskedProgram:
    """Attention of rows to columns, with a mask."""

    mask: str
    rows: int
    columns: int
    ahead: int = 0
    """Position of the first row."""
    before: int = 0
    """Positions before its own that a row attends to; negative for none."""
    behind: int = 0
    """Positions behind its own that a row attends to."""
    length: int = 0
    """Number of columns that are not padding."""
    depth: int = 8
    element: str = "f32"
    is_added: bool = False
    """True if the mask is added to scores, rather than selecting them."""
    batch: int = 1

    def text(self) -> str:
        """Return the program."""
        return self._format(ATTENTION)

    def product(self) -> str:
        """Return the product of the part of a matrix that the mask shows."""
        return self._format(MASKED_PRODUCT)

    def _format(self, body: str) -> str:
        infinity = {"f32": "FF800000", "f16": "FC00", "bf16": "FF80"}[self.element]
        shapes = {
            "Q": (self.batch, self.rows, self.depth),
            "K": (self.batch, self.depth, self.columns),
            "S": (self.batch, self.rows, self.columns),
            "V": (self.batch, self.columns, self.depth),
        }
        if self.batch == 1:
            shapes = {name: shape[1:] for name, shape in shapes.items()}
        types = {
            name: f"tensor<{'x'.join(map(str, shape))}x{self.element}>"
            for name, shape in shapes.items()
        }
        types |= {
            "R1": f"tensor<{self.rows}x1xi32>",
            "C1": f"tensor<1x{self.columns}xi32>",
            "D": f"tensor<{self.rows}x{self.columns}xi32>",
            "M": f"tensor<{self.rows}x{self.columns}xi1>",
            "B": f"tensor<{self.rows}x{self.columns}x{self.element}>",
            "E": f"tensor<{self.element}>",
            "I": "tensor<i32>",
        }
        numbers = {
            name: getattr(self, name)
            for name in ("ahead", "before", "behind", "length")
        }
        sizes = {"R": self.rows, "C": self.columns, "axis": len(shapes["S"]) - 1}
        mask = POSITIONS + MASKS[self.mask]
        apply = ADDED if self.is_added else SELECTED
        text = body.replace("{mask}", mask).replace("{apply}", apply)
        return text.format(INF=infinity, **types, **numbers, **sizes)

    def shown(self) -> NDArray[np.bool_]:
        """Return the mask."""
        row = np.arange(self.rows)[:, None] + self.ahead
        column = np.arange(self.columns)[None, :]
        match self.mask:
            case "causal":
                mask = row >= column
            case "window":
                mask = (row - column <= self.before) & (row - column >= -self.behind)
            case "distance":
                mask = abs(row - column) <= self.before
            case "padding":
                mask = (column < self.length) & (row == row)
            case _:
                mask = (row >= column) & (column < self.length)
        return mask

    def tile_sizes(self, seed: int) -> tuple[int, int]:
        """Return the rows and columns of tiles, at most those of the program."""
        sizes = (4 << seed % 3, self.rows), (2 << seed % 4, self.columns)
        rows, columns = (min(tile, 1 << n.bit_length() - 1) for tile, n in sizes)
        return rows, columns

    def inputs(self, seed: int) -> dict[str, Array]:
        """Return random queries, keys and values."""
        generator = np.random.default_rng(seed)
        head = () if self.batch == 1 else (self.batch,)
        shapes = {
            "q": (*head, self.rows, self.depth),
            "k": (*head, self.depth, self.columns),
            "v": (*head, self.columns, self.depth),
        }
        dtype = {"f32": "float32", "f16": "float16", "bf16": "bfloat16"}[self.element]
        return {
            name: generator.standard_normal(shape).astype(dtype)
            for name, shape in shapes.items()
        }

    def attention(self, inputs: Mapping[str, Array]) -> NDArray[np.float64]:
        """Return the attention in f64; a row without columns is NaN."""
        q, k, v = (inputs[name].astype(np.float64) for name in "qkv")
        scores = np.where(self.shown(), q @ k, -np.inf)
        with np.errstate(invalid="ignore"):
            weights = np.exp(scores - scores.max(-1, keepdims=True))
            return weights @ v / weights.sum(-1, keepdims=True)

    def masked_product(
        self, inputs: Mapping[str, Array]
    ) -> tuple[Array, NDArray[np.float64]]:
        """Return a matrix that is infinite where it is hidden, and its product."""
        q, k, v = (inputs[name].astype(np.float64) for name in "qkv")
        scores = q @ k
        product = np.where(self.shown(), scores, 0) @ v
        return np.where(self.shown(), scores, np.inf).astype(np.float32), product


POSITIONS = """
  %i = graph.iota axis 0 : {R1}
  %j = graph.iota axis 1 : {C1}
  %ahead = graph.constant dense<{ahead}> : {I}
  %before = graph.constant dense<{before}> : {I}
  %behind = graph.constant dense<{behind}> : {I}
  %length = graph.constant dense<{length}> : {I}
  %hidden = graph.constant dense<0x{INF}> : {E}
  %zero = graph.constant dense<0.0> : {E}"""

SELECTED = """
  %t = graph.select %m, %s, %hidden : ({M}, {S}, {E}) -> {S}"""

ADDED = """
  %b = graph.select %m, %zero, %hidden : ({M}, {E}, {E}) -> {B}
  %t = graph.add %s, %b : ({S}, {B}) -> {S}"""

ATTENTION = """func.func @main(%q: {Q}, %k: {K}, %v: {V}) -> {Q} {{{mask}
  %s = graph.matmul %q, %k : ({Q}, {K}) -> {S}{apply}
  %p = graph.softmax %t axis {axis} : ({S}) -> {S}
  %y = graph.matmul %p, %v : ({S}, {V}) -> {Q}
  func.return %y : {Q}
}}
"""

MASKED_PRODUCT = """func.func @main(%s: {S}, %v: {V}) -> {Q} {{{mask}
  %t = graph.select %m, %s, %zero : ({M}, {S}, {E}) -> {S}
  %y = graph.matmul %t, %v : ({S}, {V}) -> {Q}
  func.return %y : {Q}
}}
"""


def lower_to_loops(
    program: str, rows: int, columns: int, target: str = "h200"
) -> tuple[Context, ModuleOp]:
    """Return a program as loops over tiles of one batch, some rows and columns."""
    context, module, members = parse_group(program, target)
    tiles = tile_sizes_of(members, rows)
    group = move_operations_into_group(members)
    group.plan = graph.PlanAttr("L1", tiles, (columns,), tile.Mapping.GRID)
    run("convert-graph-to-tile", context, module)
    return context, module


def tile_sizes_of(members: GroupMembers, rows: int) -> tuple[int, ...]:
    """Return the sizes of tiles of some rows of one batch."""
    extents = members.op_facts.facts_of(members.root).parallel_extents
    *outer, count = extents[:-1] or extents
    return *[1] * len(outer), min(rows, count), *extents[1 + len(outer) :]


def parse_group(
    program: str, target: str = "h200"
) -> tuple[Context, ModuleOp, GroupMembers]:
    """Return a decomposed program, with its operations as the members of a group."""
    context, module = parsed(program)
    load_target_spec(target).attach_to_module(module)
    run("graph-decompose,graph-hoist-scales", context, module)
    operations = [
        op
        for op in module.walk()
        if isinstance(op, TilingInterface) and not isinstance(op, ConstantInterface)
    ]
    return context, module, group_members_of(operations)


def draw_program(seed: int, element: str = "f32") -> MaskedProgram:
    """Return a random program; some of its rows may attend to nothing."""
    rng = random.Random(seed)
    rows, columns = rng.randint(1, 40), rng.randint(1, 50)
    return MaskedProgram(
        rng.choice([*MASKS]),
        rows,
        columns,
        ahead=rng.randint(-columns, columns),
        before=rng.randint(-4, columns),
        behind=rng.randint(-4, columns),
        length=rng.randint(0, columns),
        element=element,
        is_added=rng.random() < 0.3,
        batch=rng.choice([1, 1, 2]),
    )
