// RUN: tlf-opt %s --split-input-file -p mem-narrow-arithmetic | filecheck %s

// A sum of bf16 in f32 that is rounded, through maps of their own; one operand is broadcast.
// CHECK-LABEL: func.func @sum
// CHECK:       %[[S:[0-9]+]] = mem.map ins(%x, %y : tensor<4x8xbf16>, tensor<8xbf16>) domain [4, 8] maps [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d1)>, affine_map<(d0, d1) -> (d0, d1)>]
// CHECK-NEXT:  ^bb0(%[[A:[0-9]+]]: bf16, %[[B:[0-9]+]]: bf16):
// CHECK-NEXT:    %[[R:[0-9]+]] = arith.addf %[[A]], %[[B]] : bf16
// CHECK-NEXT:    mem.yield %[[R]] : bf16
// CHECK-NEXT:  } -> tensor<4x8xbf16>
// CHECK-NEXT:  func.return %[[S]]
func.func @sum(%x: tensor<4x8xbf16>, %y: tensor<8xbf16>) -> tensor<4x8xbf16> {
  %0 = mem.map ins(%x : tensor<4x8xbf16>) domain [4, 8] maps [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>] {
  ^bb0(%a: bf16):
    %b = arith.extf %a : bf16 to f32
    mem.yield %b : f32
  } -> tensor<4x8xf32>
  %1 = mem.map ins(%y : tensor<8xbf16>) domain [8] maps [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>] {
  ^bb0(%a: bf16):
    %b = arith.extf %a : bf16 to f32
    mem.yield %b : f32
  } -> tensor<8xf32>
  %2 = mem.map ins(%0, %1 : tensor<4x8xf32>, tensor<8xf32>) domain [4, 8] maps [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d1)>, affine_map<(d0, d1) -> (d0, d1)>] {
  ^bb0(%a: f32, %b: f32):
    %c = arith.addf %a, %b : f32
    mem.yield %c : f32
  } -> tensor<4x8xf32>
  %3 = mem.map ins(%2 : tensor<4x8xf32>) domain [4, 8] maps [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>] {
  ^bb0(%a: f32):
    %b = arith.truncf %a : f32 to bf16
    mem.yield %b : bf16
  } -> tensor<4x8xbf16>
  func.return %3 : tensor<4x8xbf16>
}

// -----

// A product with 1/sqrt(128) in one body: two constants of bf16.
// CHECK-LABEL: func.func @scale
// CHECK:       ^bb0(%[[A:[0-9]+]]: bf16):
// CHECK-NEXT:    %[[H:[0-9]+]] = arith.constant 8.837890e-02 : bf16
// CHECK-NEXT:    %[[L:[0-9]+]] = arith.constant 9.417530e-06 : bf16
// CHECK-NEXT:    %[[P:[0-9]+]] = arith.mulf %[[A]], %[[L]] : bf16
// CHECK-NEXT:    %[[R:[0-9]+]] = math.fma %[[A]], %[[H]], %[[P]] : bf16
// CHECK-NEXT:    mem.yield %[[R]] : bf16
func.func @scale(%x: tensor<4x8xbf16>) -> tensor<4x8xbf16> {
  %0 = mem.map ins(%x : tensor<4x8xbf16>) domain [4, 8] maps [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>] {
  ^bb0(%a: bf16):
    %k = arith.constant 0.0883883461 : f32
    %b = arith.extf %a : bf16 to f32
    %c = arith.mulf %b, %k : f32
    %d = arith.truncf %c : f32 to bf16
    mem.yield %d : bf16
  } -> tensor<4x8xbf16>
  func.return %0 : tensor<4x8xbf16>
}

// -----

// Unchanged: products with an f32 value, a sum rounded to another type, and a product of f16
// and a number that is not one of f16.
// CHECK-LABEL: func.func @others
// CHECK-COUNT-4: arith.truncf
func.func @others(%x: tensor<8xbf16>, %y: tensor<8xf32>, %z: tensor<8xf16>) -> (tensor<8xbf16>, tensor<8xbf16>, tensor<8xf16>, tensor<8xf16>) {
  %0, %1 = mem.map ins(%x, %y : tensor<8xbf16>, tensor<8xf32>) domain [8] maps [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>] {
  ^bb0(%a: bf16, %b: f32):
    %c = arith.extf %a : bf16 to f32
    %d = arith.mulf %c, %b : f32
    %e = arith.truncf %d : f32 to bf16
    %f = arith.truncf %d : f32 to bf16
    mem.yield %e, %f : bf16, bf16
  } -> tensor<8xbf16>, tensor<8xbf16>
  %2 = mem.map ins(%x : tensor<8xbf16>) domain [8] maps [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>] {
  ^bb0(%a: bf16):
    %c = arith.extf %a : bf16 to f32
    %d = arith.addf %c, %c : f32
    %e = arith.truncf %d : f32 to f16
    mem.yield %e : f16
  } -> tensor<8xf16>
  %3 = mem.map ins(%z : tensor<8xf16>) domain [8] maps [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>] {
  ^bb0(%a: f16):
    %k = arith.constant 0.0883883461 : f32
    %c = arith.extf %a : f16 to f32
    %d = arith.mulf %c, %k : f32
    %e = arith.truncf %d : f32 to f16
    mem.yield %e : f16
  } -> tensor<8xf16>
  func.return %0, %1, %2, %3 : tensor<8xbf16>, tensor<8xbf16>, tensor<8xf16>, tensor<8xf16>
}
