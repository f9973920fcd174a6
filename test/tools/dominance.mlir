// RUN: tlf-opt %s --split-input-file --verify-diagnostics

// A use before its definition.
func.func @f(%a: i32) -> i32 {
  // expected-error@+1 {{operand 1, defined by `arith.constant` at 7:3, does not dominate this use}}
  %0 = arith.addi %a, %b : i32
  %b = arith.constant 3 : i32
  func.return %0 : i32
}
