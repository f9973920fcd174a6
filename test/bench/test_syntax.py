"""The pages of operations are those of their docstrings."""

import re
from pathlib import Path

import pytest
import syntax

DOCS = Path(__file__).parents[2] / "docs"


def test_pages_are_what_the_command_writes(tmp_path: Path):
    syntax.main([str(tmp_path)])

    for page in tmp_path.iterdir():
        assert (DOCS / page.name).read_text(encoding="utf-8") == page.read_text(
            encoding="utf-8"
        ), "run `python bench/syntax.py docs`"


@pytest.mark.parametrize("name", syntax.DIALECTS)
def test_every_operation_has_an_example(name: str):
    dialect = syntax.TLF_UNIVERSE.all_dialects[name]()
    texts = {op.name: syntax.text_of(op) for op in dialect.operations}

    assert texts
    for op, text in texts.items():
        assert re.search(rf"```mlir\n(.*\n)*.*{re.escape(op)}\b", text), op


def test_clauses_are_in_order_with_what_stands_for_them():
    graph = syntax.TLF_UNIVERSE.all_dialects["graph"]()
    ops = {op.name: op for op in graph.operations}

    assert syntax.syntax_of(ops["graph.reduce"]) == (
        "Syntax: `graph.reduce $operand $kind (init $init)? axes $axes (keepdims)? "
        "(acc $acc)? : (types) -> type`"
    )
    assert syntax.defaults_of(ops["graph.avg_pool2d"]) == (
        "Unless given: `strides [1, 1]`, `padding [0, 0, 0, 0]`, `dilation [1, 1]`."
    )
    assert syntax.syntax_of(ops["graph.add"]) == ""
    assert syntax.defaults_of(ops["graph.add"]) == ""
