"""
Emission of Triton code for contractions as `tl.dot`, with operands folded to matrices.

Operands are transposed and reshaped to [batch, rows, depth] and [batch, depth,
columns], without batch if there are no batch dims. A loop that only accumulates carries
the accumulator as a matrix.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain

from xdsl.dialects import scf
from xdsl.ir import Attribute, SSAValue

from tlf.dialects import mem
from tlf.lowering.mem_to_triton.compute_writer import ComputeWriter
from tlf.lowering.mem_to_triton.contraction_roles import ContractionRoles, DomainDims
from tlf.lowering.mem_to_triton.dot_operand_order import needs_operand_swap
from tlf.lowering.mem_to_triton.dot_shapes import (
    is_contraction_lowered_to_dot,
    is_lowered_to_dot,
)
from tlf.lowering.mem_to_triton.element_types import (
    element_type_of,
    is_float,
    promoted_arithmetic_type,
    shape_of,
    triton_type_name,
)
from tlf.lowering.mem_to_triton.loop_carried_values import (
    carried_argument_and_yielded_value,
)
from tlf.lowering.mem_to_triton.tile_broadcasting import (
    domain_dims_of,
    reshape_tile,
    transpose_tile,
)


@dataclass(frozen=True)
class DotOperand:
    """
    An operand of a contraction: tile expression, shape, domain dims and Triton type.
    """

    text: str
    shape: tuple[int, ...]
    dims: DomainDims
    dtype: str

    @staticmethod
    def from_contraction_input(
        compute: ComputeWriter, op: mem.ContractOp, input_index: int, sum_type: str
    ) -> "DotOperand":
        """Return an input, summed in the type `sum_type` over its one-sided dims."""
        value = op.input_operands[input_index]
        dims = domain_dims_of(op.input_maps[input_index], op.domain_extents)
        shape, dtype = shape_of(value), triton_type_name(element_type_of(value))
        text, one_sided = (
            compute.names[value],
            ContractionRoles.classify_dims(op).one_sided,
        )
        if (flat := compute.flat_axes.get(value)) is not None:
            shape, dims = flat.extents, flat.first_dims(dims)
        axes = [axis for axis, dim in enumerate(dims) if dim in one_sided]
        if not axes:
            return DotOperand(text, shape, dims, dtype)
        if dtype != sum_type:
            text = f"{text}.to({sum_type})"
        for axis in reversed(axes):
            text = f"tl.sum({text}, axis={axis})"
        remaining = [axis for axis in range(len(dims)) if axis not in axes]
        return DotOperand(
            compute.source.assign_variable_once("v", text),
            tuple(shape[axis] for axis in remaining),
            tuple(dims[axis] for axis in remaining),
            sum_type,
        )

    def cast_to_type(self, dtype: str) -> "DotOperand":
        if dtype == self.dtype:
            return self
        return DotOperand(f"{self.text}.to({dtype})", self.shape, self.dims, dtype)


@dataclass(frozen=True)
class MatrixProduct:
    """
    Description of a `mem.contract` as a (batched) matrix product, possibly swapped.
    """

    op: mem.ContractOp
    roles: ContractionRoles
    is_swapped: bool

    @staticmethod
    def from_contraction(op: mem.ContractOp) -> "MatrixProduct":
        """Return `op` as a product, swapped if its second input is the left factor."""
        roles = ContractionRoles.classify_dims(op)
        if needs_operand_swap(op, roles):
            return MatrixProduct(op, roles.swap_operands(), is_swapped=True)
        return MatrixProduct(op, roles, is_swapped=False)

    @property
    def _output_dims(self) -> DomainDims:
        return domain_dims_of(self.op.maps[2], self.op.domain_extents)

    def _matrix_shape(self, *axes: Sequence[int]) -> list[int]:
        """
        Return the extents of the batch, if any, and of one axis per group of dims in
        `axes`.
        """
        batch = (
            [self.roles.iteration_count_along(self.roles.batch)]
            if self.roles.batch
            else []
        )
        return [*batch, *(self.roles.iteration_count_along(axis) for axis in axes)]

    def fold_tile_to_matrix(
        self, text: str, shape: Sequence[int], dims: DomainDims, *axes: Sequence[int]
    ) -> str:
        """
        Return the expression of a tile as a (batched) matrix with one axis per group of
        dims in `axes`, of which the tile may have only the first of several.
        """
        order = [dim for dim in (*self.roles.batch, *chain(*axes)) if dim in dims]
        axes_in_order = [axis for axis, dim in enumerate(dims) if dim in order]
        present = [dims[axis] for axis in axes_in_order]
        current: Sequence[int] = shape
        if present != order:
            text = reshape_tile(text, shape, [shape[axis] for axis in axes_in_order])
            text = transpose_tile(text, [present.index(dim) for dim in order])
            current = [shape[dims.index(dim)] for dim in order]
        return reshape_tile(text, current, self._matrix_shape(*axes))

    def fold_accumulator(self, text: str) -> str:
        """Return the expression of the accumulator's tile as a (batched) matrix."""
        axes = (self.roles.rows, self.roles.columns)
        return self.fold_tile_to_matrix(
            text, shape_of(self.op.acc), self._output_dims, *axes
        )

    def unfold_accumulator(self, text: str) -> str:
        """
        Unfold a matrix to the accumulator's shape; the inverse of `fold_accumulator`.
        """
        axes = (self.roles.rows, self.roles.columns)
        order = [*self.roles.batch, *chain(*axes)]
        present = [dim for dim in self._output_dims if dim in order]
        current: Sequence[int] = self._matrix_shape(*axes)
        if present != order:
            split = [self.roles.extents[dim] for dim in order]
            text = reshape_tile(text, current, split)
            text = transpose_tile(text, [order.index(dim) for dim in present])
            current = [self.roles.extents[dim] for dim in present]
        return reshape_tile(text, current, shape_of(self.op.acc))

    @property
    def has_matrix_accumulator(self) -> bool:
        """`True` if the accumulator already has the shape of the matrix."""
        return self.fold_accumulator("v") == "v"


def find_product_accumulated_in_loop(
    carried_argument: SSAValue, carried_result: SSAValue
) -> MatrixProduct | None:
    """
    Return the product that a loop accumulates on a carried value that has no other use,
    or `None`. Also `None` if the value already has the shape of the product.
    """
    uses = list(carried_argument.uses)
    if len(uses) != 1 or len(list(carried_result.uses)) != 1:
        return None
    user = uses[0].operation
    if isinstance(user, mem.ContractOp):
        if (
            user.acc is not carried_argument
            or user.value is not carried_result
            or not is_lowered_to_dot(user)
        ):
            return None
        product = MatrixProduct.from_contraction(user)
        return None if product.has_matrix_accumulator else product
    if not isinstance(user, scf.ForOp):
        return None
    index = uses[0].index - 3
    if index < 0 or user.results[index] is not carried_result:
        return None
    return find_product_accumulated_in_loop(
        *carried_argument_and_yielded_value(user, index)
    )


def dot_expression(compute: ComputeWriter, op: mem.ContractOp) -> str:
    """
    Return the `tl.dot` expression of a contraction for which `is_lowered_to_dot` holds.
    It has the shape of a matrix if the accumulator is in `compute.matrices`.
    """
    product, total = MatrixProduct.from_contraction(op), element_type_of(op.acc)
    left, right = (
        DotOperand.from_contraction_input(compute, op, number, "tl.float32")
        for number in (0, 1)
    )
    precision = _input_precision(op)
    if left.dtype != right.dtype:
        # One operand is a partial sum, which its element type cannot represent.
        left, right = left.cast_to_type("tl.float32"), right.cast_to_type("tl.float32")
        precision = op.precision if str(element_type_of(op.lhs)) == "f32" else "tf32x3"
    if product.is_swapped:
        left, right = right, left
    factors = _fold_factors_to_matrices(compute, product, left, right)
    is_matrix = op.acc in compute.matrices
    dtype, initial = promoted_arithmetic_type(total), compute.names[op.acc]
    is_folded = not is_matrix and not product.has_matrix_accumulator
    if dtype is None and is_folded and _is_elementwise_result(op.acc):
        # Triton 3.6 fails if a loop folds an elementwise result into the accumulator.
        arguments = _dot_type_and_precision_arguments(total, precision)
        text = f"tl.dot({', '.join(factors)}{arguments})"
        return f"{product.unfold_accumulator(text)} + {initial}"
    initial = initial if is_matrix else product.fold_accumulator(initial)
    if dtype is not None:
        initial = f"{initial}.to({dtype})"
    options = _dot_type_and_precision_arguments(total, precision)
    text = f"tl.dot({', '.join(factors)}, acc={initial}{options})"
    if _has_loaded_operand_with_other_use(op):
        text = f"awaited({text})"
    if dtype is not None:
        text = f"{text}.to({triton_type_name(total)})"
    return text if is_matrix else product.unfold_accumulator(text)


def _fold_factors_to_matrices(
    compute: ComputeWriter, product: MatrixProduct, left: DotOperand, right: DotOperand
) -> list[str]:
    """Return the factors of a product as matrices, in variables if they are folded."""
    roles = product.roles
    factors = [
        product.fold_tile_to_matrix(
            left.text, left.shape, left.dims, roles.rows, roles.depth
        ),
        product.fold_tile_to_matrix(
            right.text, right.shape, right.dims, roles.depth, roles.columns
        ),
    ]
    return [
        factor
        if factor.isidentifier()
        else compute.source.assign_variable_once("v", factor)
        for factor in factors
    ]


def _has_loaded_operand_with_other_use(op: mem.ContractOp) -> bool:
    """
    Return `True` if an operand loaded in a loop has uses other than contractions.

    Triton 3.6 then allocates one tile too few for the operand in shared memory: the
    next load overwrites the tile that matrix instructions of a warp group still read,
    unless the kernel waits for them.
    """
    return any(
        isinstance(value.owner, mem.LoadOp | mem.GatherOp | mem.Im2colOp)
        and isinstance(value.owner.parent_op(), scf.ForOp)
        and any(not is_contraction_lowered_to_dot(use.operation) for use in value.uses)
        for value in op.input_operands
    )


def _is_elementwise_result(value: SSAValue) -> bool:
    """Return `True` if a tile is the result of an elementwise operation."""
    return isinstance(value.owner, mem.MapOp)


def _dot_type_and_precision_arguments(
    accumulator_type: Attribute, precision: str | None
) -> str:
    """Return the additional arguments of a `tl.dot`."""
    if not is_float(accumulator_type):
        return ", out_dtype=tl.int32"
    return f', input_precision="{precision}"' if precision else ""


def _input_precision(op: mem.ContractOp) -> str | None:
    """Return `op.precision` for f32, `ieee` for other floats, `None` for integers."""
    element = element_type_of(op.lhs)
    if not is_float(element):
        return None
    return op.precision if str(element) == "f32" else "ieee"
