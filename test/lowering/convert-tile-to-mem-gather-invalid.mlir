// RUN: not tlf-opt %s --split-input-file --target h200 -p convert-tile-to-mem 2>&1 | filecheck %s
// RUN: not tlf-opt %s --split-input-file --target npu -p convert-tile-to-mem 2>&1 | filecheck %s --check-prefix=BUFFER

// CHECK: error: tile.gather: expected a source in L3, got L1
// BUFFER: error: tile.gather: cannot gather into a buffer
func.func @near(%t: tensor<8xf32>, %n: tensor<4xi64>) {
  %a = tile.slice %t[0] : tensor<8xf32> -> tensor<8xf32, #tile.encoding<L1>>
  %m = tile.slice %n[0] : tensor<4xi64> -> tensor<4xi64, #tile.encoding<L1>>
  %v = tile.gather %a[0] axis 0 at %m maps [affine_map<(d0) -> (0)>, affine_map<(d0) -> (d0)>]
      : tensor<8xf32, #tile.encoding<L1>>, tensor<4xi64, #tile.encoding<L1>> -> tensor<4xf32, #tile.encoding<L1>>
  func.return
}

// -----

// CHECK: error: tile.gather: expected indices that are a tile of registers
func.func @far(%t: tensor<8xf32>, %n: tensor<4xi64>) {
  %v = tile.gather %t[0] axis 0 at %n maps [affine_map<(d0) -> (0)>, affine_map<(d0) -> (d0)>]
      : tensor<8xf32>, tensor<4xi64> -> tensor<4xf32, #tile.encoding<L1>>
  func.return
}

// -----

// Nothing looks up elements in a tile, not even in one of a single row.
// CHECK: error: graph.take: expected an operation on tiles: run `graph-decompose`, `graph-group` and
func.func @tile(%t: tensor<1x4xf32>, %n: tensor<4xi64>) {
  %a = tile.slice %t[0, 0] : tensor<1x4xf32> -> tensor<1x4xf32, #tile.encoding<L1>>
  %m = tile.slice %n[0] : tensor<4xi64> -> tensor<4xi64, #tile.encoding<L1>>
  %v = graph.take %a, %m axis 0 : (tensor<1x4xf32, #tile.encoding<L1>>, tensor<4xi64, #tile.encoding<L1>>) -> tensor<4x4xf32, #tile.encoding<L1>>
  func.return
}
