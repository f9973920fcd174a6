"""Statistics that a normalization returns in addition to its result."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import SSAValue

from tlf.dialects import graph
from tlf.frontend.torch.aten.reduction import variance_and_mean
from tlf.frontend.torch.emitter import Emitter


def mean_and_rsqrt_variance(
    at: Emitter, rows: SSAValue, axes: Sequence[int], epsilon: float
) -> Sequence[SSAValue | None]:
    """
    Return the second and third result of a normalization: the mean along axes, and the
    reciprocal root of the variance; `None` for unused results.
    """
    if len(at.results) == 1:
        return None, None
    variance, mean = variance_and_mean(at, rows, axes, 0, keepdim=True)
    root = _emit_rsqrt(at, variance, epsilon)
    return [_to_result(at, value, index) for index, value in enumerate((mean, root), 1)]


def rsqrt_mean_square(
    at: Emitter, rows: SSAValue, axes: Sequence[int], epsilon: float
) -> Sequence[SSAValue | None]:
    """
    Return the second result of a normalization: the reciprocal root of the mean square;
    `None` if it is unused.
    """
    if len(at.results) == 1:
        return (None,)
    value = at.cast(rows, at.wide)
    squares = graph.MeanOp(at.mul(value, value, at.wide), axes, True)
    root = _emit_rsqrt(at, at.emit(squares), epsilon)
    return (_to_result(at, root, 1),)


def _emit_rsqrt(at: Emitter, value: SSAValue, epsilon: float) -> SSAValue:
    raised = at.add(value, epsilon, at.wide)
    return at.apply(graph.RsqrtOp, raised, element=at.wide)


def _to_result(at: Emitter, value: SSAValue, place: int) -> SSAValue | None:
    """
    Convert a value to the type of the result at index `place`; `None` if there is no
    such result.
    """
    if place >= len(at.results):
        return None
    type_ = at.results[place]
    return at.reshape(at.cast(value, type_.element_type), type_.get_shape())
