"""Former names of passes, their options and keys of plans."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path

import pytest
from differential import parsed
from xdsl.utils.exceptions import ParseError

from tlf.compiler.driver.driver import PASSES
from tlf.compiler.driver.pipeline import PipelineError, build_passes
from tlf.support.former_names import OPTIONS, PLAN_KEYS
from tlf.support.former_names import PASSES as RENAMED

CHANGELOG = Path(__file__).parents[3] / "CHANGELOG.md"


@pytest.mark.parametrize("name", RENAMED)
def test_former_names_say_the_new_ones(name: str):
    assert name not in PASSES
    assert RENAMED[name] in PASSES
    with pytest.raises(PipelineError, match=f"renamed to `{RENAMED[name]}`"):
        build_passes(f"{name}{{level=L1}}", PASSES, {})


@pytest.mark.parametrize(
    ("name", "old", "new"),
    [(name, *pair) for name, options in OPTIONS.items() for pair in options.items()],
)
def test_former_options_say_the_new_ones(name: str, old: str, new: str):
    options = {field.name.replace("_", "-") for field in fields(PASSES[name]())}
    assert new in options
    assert old not in options
    with pytest.raises(PipelineError, match=f"`{old}` was renamed to `{new}`"):
        build_passes(f"{name}{{{old}=1}}", PASSES, {})


@pytest.mark.parametrize(("old", "new"), PLAN_KEYS.items())
def test_former_keys_of_plans_say_the_new_ones(old: str, new: str):
    text = f'"test.op"() {{plan = #graph.plan<L2, tile [2], {old} [0]>}} : () -> ()'
    with pytest.raises(ParseError, match=f"{old} was renamed to {new}"):
        parsed(text)


def test_the_changelog_lists_them():
    text = CHANGELOG.read_text(encoding="utf-8")
    rows = [f"| `{old}` | `{new}` |" for old, new in RENAMED.items()]
    rows += [f"| `{old}` | `{new}` |" for old, new in PLAN_KEYS.items()]
    rows += [
        f"| `{old}` of `{name}` | `{new}` |"
        for name, options in OPTIONS.items()
        for old, new in options.items()
    ]
    assert [row for row in rows if row not in text] == []
