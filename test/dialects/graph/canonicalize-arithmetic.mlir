// RUN: tlf-opt %s -p canonicalize | filecheck %s

// What a number leaves alone goes away, for zeros of both signs and NaN.
// CHECK-LABEL: func.func @neutral(%x
// CHECK-NEXT:    func.return %x
func.func @neutral(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %zero = graph.constant dense<0.0> : tensor<f32>
  %minus = graph.constant dense<-0.0> : tensor<8xf32>
  %one = graph.constant dense<1.0> : tensor<1x1xf32>
  %0 = graph.add %x, %minus : (tensor<4x8xf32>, tensor<8xf32>) -> tensor<4x8xf32>
  %1 = graph.sub %0, %zero : (tensor<4x8xf32>, tensor<f32>) -> tensor<4x8xf32>
  %2 = graph.mul %one, %1 : (tensor<1x1xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  %3 = graph.div %2, %one : (tensor<4x8xf32>, tensor<1x1xf32>) -> tensor<4x8xf32>
  %4 = graph.pow %3, %one : (tensor<4x8xf32>, tensor<1x1xf32>) -> tensor<4x8xf32>
  func.return %4 : tensor<4x8xf32>
}

// The sum of -0 and 0 is 0, a product with 0 may be NaN, and a difference too.
// CHECK-LABEL: func.func @special
// CHECK:         graph.add
// CHECK-NEXT:    graph.mul
// CHECK-NEXT:    graph.sub
func.func @special(%x: tensor<4xf32>) -> tensor<4xf32> {
  %zero = graph.constant dense<0.0> : tensor<f32>
  %0 = graph.add %x, %zero : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  %1 = graph.mul %0, %zero : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  %2 = graph.sub %1, %1 : tensor<4xf32>
  func.return %2 : tensor<4xf32>
}

// A number that is repeated along new axes does something.
// CHECK-LABEL: func.func @repeats
// CHECK:         graph.mul
func.func @repeats(%x: tensor<8xf32>) -> tensor<4x8xf32> {
  %one = graph.constant dense<1.0> : tensor<4x1xf32>
  %0 = graph.mul %x, %one : (tensor<8xf32>, tensor<4x1xf32>) -> tensor<4x8xf32>
  func.return %0 : tensor<4x8xf32>
}

// Integers have no special numbers.
// CHECK-LABEL: func.func @integers
// CHECK-NEXT:    %[[C:.*]] = graph.constant dense<0> : tensor<i32>
// CHECK-NEXT:    %[[Y:.*]] = graph.broadcast %[[C]] : (tensor<i32>) -> tensor<4xi32>
// CHECK-NEXT:    func.return %[[Y]], %[[Y]]
func.func @integers(%x: tensor<4xi32>) -> (tensor<4xi32>, tensor<4xi32>) {
  %zero = graph.constant dense<0> : tensor<i32>
  %one = graph.constant dense<1> : tensor<i32>
  %0 = graph.mul %x, %zero : (tensor<4xi32>, tensor<i32>) -> tensor<4xi32>
  %1 = graph.rem %x, %one : (tensor<4xi32>, tensor<i32>) -> tensor<4xi32>
  %2 = graph.sub %0, %1 : tensor<4xi32>
  %3 = graph.add %2, %1 : tensor<4xi32>
  func.return %3, %3 : tensor<4xi32>, tensor<4xi32>
}

// Functions that undo themselves, or do nothing twice.
// CHECK-LABEL: func.func @twice
// CHECK-NEXT:    %[[Y:.*]] = graph.abs %x
// CHECK-NEXT:    %[[Z:.*]] = graph.relu %[[Y]]
// CHECK-NEXT:    func.return %[[Z]]
func.func @twice(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = graph.neg %x : tensor<4xf32>
  %1 = graph.neg %0 : tensor<4xf32>
  %2 = graph.neg %1 : tensor<4xf32>
  %3 = graph.abs %2 : tensor<4xf32>
  %4 = graph.abs %3 : tensor<4xf32>
  %5 = graph.maximum %4, %4 : tensor<4xf32>
  %6 = graph.relu %5 : tensor<4xf32>
  %7 = graph.relu %6 : tensor<4xf32>
  func.return %7 : tensor<4xf32>
}

// Choices that are known.
// CHECK-LABEL: func.func @choices(%c{{.*}}, %x{{.*}}, %y
// CHECK-NEXT:    %[[Z:.*]] = graph.select %c, %y, %x
// CHECK-NEXT:    func.return %[[Z]], %c
func.func @choices(%c: tensor<4xi1>, %x: tensor<4xf32>, %y: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xi1>) {
  %true = graph.constant dense<true> : tensor<i1>
  %false = graph.constant dense<false> : tensor<4xi1>
  %0 = graph.select %true, %x, %y : (tensor<i1>, tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %1 = graph.select %c, %0, %0 : (tensor<4xi1>, tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %2 = graph.not %c : tensor<4xi1>
  %3 = graph.select %2, %1, %y : (tensor<4xi1>, tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %4 = graph.select %c, %true, %false : (tensor<4xi1>, tensor<i1>, tensor<4xi1>) -> tensor<4xi1>
  func.return %3, %4 : tensor<4xf32>, tensor<4xi1>
}

// What is not equal, and what is not less of integers; of floats it may be NaN.
// CHECK-LABEL: func.func @comparisons
// CHECK-NEXT:    graph.compare %x, %y <ne>
// CHECK-NEXT:    graph.compare %a, %b <ge>
// CHECK-NEXT:    graph.compare %x, %y <lt>
// CHECK-NEXT:    graph.not
func.func @comparisons(%x: tensor<4xf32>, %y: tensor<4xf32>, %a: tensor<4xi8>, %b: tensor<4xi8>)
    -> (tensor<4xi1>, tensor<4xi1>, tensor<4xi1>) {
  %0 = graph.compare %x, %y <eq> : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xi1>
  %1 = graph.not %0 : tensor<4xi1>
  %2 = graph.compare %a, %b <lt> : (tensor<4xi8>, tensor<4xi8>) -> tensor<4xi1>
  %3 = graph.not %2 : tensor<4xi1>
  %4 = graph.compare %x, %y <lt> : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xi1>
  %5 = graph.not %4 : tensor<4xi1>
  func.return %1, %3, %5 : tensor<4xi1>, tensor<4xi1>, tensor<4xi1>
}

// A maximum that is there already, but for an axis of extent 1; sums in other types are not.
// CHECK-LABEL: func.func @reduced_twice
// CHECK-NEXT:    [[M:%.*]] = graph.reduce %x <max> axes [1] keepdims
// CHECK-NEXT:    graph.reduce %x <sum> axes [1] keepdims :
// CHECK-NEXT:    graph.reduce %x <sum> axes [1] acc f16
// CHECK-NEXT:    graph.reshape [[M]] : (tensor<4x1xf16>) -> tensor<4xf16>
func.func @reduced_twice(%x: tensor<4x8xf16>)
    -> (tensor<4x1xf16>, tensor<4xf16>, tensor<4x1xf16>, tensor<4xf16>) {
  %0 = graph.reduce %x <max> axes [1] keepdims : (tensor<4x8xf16>) -> tensor<4x1xf16>
  %1 = graph.reduce %x <sum> axes [1] keepdims : (tensor<4x8xf16>) -> tensor<4x1xf16>
  %2 = graph.reduce %x <sum> axes [1] acc f16 : (tensor<4x8xf16>) -> tensor<4xf16>
  %3 = graph.reduce %x <max> axes [1] : (tensor<4x8xf16>) -> tensor<4xf16>
  func.return %0, %3, %1, %2 : tensor<4x1xf16>, tensor<4xf16>, tensor<4x1xf16>, tensor<4xf16>
}
