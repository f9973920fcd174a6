"""Programs that join tensors, whatever these are and whoever else uses them."""

import pytest
from bounded import bounds_in
from differential import check, compiled_text, make_case
from joined_programs import joined_program

from tlf.dialects.target import load_target_spec
from tlf.runtime import npu

ELEMENTS = ("f16", "bf16", "f32")
TARGETS = ("npu", "npu-tiny", "npu-4core")


@pytest.mark.one_in(12)
@pytest.mark.parametrize("seed", range(60))
def test_joined(seed: int) -> None:
    case = make_case(joined_program(seed, ELEMENTS[seed % 3]), seed)
    assert check(case, TARGETS[seed // 3 % 3]) is None, case.text


@pytest.mark.one_in(24)
@pytest.mark.parametrize("seed", range(60, 90))
def test_joined_in_random_tiles(seed: int) -> None:
    case = make_case(joined_program(seed, "f32", 5), seed)
    assert check(case, "npu-tiny", plans=seed) is None, case.text


def test_loads_go_on_beside_what_is_written():
    """A product reads and writes slices of one tensor."""
    text = """
    func.func @layer(%x: tensor<1x16x64x64xf16>, %v: tensor<16x16x1x1xf16>,
                     %w: tensor<16x32x1x1xf16>) -> tensor<1x48x64x64xf16> {
      %a = graph.conv2d %x, %v acc f32
          : (tensor<1x16x64x64xf16>, tensor<16x16x1x1xf16>) -> tensor<1x16x64x64xf16>
      %b = graph.conv2d %a, %v acc f32
          : (tensor<1x16x64x64xf16>, tensor<16x16x1x1xf16>) -> tensor<1x16x64x64xf16>
      %c = graph.concat %a, %b axis 1
          : (tensor<1x16x64x64xf16>, tensor<1x16x64x64xf16>) -> tensor<1x32x64x64xf16>
      %d = graph.conv2d %c, %w acc f32
          : (tensor<1x32x64x64xf16>, tensor<16x32x1x1xf16>) -> tensor<1x16x64x64xf16>
      %e = graph.concat %c, %d axis 1
          : (tensor<1x32x64x64xf16>, tensor<1x16x64x64xf16>) -> tensor<1x48x64x64xf16>
      func.return %e : tensor<1x48x64x64xf16>
    }"""
    program = npu.parse(compiled_text(text, "npu-tiny"))
    cycles = npu.run(program, {}, functional=False).cycles
    assert cycles < 1.2 * bounds_in(text, load_target_spec("npu-tiny")).cycles_quantised
