"""Lower bounds are what they say: never more than what a schedule needs."""

import pytest
import zoo
from bounded import bounds_in as bounds_on
from bounded import function_of, read
from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp

from tlf.analysis.bounds.lower_bounds import (
    LowerBounds,
    inner_capacity_of,
    lower_bounds_of,
    lower_bounds_of_partition,
    outer_groups_of,
)
from tlf.analysis.bounds.matmul_traffic import min_words_moved_by_matmul
from tlf.compiler.driver.driver import PASSES, new_context, parse_module
from tlf.compiler.driver.pass_manager import PassManager
from tlf.compiler.driver.pipeline import build_passes
from tlf.compiler.driver.source import Source
from tlf.dialects.target import TargetSpec, load_target_spec
from tlf.lowering.pipelines import PIPELINES

NPU = load_target_spec("npu")
TINY = load_target_spec("npu-tiny")


def optimised(module: ModuleOp) -> func.FuncOp:
    PassManager(build_passes("graph-pipeline", PASSES, PIPELINES)).run(
        new_context(), module
    )
    return function_of(module)


def bounds_in(text: str, target: TargetSpec = NPU) -> LowerBounds:
    return bounds_on(text, target)


def zoo_bounds(name: str, size: int, batch: int = 1) -> LowerBounds:
    module = zoo.WORKLOADS[name].module(size, batch, "f16")
    return lower_bounds_of(optimised(module), NPU)


@pytest.mark.parametrize(
    ("size", "batch", "megabytes"),
    [(56, 1, 3.35), (224, 1, 51.52), (1024, 1, 1073.88), (1024, 32, 34359.88)],
)
def test_bytes_of_a_bottleneck(size: int, batch: int, megabytes: float):
    image = 256 * size * size * batch
    weights = 256 * 64 + 9 * 64 * 64 + 64 * 256
    shifts = 64 + 64 + 256

    bounds = zoo_bounds("bottleneck", size, batch)

    # Normalization leaves shifts in f32.
    assert bounds.payload_bytes == 2 * (2 * image + weights) + 4 * shifts
    assert round(bounds.payload_bytes / 1e6, 2) == megabytes
    assert bounds.extra_traffic == ()


@pytest.mark.parametrize(
    ("size", "megabytes"),
    [(224, 51.4), pytest.param(1024, 57.4, marks=pytest.mark.long)],
)
def test_bytes_of_resnet50(size: int, megabytes: float):
    convolutions, shifts = 23_454_912, 26_560
    classes = 2048 * 1000 + 1000

    bounds = zoo_bounds("resnet50", size)

    moved = 3 * size * size + convolutions + classes + 1000
    assert bounds.payload_bytes == 2 * moved + 4 * shifts
    assert round(bounds.payload_bytes / 1e6, 1) == megabytes


def test_a_skip_between_groups_is_read_twice():
    function = read("""
func.func @f(%x: tensor<64x64xf32>) -> tensor<64x64xf32> {
  %a = graph.group ins(%p = %x : tensor<64x64xf32>) -> (tensor<64x64xf32>) {
    %0 = graph.exp %p : tensor<64x64xf32>
    graph.yield %0 : tensor<64x64xf32>
  }
  %b = graph.group ins(%p = %a, %q = %x : tensor<64x64xf32>, tensor<64x64xf32>)
      -> (tensor<64x64xf32>) {
    %0 = graph.add %p, %q : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
    graph.yield %0 : tensor<64x64xf32>
  }
  func.return %b : tensor<64x64xf32>
}
""")
    tensor = 64 * 64 * 4

    assert lower_bounds_of(function, NPU).payload_bytes == 2 * tensor
    parts = lower_bounds_of_partition(outer_groups_of(function), NPU)
    assert parts.payload_bytes == 5 * tensor
    assert [
        lower_bounds_of(each, NPU).payload_bytes for each in outer_groups_of(function)
    ] == [
        2 * tensor,
        3 * tensor,
    ]
    assert parts.breakdown.vector_steps == 64 * 64 * (4 + 1)


def test_what_is_near_is_not_moved():
    program = """
      func.func @f(%x: tensor<64x1024xf32>, %y: tensor<64x1024xf32>)
          -> tensor<64x1024xf32> {
        %s = graph.add %x, %y : (tensor<64x1024xf32>, tensor<64x1024xf32>)
            -> tensor<64x1024xf32>
        func.return %s : tensor<64x1024xf32>
      }
    """
    function, tensor = read(program), 64 * 1024 * 4
    add, _ = function.body.block.ops
    first, result = add.operands[0], add.results[0]

    assert lower_bounds_of(function, NPU).payload_bytes == 3 * tensor
    assert lower_bounds_of(function, NPU, {first}).bus_bytes == 2 * tensor
    assert lower_bounds_of(function, NPU, {first, result}).payload_bytes == tensor


def test_what_is_near_under_another_shape_is_not_moved():
    function = read("""
      func.func @f(%x: tensor<64x48xf32>) -> tensor<4x12x64xf32> {
        %t = graph.transpose %x permutation [1, 0]
            : (tensor<64x48xf32>) -> tensor<48x64xf32>
        %y = graph.reshape %t : (tensor<48x64xf32>) -> tensor<4x12x64xf32>
        func.return %y : tensor<4x12x64xf32>
      }
    """)
    _, reshape, _ = function.body.block.ops

    assert (
        lower_bounds_of(function, NPU, {*reshape.results}).payload_bytes == 64 * 48 * 4
    )


def test_only_what_is_read_counts():
    """A convolution of 1x1 and stride 2 reads a quarter of its image."""
    bounds = bounds_in("""
func.func @f(%x: tensor<1x8x16x16xf16>, %w: tensor<4x8x1x1xf16>, %u: tensor<64xf16>,
             %unused: tensor<4096xf16>) -> (tensor<1x4x8x8xf16>, tensor<4xf16>) {
  %0 = graph.conv2d %x, %w strides [2, 2]
      : (tensor<1x8x16x16xf16>, tensor<4x8x1x1xf16>) -> tensor<1x4x8x8xf16>
  %1 = graph.exp %u : tensor<64xf16>
  %2 = graph.slice %1 offsets [8] strides [1] : (tensor<64xf16>) -> tensor<4xf16>
  func.return %0, %2 : tensor<1x4x8x8xf16>, tensor<4xf16>
}
""")

    assert bounds.payload_bytes == 2 * (8 * 8 * 8 + 4 * 8 + 4 + 4 * 8 * 8 + 4)
    # All bursts of the image have an element that is read: 16 of 256 bytes.
    assert bounds.bus_bytes == 256 * (16 + 1 + 1 + 2 + 1)


def test_parts_that_are_read_apart_count_together():
    """Without each of two halves, a product of both could leave out its weights."""
    bounds = bounds_in("""
func.func @f(%x: tensor<4x8xf32>, %w: tensor<8x32xf32>)
    -> (tensor<4x16xf32>, tensor<4x16xf32>, tensor<4x16xf32>) {
  %0 = graph.matmul %x, %w : (tensor<4x8xf32>, tensor<8x32xf32>) -> tensor<4x32xf32>
  %1 = graph.slice %0 offsets [0, 8] strides [1, 1]
      : (tensor<4x32xf32>) -> tensor<4x16xf32>
  %2 = graph.slice %0 offsets [0, 0] strides [1, 1]
      : (tensor<4x32xf32>) -> tensor<4x16xf32>
  %3 = graph.slice %0 offsets [0, 16] strides [1, 1]
      : (tensor<4x32xf32>) -> tensor<4x16xf32>
  %4 = graph.exp %1 : tensor<4x16xf32>
  %5 = graph.exp %2 : tensor<4x16xf32>
  %6 = graph.exp %3 : tensor<4x16xf32>
  func.return %4, %5, %6 : tensor<4x16xf32>, tensor<4x16xf32>, tensor<4x16xf32>
}
""")

    assert bounds.payload_bytes == 4 * (4 * 8 + 8 * 32 + 3 * 4 * 16)
    assert bounds.bus_bytes == 256 * (1 + 4 + 3)


def test_a_last_row_that_no_window_reads_is_all_that_is_not_counted():
    """Of 33 x 35 pixels windows read 32 x 34, and so does the product before them."""
    bounds = bounds_in("""
func.func @f(%x: tensor<1x8x33x35xf16>, %w: tensor<20x8x1x1xf16>)
    -> tensor<1x20x16x17xf16> {
  %0 = graph.conv2d %x, %w
      : (tensor<1x8x33x35xf16>, tensor<20x8x1x1xf16>) -> tensor<1x20x33x35xf16>
  %1 = graph.relu %0 : tensor<1x20x33x35xf16>
  %2 = graph.max_pool2d %1 kernel [2, 2] strides [2, 2]
      : (tensor<1x20x33x35xf16>) -> tensor<1x20x16x17xf16>
  func.return %2 : tensor<1x20x16x17xf16>
}
""")

    assert bounds.payload_bytes == 2 * (8 * 32 * 34 + 20 * 8 + 20 * 16 * 17)
    assert bounds.macs == 20 * 8 * 32 * 34


def test_what_a_part_of_a_product_reads():
    """Rows 4 to 7 of windows of three rows read rows 3 to 8; channels are all read."""
    bounds = bounds_in("""
func.func @f(%x: tensor<1x8x16x16xf32>, %w: tensor<4x8x3x1xf32>)
    -> tensor<1x4x4x16xf32> {
  %0 = graph.conv2d %x, %w padding [1, 0, 1, 0]
      : (tensor<1x8x16x16xf32>, tensor<4x8x3x1xf32>) -> tensor<1x4x16x16xf32>
  %1 = graph.slice %0 offsets [0, 0, 4, 0] strides [1, 1, 1, 1]
      : (tensor<1x4x16x16xf32>) -> tensor<1x4x4x16xf32>
  %2 = graph.exp %1 : tensor<1x4x4x16xf32>
  func.return %2 : tensor<1x4x4x16xf32>
}
""")

    assert bounds.payload_bytes == 4 * (8 * 6 * 16 + 4 * 8 * 3 + 4 * 4 * 16)


def test_weights_that_multiply_only_zeros_need_not_be_read():
    bounds = bounds_in("""
func.func @f(%x: tensor<1x8x1x2xf16>, %w: tensor<4x8x3x3xf16>) -> tensor<1x4x1x2xf16> {
  %0 = graph.conv2d %x, %w padding [1, 1, 1, 1]
      : (tensor<1x8x1x2xf16>, tensor<4x8x3x3xf16>) -> tensor<1x4x1x2xf16>
  func.return %0 : tensor<1x4x1x2xf16>
}
""")

    assert bounds.payload_bytes == 2 * (8 * 2 + 4 * 8 * 3 + 4 * 2)
    assert bounds.macs == 4 * 8 * 2 * 2


def test_views_and_arguments_are_not_written():
    bounds = bounds_in("""
func.func @f(%x: tensor<4x8xf32>) -> (tensor<32xf32>, tensor<4x8xf32>, tensor<32xf32>) {
  %0 = graph.reshape %x : (tensor<4x8xf32>) -> tensor<32xf32>
  %1 = graph.exp %x : tensor<4x8xf32>
  %2 = graph.reshape %1 : (tensor<4x8xf32>) -> tensor<32xf32>
  func.return %0, %1, %2 : tensor<32xf32>, tensor<4x8xf32>, tensor<32xf32>
}
""")

    assert bounds.payload_bytes == 2 * 32 * 4


def test_indices_may_read_nothing():
    bounds = bounds_in("""
func.func @f(%t: tensor<50000x64xf32>, %i: tensor<7xi32>) -> tensor<7x64xf32> {
  %0 = graph.take %t, %i axis 0
      : (tensor<50000x64xf32>, tensor<7xi32>) -> tensor<7x64xf32>
  func.return %0 : tensor<7x64xf32>
}
""")

    assert bounds.payload_bytes == 7 * 4 + 7 * 64 * 4


PRODUCT = """
func.func @f(%a: tensor<{m}x{k}xf32>, %b: tensor<{k}x{n}xf32>, %s: tensor<{m}x{n}xf32>)
    -> tensor<{m}x{n}xf32> {{
  %0 = graph.matmul %a, %b
      : (tensor<{m}x{k}xf32>, tensor<{k}x{n}xf32>) -> tensor<{m}x{n}xf32>
  %1 = graph.add %0, %s
      : (tensor<{m}x{n}xf32>, tensor<{m}x{n}xf32>) -> tensor<{m}x{n}xf32>
  %2 = graph.exp %1 : tensor<{m}x{n}xf32>
  func.return %2 : tensor<{m}x{n}xf32>
}}
"""


def test_a_product_of_large_inputs_moves_them_again():
    text = PRODUCT.format(m=512, n=512, k=512)
    words = inner_capacity_of(TINY) // 4
    once = 4 * 512 * 512

    bounds = bounds_in(text, TINY)

    (cut,) = bounds.extra_traffic
    assert cut.kind == "product"
    assert cut.bytes == 4 * min_words_moved_by_matmul(512, 512, 512, words) - 3 * once
    assert bounds.payload_bytes == 4 * once + cut.bytes
    # A block of the result stays near, strips of both inputs go by.
    side = 128
    assert side * side + 2 * side <= words
    needed = 512**3 * (1 / side + 1 / side) + 512 * 512
    assert bounds.payload_bytes - once <= 4 * needed
    assert bounds_in(text, NPU).extra_traffic == ()


def test_a_product_whose_result_is_used_nearby_moves_nothing_again():
    """Its elements need not be kept, so that the bound does not hold."""
    text = """
func.func @f(%a: tensor<512x512xf32>, %b: tensor<512x512xf32>) -> tensor<512xf32> {
  %0 = graph.matmul %a, %b
      : (tensor<512x512xf32>, tensor<512x512xf32>) -> tensor<512x512xf32>
  %1 = graph.reduce %0 <sum> axes [1] : (tensor<512x512xf32>) -> tensor<512xf32>
  func.return %1 : tensor<512xf32>
}
"""
    assert bounds_in(text, TINY).extra_traffic == ()


NORM = """
func.func @f(%x: tensor<4x{n}xf32>) -> tensor<4x{n}xf32> {{
  %s = graph.reduce %x <{kind}> axes [{axes}] keepdims
      : (tensor<4x{n}xf32>) -> tensor<{sums}xf32>
  %h = graph.cast %x : (tensor<4x{n}xf32>) -> tensor<4x{n}x{kept}>
  %w = graph.cast %h : (tensor<4x{n}x{kept}>) -> tensor<4x{n}xf32>
  %y = graph.sub %w, %s : (tensor<4x{n}xf32>, tensor<{sums}xf32>) -> tensor<4x{n}xf32>
  func.return %y : tensor<4x{n}xf32>
}}
"""


@pytest.mark.parametrize(
    ("axes", "sums", "kept", "parts", "size"),
    [
        # The sum of all: what does not fit near is read again.
        ("0, 1", "1x1", "f32", 1, 4 * 40000 * 4),
        # The sum of each row: as much of each.
        ("1", "4x1", "f32", 4, 40000 * 4),
        # It may be kept as halves, half as large.
        ("0, 1", "1x1", "f16", 1, 4 * 40000 * 2),
    ],
)
def test_inputs_are_read_again_where_results_wait_for_all(
    axes: str, sums: str, kept: str, parts: int, size: int
):
    near = inner_capacity_of(TINY)
    text = NORM.format(n=40000, kind="sum", axes=axes, sums=sums, kept=kept)

    bounds = bounds_in(text, TINY)

    (cut,) = bounds.extra_traffic
    assert (cut.kind, cut.bytes) == ("barrier", parts * (size - near))
    assert bounds.payload_bytes == 2 * 4 * 40000 * 4 + cut.bytes
    assert bounds_in(text, NPU).extra_traffic == ()


@pytest.mark.parametrize(
    "body",
    [
        # Each element waits for its own column only.
        "%s = graph.reduce %x <sum> axes [0] keepdims "
        ": (tensor<4x40000xf32>) -> tensor<1x40000xf32>\n"
        "%y = graph.sub %x, %s "
        ": (tensor<4x40000xf32>, tensor<1x40000xf32>) -> tensor<4x40000xf32>",
        # Nothing of the input is needed after the sum.
        "%s = graph.reduce %x <sum> axes [0, 1] keepdims "
        ": (tensor<4x40000xf32>) -> tensor<1x1xf32>\n"
        "%y = graph.broadcast %s : (tensor<1x1xf32>) -> tensor<4x40000xf32>",
        # An element waits for those before it only.
        "%y = graph.cumulate %x <sum> axis 1 "
        ": (tensor<4x40000xf32>) -> tensor<4x40000xf32>",
        # The sum of a small part says nothing of the rest.
        "%p = graph.slice %x offsets [0, 0] strides [1, 1] "
        ": (tensor<4x40000xf32>) -> tensor<4x100xf32>\n"
        "%s = graph.reduce %p <sum> axes [0, 1] keepdims "
        ": (tensor<4x100xf32>) -> tensor<1x1xf32>\n"
        "%y = graph.sub %x, %s "
        ": (tensor<4x40000xf32>, tensor<1x1xf32>) -> tensor<4x40000xf32>",
    ],
)
def test_no_barrier_where_results_need_not_wait(body: str):
    text = (
        "func.func @f(%x: tensor<4x40000xf32>) -> tensor<4x40000xf32> {\n"
        f"{body}\nfunc.return %y : tensor<4x40000xf32>\n}}"
    )
    assert bounds_in(text, TINY).extra_traffic == ()


def test_a_whole_softmax_is_a_barrier():
    text = """
func.func @f(%x: tensor<2x40000xf32>) -> tensor<2x40000xf32> {
  %y = graph.softmax %x axis 1 : (tensor<2x40000xf32>) -> tensor<2x40000xf32>
  func.return %y : tensor<2x40000xf32>
}
"""
    again = 2 * (40000 * 4 - inner_capacity_of(TINY))

    decomposed = lower_bounds_of(
        optimised(parse_module(new_context(), Source(text, "f"))), TINY
    )
    assert [cut.bytes for cut in decomposed.extra_traffic] == [again]


def test_vector_work_counts_what_cannot_be_left_out():
    bounds = bounds_in("""
func.func @f(%x: tensor<8x16xf16>, %w: tensor<16x32xf16>, %b: tensor<32xf16>)
    -> (tensor<8x32xf16>, tensor<8xf16>) {
  %0 = graph.matmul %x, %w
      : (tensor<8x16xf16>, tensor<16x32xf16>) -> tensor<8x32xf16>
  %1 = graph.add %0, %b : (tensor<8x32xf16>, tensor<32xf16>) -> tensor<8x32xf16>
  %2 = graph.relu %1 : tensor<8x32xf16>
  %3 = graph.exp %2 : tensor<8x32xf16>
  %4 = graph.reduce %3 <max> axes [1] : (tensor<8x32xf16>) -> tensor<8xf16>
  func.return %3, %4 : tensor<8x32xf16>, tensor<8xf16>
}
""")

    # The sum is what the product starts from; a maximum of 32 takes 31 steps.
    assert bounds.breakdown.vector_steps == 8 * 32 * (1 + 4) + 8 * 31
    assert bounds.macs == 8 * 16 * 32
