"""Operations of structured compute: `mem.map`, `mem.reduce` and `mem.contract`."""

import math
from collections.abc import Sequence

import numpy as np
from xdsl.dialects.builtin import MemRefType, StringAttr, TensorType, i1
from xdsl.ir import Attribute, Operation, Region, SSAValue
from xdsl.ir.affine import AffineMap
from xdsl.irdl import (
    AttrSizedOperandSegments,
    irdl_op_definition,
    operand_def,
    opt_prop_def,
    opt_result_def,
    region_def,
    traits_def,
    var_operand_def,
    var_result_def,
)
from xdsl.traits import IsolatedFromAbove
from xdsl.utils.exceptions import VerifyException

from tlf.dialects.mem.accumulating_operation import AccumulatingOp
from tlf.dialects.mem.prefetchable_operation import PrefetchableOperation
from tlf.dialects.mem.structured_operation import (
    StructuredEffects,
    StructuredOp,
    YieldOp,
    build_structured_properties,
    verify_output_shapes,
)
from tlf.dialects.product_precision import verify_precision
from tlf.dialects.types import dtype_of, is_float
from tlf.support.affine.linear_access import is_identity, is_projection

COMBINERS = frozenset(
    f"arith.{name}"
    for name in (
        "addf",
        "addi",
        "andi",
        "maximumf",
        "maxsi",
        "minimumf",
        "minsi",
        "mulf",
        "muli",
        "ori",
    )
)
"""Operations that a reduction may combine with."""

_NEUTRAL_ELEMENTS = {
    "arith.addf": 0.0,
    "arith.addi": 0,
    "arith.maximumf": -math.inf,
    "arith.minimumf": math.inf,
    "arith.mulf": 1.0,
    "arith.muli": 1,
    "arith.ori": 0,
}


@irdl_op_definition
class MapOp(StructuredOp):
    """
    Compute each element of the outputs from one element of each input.

    Outputs have the shape of the domain. Inputs may be transposed, and broadcast along
    dimensions of the domain that their map omits. A body with only a yield is a copy.
    An output may be the same buffer as an input if both maps are the identity.

    ```mlir
    mem.map ins(%a, %b : memref<16x64xf32, "L1">, memref<64xf32, "L1">)
        outs(%c : memref<16x64xf32, "L1">) domain [16, 64]
        maps [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d1)>,
              affine_map<(d0, d1) -> (d0, d1)>] {
    ^bb0(%x: f32, %y: f32):
      %z = arith.addf %x, %y : f32
      mem.yield %z : f32
    }
    ```
    """

    name = "mem.map"

    inputs = var_operand_def()
    outputs = var_operand_def(MemRefType)

    body = region_def("single_block")

    values = var_result_def(TensorType)

    irdl_options = (AttrSizedOperandSegments(as_property=True),)

    traits = traits_def(StructuredEffects(), IsolatedFromAbove())

    assembly_format = (
        "(`ins` `(` $inputs^ `:` type($inputs) `)`)? "
        "(`outs` `(` $outputs^ `:` type($outputs) `)`)? "
        "`domain` $domain `maps` $indexing_maps attr-dict-with-keyword $body "
        "(`->` type($values)^)?"
    )

    def __init__(
        self,
        inputs: Sequence[SSAValue | Operation],
        outputs: Sequence[SSAValue | Operation],
        domain: Sequence[int],
        maps: Sequence[AffineMap],
        body: Region,
        value_types: Sequence[Attribute] = (),
    ) -> None:
        super().__init__(
            operands=[inputs, outputs],
            result_types=[value_types],
            properties=build_structured_properties(domain, maps),
            regions=[body],
        )

    @property
    def input_operands(self) -> tuple[SSAValue, ...]:
        return tuple(self.inputs)

    @property
    def output_operands(self) -> tuple[SSAValue, ...]:
        return tuple(self.outputs)

    def verify_(self) -> None:
        self.verify_domain_and_maps()
        if self.results and self.outputs:
            raise VerifyException("expected either outs or results, got both")
        for index, indexing in enumerate(self.input_maps):
            if not is_projection(indexing, allow_zero=True):
                raise VerifyException(
                    f"input {index}: expected a projected permutation, got {indexing}"
                )
        for index, indexing in enumerate(self.output_maps):
            if not is_identity(indexing):
                raise VerifyException(
                    f"output {index}: expected the identity map, got {indexing}"
                )
            shape = self.output_types[index].get_shape()
            if shape != self.domain_extents:
                raise VerifyException(
                    f"output {index}: expected the shape of the domain, "
                    f"{list(self.domain_extents)}, got {list(shape)}"
                )
        self._verify_in_place()
        self.verify_body_types(
            self.body, [type.element_type for type in self.input_types]
        )

    def _verify_in_place(self) -> None:
        """
        Raise `VerifyException` if an input that is also an output is not read by the
        identity map.
        """
        for index, (value, indexing) in enumerate(
            zip(self.inputs, self.input_maps, strict=True)
        ):
            if value in self.outputs and not is_identity(indexing):
                raise VerifyException(
                    f"input {index}: expected the identity map of a buffer that is "
                    f"also an output, got {indexing}"
                )


@irdl_op_definition
class ReduceOp(AccumulatingOp):
    """
    Combine elements of the inputs into the outputs, which hold the initial values.

    Outputs omit the reduced dimensions of the domain. Inputs are accessed linearly: a
    window is a sum such as `d0 * 2 + d1`. The body takes one element of each input,
    then one of each output, and combines each pair by one `arith` operation (sum,
    product, maximum, minimum, and, or) after an optional cast. With `overwrite`,
    buffers need no initial values; with `overwrite unless %i`, they need none if `%i`
    is 0.

    ```mlir
    mem.reduce ins(%a : memref<16x64xf32, "L1">) outs(%s : memref<16xf32, "L1">)
        domain [16, 64]
        maps [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0)>] {
    ^bb0(%x: f32, %acc: f32):
      %z = arith.addf %x, %acc : f32
      mem.yield %z : f32
    }
    ```
    """

    name = "mem.reduce"

    inputs = var_operand_def()
    outputs = var_operand_def()

    body = region_def("single_block")

    values = var_result_def(TensorType)

    irdl_options = (AttrSizedOperandSegments(as_property=True),)

    traits = traits_def(StructuredEffects(), IsolatedFromAbove())

    assembly_format = (
        "`ins` `(` $inputs `:` type($inputs) `)` "
        "`outs` `(` $outputs `:` type($outputs) `)` "
        "`domain` $domain `maps` $indexing_maps (`overwrite` $overwrite^)? "
        "(`unless` $unless^)? attr-dict-with-keyword $body (`->` type($values)^)?"
    )

    def __init__(
        self,
        inputs: Sequence[SSAValue | Operation],
        outputs: Sequence[SSAValue | Operation],
        domain: Sequence[int],
        maps: Sequence[AffineMap],
        body: Region,
        value_types: Sequence[Attribute] = (),
    ) -> None:
        super().__init__(
            operands=[inputs, outputs, None],
            result_types=[value_types],
            properties=build_structured_properties(domain, maps),
            regions=[body],
        )

    @property
    def input_operands(self) -> tuple[SSAValue, ...]:
        return tuple(self.inputs)

    @property
    def output_operands(self) -> tuple[SSAValue, ...]:
        return tuple(self.outputs)

    @property
    def neutral_elements(self) -> tuple[float, ...]:
        """
        Neutral element of each output's combining operation, for its element type.
        """
        return tuple(
            _neutral_element_of(combine.name, shaped.element_type)
            for combine, shaped in zip(self.combiners, self.output_types, strict=True)
        )

    @property
    def combiners(self) -> tuple[Operation, ...]:
        """
        Operations of the body that compute the yielded scalars, in the order of the
        outputs.
        """
        terminator = self.body.block.last_op
        assert isinstance(terminator, YieldOp)
        owners = [value.owner for value in terminator.values]
        return tuple(owner for owner in owners if isinstance(owner, Operation))

    def verify_(self) -> None:
        self.verify_domain_and_maps()
        if len(self.inputs) != len(self.output_types):
            raise VerifyException(
                f"expected one input per output, got {len(self.inputs)} inputs and "
                f"{len(self.output_types)} outputs"
            )
        verify_output_shapes(self)
        self.verify_overwrite()
        shaped = self.input_types + self.output_types
        self.verify_body_types(self.body, [type.element_type for type in shaped])
        self._verify_combiners()

    def _verify_combiners(self) -> None:
        """
        Raise `VerifyException` unless the body combines into each output's element
        once, by one of `COMBINERS`.
        """
        combines = self.combiners
        arguments = self.body.block.args[len(self.inputs) :]
        if len(combines) != len(arguments):
            raise VerifyException("expected a body that combines into every output")
        for combine, argument in zip(combines, arguments, strict=True):
            if combine.name not in COMBINERS:
                raise VerifyException(
                    f"cannot combine by `{combine.name}`, expected one of "
                    f"{', '.join(sorted(COMBINERS))}"
                )
            if list(combine.operands).count(argument) != 1:
                raise VerifyException(
                    f"expected `{combine.name}` to combine an element with the "
                    "output's element"
                )


@irdl_op_definition
class ContractOp(AccumulatingOp, PrefetchableOperation):
    """
    Multiply two inputs and add the products to an output.

    `acc[mc(p)] += lhs[ml(p)] * rhs[mr(p)]` for every point `p` of the domain, with
    linear maps: a sum such as `d2 * 2 + d5` is a tap of a convolution. Products are
    accumulated in the element type of the output, or for 16-bit outputs in f32 with a
    single rounding. With `overwrite`, accumulation starts from 0; with `overwrite
    unless %i`, it does so if `%i` is 0. With `ahead`, a contraction in a loop body may
    start that many iterations early, like a `mem.dma`.

    ```mlir
    mem.contract
        ins(%a, %b : memref<16x32xbf16, "L1">, memref<32x64xbf16, "L1">)
        outs(%acc : memref<16x64xf32, "L1">) domain [16, 64, 32]
        maps [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>,
              affine_map<(m, n, k) -> (m, n)>]
    ```
    """

    name = "mem.contract"

    lhs = operand_def()
    rhs = operand_def()
    acc = operand_def()

    input_precision = opt_prop_def(StringAttr)

    value = opt_result_def(TensorType)

    traits = traits_def(StructuredEffects())

    assembly_format = (
        "`ins` `(` $lhs `,` $rhs `:` type($lhs) `,` type($rhs) `)` "
        "`outs` `(` $acc `:` type($acc) `)` `domain` $domain `maps` $indexing_maps "
        "(`precision` $input_precision^)? (`overwrite` $overwrite^)? "
        "(`unless` $unless^)? (`ahead` $ahead^)? attr-dict (`->` type($value)^)?"
    )

    def __init__(
        self,
        lhs: SSAValue | Operation,
        rhs: SSAValue | Operation,
        acc: SSAValue | Operation,
        domain: Sequence[int],
        maps: Sequence[AffineMap],
        input_precision: str | None = None,
    ) -> None:
        value_type = SSAValue.get(acc).type
        properties = build_structured_properties(domain, maps)
        if input_precision is not None:
            properties["input_precision"] = StringAttr(input_precision)
        super().__init__(
            operands=[lhs, rhs, acc, None],
            result_types=[None if isinstance(value_type, MemRefType) else value_type],
            properties=properties,
        )

    @property
    def precision(self) -> str:
        """Input precision, `ieee` by default."""
        return "ieee" if self.input_precision is None else self.input_precision.data

    @property
    def input_operands(self) -> tuple[SSAValue, ...]:
        return (self.lhs, self.rhs)

    @property
    def output_operands(self) -> tuple[SSAValue, ...]:
        return (self.acc,)

    @property
    def neutral_elements(self) -> tuple[float, ...]:
        return (_zero_of_element_type(self.output_types[0].element_type),)

    def verify_(self) -> None:
        self.verify_domain_and_maps()
        verify_output_shapes(self)
        self.verify_overwrite()
        self.verify_prefetch_distance()
        lhs, rhs = self.input_types
        if lhs.element_type != rhs.element_type:
            raise VerifyException(
                f"expected inputs of one element type, got {lhs.element_type} and "
                f"{rhs.element_type}"
            )
        verify_precision(self.precision)


def _neutral_element_of(combiner_name: str, element_type: Attribute) -> float:
    """
    Return the neutral element of an operation of `COMBINERS` for an element type: an
    `int` for integers.
    """
    if (number := _NEUTRAL_ELEMENTS.get(combiner_name)) is not None:
        return number
    if element_type == i1:
        return int(combiner_name != "arith.maxsi")
    limits = np.iinfo(dtype_of(element_type).name)
    extremes = {"arith.andi": -1, "arith.maxsi": limits.min, "arith.minsi": limits.max}
    return int(extremes[combiner_name])


def _zero_of_element_type(element_type: Attribute) -> float:
    """Return the initial value of a sum of elements of a type."""
    return _neutral_element_of(
        "arith.addf" if is_float(element_type) else "arith.addi", element_type
    )
