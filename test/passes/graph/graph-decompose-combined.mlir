// RUN: tlf-opt %s --target h200 -p graph-decompose,canonicalize | filecheck %s

// On GPUs, updates are combined with elements of memory, in any order and in a type that
// is combined there. Those of 16 bits are widened when they are loaded.
// CHECK-LABEL: func.func @halves
// CHECK-SAME:    "scatter combines its updates in any order"
// CHECK-NEXT:    [[X:%.*]] = graph.cast %x : (tensor<50000x64xf16>) -> tensor<50000x64xf32>
// CHECK-NEXT:    [[Y:%.*]] = graph.scatter [[X]], %n, %u axis 0 <add> combined
// CHECK-NEXT:    graph.cast [[Y]]
func.func @halves(%x: tensor<50000x64xf16>, %n: tensor<500x1xi64>, %u: tensor<500x64xf16>) -> tensor<50000x64xf16> {
  %y = graph.scatter %x, %n, %u axis 0 <add> : (tensor<50000x64xf16>, tensor<500x1xi64>, tensor<500x64xf16>) -> tensor<50000x64xf16>
  func.return %y : tensor<50000x64xf16>
}

// Extrema of floats are combined with a tensor without NaN.
// CHECK-LABEL: func.func @extrema
// CHECK-NEXT:    [[START:%.*]] = graph.constant dense<0xff800000> : tensor<50000x64xf32>
// CHECK-NEXT:    [[Y:%.*]] = graph.scatter [[START]], %n, %u axis 0 <max> combined
// CHECK-NEXT:    graph.maximum %x, [[Y]]
func.func @extrema(%x: tensor<50000x64xf32>, %n: tensor<500x1xi64>, %u: tensor<500x64xf32>) -> tensor<50000x64xf32> {
  %y = graph.scatter %x, %n, %u axis 0 <max> : (tensor<50000x64xf32>, tensor<500x1xi64>, tensor<500x64xf32>) -> tensor<50000x64xf32>
  func.return %y : tensor<50000x64xf32>
}

// The last of the updates of an element or a slice is the one with the greatest number.
// CHECK-LABEL: func.func @last
// CHECK:         [[NONE:%.*]] = graph.constant dense<-1> : tensor<50000x1xi32>
// CHECK-NEXT:    [[I:%.*]] = graph.constant dense<"
// CHECK:         [[LAST:%.*]] = graph.scatter [[NONE]], %n, [[I]] axis 0 <max> combined
// CHECK:         graph.take %u,
// CHECK:         graph.compare [[LAST]], {{.*}} <ge>
// CHECK-NEXT:    graph.select
func.func @last(%x: tensor<50000x64xf16>, %n: tensor<5000x1xi64>, %u: tensor<5000x64xf16>) -> tensor<50000x64xf16> {
  %y = graph.scatter %x, %n, %u axis 0 <set> : (tensor<50000x64xf16>, tensor<5000x1xi64>, tensor<5000x64xf16>) -> tensor<50000x64xf16>
  func.return %y : tensor<50000x64xf16>
}

// Few positions are compared, and so are products.
// CHECK-LABEL: func.func @short
// CHECK-NOT:     graph.scatter
func.func @short(%x: tensor<4x64xf32>, %n: tensor<5000x64xi64>, %u: tensor<5000x64xf32>) -> tensor<4x64xf32> {
  %y = graph.scatter %x, %n, %u axis 0 <add> : (tensor<4x64xf32>, tensor<5000x64xi64>, tensor<5000x64xf32>) -> tensor<4x64xf32>
  func.return %y : tensor<4x64xf32>
}

// CHECK-LABEL: func.func @product
// CHECK-NOT:     graph.scatter
func.func @product(%x: tensor<50000x64xf32>, %n: tensor<500x1xi64>, %u: tensor<500x64xf32>) -> tensor<50000x64xf32> {
  %y = graph.scatter %x, %n, %u axis 0 <mul> : (tensor<50000x64xf32>, tensor<500x1xi64>, tensor<500x64xf32>) -> tensor<50000x64xf32>
  func.return %y : tensor<50000x64xf32>
}
