// RUN: tlf-opt %s -p lower-affine --print-debuginfo | filecheck %s
// RUN: tlf-opt %s -p convert-scf-to-cf --print-debuginfo | filecheck %s --check-prefix=CFG

// What a pass puts in the place of an operation keeps its location.

// CHECK-LABEL: func.func @apply
func.func @apply(%i: index) -> index {
  // CHECK: arith.constant 4 : index loc("{{.*}}locations-rewrite.mlir":11:3)
  // CHECK: arith.muli {{.*}} : index loc("{{.*}}locations-rewrite.mlir":11:3)
  // CHECK: arith.addi {{.*}} : index loc("{{.*}}locations-rewrite.mlir":11:3)
  %0 = affine.apply affine_map<(d0) -> (d0 * 4 + 3)>(%i)
  func.return %0 : index
}

// Operations inside new ones, and those that no rewriter put there, get the nearest.

// CFG-LABEL: func.func @loop
func.func @loop(%lower: index, %upper: index, %step: index) {
  // CFG:     cf.br {{.*}} loc("{{.*}}locations-rewrite.mlir":23:3)
  // CFG:     arith.cmpi {{.*}} loc("{{.*}}locations-rewrite.mlir":23:3)
  // CFG:     "test.op"({{.*}} loc("{{.*}}locations-rewrite.mlir":24:5)
  // CFG-NOT: loc(unknown) }
  scf.for %i = %lower to %upper step %step {
    "test.op"(%i) : (index) -> ()
  }
  func.return
}
