"""Fused nests against an oracle that looks at every element of every iteration."""

import random
from collections import Counter

import numpy as np
import pytest
from differential import parsed
from nest_pairs import Kind, NestPair, Sharing, random_pair
from xdsl.dialects.builtin import ModuleOp

from tlf.analysis.affine_loops import fusion_legality
from tlf.dialects import tile
from tlf.dialects.entry_point import find_entry_point
from tlf.dialects.graph import remarks_of
from tlf.dialects.interfaces import Array
from tlf.dialects.interpreters.interpret import interpret
from tlf.passes.tile.tile_fuse_loops import TileFuseLoopsPass

NOT_FORWARDED = (fusion_legality.NO_COMMON_TILE, fusion_legality.READS_OTHER_BOX)
"""Reasons why parallel nests stay apart where no dependence prevents their fusion."""

KINDS: tuple[Kind, ...] = ("parallel", "sequential")
SHARED: tuple[Sharing, ...] = ("RAW", "WAR", "WAW", "RAR")
SEEDS = 40


def inputs(pair: NestPair, seed: int) -> dict[str, Array]:
    """Numbers for the arguments."""
    generator = np.random.default_rng(seed)
    return {
        name: generator.uniform(-1, 1, pair.shape).astype(np.float32) for name in "xd"
    }


def nests(module: ModuleOp) -> int:
    """Return the number of nests."""
    return sum(isinstance(op, tile.WhileOp) for op in module.walk())


def missed(module: ModuleOp) -> str:
    """Return why nests stay apart."""
    remarks = remarks_of(find_entry_point(module))
    return "; ".join(each.text.data for each in remarks if each.kind.data == "missed")


@pytest.mark.one_in(2)
@pytest.mark.parametrize("sharing", SHARED)
@pytest.mark.parametrize("kind", KINDS)
def test_agrees_with_the_oracle(kind: Kind, sharing: Sharing):
    seen = Counter[str]()
    for seed in range(SEEDS):
        pair = random_pair(random.Random(f"{kind} {sharing} {seed}"), kind, sharing)
        context, module = parsed(pair.text())
        given = inputs(pair, seed)
        expected = interpret(module, given)

        TileFuseLoopsPass().apply(context, module)

        module.verify()
        reason, fused = missed(module), nests(module) == 1
        if pair.preventing():
            assert not fused
            assert f"({sharing}) at a distance of" in reason, pair.text()
        elif not fused:
            assert kind == "parallel", pair.text()
            assert reason.endswith(NOT_FORWARDED), pair.text()
        seen["apart" if pair.preventing() else "fused" if fused else "views"] += 1
        for found, wanted in zip(interpret(module, given), expected, strict=True):
            assert np.array_equal(found, wanted, equal_nan=True), pair.text()
    assert seen["fused"] > 5
    assert sharing == "RAR" or seen["apart"] > 1
