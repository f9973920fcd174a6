"""Compare results of TLF with those of PyTorch."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import torch
from torch.utils import _pytree as pytree

_COMPONENTS: Callable[[torch.Tensor], torch.Tensor] = getattr(torch, "view_as_real")


@dataclass(frozen=True)
class ResultComparison:
    """Comparison of results."""

    tolerance: tuple[float, float]
    """Relative and absolute; those of the type of a result are the least."""
    exact: Callable[[], Any]
    """The result in f64, or none; asked for where there is a difference."""
    has_values: bool = True
    """True if the values of elements are defined."""
    source: object = None
    """The tensor that results are elements and their indices of, if they are, where
    others of equal elements are right, too."""

    def difference(self, found: Any, expected: Any) -> str | None:
        """
        Return the difference of a result from that of PyTorch, in a line; None if there
        is none.
        """
        mine, spec = pytree.tree_flatten(found)
        theirs, wanted = pytree.tree_flatten(expected)
        if spec != wanted:
            return f"structure: expected {wanted}, got {spec}"
        for place, (left, right) in enumerate(zip(mine, theirs, strict=True)):
            if (text := self._compare_leaf(left, right, place)) is not None:
                return text if len(mine) == 1 else f"result {place}: {text}"
        return None

    def _compare_leaf(self, found: Any, expected: Any, place: int) -> str | None:
        if not isinstance(expected, torch.Tensor):
            return _number_difference(found, expected)
        if not isinstance(found, torch.Tensor):
            return f"type: expected a tensor, got {found!r}"
        if (text := _metadata_difference(found, expected)) is not None:
            return text
        if not self.has_values or _has_equal_elements(self.source, found, expected):
            return None
        left, right = _to_dense(found), _to_dense(expected)
        tolerance = widen_tolerance(self.tolerance, right.dtype)
        wrong = ~_is_close(left, right, tolerance)
        if not bool(wrong.any()):
            return None
        exact = self._exact_leaf(place, right)
        if exact is not None:
            wrong &= ~_is_as_exact(left, right, exact, tolerance)
        return _describe_wrong(left, right, exact, wrong) if bool(wrong.any()) else None

    def _exact_leaf(self, place: int, like: torch.Tensor) -> torch.Tensor | None:
        if not like.is_floating_point():
            return None
        leaves: Sequence[Any] = pytree.tree_leaves(self.exact())
        leaf = leaves[place] if place < len(leaves) else None
        if not isinstance(leaf, torch.Tensor) or leaf.shape[: like.dim()] != like.shape:
            return None
        plain = _to_dense(leaf)
        return plain if plain.shape == like.shape else None


def _has_equal_elements(
    source: object, found: torch.Tensor, expected: torch.Tensor
) -> bool:
    """
    Return `True` if other indices along some axis select the same elements, each once.
    """
    if not isinstance(source, torch.Tensor) or expected.dtype != torch.int64:
        return False
    if found.dim() != source.dim() or not found.dim():
        return False
    for axis, extent in enumerate(source.shape):
        places = found.sort(axis).values
        is_once = bool((places.diff(dim=axis) > 0).all())
        fits = bool(((found >= 0) & (found < extent)).all())
        if is_once and fits and _is_within(source, found, axis):
            mine, theirs = (source.gather(axis, each) for each in (found, expected))
            if bool((mine == theirs).all()):
                return True
    return False


def _is_within(source: torch.Tensor, indices: torch.Tensor, axis: int) -> bool:
    """Return `True` if indices have the extents of a tensor along all other axes."""
    pairs = enumerate(zip(source.shape, indices.shape, strict=True))
    return all(place == axis or left == right for place, (left, right) in pairs)


def widen_tolerance(
    tolerance: tuple[float, float], dtype: torch.dtype
) -> tuple[float, float]:
    """A tolerance, or that of `assert_close` for a type where it is wider."""
    library: Any = import_module("torch.testing._comparison")
    known: tuple[float, float] = library.default_tolerances(dtype)
    return max(tolerance[0], known[0]), max(tolerance[1], known[1])


def _number_difference(found: Any, expected: Any) -> str | None:
    if type(found) is not type(expected):
        wanted = type(expected).__name__
        return f"type: expected {wanted}, got {type(found).__name__}"
    is_same = found == expected or (found != found and expected != expected)
    return None if is_same else f"value: expected {expected!r}, got {found!r}"


def _metadata_difference(found: torch.Tensor, expected: torch.Tensor) -> str | None:
    """
    Return the difference of two tensors in anything but elements; None if there is
    none.
    """
    for name in ("dtype", "shape", "layout", "device"):
        mine, theirs = getattr(found, name), getattr(expected, name)
        if mine != theirs:
            return f"{name}: expected {theirs}, got {mine}"
    if expected.layout == torch.strided and expected.numel():
        mine, theirs = _strides(found), _strides(expected)
        if mine != theirs:
            return f"strides: expected {theirs}, got {mine}"
    return None


def _strides(tensor: torch.Tensor) -> tuple[int, ...]:
    """The strides along axes of several elements; 0 for others."""
    pairs = zip(tensor.shape, tensor.stride(), strict=True)
    return tuple(stride if extent > 1 else 0 for extent, stride in pairs)


def _to_dense(tensor: torch.Tensor) -> torch.Tensor:
    """The elements as real numbers, densely."""
    dense = tensor.detach()
    if tensor.layout != torch.strided:
        dense = dense.to_dense()
    if dense.is_complex():
        dense = _COMPONENTS(dense.resolve_conj())
    return dense.resolve_neg()


def _is_close(
    found: torch.Tensor, expected: torch.Tensor, tolerance: tuple[float, float]
) -> torch.Tensor:
    """
    Return a mask of the elements that agree, with NaN and infinities in the same
    positions.
    """
    if not expected.is_floating_point():
        return found == expected
    relative, absolute = tolerance
    return torch.isclose(
        found.double(), expected.double(), relative, absolute, equal_nan=True
    )


def _is_as_exact(
    found: torch.Tensor,
    expected: torch.Tensor,
    exact: torch.Tensor,
    tolerance: tuple[float, float],
) -> torch.Tensor:
    """
    Return a mask of the elements that are as near to the result in f64 as PyTorch's own
    are, by twice the largest error of those up to twice their size, and infinite where
    that is out of range.
    """
    relative, absolute = tolerance
    rounded = exact.to(expected.dtype).double()
    allowed = absolute + 2 * _error_by_size(expected, exact)
    near = (found.double() - rounded).abs() <= allowed + relative * rounded.abs()
    is_same = torch.isclose(found.double(), rounded, 0, 0, equal_nan=True)
    return is_same | (near & rounded.isfinite())


def _error_by_size(expected: torch.Tensor, exact: torch.Tensor) -> torch.Tensor:
    """For each element the largest error of those that are at most twice as large."""
    errors = (expected.double() - exact).abs().nan_to_num(0, 0, 0).flatten()
    sizes, order = exact.abs().double().nan_to_num(math.inf).flatten().sort()
    worst = errors[order].cummax(0).values
    last = torch.searchsorted(sizes, 2 * sizes, right=True) - 1
    found = torch.empty_like(worst)
    found[order] = worst[last]
    return found.reshape(exact.shape)


def _describe_wrong(
    found: torch.Tensor,
    expected: torch.Tensor,
    exact: torch.Tensor | None,
    wrong: torch.Tensor,
) -> str:
    """
    Return a description of the wrong elements: their number, and the first of them.
    """
    place = tuple(int(each) for each in wrong.nonzero()[0])
    got, wanted = found[place].item(), expected[place].item()
    text = f"values: {int(wrong.sum())} of {wrong.numel()} differ"
    text = f"{text}, at {list(place)}: expected {wanted!r}, got {got!r}"
    return text if exact is None else f"{text}, in f64 {exact[place].item()!r}"
