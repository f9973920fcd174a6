// RUN: tlf-opt %s -p graph-fold-comparisons --split-input-file | filecheck %s

// An index that is chosen where it is inside of an axis is neither negative nor beyond.
// CHECK-LABEL: func.func @inside
// CHECK:         [[BELOW:%.+]] = graph.compare %x, %{{.*}} <lt>
// CHECK-NEXT:    [[INSIDE:%.+]] = graph.and %{{.*}}, [[BELOW]]
// CHECK-NEXT:    [[CAST:%.+]] = graph.cast %x
// CHECK-NEXT:    [[INDEX:%.+]] = graph.select [[INSIDE]], [[CAST]], %{{.*}}
// CHECK-NEXT:    func.return [[INDEX]] : tensor<4xi64>
func.func @inside(%x: tensor<4xf32>) -> tensor<4xi64> {
  %zero = graph.constant dense<0.0> : tensor<f32>
  %three = graph.constant dense<3.0> : tensor<f32>
  %first = graph.constant dense<0> : tensor<i64>
  %count = graph.constant dense<3> : tensor<i64>
  %above = graph.compare %x, %zero <ge> : (tensor<4xf32>, tensor<f32>) -> tensor<4xi1>
  %below = graph.compare %x, %three <lt> : (tensor<4xf32>, tensor<f32>) -> tensor<4xi1>
  %inside = graph.and %above, %below : tensor<4xi1>
  %cast = graph.cast %x : (tensor<4xf32>) -> tensor<4xi64>
  %index = graph.select %inside, %cast, %first : (tensor<4xi1>, tensor<4xi64>, tensor<i64>) -> tensor<4xi64>
  %negative = graph.compare %index, %first <lt> : (tensor<4xi64>, tensor<i64>) -> tensor<4xi1>
  %sum = graph.add %index, %count : (tensor<4xi64>, tensor<i64>) -> tensor<4xi64>
  %wrapped = graph.select %negative, %sum, %index : (tensor<4xi1>, tensor<4xi64>, tensor<4xi64>) -> tensor<4xi64>
  %valid = graph.compare %wrapped, %count <lt> : (tensor<4xi64>, tensor<i64>) -> tensor<4xi1>
  %y = graph.select %valid, %wrapped, %count : (tensor<4xi1>, tensor<4xi64>, tensor<i64>) -> tensor<4xi64>
  func.return %y : tensor<4xi64>
}

// -----

// Nothing follows where one side is open, or the fraction that is cut off may matter.
// CHECK-LABEL: func.func @open
// CHECK-COUNT-2: graph.compare {{.*}} <lt>
// CHECK-COUNT-2: graph.compare {{.*}} <lt>
func.func @open(%x: tensor<4xf32>) -> (tensor<4xi1>, tensor<4xi1>) {
  %two = graph.constant dense<2.0> : tensor<f32>
  %part = graph.constant dense<2.5> : tensor<f32>
  %first = graph.constant dense<0> : tensor<i64>
  %count = graph.constant dense<2> : tensor<i64>
  %below = graph.compare %x, %two <lt> : (tensor<4xf32>, tensor<f32>) -> tensor<4xi1>
  %near = graph.compare %x, %part <lt> : (tensor<4xf32>, tensor<f32>) -> tensor<4xi1>
  %cast = graph.cast %x : (tensor<4xf32>) -> tensor<4xi64>
  %0 = graph.select %below, %cast, %first : (tensor<4xi1>, tensor<4xi64>, tensor<i64>) -> tensor<4xi64>
  %1 = graph.select %near, %cast, %first : (tensor<4xi1>, tensor<4xi64>, tensor<i64>) -> tensor<4xi64>
  %2 = graph.compare %0, %first <lt> : (tensor<4xi64>, tensor<i64>) -> tensor<4xi1>
  %3 = graph.compare %1, %count <lt> : (tensor<4xi64>, tensor<i64>) -> tensor<4xi1>
  func.return %2, %3 : tensor<4xi1>, tensor<4xi1>
}

// -----

// What is always so becomes a constant, and what is known of one side the other.
// CHECK-LABEL: func.func @always
// CHECK:         [[TRUE:%.+]] = graph.constant dense<true>
// CHECK:         func.return %c, {{.*}} : tensor<4xi1>, tensor<4xi1>
func.func @always(%c: tensor<4xi1>) -> (tensor<4xi1>, tensor<4xi1>) {
  %i = graph.iota axis 0 : tensor<4xi32>
  %four = graph.constant dense<4> : tensor<i32>
  %0 = graph.compare %i, %four <lt> : (tensor<4xi32>, tensor<i32>) -> tensor<4xi1>
  %1 = graph.and %c, %0 : tensor<4xi1>
  %2 = graph.compare %four, %i <gt> : (tensor<i32>, tensor<4xi32>) -> tensor<4xi1>
  func.return %1, %2 : tensor<4xi1>, tensor<4xi1>
}
