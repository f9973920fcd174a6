"""The documentation in the code: every operation ends its docstring in an example."""

import inspect
import re
import textwrap

import pytest
from xdsl.ir import Operation
from xdsl.utils.mlir_lexer import MLIRTokenKind

from tlf.compiler.driver.driver import new_context
from tlf.compiler.driver.located_parser import LocatedParser
from tlf.compiler.driver.universe import TLF_UNIVERSE

EXAMPLE = re.compile(r"^```mlir\n(.*?)^```\s*\Z", re.MULTILINE | re.DOTALL)

OPERATIONS = [
    op for factory in TLF_UNIVERSE.all_dialects.values() for op in factory().operations
]


class ExampleParser(LocatedParser):
    """
    Reads operations whose operands need not be defined.
    """

    def parse_all(self) -> list[Operation]:
        ops: list[Operation] = []
        while self._current_token.kind is not MLIRTokenKind.EOF:
            ops.append(self.parse_operation())
        return ops


@pytest.mark.parametrize("op", OPERATIONS, ids=lambda op: op.name)
def test_operation_has_an_example_that_parses(op: type[Operation]):
    docstring = textwrap.dedent(inspect.getdoc(op) or "")
    example = EXAMPLE.search(docstring)

    assert example is not None, "expected the docstring to end in a `mlir` block"
    parsed = ExampleParser(new_context(), example[1], op.name).parse_all()
    assert any(isinstance(inner, op) for each in parsed for inner in each.walk())
