// RUN: tlf-opt %root/examples/bottleneck.mlir --target npu-tiny -p "graph-pipeline,graph-group{level=L2 contractions=3},graph-choose-tiles{level=L2},dce,convert-graph-to-tile" | filecheck %s
// RUN: tlf-opt %root/examples/bottleneck.mlir --target npu-tiny -p "graph-pipeline,graph-group{level=L2 contractions=3},graph-choose-tiles{level=L2},dce,convert-graph-to-tile,graph-group{level=L1},graph-choose-tiles{level=L1},dce,convert-graph-to-tile,tidy,convert-tile-to-mem,tidy,mem-plan" | filecheck %s --check-prefix=MEM

// All three convolutions run on one tile in L2, in one nest: a slice of the input with a
// halo serves the first of them and, through its interior, the skip.
// Weights are cut before it.
// CHECK-LABEL: func.func @bottleneck(
// CHECK-NEXT:    [[E:%.*]] = tile.empty : tensor<2x64x30x28xf32>
// CHECK:         [[Y:%.*]] = tile.while ({{%.*}}, [[J:%.*]] = 0 to 30 step {{[0-9]+}}, {{.*}}) parallel mapping(loop) into([[O:%.*]] = [[E]] :
// CHECK:           [[H:%.*]] = affine.apply affine_map<(d0) -> ((d0 + -1))> ([[J]])
// CHECK:           [[X:%.*]] = tile.slice %x[{{.*}}, 0, [[H]], {{.*}}] : tensor<2x64x30x28xf32> -> tensor<{{.*}}, #tile.encoding<L2>>
// CHECK:           graph.conv2d [[X]], {{%[^ ]*}} :
// CHECK:           [[R:%.*]] = graph.relu
// CHECK:           [[M:%.*]] = tile.mask [[R]][{{.*}}] bounds [2, 16, 30, 28] fill 0.000000e+00
// CHECK:           graph.conv2d [[M]], {{%[^ ]*}} :
// CHECK:           [[Q:%.*]] = graph.relu
// CHECK:           graph.conv2d [[Q]], {{%[^ ]*}} :
// CHECK:           [[S:%.*]] = tile.slice [[X]][0, 0, 1, 1] : tensor<{{.*}}, #tile.encoding<L2>> -> tensor<{{.*}}, #tile.encoding<L2>>
// CHECK-NEXT:      graph.add {{%.*}}, [[S]]
// CHECK:           tile.deslice {{.*}} into [[O]]
// CHECK-NOT:     {{tile.empty|tile.while|tile.slice %x|concat}}
// CHECK:         func.return [[Y]]

// What lies between them is never in L3.
// MEM-LABEL: func.func @bottleneck(
// MEM-NOT:     mem.alloc {{.*}}"L3">
// MEM:         mem.dma %x{{.*}} : memref<2x64x30x28xf32, "L3"> to memref<{{.*}}, "L2">
// MEM-NOT:     mem.alloc {{.*}}"L3">
// MEM:         mem.mask
// MEM-NOT:     mem.alloc {{.*}}"L3">
// MEM:         mem.dma {{.*}} to %y[{{.*}} : memref<{{.*}}, "L2"> to memref<2x64x30x28xf32, "L3">
// MEM-NOT:     "L3"
// MEM:         func.return
