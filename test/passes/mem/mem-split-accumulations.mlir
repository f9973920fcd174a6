// RUN: tlf-opt %s --split-input-file -p mem-split-accumulations | filecheck %s

// Lanes add every product: 6144 sequential additions become two times 3072.
// CHECK:      func.func @product
// CHECK-SAME:   (%x: memref<64x6144xf32, "L3">
// CHECK:        %[[ZERO:.*]] = mem.fill 0.0
// CHECK:        scf.for %part = {{.*}} iter_args(%[[TOTAL:.*]] = %[[ZERO]])
// CHECK:          %[[PARTIAL:.*]] = mem.fill 0.0
// CHECK:          scf.for %k = {{.*}} iter_args(%[[SUM:.*]] = %[[PARTIAL]])
// CHECK:            %[[INDEX:.*]] = affine.apply {{.*}} (%part, %k)
// CHECK:            mem.load %x[0, %[[INDEX]]]
// CHECK:            mem.contract {{.*}} outs(%[[SUM]] :
// CHECK:          mem.map ins(%[[TOTAL]], {{.*}} {
// CHECK:            arith.addf
// CHECK:          scf.yield
// CHECK-NOT:    scf.for
// CHECK:        mem.store
func.func @product(%x: memref<64x6144xf32, "L3">, %w: memref<6144x64xf32, "L3">,
                   %y: memref<64x64xf32, "L3">) {
  %zero = arith.constant 0 : index
  %step = arith.constant 32 : index
  %end = arith.constant 6144 : index
  %init = mem.fill 0.0 -> tensor<64x64xf32>
  %sum = scf.for %k = %zero to %end step %step iter_args(%acc = %init) -> (tensor<64x64xf32>) {
    %a = mem.load %x[0, %k] map affine_map<(m, k) -> (m, k)> size [64, 32]
        : memref<64x6144xf32, "L3"> -> tensor<64x32xf32>
    %b = mem.load %w[%k, 0] map affine_map<(k, n) -> (k, n)> size [32, 64]
        : memref<6144x64xf32, "L3"> -> tensor<32x64xf32>
    %c = mem.contract ins(%a, %b : tensor<64x32xf32>, tensor<32x64xf32>)
        outs(%acc : tensor<64x64xf32>) domain [64, 64, 32]
        maps [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>,
              affine_map<(m, n, k) -> (m, n)>] -> tensor<64x64xf32>
    scf.yield %c : tensor<64x64xf32>
  }
  mem.store %sum to %y[0, 0] : tensor<64x64xf32> to memref<64x64xf32, "L3">
  func.return
}

// -----

// The iterations that are left over have a loop of their own.
// CHECK:      func.func @reduction
// CHECK:        scf.for %part =
// CHECK:          scf.for %k =
// CHECK:            mem.reduce
// CHECK:          mem.map
// CHECK:        mem.fill 0.0
// CHECK:        scf.for %k_
// CHECK:          mem.reduce
// CHECK:        %[[SUM:.*]] = mem.map
// CHECK:        mem.store %[[SUM]]
func.func @reduction(%x: memref<8198xf32, "L3">, %y: memref<1xf32, "L3">) {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %end = arith.constant 8198 : index
  %init = mem.fill 0.0 -> tensor<1xf32>
  %sum = scf.for %k = %zero to %end step %one iter_args(%acc = %init) -> (tensor<1xf32>) {
    %a = mem.load %x[%k] map affine_map<(k) -> (k)> size [1]
        : memref<8198xf32, "L3"> -> tensor<1xf32>
    %c = mem.reduce ins(%a : tensor<1xf32>) outs(%acc : tensor<1xf32>) domain [1]
        maps [affine_map<(k) -> (k)>, affine_map<(k) -> (0)>] {
    ^bb0(%e: f32, %t: f32):
      %s = arith.addf %e, %t : f32
      mem.yield %s : f32
    } -> tensor<1xf32>
    scf.yield %c : tensor<1xf32>
  }
  mem.store %sum to %y[0] : tensor<1xf32> to memref<1xf32, "L3">
  func.return
}

// -----

// A matrix instruction adds the products of 32 bytes of depth at once: 1536 additions.
// CHECK:      func.func @instructions
// CHECK:        scf.for
// CHECK-NOT:    scf.for
// CHECK:        mem.store
func.func @instructions(%x: memref<64x24576xf16, "L3">, %w: memref<24576x64xf16, "L3">,
                        %y: memref<64x64xf32, "L3">) {
  %zero = arith.constant 0 : index
  %step = arith.constant 32 : index
  %end = arith.constant 24576 : index
  %init = mem.fill 0.0 -> tensor<64x64xf32>
  %sum = scf.for %k = %zero to %end step %step iter_args(%acc = %init) -> (tensor<64x64xf32>) {
    %a = mem.load %x[0, %k] map affine_map<(m, k) -> (m, k)> size [64, 32]
        : memref<64x24576xf16, "L3"> -> tensor<64x32xf16>
    %b = mem.load %w[%k, 0] map affine_map<(k, n) -> (k, n)> size [32, 64]
        : memref<24576x64xf16, "L3"> -> tensor<32x64xf16>
    %c = mem.contract ins(%a, %b : tensor<64x32xf16>, tensor<32x64xf16>)
        outs(%acc : tensor<64x64xf32>) domain [64, 64, 32]
        maps [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>,
              affine_map<(m, n, k) -> (m, n)>] -> tensor<64x64xf32>
    scf.yield %c : tensor<64x64xf32>
  }
  mem.store %sum to %y[0, 0] : tensor<64x64xf32> to memref<64x64xf32, "L3">
  func.return
}

// -----

// A maximum rounds nothing.
// CHECK:      func.func @maximum
// CHECK:        scf.for
// CHECK-NOT:    scf.for
// CHECK:        mem.store
func.func @maximum(%x: memref<8192xf32, "L3">, %y: memref<1xf32, "L3">) {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %end = arith.constant 8192 : index
  %init = mem.fill 0.0 -> tensor<1xf32>
  %sum = scf.for %k = %zero to %end step %one iter_args(%acc = %init) -> (tensor<1xf32>) {
    %a = mem.load %x[%k] map affine_map<(k) -> (k)> size [1]
        : memref<8192xf32, "L3"> -> tensor<1xf32>
    %c = mem.reduce ins(%a : tensor<1xf32>) outs(%acc : tensor<1xf32>) domain [1]
        maps [affine_map<(k) -> (k)>, affine_map<(k) -> (0)>] {
    ^bb0(%e: f32, %t: f32):
      %s = arith.maximumf %e, %t : f32
      mem.yield %s : f32
    } -> tensor<1xf32>
    scf.yield %c : tensor<1xf32>
  }
  mem.store %sum to %y[0] : tensor<1xf32> to memref<1xf32, "L3">
  func.return
}
