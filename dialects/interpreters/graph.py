"""
Reference interpretation of the `graph` dialect: runs the numpy reference of each
operation.

A bf16 tensor is an array of `ml_dtypes.bfloat16`, an i1 tensor an array of `bool`.
"""

from collections.abc import Iterable, Sequence

from xdsl.dialects.builtin import ModuleOp
from xdsl.interpreter import (
    Interpreter,
    InterpreterFunctions,
    PythonValues,
    ReturnedValues,
    impl,
    impl_terminator,
    register_impls,
)
from xdsl.ir import Operation

from tlf.dialects import graph
from tlf.dialects.interfaces import ReferenceInterface


class GraphFunctions(InterpreterFunctions):
    """Interpreter functions of the `graph` dialect."""

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


def _run_numpy_reference(
    functions: InterpreterFunctions,
    interpreter: Interpreter,
    op: ReferenceInterface,
    args: PythonValues,
) -> PythonValues:
    return op.compute_reference(*args)


def _register_reference_functions(
    functions: type[InterpreterFunctions], operation_types: Iterable[type[Operation]]
) -> None:
    """
    Register in the class `functions` one interpreter function per operation type that
    implements `ReferenceInterface`.
    """
    for kind in operation_types:
        if issubclass(kind, ReferenceInterface):
            _, mnemonic = kind.name.split(".", 1)
            setattr(functions, f"run_{mnemonic}", impl(kind)(_run_numpy_reference))
    register_impls(functions)


_register_reference_functions(GraphFunctions, graph.Graph.operations)


def find_reference_functions(module: ModuleOp) -> Sequence[InterpreterFunctions]:
    """
    Return interpreter functions of the operations of a module that have a reference but
    are not of `graph`; none if there are no such operations.
    """
    kinds = {type(op) for op in module.walk()} - set(graph.Graph.operations)
    if not any(issubclass(kind, ReferenceInterface) for kind in kinds):
        return ()

    class OtherFunctions(InterpreterFunctions):
        pass

    _register_reference_functions(OtherFunctions, kinds)
    return (OtherFunctions(),)
