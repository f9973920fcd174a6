"""Known remainders of indices."""

from collections.abc import Sequence
from random import Random

import pytest
from xdsl.dialects import affine, arith, scf
from xdsl.dialects.builtin import AffineMapAttr, IndexType, IntegerAttr
from xdsl.ir import Block, SSAValue
from xdsl.ir.affine import AffineExpr, AffineMap

from tlf.analysis.buffers.index_congruence import congruence_of
from tlf.analysis.buffers.index_enumeration import enumerate_index_values


def _constant(number: int) -> SSAValue:
    return arith.ConstantOp(IntegerAttr(number, IndexType())).result


def _counter(counts: range) -> SSAValue:
    """The counter of a loop."""
    body = Block(arg_types=[IndexType()])
    first, end, step = map(_constant, (counts.start, counts.stop, counts.step))
    scf.ForOp(first, end, step, [], body)
    return body.args[0]


def _computed(random: Random, operands: Sequence[SSAValue]) -> SSAValue:
    """Some operation on some of what there is."""
    left, right = random.choice(operands), random.choice(operands)
    number = random.randint(1, 12)
    plain = AffineExpr.dimension(0)
    match random.randrange(6):
        case 0:
            return arith.AddiOp(left, right).result
        case 1:
            return arith.SubiOp(left, right).result
        case 2:
            return arith.MuliOp(left, _constant(number)).result
        case 3:
            expression = plain * number + AffineExpr.dimension(1)
            map_ = AffineMap(2, 0, (expression,))
            return affine.ApplyOp([left, right], AffineMapAttr(map_)).result
        case 4:
            map_ = AffineMap(1, 0, (plain // number * 6,))
            return affine.ApplyOp([left], AffineMapAttr(map_)).result
        case _:
            map_ = AffineMap(1, 0, (plain % number,))
            return affine.ApplyOp([left], AffineMapAttr(map_)).result


@pytest.mark.one_in(1 / 2)
@pytest.mark.parametrize("seed", range(200))
def test_every_value_has_the_remainder(seed: int):
    random = Random(seed)
    first, trips, step = (random.randint(*each) for each in ((0, 9), (1, 12), (1, 8)))
    counts = range(first, first + trips * step, step)
    counter = _counter(counts)
    values = [counter, _constant(random.randint(0, 9))]
    for _ in range(4):
        values.append(_computed(random, values))
    for value in values:
        modulus, rest = congruence_of(value)
        found = enumerate_index_values(value, counter, counts)
        assert found is not None
        assert all(
            each == rest if not modulus else each % modulus == rest for each in found
        )


@pytest.mark.parametrize(("step", "offset"), [(1, 0), (4, 3), (6, 3), (6, 8)])
def test_the_counter_of_a_loop_keeps_its_step(step: int, offset: int):
    counter = _counter(range(offset, offset + 5 * step, step))
    assert congruence_of(counter) == (step, offset % step)


def test_nothing_is_known_of_an_argument():
    block = Block(arg_types=[IndexType()])
    assert congruence_of(block.args[0]) == (1, 0)
    assert congruence_of(7) == (0, 7)
