"""Comparison of results of TLF with results of PyTorch."""

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
    """Comparison of results within a tolerance."""

    tolerance: tuple[float, float]
    """Relative and absolute tolerance; at least the default of the result type."""
    exact: Callable[[], Any]
    """Return the result in f64, or `None`; called only if results differ."""
    has_values: bool = True
    """True if the values of elements are defined."""
    source: object = None
    """
    Tensor of which results are indices, if they are; any other indices of equal
    elements are correct, too.
    """

    def difference(self, found: Any, expected: Any) -> str | None:
        """
        Return the difference of a result from PyTorch in one line, or `None` if there
        is none.
        """
        actual_leaves, spec = pytree.tree_flatten(found)
        expected_leaves, expected_spec = pytree.tree_flatten(expected)
        if spec != expected_spec:
            return f"structure: expected {expected_spec}, got {spec}"
        for index, (left, right) in enumerate(
            zip(actual_leaves, expected_leaves, strict=True)
        ):
            if (text := self._compare_leaf(left, right, index)) is not None:
                return text if len(actual_leaves) == 1 else f"result {index}: {text}"
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
    Return `True` if the indices are distinct along an axis and select equal elements.
    """
    if not isinstance(source, torch.Tensor) or expected.dtype != torch.int64:
        return False
    if found.dim() != source.dim() or not found.dim():
        return False
    for axis, extent in enumerate(source.shape):
        indices = found.sort(axis).values
        is_once = bool((indices.diff(dim=axis) > 0).all())
        fits = bool(((found >= 0) & (found < extent)).all())
        if is_once and fits and _is_within(source, found, axis):
            actual_elements, expected_elements = (
                source.gather(axis, each) for each in (found, expected)
            )
            if bool((actual_elements == expected_elements).all()):
                return True
    return False


def _is_within(source: torch.Tensor, indices: torch.Tensor, axis: int) -> bool:
    """Return `True` if indices have the extents of a tensor along all other axes."""
    pairs = enumerate(zip(source.shape, indices.shape, strict=True))
    return all(index == axis or left == right for index, (left, right) in pairs)


def widen_tolerance(
    tolerance: tuple[float, float], dtype: torch.dtype
) -> tuple[float, float]:
    """Return the maximum of a tolerance and the `assert_close` default of a type."""
    library: Any = import_module("torch.testing._comparison")
    default: tuple[float, float] = library.default_tolerances(dtype)
    return max(tolerance[0], default[0]), max(tolerance[1], default[1])


def _number_difference(found: Any, expected: Any) -> str | None:
    if type(found) is not type(expected):
        expected_type = type(expected).__name__
        return f"type: expected {expected_type}, got {type(found).__name__}"
    is_same = found == expected or (found != found and expected != expected)
    return None if is_same else f"value: expected {expected!r}, got {found!r}"


def _metadata_difference(found: torch.Tensor, expected: torch.Tensor) -> str | None:
    """Return the difference of two tensors in metadata, or `None` if there is none."""
    for name in ("dtype", "shape", "layout", "device"):
        actual_value, expected_value = getattr(found, name), getattr(expected, name)
        if actual_value != expected_value:
            return f"{name}: expected {expected_value}, got {actual_value}"
    if expected.layout == torch.strided and expected.numel():
        actual_value, expected_value = _strides(found), _strides(expected)
        if actual_value != expected_value:
            return f"strides: expected {expected_value}, got {actual_value}"
    return None


def _strides(tensor: torch.Tensor) -> tuple[int, ...]:
    """
    Return the strides along axes with more than one element, and 0 for other axes.
    """
    pairs = zip(tensor.shape, tensor.stride(), strict=True)
    return tuple(stride if extent > 1 else 0 for extent, stride in pairs)


def _to_dense(tensor: torch.Tensor) -> torch.Tensor:
    """Return the elements as a dense tensor of real numbers."""
    dense = tensor.detach()
    if tensor.layout != torch.strided:
        dense = dense.to_dense()
    if dense.is_complex():
        dense = _COMPONENTS(dense.resolve_conj())
    return dense.resolve_neg()


def _is_close(
    found: torch.Tensor, expected: torch.Tensor, tolerance: tuple[float, float]
) -> torch.Tensor:
    """Return a mask of the elements that agree; NaN and infinities must coincide."""
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
    Return a mask of the elements that are about as close to f64 as PyTorch's.

    The limit is twice PyTorch's largest error among elements of up to twice the
    magnitude. Elements whose f64 value is out of range must be infinite.
    """
    relative, absolute = tolerance
    rounded = exact.to(expected.dtype).double()
    allowed = absolute + 2 * _error_by_size(expected, exact)
    is_close = (found.double() - rounded).abs() <= allowed + relative * rounded.abs()
    is_same = torch.isclose(found.double(), rounded, 0, 0, equal_nan=True)
    return is_same | (is_close & rounded.isfinite())


def _error_by_size(expected: torch.Tensor, exact: torch.Tensor) -> torch.Tensor:
    """Return for each element the largest error of elements at most twice as large."""
    errors = (expected.double() - exact).abs().nan_to_num(0, 0, 0).flatten()
    sizes, order = exact.abs().double().nan_to_num(math.inf).flatten().sort()
    worst = errors[order].cummax(0).values
    last = torch.searchsorted(sizes, 2 * sizes, right=True) - 1
    result = torch.empty_like(worst)
    result[order] = worst[last]
    return result.reshape(exact.shape)


def _describe_wrong(
    found: torch.Tensor,
    expected: torch.Tensor,
    exact: torch.Tensor | None,
    wrong: torch.Tensor,
) -> str:
    """Return the number of wrong elements and the first of them, as text."""
    index = tuple(int(each) for each in wrong.nonzero()[0])
    actual_value, expected_value = found[index].item(), expected[index].item()
    text = f"values: {int(wrong.sum())} of {wrong.numel()} differ"
    text = (
        f"{text}, at {list(index)}: expected {expected_value!r}, got {actual_value!r}"
    )
    return text if exact is None else f"{text}, in f64 {exact[index].item()!r}"
