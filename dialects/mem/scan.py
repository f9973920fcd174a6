"""Operation `mem.scan`: structured compute that combines elements along a dimension."""

from collections.abc import Sequence

from xdsl.dialects.builtin import IntegerAttr, TensorType, UnitAttr, i64
from xdsl.ir import Attribute, Operation, Region, SSAValue
from xdsl.ir.affine import AffineMap
from xdsl.irdl import (
    irdl_op_definition,
    operand_def,
    opt_prop_def,
    prop_def,
    region_def,
    result_def,
    traits_def,
)
from xdsl.traits import IsolatedFromAbove, Pure
from xdsl.utils.exceptions import VerifyException

from tlf.dialects.mem.compute_ops import COMBINERS
from tlf.dialects.mem.structured_operation import (
    StructuredOp,
    YieldOp,
    build_structured_properties,
    verify_output_shapes,
)
from tlf.support.affine.linear_access import is_identity, is_projection


@irdl_op_definition
class ScanOp(StructuredOp):
    """
    Combine each element of a tensor with all elements before it along dimension `dim`
    of the domain: an inclusive prefix scan. With `reverse`, it is combined with those
    after it.

    The result has the shape of the domain, and the element type of the input. The body
    combines an element with those before it by one `arith` operation, as that of a
    `mem.reduce`. Sums and products of 16-bit floats are computed in f32 and rounded
    once.

    ```mlir
    %y = mem.scan ins(%x : tensor<16x64xf32>) dim 1 domain [16, 64]
        maps [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>] {
    ^bb0(%a: f32, %acc: f32):
      %z = arith.addf %a, %acc : f32
      mem.yield %z : f32
    } -> tensor<16x64xf32>
    ```
    """

    name = "mem.scan"

    input = operand_def(TensorType)

    dim = prop_def(IntegerAttr.constr(i64))
    reverse = opt_prop_def(UnitAttr)

    body = region_def("single_block")

    value = result_def(TensorType)

    traits = traits_def(Pure(), IsolatedFromAbove())

    assembly_format = (
        "`ins` `(` $input `:` type($input) `)` `dim` $dim (`reverse` $reverse^)? "
        "`domain` $domain `maps` $indexing_maps attr-dict-with-keyword $body "
        "`->` type($value)"
    )

    def __init__(
        self,
        operand: SSAValue | Operation,
        dim: int,
        domain: Sequence[int],
        maps: Sequence[AffineMap],
        body: Region,
        value_type: Attribute,
        reverse: bool = False,
    ) -> None:
        properties = build_structured_properties(domain, maps)
        super().__init__(
            operands=[operand],
            result_types=[value_type],
            properties={
                **properties,
                "dim": IntegerAttr(dim, i64),
                "reverse": UnitAttr() if reverse else None,
            },
            regions=[body],
        )

    @property
    def input_operands(self) -> tuple[SSAValue, ...]:
        return (self.input,)

    @property
    def output_operands(self) -> tuple[SSAValue, ...]:
        return ()

    @property
    def scan_dim(self) -> int:
        """Dimension of the domain along which elements are combined."""
        return self.dim.value.data

    @property
    def is_reversed(self) -> bool:
        """True if elements are combined from the last one to the first."""
        return self.reverse is not None

    @property
    def combiner(self) -> Operation:
        """Operation of the body that combines an element with those before it."""
        terminator = self.body.block.last_op
        assert isinstance(terminator, YieldOp)
        owner = terminator.values[0].owner
        assert isinstance(owner, Operation)
        return owner

    def verify_(self) -> None:
        self.verify_domain_and_maps()
        rank = len(self.domain_extents)
        if not 0 <= self.scan_dim < rank:
            raise VerifyException(
                f"expected a dimension below {rank}, got {self.scan_dim}"
            )
        if not is_projection(self.input_maps[0], allow_zero=True):
            raise VerifyException(
                f"input: expected a projected permutation, got {self.input_maps[0]}"
            )
        if not is_identity(self.output_maps[0]):
            raise VerifyException(
                f"output: expected the identity map, got {self.output_maps[0]}"
            )
        verify_output_shapes(self)
        element = self.input_types[0].element_type
        self.verify_body_types(self.body, [element, element])
        self._verify_combiner()

    def _verify_combiner(self) -> None:
        """
        Raise `VerifyException` unless the body is one of `COMBINERS` on its arguments.
        """
        block = self.body.block
        (combine, *others) = block.ops
        if others[1:] or combine.name not in COMBINERS:
            raise VerifyException(
                f"expected a body of one of {', '.join(sorted(COMBINERS))}, got "
                f"{', '.join(each.name for each in block.ops)}"
            )
        if {*combine.operands} != {*block.args}:
            raise VerifyException(
                f"expected `{combine.name}` to combine both arguments of the body"
            )
