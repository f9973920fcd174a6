"""Operations `npu.vector` and `npu.reduce`: instructions of the vector engine."""

from collections.abc import Sequence

from xdsl.dialects.builtin import (
    DenseArrayBase,
    IndexType,
    StringAttr,
    i64,
)
from xdsl.dialects.utils import DynamicIndexList
from xdsl.ir import SSAValue
from xdsl.irdl import (
    AttrSizedOperandSegments,
    VarOperand,
    irdl_op_definition,
    prop_def,
    var_operand_def,
)
from xdsl.utils.exceptions import VerifyException

from tlf.dialects.mixed_offsets import (
    Index,
    merge_offsets,
    split_offsets,
    verify_offset_counts,
)
from tlf.dialects.npu.accumulating_instruction import (
    AccumulatingOp,
    accumulate_condition_of,
    accumulate_property_of,
)
from tlf.dialects.npu.address_attribute import (
    Access,
    Accesses,
    split_attributes_and_bases,
)
from tlf.dialects.npu.engine_operation import EngineOp, to_ints

FUNCTIONS = (
    "abs acos acosh asin asinh atan atanh cbrt ceil cos cosh erf exp exp2 expm1 floor "
    "log log10 log1p log2 neg rint round rsqrt sin sinh sqrt tan tanh trunc"
)
ARITHMETIC = (
    "add and atan2 copysign div max maxnum min minnum mul or pow rem shl shr sub xor"
)
RELATIONS = "eq ge gt le lt ne"

VECTOR_ARITY = {
    **dict.fromkeys(FUNCTIONS.split(), 1),
    **dict.fromkeys(ARITHMETIC.split(), 2),
    **{f"cmp.{relation}": 2 for relation in RELATIONS.split()},
    "copy": 1,
    "fill": 1,
    "select": 3,
}
"""Number of inputs of each operation of the vector engine."""

REDUCTIONS = frozenset(["max", "min", "prod", "sum"])
MAX_VECTOR_RANK = 5


@irdl_op_definition
class VectorOp(EngineOp):
    """
    Apply an operation to every element; a stride of 0 repeats an input.

    `copy` converts between element types, `fill` sets a number, `select` returns its
    first input where the third is true, else its second. A size may be a value; nothing
    is computed if it is not positive.

    ```mlir
    npu.vector "mul" L1[0](256, 4):f32 from L1[4096](256, 4):f32, 2.0 shape [16, 64]
    ```
    """

    name = "npu.vector"

    bases = var_operand_def(IndexType)
    sizes = var_operand_def(IndexType)

    operation = prop_def(StringAttr)
    shape = prop_def(DenseArrayBase.constr(i64))

    irdl_options = (AttrSizedOperandSegments(as_property=True),)
    custom_directives = (Accesses, DynamicIndexList)

    assembly_format = (
        "$operation custom<Accesses>($bases, $accesses) "
        "`shape` custom<DynamicIndexList>($sizes, $shape) attr-dict"
    )

    def __init__(
        self,
        operation: str,
        destination: Access,
        inputs: Sequence[Access | float],
        shape: Sequence[Index],
    ) -> None:
        attributes, bases = split_attributes_and_bases([destination, *inputs])
        static, sizes = split_offsets(shape)
        super().__init__(
            operands=[bases, sizes],
            properties={
                "operation": StringAttr(operation),
                "accesses": attributes,
                "shape": static,
            },
        )

    @property
    def base_values(self) -> VarOperand:
        return self.bases

    @property
    def engine(self) -> str:
        return "vector"

    @property
    def mixed_shape(self) -> tuple[Index, ...]:
        return merge_offsets(self.shape, self.sizes)

    def verify_(self) -> None:
        operation = self.operation.data
        if operation not in VECTOR_ARITY:
            raise VerifyException(
                f"expected one of {', '.join(sorted(VECTOR_ARITY))}, got {operation}"
            )
        rank, inputs = len(self.shape), VECTOR_ARITY[operation]
        verify_offset_counts(self.shape, self.sizes, rank, "sizes")
        verify_vector_rank(rank)
        self.verify_addresses(inputs, (rank,) * (len(self.accesses)))
        self.verify_addresses_in_level("L1")


def verify_vector_rank(rank: int) -> None:
    """
    Raise `VerifyException` if the vector engine does not support `rank` dimensions.
    """
    if rank > MAX_VECTOR_RANK:
        raise VerifyException(
            f"expected at most {MAX_VECTOR_RANK} dimensions, got {rank}"
        )


@irdl_op_definition
class ReduceOp(AccumulatingOp):
    """
    Reduction on the vector engine, which combines the elements along some axes.

    The strides of the destination are 0 along these axes. With `accumulate`, or with
    `accumulate if %i` if `%i` is not 0, the result is combined with the destination.

    ```mlir
    npu.reduce "sum" L1[0](4, 0):f32 from L1[4096](256, 4):f32 shape [16, 64] axes [1]
        accumulate
    ```
    """

    name = "npu.reduce"

    bases = var_operand_def(IndexType)

    operation = prop_def(StringAttr)
    shape = prop_def(DenseArrayBase.constr(i64))
    axes = prop_def(DenseArrayBase.constr(i64))

    custom_directives = (Accesses,)

    assembly_format = (
        "$operation custom<Accesses>($bases, $accesses) `shape` $shape `axes` $axes "
        "(`accumulate` $accumulate^)? (`if` $condition^)? attr-dict"
    )

    def __init__(
        self,
        operation: str,
        destination: Access,
        source: Access,
        shape: Sequence[int],
        axes: Sequence[int],
        accumulate: bool | SSAValue = True,
    ) -> None:
        attributes, bases = split_attributes_and_bases([destination, source])
        super().__init__(
            operands=[bases, accumulate_condition_of(accumulate)],
            properties={
                "operation": StringAttr(operation),
                "accesses": attributes,
                "shape": DenseArrayBase.from_list(i64, shape),
                "axes": DenseArrayBase.from_list(i64, axes),
                "accumulate": accumulate_property_of(accumulate),
            },
        )

    @property
    def base_values(self) -> VarOperand:
        return self.bases

    @property
    def engine(self) -> str:
        return "vector"

    def verify_(self) -> None:
        if self.operation.data not in REDUCTIONS:
            raise VerifyException(
                f"expected one of {', '.join(sorted(REDUCTIONS))}, got "
                f"{self.operation.data}"
            )
        rank = len(self.shape)
        verify_vector_rank(rank)
        self.verify_addresses(1, (rank, rank))
        self.verify_addresses_in_level("L1")
        self.verify_condition()
        axes = to_ints(self.axes)
        if any(axis not in range(rank) for axis in axes):
            raise VerifyException(f"expected axes below {rank}, got {list(axes)}")
        if any(self.destination.strides[axis] for axis in axes):
            raise VerifyException(
                "expected strides of 0 along the axes in what is written, got "
                f"{list(self.destination.strides)}"
            )
