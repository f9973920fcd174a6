// RUN: tlf-opt %s --target h200 -p "graph-decompose,tidy,graph-split-scans,tidy" --split-input-file | filecheck %s
// RUN: tlf-opt %s --target npu -p "graph-decompose,tidy,graph-split-scans,tidy" --split-input-file | filecheck %s --check-prefix=WHOLE
// RUN: tlf-opt %s -p "graph-decompose,tidy,graph-split-scans,tidy" --split-input-file | filecheck %s --check-prefix=WHOLE

// WHOLE-NOT: graph-split-scans

// One long row: totals of blocks, and scans of blocks after the totals of those before.
// CHECK-LABEL: func.func @row
// CHECK-SAME:    #graph.remark<passed "graph-split-scans" "cumulate of 1048576 elements runs in [[P:[0-9]+]] blocks"
// CHECK:         [[X:%.*]] = graph.reshape %x : (tensor<1048576xf32>) -> tensor<[[P]]x[[L:[0-9]+]]xf32>
// CHECK-DAG:     [[S:%.*]] = graph.cumulate [[X]] <sum> axis 1
// CHECK-DAG:     [[T:%.*]] = graph.reduce [[X]] <sum> axes [1]
// CHECK:         [[Y:%.*]] = graph.add {{.*}}, [[S]]
// CHECK:         graph.reshape [[Y]] : {{.*}} -> tensor<1048576xf32>
func.func @row(%x: tensor<1048576xf32>) -> tensor<1048576xf32> {
  %y = graph.cumulate %x <sum> axis 0 : (tensor<1048576xf32>) -> tensor<1048576xf32>
  func.return %y : tensor<1048576xf32>
}

// -----

// Many rows keep all processors busy, and so are short ones.
// CHECK-LABEL: func.func @rows
// CHECK-NOT:     graph-split-scans
// CHECK:         graph.cumulate %x <max> axis 1 : (tensor<1024x50257xf32>)
// CHECK-NEXT:    graph.cumulate %z <max> axis 0 : (tensor<300xf32>)
func.func @rows(%x: tensor<1024x50257xf32>, %z: tensor<300xf32>) -> (tensor<1024x50257xf32>, tensor<300xf32>) {
  %y = graph.cumulate %x <max> axis 1 : (tensor<1024x50257xf32>) -> tensor<1024x50257xf32>
  %w = graph.cumulate %z <max> axis 0 : (tensor<300xf32>) -> tensor<300xf32>
  func.return %y, %w : tensor<1024x50257xf32>, tensor<300xf32>
}
