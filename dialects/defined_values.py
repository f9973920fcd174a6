"""Values that operations define."""

from collections.abc import Iterator

from xdsl.ir import Operation, SSAValue


def values_defined_by(op: Operation) -> Iterator[SSAValue]:
    """Yield the results of an operation, and the arguments of its blocks."""
    yield from op.results
    for region in op.regions:
        for block in region.blocks:
            yield from block.args
