// RUN: tlf-opt %s --target h200 -p tile-verify-levels --split-input-file --verify-diagnostics
// RUN: tlf-opt %s --target h200 -p triton-pipeline --split-input-file --verify-diagnostics
// RUN: tlf-opt %S/Inputs/unknown-level.mlir --target npu -p npu-pipeline --verify-diagnostics

func.func @unknown(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error@+1 {{tile.slice: expected a level among L1, L3 of h200, got L7}}
  %a = tile.slice %x[0] : tensor<4xf32> -> tensor<4xf32, #tile.encoding<L7>>
  %b = tile.slice %a[0] : tensor<4xf32, #tile.encoding<L7>> -> tensor<4xf32>
  func.return %b : tensor<4xf32>
}

// -----

func.func @cache(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error@+1 {{tile.slice: expected a level among L1, L3 of h200, got L2, which is a cache}}
  %a = tile.slice %x[0] : tensor<4xf32> -> tensor<4xf32, #tile.encoding<L2>>
  %b = tile.slice %a[0] : tensor<4xf32, #tile.encoding<L2>> -> tensor<4xf32>
  func.return %b : tensor<4xf32>
}

// -----

// expected-error@+1 {{func.func: expected a level among L3 of h200, got L2, which is a cache}}
func.func @argument(%x: memref<4xf32, "L2">) {
  func.return
}

// -----

func.func @buffer_of_values() {
  // expected-error@+1 {{mem.alloc: expected a level among L3 of h200, got L1, which holds no buffers}}
  %a = mem.alloc : memref<4xf32, "L1">
  func.return
}

// -----

func.func @buffer() {
  // expected-error@+1 {{mem.alloc: expected a level among L3 of h200, got L4}}
  %a = mem.alloc : memref<4xf32, "L4">
  func.return
}
