// RUN: tlf-opt %s --target npu-tiny -p graph-group | filecheck %s

// Every value that others use is a result, that of the last operation first.
// CHECK-LABEL: func.func @results
// CHECK-NEXT:    %{{.*}}, %{{.*}} = graph.group ins([[X:%.*]] = %x : tensor<40x30xf32>) -> (tensor<40xf32>, tensor<40x30xf32>) {
// CHECK-NEXT:      [[E:%.*]] = graph.exp [[X]]
// CHECK-NEXT:      [[S:%.*]] = graph.reduce [[E]]
// CHECK-NEXT:      graph.yield [[S]], [[E]]
func.func @results(%x: tensor<40x30xf32>) -> (tensor<40x30xf32>, tensor<40xf32>) {
  %0 = graph.exp %x : tensor<40x30xf32>
  %1 = graph.reduce %0 <sum> axes [1] : (tensor<40x30xf32>) -> tensor<40xf32>
  func.return %0, %1 : tensor<40x30xf32>, tensor<40xf32>
}

// A constant of one value is copied into each group; one of many is an operand.
// CHECK-LABEL: func.func @constants
// CHECK:         [[M:%.*]] = graph.constant dense<{{.*}}1.0{{.*}}2.0{{.*}}> : tensor<2xf32>
// CHECK-NEXT:    graph.group ins([[X:%.*]] = %x : tensor<40x2xf32>) -> (tensor<40x2xf32>) {
// CHECK-NEXT:      [[C:%.*]] = graph.constant dense<3.0
// CHECK-NEXT:      graph.mul [[X]], [[C]]
// CHECK:         graph.group ins([[Y:%.*]] = %y, [[N:%.*]] = [[M]] : tensor<30x2xf32>, tensor<2xf32>) -> (tensor<30x2xf32>) {
// CHECK-NEXT:      [[D:%.*]] = graph.constant dense<3.0
// CHECK-NEXT:      [[Z:%.*]] = graph.mul [[Y]], [[D]]
// CHECK-NEXT:      graph.add [[Z]], [[N]]
func.func @constants(%x: tensor<40x2xf32>, %y: tensor<30x2xf32>) -> (tensor<40x2xf32>, tensor<30x2xf32>) {
  %c = graph.constant dense<3.0> : tensor<f32>
  %m = graph.constant dense<[1.0, 2.0]> : tensor<2xf32>
  %0 = graph.mul %x, %c : (tensor<40x2xf32>, tensor<f32>) -> tensor<40x2xf32>
  %1 = graph.mul %y, %c : (tensor<30x2xf32>, tensor<f32>) -> tensor<30x2xf32>
  %2 = graph.add %1, %m : (tensor<30x2xf32>, tensor<2xf32>) -> tensor<30x2xf32>
  func.return %0, %2 : tensor<40x2xf32>, tensor<30x2xf32>
}

// A view moves nothing, and stays outside; one that only adds axes of extent 1 joins.
// CHECK-LABEL: func.func @views
// CHECK-NEXT:    [[A:%.*]] = graph.group
// CHECK-NEXT:      graph.exp
// CHECK-NEXT:      graph.yield
// CHECK-NEXT:    }
// CHECK-NEXT:    [[V:%.*]] = graph.reshape [[A]]
// CHECK-NEXT:    graph.group ins([[B:%.*]] = %b, [[X:%.*]] = [[V]] : {{.*}}) -> (tensor<30x40xf32>) {
// CHECK-NEXT:      [[C:%.*]] = graph.reshape [[B]] : (tensor<30xf32>) -> tensor<30x1xf32>
// CHECK-NEXT:      graph.add [[X]], [[C]]
func.func @views(%x: tensor<40x30xf32>, %b: tensor<30xf32>) -> tensor<30x40xf32> {
  %0 = graph.exp %x : tensor<40x30xf32>
  %1 = graph.reshape %0 : (tensor<40x30xf32>) -> tensor<30x40xf32>
  %2 = graph.reshape %b : (tensor<30xf32>) -> tensor<30x1xf32>
  %3 = graph.add %1, %2 : (tensor<30x40xf32>, tensor<30x1xf32>) -> tensor<30x40xf32>
  func.return %3 : tensor<30x40xf32>
}

// A result is a tensor of its own: an argument, a view of one, a constant, or what is
// returned already are copied.
// CHECK-LABEL: func.func @returned
// CHECK:         [[V:%.*]] = graph.reshape %x
// CHECK:         [[C:%.*]] = graph.constant
// CHECK:         [[A:%.*]] = graph.group ins([[X:%.*]] = %x :
// CHECK-NEXT:      graph.transpose [[X]] permutation [0, 1]
// CHECK:         [[TWO:%.*]], [[ONE:%.*]] = graph.group
// CHECK-NEXT:      [[E:%.*]] = graph.exp
// CHECK-NEXT:      [[F:%.*]] = graph.transpose [[E]] permutation [0, 1]
// CHECK-NEXT:      graph.yield [[F]], [[E]]
// CHECK:         [[W:%.*]] = graph.group ins([[Y:%.*]] = [[V]] :
// CHECK-NEXT:      graph.transpose [[Y]] permutation [0]
// CHECK:         [[D:%.*]] = graph.group ins([[Z:%.*]] = [[C]] :
// CHECK-NEXT:      graph.transpose [[Z]] permutation [0]
// CHECK:         func.return [[A]], [[ONE]], [[TWO]], [[W]], [[D]]
func.func @returned(%x: tensor<4x3xf32>) -> (tensor<4x3xf32>, tensor<4x3xf32>, tensor<4x3xf32>, tensor<12xf32>, tensor<2xf32>) {
  %0 = graph.exp %x : tensor<4x3xf32>
  %1 = graph.reshape %x : (tensor<4x3xf32>) -> tensor<12xf32>
  %c = graph.constant dense<[1.0, 2.0]> : tensor<2xf32>
  func.return %x, %0, %0, %1, %c : tensor<4x3xf32>, tensor<4x3xf32>, tensor<4x3xf32>, tensor<12xf32>, tensor<2xf32>
}
