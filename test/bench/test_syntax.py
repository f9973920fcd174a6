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
