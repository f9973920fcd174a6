"""
Simpler forms of operations compute what the operations do: the same bits, or, where a
form says that it is not exact, the same but for rounding.
"""

from collections.abc import Iterator, Sequence
from itertools import product

import numpy as np
import pytest
from graph_instances import value
from simplified import compared
from xdsl.dialects.builtin import TensorType, bf16, f16, f32, i1, i32
from xdsl.ir import Attribute, Operation, SSAValue

from tlf.dialects import graph
from tlf.dialects.graph.algebraic_laws import (
    COMPOSITIONS,
    CONSTANT_OPERAND_LAWS,
    INVERSES,
    SAME_OPERAND_LAWS,
    ConstantOperandLaw,
    OperationType,
)
from tlf.dialects.graph.elementwise import BinaryOperation, ElementwiseOperation
from tlf.dialects.graph.rewrites.simplification import simplifications_of
from tlf.dialects.graph.tensor_types import FLOATS, INTEGERS, NUMBERS
from tlf.dialects.types import ELEMENT_TYPES, dtype_of, is_float, tensor_type

SHAPES = ((), (1,), (64,), (7, 1, 9), (1, 33))
"""Shapes of tensors: of rank 0, of one element, odd ones."""


def number(scalar: float, element: Attribute, shape: Sequence[int] = ()) -> SSAValue:
    """A tensor of one number."""
    return graph.ConstantOp.from_splat(scalar, TensorType(element, shape)).result


def verify(op: Operation, exact: bool | None = True, least: int = 1) -> None:
    """Compare an operation with its simpler forms, of which there are some."""
    op.verify()
    rng = np.random.default_rng(3)
    found = [each for _ in range(3) for each in compared(op, rng)]
    if exact is not None:
        found = [each for each in found if each.exact is exact]
    assert len(found) >= 3 * least
    for each in found:
        assert not each.exact or each.is_identical(), each
    for each in compared(op, rng, tame=True):
        assert each.is_close(), each


def elements_of(kind: OperationType) -> Sequence[Attribute]:
    assert issubclass(kind, ElementwiseOperation)
    return kind.ACCEPTED_ELEMENT_TYPES


@pytest.mark.one_in(2)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize(
    "law", CONSTANT_OPERAND_LAWS, ids=lambda law: law.operation_type.name
)
def test_laws_of_numbers(law: ConstantOperandLaw, shape: tuple[int, ...]):
    for element, spread in product(elements_of(law.operation_type), {(), shape}):
        if (known := law.constant(element)) is None:
            continue
        if law.operation_type is graph.PowOp and (spread or shape in ((), (1,))):
            continue  # numpy rounds powers worse where exponents are not broadcast
        operands = [value(shape, element)] * 2
        operands[law.constant_operand_index] = number(known, element, spread)
        verify(binary(law.operation_type, *operands), law.is_exact)


def binary(kind: OperationType, lhs: SSAValue, rhs: SSAValue) -> Operation:
    assert issubclass(kind, BinaryOperation)
    return kind(lhs, rhs)


@pytest.mark.parametrize(
    "law", SAME_OPERAND_LAWS, ids=lambda law: law.operation_type.name
)
def test_laws_of_equal_operands(law: ConstantOperandLaw):
    for element in elements_of(law.operation_type):
        if callable(law.result) and law.result(element) is None:
            continue
        x = value((5, 13), element)
        verify(binary(law.operation_type, x, x), law.is_exact)


@pytest.mark.parametrize("kinds", COMPOSITIONS, ids=lambda kinds: f"{kinds[0].name}")
def test_chains(kinds: tuple[OperationType, OperationType]):
    outer, inner = kinds
    for element in elements_of(outer):
        x = value((61,), element)
        first = inner.create(operands=[x], result_types=[x.type])
        verify(outer.create(operands=first.results, result_types=[x.type]))


@pytest.mark.parametrize("kind", INVERSES, ids=lambda kind: kind.name)
def test_inverses(kind: OperationType):
    x = value((61,), f32)
    first = INVERSES[kind].create(operands=[x], result_types=[x.type])
    verify(kind.create(operands=first.results, result_types=[x.type]), exact=False)


def is_in_range(source: Attribute, between: Attribute, wanted: Attribute) -> bool:
    """Return `True` if no float is cast to integers that may not hold it."""
    return not any(
        is_float(one) and two in INTEGERS
        for one, two in ((source, between), (between, wanted))
    )


@pytest.mark.parametrize("source", ELEMENT_TYPES, ids=str)
def test_casts_of_casts(source: Attribute):
    for between, wanted in product(ELEMENT_TYPES, ELEMENT_TYPES):
        if source == between:
            continue
        x = value((4096,), source)
        op = graph.CastOp(graph.CastOp(x, between), wanted)
        rng = np.random.default_rng(5)
        for each in compared(op, rng, tame=not is_in_range(source, between, wanted)):
            assert each.is_identical(), (between, wanted)


def test_casts_of_casts_that_round_stay():
    for types in ((f32, i32, f32), (i32, f32, i32), (f32, i1, f32)):
        op = graph.CastOp(graph.CastOp(value((4,), types[0]), types[1]), types[2])
        assert not list(op.simplifications())


@pytest.mark.parametrize("element", FLOATS, ids=str)
@pytest.mark.parametrize("divisor", [2.0, -4.0, 0.125, 256.0, 2.0**-10])
def test_quotients_by_powers_of_two(divisor: float, element: Attribute):
    for shape in SHAPES:
        verify(graph.DivOp(value(shape, element), number(divisor, element)))


@pytest.mark.parametrize("element", FLOATS, ids=str)
def test_other_quotients(element: Attribute):
    for divisor in (3.0, -0.7, 10.0):
        x = value((61,), element)
        verify(graph.DivOp(x, number(divisor, element)), exact=False)


@pytest.mark.parametrize("element", FLOATS, ids=str)
def test_quotients_by_what_has_no_reciprocal(element: Attribute):
    for divisor in (0.0, -0.0, np.inf, np.nan):
        op = graph.DivOp(value((4,), element), number(divisor, element))
        assert not list(op.simplifications())


@pytest.mark.parametrize("element", FLOATS, ids=str)
def test_powers(element: Attribute):
    for exponent, exact in ((2.0, True), (-1.0, True), (3.0, False), (4.0, False)):
        x = value((5, 61), element)
        verify(graph.PowOp(x, number(exponent, element)), exact)
    for exponent in (0.5, -0.5, -2.0):
        x = value((5, 61), element)
        verify(graph.PowOp(x, number(exponent, element)), exact=False)


@pytest.mark.parametrize("element", NUMBERS, ids=str)
def test_sums_of_what_was_negated(element: Attribute):
    x, y = value((5, 13), element), value((13,), element)
    for kind, operands in (
        (graph.AddOp, (x, graph.NegOp(y).result)),
        (graph.AddOp, (graph.NegOp(y).result, x)),
        (graph.SubOp, (x, graph.NegOp(y).result)),
    ):
        verify(kind(*operands))


@pytest.mark.parametrize("kind", [graph.AddOp, graph.MulOp, graph.AndOp, graph.OrOp])
def test_numbers_first(kind: type[BinaryOperation]):
    for element in elements_of(kind):
        one, two = (2, 3) if element != i1 else (1, 1)
        x, c, d = value((61,), element), number(one, element), number(two, element)
        for inner in (kind(x, c), kind(c, x)):
            outer = kind(inner, d)
            verify(outer, exact=not is_float(element))


@pytest.mark.parametrize("element", FLOATS, ids=str)
def test_quotients_by_roots(element: Attribute):
    root = graph.SqrtOp(value((61,), element))
    verify(graph.DivOp(number(1, element), root), exact=False)
    verify(graph.DivOp(value((3, 61), element), root), exact=False)


@pytest.mark.parametrize("element", ELEMENT_TYPES, ids=str)
def test_choices(element: Attribute):
    c, x, y = value((9, 1), i1), value((9, 7), element), value((9, 7), element)
    verify(graph.SelectOp(c, x, x))
    verify(graph.SelectOp(number(1, i1), x, y))
    verify(graph.SelectOp(number(0, i1, (9, 7)), x, y))
    verify(graph.SelectOp(graph.NotOp(c), x, y))


def test_choices_of_conditions():
    condition = value((9, 7), i1)
    for one, two in ((1, 0), (0, 1)):
        verify(graph.SelectOp(condition, number(one, i1), number(two, i1, (7,))))


@pytest.mark.parametrize("relation", graph.Relation)
def test_comparisons(relation: graph.Relation):
    for element in NUMBERS:
        x, y = value((9, 7), element), value((9, 7), element)
        same = graph.CompareOp(x, x, relation)
        is_known = not is_float(element) or relation in ("lt", "gt")
        assert bool(list(same.simplifications())) is is_known
        negated = graph.NotOp(graph.CompareOp(x, y, relation))
        is_turned = not is_float(element) or relation in ("eq", "ne")
        assert bool(list(negated.simplifications())) is is_turned
        for op in (same, negated):
            verify(op, least=0)


@pytest.mark.parametrize("element", NUMBERS, ids=str)
def test_broadcast_operands(element: Attribute):
    x, row, column = (value(s, element) for s in ((5, 7), (7,), (5, 1)))
    spread = graph.BroadcastOp(row, (5, 7))
    verify(graph.AddOp(x, spread))
    verify(graph.SubOp(graph.BroadcastOp(column, (5, 7)), spread))
    verify(graph.MulOp(graph.ReshapeOp(row, (1, 7)), x))
    assert not list(graph.NegOp(spread).simplifications())
    assert not list(graph.AddOp(spread, row).simplifications())


def reductions(element: Attribute) -> Iterator[Operation]:
    axes: list[tuple[int, ...]] = [(1,), (1, 3), (3, 1), ()]
    for kind, which, kept in product(graph.ReduceKind, axes, (False, True)):
        yield graph.ReduceOp(value((3, 1, 17, 1), element), kind, which, kept)
    if is_float(element):
        yield graph.MeanOp(value((3, 1, 17), element), (1,))


@pytest.mark.parametrize("element", NUMBERS, ids=str)
def test_reductions_of_single_elements(element: Attribute):
    for op in reductions(element):
        verify(op)


def test_reductions_that_are_wider():
    for kind in graph.ReduceKind:
        x = value((3, 1), FLOATS[-1])
        verify(graph.ReduceOp(x, kind, (1,), acc=f32, element=f32))


def test_reductions_that_combine_stay():
    x, init = value((3, 1)), value((3,))
    assert not list(graph.ReduceOp(x, "sum", (1,), init=init).simplifications())
    assert not list(graph.ReduceOp(value((3, 2)), "sum", (1,)).simplifications())


POOLS = [
    graph.MaxPool2dOp(value((2, 3, 11, 12)), (5, 5), padding=(2, 2, 2, 2)),
    graph.MaxPool2dOp(value((1, 2, 9, 8)), (4, 5), (1, 1), (3, 0, 3, 2)),
    graph.MaxPool2dOp(value((1, 2, 21, 16)), (7, 5), (1, 2), (0, 4, 1, 0), (2, 3)),
    graph.MaxPool3dOp(value((1, 2, 5, 7, 8)), (3, 5, 5), padding=(1, 2, 2, 1, 2, 2)),
]


@pytest.mark.parametrize("element", NUMBERS, ids=str)
@pytest.mark.parametrize("pool", POOLS, ids=range(len(POOLS)))
def test_large_windows_go_along_one_axis_after_the_other(
    pool: graph.MaxPool2dOp | graph.MaxPool3dOp, element: Attribute
):
    x = value(tensor_type(pool.operand).get_shape(), element)
    window = pool.window
    sizes = window.taps, window.strides, window.padding, window.dilation
    op = type(pool)(x, *sizes)
    assert list(op.simplifications())
    verify(op)


def test_windows_that_hardly_overlap_stay():
    x = value((1, 2, 12, 12))
    for kernel, strides in (((3, 3), (1, 1)), ((3, 3), (2, 2)), ((5, 1), (1, 1))):
        assert not list(graph.MaxPool2dOp(x, kernel, strides).simplifications())
    assert list(graph.MaxPool2dOp(x, (5, 5)).simplifications())
    assert not list(graph.MaxPool2dOp(x, (5, 5), (4, 4)).simplifications())
    init = value((1, 2, 8, 8))
    assert not list(graph.MaxPool2dOp(x, (5, 5), init=init).simplifications())


def test_what_changes_special_numbers_is_not_exact():
    x = value((64,), f32)
    for op in (
        graph.AddOp(x, number(0.0, f32)),
        graph.SubOp(x, number(-0.0, f32)),
        graph.MulOp(x, number(0.0, f32)),
        graph.SubOp(x, x),
        graph.DivOp(x, x),
    ):
        found = compared(op, np.random.default_rng(0))
        assert found
        assert not any(each.exact or each.is_identical() for each in found)


@pytest.mark.parametrize("element", [bf16, f16])
@pytest.mark.parametrize("divisor", [3.0, 128**0.5, 0.1, -7.0, 3e-5])
def test_divisions_that_are_rounded_to_16_bits(element: Attribute, divisor: float):
    """The product is exact if it is for all dividends; a second result prevents it."""
    source = value((2**16,), element)
    wide = graph.CastOp(source, f32).result
    op = graph.DivOp(wide, number(divisor, f32))
    rounded = graph.CastOp(op.result, element)
    (found,) = simplifications_of(op)
    dtype = dtype_of(element)
    values = np.arange(2**16, dtype=np.uint16).view(dtype)
    with np.errstate(all="ignore"):
        wanted = (values.astype(np.float32) / np.float32(divisor)).astype(dtype)
        product = values.astype(np.float32) * np.float32(1 / float(np.float32(divisor)))
        same = np.array_equal(product.astype(dtype), wanted, equal_nan=True)
    assert found.is_exact == same
    graph.NegOp(op.result)
    assert not any(each.is_exact for each in simplifications_of(op))
    assert rounded.operands[0] is op.result
