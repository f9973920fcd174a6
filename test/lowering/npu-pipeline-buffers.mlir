// RUN: tlf-opt %root/examples/bottleneck.mlir --target npu-tiny -p "graph-pipeline,graph-group{level=L2},graph-select-tile-sizes{level=L2},dce,convert-graph-to-tile,graph-group{level=L1},graph-select-tile-sizes{level=L1 max-evaluations=0},dce,convert-graph-to-tile,tidy,convert-tile-to-mem,tidy,mem-split-maps,mem-plan" | filecheck %s

// Every tile has a buffer with an offset in its memory. The two tensors between the
// groups are in L3, behind the arguments; the result is an argument.
// CHECK-LABEL: func.func @bottleneck(
// CHECK-SAME:    [[Y:%y[_0-9]*]]: memref<2x64x30x28xf32, "L3">{{.*}}tlf.results = 1 : i64,{{.*}} tlf.peak = {L1 = 
// CHECK-NOT:   {{concat|memref.copy|tensor<}}
// CHECK:       [[A:%.*]] = mem.alloc at {{[0-9]+}} : memref<2x16x30x28xf32, "L3">
// CHECK:       [[W:%.*]] = mem.alloc at {{[0-9]+}} : memref<16x64x1x1xf32, "L2">
// CHECK-NEXT:  mem.dma %prepared{{[_0-9]*}}[0, 0, 0, 0] to [[W]][0, 0, 0, 0]
// CHECK:       "scf.parallel"
// CHECK:         [[X:%.*]] = mem.alloc at {{[0-9]+}} : memref<{{.*}}, "L2">
// CHECK-NEXT:    [[XT:%.*]] = mem.dma %x[{{.*}}] to [[X]][0, 0, 0, 0] {{.*}} : memref<2x64x30x28xf32, "L3"> to memref<{{.*}}, "L2">
// CHECK:         [[R:%.*]] = mem.alloc at {{[0-9]+}} : memref<1x16x{{.*}}, "L2">
// CHECK:         mem.wait [[XT]]
// CHECK:         "scf.parallel"
// CHECK:           [[T:%norm1[_0-9]*]] = mem.alloc at {{[0-9]+}} : memref<{{.*}}, "L1">
// CHECK-NEXT:      mem.fill 0.0 into [[T]]
// CHECK:           scf.for [[K:%.*]] =
// CHECK-NEXT:        [[P:%.*]] = mem.alloc at {{[0-9]+}} : memref<{{.*}}, "L1">
// CHECK-NEXT:        [[PT:%.*]] = mem.dma [[X]][0, [[K]], {{.*}}] to [[P]][0, 0, 0, 0]
// CHECK:             mem.wait [[PT]]
// CHECK-NEXT:        mem.contract ins([[P]], {{.*}}) outs([[T]] :
// CHECK:           mem.map ins([[T]] : {{.*}}) outs([[T]] :
// CHECK:             arith.maximumf
// CHECK:           [[D:%.*]] = mem.dma [[T]][0, 0, 0, 0] to [[R]]
// CHECK-NEXT:      mem.wait [[D]]
// CHECK-NEXT:      scf.reduce
// CHECK:         mem.dma [[R]][0, 0, 0, 0] to [[A]]

// The halo is part of the move.
// CHECK:       [[B:%.*]] = mem.alloc at {{[0-9]+}} : memref<2x16x30x28xf32, "L3">
// CHECK:         mem.dma [[A]][{{.*}}] to {{.*}} fill 0.0 :
// CHECK:         mem.dma {{.*}} to [[B]]
// CHECK:         mem.dma [[B]]
// CHECK:         mem.dma {{.*}} to [[Y]]
// CHECK-NOT:   {{concat|memref.copy|mem.alloc :|tensor<}}
// CHECK:       func.return
