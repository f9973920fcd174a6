// RUN: tlf-opt %root/examples/bottleneck.mlir --target npu -p "graph-pipeline,graph-group{level=L2},graph-partition{level=L2 max-evaluations=0}" | filecheck %s
// RUN: tlf-opt %root/examples/bottleneck.mlir --target npu -p "graph-pipeline,graph-group{level=L2},graph-partition{level=L2 strategy=unfused max-evaluations=0}" | filecheck %s --check-prefix=APART
// RUN: tlf-opt %root/examples/bottleneck.mlir --target h200 -p "graph-pipeline,graph-group,graph-partition" | filecheck %s --check-prefix=VALUES
// RUN: not tlf-opt %root/examples/bottleneck.mlir --target npu -p "graph-partition{strategy=best}" 2>&1 | filecheck %s --check-prefix=WRONG

// The three convolutions run on one tile, or hand it on in L2.
// CHECK-LABEL: func.func @bottleneck(
// CHECK-SAME:    #graph.remark<passed "graph-partition" "{{[0-9]+}} groups run as one: {{[0-9,]+}} cycles, 877,952 bytes by the model"
// CHECK:         graph.group {{.*}} plan #graph.plan<L2, tile [

// Apart, each has a plan.
// APART-LABEL: func.func @bottleneck(
// APART-COUNT-3: plan #graph.plan<L2, tile [

// There is no model of a GPU.
// VALUES-LABEL: func.func @bottleneck(
// VALUES-NOT:   plan

// WRONG: expected a strategy among {{.*}}, got best
