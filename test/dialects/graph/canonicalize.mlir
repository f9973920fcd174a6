// RUN: tlf-opt %s -p canonicalize | filecheck %s

// What moves nothing goes away.
// CHECK-LABEL: func.func @nothing(%x
// CHECK-NEXT:    func.return %x
func.func @nothing(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %0 = graph.dropout %x ratio 0.5 : tensor<4x8xf32>
  %1 = graph.reshape %0 : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %2 = graph.transpose %1 permutation [0, 1] : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %3 = graph.broadcast %2 : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %4 = graph.cast %3 : (tensor<4x8xf32>) -> tensor<4x8xf32>
  func.return %4 : tensor<4x8xf32>
}

// Nothing but a check asks for a range.
// CHECK-LABEL: func.func @range(%x
// CHECK-NEXT:    func.return %x
func.func @range(%x: tensor<4xi64>) -> tensor<4xi64> {
  %0 = graph.within %x low -4 high 3 : tensor<4xi64>
  func.return %0 : tensor<4xi64>
}

// A transpose of a square moves elements.
// CHECK-LABEL: func.func @square
// CHECK-NEXT:    graph.transpose
func.func @square(%x: tensor<4x4xf32>) -> tensor<4x4xf32> {
  %0 = graph.transpose %x permutation [1, 0] : (tensor<4x4xf32>) -> tensor<4x4xf32>
  func.return %0 : tensor<4x4xf32>
}

// A cast that loses precision stays.
// CHECK-LABEL: func.func @rounding
// CHECK-NEXT:    graph.cast
// CHECK-NEXT:    graph.cast
func.func @rounding(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = graph.cast %x : (tensor<4xf32>) -> tensor<4xbf16>
  %1 = graph.cast %0 : (tensor<4xbf16>) -> tensor<4xf32>
  func.return %1 : tensor<4xf32>
}

// A cast of an encoding only stays too: it says where the tensor lives.
// CHECK-LABEL: func.func @encoding
// CHECK-NEXT:    graph.cast
func.func @encoding(%x: tensor<4xf32>) -> tensor<4xf32, #tile.encoding<L1>> {
  %0 = graph.cast %x : (tensor<4xf32>) -> tensor<4xf32, #tile.encoding<L1>>
  func.return %0 : tensor<4xf32, #tile.encoding<L1>>
}

// Movements of one kind merge.
// CHECK-LABEL: func.func @reshapes
// CHECK-NEXT:    %[[Y:.*]] = graph.reshape %x {test.note} : (tensor<4x6xf32>) -> tensor<2x12xf32>
// CHECK-NEXT:    func.return %[[Y]]
func.func @reshapes(%x: tensor<4x6xf32>) -> tensor<2x12xf32> {
  %0 = graph.reshape %x : (tensor<4x6xf32>) -> tensor<24xf32>
  %1 = graph.reshape %0 {test.note} : (tensor<24xf32>) -> tensor<2x12xf32>
  func.return %1 : tensor<2x12xf32>
}

// CHECK-LABEL: func.func @reshape_back(%x
// CHECK-NEXT:    func.return %x
func.func @reshape_back(%x: tensor<4x6xf32>) -> tensor<4x6xf32> {
  %0 = graph.reshape %x : (tensor<4x6xf32>) -> tensor<24xf32>
  %1 = graph.reshape %0 : (tensor<24xf32>) -> tensor<4x6xf32>
  func.return %1 : tensor<4x6xf32>
}

// CHECK-LABEL: func.func @transposes
// CHECK-NEXT:    %[[Y:.*]] = graph.transpose %x permutation [2, 1, 0] : (tensor<2x3x4xf32>) -> tensor<4x3x2xf32>
// CHECK-NEXT:    func.return %[[Y]]
func.func @transposes(%x: tensor<2x3x4xf32>) -> tensor<4x3x2xf32> {
  %0 = graph.transpose %x permutation [1, 2, 0] : (tensor<2x3x4xf32>) -> tensor<3x4x2xf32>
  %1 = graph.transpose %0 permutation [1, 0, 2] : (tensor<3x4x2xf32>) -> tensor<4x3x2xf32>
  func.return %1 : tensor<4x3x2xf32>
}

// CHECK-LABEL: func.func @broadcasts
// CHECK-NEXT:    %[[Y:.*]] = graph.broadcast %x : (tensor<4x1xf32>) -> tensor<2x4x8xf32>
// CHECK-NEXT:    func.return %[[Y]]
func.func @broadcasts(%x: tensor<4x1xf32>) -> tensor<2x4x8xf32> {
  %0 = graph.broadcast %x : (tensor<4x1xf32>) -> tensor<4x8xf32>
  %1 = graph.broadcast %0 : (tensor<4x8xf32>) -> tensor<2x4x8xf32>
  func.return %1 : tensor<2x4x8xf32>
}

// What a gathering repeats it gathers once.
// CHECK-LABEL: func.func @repeats
// CHECK-NEXT:    %[[ONCE:.*]] = graph.unfold %x map affine_map<(d0, d1) -> ((d1 * 2))> fill 0.000000e+00 : (tensor<9xf32>) -> tensor<1x4xf32>
// CHECK-NEXT:    %[[Y:.*]] = graph.broadcast %[[ONCE]] : (tensor<1x4xf32>) -> tensor<3x4xf32>
// CHECK-NEXT:    func.return %[[Y]]
func.func @repeats(%x: tensor<9xf32>) -> tensor<3x4xf32> {
  %0 = graph.unfold %x map affine_map<(d0, d1) -> (d1 * 2)> fill 0.0 : (tensor<9xf32>) -> tensor<3x4xf32>
  func.return %0 : tensor<3x4xf32>
}

// Groups without a user go, and so does what computes for nobody within one.
// CHECK-LABEL: func.func @dead
// CHECK-NEXT:    func.return
func.func @dead(%x: tensor<4xf32>) {
  %0 = graph.group ins(%a = %x : tensor<4xf32>) -> (tensor<4xf32>) {
    %1 = graph.exp %a : tensor<4xf32>
    graph.yield %1 : tensor<4xf32>
  }
  func.return
}
