"""Pass `graph-merge-matmuls`: merges products of one tensor with several weights."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint, Rewriter

from tlf.analysis.work.flops_and_bytes import size_in_bytes
from tlf.dialects import graph
from tlf.dialects.call_invariants import call_invariant_values_of
from tlf.dialects.graph.remark_batch import RemarkBatch
from tlf.dialects.graph.tensor_types import element_type_of_value
from tlf.dialects.interfaces import ElementwiseInterface, ViewInterface
from tlf.dialects.topological_order import sort_topologically
from tlf.dialects.types import tensor_type, tensor_type_like
from tlf.passes.graph.contraction_product import Axes, Product

NAME = "graph-merge-matmuls"


@dataclass(frozen=True)
class Projection:
    """
    A product of a tensor with a weight that can be concatenated with other weights.
    """

    product: Product
    weight_index: int
    """Index of the operand that is the weight."""
    concat_iterator: int
    """The first iterator of the result that runs along the weight only."""

    @staticmethod
    def from_operation(op: Operation, invariant: set[SSAValue]) -> Projection | None:
        """
        Return `op` as a product with one invariant operand, the weight, that has a free
        axis to concatenate along; else None.
        """
        if (product := Product.from_operation(op)) is None:
            return None
        sides = [side for side in range(2) if product.values[side] in invariant]
        if len(sides) != 1:
            return None
        weight, other = product.axes[sides[0]], product.axes[1 - sides[0]]
        free = [each for each in product.result if each in weight and each not in other]
        return Projection(product, sides[0], free[0]) if free else None

    @property
    def weight(self) -> SSAValue:
        """The weight."""
        return self.product.values[self.weight_index]

    @property
    def shared_operand(self) -> SSAValue:
        """The other operand of the product."""
        return self.product.values[1 - self.weight_index]

    @property
    def weight_concat_axis(self) -> int:
        """The axis of the weight along which weights are concatenated."""
        return self.product.axes[self.weight_index].index(self.concat_iterator)

    @property
    def result_concat_axis(self) -> int:
        """The corresponding axis of the result."""
        return self.product.result.index(self.concat_iterator)

    def merge_key(self) -> Hashable:
        """
        Return a key that is equal for products that can be merged along their weights.
        """
        op = self.product.op
        numbers: dict[int, int] = {}

        def renumber_axes(axes: Axes) -> Axes:
            return tuple(numbers.setdefault(axis, len(numbers)) for axis in axes)

        maps = [
            renumber_axes(self.product.axes[side])
            for side in (1 - self.weight_index, self.weight_index)
        ]
        shape = list(tensor_type(self.weight).get_shape())
        del shape[self.weight_concat_axis]
        return (
            self.shared_operand,
            self.weight_index,
            *maps,
            renumber_axes(self.product.result),
            numbers[self.concat_iterator],
            tuple(shape),
            tensor_type(op.results[0]).element_type,
            op.properties.get("acc"),
            op.precision,
        )


@dataclass
class MatmulFamily:
    """Projections of one tensor to be merged, and their current results."""

    members: Sequence[Projection]
    current_results: list[SSAValue]
    """For each member, its result or the result of the last common step."""
    concat_axis: int
    """The axis along which the values are concatenated."""
    invariant: set[SSAValue]

    def total_concat_extent(self) -> int:
        """
        Return the sum of the extents of the current results along the concat axis.
        """
        return sum(
            tensor_type(each).get_shape()[self.concat_axis]
            for each in self.current_results
        )

    def common_elementwise_users(self) -> list[ElementwiseInterface] | None:
        """
        Return the only user of each value, if these are equal elementwise operations
        whose other operands are invariant; else None.
        """
        steps: list[ElementwiseInterface] = []
        for value in self.current_results:
            users = [use.operation for use in value.uses]
            if len(users) != 1 or not isinstance(
                user := users[0], ElementwiseInterface
            ):
                return None
            steps.append(user)
        first, index = steps[0], list(steps[0].operands).index(self.current_results[0])
        alike = all(
            type(step) is type(first)
            and step.properties == first.properties
            and step.operands[index] is value
            and element_type_of_value(step.results[0])
            == element_type_of_value(first.results[0])
            and self._has_result_shape_of(step, value)
            for step, value in zip(steps, self.current_results, strict=True)
        )
        other_indices = [n for n in range(len(first.operands)) if n != index]
        is_known = alike and all(
            self._concat_axis_of([step.operands[n] for step in steps]) is not None
            for n in other_indices
        )
        return steps if is_known else None

    @staticmethod
    def _has_result_shape_of(step: Operation, value: SSAValue) -> bool:
        shape = tensor_type(step.results[0]).get_shape()
        return shape == tensor_type(value).get_shape() and len(step.results) == 1

    def _concat_axis_of(self, operands: Sequence[SSAValue]) -> int | None:
        """
        Return the axis along which to concatenate the operands of a step; -1 if all are
        the same broadcast value, None if they cannot be concatenated.
        """
        if any(operand not in self.invariant for operand in operands):
            return None
        if (
            len(set(operands)) == 1
            and self._extent_along_concat_axis(operands[0], 0) == 1
        ):
            return -1
        shapes: set[tuple[int, ...]] = set()
        for position, operand in enumerate(operands):
            width = tensor_type(self.current_results[position]).get_shape()[
                self.concat_axis
            ]
            axis = self._operand_axis_of(operand, position)
            if axis < 0 or self._extent_along_concat_axis(operand, position) != width:
                return None
            shape = list(tensor_type(operand).get_shape())
            del shape[axis]
            shapes.add(tuple(shape))
        return self._operand_axis_of(operands[0], 0) if len(shapes) == 1 else None

    def _operand_axis_of(self, operand: SSAValue, member_index: int) -> int:
        """
        Return the axis of a broadcast operand that corresponds to the concat axis;
        negative if the operand lacks this axis.
        """
        rank = tensor_type(self.current_results[member_index]).get_num_dims()
        return self.concat_axis - rank + tensor_type(operand).get_num_dims()

    def _extent_along_concat_axis(self, operand: SSAValue, member_index: int) -> int:
        axis = self._operand_axis_of(operand, member_index)
        return tensor_type(operand).get_shape()[axis] if axis >= 0 else 1

    def concat_operands_of_step(
        self, operands: Sequence[SSAValue], new_operations: list[Operation]
    ) -> SSAValue:
        """
        Return a new concatenation of `operands`, appended to `new_operations`; the
        first operand if they lack the axis.
        """
        axis = self._concat_axis_of(operands)
        assert axis is not None
        if axis < 0:
            return operands[0]
        concat = graph.ConcatOp(operands, axis)
        new_operations.append(concat)
        return concat.result


def merge_matmul_family(family: MatmulFamily) -> int:
    """
    Replace a family and the common elementwise steps after it by one product, one
    operation per step, and slices. Return the number of these steps.
    """
    ops, count = list[Operation](), 0
    merged = _build_merged_matmul(family, ops)
    while (steps := family.common_elementwise_users()) is not None:
        operands = [
            merged
            if step_operands[0] is family.current_results[0]
            else family.concat_operands_of_step(step_operands, ops)
            for step_operands in zip(*(step.operands for step in steps), strict=True)
        ]
        result = tensor_type(steps[0].results[0])
        shape = tensor_type(merged).get_shape()
        type_ = tensor_type_like(result, shape, result.element_type)
        step = steps[0].tiled_implementation(operands, [type_])
        step.location = steps[0].location
        ops.append(step)
        merged, count = step.results[0], count + 1
        family.current_results = [each.results[0] for each in steps]
    last = family.current_results[-1].owner
    assert isinstance(last, Operation)
    slices = _slice_merged_result(family, merged)
    Rewriter.insert_op([*ops, *slices], InsertPoint.after(last))
    for value, slice_ in zip(family.current_results, slices, strict=True):
        slice_.result.name_hint = value.name_hint
        value.replace_all_uses_with(slice_.result)
    return count


def _build_merged_matmul(
    family: MatmulFamily, new_operations: list[Operation]
) -> SSAValue:
    """Append a concat of all weights and one product with it; return the product."""
    first = family.members[0]
    weight = graph.ConcatOp(
        [each.weight for each in family.members], first.weight_concat_axis
    )
    values = list(first.product.values)
    values[first.weight_index] = weight.result
    product = first.product
    concatenated = Product(
        product.op, (values[0], values[1]), product.axes, product.result
    )
    new_operations += [weight, merged := concatenated.build_contract()]
    return merged.result


def _slice_merged_result(family: MatmulFamily, merged: SSAValue) -> list[graph.SliceOp]:
    """Return one slice of `merged`, not inserted yet, per current result."""
    slices: list[graph.SliceOp] = []
    start = 0
    for value in family.current_results:
        shape = tensor_type(value).get_shape()
        offsets = [
            start if axis == family.concat_axis else 0 for axis in range(len(shape))
        ]
        slice_ = graph.SliceOp(merged, offsets, shape)
        assert isinstance(value.owner, Operation)
        slice_.location = value.owner.location
        slices.append(slice_)
        start += shape[family.concat_axis]
    return slices


def traffic_of_lost_fusion(family: MatmulFamily) -> int:
    """
    Return the bytes written and read again because elementwise users of single members
    cannot be fused with the merged product.
    """
    lost = 0
    for value in family.current_results:
        viewed = value
        while isinstance(user := _single_user_of(viewed), ViewInterface):
            viewed = user.results[0]
        if isinstance(user, ElementwiseInterface):
            lost += 2 * size_in_bytes([value])
    return lost


def _single_user_of(value: SSAValue) -> Operation | None:
    users = {use.operation for use in value.uses}
    return users.pop() if len(users) == 1 else None


def find_mergeable_matmuls(
    block: Block, invariant: set[SSAValue]
) -> list[list[Projection]]:
    """Return lists of two or more projections of a block that can be merged."""
    families: dict[Hashable, list[Projection]] = {}
    for op in block.ops:
        if (projection := Projection.from_operation(op, invariant)) is not None:
            families.setdefault(projection.merge_key(), []).append(projection)
    return [members for members in families.values() if len(members) > 1]


def _remark_products_without_weight(
    block: Block, invariant: set[SSAValue], remarks: RemarkBatch
) -> None:
    """Add a remark on products of one tensor whose other operand is not invariant."""
    readers: dict[SSAValue, list[Operation]] = {}
    for op in block.ops:
        if (product := Product.from_operation(op)) is not None:
            for value in set(product.values) - invariant:
                readers.setdefault(value, []).append(op)
    for ops in readers.values():
        computed = [op for op in ops if not any(v in invariant for v in op.operands)]
        if len(ops) > 1:
            text = (
                "products of one tensor are not merged: their other operands are not "
                "weights"
            )
            remarks.add_shared_remark(computed, "missed", text)


def _merge_matmuls_of_block(block: Block, remarks: RemarkBatch) -> None:
    """Merge the matmul families of `block`, and sort the block topologically."""
    invariant = call_invariant_values_of(block)
    _remark_products_without_weight(block, invariant, remarks)
    for members in find_mergeable_matmuls(block, invariant):
        _merge_family_if_profitable(
            _build_matmul_family([each.product.op for each in members], invariant),
            remarks,
        )
    sort_topologically(block)


def _build_matmul_family(
    ops: Sequence[Operation], invariant: set[SSAValue]
) -> MatmulFamily:
    """
    Build the family of products from their current operands: an earlier merge may have
    replaced an operand by a slice.
    """
    projections = [Projection.from_operation(op, invariant) for op in ops]
    members = [each for each in projections if each is not None]
    values: list[SSAValue] = [each.product.op.results[0] for each in members]
    return MatmulFamily(members, values, members[0].result_concat_axis, invariant)


def _merge_family_if_profitable(family: MatmulFamily, remarks: RemarkBatch) -> None:
    """Merge a family unless lost fusion moves more bytes than it saves; add remarks."""
    after = MatmulFamily(
        family.members,
        list(family.current_results),
        family.concat_axis,
        family.invariant,
    )
    while (steps := after.common_elementwise_users()) is not None:
        after.current_results = [each.results[0] for each in steps]
    count = len(family.members)
    saved = (count - 1) * size_in_bytes([family.members[0].shared_operand])
    if (lost := traffic_of_lost_fusion(after)) > saved:
        text = (
            f"{count} products of one tensor are not merged: merging them saves "
            f"{saved} bytes of reading it, and costs {lost} between them and "
            "their users"
        )
        remarks.add_shared_remark(
            (each.product.op for each in family.members), "missed", text
        )
        return
    text = f"{count} products of one tensor became one"
    remarks.add_shared_remark(
        (each.product.op for each in family.members), "passed", text
    )
    merge_matmul_family(family)


@dataclass(frozen=True)
class GraphMergeMatmulsPass(ModulePass):
    """
    Merge products of one tensor with several weights, such as the queries, keys and
    values of an attention, into one product with concatenated weights, together with
    biases and other equal elementwise operations that follow. Each original result is a
    slice of the merged one.

    Weights are arguments with the attribute `tlf.parameter`, constants, and values
    computed from them, so that concatenating them costs nothing per call. Products are
    not merged if their users could then no longer be fused with them, and that costs
    more bytes than reading the tensor once saves.
    """

    name = NAME

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        remarks = RemarkBatch(NAME)
        for function in op.walk():
            if isinstance(function, func.FuncOp):
                for block in function.body.blocks:
                    _merge_matmuls_of_block(block, remarks)
        remarks.attach()
