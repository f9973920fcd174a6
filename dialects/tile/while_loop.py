"""Operation `tile.while`: counted loop nest over tiles with loop-carried values."""

from collections.abc import Sequence
from typing import TypeAlias, cast

from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    DenseArrayBase,
    IndexType,
    IntegerAttr,
    TensorType,
    i64,
)
from xdsl.dialects.utils import AbstractYieldOperation
from xdsl.dialects.utils.dynamic_index_list import (
    get_dynamic_index_list,
    split_dynamic_index_list,
)
from xdsl.ir import Attribute, Block, BlockArgument, Operation, Region, SSAValue
from xdsl.irdl import (
    AttrSizedOperandSegments,
    IRDLOperation,
    irdl_op_definition,
    lazy_traits_def,
    opt_prop_def,
    prop_def,
    region_def,
    traits_def,
    var_operand_def,
    var_result_def,
)
from xdsl.parser import Parser, UnresolvedOperand
from xdsl.printer import Printer
from xdsl.traits import (
    HasParent,
    IsTerminator,
    Pure,
    RecursivelySpeculatable,
    RecursiveMemoryEffect,
    SingleBlockImplicitTerminator,
    ensure_terminator,
)
from xdsl.utils.exceptions import VerifyException

from tlf.dialects.shared_attributes import share_integer_array
from tlf.dialects.tile.loop_attributes import (
    LoopKind,
    LoopKindAttr,
    Mapping,
    MappingAttr,
)
from tlf.dialects.tile.scatter import ScatterOp
from tlf.dialects.tile.slice_ops import DesliceOp
from tlf.dialects.types import format_types

Index: TypeAlias = SSAValue | int
Bound: TypeAlias = UnresolvedOperand | int


@irdl_op_definition
class YieldOp(AbstractYieldOperation[Attribute]):
    """
    Terminator of a `tile.while` body, which yields the carried values of its iteration.

    ```mlir
    tile.yield %next : tensor<16xf32, #tile.encoding<L1>>
    ```
    """

    name = "tile.yield"

    traits = lazy_traits_def(lambda: (IsTerminator(), HasParent(WhileOp), Pure()))


@irdl_op_definition
class WhileOp(IRDLOperation):
    """
    Counted loop nest over tiles, outermost loop first, with carried values.

    Iterations of a *parallel* nest are independent: a carried value is a shared
    destination that iterations write with `tile.deslice`, at disjoint elements, or
    combine elements with by `tile.scatter`, in any order, and never read. Iterations of
    a *sequential* nest run in order, each with the values that the previous one
    yielded.

    `mapping` is the mapping of iterations, `order` the order of axes in which they run,
    `stages` the number of iterations in flight, and `warps` the number of warps that
    run an iteration on a GPU. A program of a GPU may run as many iterations of each
    loop at once as `unroll` says, on tiles whose elements alternate.

    ```mlir
    %r = tile.while (%i = 0 to 100 step 16) parallel mapping(loop)
        into(%o = %e : tensor<100x64xf32>) {
      %t = tile.slice %x[%i, 0]
          : tensor<100x64xf32> -> tensor<16x64xf32, #tile.encoding<L2>>
      %n = tile.deslice %t into %o[%i, 0]
          : tensor<16x64xf32, #tile.encoding<L2>> into tensor<100x64xf32>
      tile.yield %n : tensor<100x64xf32>
    }
    ```
    """

    name = "tile.while"

    lower = var_operand_def(IndexType)
    upper = var_operand_def(IndexType)
    inits = var_operand_def(TensorType)
    static_lower = prop_def(DenseArrayBase.constr(i64))
    static_upper = prop_def(DenseArrayBase.constr(i64))
    steps = prop_def(DenseArrayBase.constr(i64))
    kind = prop_def(LoopKindAttr)
    mapping = prop_def(MappingAttr)
    order = opt_prop_def(DenseArrayBase.constr(i64))
    stages = opt_prop_def(IntegerAttr.constr(i64))
    warps = opt_prop_def(IntegerAttr.constr(i64))
    unroll = opt_prop_def(DenseArrayBase.constr(i64))
    body = region_def("single_block")
    outputs = var_result_def(TensorType)

    irdl_options = (AttrSizedOperandSegments(as_property=True),)
    traits = traits_def(
        SingleBlockImplicitTerminator(YieldOp),
        RecursiveMemoryEffect(),
        RecursivelySpeculatable(),
    )

    def __init__(
        self,
        lower: Sequence[Index],
        upper: Sequence[Index],
        steps: Sequence[int],
        inits: Sequence[SSAValue],
        body: Region | Block,
        kind: LoopKind,
        mapping: Mapping = Mapping.LOOP,
        order: Sequence[int] | None = None,
        stages: int | None = None,
        warps: int | None = None,
        unroll: Sequence[int] | None = None,
    ) -> None:
        static_lower, dynamic_lower = split_dynamic_index_list(lower, DYNAMIC_INDEX)
        static_upper, dynamic_upper = split_dynamic_index_list(upper, DYNAMIC_INDEX)
        super().__init__(
            operands=[dynamic_lower, dynamic_upper, inits],
            properties={
                "static_lower": share_integer_array(static_lower),
                "static_upper": share_integer_array(static_upper),
                "steps": share_integer_array(steps),
                "kind": LoopKindAttr(kind),
                "mapping": MappingAttr(mapping),
                "order": None if order is None else share_integer_array(order),
                "stages": None if stages is None else IntegerAttr(stages, i64),
                "warps": None if warps is None else IntegerAttr(warps, i64),
                "unroll": None if unroll is None else share_integer_array(unroll),
            },
            regions=[body if isinstance(body, Region) else Region(body)],
            result_types=[[init.type for init in inits]],
        )

    @property
    def is_parallel(self) -> bool:
        """True if the iterations are independent."""
        return self.kind.data is LoopKind.PARALLEL

    @property
    def mixed_lower_bounds(self) -> tuple[Index, ...]:
        """Lower bound of each induction variable."""
        static = cast(Sequence[int], self.static_lower.get_values())
        return tuple(get_dynamic_index_list(static, self.lower, DYNAMIC_INDEX))

    @property
    def mixed_upper_bounds(self) -> tuple[Index, ...]:
        """Exclusive upper bound of each induction variable."""
        static = cast(Sequence[int], self.static_upper.get_values())
        return tuple(get_dynamic_index_list(static, self.upper, DYNAMIC_INDEX))

    @property
    def step_values(self) -> tuple[int, ...]:
        """Step of each induction variable."""
        return tuple(cast(Sequence[int], self.steps.get_values()))

    @property
    def induction_variables(self) -> tuple[BlockArgument, ...]:
        """Induction variables in the body, outermost loop first."""
        return tuple(self.body.block.args[: len(self.steps)])

    @property
    def carried_values(self) -> tuple[BlockArgument, ...]:
        """Carried values in the body."""
        return tuple(self.body.block.args[len(self.steps) :])

    @property
    def yield_op(self) -> YieldOp:
        """Terminator of the body."""
        return cast(YieldOp, self.body.block.last_op)

    def verify_(self) -> None:
        self._verify_loop_bounds()
        self._verify_schedule()
        self._verify_carried_value_types()
        if self.is_parallel:
            self._verify_parallel_destinations()

    def _verify_loop_bounds(self) -> None:
        """
        Raise `VerifyException` for wrong numbers of bounds, steps that are not
        positive, or an `order` that is no permutation.
        """
        loops = len(self.steps)
        for what, bounds in (
            ("lower", self.static_lower),
            ("upper", self.static_upper),
        ):
            if len(bounds) != loops:
                raise VerifyException(
                    f"expected {loops} {what} bounds, one per step, got {len(bounds)}"
                )
            operands = self.lower if what == "lower" else self.upper
            values = cast(Sequence[int], bounds.get_values())
            if (dynamic := values.count(DYNAMIC_INDEX)) != len(operands):
                raise VerifyException(
                    f"expected {dynamic} dynamic {what} bounds, got {len(operands)}"
                )
        if any(step <= 0 for step in self.step_values):
            raise VerifyException(
                f"expected positive steps, got {list(self.step_values)}"
            )
        if self.order is None:
            return
        order = list(cast(Sequence[int], self.order.get_values()))
        if sorted(order) != list(range(loops)):
            raise VerifyException(
                f"expected an order of {loops} loops, each once, got {order}"
            )

    def _verify_schedule(self) -> None:
        """
        Raise `VerifyException` for stages, warps or unroll factors that are not
        positive.
        """
        if self.stages is not None and self.stages.value.data < 1:
            raise VerifyException(
                f"expected at least 1 stage, got {self.stages.value.data}"
            )
        if self.warps is not None and self.warps.value.data < 1:
            raise VerifyException(
                f"expected at least 1 warp, got {self.warps.value.data}"
            )
        if self.unroll is not None:
            factors = list(cast(Sequence[int], self.unroll.get_values()))
            loops = len(self.steps)
            if len(factors) != loops or min(factors, default=1) < 1:
                raise VerifyException(
                    f"expected {loops} positive unroll factors, got {factors}"
                )

    def _verify_carried_value_types(self) -> None:
        """
        Raise `VerifyException` unless body arguments, results and yielded values have
        the types of `inits`.
        """
        expected = [IndexType()] * len(self.steps) + [init.type for init in self.inits]
        actual = list(self.body.block.arg_types)
        if actual != expected:
            raise VerifyException(
                f"expected body arguments {format_types(expected)}, got "
                f"{format_types(actual)}"
            )
        carried = expected[len(self.steps) :]
        for what, values in (
            ("results", self.outputs),
            ("yielded values", self.yield_op.arguments),
        ):
            if (types := [value.type for value in values]) != carried:
                raise VerifyException(
                    f"expected {what} {format_types(carried)}, got "
                    f"{format_types(types)}"
                )

    def is_only_written(self, carried_index: int) -> bool:
        """Return `True` if the loop only writes a carried value."""
        return self._find_reader_of_carried_value(carried_index) is None

    def _find_reader_of_carried_value(self, carried_index: int) -> Operation | None:
        """
        Return an operation that uses a carried value other than as a destination;
        `None` if there is none.
        """
        destination = self.carried_values[carried_index]
        for use in destination.uses:
            match use.operation:
                case DesliceOp() if use.operation.destination is destination:
                    continue
                case ScatterOp() as op if _only_combines_with(op, use.index):
                    continue
                case WhileOp() as loop:
                    first = len(loop.lower) + len(loop.upper)
                    if loop.is_parallel or loop.is_only_written(use.index - first):
                        continue
                case YieldOp() if use.index == carried_index:
                    continue
                case _:
                    pass
            return use.operation
        return None

    def _verify_parallel_destinations(self) -> None:
        """
        Raise `VerifyException` if a carried value is used other than as destination.
        """
        for position in range(len(self.carried_values)):
            if (reader := self._find_reader_of_carried_value(position)) is not None:
                raise VerifyException(
                    "expected a destination of a parallel loop to be only "
                    f"written, got a use in {reader.name}"
                )

    @classmethod
    def parse(cls, parser: Parser) -> "WhileOp":
        loops = parser.parse_comma_separated_list(
            parser.Delimiter.PAREN, lambda: _parse_loop(parser)
        )
        kind = parser.parse_str_enum(LoopKind)
        mapping = _parse_optional_mapping(parser)
        order = _parse_optional_integers(parser, "order")
        stages = _parse_optional_count(parser, "stages")
        warps = _parse_optional_count(parser, "warps")
        unroll = _parse_optional_integers(parser, "unroll")
        carry = []
        keyword = "into" if kind is LoopKind.PARALLEL else "carry"
        if parser.parse_optional_keyword(keyword) is not None:
            carry = parser.parse_comma_separated_list(
                parser.Delimiter.PAREN, lambda: _parse_carried(parser)
            )
        attributes = parser.parse_optional_attr_dict_with_keyword()
        index = IndexType()
        arguments = [loop[0].resolve(index) for loop in loops]
        arguments += [argument.resolve(init.type) for argument, init in carry]
        operation = cls(
            [_resolve_bound(parser, loop[1]) for loop in loops],
            [_resolve_bound(parser, loop[2]) for loop in loops],
            [loop[3] for loop in loops],
            [init for _, init in carry],
            parser.parse_region(arguments),
            kind,
            mapping,
            order,
            stages,
            warps,
            unroll,
        )
        if attributes is not None:
            operation.attributes |= attributes.data
        for trait in operation.get_traits_of_type(SingleBlockImplicitTerminator):
            ensure_terminator(operation, trait)
        return operation

    def print(self, printer: Printer) -> None:
        printer.print_string(" (")
        bounds = (self.mixed_lower_bounds, self.mixed_upper_bounds, self.step_values)
        loops = list(zip(self.induction_variables, *bounds, strict=True))
        printer.print_list(loops, lambda loop: _print_loop(printer, *loop))
        printer.print_string(f") {self.kind.data} mapping({self.mapping.data})")
        if self.order is not None:
            order = ", ".join(str(axis) for axis in self.order.get_values())
            printer.print_string(f" order({order})")
        if self.stages is not None:
            printer.print_string(f" stages({self.stages.value.data})")
        if self.warps is not None:
            printer.print_string(f" warps({self.warps.value.data})")
        if self.unroll is not None:
            factors = ", ".join(str(factor) for factor in self.unroll.get_values())
            printer.print_string(f" unroll({factors})")
        if self.carried_values:
            printer.print_string(" into(" if self.is_parallel else " carry(")
            pairs = list(zip(self.carried_values, self.inits, strict=True))
            printer.print_list(pairs, lambda pair: _print_carried(printer, *pair))
            printer.print_string(")")
        printer.print_op_attributes(self.attributes, print_keyword=True)
        printer.print_string(" ")
        printer.print_region(
            self.body,
            print_entry_block_args=False,
            print_block_terminators=bool(self.carried_values),
        )


def _only_combines_with(op: ScatterOp, operand_index: int) -> bool:
    """Return `True` if a scatter combines elements with an operand, in any order."""
    operand = op.operands[operand_index]
    others = (op.source, op.indices)
    return op.combine is not None and all(each is not operand for each in others)


def _parse_optional_integers(parser: Parser, keyword: str) -> list[int] | None:
    """Parse a keyword with integers in parentheses, if it is next."""
    if parser.parse_optional_keyword(keyword) is None:
        return None
    return parser.parse_comma_separated_list(
        parser.Delimiter.PAREN, parser.parse_integer
    )


def _parse_optional_count(parser: Parser, keyword: str) -> int | None:
    """Parse a keyword and a number in parentheses; `None` without the keyword."""
    if parser.parse_optional_keyword(keyword) is None:
        return None
    with parser.in_parens():
        return parser.parse_integer()


def _parse_optional_mapping(parser: Parser) -> Mapping:
    """Parse `mapping(...)`, and return the mapping of the loops; `loop` if absent."""
    mapping = Mapping.LOOP
    if parser.parse_optional_keyword("mapping") is not None:
        with parser.in_parens():
            mapping = parser.parse_str_enum(Mapping)
    return mapping


def _parse_bound(parser: Parser) -> Bound:
    if (value := parser.parse_optional_unresolved_operand()) is not None:
        return value
    return parser.parse_integer(allow_boolean=False)


def _resolve_bound(parser: Parser, bound: Bound) -> Index:
    if isinstance(bound, int):
        return bound
    return parser.resolve_operand(bound, IndexType())


def _parse_loop(parser: Parser) -> tuple[Parser.UnresolvedArgument, Bound, Bound, int]:
    """
    Parse `%i = lower to upper step n`; return the variable, the bounds and the step.
    """
    variable = parser.parse_argument(expect_type=False)
    parser.parse_punctuation("=")
    lower = _parse_bound(parser)
    parser.parse_keyword("to")
    upper = _parse_bound(parser)
    parser.parse_keyword("step")
    return variable, lower, upper, parser.parse_integer(allow_boolean=False)


def _parse_carried(parser: Parser) -> tuple[Parser.UnresolvedArgument, SSAValue]:
    """Parse `%argument = %init : type`; return the argument, and `init` resolved."""
    argument = parser.parse_argument(expect_type=False)
    parser.parse_punctuation("=")
    value = parser.parse_unresolved_operand()
    parser.parse_punctuation(":")
    return argument, parser.resolve_operand(value, parser.parse_type())


def _print_index(printer: Printer, index: Index) -> None:
    """Print a loop bound: an integer literal, or the name of an SSA value."""
    if isinstance(index, int):
        printer.print_int(index)
    else:
        printer.print_ssa_value(index)


def _print_loop(
    printer: Printer, variable: BlockArgument, lower: Index, upper: Index, step: int
) -> None:
    """Print one loop of the nest as `%variable = lower to upper step n`."""
    printer.print_ssa_value(variable)
    printer.print_string(" = ")
    _print_index(printer, lower)
    printer.print_string(" to ")
    _print_index(printer, upper)
    printer.print_string(f" step {step}")


def _print_carried(printer: Printer, argument: BlockArgument, init: SSAValue) -> None:
    """Print a carried value as `%argument = %init : type`."""
    printer.print_ssa_value(argument)
    printer.print_string(" = ")
    printer.print_ssa_value(init)
    printer.print_string(" : ")
    printer.print_attribute(init.type)
