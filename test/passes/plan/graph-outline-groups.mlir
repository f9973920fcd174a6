// RUN: tlf-opt %s -p graph-outline-groups --split-input-file | filecheck %s

// Equal groups become calls of one function, which also views their operands; a group
// that occurs once stays.

// CHECK-LABEL: func.func private @twice.group0(%x: tensor<8x4xf32>) -> tensor<4x8xf32>
// CHECK-NEXT:    %[[VIEW:.*]] = graph.reshape %x
// CHECK-NEXT:    %[[GROUP:.*]] = graph.group ins(%{{.*}} = %[[VIEW]] : tensor<4x8xf32>)
// CHECK:         func.return %[[GROUP]]
// CHECK-LABEL: func.func @twice
// CHECK:         %a = func.call @twice.group0(%x) : (tensor<8x4xf32>) -> tensor<4x8xf32>
// CHECK:         %b = func.call @twice.group0(%y) : (tensor<8x4xf32>) -> tensor<4x8xf32>
// CHECK-NEXT:    %c = graph.group ins(%{{.*}} = %b : tensor<4x8xf32>)
func.func @twice(%x: tensor<8x4xf32>, %y: tensor<8x4xf32>) -> (tensor<4x8xf32>, tensor<4x8xf32>) {
  %xs = graph.reshape %x : (tensor<8x4xf32>) -> tensor<4x8xf32>
  %a = graph.group ins(%e = %xs : tensor<4x8xf32>) plan #graph.plan<L1, tile [2, 8], mapping grid> -> (tensor<4x8xf32>) {
    %r = graph.exp %e : tensor<4x8xf32>
    graph.yield %r : tensor<4x8xf32>
  }
  %ys = graph.reshape %y : (tensor<8x4xf32>) -> tensor<4x8xf32>
  %b = graph.group ins(%e = %ys : tensor<4x8xf32>) plan #graph.plan<L1, tile [2, 8], mapping grid> -> (tensor<4x8xf32>) {
    %r = graph.exp %e : tensor<4x8xf32>
    graph.yield %r : tensor<4x8xf32>
  }
  %c = graph.group ins(%e = %b : tensor<4x8xf32>) plan #graph.plan<L1, tile [4, 8], mapping grid> -> (tensor<4x8xf32>) {
    %r = graph.exp %e : tensor<4x8xf32>
    graph.yield %r : tensor<4x8xf32>
  }
  func.return %a, %c : tensor<4x8xf32>, tensor<4x8xf32>
}

// -----

// A call may overwrite what its group may overwrite.

// CHECK-LABEL: func.func @overwritten
// CHECK:         %b = func.call @overwritten.group0(%a) {tlf.in_place = #graph.in_place<0>}
// CHECK-NEXT:    %c = func.call @overwritten.group0(%b) {tlf.in_place = #graph.in_place<0>}
func.func @overwritten(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %a = graph.group ins(%e = %x : tensor<4x8xf32>) plan #graph.plan<L1, tile [2, 8], mapping grid> -> (tensor<4x8xf32>) {
    %r = graph.neg %e : tensor<4x8xf32>
    graph.yield %r : tensor<4x8xf32>
  }
  %b = graph.group ins(%e = %a : tensor<4x8xf32>) plan #graph.plan<L1, tile [2, 8], mapping grid> attributes {tlf.in_place = #graph.in_place<0>} -> (tensor<4x8xf32>) {
    %r = graph.exp %e : tensor<4x8xf32>
    graph.yield %r : tensor<4x8xf32>
  }
  %c = graph.group ins(%e = %b : tensor<4x8xf32>) plan #graph.plan<L1, tile [2, 8], mapping grid> attributes {tlf.in_place = #graph.in_place<0>} -> (tensor<4x8xf32>) {
    %r = graph.exp %e : tensor<4x8xf32>
    graph.yield %r : tensor<4x8xf32>
  }
  func.return %c : tensor<4x8xf32>
}

// -----

// Groups stay whose results are computed in a part of another buffer, whose reads
// overlap differently, or whose loops are no grid.

// CHECK-NOT: func.call
func.func @different(%x: tensor<4x8xf32>, %y: tensor<4x8xf32>) -> (tensor<32xf32>, tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>) {
  %a = graph.group ins(%e = %x : tensor<4x8xf32>) plan #graph.plan<L1, tile [2, 8], mapping grid> -> (tensor<4x8xf32>) {
    %r = graph.exp %e : tensor<4x8xf32>
    graph.yield %r : tensor<4x8xf32>
  }
  %b = graph.group ins(%e = %y : tensor<4x8xf32>) plan #graph.plan<L1, tile [2, 8], mapping grid> -> (tensor<4x8xf32>) {
    %r = graph.exp %e : tensor<4x8xf32>
    graph.yield %r : tensor<4x8xf32>
  }
  %flat = graph.reshape %a : (tensor<4x8xf32>) -> tensor<32xf32>
  %x0 = graph.reshape %x : (tensor<4x8xf32>) -> tensor<32xf32>
  %y0 = graph.reshape %y : (tensor<4x8xf32>) -> tensor<32xf32>
  %c = graph.group ins(%e = %x0, %f = %x : tensor<32xf32>, tensor<4x8xf32>) plan #graph.plan<L1, tile [2, 8], mapping grid> -> (tensor<4x8xf32>) {
    %g = graph.reshape %e : (tensor<32xf32>) -> tensor<4x8xf32>
    %r = graph.add %g, %f : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
    graph.yield %r : tensor<4x8xf32>
  }
  %d = graph.group ins(%e = %x0, %f = %y : tensor<32xf32>, tensor<4x8xf32>) plan #graph.plan<L1, tile [2, 8], mapping grid> -> (tensor<4x8xf32>) {
    %g = graph.reshape %e : (tensor<32xf32>) -> tensor<4x8xf32>
    %r = graph.add %g, %f : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
    graph.yield %r : tensor<4x8xf32>
  }
  %s = graph.group ins(%e = %x : tensor<4x8xf32>) plan #graph.plan<L1, tile [2, 8], mapping loop> -> (tensor<4x8xf32>) {
    %r = graph.neg %e : tensor<4x8xf32>
    graph.yield %r : tensor<4x8xf32>
  }
  %t = graph.group ins(%e = %y : tensor<4x8xf32>) plan #graph.plan<L1, tile [2, 8], mapping loop> -> (tensor<4x8xf32>) {
    %r = graph.neg %e : tensor<4x8xf32>
    graph.yield %r : tensor<4x8xf32>
  }
  %u = graph.add %s, %t : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  func.return %flat, %b, %c, %d, %u : tensor<32xf32>, tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>
}
