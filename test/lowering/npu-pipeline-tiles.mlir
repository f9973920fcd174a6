// RUN: tlf-opt %root/examples/bottleneck.mlir --target npu-tiny -p "graph-pipeline,graph-group{level=L2},graph-select-tile-sizes{strategy=largest level=L2},dce,convert-graph-to-tile" | filecheck %s --check-prefix=L2
// RUN: tlf-opt %root/examples/bottleneck.mlir --target npu-tiny -p "graph-pipeline,graph-group{level=L2},graph-select-tile-sizes{strategy=largest level=L2},dce,convert-graph-to-tile,graph-group{level=L1},graph-select-tile-sizes{strategy=largest level=L1},dce,convert-graph-to-tile,tidy" | filecheck %s --check-prefix=L1

// Each group is a nest over tiles in L2, which are cut from tensors in L3 and put back
// into one. The second convolution cuts its tile with a halo of zeros.
// L2-LABEL: func.func @bottleneck
// L2:       [[E:%.*]] = tile.empty : tensor<2x16x30x28xf32>
// L2:       [[A:%.*]] = tile.while {{.*}} parallel mapping(loop) into([[O:%.*]] = [[E]] :
// L2:         [[X:%.*]] = tile.slice %x{{.*}} -> tensor<{{.*}}, #tile.encoding<L2>>
// L2:         graph.conv2d [[X]], {{.*}}, #tile.encoding<L2>>
// L2:         graph.relu
// L2-NEXT:    tile.deslice {{.*}} into [[O]]
// L2:       [[B:%.*]] = tile.while
// L2:         tile.slice [[A]][{{.*}}] fill 0.000000e+00 : f32 :
// L2:         graph.conv2d
// L2:       tile.while
// L2:         tile.slice [[B]]
// L2:         tile.slice %x
// L2:         graph.add
// L2-NEXT:    graph.relu
// L2-NOT:   {{concat|copy|graph.group}}
// L2:       func.return

// Within it, the same once more for the nearest memory, where all is computed. A loop
// adds up the channels.
// L1-LABEL: func.func @bottleneck
// L1:       tile.while
// L1:         [[X:%.*]] = tile.slice %x{{.*}}, #tile.encoding<L2>>
// L1:         [[E:%.*]] = tile.empty : tensor<{{.*}}, #tile.encoding<L2>>
// L1:         [[A:%.*]] = tile.while {{.*}} parallel mapping(loop) into([[O:%.*]] = [[E]] :
// L1:           [[Z:%.*]] = tile.fill 0.000000e+00
// L1-NEXT:      [[S:%.*]] = tile.while ([[K:%.*]] = 0 to 64 step {{.*}}) sequential mapping(loop) carry([[T:%.*]] = [[Z]] :
// L1-NEXT:        [[P:%.*]] = tile.slice [[X]][0, [[K]], {{.*}} -> tensor<{{.*}}, #tile.encoding<L1>>
// L1:             graph.conv2d [[P]], {{%.*}} init [[T]]
// L1-NEXT:        tile.yield
// L1:           tile.deslice {{.*}} into [[O]]
// L1:         tile.deslice [[A]] into
// L1-NOT:   graph.{{.*}}, #tile.encoding<L2>>
// L1:       func.return
