// RUN: tlf-opt %s --target h200 -p "graph-pipeline,graph-group,graph-select-tile-sizes,dce,convert-graph-to-tile" | filecheck %s
// RUN: tlf-opt %s --target h200 -p "graph-pipeline,graph-group,graph-select-tile-sizes,dce,convert-graph-to-tile,tidy,convert-tile-to-mem" | filecheck %s --check-prefix=MEM
// RUN: tlf-opt %s --target h200 -p triton-pipeline | filecheck %s --check-prefix=KERNEL

// A layer is two kernels: the product with its epilogue, and the softmax. Tiles are
// values; their extents are powers of two, whatever the tensor has.
// CHECK-LABEL: func.func @layer
// CHECK:         [[H:%.*]] = tile.while {{.*}} parallel mapping(grid)
// CHECK:           tile.while {{.*}} sequential
// CHECK:             graph.matmul
// CHECK:           graph.add
// CHECK:         tile.while {{.*}} parallel mapping(grid)
// CHECK:           tile.slice [[H]][{{.*}}] fill 0xff800000 : f32 : tensor<4100x300xf32> -> tensor<{{[0-9]+}}x512xf32, #tile.encoding<L1>>
// CHECK:           tile.mask {{.*}} bounds [4100, 300] fill 0.000000e+00
// CHECK-NOT:     tile.while
// CHECK:         func.return

// MEM-LABEL: func.func @layer
// MEM:         [[H:%.*]] = mem.alloc : memref<4100x300xf32, "L3">
// MEM:         scf.for {{.*}} iter_args(
// MEM:           mem.load %x
// MEM:           mem.load %w
// MEM:           mem.contract
// MEM:         mem.load %b
// MEM:         mem.store {{.*}} to [[H]]
// MEM:         mem.load [[H]]
// MEM:         mem.store {{.*}} to %y
// MEM-NOT:     {{mem.dma|mem.wait|"L1"}}
// MEM:         func.return

// KERNEL-COUNT-2: triton.kernel
// KERNEL-NOT:     triton.kernel
func.func @layer(%x: tensor<4100x250xf32>, %w: tensor<250x300xf32>, %b: tensor<300xf32>) -> tensor<4100x300xf32> {
  %0 = graph.matmul %x, %w : (tensor<4100x250xf32>, tensor<250x300xf32>) -> tensor<4100x300xf32>
  %1 = graph.add %0, %b : (tensor<4100x300xf32>, tensor<300xf32>) -> tensor<4100x300xf32>
  %y = graph.softmax %1 axis 1 : (tensor<4100x300xf32>) -> tensor<4100x300xf32>
  func.return %y : tensor<4100x300xf32>
}
