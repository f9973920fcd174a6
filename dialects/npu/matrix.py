"""Operation `npu.matmul`: matrix multiplication instruction of the matrix engine."""

from collections.abc import Sequence

from xdsl.dialects.builtin import (
    DenseArrayBase,
    IndexType,
    StringAttr,
    i64,
)
from xdsl.ir import SSAValue
from xdsl.irdl import (
    VarOperand,
    irdl_op_definition,
    opt_prop_def,
    prop_def,
    var_operand_def,
)
from xdsl.utils.exceptions import VerifyException

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
from tlf.dialects.npu.engine_operation import to_ints

MAX_MATMUL_DIMENSIONS = 3


@irdl_op_definition
class MatmulOp(AccumulatingOp):
    """
    Multiply matrices: `c[batch, m, n] (+)= sum(a[batch, m, k] * b[batch, k, n])`.

    Each role has up to three dimensions. Strides are in the order of the roles. Without
    `accumulate`, or with `accumulate if %i` if `%i` is 0, the sum starts from 0.

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
    precision = opt_prop_def(StringAttr)

    custom_directives = (Accesses,)

    assembly_format = (
        "custom<Accesses>($bases, $accesses) `batch` $batch `m` $m `n` $n `k` $k "
        "(`accumulate` $accumulate^)? (`if` $condition^)? "
        "(`precision` $precision^)? attr-dict"
    )

    def __init__(
        self,
        operands: Sequence[Access],
        dim_extents: Sequence[Sequence[int]],
        accumulate: bool | SSAValue = True,
        precision: str | None = None,
    ) -> None:
        """
        Build a product of `operands` c, a and b; `dim_extents` are the extents of
        batch, m, n and k. A value for `accumulate` is its condition.
        """
        attributes, bases = split_attributes_and_bases(operands)
        extents = [DenseArrayBase.from_list(i64, role) for role in dim_extents]
        super().__init__(
            operands=[bases, accumulate_condition_of(accumulate)],
            properties={
                "accesses": attributes,
                **dict(zip(("batch", "m", "n", "k"), extents, strict=True)),
                "accumulate": accumulate_property_of(accumulate),
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
    def batch_m_n_k_extents(self) -> tuple[tuple[int, ...], ...]:
        """Extents of batch, m, n and k."""
        return to_ints(self.batch), to_ints(self.m), to_ints(self.n), to_ints(self.k)

    def verify_(self) -> None:
        for role in self.batch_m_n_k_extents:
            if len(role) > MAX_MATMUL_DIMENSIONS:
                raise VerifyException(
                    f"expected at most {MAX_MATMUL_DIMENSIONS} dimensions per role, "
                    f"got {list(role)}"
                )
        batch, m, n, k = (len(role) for role in self.batch_m_n_k_extents)
        self.verify_addresses(2, (batch + m + n, batch + m + k, batch + k + n))
        self.verify_addresses_in_level("L1")
        self.verify_condition()
