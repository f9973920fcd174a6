"""
Moves, loops, views and the host around kernels.
"""

from collections.abc import Callable, Mapping

import numpy as np

from tlf.runtime.triton.launch_plan import HostLoop, Plan

Check = Callable[[str, Mapping[str, np.ndarray]], Mapping[str, np.ndarray]]

ONE = "<{operandSegmentSizes = array<i32: 1, 1, 1, 0>}>"

TWO = "<{operandSegmentSizes = array<i32: 2, 2, 2, 0>}>"

GRID = '{mapping = "grid"} : (index, index, index) -> ()'

CONSTANTS = "\n".join(
    f"  %c{value} = arith.constant {value} : index"
    for value in (0, 1, 2, 3, 4, 8, 16, 30, 32, 64, 100)
)

COPY = "affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>"


def random(*shape: int) -> np.ndarray:
    return np.random.default_rng(0).standard_normal(shape).astype(np.float32)


def function(arguments: str, body: str, results: int = 1) -> str:
    return f"""
func.func @f({arguments}) attributes {{tlf.results = {results} : i64}} {{
{CONSTANTS}
{body}
  func.return
}}"""


def test_moves_out_of_bounds_on_both_sides(check: Check) -> None:
    body = f"""
  "scf.parallel"(%c0, %c100, %c32) {ONE} ({{
  ^bb0(%i: index):
    %o = affine.apply affine_map<(d0) -> (d0 - 5)> (%i)
    %v = mem.load %x[%o] size [32] fill 7.5 : memref<90xf32, "L3"> -> tensor<32xf32>
    mem.store %v to %y[%o] : tensor<32xf32> to memref<80xf32, "L3">
    %m = mem.mask %v at [%o] bounds [70] fill -inf : tensor<32xf32> -> tensor<32xf32>
    mem.store %m to %z[%i] : tensor<32xf32> to memref<100xf32, "L3">
    scf.reduce
  }}) {GRID}"""
    buffers = '%x: memref<90xf32, "L3">, %y: memref<80xf32, "L3">'
    text = function(f'{buffers}, %z: memref<100xf32, "L3">', body, 2)
    x = random(90)
    got = check(text, {"x": x})
    np.testing.assert_array_equal(got["y"], x[:80])
    expected = np.full(100, -np.inf, np.float32)
    expected[5:75] = x[:70]
    np.testing.assert_array_equal(got["z"], expected)


def test_fill_values_of_all_types(check: Check) -> None:
    types = {
        "f16": ("nan", np.float16),
        "f32": ("-inf", np.float32),
        "f64": ("0.1", np.float64),
        "i1": ("1", np.bool_),
        "i8": ("-7", np.int8),
        "i32": ("-5", np.int32),
        "i64": ("9876543210", np.int64),
    }
    body = "\n".join(
        f"""
  %v{t} = mem.load %x{t}[0] size [8] fill {fill}
      : memref<6x{t}, "L3"> -> tensor<8x{t}>
  %f{t} = mem.fill {fill} -> tensor<8x{t}>
  mem.store %v{t} to %y{t}[0] : tensor<8x{t}> to memref<16x{t}, "L3">
  mem.store %f{t} to %y{t}[8] : tensor<8x{t}> to memref<16x{t}, "L3">"""
        for t, (fill, _) in types.items()
    )
    buffers = [f'%x{t}: memref<6x{t}, "L3">' for t in types]
    buffers += [f'%y{t}: memref<16x{t}, "L3">' for t in types]
    inputs = {f"x{t}": np.arange(6).astype(dtype) for t, (_, dtype) in types.items()}
    got = check(function(", ".join(buffers), body, len(types)), inputs)
    for t, (fill, dtype) in types.items():
        expected = np.full(16, int(fill) if t[0] == "i" else float(fill)).astype(dtype)
        expected[:6] = inputs[f"x{t}"]
        np.testing.assert_array_equal(got[f"y{t}"], expected, t)


def test_loop_bound_from_an_outer_loop(check: Check) -> None:
    """
    Running sums: each row adds the columns up to its own number, at most 30.
    """
    body = f"""
  "scf.parallel"(%c0, %c100, %c1) {ONE} ({{
  ^bb0(%i: index):
    %start = mem.fill 0.0 -> tensor<1xf32>
    %end = affine.min affine_map<(d0) -> (d0 + 1, 30)> (%i)
    %sum = scf.for %k = %c0 to %end step %c8 iter_args(%a = %start)
        -> (tensor<1xf32>) {{
      %v = mem.load %x[%k] size [8] fill 0.0 : memref<30xf32, "L3"> -> tensor<8xf32>
      %d = arith.subi %k, %i : index
      %m = mem.mask %v at [%d] bounds [1] fill 0.0 : tensor<8xf32> -> tensor<8xf32>
      %n = affine.apply affine_map<(d0, d1) -> (d0 - d1)> (%i, %k)
      %r = mem.reduce ins(%t : tensor<8xf32>) outs(%a : tensor<1xf32>) domain [8, 1]
          maps [affine_map<(d0, d1) -> (d0)>, affine_map<(d0, d1) -> (d1)>] {{
      ^bb1(%e: f32, %f: f32):
        %g = arith.addf %e, %f : f32
        mem.yield %g : f32
      }} -> tensor<1xf32>
      scf.yield %r : tensor<1xf32>
    }}
    mem.store %sum to %y[%i] : tensor<1xf32> to memref<100xf32, "L3">
    scf.reduce
  }}) {GRID}"""
    # A mask holds what lies in [0, bound), so count downwards from the row's number.
    body = body.replace(
        "      %m = mem.mask %v at [%d] bounds [1]",
        "      %w = affine.apply affine_map<(d0) -> (d0 + 100)> (%d)\n"
        "      %t = mem.mask %v at [%w] bounds [101]",
    )
    text = function('%x: memref<30xf32, "L3">, %y: memref<100xf32, "L3">', body)
    x = random(30)
    expected = np.cumsum(x.astype(np.float64))[np.minimum(np.arange(100), 29)]
    got = check(text, {"x": x})["y"]
    np.testing.assert_allclose(got, expected, rtol=1e-5, atol=1e-5)


def test_carried_values_change_places(check: Check) -> None:
    body = """
  %v = mem.load %x[0] size [8] : memref<8xf32, "L3"> -> tensor<8xf32>
  %w = mem.fill 1.0 -> tensor<8xf32>
  %a, %b = scf.for %k = %c0 to %c3 step %c1 iter_args(%p = %v, %q = %w)
      -> (tensor<8xf32>, tensor<8xf32>) {
    scf.yield %q, %p : tensor<8xf32>, tensor<8xf32>
  }
  mem.store %a to %y[0] : tensor<8xf32> to memref<8xf32, "L3">
  mem.store %b to %z[0] : tensor<8xf32> to memref<8xf32, "L3">"""
    buffers = ", ".join(f'%{name}: memref<8xf32, "L3">' for name in "xyz")
    x = random(8)
    got = check(function(buffers, body, 2), {"x": x})
    np.testing.assert_array_equal(got["y"], np.ones(8, np.float32))
    np.testing.assert_array_equal(got["z"], x)


def test_host_loop_temporary_and_constant(check: Check) -> None:
    """
    Rows are added up one launch at a time, in place, from a constant start.
    """
    copy = f"""
  "scf.parallel"(%c0, %c64, %c32) {ONE} ({{
  ^bb0(%i: index):
    %v = mem.load %SOURCE[%i] size [32] : memref<64xf32, "L3"> -> tensor<32xf32>
    mem.store %v to %TARGET[%i] : tensor<32xf32> to memref<64xf32, "L3">
    scf.reduce
  }}) {GRID}"""
    body = f"""
  %k = memref.get_global @start : memref<64xf32, "L3">
  %t = mem.alloc : memref<64xf32, "L3">
  {copy.replace("SOURCE", "k").replace("TARGET", "t")}
  scf.for %row = %c1 to %c4 step %c2 {{
    %at = affine.apply affine_map<(d0) -> (d0 - 1)> (%row)
    "scf.parallel"(%c0, %c64, %c32) {ONE} ({{
    ^bb0(%i: index):
      %v = mem.load %x[%at, %i] size [1, 32]
          : memref<4x64xf32, "L3"> -> tensor<1x32xf32>
      %w = mem.load %t[%i] size [32] : memref<64xf32, "L3"> -> tensor<32xf32>
      %s = mem.map ins(%v, %w : tensor<1x32xf32>, tensor<32xf32>) domain [32]
          maps [affine_map<(d0) -> (0, d0)>, {COPY}] {{
      ^bb1(%a: f32, %b: f32):
        %c = arith.addf %a, %b : f32
        mem.yield %c : f32
      }} -> tensor<32xf32>
      mem.store %s to %t[%i] : tensor<32xf32> to memref<64xf32, "L3">
      scf.reduce
    }}) {GRID}
  }} {{mapping = "host"}}
  {copy.replace("SOURCE", "t").replace("TARGET", "y").replace("%v", "%u")}"""
    start = ", ".join(str(float(i)) for i in range(64))
    text = f"""
"memref.global"() <{{sym_name = "start", sym_visibility = "private",
    type = memref<64xf32, "L3">, constant,
    initial_value = dense<[{start}]> : tensor<64xf32>}}> : () -> ()
{function('%x: memref<4x64xf32, "L3">, %y: memref<64xf32, "L3">', body)}"""
    x = random(4, 64)
    got = check(text, {"x": x})["y"]
    expected = np.arange(64, dtype=np.float32) + x[0] + x[2]
    np.testing.assert_allclose(got, expected, rtol=1e-6)


def test_plan_of_a_host_loop(plan_of: Callable[[str], Plan]) -> None:
    body = f"""
  scf.for %row = %c0 to %c4 step %c2 {{
    "scf.parallel"(%c0, %c64, %c32) {ONE} ({{
    ^bb0(%i: index):
      %v = mem.load %x[%row, %i] size [1, 32]
          : memref<4x64xf32, "L3"> -> tensor<1x32xf32>
      mem.store %v to %y[%row, %i] : tensor<1x32xf32> to memref<4x64xf32, "L3">
      scf.reduce
    }}) {GRID}
  }}"""
    buffers = '%x: memref<4x64xf32, "L3">, %y: memref<4x64xf32, "L3">'
    plan = plan_of(function(buffers, body))
    (loop,) = plan.steps
    assert isinstance(loop, HostLoop)
    assert (loop.lower, loop.upper, loop.step) == (0, 4, 2)
    # The rows of all iterations are in bounds, so that nothing is masked.
    assert "mask" not in plan.kernels[0].source
    assert plan.kernels[0].grid == (2,)


def test_views(check: Check) -> None:
    """
    Every second column from 3 on of a row that the grid chooses, reversed by a reshape.
    """
    body = f"""
  %r = memref.reinterpret_cast %x to offset: [0], sizes: [4, 40], strides: [40, 1]
      : memref<160xf32, "L3"> to memref<4x40xf32, "L3">
  "scf.parallel"(%c0, %c4, %c1) {ONE} ({{
  ^bb0(%i: index):
    %s = memref.subview %r[%i, 3] [1, 15] [1, 2] : memref<4x40xf32, "L3">
        to memref<1x15xf32, strided<[40, 2], offset: ?>, "L3">
    %v = mem.load %s[0, 0] size [1, 16] fill 0.0
        : memref<1x15xf32, strided<[40, 2], offset: ?>, "L3"> -> tensor<1x16xf32>
    mem.store %v to %y[%i, 0] : tensor<1x16xf32> to memref<4x16xf32, "L3">
    scf.reduce
  }}) {GRID}"""
    text = function('%x: memref<160xf32, "L3">, %y: memref<4x16xf32, "L3">', body)
    x = random(160)
    expected = np.zeros((4, 16), np.float32)
    expected[:, :15] = x.reshape(4, 40)[:, 3:33:2]
    np.testing.assert_array_equal(check(text, {"x": x})["y"], expected)


def test_inner_parallel_loop_and_order(check: Check) -> None:
    body = f"""
  "scf.parallel"(%c0, %c0, %c4, %c3, %c1, %c1) {TWO} ({{
  ^bb0(%i: index, %j: index):
    "scf.parallel"(%c0, %c0, %c30, %c2, %c16, %c1) {TWO} ({{
    ^bb1(%k: index, %l: index):
      %v = mem.load %x[%i, %j, %k, %l] size [1, 1, 16, 1]
          : memref<4x3x30x2xf32, "L3"> -> tensor<1x1x16x1xf32>
      mem.store %v to %y[%i, %j, %k, %l]
          : tensor<1x1x16x1xf32> to memref<4x3x30x2xf32, "L3">
      scf.reduce
    }}) {{mapping = "loop", order = array<i64: 1, 0>}}
        : (index, index, index, index, index, index) -> ()
    scf.reduce
  }}) {{mapping = "grid", order = array<i64: 1, 0>}}
      : (index, index, index, index, index, index) -> ()"""
    buffer = 'memref<4x3x30x2xf32, "L3">'
    x = random(4, 3, 30, 2)
    got = check(function(f"%x: {buffer}, %y: {buffer}", body), {"x": x})["y"]
    np.testing.assert_array_equal(got, x)


def test_stores_seen_by_later_loads(check: Check) -> None:
    """
    A program that loads what it stored needs a barrier on a GPU.
    """
    body = f"""
  %t = mem.alloc : memref<64xf32, "L3">
  "scf.parallel"(%c0, %c64, %c32) {ONE} ({{
  ^bb0(%i: index):
    %v = mem.load %x[%i] size [32] : memref<64xf32, "L3"> -> tensor<32xf32>
    mem.store %v to %t[%i] : tensor<32xf32> to memref<64xf32, "L3">
    %w = mem.load %t[%i] size [32] : memref<64xf32, "L3"> -> tensor<32xf32>
    mem.store %w to %y[%i] : tensor<32xf32> to memref<64xf32, "L3">
    scf.reduce
  }}) {GRID}"""
    text = function('%x: memref<64xf32, "L3">, %y: memref<64xf32, "L3">', body)
    x = random(64)
    np.testing.assert_array_equal(check(text, {"x": x})["y"], x)


def test_barriers(plan_of: Callable[[str], Plan]) -> None:
    body = """
  %v = mem.load %x[0] size [32] : memref<64xf32, "L3"> -> tensor<32xf32>
  mem.store %v to %x[32] : tensor<32xf32> to memref<64xf32, "L3">
  mem.store %v to %y[0] : tensor<32xf32> to memref<64xf32, "L3">"""
    text = function('%x: memref<64xf32, "L3">, %y: memref<64xf32, "L3">', body)
    lines = plan_of(text).kernels[0].source.splitlines()
    kinds = [
        "barrier" if "debug_barrier" in line else "store"
        for line in lines
        if "debug_barrier" in line or "tl.store" in line
    ]
    assert kinds == ["barrier", "store", "barrier", "store"]


def test_offsets_beyond_32_bits(
    plan_of: Callable[[str], Plan], compile_plan: Callable[[Plan], None]
) -> None:
    body = f"""
  %n = arith.constant 70000 : index
  "scf.parallel"(%c0, %n, %c16) {ONE} ({{
  ^bb0(%i: index):
    scf.for %k = %c0 to %n step %c64 {{
      %v = mem.load %x[%i, %k] size [16, 64]
          : memref<70000x70000xf32, "L3"> -> tensor<16x64xf32>
      mem.store %v to %x[%i, %k]
          : tensor<16x64xf32> to memref<70000x70000xf32, "L3">
    }}
    scf.reduce
  }}) {GRID}"""
    plan = plan_of(function('%x: memref<70000x70000xf32, "L3">', body, 0))
    source = plan.kernels[0].source
    assert "tl.program_id(0).to(tl.int64)" in source
    assert source.count(".to(tl.int64)") > 2
    compile_plan(plan)
    small = plan_of(
        function('%x: memref<7000x7000xf32, "L3">', body.replace("0000", "000"), 0)
    )
    assert "int64" not in small.kernels[0].source


def test_valid_extents_inside_a_larger_row(check: Check) -> None:
    """
    Pieces of 48 columns of a row of 100, the last of 4, in tiles of 64.
    """
    body = f"""
  %c48 = arith.constant 48 : index
  "scf.parallel"(%c0, %c0, %c30, %c100, %c16, %c48) {TWO} ({{
  ^bb0(%i: index, %j: index):
    %v = mem.load %x[%i, %j] size [16, 48] fill 3.0
        : memref<30x100xf32, "L3"> -> tensor<16x64xf32>
    %s = mem.fill 0.0 -> tensor<16xf32>
    %r = mem.reduce ins(%v : tensor<16x64xf32>) outs(%s : tensor<16xf32>)
        domain [16, 64]
        maps [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0)>] {{
    ^bb1(%a: f32, %b: f32):
      %c = arith.addf %a, %b : f32
      mem.yield %c : f32
    }} -> tensor<16xf32>
    %m = mem.mask %v at [%i, %j] bounds [30, 100] valid [16, 40] fill 5.0
        : tensor<16x64xf32> -> tensor<16x64xf32>
    mem.store %m to %y[%i, %j] size [16, 48]
        : tensor<16x64xf32> to memref<30x100xf32, "L3">
    %k = arith.floordivsi %j, %c48 : index
    %w = mem.map ins(%r : tensor<16xf32>) domain [16, 1]
        maps [affine_map<(d0, d1) -> (d0)>, affine_map<(d0, d1) -> (d0, d1)>] {{
    ^bb1(%a: f32):
      mem.yield %a : f32
    }} -> tensor<16x1xf32>
    mem.store %w to %sums[%i, %k] : tensor<16x1xf32> to memref<30x3xf32, "L3">
    scf.reduce
  }}) {{mapping = "grid"}} : (index, index, index, index, index, index) -> ()"""
    buffers = '%x: memref<30x100xf32, "L3">, %y: memref<30x100xf32, "L3">'
    text = function(f'{buffers}, %sums: memref<30x3xf32, "L3">', body, 2)
    x = random(30, 100)
    got = check(text, {"x": x})
    expected = x.copy()
    expected[:, 40:48] = expected[:, 88:96] = 5
    np.testing.assert_array_equal(got["y"], expected)
    sums = [x[:, j : j + 48].sum(axis=1) for j in (0, 48, 96)]
    padded = np.stack(sums, axis=1) + 3 * np.array([16, 16, 60])
    np.testing.assert_allclose(got["sums"], padded, rtol=1e-5)
