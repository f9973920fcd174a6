// RUN: tlf-opt %s --target h200 -p convert-tile-to-mem | filecheck %s

// Where the target manages the nearest level itself, tiles are values that loops carry.
// CHECK-LABEL: func.func @matmul
// CHECK:       "scf.parallel"
// CHECK-NEXT:  ^{{.*}}([[I:%.*]]: index):
// CHECK-NEXT:    [[Z:%.*]] = mem.fill 0.0 -> tensor<16x16xf32, #tile.encoding<L1>>
// CHECK:         [[T:%.*]] = scf.for [[K:%.*]] = {{.*}} iter_args([[A:%.*]] = [[Z]]) -> (tensor<16x16xf32, #tile.encoding<L1>>) {
// CHECK-NEXT:      [[L:%.*]] = mem.load %x[[[I]], [[K]]] size [16, 16] fill 0.0 : memref<100x60xf32, "L3"> -> tensor<16x16xf32, #tile.encoding<L1>>
// CHECK-NEXT:      [[R:%.*]] = mem.load %w[[[K]], 0] size [16, 10] : memref<60x10xf32, "L3"> -> tensor<16x16xf32, #tile.encoding<L1>>
// CHECK-NEXT:      [[P:%.*]] = mem.contract ins([[L]], [[R]] : {{.*}}) outs([[A]] :
// CHECK-NEXT:      scf.yield [[P]]
// CHECK-NEXT:    }
// CHECK-NEXT:    [[U:%.*]] = mem.map ins([[T]] :
// CHECK:           mem.yield
// CHECK:         mem.store [[U]] to %{{.*}}[[[I]], 0] size [16, 10] : tensor<16x16xf32, #tile.encoding<L1>> to memref<100x10xf32, "L3">
// CHECK-NOT:     mem.{{alloc|dma|wait}}
// CHECK:         {mapping = "grid"}
func.func @matmul(%x: tensor<100x60xf32>, %w: tensor<60x10xf32>) -> tensor<100x10xf32> {
  %e = tile.empty : tensor<100x10xf32>
  %y = tile.while (%i = 0 to 100 step 16) parallel mapping(grid) into(%o = %e : tensor<100x10xf32>) {
    %z = tile.fill 0.0 : f32 : tensor<16x16xf32, #tile.encoding<L1>>
    %s = tile.while (%k = 0 to 60 step 16) sequential carry(%a = %z : tensor<16x16xf32, #tile.encoding<L1>>) {
      %l = tile.slice %x[%i, %k] fill 0.0 : f32 : tensor<100x60xf32> -> tensor<16x16xf32, #tile.encoding<L1>>
      %r = tile.slice %w[%k, 0] valid [16, 10] : tensor<60x10xf32> -> tensor<16x16xf32, #tile.encoding<L1>>
      %p = graph.matmul %l, %r init %a : (tensor<16x16xf32, #tile.encoding<L1>>, tensor<16x16xf32, #tile.encoding<L1>>, tensor<16x16xf32, #tile.encoding<L1>>) -> tensor<16x16xf32, #tile.encoding<L1>>
      tile.yield %p : tensor<16x16xf32, #tile.encoding<L1>>
    }
    %u = graph.relu %s : tensor<16x16xf32, #tile.encoding<L1>>
    %d = tile.deslice %u into %o[%i, 0] valid [16, 10] : tensor<16x16xf32, #tile.encoding<L1>> into tensor<100x10xf32>
    tile.yield %d : tensor<100x10xf32>
  }
  func.return %y : tensor<100x10xf32>
}

// Nothing is overwritten, and a mask makes a new value; two nested loops hand the total
// through both.
// CHECK-LABEL: func.func @nest
// CHECK:         [[T:%.*]] = mem.load
// CHECK:         [[S:%.*]] = scf.for [[K:%.*]] = {{.*}} iter_args([[A:%.*]] = %{{.*}})
// CHECK:           [[U:%.*]] = scf.for [[L:%.*]] = {{.*}} iter_args([[B:%.*]] = [[A]])
// CHECK-NEXT:        [[M:%.*]] = mem.mask [[T]] at [[[K]], [[L]]] bounds [4, 9] valid [4, 7] fill 0.0 : tensor<4x8xf32, #tile.encoding<L1>> ->
// CHECK-NEXT:        [[V:%.*]] = mem.map ins([[B]], [[M]] :
// CHECK:             scf.yield [[V]]
// CHECK:           scf.yield [[U]]
// CHECK:         mem.store [[S]]
func.func @nest(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %e = tile.empty : tensor<4x8xf32>
  %y = tile.while () parallel mapping(grid) into(%o = %e : tensor<4x8xf32>) {
    %t = tile.slice %x[0, 0] : tensor<4x8xf32> -> tensor<4x8xf32, #tile.encoding<L1>>
    %z = tile.fill 0.0 : f32 : tensor<4x8xf32, #tile.encoding<L1>>
    %s = tile.while (%k = 0 to 4 step 2, %l = 0 to 9 step 3) sequential carry(%a = %z : tensor<4x8xf32, #tile.encoding<L1>>) {
      %m = tile.mask %t[%k, %l] bounds [4, 9] valid [4, 7] fill 0.0 : f32 : tensor<4x8xf32, #tile.encoding<L1>>
      %p = graph.add %a, %m : (tensor<4x8xf32, #tile.encoding<L1>>, tensor<4x8xf32, #tile.encoding<L1>>) -> tensor<4x8xf32, #tile.encoding<L1>>
      tile.yield %p : tensor<4x8xf32, #tile.encoding<L1>>
    }
    %d = tile.deslice %s into %o[0, 0] : tensor<4x8xf32, #tile.encoding<L1>> into tensor<4x8xf32>
    tile.yield %d : tensor<4x8xf32>
  }
  func.return %y : tensor<4x8xf32>
}
