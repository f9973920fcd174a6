"""A module is verified again as soon as anything of it changed, and only then."""

from collections.abc import Callable
from dataclasses import dataclass, field

import pytest
from xdsl.dialects import arith, cf, func
from xdsl.dialects.builtin import IntegerAttr, ModuleOp, StringAttr, f32, i32, i64
from xdsl.ir import Block, Operation
from xdsl.rewriter import Rewriter

from tlf.compiler.driver.driver import new_context, parse_module
from tlf.compiler.driver.snapshot import take_snapshot
from tlf.compiler.driver.source import Source

TEXT = """
func.func @f(%a: i32, %b: i32, %c: i1) -> i32 {
  %one = arith.constant 1 : i32
  %sum = arith.addi %a, %one : i32
  cf.cond_br %c, ^left(%sum : i32), ^right
^left(%x: i32):
  func.return %x : i32
^right:
  func.return %b : i32
}
"""


@dataclass
class Program:
    """A module, and what tests change in it."""

    module: ModuleOp = field(
        default_factory=lambda: parse_module(
            new_context(), Source(TEXT, "program.mlir")
        )
    )

    def only(self, kind: type[Operation]) -> Operation:
        """The first operation of a kind."""
        return next(op for op in self.module.walk() if isinstance(op, kind))

    @property
    def blocks(self) -> list[Block]:
        """Those of the function."""
        return list(self.only(func.FuncOp).regions[0].blocks)


def _swap_operands(program: Program) -> None:
    add = program.only(arith.AddiOp)
    add.operands = tuple(reversed(add.operands))


def _change_result_type(program: Program) -> None:
    Rewriter.replace_value_with_new_type(program.only(arith.AddiOp).results[0], i64)


def _change_property(program: Program) -> None:
    constant = program.only(arith.ConstantOp)
    constant.properties["value"] = IntegerAttr(2, i32)


def _drop_property(program: Program) -> None:
    del program.only(arith.ConstantOp).properties["value"]


def _add_attribute(program: Program) -> None:
    program.only(arith.AddiOp).attributes["note"] = StringAttr("text")


def _move(program: Program) -> None:
    add, constant = program.only(arith.AddiOp), program.only(arith.ConstantOp)
    add.detach()
    program.blocks[0].insert_op_before(add, constant)


def _move_to_another_block(program: Program) -> None:
    constant = program.only(arith.ConstantOp)
    constant.detach()
    last = program.blocks[2].last_op
    assert last is not None
    program.blocks[2].insert_op_before(constant, last)


def _change_argument_type(program: Program) -> None:
    Rewriter.replace_value_with_new_type(program.blocks[0].args[1], f32)


def _add_argument(program: Program) -> None:
    program.blocks[2].insert_arg(i32, 0)


def _swap_successors(program: Program) -> None:
    branch = program.only(cf.ConditionalBranchOp)
    branch.successors = tuple(reversed(branch.successors))


def _add_block(program: Program) -> None:
    program.only(func.FuncOp).regions[0].add_block(Block())


def _erase(program: Program) -> None:
    Rewriter.erase_op(program.only(arith.AddiOp), safe_erase=False)


CHANGES = [
    _swap_operands,
    _change_result_type,
    _change_property,
    _drop_property,
    _add_attribute,
    _move,
    _move_to_another_block,
    _change_argument_type,
    _add_argument,
    _swap_successors,
    _add_block,
    _erase,
]


@pytest.mark.parametrize("change", CHANGES, ids=lambda each: each.__name__)
def test_changes_are_seen(change: Callable[[Program], None]):
    program = Program()
    before = take_snapshot(program.module)
    assert take_snapshot(program.module) == before

    change(program)

    assert take_snapshot(program.module) != before


def test_equal_modules_differ():
    assert take_snapshot(Program().module) != take_snapshot(Program().module)
