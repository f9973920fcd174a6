// RUN: tlf-opt %s --target npu-tiny -p graph-annotate-lower-bound | filecheck %s
// RUN: tlf-opt %s --target npu-tiny -t analysis | filecheck %s --check-prefix=TABLE
// RUN: tlf-opt %s --target npu-tiny -t "analysis{format=json}" | filecheck %s --check-prefix=JSON
// RUN: not tlf-opt %s -p graph-annotate-lower-bound 2>&1 | filecheck %s --check-prefix=NONE

// NONE: error: expected a module with a target description, got none: pass `--target`

// The array of `npu-tiny` has 8 x 8 cells, which take 4 cycles for a step in f32. Its near
// memories have 72 KiB, and its outermost one moves 64 bytes a cycle.

// 100 x 60 x 20 products: 7500 cycles, and 100 / 8 * 8 passes for each step of k, as 60
// columns are 8 strips. A burst takes 4 + 500 cycles to L2, 1 + 50 to L1, and as long
// back; the array takes 14 to drain.
// CHECK-LABEL: func.func @product
// CHECK-SAME: tlf.bounds = {binding = "matrix", bus_bytes = 37120 : i64, cuts = [], cycles = 8624 : i64, cycles_any_engine = 1954 : i64, cycles_quantised = 9124 : i64, macs = 120000 : i64, payload_bytes = 36800 : i64, waits = []}
func.func @product(%a: tensor<100x20xf32>, %w: tensor<20x60xf32>)
    -> tensor<100x60xf32> {
  %0 = graph.matmul %a, %w
      : (tensor<100x20xf32>, tensor<20x60xf32>) -> tensor<100x60xf32>
  func.return %0 : tensor<100x60xf32>
}

// All of %x is summed before any element of the result is there.
// CHECK-LABEL: func.func @centred
// CHECK-SAME: cuts = ["barrier %x: 86,272 bytes"]
// CHECK-SAME: payload_bytes = 406272 : i64
func.func @centred(%x: tensor<4x10000xf32>) -> tensor<4x10000xf32> {
  %s = graph.reduce %x <sum> axes [0, 1] keepdims
      : (tensor<4x10000xf32>) -> tensor<1x1xf32>
  %y = graph.sub %x, %s
      : (tensor<4x10000xf32>, tensor<1x1xf32>) -> tensor<4x10000xf32>
  func.return %y : tensor<4x10000xf32>
}

// Groups hand on what they compute through the outermost memory.
// CHECK-LABEL: func.func @groups
// CHECK-SAME: tlf.bounds = {{.*}}payload_bytes = 32768 : i64
// CHECK-SAME: tlf.partition_bounds = {{.*}}payload_bytes = 81920 : i64
func.func @groups(%x: tensor<64x64xf32>) -> tensor<64x64xf32> {
  // CHECK: graph.group {{.*}}payload_bytes = 32768 : i64
  %a = graph.group ins(%p = %x : tensor<64x64xf32>) -> (tensor<64x64xf32>) {
    %0 = graph.exp %p : tensor<64x64xf32>
    graph.yield %0 : tensor<64x64xf32>
  }
  // CHECK: graph.group {{.*}}payload_bytes = 49152 : i64
  %b = graph.group ins(%p = %a, %q = %x : tensor<64x64xf32>, tensor<64x64xf32>)
      -> (tensor<64x64xf32>) {
    %0 = graph.add %p, %q : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
    graph.yield %0 : tensor<64x64xf32>
  }
  func.return %b : tensor<64x64xf32>
}

// When the last element of %a is complete, all of %x has been read, and of the products
// that need it, of a row of %w and then of all of %v, none is done. These are 524,416
// bytes, of which 73,728 can be near.
// CHECK-LABEL: func.func @stages
// CHECK-SAME: binding = "capacity"
// CHECK-SAME: waits = ["%a: 450,688 bytes are read after it"]
func.func @stages(%x: tensor<64x64xf16>, %w: tensor<64x64xf16>,
    %v: tensor<64x4096xf16>) -> tensor<1x4096xf16> {
  %a = graph.matmul %x, %w
      : (tensor<64x64xf16>, tensor<64x64xf16>) -> tensor<64x64xf16>
  %m = graph.reduce %a <max> axes [0] keepdims
      : (tensor<64x64xf16>) -> tensor<1x64xf16>
  %h = graph.matmul %m, %w
      : (tensor<1x64xf16>, tensor<64x64xf16>) -> tensor<1x64xf16>
  %y = graph.matmul %h, %v
      : (tensor<1x64xf16>, tensor<64x4096xf16>) -> tensor<1x4096xf16>
  func.return %y : tensor<1x4096xf16>
}

// TABLE:      lower bounds {{ *}}payload bytes       bus bytes                macs          cycles       quantised      any engine  bottleneck
// TABLE-NEXT: @product                     36,800          37,120             120,000           8,624           9,124           1,954  matrix
// TABLE-NEXT: @centred                    406,272
// TABLE-NEXT:   extra traffic: barrier %x: 86,272 bytes
// TABLE-NEXT: @groups                      32,768
// TABLE-NEXT:   waits for graph.exp
// TABLE-NEXT:   its groups                 81,920

// TABLE:      @stages
// TABLE-NEXT:   waits for %a: 450,688 bytes are read after it

// JSON: "bounds": {
// JSON-NEXT: "product": {
// JSON-NEXT: "payload_bytes": 36800,
// JSON: "groups": {
// JSON: "partition": {
// JSON-NEXT: "payload_bytes": 81920,
