// RUN: tlf-opt %s --split-input-file --target npu-tiny -p "convert-tile-to-mem,tidy" | filecheck %s

// The window stays where it is, in the buffer that its first rows were moved to, and the
// next rows are moved to their place in it. The last rows of the window are a window, the
// same one here.
// CHECK-LABEL: func.func @loaded
// CHECK:         [[R:%.*]] = mem.alloc : memref<3x8xf32, "L2">
// CHECK-NEXT:    mem.dma %x[-2, 0] to [[R]][0, 0] size [3, 8] fill 0.0
// CHECK:         scf.for %i =
// CHECK-NEXT:      [[V:%.*]] = affine.apply affine_map<(d0) -> ((d0 + 1))> (%i)
// CHECK-NEXT:      [[P:%.*]] = affine.apply affine_map<(d0) -> ((d0 + 3))> (%i)
// CHECK-NEXT:      [[N:%.*]] = mem.window [[R]]{{\[}}[[P]], 0] size [2, 8] axis 0 :
// CHECK-NEXT:      [[T:%.*]] = mem.dma %x{{\[}}[[V]], 0] to [[N]][0, 0] size [2, 8] fill 0.0
// CHECK-NEXT:      mem.wait [[T]]
// CHECK-NEXT:      mem.dma [[N]][0, 0] to %y{{\[}}%i, 0] size [2, 8]
// CHECK-NEXT:      mem.wait
// CHECK-NOT:       mem.
func.func @loaded(%x: tensor<9x8xf32>) -> tensor<9x8xf32> {
  %e = tile.empty : tensor<9x8xf32>
  %first = tile.slice %x[-2, 0] fill 0.0 : f32
      : tensor<9x8xf32> -> tensor<3x8xf32, #tile.encoding<L2>>
  %y, %last = tile.while (%i = 0 to 9 step 2) sequential mapping(loop)
      carry(%o = %e : tensor<9x8xf32>,
            %w = %first : tensor<3x8xf32, #tile.encoding<L2>>) {
    %v = affine.apply affine_map<(d0) -> (d0 + 1)> (%i)
    %n = tile.slice %x[%v, 0] fill 0.0 : f32
        : tensor<9x8xf32> -> tensor<2x8xf32, #tile.encoding<L2>>
    %r = tile.roll %w, %n axis 0
        : tensor<3x8xf32, #tile.encoding<L2>>, tensor<2x8xf32, #tile.encoding<L2>>
    %p = tile.slice %r[1, 0]
        : tensor<3x8xf32, #tile.encoding<L2>> -> tensor<2x8xf32, #tile.encoding<L2>>
    %q = tile.deslice %p into %o[%i, 0]
        : tensor<2x8xf32, #tile.encoding<L2>> into tensor<9x8xf32>
    tile.yield %q, %r : tensor<9x8xf32>, tensor<3x8xf32, #tile.encoding<L2>>
  }
  func.return %y : tensor<9x8xf32>
}

// -----

// With two stages there is room for the rows of the next iteration, so the first window
// is made in a larger buffer. After a loop that counts by three, the last window starts
// at row 4 * 2 of five.
// CHECK-LABEL: func.func @staged
// CHECK:         [[R:%.*]] = mem.alloc : memref<5x8xf32, "L2">
// CHECK-NEXT:    [[F:%.*]] = memref.subview [[R]][0, 0] [3, 8] [1, 1] :
// CHECK-NEXT:    mem.dma %x[-2, 0] to [[F]][0, 0] size [3, 8] fill 0.0
// CHECK:         scf.for %i =
// CHECK:           affine.apply affine_map<(d0) -> (((((d0 + -1) floordiv 3) * 2) + 3))> (%i)
// CHECK:         {stages = 2 : i64}
// CHECK:         [[L:%.*]] = mem.window [[R]][3, 0] size [3, 8] axis 0 :
// CHECK-NEXT:    mem.dma [[L]][0, 0] to %q[0, 0] size [3, 8]
func.func @staged(%x: tensor<9x8xf32>) -> tensor<3x8xf32> {
  %e = tile.empty : tensor<3x8xf32>
  %first = tile.slice %x[-2, 0] fill 0.0 : f32
      : tensor<9x8xf32> -> tensor<3x8xf32, #tile.encoding<L2>>
  %last = tile.while (%i = 1 to 12 step 3) sequential mapping(loop) stages(2)
      carry(%w = %first : tensor<3x8xf32, #tile.encoding<L2>>) {
    %n = tile.slice %x[%i, 0] fill 0.0 : f32
        : tensor<9x8xf32> -> tensor<2x8xf32, #tile.encoding<L2>>
    %r = tile.roll %w, %n axis 0
        : tensor<3x8xf32, #tile.encoding<L2>>, tensor<2x8xf32, #tile.encoding<L2>>
    tile.yield %r : tensor<3x8xf32, #tile.encoding<L2>>
  }
  %q = tile.deslice %last into %e[0, 0]
      : tensor<3x8xf32, #tile.encoding<L2>> into tensor<3x8xf32>
  func.return %q : tensor<3x8xf32>
}

// -----

// The window from before is still read when the next rows arrive: they get rows of
// their own. Part of a tile is copied behind the window, and a remark says so.
// CHECK-LABEL: func.func @read_late
// CHECK-SAME:    #graph.remark<missed "convert-tile-to-mem" "the next slices of the window are copied" at "%s">
// CHECK-DAG:     mem.alloc : memref<5x8xf32, "L2">
// CHECK-DAG:     mem.alloc : memref<3x8xf32, "L2">
// CHECK:         scf.for %i =
// CHECK-COUNT-6: mem.dma
// CHECK-NOT:     mem.dma
func.func @read_late(%x: tensor<9x8xf32>) -> tensor<9x8xf32> {
  %e = tile.empty : tensor<9x8xf32>
  %first = tile.slice %x[-2, 0] fill 0.0 : f32
      : tensor<9x8xf32> -> tensor<3x8xf32, #tile.encoding<L2>>
  %other = tile.slice %x[-2, 0] fill 1.0 : f32
      : tensor<9x8xf32> -> tensor<3x8xf32, #tile.encoding<L2>>
  %y, %a, %b = tile.while (%i = 0 to 9 step 2) sequential mapping(loop)
      carry(%o = %e : tensor<9x8xf32>,
            %w = %first : tensor<3x8xf32, #tile.encoding<L2>>,
            %v = %other : tensor<3x8xf32, #tile.encoding<L2>>) {
    %n = tile.slice %x[%i, 0] fill 0.0 : f32
        : tensor<9x8xf32> -> tensor<2x8xf32, #tile.encoding<L2>>
    %q = tile.deslice %w into %o[%i, 0]
        : tensor<3x8xf32, #tile.encoding<L2>> into tensor<9x8xf32>
    %r = tile.roll %w, %n axis 0
        : tensor<3x8xf32, #tile.encoding<L2>>, tensor<2x8xf32, #tile.encoding<L2>>
    %m = tile.slice %x[%i, 0] fill 2.0 : f32
        : tensor<9x8xf32> -> tensor<3x8xf32, #tile.encoding<L2>>
    %p = tile.slice %m[1, 0]
        : tensor<3x8xf32, #tile.encoding<L2>> -> tensor<2x8xf32, #tile.encoding<L2>>
    %s = tile.roll %v, %p axis 0
        : tensor<3x8xf32, #tile.encoding<L2>>, tensor<2x8xf32, #tile.encoding<L2>>
    %z = tile.deslice %s into %q[%i, 0]
        : tensor<3x8xf32, #tile.encoding<L2>> into tensor<9x8xf32>
    tile.yield %z, %r, %s : tensor<9x8xf32>, tensor<3x8xf32, #tile.encoding<L2>>,
        tensor<3x8xf32, #tile.encoding<L2>>
  }
  func.return %y : tensor<9x8xf32>
}

// -----

// Engines do not wrap: a window in their level is shifted, and a remark says why.
// CHECK-LABEL: func.func @near
// CHECK-SAME:    #graph.remark<missed "convert-tile-to-mem" "the window is shifted: engines work in L1, and do not wrap" at "%r">
// CHECK:         scf.for %i =
// CHECK:           mem.map
// CHECK-NOT:       mem.window
func.func @near(%x: tensor<9x8xf32, #tile.encoding<L2>>) -> tensor<9x8xf32> {
  %e = tile.empty : tensor<9x8xf32>
  %z = tile.fill 0.0 : f32 : tensor<3x8xf32, #tile.encoding<L1>>
  %s = tile.empty : tensor<9x8xf32, #tile.encoding<L2>>
  %y, %last = tile.while (%i = 0 to 9 step 2) sequential mapping(loop)
      carry(%o = %s : tensor<9x8xf32, #tile.encoding<L2>>,
            %w = %z : tensor<3x8xf32, #tile.encoding<L1>>) {
    %n = tile.slice %x[%i, 0] fill 0.0 : f32
        : tensor<9x8xf32, #tile.encoding<L2>> -> tensor<2x8xf32, #tile.encoding<L1>>
    %r = tile.roll %w, %n axis 0
        : tensor<3x8xf32, #tile.encoding<L1>>, tensor<2x8xf32, #tile.encoding<L1>>
    %q = tile.deslice %r into %o[%i, 0]
        : tensor<3x8xf32, #tile.encoding<L1>> into tensor<9x8xf32, #tile.encoding<L2>>
    tile.yield %q, %r : tensor<9x8xf32, #tile.encoding<L2>>,
        tensor<3x8xf32, #tile.encoding<L1>>
  }
  %b = tile.deslice %y into %e[0, 0]
      : tensor<9x8xf32, #tile.encoding<L2>> into tensor<9x8xf32>
  func.return %b : tensor<9x8xf32>
}

// -----

// A nest without loops runs once: the window may take the place of the tile that was cut
// outside of it.
// CHECK-LABEL: func.func @outside
// CHECK:         [[R:%.*]] = mem.alloc : memref<3x8xf32, "L2">
// CHECK-NOT:     mem.alloc
// CHECK:         scf.for
// CHECK:           mem.window [[R]]
func.func @outside(%x: tensor<9x8xf32>) -> tensor<9x8xf32> {
  %e = tile.empty : tensor<9x8xf32>
  %first = tile.slice %x[-2, 0] fill 0.0 : f32
      : tensor<9x8xf32> -> tensor<3x8xf32, #tile.encoding<L2>>
  %z = tile.while () parallel into(%d = %e : tensor<9x8xf32>) {
    %y, %last = tile.while (%i = 0 to 9 step 2) sequential
        carry(%o = %d : tensor<9x8xf32>,
              %w = %first : tensor<3x8xf32, #tile.encoding<L2>>) {
      %n = tile.slice %x[%i, 0] fill 0.0 : f32
          : tensor<9x8xf32> -> tensor<2x8xf32, #tile.encoding<L2>>
      %r = tile.roll %w, %n axis 0
          : tensor<3x8xf32, #tile.encoding<L2>>, tensor<2x8xf32, #tile.encoding<L2>>
      %q = tile.deslice %r into %o[%i, 0]
          : tensor<3x8xf32, #tile.encoding<L2>> into tensor<9x8xf32>
      tile.yield %q, %r : tensor<9x8xf32>, tensor<3x8xf32, #tile.encoding<L2>>
    }
    tile.yield %y : tensor<9x8xf32>
  }
  func.return %z : tensor<9x8xf32>
}
