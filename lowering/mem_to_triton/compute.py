"""
Map, reduce, fill and mask as Python lines.
"""

from xdsl.dialects.builtin import f32
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.utils.exceptions import DiagnosticException

from tlf.dialects import mem
from tlf.lowering.mem_to_triton.alignment import dimensions, placed
from tlf.lowering.mem_to_triton.bodies import evaluate, full, inputs
from tlf.lowering.mem_to_triton.scalars import Scalar, expression
from tlf.lowering.mem_to_triton.source import Source
from tlf.lowering.mem_to_triton.types import (
    element_of,
    is_float,
    literal,
    shape_of,
    triton_name,
    wide,
    width,
)

COMBINERS = {
    "_maximum": "tl.maximum(a, b, propagate_nan=tl.PropagateNan.ALL)",
    "_minimum": "tl.minimum(a, b, propagate_nan=tl.PropagateNan.ALL)",
    "_product": "a * b",
    "_and": "a & b",
    "_or": "a | b",
}
"""Functions that a kernel may reduce with, beside `tl.sum`."""

_COMBINER_OF = {
    "arith.andi": "_and",
    "arith.maximumf": "_maximum",
    "arith.maxsi": "_maximum",
    "arith.minimumf": "_minimum",
    "arith.minsi": "_minimum",
    "arith.mulf": "_product",
    "arith.muli": "_product",
    "arith.ori": "_or",
}


class Compute:
    """
    Writes structured compute; `names` holds the variable of each value. Accumulators in
    `matrices` have the shape of a matrix product rather than their own.
    """

    def __init__(self, source: Source, names: dict[SSAValue, str]) -> None:
        self.source = source
        self.names = names
        self.combiners: set[str] = set()
        self.matrices: set[SSAValue] = set()

    def map(self, op: mem.MapOp) -> None:
        elements = inputs(self.source, op, self.names)
        known: dict[SSAValue, Scalar] = {}
        known.update(zip(op.body.block.args, elements, strict=True))
        *ops, terminator = op.body.block.ops
        evaluate(self.source, ops, known)
        for value, result in zip(terminator.operands, op.results, strict=True):
            self.bind(result, full(known[value], op.extents))

    def reduce(self, op: mem.ReduceOp) -> None:
        arguments = op.body.block.args
        elements = inputs(self.source, op, self.names)
        known: dict[SSAValue, Scalar] = {}
        known.update(zip(arguments[: len(elements)], elements, strict=True))
        combines = op.combines
        *ops, _ = op.body.block.ops
        evaluate(self.source, [o for o in ops if o not in combines], known)
        for number, combine in enumerate(combines):
            accumulator = arguments[len(elements) + number]
            (value,) = (v for v in combine.operands if v is not accumulator)
            total = self._reduced(op, number, combine, known[value])
            start = op.output_operands[number]
            operands = {
                accumulator: Scalar(self.names[start], element_of(start), total.shape),
                value: total,
            }
            text = expression(combine, [operands[v] for v in combine.operands])
            self.bind(op.results[number], text)

    def _reduced(
        self, op: mem.ReduceOp, number: int, combine: Operation, element: Scalar
    ) -> Scalar:
        """
        Combine `element` over the dimensions that an output drops. A sum of narrow
        floats stays in f32, to be rounded once.
        """
        kept = dimensions(op.output_maps[number], op.extents)
        dropped = [dim for dim in range(len(op.extents)) if dim not in kept]
        text, type_ = full(element, op.extents), element.element_type
        wider = _wider(type_) if dropped else None
        if wider is not None:
            text = f"{text}.to({wider})"
        for dim in reversed(dropped):
            text = self._along(combine, text, dim)
        text = placed(text, kept)
        if wider is not None and combine.name == "arith.addf":
            type_ = f32
        elif wider is not None:
            text = f"{text}.to({triton_name(type_)})"
        shape = shape_of(op.results[number])
        return Scalar(self.source.assign("v", text), type_, shape)

    def _along(self, combine: Operation, text: str, dim: int) -> str:
        if combine.name in ("arith.addf", "arith.addi"):
            return f"tl.sum({text}, axis={dim})"
        if (combiner := _COMBINER_OF.get(combine.name)) is None:
            raise DiagnosticException(f"triton cannot reduce by {combine.name}")
        self.combiners.add(combiner)
        return f"tl.reduce({text}, {dim}, {combiner})"

    def fill(self, op: mem.FillOp) -> None:
        assert op.result is not None
        shape, type_ = shape_of(op.result), element_of(op.result)
        value = literal(op.number, type_)
        self.bind(op.result, f"tl.full({list(shape)}, {value}, {triton_name(type_)})")

    def bind(self, result: SSAValue, text: str) -> None:
        """
        Give a value the variable that holds `text`.
        """
        if text.isidentifier():
            self.names[result] = text
        else:
            self.names[result] = self.source.assign("v", text)
            self.source.note(result)


def _wider(element_type: Attribute) -> str | None:
    """
    The type in which elements are combined along a dimension, if not their own.
    """
    if is_float(element_type):
        return wide(element_type)
    return "tl.int32" if width(element_type) < 32 else None
