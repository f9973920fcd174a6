// RUN: tlf-opt %s -p graph-decompose | filecheck %s
// RUN: tlf-opt %s --target npu -p graph-decompose | filecheck %s
// RUN: tlf-opt %s --target h200 -p graph-decompose | filecheck %s --check-prefix=LOADS
// RUN: tlf-opt %s --target npu -p graph-decompose | filecheck %s --check-prefix=ROWS

// Without indexed loads an index is compared with all there are.
// CHECK-LABEL: func.func @rows
// CHECK-NOT:     graph.take
// CHECK:         graph.compare {{.*}} <eq>
// CHECK-NOT:     graph.gather
// LOADS:         take is not decomposed: the target loads by indices natively
// LOADS:         graph.take
// LOADS-NEXT:    graph.gather
// LOADS-NEXT:    func.return
func.func @rows(%t: tensor<9x4xf32>, %n: tensor<5xi64>, %m: tensor<5x2xi32>) -> tensor<5x2xf32> {
  %0 = graph.take %t, %n axis 0 : (tensor<9x4xf32>, tensor<5xi64>) -> tensor<5x4xf32>
  %1 = graph.gather %0, %m axis 1 : (tensor<5x4xf32>, tensor<5x2xi32>) -> tensor<5x2xf32>
  func.return %1 : tensor<5x2xf32>
}

// Many rows are moved to where indices say, and added there in a type that moves add.
// ROWS-LABEL: func.func @add
// ROWS-SAME:    "scatter adds in f32, and a cast rounds it"
// ROWS-NEXT:    [[X:%.*]] = graph.cast %x : (tensor<5000x64xf16>) -> tensor<5000x64xf32>
// ROWS-NEXT:    [[U:%.*]] = graph.cast %u
// ROWS-NEXT:    [[Y:%.*]] = graph.scatter [[X]], %n, [[U]] axis 0 <add>
// ROWS-NEXT:    graph.cast [[Y]]
// CHECK-LABEL:  func.func @add
func.func @add(%x: tensor<5000x64xf16>, %n: tensor<500x1xi64>, %u: tensor<500x64xf16>) -> tensor<5000x64xf16> {
  %y = graph.scatter %x, %n, %u axis 0 <add> : (tensor<5000x64xf16>, tensor<500x1xi64>, tensor<500x64xf16>) -> tensor<5000x64xf16>
  func.return %y : tensor<5000x64xf16>
}

// Others are compared: few places, and what moves cannot combine.
// ROWS-LABEL: func.func @few
// ROWS-NOT:     graph.scatter
func.func @few(%x: tensor<3x64xf32>, %n: tensor<5x1xi64>, %u: tensor<5x64xf32>) -> tensor<3x64xf32> {
  %y = graph.scatter %x, %n, %u axis 0 <set> : (tensor<3x64xf32>, tensor<5x1xi64>, tensor<5x64xf32>) -> tensor<3x64xf32>
  func.return %y : tensor<3x64xf32>
}

// ROWS-LABEL: func.func @max
// ROWS-NOT:     graph.scatter
func.func @max(%x: tensor<500x64xf32>, %n: tensor<500x1xi64>, %u: tensor<500x64xf32>) -> tensor<500x64xf32> {
  %y = graph.scatter %x, %n, %u axis 0 <max> : (tensor<500x64xf32>, tensor<500x1xi64>, tensor<500x64xf32>) -> tensor<500x64xf32>
  func.return %y : tensor<500x64xf32>
}
