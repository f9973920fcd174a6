// RUN: not tlf-opt %s --split-input-file 2>&1 | filecheck %s

// An error is at the first place in a file that a location is made of, else around it.

// CHECK: {{^}}model.py:3:4: error: test.op: operand 0
func.func @f() {
  "test.op"(%late) : (i32) -> () loc(fused["block", "layer"("model.py":3:4)])
  %late = arith.constant 1 : i32
  func.return
}

// -----

// CHECK: {{^}}lib.py:1:2: error: test.op: operand 0
func.func @f() {
  "test.op"(%late) : (i32) -> () loc(callsite("lib.py":1:2 at "main.py":5:6))
  %late = arith.constant 1 : i32
  func.return
}

// -----

// CHECK: locations-of-errors.mlir:25:3: error: test.op: operand 0{{.*}} (in `layer`)
func.func @f() {
  "test.op"(%late) : (i32) -> () loc("layer")
  %late = arith.constant 1 : i32
  func.return
}
