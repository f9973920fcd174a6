"""
Import of ATen convolutions with one to three axes, also transposed, from PyTorch:
converters of FX calls, which build operations of `graph`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import gcd, prod

from xdsl.ir import SSAValue
from xdsl.ir.affine import AffineExpr, AffineMap

from tlf.dialects import graph
from tlf.dialects.graph.tensor_types import element_type_of_value, shape_of
from tlf.dialects.types import is_float
from tlf.frontend.torch.aten.sliding_windows import broadcast_to_axes
from tlf.frontend.torch.emitter import Emitter
from tlf.frontend.torch.f32_precision import ProductKind
from tlf.frontend.torch.import_errors import Unsupported
from tlf.frontend.torch.registry import register_as_converter

MAX_SLICED_TAPS = 4
"""
Maximum number of taps of an axis that are sliced one by one; for more taps, moves of
whole filter rows are faster.
"""


VOLUME = 3
"""Number of axes of a volume."""


@dataclass(frozen=True)
class ConvOptions:
    """Strides, padding and dilation of a convolution per axis, and its group count."""

    strides: tuple[int, ...]
    low_padding: tuple[int, ...]
    high_padding: tuple[int, ...]
    dilation: tuple[int, ...]
    groups: int
    kind: ProductKind = "conv"
    """Kind of the products, which selects their precision."""


@dataclass(frozen=True)
class ResidueRun:
    """
    Successive residues modulo a stride that share one correlation.

    The results at each residue are a correlation of the same elements with the same
    number of taps. All taps are at `tap_indices`; without taps, the results are 0.
    """

    residue_count: int
    tap_indices: tuple[int, ...]
    low_padding: int
    """
    Number of positions by which the first window extends before the first element.
    """
    high_padding: int

    @property
    def taps_per_residue(self) -> int:
        """Number of taps of each residue."""
        return len(self.tap_indices) // self.residue_count

    @property
    def tap_distance(self) -> int:
        """Distance between the taps of a residue, which are in descending order."""
        return (
            self.tap_indices[0] - self.tap_indices[1]
            if self.taps_per_residue > 1
            else 1
        )

    @property
    def has_consecutive_taps(self) -> bool:
        """True if all of the taps are consecutive."""
        first, count = self.tap_indices[0], len(self.tap_indices)
        return self.tap_indices == tuple(range(first, first + count))


@dataclass(frozen=True)
class TransposedAxis:
    """Extent of the input, and options, of a transposed convolution along one axis."""

    extent: int
    tap_count: int
    stride: int
    padding: int
    dilation: int
    output_padding: int

    @property
    def result_extent(self) -> int:
        """Extent of the result."""
        reach = self.dilation * (self.tap_count - 1) - 2 * self.padding
        return (self.extent - 1) * self.stride + reach + self.output_padding + 1

    @property
    def results_per_residue(self) -> int:
        """Number of results of each residue, rounded up."""
        return -(-self.result_extent // self.stride)

    @property
    def element_spacing(self) -> int:
        """Distance between the elements that successive taps of one result multiply."""
        return self.dilation // gcd(self.dilation, self.stride)

    def split_into_residue_runs(self) -> list[ResidueRun]:
        """
        Return the residues modulo the stride in ascending order, with neighbors of
        equal tap count and low padding merged into runs.
        """
        runs: list[ResidueRun] = []
        for residue in range(self.stride):
            run = self._make_residue_run(residue)
            last = runs[-1] if runs else None
            if last and (last.taps_per_residue, last.low_padding) == (
                run.taps_per_residue,
                run.low_padding,
            ):
                indices = (*last.tap_indices, *run.tap_indices)
                run = replace(
                    run, residue_count=last.residue_count + 1, tap_indices=indices
                )
                runs.pop()
            runs.append(run)
        return runs

    def _make_residue_run(self, residue: int) -> ResidueRun:
        """Return the taps and padding for results at `residue` modulo the stride."""
        position = residue + self.padding
        taps = [
            tap
            for tap in reversed(range(self.tap_count))
            if (position - tap * self.dilation) % self.stride == 0
        ]
        if not taps:
            return ResidueRun(1, (), 0, 0)
        low = (taps[0] * self.dilation - position) // self.stride
        span = self.results_per_residue + self.element_spacing * (len(taps) - 1)
        high = span - low - self.extent
        if -low >= self.extent or -high >= self.extent:
            return ResidueRun(1, (), 0, 0)
        return ResidueRun(1, tuple(taps), low, high)


@register_as_converter("convolution.default")
def _convert_convolution(
    emitter: Emitter,
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
    """Emit a plain or transposed convolution of floats, and add the bias."""
    if not is_float(emitter.result_element):
        raise Unsupported("expected a convolution of floats, got integers")
    rank = len(shape_of(filters)) - 2
    strides, widths, dilations, extra = (
        broadcast_to_axes(each, rank)
        for each in (stride, padding, dilation, output_padding)
    )
    batched = x
    if is_single := len(shape_of(x)) == rank + 1:
        batched = emitter.reshape(x, (1, *shape_of(x)))
    if transposed:
        extents, taps = shape_of(batched)[2:], shape_of(filters)[2:]
        parameters = zip(extents, taps, strides, widths, dilations, extra, strict=True)
        axes = [TransposedAxis(*each) for each in parameters]
        result = _emit_transposed_convolution(emitter, batched, filters, axes, groups)
    else:
        kind = _product_kind_of(rank)
        shape = ConvOptions(strides, widths, widths, dilations, groups, kind)
        result = _emit_correlation(emitter, batched, filters, shape)
    if bias is not None:
        column = emitter.reshape(bias, (shape_of(bias)[0], *[1] * rank))
        result = emitter.add(result, column, element_type_of_value(result))
    result = emitter.cast(result, emitter.result_element)
    return emitter.reshape(result, emitter.result_shape) if is_single else result


def _product_kind_of(rank: int) -> ProductKind:
    """Return the kind of the products of a convolution along `rank` axes."""
    return "conv3d" if rank == VOLUME else "conv"


def _emit_correlation(
    emitter: Emitter, x: SSAValue, filters: SSAValue, options: ConvOptions
) -> SSAValue:
    """Emit a correlation of N x C x axes with F x C/groups x taps, in the wide type."""
    rank = len(options.strides)
    if min(*options.low_padding, *options.high_padding) < 0:
        low = [0, 0, *(min(each, 0) for each in options.low_padding)]
        high = [0, 0, *(min(each, 0) for each in options.high_padding)]
        x = emitter.pad(x, low, high)
        clipped = [
            tuple(max(e, 0) for e in side)
            for side in (options.low_padding, options.high_padding)
        ]
        options = replace(options, low_padding=clipped[0], high_padding=clipped[1])
    if rank > 1:
        return _emit_conv_operation(emitter, x, filters, options)
    rows = ConvOptions(
        (1, *options.strides),
        (0, *options.low_padding),
        (0, *options.high_padding),
        (1, *options.dilation),
        options.groups,
    )
    images, kernels = (
        emitter.reshape(each, (*shape_of(each)[:2], 1, shape_of(each)[2]))
        for each in (x, filters)
    )
    result = _emit_conv_operation(emitter, images, kernels, rows)
    batch, channels, _, width = shape_of(result)
    return emitter.reshape(result, (batch, channels, width))


def _emit_conv_operation(
    emitter: Emitter, x: SSAValue, filters: SSAValue, options: ConvOptions
) -> SSAValue:
    """
    Emit `Conv3dOp` for three axes, else `Conv2dOp`, with a result of the wide type.
    """
    kind = graph.Conv3dOp if len(options.strides) == VOLUME else graph.Conv2dOp
    return emitter.emit(
        kind(
            x,
            filters,
            strides=options.strides,
            padding=(*options.low_padding, *options.high_padding),
            dilation=options.dilation,
            groups=options.groups,
            precision=emitter.precision_of_factor(x, options.kind),
            element=emitter.wide_element,
        )
    )


def _emit_transposed_convolution(
    emitter: Emitter,
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
    split = emitter.reshape(filters, (groups, channels // groups, count, *taps))
    kernels = emitter.permute(split, [0, 2, 1, *range(3, 3 + len(taps))])

    def concat_residues(chosen: tuple[ResidueRun, ...]) -> SSAValue:
        """
        Emit N x G x F/G x (windows x residues per axis), for runs that start with
        `chosen`.
        """
        if (position := len(chosen)) == len(axes):
            return _emit_results_at_residues(emitter, x, kernels, axes, chosen)
        parts = [
            concat_residues((*chosen, run))
            for run in axes[position].split_into_residue_runs()
        ]
        return emitter.concat(parts, 4 + 2 * position)

    result = concat_residues(())
    extents = [axis.results_per_residue * axis.stride for axis in axes]
    result = emitter.reshape(result, (shape_of(x)[0], groups * count, *extents))
    for position, axis in enumerate(axes):
        result = emitter.slice(result, 2 + position, 0, axis.result_extent)
    return result


def _emit_results_at_residues(
    emitter: Emitter,
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
    residues = [run.residue_count for run in runs]
    pairs = [each for pair in zip(windows, residues, strict=True) for each in pair]
    shape = (shape_of(x)[0], groups, count, *pairs)
    if not all(run.tap_indices for run in runs):
        return emitter.broadcast(emitter.emit_scalar(0, emitter.wide_element), shape)
    options = ConvOptions(
        strides=(1,) * len(axes),
        low_padding=tuple(run.low_padding for run in runs),
        high_padding=tuple(run.high_padding for run in runs),
        dilation=tuple(axis.element_spacing for axis in axes),
        groups=groups,
        kind="conv" if groups == 1 else _product_kind_of(len(axes)),
    )
    result = _emit_correlation(
        emitter, x, _emit_filters_of_runs(emitter, kernels, runs), options
    )
    if prod(residues) > 1:
        rank = len(axes)
        result = emitter.reshape(result, (shape[0], groups, *residues, count, *windows))
        order = [each for i in range(rank) for each in (3 + rank + i, 2 + i)]
        result = emitter.permute(result, [0, 1, 2 + rank, *order])
    return emitter.reshape(result, shape)


def _emit_filters_of_runs(
    emitter: Emitter, kernels: SSAValue, runs: Sequence[ResidueRun]
) -> SSAValue:
    """
    Emit one filter per group, residue and output channel, in this order: the taps of
    the runs, regrouped.
    """
    groups, count, depth, *_ = shape_of(kernels)
    residues, taps = (
        [run.residue_count for run in runs],
        [run.taps_per_residue for run in runs],
    )
    kernels = _emit_taps_of_runs(emitter, kernels, runs)
    if prod(residues) > 1:
        pairs = [each for pair in zip(residues, taps, strict=True) for each in pair]
        kernels = emitter.reshape(kernels, (groups, count, depth, *pairs))
        first = range(3, 3 + 2 * len(runs), 2)
        kernels = emitter.permute(
            kernels, [0, *first, 1, 2, *(axis + 1 for axis in first)]
        )
    return emitter.reshape(kernels, (groups * prod(residues) * count, depth, *taps))


def _emit_taps_of_runs(
    emitter: Emitter, kernels: SSAValue, runs: Sequence[ResidueRun]
) -> SSAValue:
    """Emit the taps of runs, G x F/G x C/G x (residues, taps) per axis."""
    if all(
        run.has_consecutive_taps or len(run.tap_indices) <= MAX_SLICED_TAPS
        for run in runs
    ):
        for position, run in enumerate(runs):
            kernels = _slice_taps_of_run(emitter, kernels, 3 + position, run)
        return kernels
    map_results: list[AffineExpr] = [AffineExpr.dimension(axis) for axis in range(3)]
    extents = [*shape_of(kernels)[:3]]
    for run in runs:
        residue, tap = (AffineExpr.dimension(len(extents) + each) for each in (0, 1))
        map_results.append(residue + tap * -run.tap_distance + run.tap_indices[0])
        extents += run.residue_count, run.taps_per_residue
    map_ = AffineMap(len(extents), 0, tuple(map_results))
    return emitter.emit(graph.UnfoldOp(kernels, map_, extents))


def _slice_taps_of_run(
    emitter: Emitter, value: SSAValue, axis: int, run: ResidueRun
) -> SSAValue:
    """
    Emit the elements at `run.tap_indices` along an axis, in this order, by slices.
    """
    if run.has_consecutive_taps:
        return emitter.slice(value, axis, run.tap_indices[0], run.tap_indices[-1] + 1)
    return emitter.concat(
        [emitter.slice(value, axis, i, i + 1) for i in run.tap_indices], axis
    )
