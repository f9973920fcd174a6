// RUN: tlf-opt %s -p graph-decompose --print-debuginfo | filecheck %s
// RUN: tlf-opt %s -p convert-scf-to-cf --print-debuginfo | filecheck %s --check-prefix=CFG

// What a pass puts in the place of an operation keeps its location.

// CHECK-LABEL: func.func @silu
func.func @silu(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = graph.relu %x : tensor<4xf32>
  // CHECK: graph.constant {{.*}} loc("{{.*}}locations-rewrite.mlir":11:3)
  // CHECK: graph.{{.*}} loc("{{.*}}locations-rewrite.mlir":11:3)
  %1 = graph.silu %0 : tensor<4xf32>
  func.return %1 : tensor<4xf32>
}

// Passes of others say nothing of locations: what they make takes the nearest one.

// CFG-LABEL: func.func @loop
func.func @loop(%lower: index, %upper: index, %step: index) {
  // CFG:     cf.br {{.*}} loc("{{.*}}locations-rewrite.mlir":18:1)
  // CFG:     arith.cmpi {{.*}} loc("{{.*}}locations-rewrite.mlir":18:1)
  // CFG:     "test.op"({{.*}} loc("{{.*}}locations-rewrite.mlir":24:5)
  // CFG-NOT: loc(unknown) }
  scf.for %i = %lower to %upper step %step {
    "test.op"(%i) : (index) -> ()
  }
  func.return
}
