// RUN: tlf-opt %s --target npu-tiny:L2=6K,L1=2K -p graph-materialize-concat-operands | filecheck %s --check-prefixes=CHECK,WIDE
// RUN: tlf-opt %s --target npu-tiny:L2=5K,L1=2K -p graph-materialize-concat-operands | filecheck %s --check-prefixes=CHECK,NARROW
// RUN: tlf-opt %s --target npu-tiny:L2=6K,L1=2K -p "convert-graph-to-tile,graph-group{level=L1},graph-materialize-concat-operands,graph-select-tile-sizes{level=L1},dce,convert-graph-to-tile,tidy,convert-tile-to-mem,tidy,mem-plan" | filecheck %s --check-prefix=PLANNED
// RUN: tlf-opt %s --target npu-tiny:L2=5K,L1=2K -p "graph-materialize-concat-operands,convert-graph-to-tile,graph-group{level=L1},graph-materialize-concat-operands,graph-select-tile-sizes{level=L1},dce,convert-graph-to-tile,tidy,convert-tile-to-mem,tidy,mem-plan" | filecheck %s --check-prefix=PLANNED
// PLANNED: tlf.peak

// While the second group runs, 4 KiB are its own. One is that of what the first keeps; the
// third joins it with another one, so that it may be made in the first half of two.
// CHECK-LABEL:  func.func @skipped
// NARROW-SAME:    "operand 0 is copied: the level has no room for the result while its operands are live" at "%j"
// CHECK:        %u = graph.reduce
// WIDE-NEXT:    graph.concat %{{.*}}, %u axis 0
// NARROW-NEXT:  [[COPY:%.*]] = graph.transpose %{{.*}} permutation [0, 1]
// NARROW-NEXT:  graph.concat [[COPY]], %u axis 0
func.func @skipped(%x: tensor<16x16xf32>, %y: tensor<2x16x16xf32>)
    -> (tensor<2x16x16xf32>, tensor<32x16xf32>) {
  %s = graph.group ins(%a = %x : tensor<16x16xf32>)
      plan #graph.plan<L2, tile [16, 16], mapping loop, retain [0]> -> (tensor<16x16xf32>) {
    %0 = graph.neg %a : tensor<16x16xf32>
    graph.yield %0 : tensor<16x16xf32>
  }
  %m = graph.group ins(%b = %y, %s_1 = %s : tensor<2x16x16xf32>, tensor<16x16xf32>)
      plan #graph.plan<L2, tile [2, 16, 16], mapping loop, resident [1]> -> (tensor<2x16x16xf32>) {
    %1 = graph.add %b, %s_1
        : (tensor<2x16x16xf32>, tensor<16x16xf32>) -> tensor<2x16x16xf32>
    graph.yield %1 : tensor<2x16x16xf32>
  }
  %n = graph.group ins(%s_2 = %s, %c = %m : tensor<16x16xf32>, tensor<2x16x16xf32>)
      plan #graph.plan<L2, tile [16], mapping loop, retain [0], resident [0]> -> (tensor<32x16xf32>) {
    %u = graph.reduce %c <sum> axes [0] : (tensor<2x16x16xf32>) -> tensor<16x16xf32>
    %j = graph.concat %s_2, %u axis 0
        : (tensor<16x16xf32>, tensor<16x16xf32>) -> tensor<32x16xf32>
    graph.yield %j : tensor<32x16xf32>
  }
  %r = graph.group ins(%d = %n : tensor<32x16xf32>)
      plan #graph.plan<L2, tile [32, 16], mapping loop, resident [0]> -> (tensor<32x16xf32>) {
    %2 = graph.neg %d : tensor<32x16xf32>
    graph.yield %2 : tensor<32x16xf32>
  }
  func.return %m, %r : tensor<2x16x16xf32>, tensor<32x16xf32>
}
