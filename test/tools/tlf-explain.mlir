// RUN: tlf-explain %s --entry pair --target npu:L2=64K -p "graph-pipeline,graph-group{level=L2},graph-partition{level=L2 max-evaluations=0}" | filecheck %s
// RUN: tlf-explain %s --entry pair --target npu --l2 64K --group 1 -p "graph-pipeline,graph-group{level=L2},graph-partition{level=L2 max-evaluations=0}" | filecheck %s --check-prefix=ONE
// RUN: tlf-explain %s --entry pair --target npu:L2=64K --json -p "graph-pipeline,graph-group{level=L2},graph-partition{level=L2 max-evaluations=0}" | filecheck %s --check-prefix=JSON
// RUN: tlf-explain %s --entry pair --target npu -p "graph-pipeline,graph-group{level=L2},graph-partition{level=L2 max-evaluations=0}" --why-not-fuse a,b | filecheck %s --check-prefix=TOGETHER
// RUN: tlf-explain %s --entry pair --target npu -p "graph-pipeline,graph-group{level=L2},graph-partition{level=L2 max-contractions=1 max-evaluations=0}" --why-not-fuse %%a,c | filecheck %s --check-prefix=LIMIT
// RUN: tlf-explain %s --entry one --target bm1684x-like --simulate | filecheck %s --check-prefix=NEAREST
// RUN: not tlf-explain %s --entry pair --target npu -p "graph-partition{level=L2}" --why-not-fuse a,z 2>&1 | filecheck %s --check-prefix=NAME
// RUN: not tlf-explain %s --entry pair --target npu -p "graph-partition{level=L2}" --why-not-fuse a 2>&1 | filecheck %s --check-prefix=NAMES
// RUN: not tlf-explain %s --entry pair --target npu -p "graph-group{level=L1}" --why-not-fuse a,c 2>&1 | filecheck %s --check-prefix=NOT
// RUN: not tlf-explain %s --entry one --target npu --group 3 2>&1 | filecheck %s --check-prefix=GROUP
// RUN: not tlf-explain %s --entry one --target npu -p dce 2>&1 | filecheck %s --check-prefix=NONE
// RUN: tlf-explain %s --entry one --target h200 | filecheck %s --check-prefix=KERNEL
// RUN: not tlf-explain %s --entry one --target h200 -p dce 2>&1 | filecheck %s --check-prefix=NONE
// RUN: not tlf-explain %s --entry one --target h200 --simulate 2>&1 | filecheck %s --check-prefix=MODEL
// RUN: not tlf-explain %s --entry other --target npu 2>&1 | filecheck %s --check-prefix=ENTRY
// RUN: tlf-explain --help | filecheck %s --check-prefix=HELP

// CHECK:      @pair on npu:L2=64K, 2 groups
// CHECK-NEXT: group {{ *}}lower bound  bound by  predicted {{ *}}gap {{ *}}moved {{ *}}bottleneck
// CHECK-NEXT: 0 %a to %b {{ *}}8,125    matrix {{.*}}x    419,840  computation
// CHECK-NEXT: 1 %c to %y {{ *}}10,196    memory {{.*}}x    620,544  computation
// CHECK-NEXT: in all {{ *}}15,014    matrix {{.*}}  1,040,384            -
// CHECK-NEXT: without merging groups of `graph-group`: {{[0-9,]+}} cycles (1.0{{[0-9]}}x), 1,040,384 bytes moved
// CHECK-NEXT: found by dp, {{[0-9,]+}} cycles, with overlapping groups: not proven: prefetches may overlap better with slower groups

// CHECK:      group 0: %a to %b
// CHECK-NEXT:   computes    %a (conv2d cast), %b (relu)
// CHECK-NEXT:   from        {{.*}}tlf-explain.mlir:{{[0-9]+}}:3 to {{[0-9]+}}:3
// CHECK-NEXT:   plan        tile [1, 32, {{[0-9]+}}, 56] in L2, 2 in flight, sliding window along axis 2
// CHECK-NEXT:   predicted   {{[0-9,]+}} cycles: moves {{[0-9,]+}}, computation {{[0-9,]+}}
// CHECK-NEXT:   lower bound 8,125 cycles (matrix), {{[0-9,]+}} in whole passes of the array; gap {{[0-9.]+}}x
// CHECK-NEXT:   moves       419,840 bytes, 419,840 lower bound
// CHECK-NEXT:   recomputes  0.0% of products, 0.0% of elements
// CHECK-NEXT:   L2          peak {{[0-9,]+}} of 65,536 bytes, {{[0-9.]+}}%
// CHECK-NEXT:     inputs
// CHECK-NEXT:     halo
// CHECK-NEXT:     weights         18,432
// CHECK:        instead     %a to %y: {{[0-9,]+}} cycles (+{{[0-9.]+}}%) and {{[0-9,]+}} bytes in all
// CHECK:      group 1: %c to %y

// ONE-NOT: group 0
// ONE:     group 1: %c to %y

// JSON:      "name": "pair",
// JSON:      "operation": "conv2d",
// JSON-NEXT: "name": "%a",
// JSON:      "bound_by": "matrix",
// JSON:      "double_buffers":
// JSON:      "gain": 1.{{[0-9]+}},

// TOGETHER: a and b: `graph-group` put them into one group

// LIMIT:      %a and c: limit binds
// LIMIT-NEXT:   because     a group has at most 1 contraction
// LIMIT:        difference  {{[0-9,]+}} cycles
// LIMIT-NEXT:   change      graph-partition{max-group-size=2 max-contractions=2}: these groups take

func.func @pair(%x: tensor<1x32x56x56xf16>, %w1: tensor<32x32x3x3xf16> {tlf.parameter},
    %w2: tensor<32x32x3x3xf16> {tlf.parameter}) -> tensor<1x32x56x56xf16> {
  %a = graph.conv2d %x, %w1 padding [1, 1, 1, 1]
      : (tensor<1x32x56x56xf16>, tensor<32x32x3x3xf16>) -> tensor<1x32x56x56xf16>
  %b = graph.relu %a : tensor<1x32x56x56xf16>
  %c = graph.conv2d %b, %w2 padding [1, 1, 1, 1]
      : (tensor<1x32x56x56xf16>, tensor<32x32x3x3xf16>) -> tensor<1x32x56x56xf16>
  %d = graph.add %c, %x
      : (tensor<1x32x56x56xf16>, tensor<1x32x56x56xf16>) -> tensor<1x32x56x56xf16>
  %y = graph.relu %d : tensor<1x32x56x56xf16>
  func.return %y : tensor<1x32x56x56xf16>
}

// Where there is one near memory, groups have the plans of the nearest level.

// NEAREST:      @one on bm1684x-like, 1 group
// NEAREST-NEXT: group {{.*}} simulated {{ *}}gap
// NEAREST-NEXT: 0 %y {{.*}} moves {{ *}}[[CYCLES:[0-9,]+]] {{ *}}{{[0-9.]+}}x
// NEAREST-NEXT: in all {{.*}} - {{ *}}[[CYCLES]] {{ *}}{{[0-9.]+}}x
// NEAREST:        plan        tile [{{[0-9]+}}, 100] in L1
func.func @one(%x: tensor<64x100xf32>) -> tensor<64x100xf32> {
  %y = graph.exp %x : tensor<64x100xf32>
  func.return %y : tensor<64x100xf32>
}

// NAME:  tlf-explain: error: expected the name of a result, or a place `line:column`, of something that is computed at every call, got `z`
// NAMES: tlf-explain: error: expected two names `A,B`, got `a`
// NOT:   tlf-explain: error: expected a pipeline with `graph-partition`
// GROUP: tlf-explain: error: expected a group from 0 to 0 of @one, got 3
// NONE:  tlf-explain: error: expected a program with groups that have plans, got none
// KERNEL:      group 0: exp  #graph.plan<L1, tile
// KERNEL-NEXT:   predicted {{.*}} us, {{.*}} of them; {{.*}} programs
// MODEL: tlf-explain: error: expected a target of the backend npu for --simulate, got h200
// ENTRY: tlf-explain.mlir:[[#]]:1: error: expected a function `other`, got pair, one
// HELP:  usage: tlf-explain
