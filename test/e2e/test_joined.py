"""Programs that join tensors, whatever these are and whoever else uses them."""

import re

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
@pytest.mark.parametrize("seed", range(61, 91))
def test_joined_in_random_tiles(seed: int) -> None:
    case = make_case(joined_program(seed, "f32", 5), seed)
    assert check(case, "npu-tiny", plans=seed) is None, case.text


READERS = {
    "pooling": """
      %v = graph.reshape %a : (<64x8>) -> <1x8x8x8>
      %p = graph.transpose %v permutation [0, 3, 1, 2] : (<1x8x8x8>) -> <1x8x8x8>
      %y = graph.max_pool2d %p kernel [2, 2] strides [2, 2]
          : (<1x8x8x8>) -> <1x8x4x4>""",
    "product": """
      %v = graph.reshape %a : (<64x8>) -> <4x16x8>
      %t = graph.transpose %v permutation [0, 2, 1] : (<4x16x8>) -> <4x8x16>
      %y = graph.matmul %v, %t : (<4x16x8>, <4x8x16>) -> <4x16x16>""",
    "gather": """
      %v = graph.reshape %a : (<64x8>) -> <4x16x8>
      %y = graph.take %v, %i axis 1 : (<4x16x8>, <5xi32>) -> <4x5x8>""",
    "views of views": """
      %v = graph.reshape %a : (<64x8>) -> <4x16x8>
      %s = graph.slice %v offsets [1, 2, 0] strides [1, 1, 1]
          : (<4x16x8>) -> <2x9x8>
      %u = graph.reshape %v : (<4x16x8>) -> <2x2x16x2x4>
      %r = graph.reduce %u <sum> axes [0, 2, 4] : (<2x2x16x2x4>) -> <2x2>
      %q = graph.reduce %s <max> axes [1, 2] : (<2x9x8>) -> <2>
      %y = graph.add %r, %q : (<2x2>, <2>) -> <2x2>""",
    "merged view": """
      %v = graph.reshape %a : (<64x8>) -> <512>
      %y = graph.reduce %v <max> axes [0] : (<512>) -> <>""",
    "returned view": """
      %y = graph.reshape %a : (<64x8>) -> <4x16x8>""",
    "concat of a view": """
      %v = graph.reshape %a : (<64x8>) -> <4x16x8>
      %y = graph.concat %v, %v axis 0
          : (<4x16x8>, <4x16x8>) -> <8x16x8>""",
    "scatter into a view": """
      %v = graph.reshape %a : (<64x8>) -> <4x16x8>
      %n = graph.reshape %i : (<5xi32>) -> <1x5x1xi32>
      %o = graph.slice %v offsets [0, 0, 0] strides [1, 1, 1]
          : (<4x16x8>) -> <4x5x8>
      %y = graph.scatter %v, %n, %o axis 1 <set>
          : (<4x16x8>, <1x5x1xi32>, <4x5x8>) -> <4x16x8>""",
}
"""Further readers of an operand of a concatenation, by what they are."""


@pytest.mark.one_in(3 / 4)
@pytest.mark.parametrize("target", ["npu", "npu-tiny", "h200"])
@pytest.mark.parametrize("name", READERS)
def test_joined_with_other_readers(name: str, target: str) -> None:
    """Readers of other shapes see the tensor where the concatenation has it."""
    result = READERS[name].rsplit("-> ", 1)[1]
    program = f"""
    func.func @main(%x: <64x16>, %w: <16x8>, %z: <64x16>,
                    %i: <5xi32> {{tlf.range = [0, 15]}}) -> (<64x16>, {result}) {{
      %a = graph.matmul %x, %w : (<64x16>, <16x8>) -> <64x8>
      %b = graph.matmul %z, %w : (<64x16>, <16x8>) -> <64x8>
      {READERS[name]}
      %c = graph.concat %a, %b axis 1 : (<64x8>, <64x8>) -> <64x16>
      func.return %c, %y : <64x16>, {result}
    }}"""
    typed = re.sub(r"<((?:\d+x)*)(\d+)>", r"tensor<\1\2xf32>", program)
    text = re.sub(r"(?<!r)<([\dx]*i32)>", r"tensor<\1>", typed).replace(
        "<>", "tensor<f32>"
    )
    assert check(make_case(text), target) is None


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
