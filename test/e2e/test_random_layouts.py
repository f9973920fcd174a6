"""Tensors between groups, arguments and results whose axes lie in any order."""

import numpy as np
import pytest
from differential import new_context
from kept_groups import lowered, plan_all, run_passes, ungrouped
from random_layouts import shuffle
from tiled_groups import arguments_of

from tlf.dialects.interpreters.interpret import interpret
from tlf.dialects.target import load_target_spec


@pytest.mark.one_in(1 / 2)
@pytest.mark.parametrize("seed", range(8))
def test_random_layouts(seed: int) -> None:
    rng = np.random.default_rng(seed)
    context, target = new_context(), load_target_spec("npu-tiny")
    module = ungrouped(context, rng)
    arguments = arguments_of(module, rng)
    expected = interpret(module, arguments)
    target.attach_to_module(module)
    run_passes(context, module, target, "graph-group{level=L2 max-operations=2}")
    plan_all(module, target, rng)
    assert shuffle(module, rng) > 1
    module.verify()
    for _ in lowered(context, module, target, arguments, expected):
        pass
