"""
Splits of reductions over positions of extremes: partial results combine into those of
whole rows, if only the parts count that attain the extreme of all.
"""

from __future__ import annotations

import numpy as np
import pytest
from cascade_programs import run
from differential import parsed
from restart_programs import BODIES, ELEMENTS, inputs_of, program
from xdsl.dialects.builtin import ModuleOp

from tlf.dialects.interfaces import ConstantInterface, TilingInterface
from tlf.dialects.interpreters.interpret import interpret
from tlf.dialects.target import load_target_spec
from tlf.passes.graph.split_reductions.reduction_splitting import SplittableReductions


def split(text: str, parts: int) -> ModuleOp:
    """A program whose rows are reduced in parts."""
    context, module = parsed(text)
    load_target_spec("h200").attach_to_module(module)
    tiling = (op for op in module.walk() if isinstance(op, TilingInterface))
    operations = [op for op in tiling if not isinstance(op, ConstantInterface)]
    found = SplittableReductions.find_in_group(operations, operations)
    assert found is not None
    assert found.split_into_parts(parts)
    module.verify()
    run("canonicalize,tlf-cse,dce", context, module)
    return module


@pytest.mark.one_in(1 / 2)
@pytest.mark.parametrize("element", ELEMENTS)
@pytest.mark.parametrize("body", BODIES)
def test_a_thousand_inputs(body: str, element: str):
    rng = np.random.default_rng(len(body))
    for number in range(7):
        rows, parts, of_each = (int(n) for n in rng.integers([1, 2, 1], [20, 7, 12]))
        columns = parts * of_each
        text = program(body, rows, columns, element)
        whole, module = parsed(text)[1], split(text, parts)
        for seed in range(9):
            inputs = inputs_of(rows, columns, element, 9 * number + seed)
            (right,), (found,) = (interpret(each, inputs) for each in (whole, module))
            np.testing.assert_array_equal(found, right)
