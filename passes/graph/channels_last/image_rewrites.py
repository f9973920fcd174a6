"""
Rewrites of single operations on images to operations on matrices with a row per pixel.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

from xdsl.builder import Builder
from xdsl.ir import Operation, SSAValue

from tlf.dialects import graph
from tlf.dialects.graph.stored_images import (
    CHANNEL_AXIS,
    IMAGE_RANK,
    StoredImages,
    WindowRowsInterface,
)
from tlf.dialects.interfaces import (
    ContractionInterface,
    DelinearizedReadInterface,
    ElementwiseInterface,
    MovementInterface,
    ViewInterface,
    to_affine_map,
)
from tlf.dialects.types import itemsize_of
from tlf.passes.graph.channels_last.image_rows import (
    ImageRows,
    PaddedImage,
    build_reshape,
    gather_rows,
    rows_shape_of,
    shape_of,
    to_channels_last,
)
from tlf.passes.graph.permuted_digits import PermutedDigits
from tlf.passes.graph.pointwise import is_pointwise, rebuild_elementwise
from tlf.support.affine.index_access import IndexAccess, identity_accesses

MIN_CHANNEL_BYTES = 16
"""
Least bytes of all channels of a pixel for which images are stored with channels last:
those of one load of a thread.
"""

UNGATHERED_MOVEMENTS = ViewInterface | graph.TransposeOp | DelinearizedReadInterface
"""Movements of images that stay as they are, as other passes fold them."""


@dataclass
class ImageRewriter:
    """
    Builder of operations on matrices in place of operations on images, whose results it
    returns as images.
    """

    rows: ImageRows

    def rewrite(self, op: Operation, builder: Builder) -> SSAValue | None:
        """
        Build the equivalent of an operation on matrices, and return the value that
        replaces its result; None if the operation stays as it is.
        """
        match op:
            case WindowRowsInterface():
                return self._rewrite_windows(op, builder)
            case graph.ConcatOp():
                return self._rewrite_concat(op, builder)
            case graph.ReduceOp():
                return self._rewrite_reduction(op, builder)
            case graph.ReshapeOp():
                reshaped = self._rewrite_reshape(op, builder)
                return reshaped or self._rewrite_permuted_pixels(op, builder)
            case graph.SliceOp() | graph.PadOp() if _moves_channels_only(op):
                return self._rewrite_movement_of_channels(op, builder)
            case MovementInterface():
                return self._rewrite_movement(op, builder)
            case ElementwiseInterface():
                return self._rewrite_elementwise(op, builder)
            case _:
                return None

    def _rewrite_windows(
        self, op: WindowRowsInterface, builder: Builder
    ) -> SSAValue | None:
        """Compute a convolution, or a pooling of an image with rows, as a matrix."""
        if (padded := self.rows.padded.get(op.images)) is not None:
            pads = padded.image, padded.padding, padded.fill
            if (absorbed := op.absorb_padding(*pads)) is not None:
                rewritten = self._rewrite_windows(absorbed, builder)
                absorbed.erase(safe_erase=False)
                return rewritten
        images = op.images
        if not self.rows.has_rows(images):
            if not op.prefers_channels_last:
                return self._build_windows_channels_first(op, builder)
            channel_bytes = shape_of(images)[1] * itemsize_of(images)
            if channel_bytes >= MIN_CHANNEL_BYTES:
                shape = shape_of(images)
                gathered = self.rows.rows_of(builder, images)
                images = self.rows.build_image(builder, gathered, shape)
        init = op.initial_value
        initial_rows = None if init is None else self.rows.rows_of(builder, init)
        stored = self.rows.stored_images_of(builder, images)
        result = op.build_rows(builder, stored, initial_rows)
        return self.rows.build_image(builder, result, shape_of(op.results[0]))

    @staticmethod
    def _build_windows_channels_first(
        op: WindowRowsInterface, builder: Builder
    ) -> SSAValue:
        """Compute an image with channels first from windows of each channel."""
        shape = shape_of(op.results[0])
        flat = (*shape[:2], prod(shape[2:]))
        init = op.initial_value
        initial = None if init is None else build_reshape(builder, init, flat)
        images = StoredImages(op.images, is_channels_last=False)
        return build_reshape(builder, op.build_rows(builder, images, initial), shape)

    def _rewrite_elementwise(
        self, op: ElementwiseInterface, builder: Builder
    ) -> SSAValue | None:
        """Compute an elementwise operation on the matrices of its operands."""
        shape = shape_of(op.results[0])
        if len(shape) < IMAGE_RANK or not is_pointwise(op):
            return None
        same = [value for value in op.operands if shape_of(value) == shape]
        if not any(map(self.rows.has_rows, same)):
            return None
        if any(_is_computed_per_line(each, shape) for each in op.operands):
            return None
        operands = [self._operand_rows(builder, each, shape) for each in op.operands]
        rows = rebuild_elementwise(op, operands, rows_shape_of(shape), builder)
        return self.rows.build_image(builder, rows, shape)

    def _operand_rows(
        self, builder: Builder, value: SSAValue, image_shape: Sequence[int]
    ) -> SSAValue:
        """Return an operand that broadcasts to an image, as it broadcasts to rows."""
        shape = shape_of(value)
        if shape == tuple(image_shape):
            return self.rows.rows_of(builder, value)
        first = len(image_shape) - len(shape)
        varying = {first + axis for axis, extent in enumerate(shape) if extent > 1}
        pixel_axes = {axis for axis, n in enumerate(image_shape) if n > 1 and axis != 1}
        if not varying:
            return build_reshape(builder, value, [])
        if varying == {1}:
            return build_reshape(builder, value, [image_shape[1]])
        if varying == pixel_axes:
            return build_reshape(builder, value, [rows_shape_of(image_shape)[0], 1])
        return gather_rows(builder, value, image_shape)

    def _rewrite_concat(self, op: graph.ConcatOp, builder: Builder) -> SSAValue | None:
        """Concatenate the channels of images as columns of their matrices."""
        shape = shape_of(op.result)
        if len(shape) < IMAGE_RANK or op.axis.value.data != CHANNEL_AXIS:
            return None
        if not any(map(self.rows.has_rows, op.operands)):
            return None
        rows = [self.rows.rows_of(builder, each) for each in op.operands]
        joined = builder.insert(graph.ConcatOp(rows, 1)).result
        return self.rows.build_image(builder, joined, shape)

    def _rewrite_reduction(
        self, op: graph.ReduceOp, builder: Builder
    ) -> SSAValue | None:
        """Reduce images with channels last, if no axis of the result is permuted."""
        shape, axes = shape_of(op.operand), set(op.axis_list)
        if op.init is not None or len(shape) < IMAGE_RANK:
            return None
        pixels = set(range(2, len(shape)))
        is_in_order = 1 in axes or pixels <= axes
        if not self.rows.has_rows(op.operand) or not is_in_order:
            return None
        images = self.rows.stored_images_of(builder, op.operand).value
        permutation = to_channels_last(len(shape))
        reduced = graph.ReduceOp(
            images,
            op.reduce_kind,
            sorted(permutation.index(axis) for axis in axes),
            acc=op.acc,
            element=op.result.type.element_type,
        )
        result = builder.insert(reduced).result
        return build_reshape(builder, result, shape_of(op.result))

    def _rewrite_movement(
        self, op: MovementInterface, builder: Builder
    ) -> SSAValue | None:
        """Gather the rows of an image that is padded, sliced, repeated or unfolded."""
        source, shape = op.operands[0], shape_of(op.results[0])
        accesses = op.indexing_maps()[0] or ()
        rank = len(shape)
        if isinstance(op, UNGATHERED_MOVEMENTS) or rank < IMAGE_RANK:
            return None
        if len(op.operands) != 1 or len(accesses) != rank:
            return None
        is_plain = op.result_indexing_maps()[0] == identity_accesses(rank)
        if not is_plain or any(each.width != 1 for each in accesses):
            return None
        if not self.rows.has_rows(source):
            return None
        digits = to_channels_last(rank)
        images = self.rows.stored_images_of(builder, source).value
        moved = tuple(_renumber(accesses[axis], digits) for axis in digits)
        count, channels, *pixels = shape
        basis = ((count, *pixels), (channels,))
        map_ = to_affine_map(moved, rank).data
        fill = op.padding_value(0)
        gather = graph.Im2colOp(images, map_, basis, 0 if fill is None else fill)
        rows = builder.insert(gather).result
        image = self.rows.build_image(builder, rows, shape)
        if isinstance(op, graph.PadOp):
            self._record_padding(op, image)
        return image

    def _record_padding(self, op: graph.PadOp, image: SSAValue) -> None:
        """Record the padding of an image, unless it has padding of channels."""
        low, high = op.low.get_values(), op.high.get_values()
        if not any((*low[:2], *high[:2])):
            padding = (*low[2:], *high[2:])
            self.rows.padded[image] = PaddedImage(op.operand, padding, op.fill_value)

    def _rewrite_movement_of_channels(
        self, op: graph.SliceOp | graph.PadOp, builder: Builder
    ) -> SSAValue | None:
        """Slice or pad the columns of the matrix of an image."""
        if not self.rows.has_rows(op.operand):
            return None
        rows = self.rows.rows_of(builder, op.operand)
        if isinstance(op, graph.PadOp):
            low, high = op.low.get_values()[1], op.high.get_values()[1]
            moved = graph.PadOp(rows, [0, low], [0, high], op.fill_value)
        else:
            offset, step = op.offsets.get_values()[1], op.steps[1]
            count = shape_of(op.result)[1]
            moved = graph.SliceOp(
                rows, [0, offset], [shape_of(rows)[0], count], [1, step]
            )
        image_shape = shape_of(op.result)
        return self.rows.build_image(builder, builder.insert(moved).result, image_shape)

    def _rewrite_reshape(
        self, op: graph.ReshapeOp, builder: Builder
    ) -> SSAValue | None:
        """
        Keep the matrix of an image whose axes of pixels are reshaped, but not if they
        are split for a permutation, which is a gather.
        """
        before, after = shape_of(op.operand), shape_of(op.result)
        if before[:2] != after[:2] or min(len(before), len(after)) < IMAGE_RANK:
            return None
        users = (use.operation for use in op.result.uses)
        is_permuted = any(isinstance(user, graph.TransposeOp) for user in users)
        if is_permuted or not self.rows.has_rows(op.operand):
            return None
        rows = self.rows.rows_of(builder, op.operand)
        image = self.rows.build_image(builder, rows, after)
        self._record_reshaped_padding(builder, op, image)
        return image

    def _record_reshaped_padding(
        self, builder: Builder, op: graph.ReshapeOp, image: SSAValue
    ) -> None:
        """Record the padding of an image that gets or loses axes of extent 1."""
        if (padded := self.rows.padded.get(op.operand)) is None:
            return
        before, after = shape_of(op.operand)[2:], shape_of(op.result)[2:]
        if [n for n in before if n > 1] != [n for n in after if n > 1]:
            return
        sides = padded.padding[: len(before)], padded.padding[len(before) :]
        pairs = [
            pair
            for extent, *pair in zip(before, *sides, strict=True)
            if extent > 1 or any(pair)
        ]
        if len(pairs) != sum(n > 1 for n in after):
            return
        kept = iter(pairs)
        both = [next(kept) if extent > 1 else [0, 0] for extent in after]
        padding = (*(low for low, _ in both), *(high for _, high in both))
        extents = [n - sum(pair) for n, pair in zip(after, both, strict=True)]
        shape = (*shape_of(op.result)[:2], *extents)
        rows = self.rows.rows_of(builder, padded.image)
        source = self.rows.build_image(builder, rows, shape)
        self.rows.padded[image] = PaddedImage(source, padding, padded.fill)

    def _rewrite_permuted_pixels(
        self, op: graph.ReshapeOp, builder: Builder
    ) -> SSAValue | None:
        """
        Move the rows of an image whose axes are split, permuted and merged, such as a
        pixel shuffle or a channel shuffle: permute those of a product, which it can
        write in this order, and gather others.
        """
        transpose = op.operand.owner
        if not isinstance(transpose, graph.TransposeOp):
            return None
        split = transpose.operand.owner
        if not isinstance(split, graph.ReshapeOp) or len(shape_of(op.result)) < 3:
            return None
        image = split.operand
        if len(shape_of(image)) < IMAGE_RANK or not self.rows.has_rows(image):
            return None
        rows = self._permute_product(op.result, builder)
        rows = rows or self._gather_permuted_rows(op, builder, transpose, split)
        if rows is None:
            return None
        return self.rows.build_image(builder, rows, shape_of(op.result))

    @staticmethod
    def _permute_product(image: SSAValue, builder: Builder) -> SSAValue | None:
        """
        Build the rows of an image from a product of which it is a permutation; None
        unless nothing else reads the product.
        """
        permuted = PermutedDigits.of_chain(image)
        if not isinstance(permuted.source.owner, ContractionInterface):
            return None
        images, channels, *pixels = permuted.axes
        pixel_digits = tuple(digit for axis in (images, *pixels) for digit in axis)
        rows = PermutedDigits(permuted.source, (pixel_digits, channels))
        return rows.build(builder)

    def _gather_permuted_rows(
        self,
        op: graph.ReshapeOp,
        builder: Builder,
        transpose: graph.TransposeOp,
        split: graph.ReshapeOp,
    ) -> SSAValue | None:
        """Gather the rows of an image that is split, permuted and merged."""
        factors = _axis_factors(shape_of(split.operand), shape_of(split.result))
        merged = _axis_factors(shape_of(op.result), shape_of(op.operand))
        if factors is None or merged is None:
            return None
        unit = len(shape_of(split.result))
        extents = [*shape_of(split.result), 1]
        order = to_channels_last(len(factors))
        view_dims = [dim for axis in order for dim in factors[axis]]
        rows = self.rows.rows_of(builder, split.operand)
        source = build_reshape(builder, rows, [extents[dim] for dim in view_dims])
        moved = transpose.axis_list
        *pixel_axes, channel_axis = to_channels_last(len(merged))
        pixels = [moved[dim] for axis in pixel_axes for dim in merged[axis]]
        channels = [moved[dim] for dim in merged[channel_axis]]
        digits = [pixels or [unit], channels or [unit]]
        flat = [dim for axis in digits for dim in axis]
        accesses = tuple(IndexAccess.of_iterator(flat.index(dim)) for dim in view_dims)
        basis = tuple(tuple(extents[dim] for dim in axis) for axis in digits)
        gather = graph.Im2colOp(source, to_affine_map(accesses, len(flat)).data, basis)
        return builder.insert(gather).result


def _is_computed_per_line(value: SSAValue, image_shape: Sequence[int]) -> bool:
    """
    Return `True` if a value is computed for lines of pixels of images of a shape, such
    as the statistics of a norm along rows, which are reduced with channels first.
    """
    shape = shape_of(value)
    first = len(image_shape) - len(shape)
    pixels = [n for axis, n in enumerate(shape) if first + axis > 1]
    wanted = image_shape[len(image_shape) - len(pixels) :]
    is_partial = max(pixels, default=1) > 1 and tuple(pixels) != tuple(wanted)
    return is_partial and isinstance(value.owner, Operation)


def _moves_channels_only(op: graph.SliceOp | graph.PadOp) -> bool:
    """Return `True` if an operation on images keeps all pixels."""
    before, after = shape_of(op.operand), shape_of(op.result)
    if len(before) < IMAGE_RANK:
        return False
    return before[0] == after[0] and before[2:] == after[2:]


def _renumber(access: IndexAccess, digits: Sequence[int]) -> IndexAccess:
    """Return an access over the axes of an image as one over its digits."""
    terms = tuple((digits.index(axis), factor) for axis, factor in access.terms)
    return IndexAccess(terms, access.offset)


def _axis_factors(
    shape: Sequence[int], factors: Sequence[int]
) -> list[list[int]] | None:
    """
    Return, for each axis of a shape, the axes of a longer shape that split it; None if
    the longer shape does not only split axes.
    """
    ends = [prod(shape[: axis + 1]) for axis in range(len(shape))]
    result: list[list[int]] = [[] for _ in shape]
    axis, product = 0, 1
    for position, factor in enumerate(factors):
        while axis < len(shape) - 1 and product == ends[axis] and factor > 1:
            axis += 1
        product *= factor
        if ends[axis] % product:
            return None
        result[axis].append(position)
    return result if product == ends[-1] else None
