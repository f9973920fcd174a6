"""Small random networks on small chips, compiled with several search strategies."""

from __future__ import annotations

import random
from functools import cache

from optimality_chip import Chip, functions_of, small_chips
from optimality_graphs import small_network
from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp

from tlf.dialects.target import TargetSpec
from tlf.dialects.target.description import target_from_data


@cache
def chip(name: str) -> Chip:
    """Return a small chip by its name."""
    return Chip(small_chips()[name])


@cache
def grouped(seed: int, name: str) -> ModuleOp:
    """Return a random network, grouped for a chip."""
    return chip(name).group_module(small_network(seed))


def cycles(on: Chip, module: ModuleOp, options: str = "") -> int:
    """Return the simulated cycles of a grouped program after its groups are merged."""
    figures = on.simulate_cached(on.partition_module(module, options))
    assert figures is not None
    return figures.cycles


def modelled(on: Chip, module: ModuleOp, strategy: str) -> int:
    """Return the time of the schedule of a grouped program by the cost model."""
    return sum(each.schedule.time for each in on.search_partitions(module, strategy))


def with_engine(target: TargetSpec, name: str, **figures: int) -> TargetSpec:
    """Return a target with some numbers of one engine replaced."""
    engines = {each: dict(properties) for each, properties in target.engines.items()}
    engines[name] |= figures
    return target_from_data({**target.data, "engines": engines})


def reordered(module: ModuleOp, seed: int) -> ModuleOp:
    """Return a program with its operations in another legal order."""
    copy, generator = module.clone(), random.Random(seed)
    (function,) = functions_of(copy)
    block = function.body.block
    remaining = [op for op in block.ops if not isinstance(op, func.ReturnOp)]
    assert block.last_op is not None
    while remaining:
        ready = [
            op
            for op in remaining
            if not any(operand.owner in remaining for operand in op.operands)
        ]
        op = generator.choice(ready)
        remaining.remove(op)
        op.detach()
        block.insert_op_before(op, block.last_op)
    return copy
