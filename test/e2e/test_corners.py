"""Small programs with something unusual about them, on every target."""

from collections.abc import Mapping

import pytest
from differential import check, make_case

PROGRAMS: Mapping[str, str] = {
    "an argument is returned": """
func.func @main(%a: tensor<7x5xf32>) -> tensor<7x5xf32> {
  func.return %a : tensor<7x5xf32>
}""",
    "a constant is returned": """
func.func @main() -> (tensor<3xf32>, tensor<2x2xi1>) {
  %c = graph.constant dense<[1.0, 2.0, 3.0]> : tensor<3xf32>
  %d = graph.constant dense<true> : tensor<2x2xi1>
  func.return %c, %d : tensor<3xf32>, tensor<2x2xi1>
}""",
    "a view of an argument is returned": """
func.func @main(%a: tensor<6x5xf32>) -> tensor<30xf32> {
  %c = graph.reshape %a : (tensor<6x5xf32>) -> tensor<30xf32>
  func.return %c : tensor<30xf32>
}""",
    "one value is returned twice": """
func.func @main(%a: tensor<6x5xf32>) -> (tensor<6x5xf32>, tensor<6x5xf32>) {
  %c = graph.exp %a : tensor<6x5xf32>
  func.return %c, %c : tensor<6x5xf32>, tensor<6x5xf32>
}""",
    "a value of rank 0 is transposed": """
func.func @main(%a: tensor<f16>) -> tensor<f16> {
  %c = graph.transpose %a permutation [] : (tensor<f16>) -> tensor<f16>
  func.return %c : tensor<f16>
}""",
    "a maximum of everything": """
func.func @main(%a: tensor<6x5xf32>) -> tensor<f32> {
  %c = graph.reduce %a <max> axes [0, 1] : (tensor<6x5xf32>) -> tensor<f32>
  func.return %c : tensor<f32>
}""",
    "parts of an argument are returned": """
func.func @main(%a: tensor<6x5xf32>) -> (tensor<6x2xf32>, tensor<2x5xf32>) {
  %c = graph.slice %a offsets [0, 3] strides [1, 1]
      : (tensor<6x5xf32>) -> tensor<6x2xf32>
  %d = graph.slice %a offsets [1, 0] strides [3, 1]
      : (tensor<6x5xf32>) -> tensor<2x5xf32>
  func.return %c, %d : tensor<6x2xf32>, tensor<2x5xf32>
}""",
    "parts of a value are used and returned": """
func.func @main(%a: tensor<6x15xbf16>) -> (tensor<6x5xbf16>, tensor<6x5xbf16>) {
  %e = graph.neg %a : tensor<6x15xbf16>
  %c = graph.slice %e offsets [0, 1] strides [1, 1]
      : (tensor<6x15xbf16>) -> tensor<6x5xbf16>
  %d = graph.slice %e offsets [0, 10] strides [1, 1]
      : (tensor<6x15xbf16>) -> tensor<6x5xbf16>
  %s = graph.add %c, %d : (tensor<6x5xbf16>, tensor<6x5xbf16>) -> tensor<6x5xbf16>
  func.return %s, %c : tensor<6x5xbf16>, tensor<6x5xbf16>
}""",
    "a part of a part under another shape": """
func.func @main(%a: tensor<7x30xf32>, %b: tensor<3x5x4xf32>) -> tensor<3x4x4xf32> {
  %c = graph.slice %a offsets [1, 10] strides [2, 1]
      : (tensor<7x30xf32>) -> tensor<3x20xf32>
  %d = graph.reshape %c : (tensor<3x20xf32>) -> tensor<3x4x5xf32>
  %e = graph.matmul %d, %b
      : (tensor<3x4x5xf32>, tensor<3x5x4xf32>) -> tensor<3x4x4xf32>
  %f = graph.slice %d offsets [0, 2, 1] strides [1, 1, 1]
      : (tensor<3x4x5xf32>) -> tensor<3x1x4xf32>
  %g = graph.add %e, %f : (tensor<3x4x4xf32>, tensor<3x1x4xf32>) -> tensor<3x4x4xf32>
  func.return %g : tensor<3x4x4xf32>
}""",
    "a part of what a movement made": """
func.func @main(%a: tensor<5x8xf32>) -> (tensor<8x5xf32>, tensor<4x1xf32>) {
  %c = graph.transpose %a permutation [1, 0] : (tensor<5x8xf32>) -> tensor<8x5xf32>
  %d = graph.slice %c offsets [4, 4] strides [1, 1]
      : (tensor<8x5xf32>) -> tensor<4x1xf32>
  %e = graph.round %c : tensor<8x5xf32>
  %f = graph.neg %d : tensor<4x1xf32>
  func.return %e, %f : tensor<8x5xf32>, tensor<4x1xf32>
}""",
    "a part under a shape that no strides reach": """
func.func @main(%a: tensor<6x15xf32>) -> tensor<15x2xf32> {
  %c = graph.slice %a offsets [0, 4] strides [1, 1]
      : (tensor<6x15xf32>) -> tensor<6x5xf32>
  %d = graph.reshape %c : (tensor<6x5xf32>) -> tensor<15x2xf32>
  %e = graph.exp %d : tensor<15x2xf32>
  func.return %e : tensor<15x2xf32>
}""",
    "init is an argument": """
func.func @main(%a: tensor<7x5xf32>, %b: tensor<5x3xf32>, %c: tensor<7x3xf32>)
    -> tensor<7x3xf32> {
  %y = graph.matmul %a, %b init %c
      : (tensor<7x5xf32>, tensor<5x3xf32>, tensor<7x3xf32>) -> tensor<7x3xf32>
  func.return %y : tensor<7x3xf32>
}""",
    "init is a constant": """
func.func @main(%x: tensor<2x3xf32>, %w: tensor<3x2xf32>) -> tensor<2x2xf32> {
  %c = graph.constant dense<[[1.0, 2.0], [3.0, 4.0]]> : tensor<2x2xf32>
  %y = graph.matmul %x, %w init %c
      : (tensor<2x3xf32>, tensor<3x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
  func.return %y : tensor<2x2xf32>
}""",
    "init is used again": """
func.func @main(%x: tensor<9x17xf32>, %b: tensor<9xf32>)
    -> (tensor<9xf32>, tensor<9xf32>) {
  %c = graph.exp %b : tensor<9xf32>
  %y = graph.reduce %x <sum> init %c axes [1]
      : (tensor<9x17xf32>, tensor<9xf32>) -> tensor<9xf32>
  %z = graph.mul %c, %y : (tensor<9xf32>, tensor<9xf32>) -> tensor<9xf32>
  func.return %y, %z : tensor<9xf32>, tensor<9xf32>
}""",
    "init is an input": """
func.func @main(%a: tensor<3x8xf32>, %b: tensor<3x3xf32>) -> tensor<8x3xf32> {
  %t = graph.transpose %a permutation [1, 0] : (tensor<3x8xf32>) -> tensor<8x3xf32>
  %y = graph.matmul %t, %b init %t
      : (tensor<8x3xf32>, tensor<3x3xf32>, tensor<8x3xf32>) -> tensor<8x3xf32>
  func.return %y : tensor<8x3xf32>
}""",
    "filters of one element on padded images": """
func.func @main(%x: tensor<1x1x3x4xf32>, %w: tensor<1x1x1x1xf32>)
    -> tensor<1x1x6x4xf32> {
  %y = graph.conv2d %x, %w padding [1, 0, 2, 0]
      : (tensor<1x1x3x4xf32>, tensor<1x1x1x1xf32>) -> tensor<1x1x6x4xf32>
  func.return %y : tensor<1x1x6x4xf32>
}""",
    "what windows make is surrounded along all axes": """
func.func @main(%a: tensor<3x6x9x5xf32>, %w: tensor<4x6x3x3xf32>)
    -> (tensor<4x9x6x4xf32>, tensor<5x7x11x6xf32>) {
  %0 = graph.max_pool2d %a kernel [2, 2] strides [2, 3] padding [0, 0, 0, 1]
      : (tensor<3x6x9x5xf32>) -> tensor<3x6x4x2xf32>
  %1 = graph.pad %0 low [0, 3, 0, 1] high [1, 0, 2, 1] fill 1.0
      : (tensor<3x6x4x2xf32>) -> tensor<4x9x6x4xf32>
  %2 = graph.exp %1 : tensor<4x9x6x4xf32>
  %3 = graph.conv2d %a, %w padding [1, 1, 1, 1]
      : (tensor<3x6x9x5xf32>, tensor<4x6x3x3xf32>) -> tensor<3x4x9x5xf32>
  %4 = graph.pad %3 low [1, 2, 0, 1] high [1, 1, 2, 0] fill 2.0
      : (tensor<3x4x9x5xf32>) -> tensor<5x7x11x6xf32>
  %5 = graph.sin %4 : tensor<5x7x11x6xf32>
  func.return %2, %5 : tensor<4x9x6x4xf32>, tensor<5x7x11x6xf32>
}""",
    "constants are cast": """
func.func @main() -> (tensor<17xi1>, tensor<3xi32>, tensor<2xbf16>) {
  %c = graph.constant dense<-1.5> : tensor<17xf16>
  %x = graph.cast %c : (tensor<17xf16>) -> tensor<17xi1>
  %d = graph.constant dense<2.75> : tensor<3xf32>
  %y = graph.cast %d : (tensor<3xf32>) -> tensor<3xi32>
  %e = graph.constant dense<true> : tensor<2xi1>
  %z = graph.cast %e : (tensor<2xi1>) -> tensor<2xbf16>
  func.return %x, %y, %z : tensor<17xi1>, tensor<3xi32>, tensor<2xbf16>
}""",
    "a conjunction with a constant": """
func.func @main(%a: tensor<5xi1>) -> tensor<5xi1> {
  %t = graph.constant dense<true> : tensor<i1>
  %y = graph.mul %a, %t : (tensor<5xi1>, tensor<i1>) -> tensor<5xi1>
  func.return %y : tensor<5xi1>
}""",
    "a diagonal": """
func.func @main(%a: tensor<5x7xf32>) -> (tensor<5xf32>, tensor<5xf32>) {
  %x = graph.unfold %a map affine_map<(d0) -> (d0, d0)> fill 0.0
      : (tensor<5x7xf32>) -> tensor<5xf32>
  %b = graph.exp %a : tensor<5x7xf32>
  %y = graph.unfold %b map affine_map<(d0) -> (d0, d0 * 2 - 1)> fill 2.0
      : (tensor<5x7xf32>) -> tensor<5xf32>
  func.return %x, %y : tensor<5xf32>, tensor<5xf32>
}""",
    "every second element, repeated": """
func.func @main(%a: tensor<9xf32>) -> tensor<3x6xf32> {
  %y = graph.unfold %a map affine_map<(d0, d1) -> (d1 * 2)> fill 1.0
      : (tensor<9xf32>) -> tensor<3x6xf32>
  func.return %y : tensor<3x6xf32>
}""",
    "parts of a constant": """
func.func @main(%a: tensor<13xi64>) -> (tensor<13xi64>, tensor<1x3xf32>) {
  %c = graph.constant dense<-4> : tensor<13xi64>
  %x = graph.slice %c offsets [10] strides [1] : (tensor<13xi64>) -> tensor<3xi64>
  %y = graph.slice %a offsets [0] strides [1] : (tensor<13xi64>) -> tensor<10xi64>
  %z = graph.concat %x, %y axis 0 : (tensor<3xi64>, tensor<10xi64>) -> tensor<13xi64>
  %s = graph.add %c, %z : (tensor<13xi64>, tensor<13xi64>) -> tensor<13xi64>
  %d = graph.constant dense<0.5> : tensor<5xf32>
  %u = graph.unfold %d map affine_map<(k, o) -> (o * 3 + k * 2 - 1)> fill 1.0
      : (tensor<5xf32>) -> tensor<1x3xf32>
  func.return %s, %u : tensor<13xi64>, tensor<1x3xf32>
}""",
    "a rotation along two axes": """
func.func @main(%x: tensor<5x7xf32>) -> tensor<5x7xf32> {
  %a = graph.slice %x offsets [3, 0] strides [1, 1]
      : (tensor<5x7xf32>) -> tensor<2x7xf32>
  %b = graph.slice %x offsets [0, 0] strides [1, 1]
      : (tensor<5x7xf32>) -> tensor<3x7xf32>
  %c = graph.concat %a, %b axis 0
      : (tensor<2x7xf32>, tensor<3x7xf32>) -> tensor<5x7xf32>
  %d = graph.slice %c offsets [0, 3] strides [1, 1]
      : (tensor<5x7xf32>) -> tensor<5x4xf32>
  %e = graph.slice %c offsets [0, 0] strides [1, 1]
      : (tensor<5x7xf32>) -> tensor<5x3xf32>
  %y = graph.concat %d, %e axis 1
      : (tensor<5x4xf32>, tensor<5x3xf32>) -> tensor<5x7xf32>
  func.return %y : tensor<5x7xf32>
}""",
    "a cast needs room for its way": """
func.func @main(%a: tensor<1760xbf16>) -> tensor<1760xf16> {
  %y = graph.cast %a : (tensor<1760xbf16>) -> tensor<1760xf16>
  func.return %y : tensor<1760xf16>
}""",
}


@pytest.mark.one_in(6)
@pytest.mark.parametrize("target", ["npu-tiny", "npu", "h200"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_corners(name: str, target: str):
    fault = check(make_case(PROGRAMS[name]), target)

    assert fault is None, fault
