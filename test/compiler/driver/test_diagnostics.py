"""Reported locations of errors, however they were raised."""

import pytest
from xdsl.context import Context
from xdsl.dialects import test
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation
from xdsl.passes import ModulePass
from xdsl.utils.exceptions import DiagnosticException, PassFailedException

from tlf.compiler.driver.diagnostics import CompileError
from tlf.compiler.driver.driver import new_context, parse_module
from tlf.compiler.driver.pass_manager import PassManager
from tlf.compiler.driver.source import Source

SOURCE = Source('\n"test.op"() : () -> ()\n  "test.op"() : () -> ()\n', "a.mlir")


class EmitErrorPass(ModulePass):
    """
    Fails through the operation.
    """

    name = "emit-error"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for each in op.ops:
            if each.next_op is None:
                each.emit_error("not told", PassFailedException("no way"))


class RaisePass(ModulePass):
    """
    Fails in a function whose `op` is the operation.
    """

    name = "raise"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for each in op.ops:
            self.check(each)

    def check(self, op: Operation) -> None:
        if op.next_op is None:
            raise DiagnosticException("no\n  way")


class NoPlacePass(ModulePass):
    """
    Fails for the program as a whole.
    """

    name = "no-place"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        raise PassFailedException("no way")


class BrokenPass(ModulePass):
    """
    Has a mistake.
    """

    name = "broken"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        raise KeyError("x")


class InvalidPass(ModulePass):
    """
    Leaves a use before its definition.
    """

    name = "invalid"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        first, last = op.ops
        assert isinstance(last, test.TestOp)
        op.body.block.insert_op_before(test.TestOp(operands=last.results), first)


@pytest.mark.parametrize(
    ("failing", "expected"),
    [
        (EmitErrorPass(), "a.mlir:3:3: error: no way"),
        (RaisePass(), "a.mlir:3:3: error: no way"),
        (NoPlacePass(), "a.mlir:2:1: error: no way"),
        (
            BrokenPass(),
            "a.mlir:2:1: error: internal error in pass `broken`: KeyError: 'x'",
        ),
    ],
)
def test_position(failing: ModulePass, expected: str):
    context = new_context()
    module = parse_module(context, SOURCE)

    with pytest.raises(CompileError) as error:
        PassManager([failing]).run(context, module)
    assert str(error.value) == expected


def test_passes_are_verified():
    context = new_context()
    text = '"test.op"() : () -> ()\n%0 = "test.op"() : () -> i32\n'
    module = parse_module(context, Source(text, "a.mlir"))

    with pytest.raises(CompileError, match=r"^a.mlir:1:1: error: test.op: operand 0"):
        PassManager([InvalidPass()]).run(context, module)


def test_contexts_do_not_share_resources():
    """Two modules with equally named resources, one after the other."""
    for value in ("0x0100000001", "0x0100000002"):
        text = (
            "%0 = arith.constant dense_resource<w> : tensor<1xi8>\n"
            f'{{-# dialect_resources: {{ builtin: {{ w: "{value}" }} }} #-}}\n'
        )
        context = new_context()
        module = parse_module(context, Source(text, "a.mlir"))

        assert "dense_resource<w>" in str(module)
