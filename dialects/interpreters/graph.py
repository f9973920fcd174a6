"""
The `graph` dialect on numpy arrays, each operation by its own reference.

A bf16 tensor is an array of `ml_dtypes.bfloat16`, an i1 tensor one of `bool`.
"""

from xdsl.interpreter import (
    Interpreter,
    InterpreterFunctions,
    PythonValues,
    ReturnedValues,
    impl,
    impl_terminator,
    register_impls,
)

from tlf.dialects import graph
from tlf.dialects.interfaces import ReferenceInterface


class GraphFunctions(InterpreterFunctions):
    """Run the operations of the `graph` dialect."""

    @impl(graph.GroupOp)
    def run_group(
        self, interpreter: Interpreter, op: graph.GroupOp, args: PythonValues
    ) -> PythonValues:
        return interpreter.run_ssacfg_region(op.body, args, "group")

    @impl_terminator(graph.YieldOp)
    def run_yield(
        self, interpreter: Interpreter, op: graph.YieldOp, args: PythonValues
    ) -> tuple[ReturnedValues, PythonValues]:
        return ReturnedValues(args), ()


def _run_reference(
    functions: InterpreterFunctions,
    interpreter: Interpreter,
    op: ReferenceInterface,
    args: PythonValues,
) -> PythonValues:
    return op.reference(*args)


for operation in graph.Graph.operations:
    if issubclass(operation, ReferenceInterface):
        mnemonic = operation.name.removeprefix("graph.")
        setattr(GraphFunctions, f"run_{mnemonic}", impl(operation)(_run_reference))

register_impls(GraphFunctions)
