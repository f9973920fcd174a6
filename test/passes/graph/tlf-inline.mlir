// RUN: tlf-opt %s -p tlf-inline --split-input-file | filecheck %s

// Inner calls come first, also where they are written last; names of results stay.
// CHECK-LABEL: func.func @outer(%x: tensor<4xf32>, %y: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
// CHECK-NEXT:    %a = graph.exp %x : tensor<4xf32>
// CHECK-NEXT:    %b = graph.relu %a : tensor<4xf32>
// CHECK-NEXT:    %e = graph.exp %b : tensor<4xf32>
// CHECK-NEXT:    %c = graph.relu %e : tensor<4xf32>
// CHECK-NEXT:    func.return %c, %y : tensor<4xf32>, tensor<4xf32>
// CHECK-NEXT:  }
// CHECK-NEXT:  func.func @middle(%x: tensor<4xf32>, %y: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
// CHECK-NEXT:    %e = graph.exp %x : tensor<4xf32>
// CHECK-NEXT:    %z = graph.relu %e : tensor<4xf32>
// CHECK-NEXT:    func.return %z, %y : tensor<4xf32>, tensor<4xf32>
// CHECK-NEXT:  }
// CHECK-NOT:   @inner
func.func @outer(%x: tensor<4xf32>, %y: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %a = func.call @inner(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %b = graph.relu %a : tensor<4xf32>
  %c, %d = func.call @middle(%b, %y) : (tensor<4xf32>, tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>)
  func.return %c, %d : tensor<4xf32>, tensor<4xf32>
}
func.func @middle(%x: tensor<4xf32>, %y: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %e = func.call @inner(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %z = graph.relu %e : tensor<4xf32>
  func.return %z, %y : tensor<4xf32>, tensor<4xf32>
}
func.func private @inner(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = graph.exp %x : tensor<4xf32>
  func.return %0 : tensor<4xf32>
}

// -----

// Loops and buffers, too. A private function that nothing called is another program's.
// CHECK-LABEL: func.func @rows
// CHECK-NEXT:    %c0 = arith.constant 0 : index
// CHECK:         scf.for %i = %c0
// CHECK-NEXT:      mem.fill 0.0 into %x : memref<4x4xf32, "L3">
// CHECK-NEXT:    }
// CHECK:       func.func private @unused
func.func @rows(%x: memref<4x4xf32, "L3">) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  scf.for %i = %c0 to %c4 step %c1 {
    func.call @clear(%x) : (memref<4x4xf32, "L3">) -> ()
  }
  func.return
}
func.func private @clear(%x: memref<4x4xf32, "L3">) {
  mem.fill 0.0 into %x : memref<4x4xf32, "L3">
  func.return
}
func.func private @unused() {
  func.return
}

// -----

// What has no body, or several blocks, is still called.
// CHECK-LABEL: func.func @kept
// CHECK-NEXT:    func.call @declared
// CHECK-NEXT:    func.call @blocks
// CHECK:       func.func private @declared
// CHECK:       func.func private @blocks
func.func @kept(%x: tensor<4xf32>) -> tensor<4xf32> {
  %y = func.call @declared(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %z = func.call @blocks(%y) : (tensor<4xf32>) -> tensor<4xf32>
  func.return %z : tensor<4xf32>
}
func.func private @declared(tensor<4xf32>) -> tensor<4xf32>
func.func private @blocks(%x: tensor<4xf32>) -> tensor<4xf32> {
  cf.br ^end
^end:
  func.return %x : tensor<4xf32>
}
