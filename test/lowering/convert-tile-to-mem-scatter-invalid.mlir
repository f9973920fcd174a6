// RUN: not tlf-opt %s --split-input-file --target npu -p convert-tile-to-mem 2>&1 | filecheck %s
// RUN: not tlf-opt %s --split-input-file --target h200 -p convert-tile-to-mem 2>&1 | filecheck %s --check-prefix=VALUE

// CHECK: error: tile.scatter: expected a destination in L3, got L2
// VALUE: error:
func.func @near(%x: tensor<8xf32>, %n: tensor<4xi64>, %u: tensor<4xf32>) {
  %a = tile.slice %x[0] : tensor<8xf32> -> tensor<8xf32, #tile.encoding<L2>>
  %m = tile.slice %n[0] : tensor<4xi64> -> tensor<4xi64, #tile.encoding<L2>>
  %v = tile.slice %u[0] : tensor<4xf32> -> tensor<4xf32, #tile.encoding<L2>>
  %y = tile.scatter %v into %a[0] axis 0 at %m maps [affine_map<(d0) -> (0)>, affine_map<(d0) -> (d0)>]
      : tensor<4xf32, #tile.encoding<L2>>, tensor<4xi64, #tile.encoding<L2>> into tensor<8xf32, #tile.encoding<L2>>
  func.return
}

// -----

// CHECK: error: tile.scatter: cannot scatter from L1
func.func @nearest(%x: tensor<8xf32>, %n: tensor<4xi64>, %u: tensor<4xf32>) {
  %m = tile.slice %n[0] : tensor<4xi64> -> tensor<4xi64, #tile.encoding<L1>>
  %v = tile.slice %u[0] : tensor<4xf32> -> tensor<4xf32, #tile.encoding<L1>>
  %y = tile.scatter %v into %x[0] axis 0 at %m maps [affine_map<(d0) -> (0)>, affine_map<(d0) -> (d0)>]
      : tensor<4xf32, #tile.encoding<L1>>, tensor<4xi64, #tile.encoding<L1>> into tensor<8xf32>
  func.return
}

// -----

// VALUE: error: tile.scatter: cannot scatter from L1
// CHECK: error: tile.scatter: expected indices in L2, got L1
func.func @apart(%x: tensor<8xf32>, %n: tensor<4xi64>, %u: tensor<4xf32>) {
  %m = tile.slice %n[0] : tensor<4xi64> -> tensor<4xi64, #tile.encoding<L1>>
  %v = tile.slice %u[0] : tensor<4xf32> -> tensor<4xf32, #tile.encoding<L2>>
  %y = tile.scatter %v into %x[0] axis 0 at %m maps [affine_map<(d0) -> (0)>, affine_map<(d0) -> (d0)>]
      : tensor<4xf32, #tile.encoding<L2>>, tensor<4xi64, #tile.encoding<L1>> into tensor<8xf32>
  func.return
}

// -----

// CHECK: error: tile.scatter: expected updates and indices that are tiles of registers
// VALUE: error: tile.scatter: expected a writable destination: arguments are read-only
func.func @combined(%x: tensor<8xf32>, %n: tensor<4xi64>, %u: tensor<4xf32>) {
  %m = tile.slice %n[0] : tensor<4xi64> -> tensor<4xi64, #tile.encoding<L1>>
  %v = tile.slice %u[0] : tensor<4xf32> -> tensor<4xf32, #tile.encoding<L1>>
  %y = tile.scatter %v into %x[0] axis 0 at %m maps [affine_map<(d0) -> (0)>, affine_map<(d0) -> (d0)>] combine <add>
      : tensor<4xf32, #tile.encoding<L1>>, tensor<4xi64, #tile.encoding<L1>> into tensor<8xf32>
  func.return
}
