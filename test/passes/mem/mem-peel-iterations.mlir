// RUN: tlf-opt %s --split-input-file -p mem-peel-iterations | filecheck %s

// 31 iterations, and 8 of 32 terms that are left.
// CHECK:      func.func @product
// CHECK:        %[[LAST:.*]] = arith.constant 992 : index
// CHECK:        %[[SUM:.*]] = scf.for %k = %zero to %[[LAST]] step %step
// CHECK:          mem.contract
// CHECK:          scf.yield
// CHECK:        mem.load %x[0, %[[LAST]]]
// CHECK:        mem.load %w[%[[LAST]], 0]
// CHECK:        %[[TOTAL:.*]] = mem.contract {{.*}} outs(%[[SUM]] :
// CHECK-NEXT:   mem.store %[[TOTAL]]
func.func @product(%x: memref<64x1000xf32, "L3">, %w: memref<1000x64xf32, "L3">,
                   %y: memref<64x64xf32, "L3">) {
  %zero = arith.constant 0 : index
  %step = arith.constant 32 : index
  %end = arith.constant 1000 : index
  %init = mem.fill 0.0 -> tensor<64x64xf32>
  %sum = scf.for %k = %zero to %end step %step iter_args(%acc = %init) -> (tensor<64x64xf32>) {
    %a = mem.load %x[0, %k] map affine_map<(m, k) -> (m, k)> size [64, 32] fill 0.0
        : memref<64x1000xf32, "L3"> -> tensor<64x32xf32>
    %b = mem.load %w[%k, 0] map affine_map<(k, n) -> (k, n)> size [32, 64] fill 0.0
        : memref<1000x64xf32, "L3"> -> tensor<32x64xf32>
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

// Matrix instructions leave lanes time for masks.
// CHECK:      func.func @instructions
// CHECK:        scf.for
// CHECK:        scf.yield
// CHECK-NOT:    mem.load
// CHECK:        mem.store
func.func @instructions(%x: memref<64x1000xf16, "L3">, %w: memref<1000x64xf16, "L3">,
                        %y: memref<64x64xf32, "L3">) {
  %zero = arith.constant 0 : index
  %step = arith.constant 32 : index
  %end = arith.constant 1000 : index
  %init = mem.fill 0.0 -> tensor<64x64xf32>
  %sum = scf.for %k = %zero to %end step %step iter_args(%acc = %init) -> (tensor<64x64xf32>) {
    %a = mem.load %x[0, %k] map affine_map<(m, k) -> (m, k)> size [64, 32] fill 0.0
        : memref<64x1000xf16, "L3"> -> tensor<64x32xf16>
    %b = mem.load %w[%k, 0] map affine_map<(k, n) -> (k, n)> size [32, 64] fill 0.0
        : memref<1000x64xf16, "L3"> -> tensor<32x64xf16>
    %c = mem.contract ins(%a, %b : tensor<64x32xf16>, tensor<32x64xf16>)
        outs(%acc : tensor<64x64xf32>) domain [64, 64, 32]
        maps [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>,
              affine_map<(m, n, k) -> (m, n)>] -> tensor<64x64xf32>
    scf.yield %c : tensor<64x64xf32>
  }
  mem.store %sum to %y[0, 0] : tensor<64x64xf32> to memref<64x64xf32, "L3">
  func.return
}
