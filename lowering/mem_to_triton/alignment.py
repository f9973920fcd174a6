"""
Bring tiles into the shape of an iteration domain, so that operators broadcast.
"""

from collections.abc import Sequence

from xdsl.ir.affine import AffineMap
from xdsl.utils.exceptions import DiagnosticException

from tlf.dialects import mem
from tlf.lowering.mem_to_triton.source import Source


def dimensions(indexing: AffineMap, domain: Sequence[int]) -> tuple[int | None, ...]:
    """
    The dimension of the domain that each dimension of an operand runs along, or None
    where the operand is read at index 0 only.

    Dimensions of extent 1 contribute nothing to a sum. Raises `DiagnosticException` for
    any other sum: a value cannot be read through a window.
    """
    result: list[int | None] = []
    for access in mem.accesses(indexing):
        used = [
            dim
            for dim, coefficient in enumerate(access.coefficients)
            if coefficient and domain[dim] > 1
        ]
        if not used and access.constant == 0:
            result.append(access.dimension)
        elif (
            len(used) == 1
            and access.constant == 0
            and (access.coefficients[used[0]] == 1)
        ):
            result.append(used[0])
        else:
            raise DiagnosticException(
                f"cannot read a value through the map {indexing}: triton cannot slice "
                f"a value"
            )
    named = [dim for dim in result if dim is not None]
    if len(set(named)) != len(named):
        raise DiagnosticException(f"cannot read the diagonal of a value: {indexing}")
    return tuple(result)


def permuted(text: str, order: Sequence[int]) -> str:
    """
    Transpose a tile: dimension `i` of the result is dimension `order[i]`.
    """
    if list(order) == sorted(order):
        return text
    return f"tl.trans({text}, ({', '.join(map(str, order))}))"


def reshaped(text: str, old: Sequence[int], new: Sequence[int]) -> str:
    """
    Reshape a tile to as many elements, also to and from a scalar.
    """
    if tuple(old) == tuple(new):
        return text
    if not new:
        return f"tl.sum(tl.reshape({text}, [1]), axis=0)"
    if not old:
        return f"tl.broadcast_to({text}, {list(new)})"
    return f"tl.reshape({text}, {list(new)})"


def expanded(text: str, present: Sequence[bool]) -> str:
    """
    Insert dimensions of extent 1 where `present` is false.
    """
    if all(present) or not any(present):
        return text
    indices = ", ".join(":" if here else "None" for here in present)
    return f"{text}[{indices}]"


def placed(text: str, dims: Sequence[int | None]) -> str:
    """
    A tile whose dimensions are those of the domain that `dims` names, in the order of
    the domain, as a tile with the dimensions `dims`; None is an extent of 1.
    """
    order = [dim for dim in dims if dim is not None]
    if dims and not order:
        return f"tl.broadcast_to({text}, {[1] * len(dims)})"
    text = permuted(text, [sorted(order).index(dim) for dim in order])
    return expanded(text, [dim is not None for dim in dims])


def aligned(
    source: Source,
    text: str,
    shape: Sequence[int],
    dims: Sequence[int | None],
    domain: Sequence[int],
) -> tuple[str, tuple[int, ...]]:
    """
    A tile with the rank of `domain`, and its shape: extents of 1 where the operand does
    not vary. A tile of one element may become a scalar, of shape ().
    """
    rank = len(domain)
    if len(dims) == rank and all(dim in (None, axis) for axis, dim in enumerate(dims)):
        return text, tuple(shape)
    kept = [axis for axis, dim in enumerate(dims) if dim is not None]
    order = sorted(kept, key=lambda axis: dims[axis] or 0)
    result = reshaped(text, shape, [shape[axis] for axis in kept])
    result = permuted(result, [kept.index(axis) for axis in order])
    used = {dims[axis] for axis in order}
    result = expanded(result, [dim in used for dim in range(rank)])
    if result != text:
        result = source.shared("v", result)
    if not kept:
        return result, ()
    return result, tuple(domain[dim] if dim in used else 1 for dim in range(rank))


def broadcast(text: str, shape: Sequence[int], domain: Sequence[int]) -> str:
    """
    A tile in the full shape of `domain`.
    """
    if tuple(shape) == tuple(domain):
        return text
    return f"tl.broadcast_to({text}, {list(domain)})"
