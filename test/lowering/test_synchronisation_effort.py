"""Synchronisation of a block: effort grows with its length, not with its square."""

from unittest import mock

from call_counts import count_calls

from tlf.lowering.mem_to_npu import block_dependences
from tlf.lowering.mem_to_npu.sync_edges import is_ordered_by_engine

ROW = 'memref<128xf32, "L3">'
FAR = 'memref<128xf32, "L2">'
NEAR = 'memref<128xf32, "L1">'
ACCESS = "affine_map<(d0) -> (d0)>"


def program(count: int) -> str:
    """Return a program that moves a row to L1 and doubles it there, several times."""
    steps = "\n".join(
        f"""
  %s{index} = mem.dma %x[0] to %far[0] size [128] : {ROW} to {FAR}
  mem.wait %s{index}
  %t{index} = mem.dma %far[0] to %near[0] size [128] : {FAR} to {NEAR}
  mem.wait %t{index}
  mem.map ins(%near : {NEAR}) outs(%near : {NEAR})
      domain [128] maps [{ACCESS}, {ACCESS}] {{
  ^bb0(%a{index}: f32):
    %b{index} = arith.addf %a{index}, %a{index} : f32
    mem.yield %b{index} : f32
  }}"""
        for index in range(count)
    )
    return f"""
func.func @main(%x: {ROW}) attributes {{tlf.results = 0 : i64}} {{
  %far = mem.alloc : {FAR}
  %near = mem.alloc : {NEAR}
{steps}
  func.return
}}"""


def count_checks(count: int) -> int:
    """Return how often streams of instructions are checked for their order."""
    name = f"{block_dependences.__name__}.{is_ordered_by_engine.__name__}"
    with mock.patch(name, side_effect=is_ordered_by_engine) as checks:
        count_calls(program(count), "mem-plan,convert-mem-to-npu")
    return checks.call_count


def test_checks_for_each_step_stay_the_same():
    few, many = (count_checks(count) for count in (8, 32))

    assert 0 < many <= 5 * few
