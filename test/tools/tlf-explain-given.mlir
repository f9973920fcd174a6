// RUN: tlf-explain %s --entry alone | filecheck %s
// RUN: tlf-explain %s --entry first | filecheck %s --check-prefix=FIRST
// RUN: tlf-explain %s --entry alone --why-not-fuse 0,1 | filecheck %s --check-prefix=ONE
// RUN: tlf-explain %s --entry first --why-not-fuse 1,m | filecheck %s --check-prefix=APART

// A group with a plan in the program is told with its own figures, and nothing was
// chosen.

// CHECK:      @alone on npu, 1 group
// CHECK:      0 %0 to %1 {{.*}} [[CYCLES:[0-9,]+]] {{ *}}{{[0-9.]+}}x {{ *}}46,592  computation
// CHECK-NEXT: in all {{.*}} [[CYCLES]] {{ *}}{{[0-9.]+}}x {{ *}}46,592
// CHECK-NOT:  without merging
// CHECK-NOT:  found by
// CHECK:        plan        tile [32, 32] in L2, reduction tile [64], 1 in flight
// CHECK-NEXT:   predicted   [[CYCLES]] cycles
func.func @alone(%x: tensor<100x64xf32>, %w: tensor<64x32xf32>) -> tensor<100x32xf32> {
  %y = graph.group ins(%a = %x, %b = %w : tensor<100x64xf32>, tensor<64x32xf32>) plan #graph.plan<L2, tile [32, 32], reduce [64], mapping loop> -> (tensor<100x32xf32>) {
    %0 = graph.matmul %a, %b : (tensor<100x64xf32>, tensor<64x32xf32>) -> tensor<100x32xf32>
    %1 = graph.relu %0 : tensor<100x32xf32>
    graph.yield %1 : tensor<100x32xf32>
  }
  func.return %y : tensor<100x32xf32>
}

// What was chosen beside it is told with what it costs, too.

// FIRST:      @first on npu, 2 groups
// FIRST:      in all {{ *}}{{[0-9,]+}} {{ *}}{{[a-z]+}} {{ *}}[[ALL:[0-9,]+]] {{ *}}{{[0-9.]+}}x {{ *}}76,288
// FIRST-NEXT: without merging groups of `graph-group`: {{[0-9,]+}} cycles (1.{{[0-9]+}}x), 101,888 bytes moved
// FIRST-NEXT: found by dp, [[ALL]] cycles, with overlapping groups:
// FIRST:      group 1: %m to %s
// FIRST:        instead     %m, 1 resident tensor: {{[0-9,]+}} cycles (+{{[0-9]}}.{{[0-9]}}%) and 76,288 bytes in all

// ONE: 0 and 1: they are in one group that was planned before `graph-partition`

// APART:      1 and m: legality binds
// APART-NEXT:   because     one of them is in a group that was planned before `graph-partition`
func.func @first(%x: tensor<100x64xf32>, %w: tensor<64x32xf32>, %v: tensor<32x32xf32>) -> tensor<100x32xf32> {
  %y = graph.group ins(%a = %x, %b = %w : tensor<100x64xf32>, tensor<64x32xf32>) plan #graph.plan<L2, tile [32, 32], reduce [64], mapping loop> -> (tensor<100x32xf32>) {
    %0 = graph.matmul %a, %b : (tensor<100x64xf32>, tensor<64x32xf32>) -> tensor<100x32xf32>
    %1 = graph.relu %0 : tensor<100x32xf32>
    graph.yield %1 : tensor<100x32xf32>
  }
  %m = graph.matmul %y, %v : (tensor<100x32xf32>, tensor<32x32xf32>) -> tensor<100x32xf32>
  %s = graph.softmax %m axis 1 : (tensor<100x32xf32>) -> tensor<100x32xf32>
  func.return %s : tensor<100x32xf32>
}
