"""Former names of passes."""

from __future__ import annotations

from pathlib import Path

import pytest

from tlf.compiler.driver.driver import PASSES
from tlf.compiler.driver.pipeline import PipelineError, build_passes
from tlf.compiler.driver.renamed import PASSES as RENAMED

CHANGELOG = Path(__file__).parents[3] / "CHANGELOG.md"


@pytest.mark.parametrize("name", RENAMED)
def test_former_names_say_the_new_ones(name: str):
    assert name not in PASSES
    assert RENAMED[name] in PASSES
    with pytest.raises(PipelineError, match=f"renamed to `{RENAMED[name]}`"):
        build_passes(f"{name}{{level=L1}}", PASSES, {})


def test_the_changelog_lists_them():
    text = CHANGELOG.read_text(encoding="utf-8")
    rows = [f"| `{old}` | `{new}` |" for old, new in RENAMED.items()]
    assert [row for row in rows if row not in text] == []
