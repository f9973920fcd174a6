// RUN: tlf-opt %s -p convert-mem-to-triton -t "triton{function=count parts=source}" | filecheck %s
// RUN: tlf-opt %s -p convert-mem-to-triton -t "triton{function=least parts=source}" | filecheck %s --check-prefix=LEAST

// Each element is combined with memory by an atomic operation, if its index is within
// the table.

// CHECK:      def count_0(p0, p1, p2):
// CHECK:      [[N:v0]] = tl.load(p0 + {{.*}}, mask={{.*}}, other=-1)
// CHECK:      [[U:v1]] = tl.load(p1 + {{.*}})
// CHECK-NEXT: [[M:v2]] = [[N]][:, None]
// CHECK-NEXT: tl.atomic_add(p2 + [[M]] * 60 + [[C:r1]][None, :], [[U]], mask=([[M]] >= 0) & ([[M]] < 500) & ([[C]] < 60)[None, :], sem="relaxed")
func.func @count(%n: memref<37xi64, "L3">, %u: memref<48x64xi32, "L3">, %y: memref<500x60xi32, "L3">) attributes {tlf.results = 1 : i64} {
  %zero = arith.constant 0 : index
  %end = arith.constant 37 : index
  %step = arith.constant 16 : index
  "scf.parallel"(%zero, %end, %step) <{operandSegmentSizes = array<i32: 1, 1, 1, 0>}> ({
  ^bb0(%i: index):
    %m = mem.load %n[%i] size [16] fill -1 : memref<37xi64, "L3"> -> tensor<16xi64>
    %v = mem.load %u[%i, 0] size [16, 64] : memref<48x64xi32, "L3"> -> tensor<16x64xi32>
    mem.scatter %v to %y[0, 0] axis 0 at %m maps [affine_map<(d0, d1) -> (0, d1)>, affine_map<(d0, d1) -> (d0)>] <add> : tensor<16x64xi32>, tensor<16xi64> to memref<500x60xi32, "L3">
    scf.reduce
  }) {mapping = "grid"} : (index, index, index) -> ()
  func.return
}

// Extrema of floats are those of integers, of the opposite kind for negative numbers.

// LEAST:      def least_0(p0, p1, p2):
// LEAST:      atomic_min_f32(p2 + [[N:v[0-9]]], {{.*}}, ([[N]] >= 0) & ([[N]] < 500))
// LEAST:      def atomic_min_f32(pointer, value, mask):
// LEAST-NEXT: bits = tl.where(value == value, value.to(tl.int32, bitcast=True), -4194304)
// LEAST:      tl.atomic_min({{.*}}, mask=mask & (bits >= 0), sem="relaxed")
// LEAST:      tl.atomic_max({{.*}}, mask=negative, sem="relaxed")
func.func @least(%n: memref<16xi64, "L3">, %u: memref<16xf32, "L3">, %y: memref<500xf32, "L3">) attributes {tlf.results = 1 : i64} {
  %m = mem.load %n[0] size [16] : memref<16xi64, "L3"> -> tensor<16xi64>
  %v = mem.load %u[0] size [16] : memref<16xf32, "L3"> -> tensor<16xf32>
  mem.scatter %v to %y[0] axis 0 at %m maps [affine_map<(d0) -> (0)>, affine_map<(d0) -> (d0)>] <min> : tensor<16xf32>, tensor<16xi64> to memref<500xf32, "L3">
  func.return
}
