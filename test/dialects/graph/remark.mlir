// RUN: TLF_ROUNDTRIP

// CHECK: func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> attributes {tlf.remarks = [
// CHECK-SAME: #graph.remark<passed "graph-a" "done" at "layers.0", "layers.1">,
// CHECK-SAME: #graph.remark<missed "graph-b" "left">
func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> attributes {tlf.remarks = [
    #graph.remark<passed "graph-a" "done" at "layers.0", "layers.1">,
    #graph.remark<missed "graph-b" "left">]} {
  func.return %x : tensor<4xf32>
}
