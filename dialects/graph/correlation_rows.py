"""Interface of convolutions that are computed as matrices with a row per window."""

from __future__ import annotations

import abc
from typing import cast

from xdsl.builder import Builder
from xdsl.dialects.builtin import StringAttr
from xdsl.ir import Attribute, SSAValue

from tlf.dialects.graph.correlation import Correlation, RowsResult
from tlf.dialects.graph.stored_images import StoredImages, WindowRowsInterface
from tlf.dialects.graph.tensor_types import element_type_of_value
from tlf.dialects.interfaces import Scalar


class CorrelationRowsInterface(WindowRowsInterface, abc.ABC):
    """
    Correlation of images, the first operand, with filters, the second one, and an
    initial value, if there is a third one.
    """

    @property
    @abc.abstractmethod
    def correlation(self) -> Correlation:
        """Correlation of images with filters."""

    @property
    @abc.abstractmethod
    def accumulator_type(self) -> Attribute:
        """Element type in which products are summed."""

    @property
    def initial_value(self) -> SSAValue | None:
        return self.operands[2] if len(self.operands) > 2 else None

    @property
    def border_value(self) -> Scalar:
        return 0

    @property
    def prefers_channels_last(self) -> bool:
        return not self.correlation.is_depthwise(self.operands[1])

    def build_rows(
        self, builder: Builder, images: StoredImages, initial_rows: SSAValue | None
    ) -> SSAValue:
        """Build the product of the matrices of windows and of filters."""
        types = RowsResult(
            element_type_of_value(self.results[0]),
            self.accumulator_type,
            cast(StringAttr, self.properties["precision"]).data,
            initial_rows,
        )
        return self.correlation.build_rows(builder, images, self.operands[1], types)
