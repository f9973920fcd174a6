// RUN: tlf-opt %root/examples/bottleneck.mlir --target npu-tiny -p "graph-pipeline,graph-group{level=L2 max-contractions=3},graph-select-tile-sizes{level=L2 axes=0,2},dce,convert-graph-to-tile" | filecheck %s
// RUN: tlf-opt %root/examples/bottleneck.mlir --target npu-tiny -p "graph-pipeline,graph-group{level=L2 max-contractions=3},graph-select-tile-sizes{level=L2 axes=0,2},dce,convert-graph-to-tile,graph-group{level=L1},graph-select-tile-sizes{level=L1 max-evaluations=0},dce,convert-graph-to-tile,tidy,convert-tile-to-mem,tidy,mem-plan" | filecheck %s --check-prefix=MEM

// All three convolutions run on one strip of rows in L2, in one loop that carries what
// the next strip needs, too: a window of the input serves the first of them and, through
// its interior, the skip. Weights are cut before it.
// CHECK-LABEL: func.func @bottleneck(
// CHECK-NEXT:    [[E:%.*]] = tile.empty : tensor<2x64x30x28xf32>
// CHECK:         [[Y:%.*]] = tile.while ([[N:%.*]] = 0 to 2 step 1) parallel mapping(loop) into([[O:%.*]] = [[E]] :
// CHECK:           tile.while ([[J:%.*]] = 0 to 30 step {{[0-9]+}}) sequential mapping(loop) {{.*}}carry([[P:%.*]] = [[O]] :
// CHECK:             [[F:%.*]] = tile.slice %x[{{.*}}] : tensor<2x64x30x28xf32> -> tensor<{{.*}}, #tile.encoding<L2>>
// CHECK-NEXT:        [[X:%.*]] = tile.roll {{.*}}, [[F]] axis 2
// CHECK-NEXT:        [[V:%.*]] = tile.slice [[X]][0, 0, 1, 0]
// CHECK-NEXT:        graph.conv2d [[V]], {{%[^ ]*}} :
// CHECK:             [[R:%.*]] = graph.relu
// CHECK:             [[M:%.*]] = tile.mask [[R]][{{.*}}] bounds [2, 16, 30, 28] fill 0.000000e+00
// CHECK:             [[T:%.*]] = tile.roll {{.*}}, [[M]] axis 2
// CHECK-NEXT:        graph.conv2d [[T]], {{%[^ ]*}} padding [0, 1, 0, 1] :
// CHECK:             [[Q:%.*]] = graph.relu
// CHECK:             graph.conv2d [[Q]], {{%[^ ]*}} :
// CHECK:             [[S:%.*]] = tile.slice [[X]][0, 0, 0, 0] : tensor<{{.*}}, #tile.encoding<L2>> -> tensor<{{.*}}, #tile.encoding<L2>>
// CHECK-NEXT:        graph.add {{%.*}}, [[S]]
// CHECK:             tile.deslice {{.*}} into [[P]]
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
