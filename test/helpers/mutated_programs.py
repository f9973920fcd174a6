"""Small programs with odd extents for planted faults, and their pipelines."""

from __future__ import annotations

from mutations import Program, Stage


def _npu(
    name: str, source: str, tile: str = "", reduce: str = "", contractions: int = 1
) -> Program:
    """Return a program for `npu-tiny`, with the tile sizes of L1."""
    group = f"max-contractions={contractions}"
    sizes = f" tile={tile}" if tile else ""
    sizes += f" reduce={reduce}" if reduce else ""
    # `graph-fold-transposes` is left out, so that programs keep DMAs to break.
    groups = (
        "tidy,graph-decompose,tidy,"
        f"graph-group{{level=L2 {group}}},"
        "graph-select-tile-sizes{level=L2 strategy=largest},dce,"
        f"convert-graph-to-tile,graph-group{{level=L1 {group}}},"
        f"graph-select-tile-sizes{{level=L1{sizes}}},dce"
    )
    pipelines = (
        (Stage.GROUPS, groups),
        (Stage.TILE, "convert-graph-to-tile,tidy"),
        (Stage.MEM, "convert-tile-to-mem,tidy,mem-split-maps"),
        (Stage.PLANNED, "mem-plan"),
        (Stage.TEXT, "convert-mem-to-npu,tidy"),
    )
    return Program(name, source, "npu-tiny", pipelines)


def _triton(name: str, source: str, tile: str, reduce: str = "") -> Program:
    """Return a program for Triton, with the tile sizes of its kernel."""
    sizes = f"tile={tile}" + (f" reduce={reduce}" if reduce else "")
    pipelines = (
        (
            Stage.GROUPS,
            f"graph-pipeline,graph-group,graph-select-tile-sizes{{{sizes}}},dce",
        ),
        (Stage.TILE, "convert-graph-to-tile,tidy"),
        (Stage.MEM, "convert-tile-to-mem,tidy"),
        (Stage.TEXT, "convert-mem-to-triton"),
    )
    return Program(name, source, "h200", pipelines)


_LINEAR = """
func.func @linear(%x: tensor<21x37xf32>, %w: tensor<37x19xf32>, %b: tensor<19xf32>)
    -> tensor<21x19xf32> {
  %product = graph.matmul %x, %w
      : (tensor<21x37xf32>, tensor<37x19xf32>) -> tensor<21x19xf32>
  %sum = graph.add %product, %b
      : (tensor<21x19xf32>, tensor<19xf32>) -> tensor<21x19xf32>
  %y = graph.relu %sum : tensor<21x19xf32>
  func.return %y : tensor<21x19xf32>
}
"""

_SQUARE = """
func.func @square(%x: tensor<13x13xf32>, %w: tensor<13x13xf32>, %b: tensor<13xf32>)
    -> tensor<13x13xf32> {
  %product = graph.matmul %x, %w
      : (tensor<13x13xf32>, tensor<13x13xf32>) -> tensor<13x13xf32>
  %sum = graph.sub %product, %b
      : (tensor<13x13xf32>, tensor<13xf32>) -> tensor<13x13xf32>
  %root = graph.constant dense<6.92820323> : tensor<f32>
  %scores = graph.div %sum, %root
      : (tensor<13x13xf32>, tensor<f32>) -> tensor<13x13xf32>
  %y = graph.softmax %scores axis 1 : (tensor<13x13xf32>) -> tensor<13x13xf32>
  func.return %y : tensor<13x13xf32>
}
"""

_GELU = """
func.func @gelu(%x: tensor<11x13xf32>) -> tensor<11x13xf32> {
  %y = graph.gelu %x <tanh> : tensor<11x13xf32>
  func.return %y : tensor<11x13xf32>
}
"""

_LAYER_NORM = """
func.func @layer_norm(%x: tensor<11x45xf32>, %weight: tensor<45xf32>,
                      %bias: tensor<45xf32>) -> tensor<11x45xf32> {
  %y = graph.layer_norm %x weight %weight bias %bias epsilon 1.0e-05
      : (tensor<11x45xf32>, tensor<45xf32>, tensor<45xf32>) -> tensor<11x45xf32>
  func.return %y : tensor<11x45xf32>
}
"""

_CONVOLUTIONS = """
func.func @convolutions(%x: tensor<1x4x15x9xf32>, %w: tensor<4x4x3x3xf32>,
                        %b: tensor<4x1x1xf32>, %v: tensor<3x4x3x3xf32>)
    -> tensor<1x3x15x9xf32> {
  %first = graph.conv2d %x, %w padding [1, 1, 1, 1]
      : (tensor<1x4x15x9xf32>, tensor<4x4x3x3xf32>) -> tensor<1x4x15x9xf32>
  %sum = graph.add %first, %b
      : (tensor<1x4x15x9xf32>, tensor<4x1x1xf32>) -> tensor<1x4x15x9xf32>
  %relu = graph.relu %sum : tensor<1x4x15x9xf32>
  %y = graph.conv2d %relu, %v padding [1, 1, 1, 1]
      : (tensor<1x4x15x9xf32>, tensor<3x4x3x3xf32>) -> tensor<1x3x15x9xf32>
  func.return %y : tensor<1x3x15x9xf32>
}
"""

_STRIDED = """
func.func @strided(%x: tensor<1x3x9x11xf32>, %w: tensor<5x3x1x3xf32>)
    -> tensor<1x5x3x11xf32> {
  %y = graph.conv2d %x, %w strides [3, 1] padding [0, 2, 0, 2] dilation [1, 2]
      : (tensor<1x3x9x11xf32>, tensor<5x3x1x3xf32>) -> tensor<1x5x3x11xf32>
  func.return %y : tensor<1x5x3x11xf32>
}
"""

_MAXIMUM = """
func.func @maximum(%x: tensor<21x37xf32>) -> tensor<21xf32> {
  %e = graph.mul %x, %x
      : (tensor<21x37xf32>, tensor<21x37xf32>) -> tensor<21x37xf32>
  %two = graph.constant dense<-2.0> : tensor<f32>
  %n = graph.mul %e, %two : (tensor<21x37xf32>, tensor<f32>) -> tensor<21x37xf32>
  %y = graph.reduce %n <max> axes [1] : (tensor<21x37xf32>) -> tensor<21xf32>
  func.return %y : tensor<21xf32>
}
"""

_WEIGHTED = """
func.func @weighted(%x: tensor<21x21xf32>, %w: tensor<21xf32>) -> tensor<21xf32> {
  %product = graph.mul %x, %w
      : (tensor<21x21xf32>, tensor<21xf32>) -> tensor<21x21xf32>
  %y = graph.reduce %product <sum> axes [1] : (tensor<21x21xf32>) -> tensor<21xf32>
  func.return %y : tensor<21xf32>
}
"""

_RESIDUAL = """
func.func @residual(%x: tensor<31x41xf32>) -> tensor<31x41xf32> {
  %e = graph.exp %x : tensor<31x41xf32>
  %y = graph.add %x, %e
      : (tensor<31x41xf32>, tensor<31x41xf32>) -> tensor<31x41xf32>
  func.return %y : tensor<31x41xf32>
}
"""

_HEADS = """
func.func @heads(%x: tensor<5x5x7xf32>, %y: tensor<5x7x5xf32>) -> tensor<5x5x5xf32> {
  %turned = graph.transpose %x permutation [1, 0, 2]
      : (tensor<5x5x7xf32>) -> tensor<5x5x7xf32>
  %z = graph.matmul %turned, %y
      : (tensor<5x5x7xf32>, tensor<5x7x5xf32>) -> tensor<5x5x5xf32>
  func.return %z : tensor<5x5x5xf32>
}
"""

LINEAR = _npu("linear", _LINEAR, "5,8", "16")
SQUARE = _npu("square", _SQUARE)
GELU = _npu("gelu", _GELU)
LAYER_NORM = _npu("layer_norm", _LAYER_NORM)
CONVOLUTIONS = _npu("convolutions", _CONVOLUTIONS, "1,3,4,9", contractions=2)
STRIDED = _npu("strided", _STRIDED)
MAXIMUM = _npu("maximum", _MAXIMUM, "5", "16")
WEIGHTED = _npu("weighted", _WEIGHTED, "7", "8")
RESIDUAL = _npu("residual", _RESIDUAL, "8,16")
HEADS = _npu("heads", _HEADS)
TRITON_LINEAR = _triton("triton_linear", _LINEAR, "16,16", "16")
TRITON_WEIGHTED = _triton("triton_weighted", _WEIGHTED, "5", "16")
TRITON_MAXIMUM = _triton("triton_maximum", _MAXIMUM, "5", "12")
TRITON_RESIDUAL = _triton("triton_residual", _RESIDUAL, "8,16")
