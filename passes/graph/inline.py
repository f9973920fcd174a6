"""Pass `tlf-inline`: inlines calls of functions of one block."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, OpResult, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint, Rewriter
from xdsl.utils.exceptions import PassFailedException

from tlf.dialects.function_calls import (
    Functions,
    called_names_in,
    callee_name,
    calls_in,
    functions_of,
)
from tlf.dialects.located_rewriting import replace_op


@dataclass(frozen=True)
class InlinePass(ModulePass):
    """
    Inline calls of functions, inner calls first, and erase private functions without
    remaining calls.

    Calls of functions without a body, or with several blocks, are kept. Raises
    `PassFailedException` for recursive functions.
    """

    name = "tlf-inline"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        functions = functions_of(op)
        called = called_names_in(op)
        for function in functions.values():
            inline_calls_in_function(function, functions)
        left = called_names_in(op)
        for name in called:
            if name not in left and _is_private(functions[name]):
                functions[name].detach()
                functions[name].erase()


def inline_calls_in_function(
    function: func.FuncOp, functions: Functions, call_path: tuple[str, ...] = ()
) -> None:
    """
    Inline the calls of `functions` in `function`. `call_path` are the names of the
    functions on the call path to `function`. Raises `PassFailedException` for recursive
    functions.
    """
    path = (*call_path, function.sym_name.data)
    for call in list(calls_in(function)):
        callee = functions[callee_name(call)]
        if not _can_inline(callee):
            continue
        if callee_name(call) in path:
            _raise_recursive_call(call)
        inline_calls_in_function(callee, functions, path)
        _inline_call(call, callee)


def _can_inline(function: func.FuncOp) -> bool:
    if len(function.body.blocks) != 1:
        return False
    return isinstance(function.body.block.last_op, func.ReturnOp)


def insert_callee_before(
    call: func.CallOp,
    callee: func.FuncOp,
    copies: dict[SSAValue, SSAValue] | None = None,
) -> list[Operation]:
    """
    Insert clones of the callee's operations before a call, and return them; add the
    copies of values to `copies`.
    """
    body, copies = callee.body.block, {} if copies is None else copies
    copies.update(zip(body.args, call.arguments, strict=True))
    *computing, _ = body.ops
    clones = [each.clone(copies) for each in computing]
    Rewriter.insert_op(clones, InsertPoint.before(call))
    return clones


def _inline_call(call: func.CallOp, callee: func.FuncOp) -> None:
    """Replace a call by clones of the callee's operations, and keep the callee."""
    copies: dict[SSAValue, SSAValue] = {}
    insert_callee_before(call, callee, copies)
    returning = callee.body.block.last_op
    assert returning is not None
    values = [copies.get(each, each) for each in returning.operands]
    for result, value in zip(call.results, values, strict=True):
        if result.name_hint and isinstance(value, OpResult):
            value.name_hint = result.name_hint
    replace_op(call, [], values)


def _is_private(function: func.FuncOp) -> bool:
    visibility = function.sym_visibility
    return visibility is not None and visibility.data == "private"


def _raise_recursive_call(call: func.CallOp) -> None:
    """Emit an error at a recursive call, and raise `PassFailedException`."""
    message = (
        f"{call.name}: expected calls that come to an end, got a function that calls "
        f"itself, @{callee_name(call)}"
    )
    call.emit_error(message, PassFailedException(message))
