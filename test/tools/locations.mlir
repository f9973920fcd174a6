// RUN: tlf-opt %s --split-input-file --print-debuginfo | filecheck %s

// Every operation gets its own line and column, unless it has a location already.

// CHECK-LABEL: func.func @places
func.func @places(%a: i32) -> i32 {
  // CHECK-NEXT: arith.constant 1 : i32 loc("{{.*}}locations.mlir":8:3)
  %0 = arith.constant 1 : i32
  // CHECK-NEXT: arith.constant 2 : i32 loc("model.py":3:4)
  %1 = arith.constant 2 : i32 loc("model.py":3:4)
  // CHECK-NEXT: "test.op"() ({
  "test.op"() ({
      // CHECK-NEXT: "test.termop"() : () -> () loc("{{.*}}locations.mlir":14:7)
      "test.termop"() : () -> ()
  // CHECK-NEXT: }) : () -> () loc("{{.*}}locations.mlir":12:3)
  }) : () -> ()
  func.return %0 : i32
// CHECK: } loc("{{.*}}locations.mlir":6:1)
}

// -----

// Lines count from the start of the file.

// CHECK: "test.op"() : () -> () loc("{{.*}}locations.mlir":26:1)
"test.op"() : () -> ()
