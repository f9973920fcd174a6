"""Emission of Triton code for maps, reductions, scans and fills."""

from xdsl.dialects.builtin import f32
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.utils.exceptions import DiagnosticException

from tlf.dialects import mem
from tlf.lowering.mem_to_triton.element_types import (
    bit_width,
    element_type_of,
    is_float,
    promoted_arithmetic_type,
    python_literal_of,
    shape_of,
    triton_type_name,
)
from tlf.lowering.mem_to_triton.flat_axes import FlatAxes
from tlf.lowering.mem_to_triton.python_source import PythonSource
from tlf.lowering.mem_to_triton.scalar_expressions import ScalarTile, scalar_expression
from tlf.lowering.mem_to_triton.scalar_regions import (
    align_inputs_to_domain,
    broadcast_scalar_to_domain,
    write_scalar_operations,
)
from tlf.lowering.mem_to_triton.tile_broadcasting import (
    domain_dims_of,
    transpose_and_insert_unit_dims,
)

COMBINERS = {
    "_maximum": "tl.maximum(a, b)",
    "_minimum": "tl.minimum(a, b)",
    "_product": "a * b",
    "_and": "a & b",
    "_or": "a | b",
}
"""Combiner functions of reductions and scans, other than sums."""

_COMBINER_OF = {
    "arith.andi": "_and",
    "arith.maximumf": "maximum_nan",
    "arith.maxsi": "_maximum",
    "arith.minimumf": "minimum_nan",
    "arith.minsi": "_minimum",
    "arith.mulf": "_product",
    "arith.muli": "_product",
    "arith.ori": "_or",
}


class ComputeWriter:
    """
    Writer of Triton statements for `mem` maps, reductions, scans and fills on tiles.

    `names` gives the variable of each value. Accumulators in `matrices` have the shape
    of the matrix product instead of the tile. Loaded factors in `flat_axes` are tiles
    with these axes.
    """

    def __init__(self, source: PythonSource, names: dict[SSAValue, str]) -> None:
        self.source = source
        self.names = names
        self.combiners: set[str] = set()
        self.matrices: set[SSAValue] = set()
        self.flat_axes: dict[SSAValue, FlatAxes] = {}

    def write_map(self, op: mem.MapOp) -> None:
        """Write the scalar body of a map on tiles, and bind results to variables."""
        elements = align_inputs_to_domain(self.source, op, self.names)
        scalars: dict[SSAValue, ScalarTile] = {}
        scalars.update(zip(op.body.block.args, elements, strict=True))
        *ops, terminator = op.body.block.ops
        write_scalar_operations(self.source, ops, scalars)
        for value, result in zip(terminator.operands, op.results, strict=True):
            self.bind_result_variable(
                result, broadcast_scalar_to_domain(scalars[value], op.domain_extents)
            )

    def write_reduce(self, op: mem.ReduceOp) -> None:
        """Write a `tl` reduction per output, combined with its initial value."""
        arguments = op.body.block.args
        elements = align_inputs_to_domain(self.source, op, self.names)
        scalars: dict[SSAValue, ScalarTile] = {}
        scalars.update(zip(arguments[: len(elements)], elements, strict=True))
        combines = op.combiners
        *ops, _ = op.body.block.ops
        write_scalar_operations(
            self.source, [o for o in ops if o not in combines], scalars
        )
        for index, combine in enumerate(combines):
            accumulator = arguments[len(elements) + index]
            (value,) = (v for v in combine.operands if v is not accumulator)
            total = self._reduce_dropped_dims(op, index, combine, scalars[value])
            initial = op.output_operands[index]
            operands = {
                accumulator: ScalarTile(
                    self.names[initial], element_type_of(initial), total.shape
                ),
                value: total,
            }
            text = scalar_expression(combine, [operands[v] for v in combine.operands])
            self.bind_result_variable(op.results[index], text)

    def _reduce_dropped_dims(
        self,
        op: mem.ReduceOp,
        output_index: int,
        combiner: Operation,
        operand: ScalarTile,
    ) -> ScalarTile:
        """
        Reduce `operand` over the dims that an output drops. A sum of 16-bit floats
        stays in f32, to be rounded once.
        """
        output_dims = domain_dims_of(op.output_maps[output_index], op.domain_extents)
        dropped = [
            dim for dim in range(len(op.domain_extents)) if dim not in output_dims
        ]
        text, type_ = (
            broadcast_scalar_to_domain(operand, op.domain_extents),
            operand.element_type,
        )
        promoted = _promoted_reduction_type(type_) if dropped else None
        if promoted is not None:
            text = f"{text}.to({promoted})"
        for dim in reversed(dropped):
            text = self._reduction_expression_along(combiner, text, dim)
        text = transpose_and_insert_unit_dims(text, output_dims)
        if promoted is not None and combiner.name == "arith.addf":
            type_ = f32
        elif promoted is not None:
            text = f"{text}.to({triton_type_name(type_)})"
        shape = shape_of(op.results[output_index])
        return ScalarTile(self.source.assign_variable("v", text), type_, shape)

    def _reduction_expression_along(
        self, combine: Operation, expression: str, dim: int
    ) -> str:
        """Return a `tl.sum` or `tl.reduce` along `dim`, and record its combiner."""
        if combine.name in ("arith.addf", "arith.addi"):
            return f"tl.sum({expression}, axis={dim})"
        return f"tl.reduce({expression}, {dim}, {self._combiner_function_of(combine)})"

    def write_scan(self, op: mem.ScanOp) -> None:
        """Write a `tl` scan along the dimension; 16-bit floats are combined in f32."""
        (element,) = align_inputs_to_domain(self.source, op, self.names)
        text = broadcast_scalar_to_domain(element, op.domain_extents)
        promoted = _promoted_reduction_type(element.element_type)
        if promoted is not None:
            text = f"{text}.to({promoted})"
        text = self._scan_expression(op, text)
        if promoted is not None:
            text = f"{text}.to({triton_type_name(element.element_type)})"
        self.bind_result_variable(op.value, text)

    def _scan_expression(self, op: mem.ScanOp, expression: str) -> str:
        """Return the `tl` scan of an expression, and record its combiner."""
        reverse = ", reverse=True" if op.is_reversed else ""
        if op.combiner.name in ("arith.addf", "arith.addi"):
            return f"tl.cumsum({expression}, axis={op.scan_dim}{reverse})"
        combiner = self._combiner_function_of(op.combiner)
        arguments = f"{expression}, {op.scan_dim}, {combiner}{reverse}"
        return f"tl.associative_scan({arguments})"

    def _combiner_function_of(self, combine: Operation) -> str:
        """Return the function that combines two elements, and record its use."""
        if (combiner := _COMBINER_OF.get(combine.name)) is None:
            raise DiagnosticException(f"triton cannot reduce by {combine.name}")
        if combiner in COMBINERS:
            self.combiners.add(combiner)
        return combiner

    def write_fill(self, op: mem.FillOp) -> None:
        """Bind the result of `op` to a `tl.full` tile of its fill value."""
        assert op.result is not None
        shape, type_ = shape_of(op.result), element_type_of(op.result)
        value = python_literal_of(op.fill_value, type_)
        self.bind_result_variable(
            op.result, f"tl.full({list(shape)}, {value}, {triton_type_name(type_)})"
        )

    def bind_result_variable(self, result: SSAValue, text: str) -> None:
        """
        Bind a value to the variable of `text`, assigned first if it is an expression.
        """
        if text.isidentifier():
            self.names[result] = text
        else:
            self.names[result] = self.source.assign_variable("v", text)
            self.source.comment_value_name(result)


def _promoted_reduction_type(element_type: Attribute) -> str | None:
    """Return the type that elements are promoted to for a reduction, if any."""
    if is_float(element_type):
        return promoted_arithmetic_type(element_type)
    return "tl.int32" if bit_width(element_type) < 32 else None
