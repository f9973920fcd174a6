// RUN: tlf-opt %s -p canonicalize | filecheck %s

// A cast by way of a type that holds every number is one cast, or none.
// CHECK-LABEL: func.func @casts(%x{{.*}}, %n
// CHECK-NEXT:    %[[A:.*]] = graph.cast %x : (tensor<4xbf16>) -> tensor<4xf64>
// CHECK-NEXT:    %[[B:.*]] = graph.cast %n : (tensor<4xi64>) -> tensor<4xi8>
// CHECK-NEXT:    func.return %x, %[[A]], %[[B]]
func.func @casts(%x: tensor<4xbf16>, %n: tensor<4xi64>) -> (tensor<4xbf16>, tensor<4xf64>, tensor<4xi8>) {
  %0 = graph.cast %x : (tensor<4xbf16>) -> tensor<4xf32>
  %1 = graph.cast %0 : (tensor<4xf32>) -> tensor<4xbf16>
  %2 = graph.cast %0 : (tensor<4xf32>) -> tensor<4xf64>
  %3 = graph.cast %n : (tensor<4xi64>) -> tensor<4xi32>
  %4 = graph.cast %3 : (tensor<4xi32>) -> tensor<4xi8>
  func.return %1, %2, %4 : tensor<4xbf16>, tensor<4xf64>, tensor<4xi8>
}

// From i32 to f16 there is a step more, f32, which rounds too.
// CHECK-LABEL: func.func @rounding
// CHECK-NEXT:    graph.cast
// CHECK-NEXT:    graph.cast
func.func @rounding(%n: tensor<4xi32>) -> tensor<4xf16> {
  %0 = graph.cast %n : (tensor<4xi32>) -> tensor<4xf64>
  %1 = graph.cast %0 : (tensor<4xf64>) -> tensor<4xf16>
  func.return %1 : tensor<4xf16>
}

// A slice of a slice is one; a slice of everything and a pad by nothing go away.
// CHECK-LABEL: func.func @slices
// CHECK-NEXT:    %[[Y:.*]] = graph.slice %x offsets [5, 1] strides [6, 1] : (tensor<20x8xf32>) -> tensor<2x4xf32>
// CHECK-NEXT:    func.return %[[Y]]
func.func @slices(%x: tensor<20x8xf32>) -> tensor<2x4xf32> {
  %0 = graph.slice %x offsets [0, 0] strides [1, 1] : (tensor<20x8xf32>) -> tensor<20x8xf32>
  %1 = graph.pad %0 low [0, 0] high [0, 0] fill 0.0 : (tensor<20x8xf32>) -> tensor<20x8xf32>
  %2 = graph.slice %1 offsets [2, 1] strides [3, 1] : (tensor<20x8xf32>) -> tensor<6x5xf32>
  %3 = graph.slice %2 offsets [1, 0] strides [2, 1] : (tensor<6x5xf32>) -> tensor<2x4xf32>
  func.return %3 : tensor<2x4xf32>
}

// Slices of tiles move them from level to level.
// CHECK-LABEL: func.func @levels
// CHECK-NEXT:    graph.slice
// CHECK-NEXT:    graph.slice
func.func @levels(%x: tensor<8xf32>) -> tensor<2xf32, #tile.encoding<L1>> {
  %0 = graph.slice %x offsets [1] strides [1] : (tensor<8xf32>) -> tensor<4xf32, #tile.encoding<L2>>
  %1 = graph.slice %0 offsets [1] strides [1] : (tensor<4xf32, #tile.encoding<L2>>) -> tensor<2xf32, #tile.encoding<L1>>
  func.return %1 : tensor<2xf32, #tile.encoding<L1>>
}

// An elementwise operation broadcasts by itself, if its result stays as large.
// CHECK-LABEL: func.func @broadcasts
// CHECK-NEXT:    graph.add %x, %b : (tensor<4x8xf32>, tensor<8xf32>) -> tensor<4x8xf32>
// CHECK-NEXT:    %[[Y:.*]] = graph.broadcast %b
// CHECK-NEXT:    graph.neg %[[Y]]
func.func @broadcasts(%x: tensor<4x8xf32>, %b: tensor<8xf32>) -> (tensor<4x8xf32>, tensor<4x8xf32>) {
  %0 = graph.reshape %b : (tensor<8xf32>) -> tensor<1x8xf32>
  %1 = graph.broadcast %0 : (tensor<1x8xf32>) -> tensor<4x8xf32>
  %2 = graph.add %x, %1 : tensor<4x8xf32>
  %3 = graph.broadcast %b : (tensor<8xf32>) -> tensor<4x8xf32>
  %4 = graph.neg %3 : tensor<4x8xf32>
  func.return %2, %4 : tensor<4x8xf32>, tensor<4x8xf32>
}

// A maximum of single elements is a reshape; a sum makes 0 of -0.
// CHECK-LABEL: func.func @single
// CHECK-NEXT:    graph.reshape %x : (tensor<4x1xbf16>) -> tensor<4xbf16>
// CHECK-NEXT:    %[[ZERO:.*]] = graph.constant dense<0.000000e+00> : tensor<bf16>
// CHECK-NEXT:    graph.add %{{.*}}, %[[ZERO]]
func.func @single(%x: tensor<4x1xbf16>) -> (tensor<4xbf16>, tensor<4xf32>) {
  %0 = graph.reduce %x <max> axes [1] : (tensor<4x1xbf16>) -> tensor<4xbf16>
  %1 = graph.reduce %x <sum> axes [1] : (tensor<4x1xbf16>) -> tensor<4xf32>
  func.return %0, %1 : tensor<4xbf16>, tensor<4xf32>
}

// Indices that are broadcast name places once for all updates.
// CHECK-LABEL: func.func @name_once(
// CHECK-NEXT: graph.scatter %x, %n, %u axis 1 <add> : (tensor<4x9xf32>, tensor<1x2xi64>, tensor<3x2xf32>) -> tensor<4x9xf32>
// CHECK-NEXT: func.return
func.func @name_once(%x: tensor<4x9xf32>, %n: tensor<1x2xi64>, %u: tensor<3x2xf32>)
    -> tensor<4x9xf32> {
  %0 = graph.broadcast %n : (tensor<1x2xi64>) -> tensor<3x2xi64>
  %y = graph.scatter %x, %0, %u axis 1 <add>
      : (tensor<4x9xf32>, tensor<3x2xi64>, tensor<3x2xf32>) -> tensor<4x9xf32>
  func.return %y : tensor<4x9xf32>
}

// One index along its own axis is looked at for each update.
// CHECK-LABEL: func.func @name_each(
// CHECK: graph.broadcast
// CHECK: graph.scatter
func.func @name_each(%x: tensor<4x9xf32>, %n: tensor<3x1xi64>, %u: tensor<3x2xf32>)
    -> tensor<4x9xf32> {
  %0 = graph.broadcast %n : (tensor<3x1xi64>) -> tensor<3x2xi64>
  %y = graph.scatter %x, %0, %u axis 1 <add>
      : (tensor<4x9xf32>, tensor<3x2xi64>, tensor<3x2xf32>) -> tensor<4x9xf32>
  func.return %y : tensor<4x9xf32>
}

// A slice within one of joined tensors is one of that, also through joins of joins; what lies across stays.
// CHECK-LABEL: func.func @parts
// CHECK-NEXT:    %[[J:.*]] = graph.concat %x, %y axis 1
// CHECK-NEXT:    %[[A:.*]] = graph.slice %y offsets [0, 1] strides [1, 2] : (tensor<2x5xf32>) -> tensor<2x2xf32>
// CHECK-NEXT:    %[[B:.*]] = graph.slice %[[J]] offsets [0, 2] strides [1, 1] : (tensor<2x8xf32>) -> tensor<2x2xf32>
// CHECK-NEXT:    func.return %[[A]], %y, %[[B]]
func.func @parts(%x: tensor<2x3xf32>, %y: tensor<2x5xf32>) -> (tensor<2x2xf32>, tensor<2x5xf32>, tensor<2x2xf32>) {
  %0 = graph.concat %x, %y axis 1 : (tensor<2x3xf32>, tensor<2x5xf32>) -> tensor<2x8xf32>
  %1 = graph.concat %0, %0 axis 0 : (tensor<2x8xf32>, tensor<2x8xf32>) -> tensor<4x8xf32>
  %2 = graph.slice %1 offsets [2, 4] strides [1, 2] : (tensor<4x8xf32>) -> tensor<2x2xf32>
  %3 = graph.slice %0 offsets [0, 3] strides [1, 1] : (tensor<2x8xf32>) -> tensor<2x5xf32>
  %4 = graph.slice %0 offsets [0, 2] strides [1, 1] : (tensor<2x8xf32>) -> tensor<2x2xf32>
  func.return %2, %3, %4 : tensor<2x2xf32>, tensor<2x5xf32>, tensor<2x2xf32>
}
