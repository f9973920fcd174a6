"""Small random networks on small chips, compiled with several searches."""

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
    """A small chip by its name."""
    return Chip(small_chips()[name])


@cache
def grouped(seed: int, name: str) -> ModuleOp:
    """A random network in groups, as a chip has them."""
    return chip(name).group_module(small_network(seed))


def cycles(on: Chip, module: ModuleOp, options: str = "") -> int:
    """The simulated cycles of a grouped program once its groups were merged."""
    figures = on.simulate_cached(on.partition_module(module, options))
    assert figures is not None
    return figures.cycles


def modelled(on: Chip, module: ModuleOp, strategy: str) -> int:
    """Return the time of the schedule of a grouped program by the cost model."""
    return sum(each.schedule.time for each in on.search_partitions(module, strategy))


def with_engine(target: TargetSpec, name: str, **figures: int) -> TargetSpec:
    """A target with other figures of one engine."""
    engines = {each: dict(known) for each, known in target.engines.items()}
    engines[name] |= figures
    return target_from_data({**target.data, "engines": engines})


def reordered(module: ModuleOp, seed: int) -> ModuleOp:
    """A program with its operations in another order in which they can run."""
    made, generator = module.clone(), random.Random(seed)
    (function,) = functions_of(made)
    block = function.body.block
    left = [op for op in block.ops if not isinstance(op, func.ReturnOp)]
    assert block.last_op is not None
    while left:
        ready = [
            op
            for op in left
            if not any(operand.owner in left for operand in op.operands)
        ]
        op = generator.choice(ready)
        left.remove(op)
        op.detach()
        block.insert_op_before(op, block.last_op)
    return made
