// RUN: not tlf-opt %s --split-input-file 2>&1 >/dev/null | filecheck %s --check-prefix=ERROR
// RUN: not tlf-opt %s --split-input-file 2>/dev/null | filecheck %s

// A piece with an error does not keep the others from being processed.

// CHECK:      func.func @first
func.func @first() {
  func.return
}

// ----- the rest of this line says nothing

// ERROR: split-input-file.mlir:15:3: error: arith.addi: {{.*}}
func.func @second() {
  "arith.addi"() : () -> ()
  func.return
}

// -----

// ERROR: split-input-file.mlir:23:3: error: {{.*}}
func.func @third() {
  %0 = arith
}

// -----

// A piece may be empty.

// -----

// CHECK:      // -----
// CHECK:      func.func @last
func.func @last() {
  func.return
}
