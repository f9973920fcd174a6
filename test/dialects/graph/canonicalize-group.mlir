// RUN: tlf-opt %s -p canonicalize | filecheck %s

// A group that only yields its argument computes nothing.
// CHECK-LABEL: func.func @nothing
// CHECK-NEXT:    func.return %x
func.func @nothing(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %y = graph.group ins(%a = %x : tensor<4x8xf32>) -> (tensor<4x8xf32>) {
    %0 = graph.relu %a : tensor<4x8xf32>
    graph.yield %a : tensor<4x8xf32>
  }
  func.return %y : tensor<4x8xf32>
}

// Groups yield what they compute once: no argument, nothing twice, nothing unused.
// CHECK-LABEL: func.func @once
// CHECK-NEXT:    %[[Y:.*]] = graph.group ins(%a = %x : tensor<4x8xf32>) -> (tensor<4x8xf32>) {
// CHECK-NEXT:      %[[R:.*]] = graph.relu %a
// CHECK-NEXT:      graph.yield %[[R]] : tensor<4x8xf32>
// CHECK-NEXT:    }
// CHECK-NEXT:    func.return %x, %[[Y]], %[[Y]]
func.func @once(%x: tensor<4x8xf32>) -> (tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>) {
  %w, %y, %z, %u = graph.group ins(%a = %x : tensor<4x8xf32>)
      -> (tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>) {
    %0 = graph.relu %a : tensor<4x8xf32>
    %1 = graph.neg %a : tensor<4x8xf32>
    graph.yield %a, %0, %0, %1 : tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>
  }
  func.return %w, %y, %z : tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>
}

// A plan tells of results by their numbers, so they stay.
// CHECK-LABEL: func.func @planned
// CHECK:         graph.yield %{{.*}}, %{{.*}} : tensor<4x8xf32>, tensor<4x8xf32>
func.func @planned(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %y, %z = graph.group ins(%a = %x : tensor<4x8xf32>) plan #graph.plan<L1, tile [2, 8], mapping loop>
      -> (tensor<4x8xf32>, tensor<4x8xf32>) {
    %0 = graph.relu %a : tensor<4x8xf32>
    %1 = graph.neg %a : tensor<4x8xf32>
    graph.yield %0, %1 : tensor<4x8xf32>, tensor<4x8xf32>
  }
  func.return %y : tensor<4x8xf32>
}
