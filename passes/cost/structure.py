"""What makes two groups cost the same: their operations, types and wiring."""

from __future__ import annotations

from collections.abc import Hashable, Sequence

from xdsl.ir import Operation, SSAValue


def structure_of(
    operations: Sequence[Operation], results: Sequence[SSAValue]
) -> Hashable:
    """
    A key that is equal for groups that only differ in the names of values and in where
    their inputs come from.
    """
    numbers: dict[SSAValue, int] = {}

    def number(value: SSAValue) -> tuple[int, str]:
        known = numbers.setdefault(value, len(numbers))
        return known, str(value.type)

    return (
        tuple(
            (
                op.name,
                tuple(
                    (name, str(each)) for name, each in sorted(op.properties.items())
                ),
                tuple(number(operand) for operand in op.operands),
                tuple(number(result) for result in op.results),
            )
            for op in operations
        ),
        tuple(number(result) for result in results),
    )
