"""Groups of several tiles that keep results in L2, and read what is kept there."""

import numpy as np
import pytest
from differential import new_context, run_lowered
from kept_groups import plan_all, run_passes, ungrouped
from tiled_groups import arguments_of

from tlf.dialects.interpreters.run import interpret
from tlf.dialects.target import load

TILES = (
    "graph-mark-in-place,convert-graph-to-tile,graph-decompose,tidy,"
    "graph-group{level=L1},graph-choose-tiles{level=L1},dce,convert-graph-to-tile,tidy"
)
BUFFERS = "convert-tile-to-mem,tidy,mem-fold-fills,mem-pipeline,mem-split-maps"
INSTRUCTIONS = "mem-plan,convert-mem-to-npu,tidy"


@pytest.mark.parametrize("seed", range(16))
def test_kept_tiles(seed: int) -> None:
    rng = np.random.default_rng(seed)
    context, target = new_context(), load("npu-tiny")
    module = ungrouped(context, rng)
    arguments = arguments_of(module, rng)
    expected = interpret(module, arguments)
    target.attach(module)
    run_passes(context, module, target, "graph-group{level=L2 operations=2}")
    plan_all(module, target, rng)
    module.verify()
    for passes in (TILES, BUFFERS, INSTRUCTIONS):
        run_passes(context, module, target, passes)
        assert " is copied" not in str(module)
        if passes == INSTRUCTIONS:
            results = run_lowered(context, module, target, arguments)
        else:
            results = tuple(interpret(module, arguments))
        for found, wanted in zip(results, expected, strict=True):
            bound = 2e-2 * np.abs(wanted.astype(float)).max()
            np.testing.assert_allclose(
                found.astype(float), wanted.astype(float), 0, bound
            )
