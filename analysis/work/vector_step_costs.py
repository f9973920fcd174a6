"""Analysis of elementwise operations: their vector-engine steps."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias, cast

from xdsl.dialects import arith, math
from xdsl.dialects.utils import FastMathFlag
from xdsl.ir import Operation
from xdsl.traits import ConstantLike

from tlf.analysis.operations.op_kinds import OpKinds
from tlf.dialects import mem
from tlf.dialects.interfaces import ElementwiseInterface
from tlf.dialects.target import TargetSpec
from tlf.dialects.types import is_16_bit_float, tensor_type

Engine: TypeAlias = Mapping[str, object]
"""Figures of an engine."""

SINGLE_STEP_OPS = (
    *(math.AbsFOp, math.AbsIOp, math.CopySignOp, math.FmaOp),
    *(math.CeilOp, math.FloorOp, math.RoundEvenOp, math.RoundOp, math.TruncOp),
)
MULTI_STEP_OPS = (
    arith.DivfOp,
    arith.FPToSIOp,
    arith.FPToUIOp,
    arith.SIToFPOp,
    arith.UIToFPOp,
    mem.RemFOp,
)


@dataclass
class ScalarSteps:
    """
    Scalar operations that compute an element, by the kind of the elementwise operation:
    building them takes long.
    """

    kinds: OpKinds = field(default_factory=OpKinds)
    known: dict[int, tuple[Operation, ...]] = field(
        default_factory=dict[int, tuple[Operation, ...]]
    )
    """Scalar operations without constants, by kind."""

    def steps_of(self, op: ElementwiseInterface) -> tuple[Operation, ...]:
        """Return the scalar operations of an operation, common to its kind."""
        kind = self.kinds.kind_of(op)
        if (steps := self.known.get(kind)) is None:
            steps = self.known[kind] = scalar_steps(op)
        return steps


def lane_steps(
    op: Operation, target: TargetSpec, scalars: ScalarSteps | None = None
) -> int:
    """
    Return the lane steps of the vector engine for an elementwise operation. Functions,
    quotients, and conversions between integers and floats take several steps: the entry
    of the engine's `steps` by name, or of `approximate_steps` if 16-bit accuracy
    suffices, else `transcendental`.
    """
    return _sum_steps_over_elements(op, target, _lane_steps_of, scalars)


def special_steps(
    op: Operation, target: TargetSpec, scalars: ScalarSteps | None = None
) -> int:
    """
    Return the steps of the special function unit, which runs in parallel with the
    lanes, for an elementwise operation: the entry of the vector engine's
    `special_steps`, but one for functions in `approximate_steps` if 16-bit accuracy
    suffices.
    """
    return _sum_steps_over_elements(op, target, _special_steps_of, scalars)


def is_fused_multiply_add(op: Operation, scalars: ScalarSteps | None = None) -> bool:
    """
    Return `True` if a product of floats is contracted into one step with the only sum
    that uses it. The product must not be rounded to a narrower type in between.
    """
    uses = list(op.results[0].uses)
    if len(uses) != 1:
        return False
    scalars = scalars or ScalarSteps()
    inner = _find_only_scalar_operation(op, scalars)
    if not isinstance(inner, arith.MulfOp) or is_16_bit_float(inner.result.type):
        return False
    user = _find_only_scalar_operation(uses[0].operation, scalars)
    return isinstance(user, arith.AddfOp | arith.SubfOp)


def is_special_function(step: Operation) -> bool:
    """Return `True` if a scalar operation is a function without a lane instruction."""
    return step.name.startswith("math.") and not isinstance(step, SINGLE_STEP_OPS)


def scalar_steps(op: ElementwiseInterface) -> tuple[Operation, ...]:
    """Return the scalar operations that compute an element, without constants."""
    steps = op.build_scalar_body().ops
    return tuple(each for each in steps if not each.has_trait(ConstantLike))


def _find_only_scalar_operation(
    op: Operation, scalars: ScalarSteps
) -> Operation | None:
    """Return the scalar operation that computes an element, if there is exactly one."""
    found = scalars.steps_of(op) if isinstance(op, ElementwiseInterface) else ()
    return found[0] if len(found) == 1 else None


def _sum_steps_over_elements(
    op: Operation,
    target: TargetSpec,
    steps: Callable[[Operation, Engine], int],
    scalars: ScalarSteps | None,
) -> int:
    """Return the steps of all elements that an elementwise operation computes."""
    if not isinstance(op, ElementwiseInterface):
        return 0
    engine = target.engines.get("vector", {})
    inner = scalar_steps(op) if scalars is None else scalars.steps_of(op)
    each = sum(steps(step, engine) for step in inner)
    return each * tensor_type(op.results[0]).element_count()


def _special_steps_of(op: Operation, engine: Engine) -> int:
    """Return the steps of a scalar operation in the special function unit."""
    name = op.name.partition(".")[2]
    if is_approximate_function(op) and _find_table_entry(
        engine.get("approximate_steps"), name
    ):
        return 1
    found = _find_table_entry(engine.get("special_steps"), name)
    return found if isinstance(found, int) else 0


def _lane_steps_of(op: Operation, engine: Engine) -> int:
    """Return the lane steps per element of a scalar operation on an engine."""
    if not is_multi_step(op):
        return 1
    name = op.name.partition(".")[2]
    tables = (
        ("approximate_steps", "steps") if is_approximate_function(op) else ("steps",)
    )
    found = (_find_table_entry(engine.get(table), name) for table in tables)
    default = engine.get("transcendental", 1)
    known = next((each for each in found if each is not None), default)
    return known if isinstance(known, int) else 1


def _find_table_entry(table: object, name: str) -> object:
    """Return the entry of a table for a name, if there is one."""
    return cast("Mapping[str, object]", table).get(name) if table else None


def is_approximate_function(op: Operation) -> bool:
    """Return `True` if 16-bit accuracy suffices for a function of floats."""
    flags = op.properties.get("fastmath")
    if isinstance(flags, arith.FastMathFlagsAttr):
        if FastMathFlag.APPROX_FUNC in flags.data:
            return True
    return is_16_bit_float(op.results[0].type)


def is_multi_step(op: Operation) -> bool:
    """
    Return `True` if a scalar operation takes the vector engine longer than an addition.
    """
    if op.dialect_name() == "math":
        return not isinstance(op, SINGLE_STEP_OPS)
    return isinstance(op, MULTI_STEP_OPS)
