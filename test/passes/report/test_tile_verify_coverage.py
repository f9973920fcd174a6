"""Proofs of coverage against counting."""

import random
from collections import Counter

import numpy as np
import pytest
from differential import parsed
from stitched import random_stitched
from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp
from xdsl.utils.exceptions import InterpretationError

from tlf.compiler.driver.driver import new_context
from tlf.dialects.interpreters.interpret import interpret
from tlf.passes.report.tile_verify_coverage import (
    ATTRIBUTE,
    CoverageError,
    TileVerifyCoveragePass,
)


def certified(module: ModuleOp) -> bool:
    """Return `True` if all functions of a module are proven."""
    TileVerifyCoveragePass().apply(new_context(), module)
    functions = [op for op in module.walk() if isinstance(op, func.FuncOp)]
    return all(ATTRIBUTE in op.attributes for op in functions)


@pytest.mark.one_in(1 / 2)
@pytest.mark.parametrize("part", range(4))
def test_agrees_with_counting(part: int):
    seen = Counter[str]()
    for seed in range(100 * part, 100 * part + 100):
        program = random_stitched(random.Random(seed))
        _, module = parsed(program.text())
        x, is_whole = np.zeros(program.shape, np.float32), False
        if program.collides():
            with pytest.raises(InterpretationError, match="disjoint elements"):
                interpret(module, {"x": x})
        else:
            (result,) = interpret(module, {"x": x})
            is_whole = not np.isnan(result).any()
        right = not program.collides() and not program.leaves_out()
        try:
            proven = certified(module)
        except CoverageError as error:
            proven = False
            reason = "collision" if "disjoint" in str(error) else "gap"
            seen[reason] += 1
            if reason == "collision":
                assert program.collides(), program.text()
            else:
                assert not is_whole, program.text()
        assert proven == right, program.text()
        assert not proven or is_whole
        seen["proven"] += proven
    assert min(seen[each] for each in ("proven", "collision", "gap")) > 1, seen
