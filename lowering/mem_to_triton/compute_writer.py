"""Emission of Triton code for maps, reductions and fills."""

from xdsl.dialects.builtin import f32
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.utils.exceptions import DiagnosticException

from tlf.dialects import mem
from tlf.lowering.mem_to_triton.element_types import (
    bit_width,
    element_type_of,
    is_float,
    literal,
    promoted_type,
    shape_of,
    triton_type_name,
)
from tlf.lowering.mem_to_triton.python_source import PythonSource
from tlf.lowering.mem_to_triton.scalar_expressions import ScalarTile, scalar_expression
from tlf.lowering.mem_to_triton.scalar_regions import (
    align_inputs,
    broadcast_scalar,
    write_scalar_operations,
)
from tlf.lowering.mem_to_triton.tile_broadcasting import (
    arrange_tile_dims,
    domain_dims_of,
)

COMBINERS = {
    "_maximum": "tl.maximum(a, b)",
    "_minimum": "tl.minimum(a, b)",
    "_product": "a * b",
    "_and": "a & b",
    "_or": "a | b",
}
"""Combiner functions of `tl.reduce`, other than `tl.sum`."""

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
    Writer of structured compute.

    `names` gives the variable of each value. Accumulators in `matrices` have the shape
    of the matrix product instead of the tile.
    """

    def __init__(self, source: PythonSource, names: dict[SSAValue, str]) -> None:
        self.source = source
        self.names = names
        self.combiners: set[str] = set()
        self.matrices: set[SSAValue] = set()

    def write_map(self, op: mem.MapOp) -> None:
        elements = align_inputs(self.source, op, self.names)
        scalars: dict[SSAValue, ScalarTile] = {}
        scalars.update(zip(op.body.block.args, elements, strict=True))
        *ops, terminator = op.body.block.ops
        write_scalar_operations(self.source, ops, scalars)
        for value, result in zip(terminator.operands, op.results, strict=True):
            self.bind_value(result, broadcast_scalar(scalars[value], op.extents))

    def write_reduce(self, op: mem.ReduceOp) -> None:
        arguments = op.body.block.args
        elements = align_inputs(self.source, op, self.names)
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
            self.bind_value(op.results[index], text)

    def _reduce_dropped_dims(
        self, op: mem.ReduceOp, number: int, combine: Operation, element: ScalarTile
    ) -> ScalarTile:
        """
        Reduce `element` over the dims that an output drops. A sum of 16-bit floats
        stays in f32, to be rounded once.
        """
        output_dims = domain_dims_of(op.output_maps[number], op.extents)
        dropped = [dim for dim in range(len(op.extents)) if dim not in output_dims]
        text, type_ = broadcast_scalar(element, op.extents), element.element_type
        promoted = _reduction_type(type_) if dropped else None
        if promoted is not None:
            text = f"{text}.to({promoted})"
        for dim in reversed(dropped):
            text = self._reduce_along(combine, text, dim)
        text = arrange_tile_dims(text, output_dims)
        if promoted is not None and combine.name == "arith.addf":
            type_ = f32
        elif promoted is not None:
            text = f"{text}.to({triton_type_name(type_)})"
        shape = shape_of(op.results[number])
        return ScalarTile(self.source.assign("v", text), type_, shape)

    def _reduce_along(self, combine: Operation, text: str, dim: int) -> str:
        if combine.name in ("arith.addf", "arith.addi"):
            return f"tl.sum({text}, axis={dim})"
        if (combiner := _COMBINER_OF.get(combine.name)) is None:
            raise DiagnosticException(f"triton cannot reduce by {combine.name}")
        if combiner in COMBINERS:
            self.combiners.add(combiner)
        return f"tl.reduce({text}, {dim}, {combiner})"

    def write_fill(self, op: mem.FillOp) -> None:
        assert op.result is not None
        shape, type_ = shape_of(op.result), element_type_of(op.result)
        value = literal(op.fill_value, type_)
        self.bind_value(
            op.result, f"tl.full({list(shape)}, {value}, {triton_type_name(type_)})"
        )

    def bind_value(self, result: SSAValue, text: str) -> None:
        """
        Bind a value to the variable of `text`, assigned first if it is an expression.
        """
        if text.isidentifier():
            self.names[result] = text
        else:
            self.names[result] = self.source.assign("v", text)
            self.source.annotate_value(result)


def _reduction_type(element_type: Attribute) -> str | None:
    """Return the type that elements are promoted to for a reduction, if any."""
    if is_float(element_type):
        return promoted_type(element_type)
    return "tl.int32" if bit_width(element_type) < 32 else None
