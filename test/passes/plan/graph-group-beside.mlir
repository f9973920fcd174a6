// RUN: tlf-opt %s --target h200 -p "graph-group" | filecheck %s
// RUN: tlf-opt %s --target h200 -p "graph-decompose,graph-group,graph-select-tile-sizes,dce,convert-graph-to-tile,convert-tile-to-mem,mem-schedule-moves,convert-mem-to-triton" | filecheck %s --check-prefix=KERNEL
// RUN: tlf-run %s --target npu -p %first-plans --check | filecheck %s --check-prefix=RUNS

// Sums of columns beside a product of the same columns: an axis of the sums is that of the
// product that it runs along, wherever in its shape it stands.
// CHECK-LABEL: func.func @beside
// CHECK:         graph.group ins({{.*}}) -> (tensor<4x48x64xf16>, tensor<4x1x48xf32>) {
// CHECK-NOT:     graph.group
// KERNEL-COUNT-1: triton.launch
// KERNEL-NOT:     triton.launch
// RUNS-COUNT-2:  ok
func.func @beside(%k: tensor<4x2048x48xf16>, %v: tensor<4x2048x64xf16>)
    -> (tensor<4x48x64xf16>, tensor<4x1x48xf32>) {
  %0 = graph.relu %k : tensor<4x2048x48xf16>
  %1 = graph.cast %0 : (tensor<4x2048x48xf16>) -> tensor<4x2048x48xf32>
  %2 = graph.reduce %1 <sum> axes [1] keepdims : (tensor<4x2048x48xf32>) -> tensor<4x1x48xf32>
  %3 = graph.contract %0, %v maps [affine_map<(b, d, e, t) -> (b, t, d)>, affine_map<(b, d, e, t) -> (b, t, e)>, affine_map<(b, d, e, t) -> (b, d, e)>] : (tensor<4x2048x48xf16>, tensor<4x2048x64xf16>) -> tensor<4x48x64xf16>
  func.return %3, %2 : tensor<4x48x64xf16>, tensor<4x1x48xf32>
}
