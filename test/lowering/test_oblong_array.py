"""Products on an array with more columns than rows, on either side of which is room."""

from pathlib import Path

import pytest
from differential import check, compiled_text, make_case

from tlf.dialects.target import description
from tlf.runtime import npu

ROWS, COLS, SUMMED = 4, 16, 24

PRODUCT = """
func.func @product(%a: tensor<{m}x24xf32>, %b: tensor<24x{n}xf32>)
    -> tensor<{m}x{n}xf32> {{
  %0 = graph.matmul %a, %b
      : (tensor<{m}x24xf32>, tensor<24x{n}xf32>) -> tensor<{m}x{n}xf32>
  func.return %0 : tensor<{m}x{n}xf32>
}}
"""

BY_CHANNEL = """
func.func @convolution(%x: tensor<1x6x9x11xf32>, %w: tensor<6x1x3x3xf32>)
    -> tensor<1x6x7x9xf32> {
  %0 = graph.conv2d %x, %w groups 6
      : (tensor<1x6x9x11xf32>, tensor<6x1x3x3xf32>) -> tensor<1x6x7x9xf32>
  func.return %0 : tensor<1x6x7x9xf32>
}
"""


@pytest.fixture
def oblong(tmp_path: Path) -> str:
    """The file of a chip such as `npu-tiny`, with an array of 4 x 16."""
    text = (description.PRESETS / "npu-tiny.toml").read_text()
    text = text.replace("rows = 8", f"rows = {ROWS}")
    text = text.replace("cols = 8", f"cols = {COLS}")
    path = tmp_path / "oblong.toml"
    path.write_text(text)
    return str(path)


@pytest.mark.one_in(1 / 4)
@pytest.mark.parametrize(
    ("m", "n", "passes"),
    [(32, 3, 2), (3, 32, 2), (16, 16, 4), (16, 4, 1), (5, 17, 4), (17, 5, 4)],
)
def test_the_longer_side_lies_along_the_longer_side(
    m: int, n: int, passes: int, oblong: str
):
    text = PRODUCT.format(m=m, n=n)

    report = npu.run(npu.parse(compiled_text(text, oblong)), {}, functional=False)

    assert report.busy["matrix"] == passes * SUMMED * 4
    assert check(make_case(text), oblong) is None


def test_each_channel_by_itself(oblong: str):
    """Of a channel's 7 x 9 pixels, 3 neighbours are in the 4 rows, and see 3 x 5."""
    report = npu.run(npu.parse(compiled_text(BY_CHANNEL, oblong)), {}, functional=False)

    assert report.busy["matrix"] == 6 * 2 * (3 * 5) * 4
    assert check(make_case(BY_CHANNEL), oblong) is None
