"""
Operation base of the `mem` dialect: structured compute, with an iteration domain and
one indexing map per operand.

Each operation has a buffer form, which writes to its `outs`, and a value form, which
returns one tensor per output.
"""

from abc import ABC
from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from functools import lru_cache
from typing import cast

from xdsl.dialects.builtin import (
    AffineMapAttr,
    ArrayAttr,
    DenseArrayBase,
    MemRefType,
    TensorType,
    i64,
)
from xdsl.ir import Attribute, Operation, Region, SSAValue
from xdsl.ir.affine import AffineMap
from xdsl.irdl import (
    IRDLOperation,
    irdl_op_definition,
    prop_def,
    traits_def,
    var_operand_def,
)
from xdsl.traits import (
    EffectInstance,
    IsTerminator,
    MemoryEffect,
    MemoryEffectKind,
    Pure,
)
from xdsl.utils.exceptions import VerifyException

from tlf.dialects.mem.buffer_checks import verify_is_no_window
from tlf.dialects.shared_attributes import CACHE_SIZE, share_integer_array
from tlf.dialects.types import Shaped, format_types
from tlf.support.affine.linear_access import (
    is_projection,
    linear_accesses_of_map,
    verify_access_in_bounds,
)


class StructuredEffects(MemoryEffect):
    """
    Effects of structured compute: buffers are read and written; tensors have no
    effects.
    """

    @classmethod
    def get_effects(cls, op: Operation) -> AbstractSet[EffectInstance]:
        """
        Return reads of the inputs, and of outputs whose contents are needed, and writes
        of the outputs; nothing for an `op` on tensors.
        """
        if op.results:
            return set()
        assert isinstance(op, StructuredOp)
        outs = op.output_operands
        read = (
            (*op.input_operands, *outs)
            if op.needs_output_contents
            else op.input_operands
        )
        reads = {EffectInstance(MemoryEffectKind.READ, value) for value in read}
        return reads | {EffectInstance(MemoryEffectKind.WRITE, value) for value in outs}


class StructuredOp(IRDLOperation, ABC):
    """Base of map, reduce and contract: a domain, and one map per input and output."""

    indexing_maps = prop_def(ArrayAttr[AffineMapAttr])
    domain = prop_def(DenseArrayBase.constr(i64))

    @property
    def domain_extents(self) -> tuple[int, ...]:
        """Extents of the iteration domain."""
        return tuple(self.domain.get_values())

    @property
    def maps(self) -> tuple[AffineMap, ...]:
        """One map per input, then one per output."""
        return tuple(indexing.data for indexing in self.indexing_maps)

    @property
    def input_operands(self) -> tuple[SSAValue, ...]:
        raise NotImplementedError

    @property
    def output_operands(self) -> tuple[SSAValue, ...]:
        """Buffers that are written, or initial values of the results."""
        raise NotImplementedError

    @property
    def needs_output_contents(self) -> bool:
        """True if the previous contents of the outputs may matter."""
        return True

    @property
    def is_on_buffers(self) -> bool:
        return not self.results

    @property
    def input_types(self) -> tuple[Shaped, ...]:
        return tuple(cast(Shaped, value.type) for value in self.input_operands)

    @property
    def output_types(self) -> tuple[Shaped, ...]:
        outputs = self.results if self.results else self.output_operands
        return tuple(cast(Shaped, value.type) for value in outputs)

    @property
    def input_maps(self) -> tuple[AffineMap, ...]:
        return self.maps[: len(self.input_operands)]

    @property
    def output_maps(self) -> tuple[AffineMap, ...]:
        return self.maps[len(self.input_operands) :]

    def verify_domain_and_maps(self) -> None:
        """
        Check the form, the number of maps, and that every access is within its operand.
        """
        self._verify_buffers_or_tensors()
        types = self.input_types + self.output_types
        if len(self.maps) != len(types):
            raise VerifyException(
                f"expected {len(types)} maps, one per input and output, got "
                f"{len(self.maps)}"
            )
        if any(extent <= 0 for extent in self.domain_extents):
            raise VerifyException(
                f"expected positive extents, got {list(self.domain_extents)}"
            )
        inputs = len(self.input_operands)
        for index, (indexing, shaped) in enumerate(zip(self.maps, types, strict=True)):
            operand = f"input {index}" if index < inputs else f"output {index - inputs}"
            verify_access_in_bounds(
                indexing, self.domain_extents, shaped.get_shape(), operand
            )

    def _verify_buffers_or_tensors(self) -> None:
        """
        Raise `VerifyException` unless all operands are tensors, if there are results,
        or all are memrefs, and there is an output.
        """
        expected = TensorType if self.results else MemRefType
        name = "tensors" if self.results else "memrefs"
        for value in (*self.input_operands, *self.output_operands):
            if not isinstance(value.type, expected):
                raise VerifyException(f"expected {name}, got {value.type}")
            verify_is_no_window(value)
        if not self.output_types:
            raise VerifyException("expected at least one output")
        outs = self.output_operands
        if self.results and outs and [v.type for v in outs] != list(self.result_types):
            raise VerifyException("expected results of the types of the outs")

    def verify_body_types(self, body: Region, arguments: Sequence[Attribute]) -> None:
        """Check the argument types and the yielded types of the scalar body."""
        block = body.block
        if list(block.arg_types) != list(arguments):
            raise VerifyException(
                "expected a body with arguments of types "
                f"{format_types(arguments)}, got "
                f"{format_types(block.arg_types)}"
            )
        results = [shaped.element_type for shaped in self.output_types]
        terminator = block.last_op
        if not isinstance(terminator, YieldOp):
            raise VerifyException("expected a body that ends in `mem.yield`")
        if list(terminator.values.types) != results:
            raise VerifyException(
                f"expected a body that yields {format_types(results)}, got "
                f"{format_types(terminator.values.types)}"
            )


def build_structured_properties(
    domain: Sequence[int], maps: Sequence[AffineMap]
) -> dict[str, Attribute | None]:
    """Return the properties `domain` and `indexing_maps` of a structured operation."""
    return {
        "indexing_maps": _build_indexing_maps(tuple(maps)),
        "domain": share_integer_array(domain),
    }


@lru_cache(CACHE_SIZE)
def _build_indexing_maps(maps: tuple[AffineMap, ...]) -> ArrayAttr[AffineMapAttr]:
    return ArrayAttr([AffineMapAttr(indexing) for indexing in maps])


@irdl_op_definition
class YieldOp(IRDLOperation):
    """
    Yield the scalars that a body computes, one per output.

    ```mlir
    mem.yield %z : f32
    ```
    """

    name = "mem.yield"

    values = var_operand_def()

    traits = traits_def(IsTerminator(), Pure())

    assembly_format = "attr-dict ($values^ `:` type($values))?"

    def __init__(self, values: Sequence[SSAValue | Operation]) -> None:
        super().__init__(operands=[values])


def verify_output_shapes(op: StructuredOp) -> None:
    """
    Check that outputs have one element per point of the dimensions in their map. An
    axis of extent 1 may replace omitted dimensions.
    """
    for index, indexing in enumerate(op.output_maps):
        if not is_projection(indexing, allow_zero=True):
            raise VerifyException(
                f"output {index}: expected a projected permutation, got {indexing}"
            )
        dims = [access.loop_dim for access in linear_accesses_of_map(indexing)]
        shape = tuple(1 if dim is None else op.domain_extents[dim] for dim in dims)
        if shape != op.output_types[index].get_shape():
            raise VerifyException(
                f"output {index}: expected shape {list(shape)}, got "
                f"{list(op.output_types[index].get_shape())}"
            )
