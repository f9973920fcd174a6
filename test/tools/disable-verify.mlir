// RUN: not tlf-opt %s 2>&1 | filecheck %s
// RUN: tlf-opt %s --disable-verify | filecheck %s --check-prefix=UNCHECKED

// CHECK: disable-verify.mlir:7:3: error: test.op: operand 0, defined by
// UNCHECKED: "test.op"(%late)
func.func @f() {
  "test.op"(%late) : (i32) -> ()
  %late = arith.constant 1 : i32
  func.return
}
