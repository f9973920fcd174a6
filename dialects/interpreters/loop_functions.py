"""Reference interpretation of loops of the `scf` dialect, and of index arithmetic."""

from itertools import product

from xdsl.dialects import affine, arith, scf
from xdsl.dialects.builtin import FloatAttr, IntegerAttr
from xdsl.interpreter import (
    Interpreter,
    InterpreterFunctions,
    PythonValues,
    ReturnedValues,
    impl,
    impl_terminator,
    register_impls,
)
from xdsl.utils.exceptions import InterpretationError


@register_impls
class LoopFunctions(InterpreterFunctions):
    """
    Interpreter functions of `scf` loops, and of `arith` and `affine` index arithmetic.
    """

    @impl(scf.ForOp)
    def run_for(
        self, interpreter: Interpreter, op: scf.ForOp, args: PythonValues
    ) -> PythonValues:
        """Run the body once per iteration in order, and return the carried values."""
        lower, upper, step, *carried = args
        values: PythonValues = tuple(carried)
        for counter in range(lower, upper, step):
            values = interpreter.run_ssacfg_region(op.body, (counter, *values), "for")
        return values

    @impl(scf.ParallelOp)
    def run_parallel(
        self, interpreter: Interpreter, op: scf.ParallelOp, args: PythonValues
    ) -> PythonValues:
        """Run the body at every point of the iteration space, last point first."""
        rank = len(op.lowerBound)
        bounds = args[:rank], args[rank : 2 * rank], args[2 * rank : 3 * rank]
        # Iterations are independent: reverse order exposes overlapping writes.
        ranges = [range(*each)[::-1] for each in zip(*bounds, strict=True)]
        for point in product(*ranges):
            interpreter.run_ssacfg_region(op.body, point, "parallel")
        return ()

    @impl_terminator(scf.YieldOp)
    def run_yield(
        self, interpreter: Interpreter, op: scf.YieldOp, args: PythonValues
    ) -> tuple[ReturnedValues, PythonValues]:
        return ReturnedValues(args), ()

    @impl_terminator(scf.ReduceOp)
    def run_reduce(
        self, interpreter: Interpreter, op: scf.ReduceOp, args: PythonValues
    ) -> tuple[ReturnedValues, PythonValues]:
        return ReturnedValues(()), ()

    @impl(affine.ApplyOp)
    def run_apply(
        self, interpreter: Interpreter, op: affine.ApplyOp, args: PythonValues
    ) -> PythonValues:
        dims = op.map.data.num_dims
        return op.map.data.eval(args[:dims], args[dims:])

    @impl(affine.MinOp)
    def run_min(
        self, interpreter: Interpreter, op: affine.MinOp, args: PythonValues
    ) -> PythonValues:
        dims = op.map.data.num_dims
        return (min(op.map.data.eval(args[:dims], args[dims:])),)

    @impl(arith.ConstantOp)
    def run_constant(
        self, interpreter: Interpreter, op: arith.ConstantOp, args: PythonValues
    ) -> PythonValues:
        if not isinstance(op.value, IntegerAttr | FloatAttr):
            raise InterpretationError(f"expected a number, got {op.value}")
        return (op.value.value.data,)

    @impl(arith.AddiOp)
    def run_addi(
        self, interpreter: Interpreter, op: arith.AddiOp, args: PythonValues
    ) -> PythonValues:
        return (args[0] + args[1],)

    @impl(arith.SubiOp)
    def run_subi(
        self, interpreter: Interpreter, op: arith.SubiOp, args: PythonValues
    ) -> PythonValues:
        return (args[0] - args[1],)

    @impl(arith.MuliOp)
    def run_muli(
        self, interpreter: Interpreter, op: arith.MuliOp, args: PythonValues
    ) -> PythonValues:
        return (args[0] * args[1],)

    @impl(arith.FloorDivSIOp)
    def run_floordivsi(
        self, interpreter: Interpreter, op: arith.FloorDivSIOp, args: PythonValues
    ) -> PythonValues:
        return (args[0] // args[1],)

    @impl(arith.RemSIOp)
    def run_remsi(
        self, interpreter: Interpreter, op: arith.RemSIOp, args: PythonValues
    ) -> PythonValues:
        lhs, rhs = args
        remainder = abs(lhs) % abs(rhs)
        return (-remainder if lhs < 0 else remainder,)

    @impl(arith.MinSIOp)
    def run_minsi(
        self, interpreter: Interpreter, op: arith.MinSIOp, args: PythonValues
    ) -> PythonValues:
        return (min(args),)

    @impl(arith.MaxSIOp)
    def run_maxsi(
        self, interpreter: Interpreter, op: arith.MaxSIOp, args: PythonValues
    ) -> PythonValues:
        return (max(args),)
