"""Operation `npu.dma`: a strided, clipped or indexed move between two levels."""

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.dialects.builtin import (
    DenseArrayBase,
    IndexType,
    UnitAttr,
    i64,
)
from xdsl.dialects.utils import DynamicIndexList
from xdsl.ir import Attribute
from xdsl.irdl import (
    AttrSizedOperandSegments,
    VarOperand,
    irdl_op_definition,
    opt_prop_def,
    prop_def,
    var_operand_def,
)
from xdsl.utils.exceptions import VerifyException

from tlf.dialects.indexed_move_operation import (
    INDEX_TYPES,
    verify_accumulable_element_type,
)
from tlf.dialects.mem.number_literals import (
    Number,
    number_of_attribute,
    to_number_attribute,
)
from tlf.dialects.mixed_offsets import (
    Index,
    merge_offsets,
    split_offsets,
    verify_offset_counts,
)
from tlf.dialects.npu.address_attribute import (
    Access,
    Accesses,
    split_attributes_and_bases,
)
from tlf.dialects.npu.engine_operation import EngineOp, to_ints


@dataclass(frozen=True)
class IndexedRows:
    """
    Indexing of an `npu.dma` that gathers or scatters elements along one axis of a
    table.
    """

    indices: Access
    """Indices: one per element, or one per row with strides of 0."""
    row_stride_bytes: int
    """Bytes between adjacent rows along the axis."""
    axis_extent: int
    """Extent of the axis."""
    is_scatter: bool = False
    """True if the table is written, false if it is read."""
    is_accumulating: bool = False
    """True if elements are added to those at the destination."""

    @property
    def build_properties(self) -> dict[str, Attribute]:
        """Properties of the instruction for the indexing, without the address."""
        table = DenseArrayBase.from_list(i64, (self.row_stride_bytes, self.axis_extent))
        indexing: dict[str, Attribute] = {
            "scatter" if self.is_scatter else "gather": table
        }
        return (
            {**indexing, "accumulate": UnitAttr()} if self.is_accumulating else indexing
        )


@irdl_op_definition
class DmaOp(EngineOp):
    """
    Move a box between two levels.

    Elements of the box outside of the half-open ranges `inside` are not read, and
    become `fill` (0 by default). A size or range may be a value; nothing is moved if a
    size is not positive.

    With `gather [step, bound]`, the third address has the indices: one per element or,
    with strides of 0, one per row. An element is read at an additional offset of `step`
    bytes times its index, and becomes `fill` if the index is negative or not below
    `bound`. With `scatter`, an element is written at this offset, or dropped;
    `accumulate` adds it to the destination.

    ```mlir
    npu.dma L2[0](256, 4):f32 from L3[%b + 64](2048, 4):f32 shape [16, 64]
        inside [0, 0] to [%n, 64] fill 0.0
    npu.dma L2[0](256, 4):f32 from L3[0](0, 4):f32, L2[8192](8, 0):i64 shape [16, 64]
        gather [256, 1000] fill 0.0
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
    gather = opt_prop_def(DenseArrayBase.constr(i64))
    scatter = opt_prop_def(DenseArrayBase.constr(i64))
    accumulate = opt_prop_def(UnitAttr)

    irdl_options = (AttrSizedOperandSegments(as_property=True),)
    custom_directives = (Accesses, DynamicIndexList, Number)

    assembly_format = (
        "custom<Accesses>($bases, $accesses) "
        "`shape` custom<DynamicIndexList>($sizes, $shape) "
        "(`inside` custom<DynamicIndexList>($lows, $inside_low)^ `to` "
        "custom<DynamicIndexList>($highs, $inside_high))? "
        "(`gather` $gather^)? (`scatter` $scatter^)? (`accumulate` $accumulate^)? "
        "(`fill` custom<Number>($fill)^)? attr-dict"
    )

    def __init__(
        self,
        destination: Access,
        source: Access,
        shape: Sequence[Index],
        in_bounds_ranges: Sequence[tuple[Index, Index]] = (),
        fill: float | None = None,
        indexed: IndexedRows | None = None,
    ) -> None:
        addresses = [destination, source]
        addresses += [] if indexed is None else [indexed.indices]
        attributes, bases = split_attributes_and_bases(addresses)
        static_shape, sizes = split_offsets(shape)
        inside_low, lows = split_offsets([low for low, _ in in_bounds_ranges])
        inside_high, highs = split_offsets([high for _, high in in_bounds_ranges])
        super().__init__(
            operands=[bases, sizes, lows, highs],
            properties={
                "accesses": attributes,
                "shape": static_shape,
                "inside_low": inside_low,
                "inside_high": inside_high,
                "fill": None if fill is None else to_number_attribute(fill),
                **({} if indexed is None else indexed.build_properties),
            },
        )

    @property
    def base_values(self) -> VarOperand:
        return self.bases

    @property
    def source(self) -> Access:
        """
        Address that is read, the first input; `VerifyException` if it is a number.
        """
        source = self.inputs[0]
        if not isinstance(source, Access):
            raise VerifyException("expected an address to read, got a number")
        return source

    @property
    def indexed_rows(self) -> IndexedRows | None:
        """
        Indexing of the gathered or scattered table; `None` for a move without indices.
        """
        table = self.gather or self.scatter
        if table is None:
            return None
        indices, (step, bound) = self.inputs[1], to_ints(table)
        if not isinstance(indices, Access):
            raise VerifyException("expected an address of indices, got a number")
        is_scatter, adds = self.scatter is not None, self.accumulate is not None
        return IndexedRows(indices, step, bound, is_scatter, adds)

    @property
    def engine(self) -> str:
        """DMA queue from the source's level to the destination's level."""
        return dma_engine_name(self.source.level, self.destination.level)

    @property
    def mixed_shape(self) -> tuple[Index, ...]:
        return merge_offsets(self.shape, self.sizes)

    @property
    def read_ranges(self) -> tuple[tuple[Index, Index], ...]:
        """Half-open range that is read, per dimension; empty if everything is read."""
        low = merge_offsets(self.inside_low, self.lows)
        return tuple(zip(low, merge_offsets(self.inside_high, self.highs), strict=True))

    @property
    def fill_value(self) -> float:
        return 0 if self.fill is None else number_of_attribute(self.fill)

    def verify_(self) -> None:
        rank = len(self.shape)
        verify_offset_counts(self.shape, self.sizes, rank, "sizes")
        self._verify_indexed_table()
        count = 1 if self.gather is None and self.scatter is None else 2
        self.verify_addresses(count, (rank,) * (count + 1))
        self._verify_index_access()
        source, written = self.source, self.destination
        if source.level == written.level:
            raise VerifyException(
                f"expected two different levels, got {source.level} twice"
            )
        if source.element_type != written.element_type:
            raise VerifyException(
                f"expected one element type, got {source.element_type} and "
                f"{written.element_type}"
            )
        verify_accumulable_element_type(
            source.element_type, self.accumulate is not None
        )
        for static, values in (
            (self.inside_low, self.lows),
            (self.inside_high, self.highs),
        ):
            bounds = rank if len(self.inside_low) or len(self.inside_high) else 0
            verify_offset_counts(static, values, bounds, "bounds")

    def _verify_indexed_table(self) -> None:
        """
        Raise `VerifyException` if `gather`, `scatter`, `accumulate` and `inside` are
        inconsistent, or a table has a wrong step or bound.
        """
        tables = [each for each in (self.gather, self.scatter) if each is not None]
        if len(tables) > 1:
            raise VerifyException("expected one of `gather` and `scatter`, got both")
        if self.accumulate is not None and self.scatter is None:
            raise VerifyException("expected `scatter` before `accumulate`")
        if self.scatter is not None and len(self.inside_low):
            raise VerifyException("expected no `inside` of a scatter")
        for table in tables:
            if len(table) != 2 or to_ints(table)[1] < 0:
                got = list(to_ints(table))
                raise VerifyException(
                    f"expected a step and a bound of at least 0, got {got}"
                )

    def _verify_index_access(self) -> None:
        """
        Check that indices are integers in the source's or the destination's level.
        """
        if (indexed := self.indexed_rows) is None:
            return
        element, levels = indexed.indices.element_type, (self.source, self.destination)
        if element not in INDEX_TYPES:
            raise VerifyException(f"expected indices of i32 or i64, got {element}")
        if indexed.indices.level not in {each.level for each in levels}:
            raise VerifyException(
                f"expected indices in {self.source.level} or {self.destination.level}, "
                f"got {indexed.indices.level}"
            )


def dma_engine_name(source_level: str, destination_level: str) -> str:
    """Return the name of the DMA queue that moves from one level to another."""
    return f"dma_{source_level}_{destination_level}".lower()
