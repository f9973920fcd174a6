"""
Images as matrices of rows: one row per pixel of all images, with a column per channel.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import prod

from xdsl.builder import Builder
from xdsl.ir import SSAValue

from tlf.dialects import graph
from tlf.dialects.graph.stored_images import (
    IMAGE_RANK,
    StoredImages,
    WindowRowsInterface,
)
from tlf.dialects.interfaces import Scalar, to_affine_map
from tlf.dialects.types import tensor_type
from tlf.support.affine.delinearized_access import DelinearizedAccess
from tlf.support.affine.index_access import IndexAccess


def shape_of(value: SSAValue) -> tuple[int, ...]:
    """Return the shape of a tensor."""
    return tensor_type(value).get_shape()


def rows_shape_of(image_shape: Sequence[int]) -> tuple[int, int]:
    """Return the shape of the matrix of images of a shape, N x C x axes."""
    count, channels, *axes = image_shape
    return count * prod(axes), channels


def channels_last_shape_of(image_shape: Sequence[int]) -> tuple[int, ...]:
    """Return the shape of images with the channels last."""
    count, channels, *axes = image_shape
    return (count, *axes, channels)


def to_channels_last(rank: int) -> tuple[int, ...]:
    """Return the permutation that moves the axis of channels to the end."""
    return (0, *range(2, rank), 1)


def to_channels_first(rank: int) -> tuple[int, ...]:
    """Return the permutation that moves the last axis to that of channels."""
    return (0, rank - 1, *range(1, rank - 1))


@dataclass(frozen=True)
class PaddedImage:
    """Image without its padding, and the padding: before all axes, then after all."""

    image: SSAValue
    padding: tuple[int, ...]
    fill: Scalar


@dataclass
class ImageRows:
    """
    Matrices that hold the elements of images, by the image, and the images that padded
    ones are computed from.
    """

    _rows: dict[SSAValue, SSAValue] = field(default_factory=dict[SSAValue, SSAValue])
    padded: dict[SSAValue, PaddedImage] = field(
        default_factory=dict[SSAValue, PaddedImage]
    )

    _gathered: dict[SSAValue, SSAValue] = field(
        default_factory=dict[SSAValue, SSAValue]
    )

    def has_rows(self, image: SSAValue) -> bool:
        """
        Return `True` if the elements of an image are known as a matrix: it was computed
        as one, or windows read it and it is a transpose of an image with channels last.
        """
        if image in self._rows:
            return True
        users = (use.operation for use in image.uses)
        is_read = any(isinstance(user, WindowRowsInterface) for user in users)
        return is_read and _channels_last_source_of(image) is not None

    def rows_of(self, builder: Builder, image: SSAValue) -> SSAValue:
        """Return the matrix of an image, gathered from it once unless known."""
        if (known := self._rows.get(image)) is not None:
            return known
        if (source := _channels_last_source_of(image)) is not None:
            return build_reshape(builder, source, rows_shape_of(shape_of(image)))
        if image not in self._gathered:
            self._gathered[image] = gather_rows(builder, image, shape_of(image))
        return self._gathered[image]

    def stored_images_of(self, builder: Builder, image: SSAValue) -> StoredImages:
        """Return an image with its channels last if it has rows, else as it is."""
        if not self.has_rows(image):
            return StoredImages(image, is_channels_last=False)
        rows = self.rows_of(builder, image)
        shape = channels_last_shape_of(shape_of(image))
        return StoredImages(build_reshape(builder, rows, shape), is_channels_last=True)

    def known_rows_of(self, image: SSAValue) -> SSAValue | None:
        """Return the matrix that an image was computed as, or None."""
        return self._rows.get(image)

    def build_image(
        self, builder: Builder, rows: SSAValue, image_shape: Sequence[int]
    ) -> SSAValue:
        """Build the image of a matrix, and record the matrix."""
        shape = channels_last_shape_of(image_shape)
        last = build_reshape(builder, rows, shape)
        first = graph.TransposeOp(last, to_channels_first(len(shape)))
        image = builder.insert(first).result
        self._rows[image] = rows
        return image


def build_reshape(builder: Builder, value: SSAValue, shape: Sequence[int]) -> SSAValue:
    """Build a reshape, unless the value has the shape."""
    if shape_of(value) == tuple(shape):
        return value
    return builder.insert(graph.ReshapeOp(value, shape)).result


def gather_rows(
    builder: Builder, value: SSAValue, image_shape: Sequence[int]
) -> SSAValue:
    """
    Build the gather of the matrix of images of a shape from a tensor that has this
    shape, or broadcasts to it.
    """
    rank = len(image_shape)
    padded = (1,) * (rank - len(shape_of(value))) + shape_of(value)
    source = build_reshape(builder, value, padded)
    access = access_of_rows(padded, image_shape)
    map_ = to_affine_map(access.accesses, rank).data
    return builder.insert(graph.Im2colOp(source, map_, access.basis)).result


def access_of_rows(
    shape: Sequence[int], image_shape: Sequence[int]
) -> DelinearizedAccess:
    """
    Return the access of the rows of images of a shape to a tensor of the same rank that
    has this shape, or broadcasts to it.
    """
    digits = to_channels_last(len(image_shape))
    accesses = tuple(
        IndexAccess() if extent == 1 else IndexAccess.of_iterator(digits.index(axis))
        for axis, extent in enumerate(shape)
    )
    count, channels, *axes = image_shape
    return DelinearizedAccess(accesses, ((count, *axes), (channels,)))


def _channels_last_source_of(image: SSAValue) -> SSAValue | None:
    """Return the operand of the transpose that computes an image from channels last."""
    owner = image.owner
    if not isinstance(owner, graph.TransposeOp):
        return None
    rank = len(shape_of(image))
    is_image = rank >= IMAGE_RANK and owner.axis_list == to_channels_first(rank)
    return owner.operand if is_image else None
