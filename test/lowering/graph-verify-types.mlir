// RUN: tlf-opt %s --target npu -p graph-verify-types --split-input-file --verify-diagnostics | filecheck %s
// RUN: not tlf-explain %s --entry products --target npu 2>&1 | filecheck %s --check-prefix=EXPLAIN
// RUN: not tlf-run %s --entry doubles --target npu 2>&1 | filecheck %s --check-prefix=REFUSED

// EXPLAIN: graph-verify-types.mlir:{{[0-9]+}}:3: error: graph.matmul: the npu multiplies bf16, f16, f32, got i8
// REFUSED: graph-verify-types.mlir:{{[0-9]+}}:3: error: graph.relu: the npu supports bf16, f16, f32, i1, i32, i64, i8, got f64

// What the NPU does not take is told of the operations of the source.

func.func @products(%a: tensor<6x4xi8>, %b: tensor<4x5xi8>) -> tensor<6x5xi32> {
  // expected-error@+1 {{graph.matmul: the npu multiplies bf16, f16, f32, got i8}}
  %c = graph.matmul %a, %b : (tensor<6x4xi8>, tensor<4x5xi8>) -> tensor<6x5xi32>
  func.return %c : tensor<6x5xi32>
}

// -----

func.func @doubles(%x: tensor<8xf64>) -> tensor<8xf64> {
  // expected-error@+1 {{graph.relu: the npu supports bf16, f16, f32, i1, i32, i64, i8, got f64}}
  %y = graph.relu %x : tensor<8xf64>
  func.return %y : tensor<8xf64>
}

// -----

// CHECK: graph.add
func.func @right(%a: tensor<6xi8>) -> tensor<6xi8> {
  %c = graph.add %a, %a : tensor<6xi8>
  func.return %c : tensor<6xi8>
}
