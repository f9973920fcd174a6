"""Index values as affine sums."""

import pytest
from xdsl.dialects import arith
from xdsl.dialects.affine import ApplyOp
from xdsl.dialects.builtin import AffineMapAttr, IndexType
from xdsl.ir import Block, SSAValue
from xdsl.ir.affine import AffineMap

from tlf.dialects.affine_values import affine_sum_of, affine_sum_over
from tlf.support.affine.index_access import AffineSum


@pytest.fixture
def variables() -> tuple[SSAValue, ...]:
    return Block(arg_types=[IndexType(), IndexType()]).args


def constant_of(number: int) -> SSAValue:
    return arith.ConstantOp.from_int_and_width(number, IndexType()).result


def test_nested_operations_become_one_sum(variables: tuple[SSAValue, ...]):
    i, j = variables
    scaled = arith.MuliOp(constant_of(4), i).result
    map_ = AffineMap.from_callable(lambda a, b: (a - b + 3,))
    total = ApplyOp([scaled, j], AffineMapAttr(map_)).result

    assert affine_sum_of(total) == AffineSum(3, ((i, 4), (j, -1)))


def test_exact_quotients_are_affine(variables: tuple[SSAValue, ...]):
    i, _ = variables
    scaled = arith.AddiOp(arith.MuliOp(i, constant_of(4)), constant_of(-3)).result
    halved = arith.FloorDivSIOp(scaled, constant_of(2)).result

    assert affine_sum_of(halved) == AffineSum(-2, ((i, 2),))


def test_other_values_are_symbols(variables: tuple[SSAValue, ...]):
    i, j = variables
    product = arith.MuliOp(i, j).result
    third = arith.FloorDivSIOp(i, constant_of(3)).result

    assert affine_sum_of(product) == AffineSum.of_symbol(product)
    assert affine_sum_of(third) == AffineSum.of_symbol(third)


def test_sum_over_one_variable(variables: tuple[SSAValue, ...]):
    i, j = variables

    def rule(value: SSAValue) -> AffineSum | None:
        return AffineSum(1, (("n", 2),)) if value is i else None

    doubled = arith.AddiOp(i, i).result
    assert affine_sum_over(doubled, rule) == AffineSum(2, (("n", 4),))
    assert affine_sum_over(arith.AddiOp(i, j).result, rule) is None


def test_sum_modulo():
    total = AffineSum(-1, (("i", 6), ("j", 4)))

    assert total.modulo(4) == AffineSum(3, (("i", 2),))
