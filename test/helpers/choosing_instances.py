"""Random instances of operations that select elements by indices or by order."""

from collections.abc import Mapping, Sequence

from graph_instances import Factory, coin, some_shape, value
from numpy.random import Generator
from xdsl.dialects.builtin import bf16, f32, i1, i32, i64
from xdsl.ir import Attribute, Operation, SSAValue

from tlf.dialects import graph


def some_indices(rng: Generator, shape: Sequence[int]) -> SSAValue:
    """Return indices of a random index type."""
    return value(shape, i32 if coin(rng) else i64)


def some_element(rng: Generator) -> Attribute:
    """Return a random element type; mostly f32."""
    return [f32, f32, f32, bf16, i32, i1][rng.integers(6)]


def some_part(rng: Generator, shape: Sequence[int], axis: int) -> list[int]:
    """Return a shape within another, except for a free extent along an axis."""
    part = [int(rng.integers(1, extent + 1)) for extent in shape]
    part[axis] = int(rng.integers(1, 8))
    return part


def take(rng: Generator) -> Operation:
    shape, indices = some_shape(rng, 1, 3), some_shape(rng, 0, 2)
    axis = int(rng.integers(len(shape)))
    operand = value(shape, some_element(rng))
    return graph.TakeOp(operand, some_indices(rng, indices), axis)


def gather(rng: Generator) -> Operation:
    shape = some_shape(rng, 1, 3)
    axis = int(rng.integers(len(shape)))
    indices = some_indices(rng, some_part(rng, shape, axis))
    return graph.GatherOp(value(shape, some_element(rng)), indices, axis)


def scatter(rng: Generator) -> Operation:
    shape, element = some_shape(rng, 1, 3), some_element(rng)
    axis = int(rng.integers(len(shape)))
    part = some_part(rng, shape, axis)
    kinds = [kind for kind in graph.ScatterKind if (kind, element) != ("add", i1)]
    shared = [each if n == axis or coin(rng) else 1 for n, each in enumerate(part)]
    return graph.ScatterOp(
        value(shape, element),
        some_indices(rng, shared),
        value(part, element),
        axis,
        kinds[rng.integers(len(kinds))],
    )


def cumulate(rng: Generator) -> Operation:
    shape = some_shape(rng, 1)
    kind = list(graph.ReduceKind)[rng.integers(4)]
    axis = int(rng.integers(len(shape)))
    return graph.CumulateOp(value(shape), kind, axis, coin(rng))


def arg_reduce(rng: Generator) -> Operation:
    shape = some_shape(rng, 1)
    axis = int(rng.integers(len(shape)))
    kind = "max" if coin(rng) else "min"
    return graph.ArgReduceOp(value(shape), kind, axis, coin(rng))


def sort(rng: Generator) -> Operation:
    shape = some_shape(rng, 1, 3)
    axis = int(rng.integers(len(shape)))
    count = int(rng.integers(1, shape[axis] + 1)) if coin(rng) else None
    return graph.SortOp(value(shape), axis, coin(rng), count)


CHOOSING: Mapping[type[Operation], Factory] = {
    graph.ArgReduceOp: arg_reduce,
    graph.CumulateOp: cumulate,
    graph.GatherOp: gather,
    graph.ScatterOp: scatter,
    graph.SortOp: sort,
    graph.TakeOp: take,
}
