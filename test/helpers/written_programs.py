"""Programs with indexed writes to tensors, and their inputs."""

from dataclasses import dataclass

from indexed_programs import shaped, some_indices, some_table
from numpy.random import Generator

from tlf.dialects.interfaces import Array


@dataclass(frozen=True)
class Write:
    """Scatter: its kind, shapes and types."""

    kind: str
    table: tuple[int, ...]
    indices: tuple[int, ...]
    updates: tuple[int, ...]
    axis: int
    element: str = "f32"
    index: str = "i64"

    @property
    def types(self) -> tuple[str, str, str]:
        """Types of the operands."""
        return (
            shaped(self.table, self.element),
            shaped(self.indices, self.index),
            shaped(self.updates, self.element),
        )

    @property
    def operation(self) -> str:
        """Text of the operation on `%x`, `%n` and `%u`."""
        table, indices, updates = self.types
        return (
            f"graph.scatter %x, %n, %u axis {self.axis} <{self.kind}>"
            f" : ({table}, {indices}, {updates}) -> {table}"
        )

    @property
    def text(self) -> str:
        """Program with only this operation."""
        table, indices, updates = self.types
        return f"""
func.func @main(%x: {table}, %n: {indices}, %u: {updates}) -> {table} {{
  %y = {self.operation}
  func.return %y : {table}
}}
"""

    def inputs(self, rng: Generator) -> dict[str, Array]:
        """
        Return special values, and indices, some of them out of bounds and some equal.
        """
        return {
            "x": some_table(rng, self.table, self.element),
            "n": some_indices(rng, self.indices, self.index, self.table[self.axis]),
            "u": some_table(rng, self.updates, self.element),
        }


ROWS = Write("add", (9, 24), (31, 1), (31, 24), 0)
PLACES = Write("add", (7, 40), (7, 65), (7, 65), 1)

WRITES = [
    ROWS,
    PLACES,
    Write("set", (9, 24), (31, 1), (31, 24), 0, index="i32"),
    Write("set", (7, 40), (7, 65), (7, 65), 1, index="i32"),
    Write("add", (9, 24), (31, 1), (31, 17), 0),
    Write("set", (9, 24), (31, 17), (31, 17), 0),
    Write("add", (5, 33, 7), (1, 12, 1), (5, 12, 7), 1, index="i32"),
    Write("set", (5, 33, 7), (1, 12, 1), (4, 12, 3), 1),
    Write("add", (5, 33, 7), (5, 12, 1), (5, 12, 7), 1),
    Write("add", (5, 6, 40), (1, 6, 50), (5, 6, 50), 2),
    Write("set", (5, 6, 40), (5, 2, 3), (5, 2, 3), 2),
    Write("add", (40,), (70,), (70,), 0, index="i32"),
    Write("set", (40,), (1,), (1,), 0),
    Write("add", (1, 9), (6, 9), (6, 9), 0, "i32"),
    Write("set", (40, 1, 1), (6, 1, 1), (6, 1, 1), 0),
    Write("add", (300, 3), (1000, 1), (1000, 3), 0),
    Write("set", (3, 4, 70), (3, 4, 500), (3, 4, 500), 2),
    Write("add", (8, 2500), (3, 1), (3, 2500), 0),
    Write("set", (3, 8, 2500), (1, 5, 1), (3, 5, 2500), 1),
    Write("add", (2, 8, 1201), (2, 11, 1201), (2, 11, 1201), 1, index="i32"),
]
"""Single operations of several shapes, along several axes, in one tile and in many."""

X, N, U = ROWS.types
WRITE = ROWS.operation

AROUND = {
    "computed": f"""
func.func @main(%a: {X}, %n: {N}, %b: {U}) -> {X} {{
  %x = graph.neg %a : {X}
  %u = graph.mul %b, %b : ({U}, {U}) -> {U}
  %0 = {WRITE}
  %y = graph.abs %0 : {X}
  func.return %y : {X}
}}""",
    "needed-later": f"""
func.func @main(%a: {X}, %n: {N}, %u: {U}) -> ({X}, {X}) {{
  %x = graph.neg %a : {X}
  %0 = {WRITE}
  %1 = graph.abs %x : {X}
  func.return %0, %1 : {X}, {X}
}}""",
    "returned-before": f"""
func.func @main(%a: {X}, %n: {N}, %u: {U}) -> ({X}, {X}) {{
  %x = graph.neg %a : {X}
  %0 = {WRITE}
  func.return %x, %0 : {X}, {X}
}}""",
    "zeros": f"""
func.func @main(%n: {N}, %u: {U}) -> {X} {{
  %x = graph.constant dense<0.0> : {X}
  %0 = {WRITE}
  func.return %0 : {X}
}}""",
    "zeros-twice": f"""
func.func @main(%n: {N}, %u: {U}, %m: {N}) -> ({X}, {X}) {{
  %x = graph.constant dense<0.0> : {X}
  %0 = {WRITE}
  %1 = {WRITE.replace("%n", "%m")}
  func.return %0, %1 : {X}, {X}
}}""",
    "one-after-the-other": f"""
func.func @main(%x: {X}, %n: {N}, %u: {U}, %m: {N}) -> {X} {{
  %0 = {WRITE}
  %1 = {WRITE.replace("%x", "%0").replace("%n", "%m").replace("<add>", "<set>")}
  %2 = {WRITE.replace("%x", "%1")}
  func.return %2 : {X}
}}""",
    "twice": f"""
func.func @main(%x: {X}, %n: {N}, %u: {U}, %m: {N}) -> ({X}, {X}) {{
  %0 = {WRITE}
  %1 = {WRITE.replace("%x", "%0").replace("%n", "%m")}
  func.return %0, %1 : {X}, {X}
}}""",
    "seen-otherwise": f"""
func.func @main(%a: tensor<24x9xf32>, %n: {N}, %u: {U}) -> tensor<216xf32> {{
  %0 = graph.neg %a : tensor<24x9xf32>
  %x = graph.reshape %0 : (tensor<24x9xf32>) -> {X}
  %1 = {WRITE}
  %y = graph.reshape %1 : ({X}) -> tensor<216xf32>
  func.return %y : tensor<216xf32>
}}""",
    "computed-indices": f"""
func.func @main(%x: {X}, %m: {N}, %u: {U}) -> {X} {{
  %one = graph.constant dense<1> : tensor<i64>
  %n = graph.add %m, %one : ({N}, tensor<i64>) -> {N}
  %0 = {WRITE}
  func.return %0 : {X}
}}""",
    "broadcast-indices": f"""
func.func @main(%x: {X}, %m: tensor<31xi64>, %u: {U}) -> {X} {{
  %k = graph.reshape %m : (tensor<31xi64>) -> {N}
  %n = graph.broadcast %k : ({N}) -> tensor<31x24xi64>
  %0 = {WRITE.replace(N, "tensor<31x24xi64>")}
  func.return %0 : {X}
}}""",
    "taken": f"""
func.func @main(%a: {X}, %n: {N}, %u: {U}, %k: tensor<5xi64>) -> tensor<5x24xf32> {{
  %x = graph.neg %a : {X}
  %0 = {WRITE}
  %y = graph.take %0, %k axis 0 : ({X}, tensor<5xi64>) -> tensor<5x24xf32>
  func.return %y : tensor<5x24xf32>
}}""",
    "joined": f"""
func.func @main(%a: {X}, %n: {N}, %u: {U}) -> tensor<18x24xf32> {{
  %x = graph.neg %a : {X}
  %0 = {WRITE}
  %y = graph.concat %0, %a axis 0 : ({X}, {X}) -> tensor<18x24xf32>
  func.return %y : tensor<18x24xf32>
}}""",
    "onto-joined": f"""
func.func @main(%a: tensor<4x24xf32>, %b: tensor<5x24xf32>, %n: {N}, %u: {U}) -> {X} {{
  %x = graph.concat %a, %b axis 0
      : (tensor<4x24xf32>, tensor<5x24xf32>) -> {X}
  %0 = {WRITE}
  func.return %0 : {X}
}}""",
    "onto-itself": """
func.func @main(%x: tensor<9xi64>) -> tensor<9xi64> {
  %0 = graph.scatter %x, %x, %x axis 0 <add>
      : (tensor<9xi64>, tensor<9xi64>, tensor<9xi64>) -> tensor<9xi64>
  func.return %0 : tensor<9xi64>
}""",
}
"""Programs with operations before and after the write, exact in f32."""
