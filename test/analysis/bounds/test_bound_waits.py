"""Bounds that come of the order of operations and of what can be near in between."""

from itertools import product

import pytest
from bounded import bounds_in, read
from needed_elements import Elements
from xdsl.ir import SSAValue

from tlf.analysis.bounds.backward_slices import BackwardSlices
from tlf.analysis.bounds.dataflow import DataflowGraph
from tlf.analysis.bounds.forward_slices import ForwardSlices
from tlf.analysis.bounds.head_tail_latency import NO_LATENCY
from tlf.analysis.bounds.lower_bounds import inner_capacity_of, lower_bounds_of
from tlf.analysis.bounds.op_work import OpWork
from tlf.analysis.bounds.operand_reads import OperandReads, tensor_shape_of
from tlf.analysis.bounds.outer_loads import StepLoads
from tlf.analysis.bounds.strided_runs import single_element_box
from tlf.analysis.bounds.tensor_demand import tensor_demands_of
from tlf.analysis.bounds.vector_steps import VectorSteps
from tlf.analysis.work.engine_throughput import Engines
from tlf.dialects.target import load_target_spec
from tlf.dialects.types import itemsize_of

TINY = load_target_spec("npu-tiny")
WAY = (4 + 500) + (1 + 50)
"""Cycles of a burst between the outermost memory and the nearest."""

IMAGES = """
func.func @images(%x: tensor<1x2x6x5xf16>, %w: tensor<3x2x3x3xf16>,
    %v: tensor<3x3x3x3xf16>, %u: tensor<2x3x1x1xf16>) -> tensor<1x2x3x3xf16> {
  %0 = graph.conv2d %x, %w padding [1, 1, 1, 1]
      : (tensor<1x2x6x5xf16>, tensor<3x2x3x3xf16>) -> tensor<1x3x6x5xf16>
  %1 = graph.relu %0 : tensor<1x3x6x5xf16>
  %2 = graph.conv2d %1, %v strides [2, 2] padding [1, 1, 1, 1]
      : (tensor<1x3x6x5xf16>, tensor<3x3x3x3xf16>) -> tensor<1x3x3x3xf16>
  %3 = graph.max_pool2d %2 kernel [3, 3] padding [1, 1, 1, 1]
      : (tensor<1x3x3x3xf16>) -> tensor<1x3x3x3xf16>
  %4 = graph.add %2, %3
      : (tensor<1x3x3x3xf16>, tensor<1x3x3x3xf16>) -> tensor<1x3x3x3xf16>
  %5 = graph.conv2d %4, %u
      : (tensor<1x3x3x3xf16>, tensor<2x3x1x1xf16>) -> tensor<1x2x3x3xf16>
  func.return %5 : tensor<1x2x3x3xf16>
}
"""
ROWS = """
func.func @rows(%x: tensor<3x4xf16>, %w: tensor<4x5xf16>, %v: tensor<5x6xf16>)
    -> tensor<6xf16> {
  %0 = graph.matmul %x, %w : (tensor<3x4xf16>, tensor<4x5xf16>) -> tensor<3x5xf16>
  %1 = graph.slice %0 offsets [0, 0] strides [2, 1]
      : (tensor<3x5xf16>) -> tensor<2x5xf16>
  %2 = graph.transpose %1 permutation [1, 0] : (tensor<2x5xf16>) -> tensor<5x2xf16>
  %3 = graph.transpose %2 permutation [1, 0] : (tensor<5x2xf16>) -> tensor<2x5xf16>
  %4 = graph.matmul %3, %v : (tensor<2x5xf16>, tensor<5x6xf16>) -> tensor<2x6xf16>
  %5 = graph.reduce %4 <sum> axes [0] : (tensor<2x6xf16>) -> tensor<6xf16>
  func.return %5 : tensor<6xf16>
}
"""


@pytest.mark.parametrize("text", [IMAGES, ROWS])
def test_no_element_needs_less_or_is_needed_less(text: str):
    flow = DataflowGraph.of(read(text))
    needs, reads = tensor_demands_of(flow, 1), OperandReads(flow)
    op_work = OpWork(Engines.of(TINY), needs, VectorSteps(flow, needs, TINY))
    cones = BackwardSlices(reads, op_work, flow.inputs)
    fans = ForwardSlices(reads, op_work, StepLoads(flow, flow.inputs, op_work), {})
    elements = Elements(flow)

    for number, op in enumerate(flow.operations):
        result, shape = op.results[0], tensor_shape_of(op.results[0])
        places = [(result, index) for index in product(*map(range, shape))]
        cone = cones.backward_slice_of(number, single_element_box(shape))
        before = [elements.before(each) for each in places]
        assert sum(each.macs for each in cone.engine_work) <= min(n for _, n in before)
        assert cone.read_bytes <= min(read_of(flow, found) for found, _ in before)
        assert cone.read_bytes > 0
        fan = fans.forward_slice_of(number, single_element_box(shape))
        after = [elements.after(each) for each in places]
        assert sum(each.macs for each in fan.engine_work) <= min(n for _, n in after)
        assert fan.read_bytes <= min(read_of(flow, found) for found, _ in after)


def read_of(flow: DataflowGraph, found: set[tuple[SSAValue, tuple[int, ...]]]) -> int:
    """The bytes of inputs among elements."""
    return sum(itemsize_of(value) for value, _ in found if value in flow.inputs)


def test_an_element_in_a_corner_needs_less_of_its_windows():
    flow = DataflowGraph.of(read(IMAGES))
    needs, reads = tensor_demands_of(flow, 1), OperandReads(flow)
    op_work = OpWork(Engines.of(TINY), needs, VectorSteps(flow, needs, TINY))

    cone = BackwardSlices(reads, op_work, flow.inputs).backward_slice_of(
        2, single_element_box((1, 3, 3, 3))
    )

    # 2 x 2 of the 3 x 3 taps, twice: the first time for each of 2 x 2 elements.
    products = [each.macs for each in cone.engine_work if each.macs]
    assert products == [3 * 2 * 2, 3 * 2 * (2 * 2) * (2 * 2)]
    # One element or the other reads each of the 3 x 3 weights.
    image, weights, others = 2 * 3 * 3, 3 * 2 * 3 * 3, 3 * 2 * 2
    assert cone.read_bytes == 2 * (image + weights + others)


STAGES = """
func.func @stages(%x: tensor<1024x64xf16>, %w: tensor<64x64xf16>,
    %u: tensor<64x64xf16>, %v: tensor<64x4096xf16>) -> tensor<1x4096xf16> {
  %0 = graph.matmul %x, %w
      : (tensor<1024x64xf16>, tensor<64x64xf16>) -> tensor<1024x64xf16>
  %1 = graph.reduce %0 <max> axes [0] keepdims
      : (tensor<1024x64xf16>) -> tensor<1x64xf16>
  %2 = graph.matmul %1, %u : (tensor<1x64xf16>, tensor<64x64xf16>) -> tensor<1x64xf16>
  %3 = graph.matmul %2, %v
      : (tensor<1x64xf16>, tensor<64x4096xf16>) -> tensor<1x4096xf16>
  func.return %3 : tensor<1x4096xf16>
}
"""
WEIGHTS = 64 * 4096 * 2


def test_what_cannot_be_near_is_read_afterwards():
    """
    Once %0 is complete, all of its products are done, and for its last element nothing
    else: it goes to an element of %1, and that to the products of a row of %u. These go
    to all of %2, so that all of %v is read.
    """
    bounds = bounds_in(STAGES, TINY)

    late = WEIGHTS + 64 * 2 - inner_capacity_of(TINY)
    assert bounds.binding == "capacity"
    assert bounds.breakdown.stall.late_bytes == late
    before = WAY + 1024 * 64 * 64 // 64
    assert bounds.cycles == before + (late + 4096 * 2) // 64 + 500


@pytest.mark.parametrize("kib", [64, 128, 512, 4096])
def test_the_more_is_near_the_less_is_read_afterwards(kib: int):
    target = TINY.with_capacities({"L2": kib << 10})

    found = bounds_in(STAGES, target)

    late = max(0, WEIGHTS + 64 * 2 - inner_capacity_of(target))
    all_products = (1024 * 64 + 64 + 4096) * 64 // 64
    in_turn = WAY + 1024 * 64 + (late + 4096 * 2) // 64 + 500
    assert found.cycles == max(in_turn, WAY + all_products + WAY + 14)
    assert found.binding == ("capacity" if kib <= 128 else "matrix")


def test_nothing_waits_for_what_may_be_corrected_later():
    """The sum of a softmax divides what is summed with it, before or after."""
    bounds = bounds_in(
        """
func.func @f(%x: tensor<64x4096xf16>, %v: tensor<4096x64xf16>) -> tensor<64x64xf16> {
  %0 = graph.reduce %x <max> axes [1] keepdims
      : (tensor<64x4096xf16>) -> tensor<64x1xf16>
  %1 = graph.sub %x, %0
      : (tensor<64x4096xf16>, tensor<64x1xf16>) -> tensor<64x4096xf16>
  %2 = graph.matmul %1, %v
      : (tensor<64x4096xf16>, tensor<4096x64xf16>) -> tensor<64x64xf16>
  func.return %2 : tensor<64x64xf16>
}
""",
        TINY,
    )
    assert bounds.breakdown.stall.late_bytes == 0


def test_what_comes_before_and_after_all_work():
    """A product of one tile: there, through the array, and back."""
    text = """
func.func @f(%x: tensor<8x8xf16>, %w: tensor<8x8xf16>) -> tensor<8x8xf16> {
  %0 = graph.matmul %x, %w : (tensor<8x8xf16>, tensor<8x8xf16>) -> tensor<8x8xf16>
  func.return %0 : tensor<8x8xf16>
}
"""
    ends = bounds_in(text, TINY).breakdown.latency

    assert ends.heads == (WAY - 4, WAY, WAY)
    assert ends.tails == (500, WAY + 14, WAY + 4)
    assert bounds_in(text, TINY).cycles == WAY + 8 + WAY + 14
    function = read(text)
    (x, _) = function.body.block.args
    assert lower_bounds_of(function, TINY, {x}).breakdown.latency == NO_LATENCY
    assert bounds_in(text, load_target_spec("h200")).breakdown.latency.heads == (
        0,
        0,
        0,
    )


def test_an_engine_may_start_with_numbers_of_the_program():
    ends = bounds_in(
        """
func.func @f(%x: tensor<4x8xf32>) -> (tensor<4x8xf32>, tensor<4x8xf32>) {
  %c = graph.constant dense<1.0> : tensor<4x8xf32>
  %0 = graph.exp %c : tensor<4x8xf32>
  %1 = graph.exp %x : tensor<4x8xf32>
  func.return %0, %1 : tensor<4x8xf32>, tensor<4x8xf32>
}
""",
        TINY,
    ).breakdown.latency

    assert ends.heads.vector == 0
    assert ends.heads.matrix == WAY


def test_registers_of_a_gpu_are_near():
    target = load_target_spec("h200")

    assert target.gpu is not None
    cores = Engines.of(target).engine_count
    registers = 4 * target.gpu.registers * cores
    shared = target.levels["L1"].capacity * cores
    assert (
        inner_capacity_of(target) == registers + shared + target.levels["L2"].capacity
    )


def test_conversions_may_be_near_in_their_narrowest_form():
    flow = DataflowGraph.of(
        read(
            """
func.func @f(%x: tensor<6x8xf16>, %w: tensor<6x8xf32>, %s: tensor<8xf16>)
    -> tensor<6x6xf16> {
  %0 = graph.cast %w : (tensor<6x8xf32>) -> tensor<6x8xf16>
  %1 = graph.transpose %0 permutation [1, 0] : (tensor<6x8xf16>) -> tensor<8x6xf16>
  %2 = graph.mul %x, %s : (tensor<6x8xf16>, tensor<8xf16>) -> tensor<6x8xf16>
  %3 = graph.matmul %2, %1 : (tensor<6x8xf16>, tensor<8x6xf16>) -> tensor<6x6xf16>
  func.return %3 : tensor<6x6xf16>
}
"""
        )
    )
    needs = tensor_demands_of(flow, 1)
    op_work = OpWork(Engines.of(TINY), needs, VectorSteps(flow, needs, TINY))

    loads = StepLoads(flow, flow.inputs, op_work).loads_of_operations()

    assert loads.loads_by_tensor == [[(2, 96)], [(2, 16)], [(3, 96)]]
