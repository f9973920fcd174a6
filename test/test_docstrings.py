"""The documentation in the code."""

import ast
import inspect
import re
import textwrap
from collections.abc import Iterator

import pytest
from python_sources import sources
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


QUESTION = re.compile(r"(what|which|whether|how|why|when|where|who|whose)\b", re.I)
"""Words that docstrings do not open with: they name a concept, or say what is done."""


def docstrings(tree: ast.Module) -> Iterator[str]:
    """Yield the docstrings of a module, its classes, functions and attributes."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            if isinstance(text := node.value.value, str):
                yield text.strip()


def questions(source: str) -> list[str]:
    """Return the first lines of the docstrings that open with a question word."""
    texts = docstrings(ast.parse(source))
    return [text.split("\n")[0] for text in texts if QUESTION.match(text)]


def test_docstrings_name_concepts():
    files = sources()
    found = {file: questions(file.read_text(encoding="utf-8")) for file in files}
    assert len(files) > 1000
    assert {file: texts for file, texts in found.items() if texts} == {}


def test_question_words_are_found():
    source = '''
class A:
    """Whether it is."""

    b: int
    """
    How many there are.
    """

    def f(self):
        """Return what there is."""
'''
    assert questions(source) == ["Whether it is.", "How many there are."]
