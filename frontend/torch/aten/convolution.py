"""Import of ATen convolutions with one to three axes, also transposed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import gcd, prod

from xdsl.ir import SSAValue
from xdsl.ir.affine import AffineExpr, AffineMap

from tlf.dialects import graph
from tlf.dialects.graph.tensor_types import element_of, shape_of
from tlf.dialects.types import is_float
from tlf.frontend.torch.aten.sliding_windows import per_axis
from tlf.frontend.torch.emitter import Emitter
from tlf.frontend.torch.import_errors import Unsupported
from tlf.frontend.torch.registry import converts

MAX_SLICED_TAPS = 4
"""
Maximum number of taps of an axis that are sliced one by one; for more taps, moves of
whole filter rows are faster.
"""


@dataclass(frozen=True)
class ConvOptions:
    """Options of a convolution, one number per axis."""

    strides: tuple[int, ...]
    low: tuple[int, ...]
    high: tuple[int, ...]
    dilation: tuple[int, ...]
    groups: int


@dataclass(frozen=True)
class ResidueRun:
    """
    Successive residues modulo a stride that share one correlation.

    The results at each residue are a correlation of the same elements with the same
    number of taps. All taps are at `indices`; without taps, the results are 0.
    """

    residues: int
    indices: tuple[int, ...]
    low: int
    """
    Number of positions by which the first window extends before the first element.
    """
    high: int

    @property
    def taps(self) -> int:
        """Number of taps of each residue."""
        return len(self.indices) // self.residues

    @property
    def step(self) -> int:
        """Distance between the taps of a residue, which are in descending order."""
        return self.indices[0] - self.indices[1] if self.taps > 1 else 1

    @property
    def is_slice(self) -> bool:
        """True if all of the taps are consecutive."""
        first, count = self.indices[0], len(self.indices)
        return self.indices == tuple(range(first, first + count))


@dataclass(frozen=True)
class TransposedAxis:
    """Axis of a transposed convolution."""

    extent: int
    taps: int
    stride: int
    padding: int
    dilation: int
    extra: int

    @property
    def result_extent(self) -> int:
        """Extent of the result."""
        reach = self.dilation * (self.taps - 1) - 2 * self.padding
        return (self.extent - 1) * self.stride + reach + self.extra + 1

    @property
    def results_per_residue(self) -> int:
        """Number of results of each residue, rounded up."""
        return -(-self.result_extent // self.stride)

    @property
    def spacing(self) -> int:
        """Distance between the elements that successive taps of one result multiply."""
        return self.dilation // gcd(self.dilation, self.stride)

    def residue_runs(self) -> list[ResidueRun]:
        """Return the runs of all residues, in order."""
        runs: list[ResidueRun] = []
        for residue in range(self.stride):
            run = self._residue_run(residue)
            last = runs[-1] if runs else None
            if last and (last.taps, last.low) == (run.taps, run.low):
                indices = (*last.indices, *run.indices)
                run = replace(run, residues=last.residues + 1, indices=indices)
                runs.pop()
            runs.append(run)
        return runs

    def _residue_run(self, residue: int) -> ResidueRun:
        position = residue + self.padding
        taps = [
            tap
            for tap in reversed(range(self.taps))
            if (position - tap * self.dilation) % self.stride == 0
        ]
        if not taps:
            return ResidueRun(1, (), 0, 0)
        low = (taps[0] * self.dilation - position) // self.stride
        span = self.results_per_residue + self.spacing * (len(taps) - 1)
        high = span - low - self.extent
        if -low >= self.extent or -high >= self.extent:
            return ResidueRun(1, (), 0, 0)
        return ResidueRun(1, tuple(taps), low, high)


@converts("convolution.default")
def _convolution(
    at: Emitter,
    x: SSAValue,
    filters: SSAValue,
    bias: SSAValue | None,
    stride: Sequence[int],
    padding: Sequence[int],
    dilation: Sequence[int],
    transposed: bool,
    output_padding: Sequence[int],
    groups: int,
) -> SSAValue:
    if not is_float(at.element):
        raise Unsupported("expected a convolution of floats, got integers")
    rank = len(shape_of(filters)) - 2
    strides, widths, dilations, extra = (
        per_axis(each, rank) for each in (stride, padding, dilation, output_padding)
    )
    batched = x
    if is_single := len(shape_of(x)) == rank + 1:
        batched = at.reshape(x, (1, *shape_of(x)))
    if transposed:
        extents, taps = shape_of(batched)[2:], shape_of(filters)[2:]
        parameters = zip(extents, taps, strides, widths, dilations, extra, strict=True)
        axes = [TransposedAxis(*each) for each in parameters]
        result = _emit_transposed(at, batched, filters, axes, groups)
    else:
        shape = ConvOptions(strides, widths, widths, dilations, groups)
        result = _emit_correlation(at, batched, filters, shape)
    if bias is not None:
        column = at.reshape(bias, (shape_of(bias)[0], *[1] * rank))
        result = at.add(result, column, element_of(result))
    result = at.cast(result, at.element)
    return at.reshape(result, at.shape) if is_single else result


def _emit_correlation(
    at: Emitter, x: SSAValue, filters: SSAValue, shape: ConvOptions
) -> SSAValue:
    """Emit a correlation of N x C x axes with F x C/groups x taps, in the wide type."""
    rank = len(shape.strides)
    if min(*shape.low, *shape.high) < 0:
        low = [0, 0, *(min(each, 0) for each in shape.low)]
        high = [0, 0, *(min(each, 0) for each in shape.high)]
        x = at.pad(x, low, high)
        clipped = [tuple(max(e, 0) for e in side) for side in (shape.low, shape.high)]
        shape = ConvOptions(
            shape.strides, clipped[0], clipped[1], shape.dilation, shape.groups
        )
    if rank > 1:
        return _emit_convolution(at, x, filters, shape)
    rows = ConvOptions(
        (1, *shape.strides),
        (0, *shape.low),
        (0, *shape.high),
        (1, *shape.dilation),
        shape.groups,
    )
    images, kernels = (
        at.reshape(each, (*shape_of(each)[:2], 1, shape_of(each)[2]))
        for each in (x, filters)
    )
    result = _emit_convolution(at, images, kernels, rows)
    batch, channels, _, width = shape_of(result)
    return at.reshape(result, (batch, channels, width))


def _emit_convolution(
    at: Emitter, x: SSAValue, filters: SSAValue, shape: ConvOptions
) -> SSAValue:
    kind = graph.Conv3dOp if len(shape.strides) == 3 else graph.Conv2dOp
    return at.emit(
        kind(
            x,
            filters,
            strides=shape.strides,
            padding=(*shape.low, *shape.high),
            dilation=shape.dilation,
            groups=shape.groups,
            element=at.wide,
        )
    )


def _emit_transposed(
    at: Emitter,
    x: SSAValue,
    filters: SSAValue,
    axes: Sequence[TransposedAxis],
    groups: int,
) -> SSAValue:
    """
    Emit a transposed convolution, with filters C x F/groups x taps, as correlations:
    the results at one residue modulo the stride are a correlation of all elements with
    a subset of the taps (Dumoulin and Visin, A guide to convolution arithmetic for deep
    learning, 2016, section 4, without the zeros that it inserts).
    """
    channels, count, *taps = shape_of(filters)
    split = at.reshape(filters, (groups, channels // groups, count, *taps))
    kernels = at.permute(split, [0, 2, 1, *range(3, 3 + len(taps))])

    def concat_residues(chosen: tuple[ResidueRun, ...]) -> SSAValue:
        """
        Emit N x G x F/G x (windows x residues per axis), for runs that start with
        `chosen`.
        """
        if (position := len(chosen)) == len(axes):
            return _emit_residues(at, x, kernels, axes, chosen)
        parts = [
            concat_residues((*chosen, run)) for run in axes[position].residue_runs()
        ]
        return at.concat(parts, 4 + 2 * position)

    result = concat_residues(())
    extents = [axis.results_per_residue * axis.stride for axis in axes]
    result = at.reshape(result, (shape_of(x)[0], groups * count, *extents))
    for position, axis in enumerate(axes):
        result = at.slice(result, 2 + position, 0, axis.result_extent)
    return result


def _emit_residues(
    at: Emitter,
    x: SSAValue,
    kernels: SSAValue,
    axes: Sequence[TransposedAxis],
    runs: Sequence[ResidueRun],
) -> SSAValue:
    """
    Emit the results at one run of residues per axis; filters are G x F/G x C/G x taps.
    """
    groups, count = shape_of(kernels)[:2]
    windows = [axis.results_per_residue for axis in axes]
    residues = [run.residues for run in runs]
    pairs = [each for pair in zip(windows, residues, strict=True) for each in pair]
    shape = (shape_of(x)[0], groups, count, *pairs)
    if not all(run.indices for run in runs):
        return at.broadcast(at.scalar(0, at.wide), shape)
    options = ConvOptions(
        strides=(1,) * len(axes),
        low=tuple(run.low for run in runs),
        high=tuple(run.high for run in runs),
        dilation=tuple(axis.spacing for axis in axes),
        groups=groups,
    )
    result = _emit_correlation(at, x, _filters_of_runs(at, kernels, runs), options)
    if prod(residues) > 1:
        rank = len(axes)
        result = at.reshape(result, (shape[0], groups, *residues, count, *windows))
        order = [each for i in range(rank) for each in (3 + rank + i, 2 + i)]
        result = at.permute(result, [0, 1, 2 + rank, *order])
    return at.reshape(result, shape)


def _filters_of_runs(
    at: Emitter, kernels: SSAValue, runs: Sequence[ResidueRun]
) -> SSAValue:
    """Return the filters of residues: the taps of runs, regrouped."""
    groups, count, depth, *_ = shape_of(kernels)
    residues, taps = [run.residues for run in runs], [run.taps for run in runs]
    kernels = _select_taps(at, kernels, runs)
    if prod(residues) > 1:
        pairs = [each for pair in zip(residues, taps, strict=True) for each in pair]
        kernels = at.reshape(kernels, (groups, count, depth, *pairs))
        first = range(3, 3 + 2 * len(runs), 2)
        kernels = at.permute(kernels, [0, *first, 1, 2, *(axis + 1 for axis in first)])
    return at.reshape(kernels, (groups * prod(residues) * count, depth, *taps))


def _select_taps(
    at: Emitter, kernels: SSAValue, runs: Sequence[ResidueRun]
) -> SSAValue:
    """Emit the taps of runs, G x F/G x C/G x (residues, taps) per axis."""
    if all(run.is_slice or len(run.indices) <= MAX_SLICED_TAPS for run in runs):
        for position, run in enumerate(runs):
            kernels = _slice_taps(at, kernels, 3 + position, run)
        return kernels
    map_results: list[AffineExpr] = [AffineExpr.dimension(axis) for axis in range(3)]
    extents = [*shape_of(kernels)[:3]]
    for run in runs:
        residue, tap = (AffineExpr.dimension(len(extents) + each) for each in (0, 1))
        map_results.append(residue + tap * -run.step + run.indices[0])
        extents += run.residues, run.taps
    map_ = AffineMap(len(extents), 0, tuple(map_results))
    return at.emit(graph.UnfoldOp(kernels, map_, extents))


def _slice_taps(at: Emitter, value: SSAValue, axis: int, run: ResidueRun) -> SSAValue:
    """Emit the elements of a run along an axis by slices."""
    if run.is_slice:
        return at.slice(value, axis, run.indices[0], run.indices[-1] + 1)
    return at.concat([at.slice(value, axis, i, i + 1) for i in run.indices], axis)
