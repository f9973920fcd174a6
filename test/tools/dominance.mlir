// RUN: tlf-opt %s --split-input-file --verify-diagnostics

// A use before its definition in one block.

func.func @same_block(%a: i32) -> i32 {
  // expected-error@+1 {{operand 1, defined by `arith.constant` at 8:3, does not dominate this use}}
  %0 = arith.addi %a, %b : i32
  %b = arith.constant 3 : i32
  func.return %0 : i32
}

// -----

// What a region defines cannot be seen after it.

func.func @out_of_region() {
  "test.op"() ({
    %x = arith.constant 1 : i32
    "test.termop"() : () -> ()
  }) : () -> ()
  // expected-error@+1 {{%x is used but not defined}}
  "test.op"(%x) : (i32) -> ()
  func.return
}

// -----

// A region uses what is defined only after the operation that has the region.

func.func @too_late(%c: i1) {
  scf.if %c {
    // expected-error@+1 {{test.op: operand 0, defined by `arith.constant` at 35:3}}
    "test.op"(%late) : (i32) -> ()
  }
  %late = arith.constant 1 : i32
  func.return
}

// -----

// A value from one branch is used where both have joined.

func.func @join(%c: i1) {
  cf.cond_br %c, ^left, ^right
^left:
  %x = arith.constant 1 : i32
  cf.br ^join
^right:
  cf.br ^join
^join:
  // expected-error@+1 {{does not dominate this use}}
  "test.op"(%x) : (i32) -> ()
  func.return
}

// -----

// A block argument of a block that need not have been passed.

func.func @argument(%c: i1, %v: i32) {
  cf.cond_br %c, ^left(%v : i32), ^right
^left(%x: i32):
  cf.br ^right
^right:
  // expected-error@+1 {{operand 0, a block argument, does not dominate this use}}
  "test.op"(%x) : (i32) -> ()
  func.return
}

// -----

// Blocks may be written in any order, and loops are fine. Dead code is not checked.

func.func @allowed(%c: i1) {
  cf.br ^head
^tail:
  "test.op"(%x) : (i32) -> ()
  cf.cond_br %c, ^head, ^exit
^head:
  %x = arith.constant 1 : i32
  scf.if %c {
    "test.op"(%x) : (i32) -> ()
  }
  cf.br ^tail
^dead:
  "test.op"(%x, %y) : (i32, i32) -> ()
  %y = arith.constant 2 : i32
  cf.br ^exit
^exit:
  "test.op"(%x) : (i32) -> ()
  func.return
}
