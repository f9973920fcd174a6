"""Answers of `tlf-explain` agree with the plan that it prints."""

import json
import re
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
        pytest.param(
            {"c": 64, "k": 64, "n": 56},
            "npu:L2=512K",
            False,
            marks=pytest.mark.long,
        ),
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
        assert told["best"]["cycles"] == search["evaluated"]["selected_cycles"]
        assert told["fused"]["cycles"] == search["evaluated"]["analytic_best_cycles"]
    else:
        assert told["best"]["cycles"] == function["figures"]["cycles"]


TWO_RESULTS = """
func.func @two(%x: tensor<1x16x35x33xf16>,
               %v: tensor<24x16x3x3xf16> {tlf.parameter},
               %w: tensor<16x24x3x3xf16> {tlf.parameter})
    -> (tensor<1x16x18x17xf16>, tensor<1x24x35x33xf16>) {
  %a = graph.conv2d %x, %v padding [1, 1, 1, 1]
      : (tensor<1x16x35x33xf16>, tensor<24x16x3x3xf16>) -> tensor<1x24x35x33xf16>
  %b = graph.relu %a : tensor<1x24x35x33xf16>
  %c = graph.conv2d %b, %w strides [2, 2] padding [1, 1, 1, 1]
      : (tensor<1x24x35x33xf16>, tensor<16x24x3x3xf16>) -> tensor<1x16x18x17xf16>
  func.return %c, %b : tensor<1x16x18x17xf16>, tensor<1x24x35x33xf16>
}
"""


@pytest.mark.long
def test_what_fits_only_whole_lacks_room(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    """Tiles of two results of different sizes are illegal, but for one of all."""
    program = tmp_path / "two.mlir"
    program.write_text(TWO_RESULTS)
    main([str(program), "--target", "npu:L2=64K", "--why-not-fuse", "a,c", "--json"])
    told = json.loads(capsys.readouterr().out)

    assert told["binding"] == "capacity"
    assert told["change"]["after"]["cycles"] < told["best"]["cycles"]


DISTANCES = """
func.func @distances(%x: tensor<8192x256xbf16>, %w: tensor<256x50000xbf16>)
    -> tensor<8192x1xf32> {
  %0 = graph.matmul %x, %w
      : (tensor<8192x256xbf16>, tensor<256x50000xbf16>) -> tensor<8192x50000xbf16>
  %y = graph.cast %0 : (tensor<8192x50000xbf16>) -> tensor<8192x50000xf32>
  %m = graph.reduce %y <max> axes [1] keepdims
      : (tensor<8192x50000xf32>) -> tensor<8192x1xf32>
  %d = graph.sub %y, %m
      : (tensor<8192x50000xf32>, tensor<8192x1xf32>) -> tensor<8192x50000xf32>
  %q = graph.cos %d : tensor<8192x50000xf32>
  %v = graph.reduce %q <sum> axes [1] keepdims
      : (tensor<8192x50000xf32>) -> tensor<8192x1xf32>
  func.return %v : tensor<8192x1xf32>
}
"""


def test_kernels_are_told_with_what_keeps_them_apart(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    program = tmp_path / "distances.mlir"
    program.write_text(DISTANCES)

    main([str(program), "--target", "h200"])
    told = capsys.readouterr().out.splitlines()

    groups = [line for line in told if line.startswith("group ")]
    costs = [line for line in told if re.match(r"  predicted [0-9,.]+ us, \w+ ", line)]
    assert len(groups) == len(costs) > 1
    assert (
        "graph-group: missed: %v: no loop with other reductions: no factor corrects "
        "its running sum when the results that it depends on change"
    ) in told


@pytest.mark.parametrize("option", ["--json", "--simulate", "--group=0"])
def test_other_answers_need_an_npu(
    option: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    program = tmp_path / "distances.mlir"
    program.write_text(DISTANCES)

    with pytest.raises(SystemExit):
        main([str(program), "--target", "h200", option])

    expected = "expected a target of the backend npu for"
    assert expected in capsys.readouterr().err
