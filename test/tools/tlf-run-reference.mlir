// RUN: tlf-run %s --target reference -p graph-decompose --check | filecheck %s
// RUN: not tlf-run %s --target reference -p graph-group 2>&1 | filecheck %s --check-prefix=NEEDS

// The reference runs what passes make of a program, where they need no target.
// CHECK: program {{.*}} on reference
// CHECK: error of y {{.*}} ok
// NEEDS: error: expected a module with a target description, got none
func.func @f(%x: tensor<3x5xf32>) -> tensor<3x5xf32> {
  %y = graph.softmax %x axis 1 : (tensor<3x5xf32>) -> tensor<3x5xf32>
  func.return %y : tensor<3x5xf32>
}
