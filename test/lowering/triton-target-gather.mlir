// RUN: tlf-opt %s -p convert-mem-to-triton -t "triton{parts=source}" | filecheck %s

// Every element has its pointer, and a condition that keeps it within the table.

// CHECK:      def embed_0(p0, p1, p2):
// CHECK:      [[N:v0]] = tl.load(p0 + {{.*}}, mask={{.*}})
// CHECK:      [[M:v1]] = [[N]][:, None]
// CHECK:      tl.load(p1 + [[M]] * 60 + [[C:r1]][None, :], mask=([[M]] >= 0) & ([[M]] < 500) & ([[C]] < 60)[None, :], other=0.0)
func.func @embed(%n: memref<37xi64, "L3">, %t: memref<500x60xf32, "L3">, %y: memref<37x60xf32, "L3">) attributes {tlf.results = 1 : i64} {
  %zero = arith.constant 0 : index
  %end = arith.constant 37 : index
  %step = arith.constant 16 : index
  "scf.parallel"(%zero, %end, %step) <{operandSegmentSizes = array<i32: 1, 1, 1, 0>}> ({
  ^bb0(%i: index):
    %m = mem.load %n[%i] size [16] : memref<37xi64, "L3"> -> tensor<16xi64>
    %v = mem.gather %t[0, 0] axis 0 at %m maps [affine_map<(d0, d1) -> (0, d1)>, affine_map<(d0, d1) -> (d0)>] size [16, 60] fill 0.0 : memref<500x60xf32, "L3">, tensor<16xi64> -> tensor<16x64xf32>
    mem.store %v to %y[%i, 0] size [16, 60] : tensor<16x64xf32> to memref<37x60xf32, "L3">
    scf.reduce
  }) {mapping = "grid"} : (index, index, index) -> ()
  func.return
}
