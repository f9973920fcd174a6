"""
Emission of Triton code that transposes, reshapes and broadcasts tiles to an iteration
domain.
"""

from collections.abc import Sequence

from xdsl.ir.affine import AffineMap
from xdsl.utils.exceptions import DiagnosticException

from tlf.dialects import mem
from tlf.lowering.mem_to_triton.python_source import PythonSource


def domain_dims_of(
    indexing: AffineMap, domain: Sequence[int]
) -> tuple[int | None, ...]:
    """
    Return the domain dim of each operand axis, `None` for index 0.

    Domain dims of extent 1 contribute nothing to a sum. Raises `DiagnosticException`
    for any other sum: a value cannot be read through a window.
    """
    result: list[int | None] = []
    for access in mem.linear_accesses_of_map(indexing):
        used = [term for term in access.terms if domain[term[0]] > 1]
        if not used and access.offset == 0:
            result.append(access.loop_dim)
        elif len(used) == 1 and access.offset == 0 and used[0][1] == 1:
            result.append(used[0][0])
        else:
            raise DiagnosticException(
                f"cannot read a value through the map {indexing}: triton cannot slice "
                f"a value"
            )
    used_dims = [dim for dim in result if dim is not None]
    if len(set(used_dims)) != len(used_dims):
        raise DiagnosticException(f"cannot read the diagonal of a value: {indexing}")
    return tuple(result)


def transpose_tile(text: str, order: Sequence[int]) -> str:
    """Transpose a tile: dim `i` of the result is dim `order[i]`."""
    if list(order) == sorted(order):
        return text
    return f"tl.trans({text}, ({', '.join(map(str, order))}))"


def reshape_tile(text: str, old_shape: Sequence[int], new_shape: Sequence[int]) -> str:
    """Reshape a tile to an equal number of elements, also to and from a scalar."""
    if tuple(old_shape) == tuple(new_shape):
        return text
    if not new_shape:
        return f"tl.sum(tl.reshape({text}, [1]), axis=0)"
    if not old_shape:
        return f"tl.broadcast_to({text}, {list(new_shape)})"
    return f"tl.reshape({text}, {list(new_shape)})"


def insert_unit_dims(text: str, existing_dims: Sequence[bool]) -> str:
    """
    Return the tile text with a unit dim for each false element of `existing_dims`;
    unchanged if none or all are true.
    """
    if all(existing_dims) or not any(existing_dims):
        return text
    indices = ", ".join(":" if here else "None" for here in existing_dims)
    return f"{text}[{indices}]"


def transpose_and_insert_unit_dims(text: str, dims: Sequence[int | None]) -> str:
    """
    Return the tile text with its dims in the order of `dims` and a unit dim per `None`.
    """
    order = [dim for dim in dims if dim is not None]
    if dims and not order:
        return f"tl.broadcast_to({text}, {[1] * len(dims)})"
    text = transpose_tile(text, [sorted(order).index(dim) for dim in order])
    return insert_unit_dims(text, [dim is not None for dim in dims])


def align_tile_to_domain(
    source: PythonSource,
    text: str,
    shape: Sequence[int],
    dims: Sequence[int | None],
    domain: Sequence[int],
) -> tuple[str, tuple[int, ...]]:
    """
    Return a tile with the rank of the domain, and its broadcastable shape. A tile with
    one element may become a scalar of shape `()`.
    """
    rank = len(domain)
    if len(dims) == rank and all(dim in (None, axis) for axis, dim in enumerate(dims)):
        return text, tuple(shape)
    nonunit = [axis for axis, dim in enumerate(dims) if dim is not None]
    order = sorted(nonunit, key=lambda axis: dims[axis] or 0)
    result = reshape_tile(text, shape, [shape[axis] for axis in nonunit])
    result = transpose_tile(result, [nonunit.index(axis) for axis in order])
    used = {dims[axis] for axis in order}
    result = insert_unit_dims(result, [dim in used for dim in range(rank)])
    if result != text:
        result = source.assign_variable_once("v", result)
    if not nonunit:
        return result, ()
    return result, tuple(domain[dim] if dim in used else 1 for dim in range(rank))


def broadcast_tile_to_domain(
    text: str, shape: Sequence[int], domain: Sequence[int]
) -> str:
    """Broadcast a tile to the full shape of `domain`."""
    if tuple(shape) == tuple(domain):
        return text
    return f"tl.broadcast_to({text}, {list(domain)})"
