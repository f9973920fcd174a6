// RUN: tlf-opt %s -p "graph-decompose{keep=gelu,mean}" | filecheck %s

// What became of operations, and why others stayed.
// CHECK:      func.func @f
// CHECK-SAME:   #graph.remark<passed "graph-decompose" "softmax became 6 operations" at "%weights">
// CHECK-SAME:   #graph.remark<passed "graph-decompose" "matmul keeps its accumulator of f32, and a cast rounds it" at "%product">
// CHECK-SAME:   #graph.remark<missed "graph-decompose" "gelu is not decomposed: named in keep" at "%first", "%second">
// CHECK-SAME:   #graph.remark<missed "graph-decompose" "softmax is not decomposed: its group has a plan" at "%planned">
// CHECK-NOT:    remark
func.func @f(%x: tensor<4x4xf32>, %w: tensor<4x4xbf16>) -> (tensor<4x4xf32>, tensor<4x4xbf16>) {
  %weights = graph.softmax %x axis 1 : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %first = graph.gelu %weights <erf> : tensor<4x4xf32>
  %second = graph.gelu %first <tanh> : tensor<4x4xf32>
  %product = graph.matmul %w, %w : (tensor<4x4xbf16>, tensor<4x4xbf16>) -> tensor<4x4xbf16>
  %y = graph.group ins(%a = %second : tensor<4x4xf32>)
      plan #graph.plan<L1, tile [4], mapping loop> -> (tensor<4x4xf32>) {
    %planned = graph.softmax %a axis 1 : (tensor<4x4xf32>) -> tensor<4x4xf32>
    graph.yield %planned : tensor<4x4xf32>
  }
  func.return %y, %product : tensor<4x4xf32>, tensor<4x4xbf16>
}
