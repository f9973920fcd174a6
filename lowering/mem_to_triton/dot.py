"""
Contractions as matrix products: `tl.dot`, and the shapes around it.

Operands are brought to [batch, rows, depth] and [batch, depth, columns], without the
batch where there is none. A loop that only accumulates keeps the accumulator in that
shape from one iteration to the next.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain

from xdsl.dialects import scf
from xdsl.ir import Attribute, SSAValue

from tlf.dialects import mem
from tlf.lowering.mem_to_triton.alignment import dimensions, permuted, reshaped
from tlf.lowering.mem_to_triton.carried import carried
from tlf.lowering.mem_to_triton.compute import Compute
from tlf.lowering.mem_to_triton.dot_shapes import is_dot, uses_dot
from tlf.lowering.mem_to_triton.exchanged import is_exchanged
from tlf.lowering.mem_to_triton.roles import Dims, Roles
from tlf.lowering.mem_to_triton.types import (
    element_of,
    is_float,
    shape_of,
    triton_name,
    wide,
)


@dataclass(frozen=True)
class Factor:
    """
    One input of a contraction: the text of its tile, its shape, the dimension of the
    domain along each axis, and its Triton type.
    """

    text: str
    shape: tuple[int, ...]
    dims: Dims
    dtype: str

    @staticmethod
    def of(compute: Compute, op: mem.ContractOp, number: int, wider: str) -> "Factor":
        """
        An input, summed in the type `wider` over the dimensions that only it has.
        """
        value = op.input_operands[number]
        dims = dimensions(op.input_maps[number], op.extents)
        shape, dtype = shape_of(value), triton_name(element_of(value))
        text, alone = compute.names[value], Roles.of(op).alone
        axes = [axis for axis, dim in enumerate(dims) if dim in alone]
        if not axes:
            return Factor(text, shape, dims, dtype)
        if dtype != wider:
            text = f"{text}.to({wider})"
        for axis in reversed(axes):
            text = f"tl.sum({text}, axis={axis})"
        kept = [axis for axis in range(len(dims)) if axis not in axes]
        return Factor(
            compute.source.shared("v", text),
            tuple(shape[axis] for axis in kept),
            tuple(dims[axis] for axis in kept),
            wider,
        )

    def cast(self, dtype: str) -> "Factor":
        if dtype == self.dtype:
            return self
        return Factor(f"{self.text}.to({dtype})", self.shape, self.dims, dtype)


@dataclass(frozen=True)
class Product:
    """
    A contraction as a product of two matrices, or of two batches of them.
    """

    op: mem.ContractOp
    roles: Roles
    is_exchanged: bool

    @staticmethod
    def of(op: mem.ContractOp) -> "Product":
        roles = Roles.of(op)
        if is_exchanged(op, roles):
            return Product(op, roles.exchanged(), is_exchanged=True)
        return Product(op, roles, is_exchanged=False)

    @property
    def _result(self) -> Dims:
        return dimensions(self.op.maps[2], self.op.extents)

    def _axes(self, *axes: Sequence[int]) -> list[int]:
        """
        The shape of a matrix with these axes.
        """
        batch = [self.roles.extent(self.roles.batch)] if self.roles.batch else []
        return [*batch, *(self.roles.extent(axis) for axis in axes)]

    def folded(
        self, text: str, shape: Sequence[int], dims: Dims, *axes: Sequence[int]
    ) -> str:
        """
        A tile as a matrix of two axes, or as a batch of them.
        """
        order = [*self.roles.batch, *chain(*axes)]
        kept = [axis for axis, dim in enumerate(dims) if dim in order]
        present = [dims[axis] for axis in kept]
        current: Sequence[int] = shape
        if present != order:
            text = reshaped(text, shape, [shape[axis] for axis in kept])
            text = permuted(text, [present.index(dim) for dim in order])
            current = [self.roles.extents[dim] for dim in order]
        return reshaped(text, current, self._axes(*axes))

    def accumulator(self, text: str) -> str:
        """
        The tile of the accumulator as a matrix.
        """
        axes = (self.roles.rows, self.roles.columns)
        return self.folded(text, shape_of(self.op.acc), self._result, *axes)

    def unfolded(self, text: str) -> str:
        """
        The reverse of `accumulator`.
        """
        axes = (self.roles.rows, self.roles.columns)
        order = [*self.roles.batch, *chain(*axes)]
        present = [dim for dim in self._result if dim in order]
        current: Sequence[int] = self._axes(*axes)
        if present != order:
            split = [self.roles.extents[dim] for dim in order]
            text = reshaped(text, current, split)
            text = permuted(text, [order.index(dim) for dim in present])
            current = [self.roles.extents[dim] for dim in present]
        return reshaped(text, current, shape_of(self.op.acc))

    @property
    def is_plain(self) -> bool:
        """True if the accumulator already is a matrix."""
        return self.accumulator("v") == "v"


def accumulation(argument: SSAValue, result: SSAValue) -> Product | None:
    """
    The product that one iteration of a loop adds to a carried value, if that is all it
    does with it: `argument` is the value before, `result` the one after. None where the
    value has the shape of the product already.
    """
    uses = list(argument.uses)
    if len(uses) != 1 or len(list(result.uses)) != 1:
        return None
    user = uses[0].operation
    if isinstance(user, mem.ContractOp):
        if user.acc is not argument or user.value is not result or not uses_dot(user):
            return None
        product = Product.of(user)
        return None if product.is_plain else product
    if not isinstance(user, scf.ForOp):
        return None
    number = uses[0].index - 3
    if number < 0 or user.results[number] is not result:
        return None
    return accumulation(*carried(user, number))


def dot(compute: Compute, op: mem.ContractOp) -> str:
    """
    The expression of a contraction for which `uses_dot` holds. Its shape is that of a
    matrix if the accumulator is one in `compute.matrices`.
    """
    product, total = Product.of(op), element_of(op.acc)
    roles = product.roles
    left, right = (Factor.of(compute, op, number, "tl.float32") for number in (0, 1))
    precision = _precision(op)
    if left.dtype != right.dtype:
        # One is a sum, which its element type cannot hold.
        left, right = left.cast("tl.float32"), right.cast("tl.float32")
        precision = op.precision if str(element_of(op.lhs)) == "f32" else "tf32x3"
    if product.is_exchanged:
        left, right = right, left
    factors = [
        product.folded(left.text, left.shape, left.dims, roles.rows, roles.depth),
        product.folded(right.text, right.shape, right.dims, roles.depth, roles.columns),
    ]
    factors = [
        factor if factor.isidentifier() else compute.source.shared("v", factor)
        for factor in factors
    ]
    is_matrix = op.acc in compute.matrices
    dtype, start = wide(total), compute.names[op.acc]
    is_folded = not is_matrix and not product.is_plain
    if dtype is None and is_folded and _is_computed(op.acc):
        # Triton 3.6 fails where a loop folds what it multiplies into a matrix.
        text = f"tl.dot({', '.join(factors)}{_options(total, precision)})"
        return f"{product.unfolded(text)} + {start}"
    start = start if is_matrix else product.accumulator(start)
    if dtype is not None:
        start = f"{start}.to({dtype})"
    options = _options(total, precision)
    text = f"tl.dot({', '.join(factors)}, acc={start}{options})"
    if _is_read_beside(op):
        text = f"awaited({text})"
    if dtype is not None:
        text = f"{text}.to({triton_name(total)})"
    return text if is_matrix else product.unfolded(text)


def _is_read_beside(op: mem.ContractOp) -> bool:
    """
    Return `True` if a factor that a loop loads has other uses. Triton 3.6 then has one
    tile too few for it in shared memory: the next tile is loaded into the one that
    matrix instructions of a group of warps still read, unless they are waited for.
    """
    return any(
        isinstance(value.owner, mem.LoadOp | mem.GatherOp)
        and isinstance(value.owner.parent_op(), scf.ForOp)
        and any(not is_dot(use.operation) for use in value.uses)
        for value in op.input_operands
    )


def _is_computed(value: SSAValue) -> bool:
    """Return `True` if a tile is the result of an elementwise operation."""
    return isinstance(value.owner, mem.MapOp)


def _options(total: Attribute, precision: str | None) -> str:
    """Return the further arguments of the product of matrices."""
    if not is_float(total):
        return ", out_dtype=tl.int32"
    return f', input_precision="{precision}"' if precision else ""


def _precision(op: mem.ContractOp) -> str | None:
    element = element_of(op.lhs)
    if not is_float(element):
        return None
    return op.precision if str(element) == "f32" else "ieee"
