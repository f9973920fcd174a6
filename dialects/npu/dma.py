"""
The instruction of the DMA queues.
"""

from collections.abc import Sequence

from xdsl.dialects.builtin import (
    DenseArrayBase,
    IndexType,
    i64,
)
from xdsl.dialects.utils import DynamicIndexList
from xdsl.irdl import (
    AttrSizedOperandSegments,
    VarOperand,
    irdl_op_definition,
    opt_prop_def,
    prop_def,
    var_operand_def,
)
from xdsl.utils.exceptions import VerifyException

from tlf.dialects.mem.numbers import Number, number_attr, number_value
from tlf.dialects.mixed_index import Index, mixed, split, verify_offsets
from tlf.dialects.npu.access import Access, Accesses, split_accesses
from tlf.dialects.npu.engine import EngineOp


@irdl_op_definition
class DmaOp(EngineOp):
    """
    Move a box between two levels.

    Elements of the box outside the half-open ranges `inside` are not read, and arrive
    as `fill` (0 without it). A size or range may be a value; nothing is moved when a
    size is not positive.

    ```mlir
    npu.dma L2[0](256, 4):f32 from L3[%b + 64](2048, 4):f32 shape [16, 64]
        inside [0, 0] to [%n, 64] fill 0.0
    ```
    """

    name = "npu.dma"

    bases = var_operand_def(IndexType)
    sizes = var_operand_def(IndexType)
    lows = var_operand_def(IndexType)
    highs = var_operand_def(IndexType)

    shape = prop_def(DenseArrayBase.constr(i64))
    inside_low = prop_def(DenseArrayBase.constr(i64))
    inside_high = prop_def(DenseArrayBase.constr(i64))
    fill = opt_prop_def()

    irdl_options = (AttrSizedOperandSegments(as_property=True),)
    custom_directives = (Accesses, DynamicIndexList, Number)

    assembly_format = (
        "custom<Accesses>($bases, $accesses) "
        "`shape` custom<DynamicIndexList>($sizes, $shape) "
        "(`inside` custom<DynamicIndexList>($lows, $inside_low)^ `to` "
        "custom<DynamicIndexList>($highs, $inside_high))? "
        "(`fill` custom<Number>($fill)^)? attr-dict"
    )

    def __init__(
        self,
        destination: Access,
        source: Access,
        shape: Sequence[Index],
        inside: Sequence[tuple[Index, Index]] = (),
        fill: float | None = None,
    ) -> None:
        attributes, bases = split_accesses([destination, source])
        static_shape, sizes = split(shape)
        inside_low, lows = split([low for low, _ in inside])
        inside_high, highs = split([high for _, high in inside])
        super().__init__(
            operands=[bases, sizes, lows, highs],
            properties={
                "accesses": attributes,
                "shape": static_shape,
                "inside_low": inside_low,
                "inside_high": inside_high,
                "fill": None if fill is None else number_attr(fill),
            },
        )

    @property
    def base_values(self) -> VarOperand:
        return self.bases

    @property
    def source(self) -> Access:
        source = self.inputs[0]
        if not isinstance(source, Access):
            raise VerifyException("expected an address to read, got a number")
        return source

    @property
    def engine(self) -> str:
        """The queue from the source's level to the destination's."""
        return dma_engine(self.source.level, self.written.level)

    @property
    def mixed_shape(self) -> tuple[Index, ...]:
        return mixed(self.shape, self.sizes)

    @property
    def inside(self) -> tuple[tuple[Index, Index], ...]:
        """The range that is read, per dimension. Empty: everything."""
        low = mixed(self.inside_low, self.lows)
        return tuple(zip(low, mixed(self.inside_high, self.highs), strict=True))

    @property
    def fill_value(self) -> float:
        return 0 if self.fill is None else number_value(self.fill)

    def verify_(self) -> None:
        rank = len(self.shape)
        verify_offsets(self.shape, self.sizes, rank, "sizes")
        self.verify_addresses(1, (rank, rank))
        source, written = self.source, self.written
        if source.level == written.level:
            raise VerifyException(
                f"expected two different levels, got {source.level} twice"
            )
        if source.element_type != written.element_type:
            raise VerifyException(
                f"expected one element type, got {source.element_type} and "
                f"{written.element_type}"
            )
        for static, values in (
            (self.inside_low, self.lows),
            (self.inside_high, self.highs),
        ):
            bounds = rank if len(self.inside_low) or len(self.inside_high) else 0
            verify_offsets(static, values, bounds, "bounds")


def dma_engine(source: str, destination: str) -> str:
    """
    The name of the queue that moves from one level to another.
    """
    return f"dma_{source}_{destination}".lower()
