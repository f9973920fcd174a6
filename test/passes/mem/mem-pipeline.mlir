// RUN: tlf-opt %s --split-input-file --target npu -p mem-pipeline | filecheck %s

// A nest becomes one loop. The tile that comes in and the one that goes out have two
// slots, in L1 as well: there are no loops inside. The load may start an iteration ahead.
// CHECK-LABEL: func.func @double
// CHECK:       %width =
// CHECK:       [[COUNT:%.*]] = arith.constant 8 : index
// CHECK:       %far = mem.alloc : memref<2x12x8xf32, "L2">
// CHECK-NEXT:  %out = mem.alloc : memref<2x12x8xf32, "L2">
// CHECK-NEXT:  %near = mem.alloc : memref<2x12x8xf32, "L1">
// CHECK-NEXT:  scf.for [[N:%.*]] = %{{.*}} to [[COUNT]] step
// CHECK-NEXT:    [[SLOT:%.*]] = affine.apply affine_map<(d0) -> ((d0 mod 2))> ([[N]])
// CHECK-NEXT:    [[FAR:%.*]] = memref.subview %far{{\[}}[[SLOT]], 0, 0] [1, 12, 8]
// CHECK-NEXT:    %j = affine.apply affine_map<(d0) -> (((d0 mod 2) * 8))> ([[N]])
// CHECK-NEXT:    %i = affine.apply affine_map<(d0) -> (((d0 floordiv 2) * 12))> ([[N]])
// CHECK-NEXT:    [[T:%.*]] = mem.dma %x[%i, %j] to [[FAR]][0, 0] size [12, 8] ahead 1
// CHECK:         mem.wait [[T]]
// CHECK-NEXT:    mem.dma [[FAR]][0, 0] to
// CHECK:       } {stages = 2 : i64}
func.func @double(%x: memref<40x16xf32, "L3">, %y: memref<40x16xf32, "L3">)
    attributes {tlf.results = 1 : i64} {
  %zero = arith.constant 0 : index
  %rows = arith.constant 40 : index
  %columns = arith.constant 16 : index
  %height = arith.constant 12 : index
  %width = arith.constant 8 : index
  "scf.parallel"(%zero, %zero, %rows, %columns, %height, %width)
      <{operandSegmentSizes = array<i32: 2, 2, 2, 0>}> ({
  ^bb0(%i: index, %j: index):
    %far = mem.alloc : memref<12x8xf32, "L2">
    %near = mem.alloc : memref<12x8xf32, "L1">
    %out = mem.alloc : memref<12x8xf32, "L2">
    %t0 = mem.dma %x[%i, %j] to %far[0, 0] size [12, 8]
        : memref<40x16xf32, "L3"> to memref<12x8xf32, "L2">
    mem.wait %t0
    %t1 = mem.dma %far[0, 0] to %near[0, 0] size [12, 8]
        : memref<12x8xf32, "L2"> to memref<12x8xf32, "L1">
    mem.wait %t1
    %t2 = mem.dma %near[0, 0] to %out[0, 0] size [12, 8]
        : memref<12x8xf32, "L1"> to memref<12x8xf32, "L2">
    mem.wait %t2
    %t3 = mem.dma %out[0, 0] to %y[%i, %j] size [12, 8]
        : memref<12x8xf32, "L2"> to memref<40x16xf32, "L3">
    mem.wait %t3
    scf.reduce
  }) {mapping = "loop", stages = 2 : i64}
      : (index, index, index, index, index, index) -> ()
  func.return
}

// -----

// An inner loop of three iterations goes on with the slot after its last one. What it
// is loaded from comes in the outer loop, which does not write it; what the outer loop
// loads second depends on what it stores. Slots start at multiples of 64 bytes.
// CHECK-LABEL: func.func @inner
// CHECK-SAME:  #graph.remark<missed "mem-pipeline" "not prefetched: the loop writes what it is loaded from" at "%again">
// CHECK:       %tile = mem.alloc : memref<2x16xf32, "L2">
// CHECK-NEXT:  memref.reinterpret_cast %tile {{.*}} to memref<2x6xf32, strided<[16, 1]>, "L2">
// CHECK:       scf.for [[N:%.*]] =
// CHECK:         mem.dma %x{{.*}} ahead 1
// CHECK:         [[START:%.*]] = affine.apply affine_map<(d0) -> ((d0 mod 2))> ([[N]])
// CHECK-NEXT:    %part = mem.alloc : memref<2x16xf32, "L1">
// CHECK:         scf.for [[M:%.*]] =
// CHECK-NEXT:      affine.apply affine_map<(d0, d1) -> (((d0 + d1) mod 2))> ([[M]], [[START]])
// CHECK:           mem.dma {{.*}} ahead 1
// CHECK:         mem.dma %y[{{.*}}] to {{.*}} size [6] :
func.func @inner(%x: memref<24xf32, "L3">, %y: memref<24xf32, "L3">)
    attributes {tlf.results = 1 : i64} {
  %zero = arith.constant 0 : index
  %all = arith.constant 24 : index
  %six = arith.constant 6 : index
  %two = arith.constant 2 : index
  scf.for %i = %zero to %all step %six {
    %tile = mem.alloc : memref<6xf32, "L2">
    %t0 = mem.dma %x[%i] to %tile[0] size [6] : memref<24xf32, "L3"> to memref<6xf32, "L2">
    mem.wait %t0
    scf.for %j = %zero to %six step %two {
      %part = mem.alloc : memref<2xf32, "L1">
      %t1 = mem.dma %tile[%j] to %part[0] size [2] : memref<6xf32, "L2"> to memref<2xf32, "L1">
      mem.wait %t1
    } {stages = 2 : i64}
    %t2 = mem.dma %tile[0] to %y[%i] size [6] : memref<6xf32, "L2"> to memref<24xf32, "L3">
    mem.wait %t2
    %again = mem.alloc : memref<6xf32, "L2">
    %t3 = mem.dma %y[%i] to %again[0] size [6] : memref<24xf32, "L3"> to memref<6xf32, "L2">
    mem.wait %t3
  } {stages = 2 : i64}
  func.return
}

// -----

// Perfectly nested loops become one, a view of another shape is one of all slots, and
// bounds need not be numbers.
// CHECK-LABEL: func.func @shapes
// CHECK:       arith.constant 6 : index
// CHECK:       [[FLAT:%.*]] = memref.reinterpret_cast %tile {{.*}} : memref<3x16xf32, "L2"> to memref<3x8xf32, strided<[16, 1]>, "L2">
// CHECK:       scf.for
// CHECK:         memref.subview [[FLAT]][{{.*}}, 0] [1, 8] [1, 1]
// CHECK:       [[TRIPS:%.*]] = affine.apply affine_map<(d0, d1) -> ({{.*}} ceildiv 4))> (%end, {{.*}})
// CHECK-NEXT:  %some = mem.alloc : memref<2x16xf32, "L2">
// CHECK:       scf.for [[N:%.*]] = %{{.*}} to [[TRIPS]] step
func.func @shapes(%x: memref<2x12xf32, "L3">, %flat: memref<8xf32, "L3">, %end: index) {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %two = arith.constant 2 : index
  %four = arith.constant 4 : index
  %all = arith.constant 12 : index
  scf.for %i = %zero to %two step %one {
    scf.for %j = %zero to %all step %four {
      %tile = mem.alloc : memref<2x4xf32, "L2">
      %t0 = mem.dma %x[%i, %j] to %tile[0, 0] size [2, 4]
          : memref<2x12xf32, "L3"> to memref<2x4xf32, "L2">
      mem.wait %t0
      %row = memref.reinterpret_cast %tile to offset: [0], sizes: [8], strides: [1]
          : memref<2x4xf32, "L2"> to memref<8xf32, "L2">
      %t1 = mem.dma %row[0] to %flat[0] size [8]
          : memref<8xf32, "L2"> to memref<8xf32, "L3">
      mem.wait %t1
    } {stages = 3 : i64}
  } {stages = 3 : i64}
  scf.for %i = %zero to %end step %four {
    %some = mem.alloc : memref<4xf32, "L2">
    %t2 = mem.dma %flat[%i] to %some[0] size [4] : memref<8xf32, "L3"> to memref<4xf32, "L2">
    mem.wait %t2
  } {stages = 2 : i64}
  func.return
}

// -----

// One iteration has nothing to overlap with; neither have tiles that are not moved.
// CHECK-LABEL: func.func @alone
// CHECK-NOT:   ahead
func.func @alone(%x: memref<4xf32, "L3">) {
  %zero = arith.constant 0 : index
  %four = arith.constant 4 : index
  scf.for %i = %zero to %four step %four {
    %tile = mem.alloc : memref<4xf32, "L2">
    %t0 = mem.dma %x[%i] to %tile[0] size [4] : memref<4xf32, "L3"> to memref<4xf32, "L2">
    mem.wait %t0
  } {stages = 2 : i64}
  scf.for %i = %zero to %four step %four {
    %tile = mem.alloc : memref<4xf32, "L1">
    mem.fill 0.0 into %tile : memref<4xf32, "L1">
  } {stages = 2 : i64}
  func.return
}

// -----

// Nothing overlaps where slots have no room.
// CHECK-LABEL: func.func @full
// CHECK-SAME:  "not overlapped: 2 slots do not fit into L1" at "%tile"
// CHECK:       mem.alloc : memref<50000xf32, "L1">
// CHECK-NOT:   ahead
func.func @full(%x: memref<100000xf32, "L2">) {
  %zero = arith.constant 0 : index
  %half = arith.constant 50000 : index
  %all = arith.constant 100000 : index
  scf.for %i = %zero to %all step %half {
    %tile = mem.alloc : memref<50000xf32, "L1">
    %t0 = mem.dma %x[%i] to %tile[0] size [50000]
        : memref<100000xf32, "L2"> to memref<50000xf32, "L1">
    mem.wait %t0
  } {stages = 2 : i64}
  func.return
}

// -----

// What a product is summed up in has slots, too: the next sum begins while the vector
// engine still reads the last one.
// CHECK-LABEL: func.func @sum
// CHECK:       mem.alloc : memref<2x8x8xf32, "L1">
// CHECK:       mem.alloc : memref<2x8x8xf32, "L1">
// CHECK:       mem.alloc : memref<2x8x8xf32, "L1">
// CHECK:       scf.for
// CHECK-NOT:   mem.alloc
func.func @sum(%x: memref<32x8xf32, "L2">, %w: memref<8x8xf32, "L1">, %y: memref<32x8xf32, "L2">)
    attributes {tlf.results = 1 : i64} {
  %zero = arith.constant 0 : index
  %rows = arith.constant 32 : index
  %height = arith.constant 8 : index
  scf.for %i = %zero to %rows step %height {
    %a = mem.alloc : memref<8x8xf32, "L1">
    %c = mem.alloc : memref<8x8xf32, "L1">
    %r = mem.alloc : memref<8x8xf32, "L1">
    %t0 = mem.dma %x[%i, 0] to %a[0, 0] size [8, 8]
        : memref<32x8xf32, "L2"> to memref<8x8xf32, "L1">
    mem.fill 0.0 into %c : memref<8x8xf32, "L1">
    mem.wait %t0
    mem.contract ins(%a, %w : memref<8x8xf32, "L1">, memref<8x8xf32, "L1">)
        outs(%c : memref<8x8xf32, "L1">) domain [8, 8, 8]
        maps [affine_map<(d0, d1, d2) -> (d0, d2)>, affine_map<(d0, d1, d2) -> (d2, d1)>,
              affine_map<(d0, d1, d2) -> (d0, d1)>]
    mem.map ins(%c : memref<8x8xf32, "L1">) outs(%r : memref<8x8xf32, "L1">) domain [8, 8]
        maps [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>] {
    ^bb0(%e: f32):
      %n = arith.negf %e : f32
      mem.yield %n : f32
    }
    %t1 = mem.dma %r[0, 0] to %y[%i, 0] size [8, 8]
        : memref<8x8xf32, "L1"> to memref<32x8xf32, "L2">
    mem.wait %t1
  } {stages = 2 : i64}
  func.return
}

// -----

// A tile that is used after a loop is loaded behind it: its slot is in use while the last
// iteration goes on, and the loads of the loop go through the same queue. A tile that
// the loop itself uses is loaded before it.
// CHECK-LABEL: func.func @behind
// CHECK:       scf.for
// CHECK:         mem.dma %x{{.*}} ahead 1
// CHECK-NOT:     mem.dma %x
// CHECK:         scf.for
// CHECK:           mem.dma %y{{.*}} ahead 1
// CHECK:         } {stages = 2 : i64}
// CHECK-NEXT:    mem.dma %x{{.*}} ahead 1
func.func @behind(%x: memref<32xf32, "L2">, %y: memref<8xf32, "L2">, %z: memref<64xf32, "L2">) {
  %0 = arith.constant 0 : index
  %1 = arith.constant 1 : index
  %2 = arith.constant 2 : index
  %4 = arith.constant 4 : index
  %8 = arith.constant 8 : index
  scf.for %i = %0 to %8 step %1 {
    %first = mem.alloc : memref<4xf32, "L1">
    %skip = mem.alloc : memref<4xf32, "L1">
    %t0 = mem.dma %x[%i] to %first[0] size [4] : memref<32xf32, "L2"> to memref<4xf32, "L1">
    mem.wait %t0
    %t1 = mem.dma %x[%i] to %skip[0] size [4] : memref<32xf32, "L2"> to memref<4xf32, "L1">
    mem.wait %t1
    scf.for %j = %0 to %4 step %1 {
      %part = mem.alloc : memref<2xf32, "L1">
      %t2 = mem.dma %y[%j] to %part[0] size [2] : memref<8xf32, "L2"> to memref<2xf32, "L1">
      mem.wait %t2
      %t3 = mem.dma %first[0] to %z[%j] size [4] : memref<4xf32, "L1"> to memref<64xf32, "L2">
      mem.wait %t3
    } {stages = 2 : i64}
    %t4 = mem.dma %skip[0] to %z[%i] size [4] : memref<4xf32, "L1"> to memref<64xf32, "L2">
    mem.wait %t4
  } {stages = 2 : i64}
  func.return
}

// -----

// Rows without stages around pieces that overlap: what an iteration loads for its loop over
// pieces, or for after it, starts an iteration ahead. The loops over rows become one.
// CHECK-LABEL: func.func @around
// CHECK:       %first = mem.alloc : memref<2x16xf32, "L1">
// CHECK:       %skip = mem.alloc : memref<2x16xf32, "L1">
// CHECK:       scf.for [[N:%.*]] = %{{.*}} to %{{.*}} step
// CHECK-NEXT:    [[SLOT:%.*]] = affine.apply affine_map<(d0) -> ((d0 mod 2))> ([[N]])
// CHECK:         mem.dma %x{{.*}} to %first{{.*}} ahead 1
// CHECK:         scf.for
// CHECK:           mem.dma %y{{.*}} ahead 1
// CHECK:         } {stages = 2 : i64}
// CHECK-NEXT:    mem.dma %x{{.*}} to %skip{{.*}} ahead 1
func.func @around(%x: memref<32xf32, "L2">, %y: memref<8xf32, "L2">, %z: memref<64xf32, "L2">) {
  %0 = arith.constant 0 : index
  %1 = arith.constant 1 : index
  %2 = arith.constant 2 : index
  %4 = arith.constant 4 : index
  %8 = arith.constant 8 : index
  "scf.parallel"(%0, %0, %8, %4, %4, %1) <{operandSegmentSizes = array<i32: 2, 2, 2, 0>}> ({
  ^bb0(%h: index, %i: index):
    %first = mem.alloc : memref<4xf32, "L1">
    %skip = mem.alloc : memref<4xf32, "L1">
    %t0 = mem.dma %x[%h] to %first[0] size [4] : memref<32xf32, "L2"> to memref<4xf32, "L1">
    mem.wait %t0
    %t1 = mem.dma %x[%i] to %skip[0] size [4] : memref<32xf32, "L2"> to memref<4xf32, "L1">
    mem.wait %t1
    scf.for %j = %0 to %4 step %1 {
      %part = mem.alloc : memref<2xf32, "L1">
      %t2 = mem.dma %y[%j] to %part[0] size [2] : memref<8xf32, "L2"> to memref<2xf32, "L1">
      mem.wait %t2
      %t3 = mem.dma %first[0] to %z[%j] size [4] : memref<4xf32, "L1"> to memref<64xf32, "L2">
      mem.wait %t3
    } {stages = 2 : i64}
    %t4 = mem.dma %skip[0] to %z[%i] size [4] : memref<4xf32, "L1"> to memref<64xf32, "L2">
    mem.wait %t4
    scf.reduce
  }) {mapping = "loop"} : (index, index, index, index, index, index) -> ()
  func.return
}

// -----

// As many tiles as there is room for, the first ones first. A loop around one of which no
// iterations overlap stays.
// CHECK-LABEL: func.func @some
// CHECK:       %first = mem.alloc : memref<2x1x16384xf32, "L1">
// CHECK:       mem.dma %x{{.*}} ahead 1
// CHECK:       %skip = mem.alloc : memref<28672xf32, "L1">
// CHECK-NEXT:  mem.dma %y[0] to %skip[0] size [28672] :
// CHECK-LABEL: func.func @nothing
// CHECK:       scf.for %i = %{{.*}} to %{{.*}} step
func.func @some(%x: memref<8x16384xf32, "L2">, %y: memref<28672xf32, "L2">,
                %z: memref<4x4xf32, "L2">, %w: memref<4xf32, "L2">) {
  %0 = arith.constant 0 : index
  %1 = arith.constant 1 : index
  %4 = arith.constant 4 : index
  %8 = arith.constant 8 : index
  scf.for %i = %0 to %8 step %1 {
    %first = mem.alloc : memref<1x16384xf32, "L1">
    %t0 = mem.dma %x[%i, 0] to %first[0, 0] size [1, 16384] : memref<8x16384xf32, "L2"> to memref<1x16384xf32, "L1">
    mem.wait %t0
    %skip = mem.alloc : memref<28672xf32, "L1">
    %t1 = mem.dma %y[0] to %skip[0] size [28672] : memref<28672xf32, "L2"> to memref<28672xf32, "L1">
    mem.wait %t1
    scf.for %j = %0 to %4 step %1 {
      %t2 = mem.dma %first[0, 0] to %z[%j, 0] size [1, 4] : memref<1x16384xf32, "L1"> to memref<4x4xf32, "L2">
      mem.wait %t2
    } {stages = 2 : i64}
    %t3 = mem.dma %skip[0] to %w[0] size [4] : memref<28672xf32, "L1"> to memref<4xf32, "L2">
    mem.wait %t3
  }
  func.return
}
func.func @nothing(%x: memref<8x4xf32, "L2">, %z: memref<8x4xf32, "L2">) {
  %0 = arith.constant 0 : index
  %1 = arith.constant 1 : index
  %4 = arith.constant 4 : index
  %8 = arith.constant 8 : index
  scf.for %i = %0 to %8 step %4 {
    %tile = mem.alloc : memref<1x4xf32, "L1">
    %t0 = mem.dma %x[%i, 0] to %tile[0, 0] size [1, 4] : memref<8x4xf32, "L2"> to memref<1x4xf32, "L1">
    mem.wait %t0
    scf.for %j = %0 to %4 step %1 {
      %t1 = mem.dma %tile[0, 0] to %z[%j, 0] size [1, 4] : memref<1x4xf32, "L1"> to memref<8x4xf32, "L2">
      mem.wait %t1
    }
  }
  func.return
}

// -----

// A loop may write beside what it is loaded from, as tensors do that are joined.
// CHECK-LABEL: func.func @beside
// CHECK-SAME:  #graph.remark<missed "mem-pipeline" "not prefetched: the loop writes what it is loaded from" at "%late">
// CHECK:       mem.dma %left[0, %i] {{.*}} ahead 1
// CHECK:       mem.dma %right[0, %i] {{.*}} size [4, 8] :
func.func @beside(%x: memref<12x32xf32, "L3">) {
  %zero = arith.constant 0 : index
  %all = arith.constant 32 : index
  %eight = arith.constant 8 : index
  %left = memref.subview %x[0, 0] [8, 32] [1, 1]
      : memref<12x32xf32, "L3"> to memref<8x32xf32, strided<[32, 1]>, "L3">
  %right = memref.subview %x[8, 0] [4, 32] [1, 1]
      : memref<12x32xf32, "L3"> to memref<4x32xf32, strided<[32, 1], offset: 256>, "L3">
  scf.for %i = %zero to %all step %eight {
    %early = mem.alloc : memref<8x8xf32, "L2">
    %late = mem.alloc : memref<4x8xf32, "L2">
    %t0 = mem.dma %left[0, %i] to %early[0, 0] size [8, 8]
        : memref<8x32xf32, strided<[32, 1]>, "L3"> to memref<8x8xf32, "L2">
    mem.wait %t0
    %t1 = mem.dma %early[0, 0] to %right[0, %i] size [4, 8]
        : memref<8x8xf32, "L2"> to memref<4x32xf32, strided<[32, 1], offset: 256>, "L3">
    mem.wait %t1
    %t2 = mem.dma %right[0, %i] to %late[0, 0] size [4, 8]
        : memref<4x32xf32, strided<[32, 1], offset: 256>, "L3"> to memref<4x8xf32, "L2">
    mem.wait %t2
  } {stages = 2 : i64}
  func.return
}
