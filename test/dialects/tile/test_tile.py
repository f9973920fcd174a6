"""Operations of the tile dialect: how they are built, and what they compute."""

from collections.abc import Sequence

import numpy as np
import pytest
from xdsl.dialects import test
from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    FloatAttr,
    IndexType,
    ModuleOp,
    TensorType,
    f32,
    i1,
    i32,
)
from xdsl.ir import Attribute, Block, SSAValue
from xdsl.parser import Parser
from xdsl.utils.exceptions import VerifyException

from tlf.compiler.driver.driver import new_context
from tlf.dialects import tile
from tlf.dialects.interfaces import Array
from tlf.dialects.interpreters.interpret import interpret

L1 = tile.EncodingAttr("L1")
TILE = TensorType(f32, [3, 4], L1)


def values(*types: Attribute) -> Sequence[SSAValue]:
    """Values from nowhere."""
    return test.TestOp(result_types=types).results


def parsed(program: str) -> ModuleOp:
    """The module of a text."""
    module = Parser(new_context(), program).parse_module()
    module.verify()
    return module


def run(program: str, **inputs: Array) -> tuple[Array, ...]:
    """Return the results of the only function of a program."""
    return interpret(parsed(program), inputs)


def at(i: int, j: int, **arrays: Array) -> dict[str, Array]:
    """The arguments of a program with two offsets."""
    return {**arrays, "i": np.array(i), "j": np.array(j)}


def test_offsets_are_numbers_and_values():
    source, i, j = values(TensorType(f32, [9, 9, 9]), IndexType(), IndexType())
    made = tile.SliceOp(source, [i, -2, j], TensorType(f32, [1, 2, 3], L1), fill=0)
    made.verify()
    assert made.mixed_offsets == (i, -2, j)
    assert tuple(made.offsets) == (i, j)
    assert made.static_offsets.get_values() == (DYNAMIC_INDEX, -2, DYNAMIC_INDEX)
    assert made.fill == FloatAttr(0.0, f32)


@pytest.mark.parametrize("valid", [None, [2, 4]])
def test_extents_are_all_of_a_tile_unless_given(valid: list[int] | None):
    source, cut = values(TensorType(f32, [9, 9]), TILE)
    extents = (3, 4) if valid is None else (2, 4)
    assert tile.SliceOp(source, [0, 0], TILE, valid=valid).valid_box_extents == extents
    assert tile.DesliceOp(cut, source, [0, 0], valid).valid_box_extents == extents
    assert tile.MaskOp(cut, [0, 0], [9, 9], 0, valid).valid_box_extents == extents


def test_results_have_the_type_of_what_they_continue():
    source, cut, row = values(
        TensorType(f32, [9, 9]), TILE, TensorType(f32, [1, 4], L1)
    )
    assert tile.DesliceOp(cut, source, [0, 0]).result.type == source.type
    assert tile.MaskOp(cut, [0, 0], [9, 9], 0).result.type == TILE
    assert tile.RollOp(cut, row, 0).result.type == TILE


def test_a_loop_knows_its_parts():
    init, upper = values(TILE, IndexType())
    body = Block(arg_types=[IndexType(), IndexType(), TILE])
    body.add_op(tile.YieldOp(body.args[2]))
    kind, mapping = tile.LoopKind.PARALLEL, tile.Mapping.CORE
    nest = tile.WhileOp([0, 1], [upper, 8], [2, 3], [init], body, kind, mapping, [1, 0])
    nest.verify()
    assert nest.is_parallel
    assert nest.mixed_lower_bounds == (0, 1)
    assert nest.mixed_upper_bounds == (upper, 8)
    assert nest.step_values == (2, 3)
    assert nest.induction_variables == tuple(body.args[:2])
    assert nest.carried_values == (body.args[2],)
    assert nest.yield_op is body.last_op
    assert nest.mapping.data is mapping
    assert list(nest.result_types) == [TILE]


def test_the_level_of_a_type():
    assert tile.level_of(TILE) == "L1"
    assert tile.level_of(TensorType(f32, [3])) is None
    assert tile.level_of(f32) is None
    assert tile.EncodingAttr("L2", [1, 0]).axis_order == (1, 0)
    with pytest.raises(VerifyException, match="expected a memory level such as L1"):
        tile.EncodingAttr("shared")


def test_a_mask_with_valid_extents_is_not_tiled_again():
    (cut,) = values(TILE)
    mask = tile.MaskOp(cut, [0, 0], [9, 9], 0, [2, 4])
    with pytest.raises(VerifyException, match="cannot tile a mask with valid extents"):
        mask.tiled_implementation_at([cut], [TILE], [0, 0], lambda left, right: left)


def slice_of(fill: str, valid: str, element: str) -> str:
    return f"""
      func.func @f(%x: tensor<5x6x{element}>, %i: index, %j: index)
          -> tensor<4x3x{element}, #tile.encoding<L1>> {{
        %t = tile.slice %x[%i, %j] {valid} {fill}
            : tensor<5x6x{element}> -> tensor<4x3x{element}, #tile.encoding<L1>>
        func.return %t : tensor<4x3x{element}, #tile.encoding<L1>>
      }}
    """


@pytest.mark.one_in(3 / 8)
@pytest.mark.parametrize("fill", [None, 7])
@pytest.mark.parametrize("valid", [(4, 3), (2, 3), (4, 1)])
@pytest.mark.parametrize("element", ["f32", "i32"])
def test_slice(fill: int | None, valid: tuple[int, int], element: str):
    rng = np.random.default_rng(0)
    dtype = np.dtype(np.float32 if element == "f32" else np.int32)
    x = rng.integers(-99, 99, (5, 6)).astype(dtype)
    outside = np.nan if element == "f32" else np.iinfo(np.int32).min
    outside = outside if fill is None else fill
    number = "" if fill is None else f"fill {fill}{'.0' * (element == 'f32')} : "
    text = slice_of(number + element * bool(number), f"valid {[*valid]}", element)
    program = parsed(text)
    for i in range(-5, 8):
        for j in range(-4, 9):
            (found,) = interpret(program, at(i, j, x=x))
            expected = np.full((4, 3), outside, dtype)
            for a in range(valid[0]):
                for b in range(valid[1]):
                    if 0 <= i + a < 5 and 0 <= j + b < 6:
                        expected[a, b] = x[i + a, j + b]
            np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("fill", [None, 7])
def test_slice_through_a_map(fill: int | None):
    """Windows of two rows, at every second row, transposed, one element repeated."""
    x = np.random.default_rng(7).random((9, 6), np.float32)
    program = parsed(f"""
      func.func @f(%x: tensor<9x6xf32>, %i: index, %j: index) -> tensor<3x2x4x2xf32> {{
        %t = tile.slice %x[%i, %j] map affine_map<(a, b, c, d) -> (b + c * 2 - 1, a)>
            valid [3, 2, 3, 2] {"" if fill is None else f"fill {fill}.0 : f32"}
            : tensor<9x6xf32> -> tensor<3x2x4x2xf32>
        func.return %t : tensor<3x2x4x2xf32>
      }}
    """)
    outside = np.nan if fill is None else fill
    for i in range(-3, 10):
        for j in range(-4, 8):
            (found,) = interpret(program, at(i, j, x=x))
            expected = np.full((3, 2, 4, 2), outside, np.float32)
            for a, b, c, d in np.ndindex(3, 2, 3, 2):
                row, column = i + b + 2 * c - 1, j + a
                if 0 <= row < 9 and 0 <= column < 6:
                    expected[a, b, c, d] = x[row, column]
            np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("valid", [(4, 3), (3, 3), (1, 2)])
def test_deslice_drops_what_lies_outside(valid: tuple[int, int]):
    rng = np.random.default_rng(1)
    x, t = (rng.random(shape, np.float32) for shape in ((5, 6), (4, 3)))
    program = parsed(f"""
      func.func @f(%x: tensor<5x6xf32>, %t: tensor<4x3xf32>, %i: index, %j: index)
          -> tensor<5x6xf32> {{
        %d = tile.deslice %t into %x[%i, %j] valid {[*valid]}
            : tensor<4x3xf32> into tensor<5x6xf32>
        func.return %d : tensor<5x6xf32>
      }}
    """)
    before = x.copy()
    for i in range(-5, 8):
        for j in range(-4, 9):
            (found,) = interpret(program, at(i, j, x=x, t=t))
            expected = x.copy()
            for a in range(valid[0]):
                for b in range(valid[1]):
                    if 0 <= i + a < 5 and 0 <= j + b < 6:
                        expected[i + a, j + b] = t[a, b]
            np.testing.assert_array_equal(found, expected)
            np.testing.assert_array_equal(x, before)


@pytest.mark.parametrize("valid", [(4, 3), (3, 2)])
def test_mask(valid: tuple[int, int]):
    rng = np.random.default_rng(2)
    t = rng.random((4, 3), np.float32)
    program = parsed(f"""
      func.func @f(%t: tensor<4x3xf32>, %i: index, %j: index) -> tensor<4x3xf32> {{
        %m = tile.mask %t[%i, %j] bounds [5, 6] valid {[*valid]} fill -1.0 : f32
            : tensor<4x3xf32>
        func.return %m : tensor<4x3xf32>
      }}
    """)
    for i in range(-5, 8):
        for j in range(-4, 9):
            (found,) = interpret(program, at(i, j, t=t))
            expected = np.full((4, 3), -1, np.float32)
            for a in range(valid[0]):
                for b in range(valid[1]):
                    if 0 <= i + a < 5 and 0 <= j + b < 6:
                        expected[a, b] = t[a, b]
            np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize(("axis", "count"), [(0, 1), (0, 2), (0, 4), (1, 2)])
def test_roll(axis: int, count: int):
    rng = np.random.default_rng(3)
    shape = [count if each == axis else n for each, n in enumerate((4, 3))]
    w, n = rng.random((4, 3), np.float32), rng.random(shape, np.float32)
    following = "x".join(map(str, shape))
    (found,) = run(
        f"""
      func.func @f(%w: tensor<4x3xf32>, %n: tensor<{following}xf32>)
          -> tensor<4x3xf32> {{
        %r = tile.roll %w, %n axis {axis} : tensor<4x3xf32>, tensor<{following}xf32>
        func.return %r : tensor<4x3xf32>
      }}
    """,
        w=w,
        n=n,
    )
    whole = np.concatenate([w, n], axis)
    kept = [slice(count, None) if each == axis else slice(None) for each in range(2)]
    np.testing.assert_array_equal(found, whole[tuple(kept)])


def test_what_nobody_wrote_is_poison():
    floats, integers, bits = run("""
      func.func @f() -> (tensor<2xf32>, tensor<2xi32>, tensor<2xi1>) {
        %a = tile.empty : tensor<2xf32>
        %b = tile.empty : tensor<2xi32>
        %c = tile.empty : tensor<2xi1>
        func.return %a, %b, %c : tensor<2xf32>, tensor<2xi32>, tensor<2xi1>
      }
    """)
    assert np.isnan(floats).all()
    assert (integers == np.iinfo(np.int32).min).all()
    assert bits.all()


@pytest.mark.parametrize(
    ("value", "expected", "element", "dtype"),
    [
        ("-0.5 : f32", -0.5, f32, "float32"),
        ("9 : i32", 9, i32, "int32"),
        ("true", True, i1, "bool"),
    ],
)
def test_fill(value: str, expected: float, element: Attribute, dtype: str):
    (found,) = run(f"""
      func.func @f() -> tensor<2x3x{element}> {{
        %a = tile.fill {value} : tensor<2x3x{element}>
        func.return %a : tensor<2x3x{element}>
      }}
    """)
    assert found.dtype == dtype
    np.testing.assert_array_equal(found, np.full((2, 3), expected))


def test_parallel_tiles_cover_all_of_a_destination_with_partial_ends():
    rng = np.random.default_rng(4)
    x = rng.random((7, 5), np.float32)
    (found,) = run(
        """
      func.func @f(%x: tensor<7x5xf32>) -> tensor<7x5xf32> {
        %e = tile.empty : tensor<7x5xf32>
        %y = tile.while (%i = 0 to 7 step 3, %j = 0 to 5 step 2) parallel order(1, 0)
            into(%o = %e : tensor<7x5xf32>) {
          %t = tile.slice %x[%i, %j]
              : tensor<7x5xf32> -> tensor<3x2xf32, #tile.encoding<L1>>
          %a = graph.exp %t : tensor<3x2xf32, #tile.encoding<L1>>
          %d = tile.deslice %a into %o[%i, %j]
              : tensor<3x2xf32, #tile.encoding<L1>> into tensor<7x5xf32>
          tile.yield %d : tensor<7x5xf32>
        }
        func.return %y : tensor<7x5xf32>
      }
    """,
        x=x,
    )
    np.testing.assert_allclose(found.astype(float), np.exp(x.astype(float)), rtol=1e-6)


def test_tiles_that_skip_a_part_leave_poison():
    x = np.ones(8, np.float32)
    (found,) = run(
        """
      func.func @f(%x: tensor<8xf32>) -> tensor<8xf32> {
        %e = tile.empty : tensor<8xf32>
        %y = tile.while (%i = 2 to 8 step 4) parallel into(%o = %e : tensor<8xf32>) {
          %t = tile.slice %x[%i] : tensor<8xf32> -> tensor<2xf32, #tile.encoding<L1>>
          %d = tile.deslice %t into %o[%i]
              : tensor<2xf32, #tile.encoding<L1>> into tensor<8xf32>
          tile.yield %d : tensor<8xf32>
        }
        func.return %y : tensor<8xf32>
      }
    """,
        x=x,
    )
    nan = np.nan
    np.testing.assert_array_equal(found, [nan, nan, 1, 1, nan, nan, 1, 1])


@pytest.mark.parametrize("first", [0, 3, 9, 12])
def test_sequential_loop_carries_over_values_as_bounds(first: int):
    rng = np.random.default_rng(5)
    x = rng.random(9, np.float32)
    (found,) = run(
        """
      func.func @f(%x: tensor<9xf32>, %n: index) -> tensor<1xf32> {
        %z = tile.fill 0.5 : f32 : tensor<1xf32>
        %y = tile.while (%k = %n to 9 step 2) sequential carry(%a = %z : tensor<1xf32>)
        {
          %t = tile.slice %x[%k] : tensor<9xf32> -> tensor<1xf32>
          %s = graph.add %t, %a : (tensor<1xf32>, tensor<1xf32>) -> tensor<1xf32>
          tile.yield %s : tensor<1xf32>
        }
        func.return %y : tensor<1xf32>
      }
    """,
        x=x,
        n=np.array(first),
    )
    np.testing.assert_allclose(
        found.astype(float), [0.5 + x.astype(float)[first::2].sum()], 1e-6
    )


def test_bounds_that_depend_on_an_outer_loop():
    """The sums of the rows of a lower triangle."""
    rng = np.random.default_rng(6)
    x = rng.random((5, 5), np.float32)
    (found,) = run(
        """
      func.func @f(%x: tensor<5x5xf32>) -> tensor<5x1xf32> {
        %e = tile.empty : tensor<5x1xf32>
        %y = tile.while (%i = 0 to 5 step 1) parallel into(%o = %e : tensor<5x1xf32>) {
          %n = affine.apply affine_map<(d0) -> (d0 + 1)> (%i)
          %z = tile.fill 0.0 : f32 : tensor<1x1xf32>
          %r = tile.while (%k = 0 to %n step 1) sequential
              carry(%a = %z : tensor<1x1xf32>) {
            %t = tile.slice %x[%i, %k] : tensor<5x5xf32> -> tensor<1x1xf32>
            %s = graph.add %t, %a
                : (tensor<1x1xf32>, tensor<1x1xf32>) -> tensor<1x1xf32>
            tile.yield %s : tensor<1x1xf32>
          }
          %d = tile.deslice %r into %o[%i, 0] : tensor<1x1xf32> into tensor<5x1xf32>
          tile.yield %d : tensor<5x1xf32>
        }
        func.return %y : tensor<5x1xf32>
      }
    """,
        x=x,
    )
    expected = np.tril(x.astype(float)).sum(1, keepdims=True)
    np.testing.assert_allclose(found.astype(float), expected, rtol=1e-6)
