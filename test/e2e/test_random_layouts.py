"""Tensors between groups, arguments and results whose axes lie in any order."""

import numpy as np
import pytest
from differential import new_context
from kept_groups import lowered, plan_all, run_passes, ungrouped
from numpy.random import Generator
from tiled_groups import arguments_of
from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp

from tlf.dialects.interpreters.run import interpret
from tlf.dialects.target import load
from tlf.dialects.types import tensor_type
from tlf.passes.layouts.tensors import stored_tensors, update_signature


def shuffle(module: ModuleOp, rng: Generator) -> int:
    """Let the axes of all tensors lie in a random order. Returns how many there are."""
    count = 0
    for function in module.walk():
        if not isinstance(function, func.FuncOp):
            continue
        for tensor in list(stored_tensors(function)):
            rank = tensor_type(tensor.value).get_num_dims()
            tensor.store_in([int(axis) for axis in rng.permutation(rank)])
            count += 1
        update_signature(function)
    return count


@pytest.mark.parametrize("seed", range(8))
def test_random_layouts(seed: int) -> None:
    rng = np.random.default_rng(seed)
    context, target = new_context(), load("npu-tiny")
    module = ungrouped(context, rng)
    arguments = arguments_of(module, rng)
    expected = interpret(module, arguments)
    target.attach(module)
    run_passes(context, module, target, "graph-group{level=L2 operations=2}")
    plan_all(module, target, rng)
    assert shuffle(module, rng) > 1
    module.verify()
    for _ in lowered(context, module, target, arguments, expected):
        pass
