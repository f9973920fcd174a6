"""The reference interpreter of `mem`: values, and when moves take effect."""

import numpy as np
import pytest
from numpy.typing import NDArray
from xdsl.context import Context
from xdsl.dialects import func
from xdsl.dialects import get_all_dialects as get_xdsl_dialects
from xdsl.interpreter import Interpreter
from xdsl.interpreters.func import FuncFunctions
from xdsl.parser import Parser
from xdsl.utils.exceptions import InterpretationError

from tlf.dialects import get_dialect_loaders
from tlf.dialects.interpreters.mem import make_mem_interpreter_functions

Array = NDArray[np.generic]


def run(text: str, *arguments: Array) -> None:
    """Interpret the only function of a module."""
    context = Context()
    for name, factory in (get_xdsl_dialects() | get_dialect_loaders()).items():
        context.register_dialect(name, factory)
    module = Parser(context, text).parse_module()
    module.verify()
    interpreter = Interpreter(module)
    interpreter.register_implementations(FuncFunctions())
    for functions in make_mem_interpreter_functions():
        interpreter.register_implementations(functions, override=True)
    function = next(op for op in module.walk() if isinstance(op, func.FuncOp))
    interpreter.call_op(function, arguments)


VALUES = """
func.func @main(%x: memref<7x5xf32, "L3">, %w: memref<5x3xf32, "L3">,
                %y: memref<7x3xf32, "L3">, %s: memref<3xf32, "L3">) {
  %c0 = arith.constant 0 : index
  %c4 = arith.constant 4 : index
  %c7 = arith.constant 7 : index
  %zero = mem.fill 0.0 -> tensor<3xf32>
  %ws = mem.load %w[0, 0] size [5, 3] fill 0.0
      : memref<5x3xf32, "L3"> -> tensor<8x4xf32>
  %sum = scf.for %i = %c0 to %c7 step %c4 iter_args(%acc = %zero) -> (tensor<3xf32>) {
    %xs = mem.load %x[%i, 0] size [4, 5] fill 1.0
        : memref<7x5xf32, "L3"> -> tensor<4x8xf32>
    %start = mem.fill 0.0 -> tensor<4x4xf32>
    %p = mem.contract ins(%xs, %ws : tensor<4x8xf32>, tensor<8x4xf32>)
        outs(%start : tensor<4x4xf32>) domain [4, 4, 8]
        maps [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>,
              affine_map<(m, n, k) -> (m, n)>] -> tensor<4x4xf32>
    %q = mem.map ins(%p : tensor<4x4xf32>) domain [4, 4]
        maps [affine_map<(m, n) -> (m, n)>, affine_map<(m, n) -> (m, n)>] {
    ^bb0(%a: f32):
      %one = arith.constant 1.0 : f32
      %b = arith.addf %a, %one : f32
      mem.yield %b : f32
    } -> tensor<4x4xf32>
    mem.store %q to %y[%i, 0] : tensor<4x4xf32> to memref<7x3xf32, "L3">
    %m = mem.mask %q at [%i, 0] bounds [7, 3] fill 0.0
        : tensor<4x4xf32> -> tensor<4x4xf32>
    %r = mem.reduce ins(%m : tensor<4x4xf32>) outs(%acc : tensor<3xf32>) domain [4, 3]
        maps [affine_map<(m, n) -> (m, n)>, affine_map<(m, n) -> (n)>] {
    ^bb0(%a: f32, %b: f32):
      %c = arith.addf %a, %b : f32
      mem.yield %c : f32
    } -> tensor<3xf32>
    scf.yield %r : tensor<3xf32>
  }
  mem.store %sum to %s[0] : tensor<3xf32> to memref<3xf32, "L3">
  func.return
}
"""


def test_values() -> None:
    generator = np.random.default_rng(0)
    x, w = (generator.standard_normal(s).astype(np.float32) for s in ((7, 5), (5, 3)))
    y, s = np.zeros((7, 3), np.float32), np.zeros(3, np.float32)
    run(VALUES, x, w, y, s)
    expected = x.astype(np.float64) @ w.astype(np.float64) + 1
    np.testing.assert_allclose(y, expected, 1e-5, 1e-5)
    np.testing.assert_allclose(s, expected.sum(0), 1e-5, 1e-5)


OVERWRITE = """
func.func @main(%a: memref<4xi32, "L1">, %b: memref<i32, "L1">, %c: memref<i32, "L1">) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  scf.for %i = %c0 to %c3 step %c1 {
    mem.contract ins(%a, %a : memref<4xi32, "L1">, memref<4xi32, "L1">)
        outs(%b : memref<i32, "L1">) domain [4]
        maps [affine_map<(k) -> (k)>, affine_map<(k) -> (k)>, affine_map<(k) -> ()>]
        overwrite UNLESS
    mem.reduce ins(%a : memref<4xi32, "L1">) outs(%c : memref<i32, "L1">) domain [4]
        maps [affine_map<(k) -> (k)>, affine_map<(k) -> ()>] overwrite UNLESS {
    ^bb0(%x: i32, %y: i32):
      %z = arith.COMBINE %x, %y : i32
      mem.yield %z : i32
    }
  }
  func.return
}
"""


@pytest.mark.parametrize(
    ("combine", "always", "first"),
    [
        ("addi", -10, -30),
        ("muli", 24, 24**3),
        ("maxsi", -1, -1),
        ("minsi", -4, -4),
        ("andi", -4, -4),
        ("ori", -1, -1),
    ],
)
def test_overwriting(combine: str, always: int, first: int) -> None:
    text = OVERWRITE.replace("COMBINE", combine)
    for condition, expected in (("", (30, always)), ("unless %i", (90, first))):
        a = np.array([-1, -2, -3, -4], np.int32)
        b, c = np.array(99, np.int32), np.array(99, np.int32)
        run(text.replace("UNLESS", condition), a, b, c)
        assert (b.item(), c.item()) == expected


MOVE = """
func.func @main(%x: memref<4xf32, "L3">, %y: memref<4xf32, "L3">) {{
  %a = mem.alloc : memref<4xf32, "L2">
  %t = mem.dma %x[0] to %a[{offset}] size [4]
      : memref<4xf32, "L3"> to memref<4xf32, "L2">
  {before}
  mem.wait %t
  %u = mem.dma %a[{back}] to %y[0] size [4] : memref<4xf32, "L2"> to memref<4xf32, "L3">
  mem.wait %u
  func.return
}}
"""


@pytest.mark.parametrize(
    ("offset", "back", "expected"),
    [
        (0, 0, [1, 2, 3, 4]),
        (1, 0, [np.nan, 1, 2, 3]),
        (-1, 0, [2, 3, 4, np.nan]),
        (0, 2, [3, 4, np.nan, np.nan]),
    ],
)
def test_what_no_move_has_brought_is_poison(
    offset: int, back: int, expected: list[float]
) -> None:
    x, y = np.array([1, 2, 3, 4], np.float32), np.zeros(4, np.float32)
    run(MOVE.format(offset=offset, back=back, before=""), x, y)
    np.testing.assert_array_equal(y, expected)


@pytest.mark.parametrize(
    ("buffer", "message"),
    [
        (
            '%x : memref<4xf32, "L3">',
            "the source of a move was written before its wait",
        ),
        (
            '%a : memref<4xf32, "L2">',
            "the destination of a move was written before its wait",
        ),
    ],
)
def test_writing_to_a_side_of_a_move_before_its_wait(buffer: str, message: str) -> None:
    x, y = np.array([1, 2, 3, 4], np.float32), np.zeros(4, np.float32)
    text = MOVE.format(offset=0, back=0, before=f"mem.fill 7.0 into {buffer}")
    with pytest.raises(InterpretationError, match=message):
        run(text, x, y)


NEAR = 'memref<4xf32, "L2">'
BESIDE = f"%b = mem.alloc : {NEAR}"
MAPS = "[affine_map<(d) -> (d)>, affine_map<(d) -> (d)>]"
SCALARS = "{ ^bb0(%s: f32): mem.yield %s : f32 }"


@pytest.mark.parametrize(
    "access",
    [
        f"mem.map ins(%a : {NEAR}) outs(%b : {NEAR}) domain [4] maps {MAPS} {SCALARS}",
        f"mem.mask %a at [0] bounds [2] fill 0.0 : {NEAR}",
        f"%v = mem.dma %a[0] to %b[0] size [4] : {NEAR} to {NEAR}",
        f"%v = mem.load %a[0] size [4] : {NEAR} -> tensor<4xf32>",
    ],
)
def test_reading_what_a_move_has_not_brought(access: str) -> None:
    x, y = np.array([1, 2, 3, 4], np.float32), np.zeros(4, np.float32)
    text = MOVE.format(offset=0, back=0, before=f"{BESIDE}\n{access}")
    with pytest.raises(InterpretationError, match=r"a move was (read|written) before"):
        run(text, x, y)
    text = MOVE.format(offset=0, back=0, before=f"mem.wait %t\n{BESIDE}\n{access}")
    run(text, x, y)


@pytest.mark.parametrize(
    ("before", "message"),
    [
        (f"%v = mem.dma %x[2] to %a[2] size [2] : {NEAR} to {NEAR}", "destination"),
        (f"%v = mem.dma %y[0] to %x[0] size [1] : {NEAR} to {NEAR}", "source"),
        (f"{BESIDE}\n%v = mem.dma %x[0] to %b[0] size [4] : {NEAR} to {NEAR}", None),
        (f"%v = mem.fill 0.0 -> tensor<2xf32>\nmem.store %v to %a[3] : {NEAR}", "dest"),
        (f"%v = mem.fill 0.0 -> tensor<2xf32>\nmem.store %v to %a[4] : {NEAR}", None),
    ],
)
def test_moves_beside_a_move(before: str, message: str | None) -> None:
    """Accesses to other elements do no harm, nor do reads of the same ones."""
    before = before.replace(f"%a[3] : {NEAR}", f"%a[3] : tensor<2xf32> to {NEAR}")
    before = before.replace(f"%a[4] : {NEAR}", f"%a[4] : tensor<2xf32> to {NEAR}")
    text = MOVE.format(offset=0, back=0, before=before).replace("L3", "L2")
    x, y = np.array([1, 2, 3, 4], np.float32), np.zeros(4, np.float32)
    if message is None:
        run(text, x, y)
        return
    with pytest.raises(InterpretationError, match=f"the {message}.* was written"):
        run(text, x, y)


def test_a_constant_that_is_no_index() -> None:
    text = """
    func.func @main(%x: memref<4xf32, "L3">) {
      %zero = arith.constant 0.0 : f32
      mem.fill 1.0 into %x : memref<4xf32, "L3">
      func.return
    }
    """
    run(text, x := np.zeros(4, np.float32))
    np.testing.assert_array_equal(x, 1)


def test_a_view_outside_its_buffer() -> None:
    text = """
    func.func @main(%x: memref<4xf32, "L3">) {
      %i = arith.constant 2 : index
      %v = memref.subview %x[%i] [3] [1]
          : memref<4xf32, "L3"> to memref<3xf32, strided<[1], offset: ?>, "L3">
      func.return
    }
    """
    with pytest.raises(InterpretationError, match="expected a view inside"):
        run(text, np.zeros(4, np.float32))


COMPARISONS = {
    "olt": [True, False, False],
    "ult": [True, False, True],
    "une": [True, False, True],
    "one": [True, False, False],
    "uno": [False, False, True],
    "ord": [True, True, False],
}


@pytest.mark.parametrize("predicate", COMPARISONS)
def test_comparisons_with_nan(predicate: str) -> None:
    text = f"""
    func.func @main(%x: memref<3xf32, "L1">, %y: memref<3xi1, "L1">) {{
      mem.map ins(%x : memref<3xf32, "L1">) outs(%y : memref<3xi1, "L1">) domain [3]
          maps [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>] {{
      ^bb0(%a: f32):
        %one = arith.constant 1.0 : f32
        %b = arith.cmpf {predicate}, %a, %one : f32
        mem.yield %b : i1
      }}
      func.return
    }}
    """
    x, y = np.array([0, 1, np.nan], np.float32), np.zeros(3, np.bool_)
    run(text, x, y)
    assert y.tolist() == COMPARISONS[predicate]


def test_halves_round_after_every_operation() -> None:
    text = """
    func.func @main(%x: memref<1xf16, "L1">, %y: memref<1xf16, "L1">) {
      mem.map ins(%x : memref<1xf16, "L1">) outs(%y : memref<1xf16, "L1">) domain [1]
          maps [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>] {
      ^bb0(%a: f16):
        %one = arith.constant 1.0 : f16
        %b = arith.addf %a, %one : f16
        %c = arith.subf %b, %a : f16
        mem.yield %c : f16
      }
      func.return
    }
    """
    x, y = np.array([4096], np.float16), np.ones(1, np.float16)
    run(text, x, y)
    assert y.tolist() == [0]


GATHER = """
func.func @main(%x: memref<9x4xf32, "L3">, %n: memref<5xi64, "L3">,
                %y: memref<5x4xf32, "L3">) {
  %i = mem.alloc : memref<5xi64, "L2">
  %a = mem.alloc : memref<5x4xf32, "L2">
  %s = mem.dma %n[0] to %i[0] size [5] : memref<5xi64, "L3"> to memref<5xi64, "L2">
  mem.wait %s
  %t = mem.dma_gather %x[0, 1] axis 0 at %i to %a
      maps [affine_map<(d0, d1) -> (0, d1)>, affine_map<(d0, d1) -> (d0)>]
      size [5, 4] FILL
      : memref<9x4xf32, "L3">, memref<5xi64, "L2"> to memref<5x4xf32, "L2">
  BEFORE
  mem.wait %t
  %u = mem.dma %a[0, 0] to %y[0, 0] size [5, 4]
      : memref<5x4xf32, "L2"> to memref<5x4xf32, "L3">
  mem.wait %u
  func.return
}"""


@pytest.mark.parametrize(("fill", "outside"), [("", 0), ("fill -2.0", -2)])
def test_moves_that_follow_indices(fill: str, outside: int):
    x = np.arange(36, dtype=np.float32).reshape(9, 4)
    y = np.zeros((5, 4), np.float32)
    names = np.array([8, -1, 3, 9, 3])
    run(GATHER.replace("FILL", fill).replace("BEFORE", ""), x, names, y)
    wanted = np.full((5, 4), outside, np.float32)
    for row, name in enumerate(names):
        if 0 <= name < 9:
            wanted[row, :3] = x[name, 1:]
    assert np.array_equal(y, wanted)


@pytest.mark.parametrize(
    ("buffer", "kind", "side"),
    [
        ("%i", 'memref<5xi64, "L2">', "source"),
        ("%x", 'memref<9x4xf32, "L3">', "source"),
        ("%a", 'memref<5x4xf32, "L2">', "destination"),
    ],
)
def test_indices_are_in_use_until_the_wait(buffer: str, kind: str, side: str):
    x, y = np.ones((9, 4), np.float32), np.zeros((5, 4), np.float32)
    number = "7" if "i64" in kind else "7.0"
    text = GATHER.replace("FILL", "")
    text = text.replace("BEFORE", f"mem.fill {number} into {buffer} : {kind}")
    with pytest.raises(InterpretationError, match=f"the {side} of a move was written"):
        run(text, x, np.zeros(5, np.int64), y)


def test_a_view_of_one_element():
    """A write through the view is visible in the whole buffer."""
    text = """
func.func @main(%y: memref<3xf32, "L1">) {
  %v = memref.subview %y[1] [1] [1]
      : memref<3xf32, "L1"> to memref<f32, strided<[], offset: 1>, "L1">
  mem.fill 4.0 into %v : memref<f32, strided<[], offset: 1>, "L1">
  func.return
}"""
    y = np.zeros(3, np.float32)
    run(text, y)
    assert y.tolist() == [0, 4, 0]


@pytest.mark.parametrize("direction", ["", "reverse"])
def test_scan_along_a_dimension(direction: str):
    text = f"""
func.func @main(%x: memref<3x4xf32, "L3">, %y: memref<3x4xf32, "L3">) {{
  %v = mem.load %x[0, 0] size [3, 4] : memref<3x4xf32, "L3"> -> tensor<3x4xf32>
  %s = mem.scan ins(%v : tensor<3x4xf32>) dim 0 {direction} domain [3, 4]
      maps [affine_map<(a, b) -> (a, b)>, affine_map<(a, b) -> (a, b)>] {{
  ^bb0(%a: f32, %b: f32):
    %c = arith.maximumf %a, %b : f32
    mem.yield %c : f32
  }} -> tensor<3x4xf32>
  mem.store %s to %y[0, 0] : tensor<3x4xf32> to memref<3x4xf32, "L3">
  func.return
}}"""
    x = np.array([[1, 5, np.nan, -2], [3, 4, 1, -3], [2, 6, 7, -1]], np.float32)
    y = np.zeros_like(x)
    run(text, x, y)
    x, y = (x[::-1], y[::-1]) if direction else (x, y)
    np.testing.assert_array_equal(y, np.maximum.accumulate(x, axis=0))


@pytest.mark.parametrize("kind", ["add", "max", "min"])
def test_scatter_combines(kind: str):
    text = f"""
    func.func @main(%x: memref<3x4xf32, "L3">, %n: memref<5xi64, "L3">,
                    %y: memref<5x2xf32, "L3">) {{
      %i = mem.load %n[0] size [5] : memref<5xi64, "L3"> -> tensor<5xi64>
      %v = mem.load %y[0, 0] size [5, 2] : memref<5x2xf32, "L3"> -> tensor<5x2xf32>
      mem.scatter %v to %x[0, 3] axis 0 at %i
          maps [affine_map<(d0, d1) -> (0, d1)>, affine_map<(d0, d1) -> (d0)>] <{kind}>
          : tensor<5x2xf32>, tensor<5xi64> to memref<3x4xf32, "L3">
      func.return
    }}"""
    x = np.zeros((3, 4), np.float32)
    updates = np.array([[1, 9], [2, 9], [-3, 9], [4, 9], [np.nan, 9]], np.float32)
    run(text, x, np.array([1, 1, 1, 3, 2]), updates)
    expected = np.zeros((3, 4), np.float32)
    expected[1:, 3] = {"add": (0, np.nan), "max": (2, np.nan), "min": (-3, np.nan)}[
        kind
    ]
    np.testing.assert_array_equal(x, expected)
