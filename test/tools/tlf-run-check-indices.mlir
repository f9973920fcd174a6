// RUN: tlf-run %s --entry constant --target reference | filecheck %s --check-prefix=PLAIN
// RUN: not tlf-run %s --entry constant --target reference --check-indices 2>&1 | filecheck %s --check-prefix=INDEX
// RUN: not tlf-run %s --entry constant --target npu-tiny --check-indices 2>&1 | filecheck %s --check-prefix=INDEX
// RUN: tlf-run %s --entry known --target npu-tiny -p %first-plans --check-indices --check | filecheck %s --check-prefix=KNOWN
// RUN: not tlf-run %s --entry grouped --check-indices 2>&1 | filecheck %s --check-prefix=GROUPED

// PLAIN: result y
// INDEX: tlf-run-check-indices.mlir:12:3: error: graph.take: expected indices from 0 to 4, got -1
// INDEX-NOT: Traceback
func.func @constant(%x: tensor<5xf32>) -> tensor<3xf32> {
  %i = graph.constant dense<[0, -1, 4]> : tensor<3xi64>
  %y = graph.take %x, %i axis 0 : (tensor<5xf32>, tensor<3xi64>) -> tensor<3xf32>
  func.return %y : tensor<3xf32>
}

// Checks are no results.
// KNOWN:     result y
// KNOWN-NOT: result
// KNOWN:     error of y
func.func @known(%x: tensor<5xf32>, %n: tensor<3xi32>) -> tensor<3xf32> {
  %five = graph.constant dense<5> : tensor<i32>
  %0 = graph.rem %n, %five : (tensor<3xi32>, tensor<i32>) -> tensor<3xi32>
  %1 = graph.abs %0 : tensor<3xi32>
  %y = graph.take %x, %1 axis 0 : (tensor<5xf32>, tensor<3xi32>) -> tensor<3xf32>
  func.return %y : tensor<3xf32>
}

// GROUPED: mlir:31:5: error: graph.rem: cannot check values inside of another operation
func.func @grouped(%n: tensor<3xi32>) -> tensor<3xi32> {
  %y = graph.group ins(%a = %n : tensor<3xi32>) -> (tensor<3xi32>) {
    %0 = graph.rem %a, %a : tensor<3xi32>
    graph.yield %0 : tensor<3xi32>
  }
  func.return %y : tensor<3xi32>
}
