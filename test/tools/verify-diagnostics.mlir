// RUN: tlf-opt %s --split-input-file --verify-diagnostics | filecheck %s

// A comment on the line itself.

func.func @f(%a: i32) -> i64 {
  func.return %a : i32 // expected-error {{Expected arguments to have the same types as the function output types}}
}

// -----

// An error of the parser.

// expected-error@+1 {{unknown operation}}
"no.such_op"() : () -> ()

// -----

// An error above, and a regular expression.

func.func @f(%a: i32) {
  %0 = arith.addi %a, %b : i32
  %b = arith.constant 1 : i32
  // expected-error-re@-2 {{operand [0-9], defined by `arith\.[a-z]+`}}
  func.return
}

// -----

func.func @f(%a: i32) {
  // Several comments may stand between.
  // expected-error@below {{does not dominate}}
  "test.op"(%b) : (i32) -> ()
  %b = arith.constant 1 : i32
  func.return
}

// -----

// A program without errors is printed.

// CHECK: func.func @fine
func.func @fine() {
  func.return
}
