"""Operation `graph.group`: a region of operations that are fused and tiled together."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Self

from xdsl.dialects.builtin import IndexType
from xdsl.dialects.utils import AbstractYieldOperation
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.irdl import (
    BaseAttr,
    IRDLOperation,
    irdl_op_definition,
    lazy_traits_def,
    opt_prop_def,
    region_def,
    traits_def,
    var_operand_def,
    var_result_def,
)
from xdsl.parser import Parser, UnresolvedOperand
from xdsl.printer import Printer
from xdsl.traits import (
    HasParent,
    IsolatedFromAbove,
    IsTerminator,
    Pure,
    RecursivelySpeculatable,
    RecursiveMemoryEffect,
)
from xdsl.utils.exceptions import VerifyException

from tlf.dialects.graph.canonicalizable import CanonicalizableOperation
from tlf.dialects.graph.in_place_attribute import verify_in_place_operand_types
from tlf.dialects.graph.tensor_types import GraphTensorConstraint
from tlf.dialects.graph.tiling_plan import PlanAttr
from tlf.dialects.interfaces import (
    AccumulatingInterface,
    ContractionInterface,
    IteratorType,
    TilingInterface,
)
from tlf.dialects.types import format_types


@irdl_op_definition
class YieldOp(AbstractYieldOperation[Attribute]):
    """
    Terminator of a group; its operands are the results of the group.

    ```mlir
    graph.yield %y : tensor<4x8xf32>
    ```
    """

    name = "graph.yield"

    traits = lazy_traits_def(lambda: (IsTerminator(), HasParent(GroupOp), Pure()))


@irdl_op_definition
class GroupOp(IRDLOperation, CanonicalizableOperation):
    """
    Operations that are fused into one tile loop nest. The body is isolated from above:
    its arguments are the operands, and the values it yields are the results.

    ```mlir
    %y = graph.group ins(%a = %x : tensor<4x8xf32>)
        plan #graph.plan<L1, tile [2, 8], mapping loop> -> (tensor<4x8xf32>) {
      %0 = graph.exp %a : tensor<4x8xf32>
      graph.yield %0 : tensor<4x8xf32>
    }
    ```
    """

    name = "graph.group"

    inputs = var_operand_def(GraphTensorConstraint() | BaseAttr(IndexType))
    plan = opt_prop_def(PlanAttr)
    body = region_def("single_block")
    outputs = var_result_def(GraphTensorConstraint())

    traits = traits_def(
        IsolatedFromAbove(), RecursiveMemoryEffect(), RecursivelySpeculatable()
    )

    def __init__(
        self,
        inputs: Sequence[SSAValue | Operation],
        result_types: Sequence[Attribute],
        body: Region | Block,
        plan: PlanAttr | None = None,
    ):
        super().__init__(
            operands=[inputs],
            result_types=[result_types],
            regions=[Region(body) if isinstance(body, Block) else body],
            properties={"plan": plan},
        )

    @property
    def yielded_values(self) -> tuple[SSAValue, ...]:
        """Values that the body yields."""
        last = self.body.block.last_op
        return tuple(last.operands) if isinstance(last, YieldOp) else ()

    @property
    def tiled_root_operation(self) -> TilingInterface | None:
        """Operation that defines the first result; `None` if it cannot be tiled."""
        owner = self.yielded_values[0].owner if self.yielded_values else None
        return owner if isinstance(owner, TilingInterface) else None

    @property
    def last_accumulating_operation(self) -> AccumulatingInterface | None:
        """Last accumulating operation of the body, if any."""
        return next(reversed(self._accumulating_operations), None)

    @property
    def _accumulating_operations(self) -> Sequence[AccumulatingInterface]:
        """Accumulating operations of the body, in order."""
        return [
            op for op in self.body.block.ops if isinstance(op, AccumulatingInterface)
        ]

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        names: list[Parser.UnresolvedArgument] = []
        sources: list[UnresolvedOperand] = []
        types: list[Attribute] = []

        def parse_input() -> None:
            names.append(parser.parse_argument(expect_type=False))
            parser.parse_punctuation("=")
            sources.append(parser.parse_unresolved_operand())

        parser.parse_keyword("ins")
        position = parser.pos
        parser.parse_punctuation("(")
        if parser.parse_optional_punctuation(")") is None:
            parser.parse_comma_separated_list(parser.Delimiter.NONE, parse_input)
            parser.parse_punctuation(":")
            types = list(
                parser.parse_comma_separated_list(
                    parser.Delimiter.NONE, parser.parse_type
                )
            )
            parser.parse_punctuation(")")
        operands = parser.resolve_operands(sources, types, position)
        plan = _parse_optional_plan(parser)
        attributes = parser.parse_optional_attr_dict_with_keyword()
        parser.parse_punctuation("->")
        outputs = parser.parse_comma_separated_list(
            parser.Delimiter.PAREN, parser.parse_type
        )
        arguments = [
            name.resolve(type_) for name, type_ in zip(names, types, strict=True)
        ]
        return cls.create(
            operands=operands,
            result_types=outputs,
            properties={} if plan is None else {"plan": plan},
            attributes=attributes.data if attributes is not None else {},
            regions=[parser.parse_region(arguments)],
        )

    def print(self, printer: Printer) -> None:
        printer.print_string(" ins(")
        pairs = tuple(zip(self.body.block.args, self.inputs, strict=True))
        for position, (argument, source) in enumerate(pairs):
            printer.print_string(", " if position else "")
            printer.print_ssa_value(argument)
            printer.print_string(" = ")
            printer.print_ssa_value(source)
        if pairs:
            printer.print_string(" : ")
            printer.print_list(self.inputs.types, printer.print_attribute)
        printer.print_string(")")
        if self.plan is not None:
            printer.print_string(" plan ")
            printer.print_attribute(self.plan)
        printer.print_op_attributes(self.attributes, print_keyword=True)
        printer.print_string(" -> (")
        printer.print_list(self.outputs.types, printer.print_attribute)
        printer.print_string(") ")
        printer.print_region(self.body, print_entry_block_args=False)

    def verify_(self) -> None:
        block = self.body.block
        if block.arg_types != self.inputs.types:
            raise VerifyException(
                f"expected arguments of the operands' types, "
                f"{format_types(self.inputs.types)}, got "
                f"{format_types(block.arg_types)}"
            )
        if not isinstance(block.last_op, YieldOp):
            last = "nothing" if block.last_op is None else block.last_op.name
            raise VerifyException(
                f"expected a body that ends in graph.yield, got {last}"
            )
        yielded_types = tuple(value.type for value in self.yielded_values)
        if yielded_types != self.outputs.types:
            raise VerifyException(
                f"expected the body to yield {format_types(self.outputs.types)}, "
                f"got {format_types(yielded_types)}"
            )
        verify_in_place_operand_types(self)
        if self.plan is not None:
            self._verify_plan(self.plan)

    def _verify_plan(self, plan: PlanAttr) -> None:
        """Check the plan against the loops, operands and results of the group."""
        if (tiled := self.tiled_root_operation) is None:
            raise VerifyException(
                "expected a first result of an operation that tiles, "
                "got a plan for one that does not"
            )
        count = _count_dims_of_kind(tiled, IteratorType.PARALLEL)
        if len(plan.tile) != count:
            raise VerifyException(
                f"expected {count} tile sizes, one per parallel iterator of "
                f"{tiled.name}, got {len(plan.tile)}"
            )
        if any(index >= len(self.outputs) for index in plan.retained_results):
            raise VerifyException(
                f"expected indices of retained results below {len(self.outputs)}, "
                f"got {list(plan.retained_results)}"
            )
        if any(index >= len(self.inputs) for index in plan.resident_operands):
            raise VerifyException(
                f"expected indices of resident operands below {len(self.inputs)}, "
                f"got {list(plan.resident_operands)}"
            )
        if not len(plan.reduce):
            return
        if (reducing := self.last_accumulating_operation) is None:
            raise VerifyException(
                "expected no reduce sizes for a body without reductions, "
                f"got {len(plan.reduce)}"
            )
        counts = self._admissible_reduce_size_counts()
        if len(plan.reduce) not in counts:
            raise VerifyException(
                f"expected {counts[0]} reduce sizes, one per reduction iterator of "
                f"{reducing.name}, got {len(plan.reduce)}"
            )

    def _admissible_reduce_size_counts(self) -> list[int]:
        """
        Return the admissible numbers of reduce sizes, that of the last accumulating
        operation first: the number of reduction iterators of one accumulating
        operation, plus those of contractions before it whose loop is nested in its own.
        """
        accumulating = self._accumulating_operations
        counts = [
            _count_dims_of_kind(op, IteratorType.REDUCTION)
            for op in reversed(accumulating)
        ]
        for op in accumulating[:-1]:
            if isinstance(op, ContractionInterface):
                nested = _count_dims_of_kind(op, IteratorType.REDUCTION)
                counts += [count + nested for count in counts]
        return counts


def _parse_optional_plan(parser: Parser) -> Attribute | None:
    """
    Parse `plan` and the plan attribute of a group; return `None` if there is none.
    """
    plan = None
    if parser.parse_optional_keyword("plan") is not None:
        plan = parser.parse_attribute()
    return plan


def _count_dims_of_kind(op: TilingInterface, kind: IteratorType) -> int:
    return sum(iterator.kind is kind for iterator in op.iteration_domain())
