// RUN: tlf-opt %s --target npu -p "mem-pipeline,mem-split-maps,mem-plan,convert-mem-to-npu,tidy" -t npu | filecheck %s

// The first products come before the loop, and do not wait for the sum that the others
// add to, which the vector engine starts.
// CHECK:      vector fill dst=[[SUM:L1.[0-9]+.]](4):f32 a=#1.0
// CHECK-NEXT: signal vector [[FILLED:s[0-9]+]]
// CHECK-NOT:  wait matrix [[FILLED]]
// CHECK:      loop %n = 0 to 2 step 1 {
// CHECK:        wait dma_l2_l1
// CHECK:        wait matrix
// CHECK:        matmul {{.*}} k=(8)
// CHECK:      }
// CHECK-NEXT: wait matrix [[FILLED]]
// CHECK-NEXT: loop %n_1 = 0 to 6 step 1 {
// CHECK:        loop
// CHECK:          wait dma_l2_l1
// CHECK:          wait matrix
// CHECK:          matmul {{.*}} k=(8)
// CHECK:        }
// CHECK:        vector exp
// CHECK:        matmul c=[[SUM]]{{.*}} accumulate
func.func @scores(%far_k: memref<48x16xf16, "L3">, %r: memref<4x8xf32, "L3">)
    attributes {tlf.results = 1 : i64} {
  %k = mem.alloc : memref<48x16xf16, "L2">
  %l = mem.dma %far_k[0, 0] to %k[0, 0] size [48, 16]
      : memref<48x16xf16, "L3"> to memref<48x16xf16, "L2">
  mem.wait %l
  %q = mem.alloc : memref<4x8xf16, "L1">
  mem.fill 0.5 into %q : memref<4x8xf16, "L1">
  %v = mem.alloc : memref<16x8xf16, "L1">
  mem.fill 2.0 into %v : memref<16x8xf16, "L1">
  %o = mem.alloc : memref<4x8xf32, "L1">
  mem.fill 1.0 into %o : memref<4x8xf32, "L1">
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %six = arith.constant 6 : index
  scf.for %i = %zero to %six step %one {
    %k0 = mem.alloc : memref<8x16xf16, "L1">
    %t = mem.dma %k[%i, 0] to %k0[0, 0] size [8, 16]
        : memref<48x16xf16, "L2"> to memref<8x16xf16, "L1">
    mem.wait %t
    %s = mem.alloc : memref<4x16xf32, "L1">
    mem.contract ins(%q, %k0 : memref<4x8xf16, "L1">, memref<8x16xf16, "L1">)
        outs(%s : memref<4x16xf32, "L1">) domain [4, 16, 8]
        maps [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>,
              affine_map<(m, n, k) -> (m, n)>] overwrite
    %p = mem.alloc : memref<4x16xf16, "L1">
    mem.map ins(%s : memref<4x16xf32, "L1">) outs(%p : memref<4x16xf16, "L1">)
        domain [4, 16] maps [affine_map<(m, n) -> (m, n)>, affine_map<(m, n) -> (m, n)>] {
    ^bb0(%x: f32):
      %y = math.exp %x : f32
      %z = arith.truncf %y : f32 to f16
      mem.yield %z : f16
    }
    mem.contract ins(%p, %v : memref<4x16xf16, "L1">, memref<16x8xf16, "L1">)
        outs(%o : memref<4x8xf32, "L1">) domain [4, 8, 16]
        maps [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>,
              affine_map<(m, n, k) -> (m, n)>]
  } {stages = 3 : i64}
  %far = mem.alloc : memref<4x8xf32, "L2">
  %u = mem.dma %o[0, 0] to %far[0, 0] size [4, 8]
      : memref<4x8xf32, "L1"> to memref<4x8xf32, "L2">
  mem.wait %u
  %w = mem.dma %far[0, 0] to %r[0, 0] size [4, 8]
      : memref<4x8xf32, "L2"> to memref<4x8xf32, "L3">
  mem.wait %w
  func.return
}
