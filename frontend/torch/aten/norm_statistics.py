"""Statistics that a normalization returns beside its result."""

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
    The mean along axes and the reciprocal root of the variance, as the second and third
    result; nothing where they are not used.
    """
    if len(at.results) == 1:
        return None, None
    variance, mean = variance_and_mean(at, rows, axes, 0, keepdim=True)
    root = _emit_rsqrt(at, variance, epsilon)
    return [_to_result(at, value, place) for place, value in enumerate((mean, root), 1)]


def rsqrt_mean_square(
    at: Emitter, rows: SSAValue, axes: Sequence[int], epsilon: float
) -> Sequence[SSAValue | None]:
    """The reciprocal root of the mean of squares, as the second result, if used."""
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
    """The value as the result at a place; nothing where no result is there."""
    if place >= len(at.results):
        return None
    type_ = at.results[place]
    return at.reshape(at.cast(value, type_.element_type), type_.get_shape())
