// RUN: tlf-opt %s --target npu-tiny -p "graph-group{level=L2},graph-partition{max-evaluations=0}" | filecheck %s
// RUN: tlf-opt %s --target npu-tiny -p "graph-group{level=L2},graph-partition{max-evaluations=0 sliding-window=false}" | filecheck %s --check-prefix=ALONE
// RUN: tlf-opt %s --target npu-tiny -p "graph-group{level=L2},graph-partition{max-evaluations=0 stages=1}" | filecheck %s --check-prefix=ONE
// RUN: tlf-opt %s --target npu:L2=128K -p "graph-group{level=L2},graph-partition{max-evaluations=0 axes=0}" | filecheck %s --check-prefix=BATCH
// RUN: tlf-opt %s --target npu:L2=128K -p "graph-group{level=L2},graph-select-tile-sizes{max-evaluations=0 axes=0}" | filecheck %s --check-prefix=BATCH
// RUN: tlf-opt %s --target npu-tiny -p "graph-group{level=L2},graph-select-tile-sizes{stages=1 sliding-window=false}" | filecheck %s --check-prefixes=ALONE,ONE
// RUN: not tlf-opt %s --target npu-tiny -p "graph-group{level=L2},graph-select-tile-sizes{axes=0}" 2>&1 | filecheck %s --check-prefix=LARGE
// RUN: tlf-opt %root/examples/bottleneck.mlir --target npu -p "graph-pipeline,graph-group{level=L2},graph-partition{max-evaluations=0 max-contractions=1}" | filecheck %s --check-prefix=KEPT
// RUN: tlf-opt %root/examples/bottleneck.mlir --target npu -p "graph-pipeline,graph-group{level=L2},graph-partition{max-evaluations=0 max-contractions=1 residency=false}" | filecheck %s --check-prefix=STORED

// RUN: tlf-opt %s --target npu-tiny:L2=40K -p "graph-group{level=L2},graph-partition{max-evaluations=0 traffic-weight=1000}" | filecheck %s --check-prefix=FAST
// RUN: tlf-opt %s --target npu-tiny:L2=40K -p "graph-group{level=L2},graph-partition{max-evaluations=0 traffic-weight=1}" | filecheck %s --check-prefix=LITTLE
// RUN: tlf-opt %s --target npu-tiny:L2=40K -p "graph-group{level=L2},graph-partition{max-evaluations=0 traffic-weight=1 max-operations=1}" | filecheck %s --check-prefix=FAST
// RUN: not tlf-opt %s --target npu -p "graph-partition{traffic-weight=-1}" 2>&1 | filecheck %s --check-prefix=NEGATIVE

// Rows of the first convolution that two tiles need are kept for the next tile.
// CHECK: plan #graph.plan<L2, tile [{{.*}}stages 2, sliding [2]>

// ALONE-NOT: roll
// ALONE:     plan #graph.plan<L2, tile [
// ALONE-NOT: roll

// ONE-NOT: stages
// ONE:     plan #graph.plan<L2, tile [
// ONE-NOT: stages

// Whole images.
// BATCH: plan #graph.plan<L2, tile [1, 8, 62, 62]
// BATCH: plan #graph.plan<L2, tile [1, 8, 60, 60]

// LARGE: error: graph.conv2d: its smallest tiles need {{[0-9]+}} bytes, and L2 has 65536

// Tiles of both together are small. That takes longer, and moves less.
// FAST-COUNT-2: plan #graph.plan<L2
// LITTLE:       2 groups run as one
// LITTLE:       plan #graph.plan<L2
// LITTLE-NOT:   plan

// NEGATIVE: expected a traffic weight of at least 0, got -1

// KEPT: retain [0]
// STORED-NOT: keep [
// STORED:     func.return
func.func @convs(%x: tensor<2x8x64x64xf16>, %v: tensor<8x8x3x3xf16>, %w: tensor<8x8x3x3xf16>)
    -> tensor<2x8x60x60xf16> {
  %0 = graph.conv2d %x, %v
      : (tensor<2x8x64x64xf16>, tensor<8x8x3x3xf16>) -> tensor<2x8x62x62xf16>
  %y = graph.conv2d %0, %w
      : (tensor<2x8x62x62xf16>, tensor<8x8x3x3xf16>) -> tensor<2x8x60x60xf16>
  func.return %y : tensor<2x8x60x60xf16>
}
