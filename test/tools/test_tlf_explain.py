"""Answers of `tlf-explain` agree with the plan that it prints."""

import json
from pathlib import Path

import pytest

from tlf.tools.tlf_explain import main

TEXT = """
func.func @image(%x: tensor<1x{c}x{n}x{n}xf16>,
                 %w: tensor<{k}x{c}x3x3xf16> {{tlf.parameter}}) -> tensor<1x{k}xf16> {{
  %0 = graph.conv2d %x, %w padding [1, 1, 1, 1]
      : (tensor<1x{c}x{n}x{n}xf16>, tensor<{k}x{c}x3x3xf16>)
      -> tensor<1x{k}x{n}x{n}xf16>
  %1 = graph.relu %0 : tensor<1x{k}x{n}x{n}xf16>
  %y = graph.mean %1 axes [2, 3] : (tensor<1x{k}x{n}x{n}xf16>) -> tensor<1x{k}xf16>
  func.return %y : tensor<1x{k}xf16>
}}
"""


@pytest.mark.parametrize(
    ("sizes", "target", "decides"),
    [
        ({"c": 16, "k": 24, "n": 30}, "npu", True),
        ({"c": 64, "k": 64, "n": 56}, "npu:L2=512K", False),
    ],
)
def test_operations_are_apart_as_in_the_table(
    sizes: dict[str, int],
    target: str,
    decides: bool,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
):
    """By the event model, where that decides, else by the formula."""
    program = tmp_path / "image.mlir"
    program.write_text(TEXT.format(**sizes))
    common = [str(program), "--target", target, "--json"]
    main(common)
    (function,) = json.loads(capsys.readouterr().out)
    main([*common, "--why-not-fuse", "0,y"])
    told = json.loads(capsys.readouterr().out)

    assert len(function["groups"]) == 2
    (search,) = function["searches"]
    assert told["binding"] == "cost"
    assert told["best"]["bytes"] == function["figures"]["bytes"]
    if decides:
        assert told["best"]["cycles"] == search["rehearsed"]["cycles"]
        assert told["together"]["cycles"] == search["rehearsed"]["first"]
    else:
        assert told["best"]["cycles"] == function["figures"]["cycles"]
