// RUN: tlf-opt %s -p tidy | filecheck %s
// RUN: tlf-opt %s -p "tlf-cse , canonicalize{}" -p dce | filecheck %s

// A named pipeline stands among passes; several `-p` follow each other.

// CHECK-LABEL: func.func @f
// CHECK-NEXT:    [[SUM:%.*]] = arith.addi %a, %a : i32
// CHECK-NEXT:    "test.op"([[SUM]], [[SUM]])
func.func @f(%a: i32) {
  %unused = arith.constant 3 : i32
  %0 = arith.addi %a, %a : i32
  %1 = arith.addi %a, %a : i32
  "test.op"(%0, %1) : (i32, i32) -> ()
  func.return
}
