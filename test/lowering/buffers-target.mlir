// RUN: tlf-opt %s --target npu-tiny -t buffers | filecheck %s --check-prefix NEAR
// RUN: tlf-opt %s --target npu-tiny -p "mem-plan{share=true}" -t "buffers{level=L2}" | filecheck %s
// RUN: tlf-opt %s --target npu-tiny -p "mem-plan{share=true}" -t "buffers{level=L2}" -o %t.csv
// RUN: %python -m tlf.tools.tlf_plan --csv %t.csv | filecheck %s --check-prefix GIVEN
// RUN: %python -m tlf.tools.tlf_plan --csv %t.csv --replan --capacity 128 --out %t.out.csv
// RUN: %python -m tlf.tools.tlf_plan --csv %t.out.csv | filecheck %s --check-prefix GIVEN
// RUN: not tlf-opt %s --target npu-tiny -t "buffers{level=L4}" 2>&1 | filecheck %s --check-prefix LEVEL
// RUN: not tlf-opt %s --target npu-tiny -t "buffers{function=g}" 2>&1 | filecheck %s --check-prefix FUNCTION

// LEVEL: error: expected a level of L1, L2, L3, got L4
// FUNCTION: error: expected a function @g in the module, got f

// The nearest level with allocations, before offsets are chosen.
// NEAR:      id,lower,upper,size,alignment,offset
// NEAR-NEXT: near,{{[0-9]+,[0-9]+}},64,64,{{$}}
// NEAR-NOT:  far

// CHECK:      id,lower,upper,size,alignment,offset
// CHECK-NEXT: far,{{[0-9]+,[0-9]+}},64,64,0
// CHECK-NEXT: far.1,{{[0-9]+,[0-9]+}},64,64,0
// CHECK-NOT:  near

// GIVEN: arena 64 bytes, as the file says
// GIVEN: method given
func.func @f() {
  %far = mem.alloc : memref<16xf32, "L2">
  mem.fill 0.0 into %far : memref<16xf32, "L2">
  %near = mem.alloc : memref<16xf32, "L1">
  mem.fill 0.0 into %near : memref<16xf32, "L1">
  %far_1 = mem.alloc : memref<16xf32, "L2">
  mem.fill 0.0 into %far_1 : memref<16xf32, "L2">
  func.return
}
