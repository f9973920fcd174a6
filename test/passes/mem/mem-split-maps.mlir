// RUN: tlf-opt %s --split-input-file -p mem-split-maps | filecheck %s

// One map per operation, with its constants; values between them get buffers.
%x, %y = "test.op"() : () -> (memref<4x8xf32, "L1">, memref<4x8xbf16, "L1">)

// CHECK:      [[A:%.*]] = mem.alloc : memref<4x8xf32, "L1">
// CHECK-NEXT: mem.map ins(%x : memref<4x8xf32, "L1">) outs([[A]] : memref<4x8xf32, "L1">) domain [4, 8]
// CHECK:        [[TWO:%.*]] = arith.constant 2.0
// CHECK-NEXT:   arith.mulf {{%.*}}, [[TWO]] : f32
// CHECK:      mem.map ins([[A]] : memref<4x8xf32, "L1">) outs(%y : memref<4x8xbf16, "L1">)
// CHECK:        arith.truncf
// CHECK-NOT:  mem.map
mem.map ins(%x : memref<4x8xf32, "L1">) outs(%y : memref<4x8xbf16, "L1">) domain [4, 8]
    maps [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>] {
^bb0(%a: f32):
  %two = arith.constant 2.0 : f32
  %b = arith.mulf %a, %two : f32
  %c = arith.truncf %b : f32 to bf16
  mem.yield %c : bf16
}

// -----

// What does not depend on a dimension is computed without it.
%x, %v = "test.op"() : () -> (memref<4x8xf32, "L1">, memref<8xf32, "L1">)

// CHECK:      [[A:%.*]] = mem.alloc : memref<8xf32, "L1">
// CHECK-NEXT: mem.map ins(%v : memref<8xf32, "L1">) outs([[A]] : memref<8xf32, "L1">) domain [8]
// CHECK-SAME:     affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>
// CHECK:        math.rsqrt
// CHECK:      mem.map ins(%x, [[A]] : memref<4x8xf32, "L1">, memref<8xf32, "L1">) outs(%x
// CHECK-SAME:     affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d1)>, affine_map<(d0, d1) -> (d0, d1)>
// CHECK:        arith.mulf
mem.map ins(%x, %v : memref<4x8xf32, "L1">, memref<8xf32, "L1">)
    outs(%x : memref<4x8xf32, "L1">) domain [4, 8]
    maps [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d1)>,
          affine_map<(d0, d1) -> (d0, d1)>] {
^bb0(%a: f32, %b: f32):
  %c = math.rsqrt %b : f32
  %d = arith.mulf %a, %c : f32
  mem.yield %d : f32
}

// -----

// An output that is also an input is written last.
%x, %y = "test.op"() : () -> (memref<4xf32, "L1">, memref<4xf32, "L1">)

// CHECK:      [[A:%.*]] = mem.alloc : memref<4xf32, "L1">
// CHECK-NEXT: mem.map ins(%x : {{.*}}) outs([[A]] :
// CHECK:        math.exp
// CHECK:      mem.map ins(%x : {{.*}}) outs(%y :
// CHECK:        arith.negf
// CHECK:      mem.map ins([[A]] : {{.*}}) outs(%x :
mem.map ins(%x : memref<4xf32, "L1">)
    outs(%x, %y : memref<4xf32, "L1">, memref<4xf32, "L1">) domain [4]
    maps [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>] {
^bb0(%a: f32):
  %b = math.exp %a : f32
  %c = arith.negf %a : f32
  mem.yield %b, %c : f32, f32
}

// -----

// Buffers that change places go through a new one.
%x, %y = "test.op"() : () -> (memref<4xf32, "L1">, memref<4xf32, "L1">)

// CHECK:      [[A:%.*]] = mem.alloc : memref<4xf32, "L1">
// CHECK-NEXT: mem.map ins(%x : {{.*}}) outs([[A]] :
// CHECK:      mem.map ins(%y : {{.*}}) outs(%x :
// CHECK:      mem.map ins([[A]] : {{.*}}) outs(%y :
mem.map ins(%x, %y : memref<4xf32, "L1">, memref<4xf32, "L1">)
    outs(%x, %y : memref<4xf32, "L1">, memref<4xf32, "L1">) domain [4]
    maps [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>,
          affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>] {
^bb0(%a: f32, %b: f32):
  mem.yield %b, %a : f32, f32
}

// -----

// Maps of one operation, and those of values, stay.
%x, %v = "test.op"() : () -> (memref<4xf32, "L1">, tensor<4xf32>)

// CHECK-NOT: mem.alloc
mem.map ins(%x : memref<4xf32, "L1">) outs(%x : memref<4xf32, "L1">) domain [4]
    maps [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>] {
^bb0(%a: f32):
  %one = arith.constant 1.0 : f32
  %b = arith.addf %a, %one : f32
  mem.yield %b : f32
}
%0 = mem.map ins(%v : tensor<4xf32>) domain [4]
    maps [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>] {
^bb0(%a: f32):
  %b = math.exp %a : f32
  %c = math.tanh %b : f32
  mem.yield %c : f32
} -> tensor<4xf32>
