"""Masks that are computed from positions alone, and keys of their positions."""

from __future__ import annotations

import pytest
from differential import parsed
from masked_programs import MASKS, MaskedProgram, parse_group
from xdsl.ir import SSAValue

from tlf.analysis.tiling.position_masks import (
    is_position_mask,
    key_of_positions,
    mask_filter_for,
)
from tlf.dialects import graph
from tlf.dialects.target import load_target_spec


def condition_of(text: str) -> SSAValue:
    """Return the condition of the first select of a program."""
    _, module = parsed(text)
    return next(op.condition for op in module.walk() if isinstance(op, graph.SelectOp))


@pytest.mark.parametrize("mask", MASKS)
def test_masks_of_positions(mask: str):
    assert is_position_mask(condition_of(MaskedProgram(mask, 8, 8).text()))


def test_added_masks_of_positions():
    text = MaskedProgram("causal", 8, 8, is_added=True).text()
    selected = condition_of(text).uses
    (use,) = selected
    assert is_position_mask(use.operation.results[0])


@pytest.mark.parametrize(
    "change",
    [
        ("%m = graph.compare %at, %j <ge>", "%m = graph.compare %lengths, %j <ge>"),
        ("graph.select %m,", "graph.select %given,"),
    ],
)
def test_masks_of_other_values(change: tuple[str, str]):
    text = MaskedProgram("causal", 8, 8).text().replace(*change)
    arguments = "%given: tensor<8x8xi1>, %lengths: tensor<8x1xi32>, %q:"
    assert not is_position_mask(condition_of(text.replace("%q:", arguments)))


@pytest.mark.parametrize(("name", "is_kept"), [("h200", True), ("npu", False)])
def test_targets_whose_loops_have_any_bounds(name: str, is_kept: bool):
    condition = condition_of(MaskedProgram("causal", 8, 8).text())
    assert mask_filter_for(load_target_spec(name))(condition) == is_kept
    assert not mask_filter_for(None)(condition)


def test_keys_differ_where_positions_do():
    programs = [MaskedProgram("causal", 8, 8, ahead=ahead) for ahead in (0, 0, 1)]
    keys = [
        key_of_positions(parse_group(each.text())[2].operations) for each in programs
    ]
    assert keys[0] == keys[1]
    assert keys[0] != keys[2]
