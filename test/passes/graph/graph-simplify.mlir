// RUN: tlf-opt %s -p graph-simplify --split-input-file | filecheck %s
// RUN: tlf-opt %s -p "graph-simplify{relaxed=true}" --split-input-file | filecheck %s --check-prefix RELAXED

// Dropout goes, a quotient by a power of two is a product, others need relaxed numerics.
// CHECK:       func.func @scaled
// CHECK-SAME:    #graph.remark<passed "graph-simplify" "dropout(x) = x outside of training" at "%dropped">
// CHECK-SAME:    #graph.remark<passed "graph-simplify" "x / 8 = x * 0.125" at "%eighth">
// CHECK-SAME:    #graph.remark<missed "graph-simplify" "x / 3 = x * 0.333333 only where numerics are relaxed" at "%third">
// CHECK-NOT:     dropout
// CHECK:         graph.mul %x
// CHECK:         graph.div
// RELAXED:     "x / 3 = x * 0.333333" at "%third"
// RELAXED-NOT:   graph.div
func.func @scaled(%x: tensor<4xf32>) -> tensor<4xf32> {
  %eight = graph.constant dense<8.0> : tensor<f32>
  %three = graph.constant dense<3.0> : tensor<f32>
  %dropped = graph.dropout %x ratio 0.5 : tensor<4xf32>
  %eighth = graph.div %dropped, %eight : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  %third = graph.div %eighth, %three : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  func.return %third : tensor<4xf32>
}

// -----

// A square is one product; other powers round more than once.
// CHECK:       func.func @powers
// CHECK-SAME:    passed "graph-simplify" "pow(x, 2) = x * x"
// CHECK-SAME:    missed "graph-simplify" "pow(x, 3) = x * x * x only where numerics are relaxed
// CHECK-SAME:    missed "graph-simplify" "pow(x, -0.5) = rsqrt(x) only where numerics are relaxed
// CHECK:         graph.mul %x, %x
// CHECK:         graph.pow
// CHECK:         graph.pow
// RELAXED:       graph.mul %x, %x
// RELAXED:       graph.mul
// RELAXED:       graph.mul
// RELAXED:       graph.rsqrt
func.func @powers(%x: tensor<4xf32>) -> tensor<4xf32> {
  %two = graph.constant dense<2.0> : tensor<f32>
  %three = graph.constant dense<3.0> : tensor<f32>
  %root = graph.constant dense<-0.5> : tensor<f32>
  %0 = graph.pow %x, %two : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  %1 = graph.pow %0, %three : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  %2 = graph.pow %1, %root : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  func.return %2 : tensor<4xf32>
}

// -----

// The module says so for all passes.
module attributes {tlf.numerics = "relaxed"} {
  // CHECK:       func.func @module
  // CHECK-SAME:    passed "graph-simplify" "(x * 3) * 5 = x * 15"
  // CHECK-SAME:    passed "graph-simplify" "x + 0 = x"
  // CHECK:         graph.mul
  // CHECK-NOT:     graph.mul
  // CHECK-NOT:     graph.add
  // CHECK:         func.return
  func.func @module(%x: tensor<4xf32>) -> tensor<4xf32> {
    %zero = graph.constant dense<0.0> : tensor<f32>
    %three = graph.constant dense<3.0> : tensor<f32>
    %five = graph.constant dense<5.0> : tensor<f32>
    %0 = graph.mul %x, %three : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
    %1 = graph.mul %0, %five : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
    %2 = graph.add %1, %zero : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
    func.return %2 : tensor<4xf32>
  }
}

// -----

// Operations of groups stay.
// CHECK:       func.func @group
// CHECK-NOT:     remark
// CHECK:         graph.neg
// CHECK:         graph.neg
func.func @group(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = graph.group ins(%a = %x : tensor<4xf32>) -> (tensor<4xf32>) {
    %1 = graph.neg %a : tensor<4xf32>
    %2 = graph.neg %1 : tensor<4xf32>
    graph.yield %2 : tensor<4xf32>
  }
  func.return %0 : tensor<4xf32>
}
