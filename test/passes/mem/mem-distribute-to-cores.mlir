// RUN: tlf-opt %s --split-input-file --target npu-4core -p mem-distribute-to-cores | filecheck %s
// RUN: tlf-opt %s --split-input-file --target npu -p mem-distribute-to-cores | filecheck %s --check-prefix=ONE

// Every core brings the weights near, and takes every fourth tile. The wait for what
// comes to L2 stays where it is.
// CHECK:      func.func @tiles
// CHECK:        %x_1 = mem.alloc : memref<37x8xf32, "L2">
// CHECK-NEXT:   %t0 = mem.dma %x[0, 0] to %x_1[0, 0]
// CHECK-NEXT:   mem.wait %t0{{$}}
// CHECK:        %[[ZERO:.*]] = arith.constant 0 : index
// CHECK-NEXT:   %[[CORES:.*]] = arith.constant 4 : index
// CHECK-NEXT:   %[[UNIT:.*]] = arith.constant 1 : index
// CHECK-NEXT:   "scf.parallel"(%[[ZERO]], %[[CORES]], %[[UNIT]])
// CHECK-NEXT:   ^bb0(%core: index):
// CHECK-NEXT:     %w_1 = mem.alloc : memref<8xf32, "L1">
// CHECK-NEXT:     %t1 = mem.dma %w[0] to %w_1[0]
// CHECK-NEXT:     mem.wait %t1{{$}}
// CHECK:          %[[COUNT:.*]] = arith.constant 10 : index
// CHECK:          %[[STEP:.*]] = arith.constant 4 : index
// CHECK-NEXT:     scf.for %n = %core to %[[COUNT]] step %[[STEP]] {
// CHECK-NEXT:       %i = affine.apply affine_map<(d0) -> ((d0 * 4))> (%n)
// CHECK:            mem.dma %x_1[%i, 0]
// CHECK:          } {stages = 2 : i64}
// CHECK-NEXT:     scf.reduce
// CHECK-NEXT:   }) {mapping = "core"}

// ONE:       func.func @tiles
// ONE:         mem.wait %{{.*}}, %{{.*}}
// ONE:         "scf.parallel"
// ONE:         }) {mapping = "loop", stages = 2 : i64}
func.func @tiles(%x: memref<37x8xf32, "L3">, %w: memref<8xf32, "L2">) {
  %zero = arith.constant 0 : index
  %rows = arith.constant 37 : index
  %four = arith.constant 4 : index
  %x_1 = mem.alloc : memref<37x8xf32, "L2">
  %t0 = mem.dma %x[0, 0] to %x_1[0, 0] size [37, 8]
      : memref<37x8xf32, "L3"> to memref<37x8xf32, "L2">
  %w_1 = mem.alloc : memref<8xf32, "L1">
  %t1 = mem.dma %w[0] to %w_1[0] size [8] : memref<8xf32, "L2"> to memref<8xf32, "L1">
  mem.wait %t0, %t1
  "scf.parallel"(%zero, %rows, %four) <{operandSegmentSizes = array<i32: 1, 1, 1, 0>}> ({
  ^bb0(%i: index):
    %tile = mem.alloc : memref<4x8xf32, "L1">
    %t2 = mem.dma %x_1[%i, 0] to %tile[0, 0] size [4, 8]
        : memref<37x8xf32, "L2"> to memref<4x8xf32, "L1">
    mem.wait %t2
    mem.map ins(%tile, %w_1 : memref<4x8xf32, "L1">, memref<8xf32, "L1">)
        outs(%tile : memref<4x8xf32, "L1">) domain [4, 8]
        maps [affine_map<(a, b) -> (a, b)>, affine_map<(a, b) -> (b)>,
              affine_map<(a, b) -> (a, b)>] {
    ^bb0(%a: f32, %b: f32):
      %c = arith.mulf %a, %b : f32
      mem.yield %c : f32
    }
    %t3 = mem.dma %tile[0, 0] to %x_1[%i, 0] size [4, 8]
        : memref<4x8xf32, "L1"> to memref<37x8xf32, "L2">
    mem.wait %t3
    scf.reduce
  }) {mapping = "core", stages = 2 : i64} : (index, index, index) -> ()
  func.return
}

// -----

// Of 3 by 8 iterations in two nests, 8 leave no core idle; every core walks the others.
// CHECK:      func.func @inner
// CHECK:        "scf.parallel"
// CHECK-NEXT:   ^bb0(%core: index):
// CHECK:          "scf.parallel"(%zero, %three, %one)
// CHECK:          ^bb0(%i: index):
// CHECK:            scf.for %n = %core to %{{.*}} step %{{.*}} {
// CHECK:          }) {mapping = "loop"}
// CHECK:        }) {mapping = "core"}
func.func @inner(%x: memref<3x8x64xf32, "L2">) {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %three = arith.constant 3 : index
  %eight = arith.constant 8 : index
  "scf.parallel"(%zero, %three, %one) <{operandSegmentSizes = array<i32: 1, 1, 1, 0>}> ({
  ^bb0(%i: index):
    "scf.parallel"(%zero, %eight, %one) <{operandSegmentSizes = array<i32: 1, 1, 1, 0>}> ({
    ^bb0(%j: index):
      %tile = mem.alloc : memref<1x1x64xf32, "L1">
      mem.fill 1.0 into %tile : memref<1x1x64xf32, "L1">
      %t = mem.dma %tile[0, 0, 0] to %x[%i, %j, 0] size [1, 1, 64]
          : memref<1x1x64xf32, "L1"> to memref<3x8x64xf32, "L2">
      mem.wait %t
      scf.reduce
    }) {mapping = "core"} : (index, index, index) -> ()
    scf.reduce
  }) {mapping = "core"} : (index, index, index) -> ()
  func.return
}

// -----

// What is written around the inner nest all cores would write.
// CHECK:      func.func @around({{.*}}"mem-distribute-to-cores" "not distributed to cores: it writes a shared level outside of the distributed loop" at "{{[0-9]+:[0-9]+}}">]
// CHECK-NOT:    mapping = "core"
// CHECK:        return
func.func @around(%x: memref<8xf32, "L2">, %y: memref<1xf32, "L2">) {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %eight = arith.constant 8 : index
  "scf.parallel"(%zero, %one, %one) <{operandSegmentSizes = array<i32: 1, 1, 1, 0>}> ({
  ^bb0(%i: index):
    %sum = mem.alloc : memref<1xf32, "L1">
    mem.fill 1.0 into %sum : memref<1xf32, "L1">
    "scf.parallel"(%zero, %eight, %one) <{operandSegmentSizes = array<i32: 1, 1, 1, 0>}> ({
    ^bb0(%j: index):
      %t = mem.dma %sum[0] to %x[%j] size [1] : memref<1xf32, "L1"> to memref<8xf32, "L2">
      mem.wait %t
      scf.reduce
    }) {mapping = "core"} : (index, index, index) -> ()
    %t = mem.dma %sum[0] to %y[%i] size [1] : memref<1xf32, "L1"> to memref<1xf32, "L2">
    mem.wait %t
    scf.reduce
  }) {mapping = "core"} : (index, index, index) -> ()
  func.return
}

// -----

// Parts of one tile of a core, buffers in L2 in the loop, and what is used afterwards.
// CHECK:      func.func @parts({{.*}}"mem-distribute-to-cores" "not distributed to cores: its iterations write to one private tile" at "{{[0-9]+:[0-9]+}}">]
// CHECK-NOT:    mapping = "core"
// CHECK:        return
func.func @parts(%x: memref<8xf32, "L2">) {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %eight = arith.constant 8 : index
  %tile = mem.alloc : memref<8xf32, "L1">
  "scf.parallel"(%zero, %eight, %one) <{operandSegmentSizes = array<i32: 1, 1, 1, 0>}> ({
  ^bb0(%j: index):
    %t = mem.dma %x[%j] to %tile[%j] size [1] : memref<8xf32, "L2"> to memref<8xf32, "L1">
    mem.wait %t
    scf.reduce
  }) {mapping = "core"} : (index, index, index) -> ()
  func.return
}

// -----

// CHECK:      func.func @far({{.*}}"mem-distribute-to-cores" "not distributed to cores: it allocates buffers in a shared level" at "{{[0-9]+:[0-9]+}}">]
// CHECK-NOT:    mapping = "core"
// CHECK:        return
func.func @far(%x: memref<8xf32, "L3">) {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %eight = arith.constant 8 : index
  "scf.parallel"(%zero, %eight, %one) <{operandSegmentSizes = array<i32: 1, 1, 1, 0>}> ({
  ^bb0(%j: index):
    %tile = mem.alloc : memref<1xf32, "L2">
    %t = mem.dma %x[%j] to %tile[0] size [1] : memref<8xf32, "L3"> to memref<1xf32, "L2">
    mem.wait %t
    scf.reduce
  }) {mapping = "core"} : (index, index, index) -> ()
  func.return
}

// -----

// CHECK:      func.func @after({{.*}}"mem-distribute-to-cores" "not distributed to cores: its private buffers are used after it" at "{{[0-9]+:[0-9]+}}">]
// CHECK-NOT:    mapping = "core"
// CHECK:        return
func.func @after(%x: memref<8xf32, "L2">, %w: memref<8xf32, "L2">) {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %eight = arith.constant 8 : index
  %near = mem.alloc : memref<8xf32, "L1">
  %t0 = mem.dma %w[0] to %near[0] size [8] : memref<8xf32, "L2"> to memref<8xf32, "L1">
  mem.wait %t0
  "scf.parallel"(%zero, %eight, %one) <{operandSegmentSizes = array<i32: 1, 1, 1, 0>}> ({
  ^bb0(%j: index):
    %t = mem.dma %near[%j] to %x[%j] size [1] : memref<8xf32, "L1"> to memref<8xf32, "L2">
    mem.wait %t
    scf.reduce
  }) {mapping = "core"} : (index, index, index) -> ()
  %t1 = mem.dma %near[0] to %w[0] size [8] : memref<8xf32, "L1"> to memref<8xf32, "L2">
  mem.wait %t1
  func.return
}

// -----

// The weights are overwritten before the nest: bringing them near has to stay before.
// CHECK:      func.func @overwritten({{.*}}"mem-distribute-to-cores" "not distributed to cores: an operand of its setup is overwritten before it" at "{{[0-9]+:[0-9]+}}">]
// CHECK-NOT:    mapping = "core"
// CHECK:        return
func.func @overwritten(%x: memref<8xf32, "L2">, %w: memref<8xf32, "L2">,
                       %v: memref<8xf32, "L3">) {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %eight = arith.constant 8 : index
  %near = mem.alloc : memref<8xf32, "L1">
  %t0 = mem.dma %w[0] to %near[0] size [8] : memref<8xf32, "L2"> to memref<8xf32, "L1">
  mem.wait %t0
  %t1 = mem.dma %v[0] to %w[0] size [8] : memref<8xf32, "L3"> to memref<8xf32, "L2">
  mem.wait %t1
  "scf.parallel"(%zero, %eight, %one) <{operandSegmentSizes = array<i32: 1, 1, 1, 0>}> ({
  ^bb0(%j: index):
    %t = mem.dma %near[%j] to %x[%j] size [1] : memref<8xf32, "L1"> to memref<8xf32, "L2">
    mem.wait %t
    scf.reduce
  }) {mapping = "core"} : (index, index, index) -> ()
  func.return
}

// -----

// CHECK:      func.func @one({{.*}}"mem-distribute-to-cores" "not distributed to cores: it has one iteration" at "{{[0-9]+:[0-9]+}}">]
// CHECK-NOT:    mapping = "core"
// CHECK:        return
func.func @one(%x: memref<8xf32, "L2">) {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  "scf.parallel"(%zero, %one, %one) <{operandSegmentSizes = array<i32: 1, 1, 1, 0>}> ({
  ^bb0(%j: index):
    %tile = mem.alloc : memref<8xf32, "L1">
    mem.fill 1.0 into %tile : memref<8xf32, "L1">
    %t = mem.dma %tile[0] to %x[0] size [8] : memref<8xf32, "L1"> to memref<8xf32, "L2">
    mem.wait %t
    scf.reduce
  }) {mapping = "core"} : (index, index, index) -> ()
  func.return
}

// -----

// A loop with as many iterations as there are cores is not dealt yet where something is
// brought near before it, and stays as it is once that is done.
// CHECK:      func.func @as_many
// CHECK-NEXT:   %zero = arith.constant 0
// CHECK-NOT:    mem.dma
// CHECK:        "scf.parallel"
// CHECK-NEXT:   ^bb0(%core: index):
// CHECK-NEXT:     %w_1 = mem.alloc : memref<1x8xf32, "L1">
// CHECK-NEXT:     mem.dma %w[0, 0] to %w_1[0, 0]
// CHECK:          scf.for %n = %core to
// CHECK:        }) {mapping = "core"}
// CHECK:        "scf.parallel"
// CHECK-NEXT:   ^bb0(%i: index):
// CHECK-NEXT:     %tile = mem.alloc
// CHECK-NOT:      scf.for
// CHECK:        }) {mapping = "core"}
func.func @as_many(%x: memref<4x8xf32, "L2">, %w: memref<1x8xf32, "L2">) {
  %zero = arith.constant 0 : index
  %four = arith.constant 4 : index
  %one = arith.constant 1 : index
  %w_1 = mem.alloc : memref<1x8xf32, "L1">
  %t1 = mem.dma %w[0, 0] to %w_1[0, 0] size [1, 8] : memref<1x8xf32, "L2"> to memref<1x8xf32, "L1">
  mem.wait %t1
  "scf.parallel"(%zero, %four, %one) <{operandSegmentSizes = array<i32: 1, 1, 1, 0>}> ({
  ^bb0(%i: index):
    %t3 = mem.dma %w_1[0, 0] to %x[%i, 0] size [1, 8]
        : memref<1x8xf32, "L1"> to memref<4x8xf32, "L2">
    mem.wait %t3
    scf.reduce
  }) {mapping = "core"} : (index, index, index) -> ()
  "scf.parallel"(%zero, %four, %one) <{operandSegmentSizes = array<i32: 1, 1, 1, 0>}> ({
  ^bb0(%i: index):
    %tile = mem.alloc : memref<1x8xf32, "L1">
    %t2 = mem.dma %x[%i, 0] to %tile[0, 0] size [1, 8]
        : memref<4x8xf32, "L2"> to memref<1x8xf32, "L1">
    mem.wait %t2
    %t3 = mem.dma %tile[0, 0] to %x[%i, 0] size [1, 8]
        : memref<1x8xf32, "L1"> to memref<4x8xf32, "L2">
    mem.wait %t3
    scf.reduce
  }) {mapping = "core"} : (index, index, index) -> ()
  func.return
}
