// RUN: not tlf-opt %s --split-input-file --verify-diagnostics 2>&1 >/dev/null | filecheck %s

// An expected error that does not come, and one with another text.

// CHECK: verify-diagnostics-fails.mlir:7:1: error: expected error `wrong` on line 8, got none
func.func @missing() {
  // expected-error@+1 {{wrong}}
  func.return
}

// -----

// CHECK-NEXT: verify-diagnostics-fails.mlir:17:3: error: unexpected error: test.op: operand 0
// CHECK-NEXT: verify-diagnostics-fails.mlir:16:1: error: expected error `other` on line 17, got none
func.func @other() {
  // expected-error@+1 {{other}}
  "test.op"(%late) : (i32) -> ()
  %late = arith.constant 1 : i32
  func.return
}

// -----

// CHECK-NEXT: verify-diagnostics-fails.mlir:26:3: error: unexpected error
func.func @unexpected() {
  "test.op"(%late) : (i32) -> ()
  %late = arith.constant 1 : i32
  func.return
}

// -----

// CHECK-NEXT: verify-diagnostics-fails.mlir:34:1: error: expected `{{.*}}` after `expected-error`
// expected-error nothing
