// RUN: tlf-opt %s --split-input-file --target npu-tiny -p mem-plan --verify-diagnostics

// expected-error@+1 {{@big: expected buffers within the 8192 bytes of L1, got a peak of 8204 bytes (8204 live at once)}}
func.func @big() {
  %0 = mem.alloc : memref<3xf32, "L1">
  %1 = mem.alloc : memref<2048xf32, "L1">
  mem.map ins(%0 : memref<3xf32, "L1">) outs(%0 : memref<3xf32, "L1">) domain [3]
      maps [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>] {
  ^bb0(%x: f32):
    mem.yield %x : f32
  }
  mem.fill 0.0 into %1 : memref<2048xf32, "L1">
  mem.fill 0.0 into %0 : memref<3xf32, "L1">
  func.return
}

// -----

// expected-error@+1 {{@near: expected arguments in L3, got memref<4xf32, "L1">}}
func.func @near(%x: memref<4xf32, "L1">) {
  func.return
}

// -----

func.func @far() {
  // expected-error@+1 {{expected a level of L1, L2, L3, got L4}}
  %0 = mem.alloc : memref<4xf32, "L4">
  func.return
}
