// RUN: tlf-opt %s -p convert-mem-to-triton -t "triton{parts=source}" | filecheck %s
// RUN: tlf-opt %s -p convert-mem-to-triton -t triton | filecheck %s --check-prefix=PLAN

// A program of the grid loads what is in bounds, and only masks where a tile can overshoot.

// CHECK:      import triton
// CHECK:      @triton.jit
// CHECK-NEXT: def scale_0(p0, p1):
// CHECK-NEXT: # p0: %x memref<100x64xf16, "L3">
// CHECK:      pid0 = tl.program_id(0)
// CHECK:      [[I:i0]] = (pid0 // 2) * 16  # %i
// CHECK-NEXT: [[J:i1]] = (pid0 % 2) * 32  # %j
// CHECK:      [[R:r0]] = [[I]] + tl.arange(0, 16)
// CHECK-NEXT: [[C:r1]] = [[J]] + tl.arange(0, 32)
// CHECK-NEXT: [[X:v0]] = tl.load(p0 + [[R]][:, None] * 64 + [[C]][None, :], mask=([[R]] < 100)[:, None])
// CHECK-NEXT: [[Y:v1]] = ([[X]].to(tl.float32) * 0.199951171875).to(tl.float16)
// CHECK-NEXT: tl.store(p1 + [[R]][:, None] * 64 + [[C]][None, :], [[Y]], mask=([[R]] < 100)[:, None])

// PLAN:       # plan
// PLAN:       "schema": "tlf-triton-plan"
// PLAN:       "name": "scale_0"
// PLAN:       "num_warps": 4
// PLAN:       "kind": "argument"
// PLAN:       "kind": "result"
// PLAN:       "arena_bytes": 0
// PLAN:       "launch": "scale_0"
func.func @scale(%x: memref<100x64xf16, "L3">, %y: memref<100x64xf16, "L3">) attributes {tlf.results = 1 : i64} {
  %zero = arith.constant 0 : index
  %m = arith.constant 100 : index
  %n = arith.constant 64 : index
  %rows = arith.constant 16 : index
  %columns = arith.constant 32 : index
  "scf.parallel"(%zero, %zero, %m, %n, %rows, %columns) <{operandSegmentSizes = array<i32: 2, 2, 2, 0>}> ({
  ^bb0(%i: index, %j: index):
    %v = mem.load %x[%i, %j] size [16, 32] : memref<100x64xf16, "L3"> -> tensor<16x32xf16>
    %w = mem.map ins(%v : tensor<16x32xf16>) domain [16, 32] maps [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>] {
    ^bb1(%a: f16):
      %k = arith.constant 0.2 : f16
      %b = arith.mulf %a, %k : f16
      mem.yield %b : f16
    } -> tensor<16x32xf16>
    mem.store %w to %y[%i, %j] : tensor<16x32xf16> to memref<100x64xf16, "L3">
    scf.reduce
  }) {mapping = "grid"} : (index, index, index, index, index, index) -> ()
  func.return
}
