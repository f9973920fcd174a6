"""Driver: parser that gives every operation its source location."""

from bisect import bisect_right
from functools import cached_property
from itertools import accumulate
from typing import NoReturn

from typing_extensions import TypeVar
from xdsl.context import Context
from xdsl.dialects.builtin import (
    FileLineColLoc,
    IntAttr,
    ModuleOp,
    NameLoc,
    NoneAttr,
    StringAttr,
    UnknownLoc,
)
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.parser import ParseError, UnresolvedOperand
from xdsl.utils.exceptions import DiagnosticException
from xdsl.utils.lexer import Position, Span
from xdsl.utils.mlir_lexer import MLIRTokenKind

from tlf.compiler.driver.dense_parser import DenseParser
from tlf.compiler.driver.parser_messages import (
    CLAUSE_EXPECTED,
    SYNTAX_EXPECTED,
    describe_unknown_operation,
    keyword_order_hint,
    reword_message,
    syntax_example_of,
)

AttributeT = TypeVar("AttributeT", bound=Attribute)


class LocatedParser(DenseParser):
    """
    xDSL's parser with these differences: operations without a `loc(...)` get their
    source location, every error has a position and states what was expected and what
    was found, and an empty input is an empty module.
    """

    def __init__(self, context: Context, text: str, name: str) -> None:
        super().__init__(context, text, name)
        self._file = StringAttr(name)
        self._integers: dict[int, IntAttr] = {}
        self._first_uses: dict[str, Span] = {}
        self._operation_start = self._current_token.span
        self._operation_type: type[Operation] | None = None

    def parse_module(self, allow_implicit_module: bool = True) -> ModuleOp:
        """
        Parse a module, located at its first token. With `allow_implicit_module`, empty
        text is an empty module.
        """
        start = self._current_token.span
        if allow_implicit_module and self._current_token.kind is MLIRTokenKind.EOF:
            module = ModuleOp([])
        else:
            module = self._parse_nonempty_module(allow_implicit_module)
        if isinstance(module.location, UnknownLoc):
            module.location = self._location_of_offset(start.start)
        return module

    def _parse_nonempty_module(self, allow_implicit_module: bool) -> ModuleOp:
        """Parse a module; report undefined values and exceptions as located errors."""
        try:
            return super().parse_module(allow_implicit_module)
        except ParseError:
            at_end = self._current_token.kind is MLIRTokenKind.EOF
            if not at_end or not self.forward_ssa_references:
                raise
        except RecursionError:
            self.raise_error("operations are nested too deeply")
        except Exception as error:
            self.raise_error(_describe_exception(error, self._operation_type))
        name = next(iter(self.forward_ssa_references))
        self.raise_error(f"%{name} is used but not defined", self._first_uses[name])

    def parse_operation(self) -> Operation:
        """Parse an operation, located at its first token if it states no location."""
        self._operation_start = span = self._current_token.span
        try:
            op = super().parse_operation()
        except (ParseError, RecursionError):
            raise
        except Exception as error:
            self.raise_error(_describe_exception(error, self._operation_type), span)
        match op.location:
            case UnknownLoc():
                op.location = self._location_of_offset(span.start)
            case NameLoc(location=NoneAttr() | UnknownLoc()):
                location = self._location_of_offset(span.start)
                op.location = NameLoc(op.location.desc, location)
            case _:
                pass
        return op

    def _get_op_by_name(self, name: str) -> type[Operation]:
        """
        Return the class of operation `name`, and store it for later error messages.
        """
        try:
            self._operation_type = super()._get_op_by_name(name)
        except ParseError:
            message = describe_unknown_operation(
                name, self._known_operations_of_dialect(name)
            )
            self.raise_error(message, self._operation_start)
        return self._operation_type

    def _known_operations_of_dialect(self, name: str) -> list[str]:
        """Return the operations of the dialect in the prefix of a name."""
        dialect = self.ctx.get_optional_dialect(name.partition(".")[0])
        return [] if dialect is None else [op.name for op in dialect.operations]

    def raise_error(
        self,
        msg: str,
        at_position: Span | Position | None = None,
        end_position: Position | None = None,
    ) -> NoReturn:
        """
        Raise a parse error with `msg` reworded by the text found and a syntax hint.
        """
        message = reword_message(msg, self._text_at_error(msg, at_position))
        message += self._syntax_hint(message)
        if end_position is not None:
            assert isinstance(at_position, Position)
            super().raise_error(message, at_position, end_position)
        super().raise_error(message, at_position)

    def _syntax_hint(self, message: str) -> str:
        """Return a hint on the syntax of the operation, if an error is about it."""
        kind, clauses = self._operation_type, ""
        is_keyword = self._current_token.kind is MLIRTokenKind.BARE_IDENT
        if is_keyword and CLAUSE_EXPECTED.match(message):
            clauses = keyword_order_hint(kind)
        if clauses or not SYNTAX_EXPECTED.match(message):
            return clauses
        return syntax_example_of(kind)

    def _text_at_error(
        self, message: str, at_position: Span | Position | None
    ) -> str | None:
        """
        Return the text at the location of an error, if the error is about that text.
        """
        token = self._current_token
        if at_position is None or at_position == token.span:
            at_end = token.kind is MLIRTokenKind.EOF
            return "the end of the file" if at_end else f"`{token.text}`"
        if isinstance(at_position, Span) and message.startswith("Expected `"):
            return f"`{at_position.text}`"
        return None

    def resolve_operand(
        self, operand: UnresolvedOperand, type: AttributeT
    ) -> SSAValue[AttributeT]:
        self._first_uses.setdefault(operand.operand_name, operand.span)
        return super().resolve_operand(operand, type)

    @cached_property
    def _line_starts(self) -> list[int]:
        text = self._parser_state.lexer.input.content
        lengths = (len(line) + 1 for line in text.split("\n"))
        return list(accumulate(lengths, initial=0))

    def _location_of_offset(self, offset: int) -> FileLineColLoc:
        """
        Return the line and column, both from 1, of a character `offset` in the file.
        """
        line = bisect_right(self._line_starts, offset)
        column = offset - self._line_starts[line - 1] + 1
        return FileLineColLoc(
            self._file,
            self._cached_integer_attr(line),
            self._cached_integer_attr(column),
        )

    def _cached_integer_attr(self, value: int) -> IntAttr:
        if (attribute := self._integers.get(value)) is None:
            attribute = self._integers[value] = IntAttr(value)
        return attribute


def _describe_exception(error: Exception, op_type: type[Operation] | None) -> str:
    """
    Return the message for an exception raised outside of the parser: constructors of
    attributes and operations verify their arguments without knowledge of the text.
    """
    if isinstance(error, DiagnosticException | ValueError):
        return str(error)
    subject = "an operation" if op_type is None else f"`{op_type.name}`"
    return (
        f"expected {subject} in a form that can be read, got one that its parser "
        "fails at "
        f"({type(error).__name__}: {error})"
    )
