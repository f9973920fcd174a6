"""
The instructions that engines execute.

Every instruction has addresses: first what it writes, then what it reads.
"""

from abc import ABC
from collections.abc import Sequence

from xdsl.dialects.builtin import (
    ArrayAttr,
    DenseArrayBase,
    IndexType,
    IntegerType,
    StringAttr,
    UnitAttr,
    i64,
)
from xdsl.dialects.utils import DynamicIndexList
from xdsl.irdl import (
    AttrSizedOperandSegments,
    IRDLOperation,
    VarOperand,
    irdl_op_definition,
    opt_prop_def,
    prop_def,
    var_operand_def,
)
from xdsl.utils.exceptions import VerifyException

from tlf.dialects.mem.numbers import Number, number_attr, number_value
from tlf.dialects.mem.offsets import Index, mixed, split, verify_offsets
from tlf.dialects.npu.access import Access, Accesses, read_accesses, split_accesses

UNARY = frozenset("abs copy cos erf exp fill log neg rsqrt sin sqrt tanh".split())
BINARY = frozenset(
    ["add", "and", "div", "max", "min", "mul", "or", "sub", "xor"]
    + [f"cmp.{relation}" for relation in ("eq", "ge", "gt", "le", "lt", "ne")]
)
VECTOR_ARITY = {
    **dict.fromkeys(UNARY, 1),
    **dict.fromkeys(BINARY, 2),
    "select": 3,
}
"""The operations of the vector engine, with their number of inputs."""

REDUCTIONS = frozenset(["max", "min", "prod", "sum"])
MAX_VECTOR_RANK = 5
MAX_MATMUL_DIMENSIONS = 3


class EngineOp(IRDLOperation, ABC):
    """
    An instruction with addresses, queued on an engine.
    """

    accesses = prop_def(ArrayAttr)

    @property
    def base_values(self) -> VarOperand:
        raise NotImplementedError

    @property
    def engine(self) -> str:
        """The name of the engine that executes this."""
        raise NotImplementedError

    @property
    def addresses(self) -> tuple[Access | float, ...]:
        """What is written, then what is read: addresses and immediate numbers."""
        return read_accesses(self.accesses, self.base_values)

    @property
    def written(self) -> Access:
        first = self.addresses[0] if self.accesses.data else None
        if not isinstance(first, Access):
            raise VerifyException("expected an address to write")
        return first

    @property
    def inputs(self) -> tuple[Access | float, ...]:
        """What is read: addresses and immediate numbers."""
        return self.addresses[1:]

    def verify_addresses(self, inputs: int, ranks: Sequence[int]) -> None:
        """
        Check the number of inputs and the number of strides of every address.
        """
        _ = self.written
        if len(self.inputs) != inputs:
            raise VerifyException(f"expected {inputs} inputs, got {len(self.inputs)}")
        for access, rank in zip(self.addresses, ranks, strict=True):
            if isinstance(access, Access) and len(access.strides) != rank:
                raise VerifyException(
                    f"expected {rank} strides, one per dimension, got "
                    f"{len(access.strides)}"
                )

    def verify_in(self, level: str) -> None:
        """
        Check that every address is in one level.
        """
        for access in self.addresses:
            if isinstance(access, Access) and access.level != level:
                raise VerifyException(
                    f"expected addresses in {level}, where the {self.engine} engine "
                    f"works, got {access.level}"
                )


def _ints(array: DenseArrayBase[IntegerType]) -> tuple[int, ...]:
    return tuple(array.get_values())


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


@irdl_op_definition
class MatmulOp(EngineOp):
    """
    Multiply matrices: `c[batch, m, n] (+)= sum(a[batch, m, k] * b[batch, k, n])`.

    Each role walks up to three dimensions. Strides are those of the roles in this
    order. Without `accumulate` the sum starts from 0.

    ```mlir
    npu.matmul L1[0](256, 4):f32 from L1[4096](64, 2):bf16, L1[8192](128, 2):bf16
        batch [] m [16] n [64] k [32] accumulate
    ```
    """

    name = "npu.matmul"

    bases = var_operand_def(IndexType)

    batch = prop_def(DenseArrayBase.constr(i64))
    m = prop_def(DenseArrayBase.constr(i64))
    n = prop_def(DenseArrayBase.constr(i64))
    k = prop_def(DenseArrayBase.constr(i64))
    accumulate = opt_prop_def(UnitAttr)
    precision = opt_prop_def(StringAttr)

    custom_directives = (Accesses,)

    assembly_format = (
        "custom<Accesses>($bases, $accesses) `batch` $batch `m` $m `n` $n `k` $k "
        "(`accumulate` $accumulate^)? (`precision` $precision^)? attr-dict"
    )

    def __init__(
        self,
        operands: Sequence[Access],
        roles: Sequence[Sequence[int]],
        accumulate: bool = True,
        precision: str | None = None,
    ) -> None:
        """
        `operands` are c, a and b; `roles` the extents of batch, m, n and k.
        """
        attributes, bases = split_accesses(operands)
        extents = [DenseArrayBase.from_list(i64, role) for role in roles]
        super().__init__(
            operands=[bases],
            properties={
                "accesses": attributes,
                **dict(zip(("batch", "m", "n", "k"), extents, strict=True)),
                "accumulate": UnitAttr() if accumulate else None,
                "precision": None if precision is None else StringAttr(precision),
            },
        )

    @property
    def base_values(self) -> VarOperand:
        return self.bases

    @property
    def engine(self) -> str:
        return "matrix"

    @property
    def roles(self) -> tuple[tuple[int, ...], ...]:
        """The extents of batch, m, n and k."""
        return _ints(self.batch), _ints(self.m), _ints(self.n), _ints(self.k)

    def verify_(self) -> None:
        for role in self.roles:
            if len(role) > MAX_MATMUL_DIMENSIONS:
                raise VerifyException(
                    f"expected at most {MAX_MATMUL_DIMENSIONS} dimensions per role, "
                    f"got {list(role)}"
                )
        batch, m, n, k = (len(role) for role in self.roles)
        self.verify_addresses(2, (batch + m + n, batch + m + k, batch + k + n))
        self.verify_in("L1")


@irdl_op_definition
class VectorOp(EngineOp):
    """
    Apply an operation to every element; a stride of 0 repeats an input.

    `copy` converts between element types, `fill` sets a number, `select` takes its
    first input where the third is true. A size may be a value; nothing is done when it
    is not positive.

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
        attributes, bases = split_accesses([destination, *inputs])
        static, sizes = split(shape)
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
        return mixed(self.shape, self.sizes)

    def verify_(self) -> None:
        operation = self.operation.data
        if operation not in VECTOR_ARITY:
            raise VerifyException(
                f"expected one of {', '.join(sorted(VECTOR_ARITY))}, got {operation}"
            )
        rank, inputs = len(self.shape), VECTOR_ARITY[operation]
        verify_offsets(self.shape, self.sizes, rank, "sizes")
        verify_rank(rank)
        self.verify_addresses(inputs, (rank,) * (len(self.accesses)))
        self.verify_in("L1")


def verify_rank(rank: int) -> None:
    """
    Check that the vector engine can walk this many dimensions.
    """
    if rank > MAX_VECTOR_RANK:
        raise VerifyException(
            f"expected at most {MAX_VECTOR_RANK} dimensions, got {rank}"
        )


@irdl_op_definition
class ReduceOp(EngineOp):
    """
    Combine the elements along some axes.

    The strides of what is written are 0 along the axes. With `accumulate` the result
    is combined with what was there.

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
    accumulate = opt_prop_def(UnitAttr)

    custom_directives = (Accesses,)

    assembly_format = (
        "$operation custom<Accesses>($bases, $accesses) `shape` $shape `axes` $axes "
        "(`accumulate` $accumulate^)? attr-dict"
    )

    def __init__(
        self,
        operation: str,
        destination: Access,
        source: Access,
        shape: Sequence[int],
        axes: Sequence[int],
        accumulate: bool = True,
    ) -> None:
        attributes, bases = split_accesses([destination, source])
        super().__init__(
            operands=[bases],
            properties={
                "operation": StringAttr(operation),
                "accesses": attributes,
                "shape": DenseArrayBase.from_list(i64, shape),
                "axes": DenseArrayBase.from_list(i64, axes),
                "accumulate": UnitAttr() if accumulate else None,
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
        verify_rank(rank)
        self.verify_addresses(1, (rank, rank))
        self.verify_in("L1")
        axes = _ints(self.axes)
        if any(axis not in range(rank) for axis in axes):
            raise VerifyException(f"expected axes below {rank}, got {list(axes)}")
        if any(self.written.strides[axis] for axis in axes):
            raise VerifyException(
                "expected strides of 0 along the axes in what is written, got "
                f"{list(self.written.strides)}"
            )
