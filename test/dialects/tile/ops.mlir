// RUN: TLF_ROUNDTRIP
// RUN: tlf-opt %s --split-input-file | tlf-opt --split-input-file | filecheck %s

// Offsets are values or numbers; numbers may be negative.
%i, %x = "test.op"() : () -> (index, tensor<100x64xf32>)
// CHECK: [[T:%.*]] = tile.slice %x[%i, 0] : tensor<100x64xf32> -> tensor<16x64xf32, #tile.encoding<L2>>
%t = tile.slice %x[%i, 0]
    : tensor<100x64xf32> -> tensor<16x64xf32, #tile.encoding<L2>>
// CHECK-NEXT: tile.slice %x[-1, %i] valid [3, 64] fill 0xff800000 : f32 : tensor<100x64xf32> -> tensor<4x64xf32, #tile.encoding<L1>>
%u = tile.slice %x[-1, %i] valid [3, 64] fill 0xff800000 : f32
    : tensor<100x64xf32> -> tensor<4x64xf32, #tile.encoding<L1>>
// CHECK-NEXT: tile.slice [[T]][1, 0] {test.hint = "a"} : tensor<16x64xf32, #tile.encoding<L2>> -> tensor<8x32xf32, #tile.encoding<L2>>
%v = tile.slice %t[1, 0] {test.hint = "a"}
    : tensor<16x64xf32, #tile.encoding<L2>> -> tensor<8x32xf32, #tile.encoding<L2>>
// CHECK-NEXT: tile.deslice [[T]] into %x[%i, -3] : tensor<16x64xf32, #tile.encoding<L2>> into tensor<100x64xf32>
%d = tile.deslice %t into %x[%i, -3]
    : tensor<16x64xf32, #tile.encoding<L2>> into tensor<100x64xf32>
// CHECK-NEXT: tile.deslice [[T]] into %x[0, %i] valid [15, 64] {test.hint = "a"} : tensor<16x64xf32, #tile.encoding<L2>> into tensor<100x64xf32>
%e = tile.deslice %t into %x[0, %i] valid [15, 64] {test.hint = "a"}
    : tensor<16x64xf32, #tile.encoding<L2>> into tensor<100x64xf32>

// -----

// A map says where in the source each element of the tile lies.
%i, %x = "test.op"() : () -> (index, tensor<100x64xf32>)
// CHECK: tile.slice %x[%i, -1] map affine_map<(d0, d1, d2) -> ((d1 + (d2 * 2)), d0)> valid [16, 3, 2] fill 0.000000e+00 : f32 : tensor<100x64xf32> -> tensor<16x4x2xf32, #tile.encoding<L1>>
%t = tile.slice %x[%i, -1] map affine_map<(d0, d1, d2) -> (d1 + d2 * 2, d0)> valid [16, 3, 2] fill 0.0 : f32
    : tensor<100x64xf32> -> tensor<16x4x2xf32, #tile.encoding<L1>>

// -----

// A tile of rank 0 has no offsets, and a layout orders the axes of one of higher rank.
%s = "test.op"() : () -> tensor<i32>
// CHECK: tile.slice %s[] : tensor<i32> -> tensor<i32, #tile.encoding<L1>>
%t = tile.slice %s[] : tensor<i32> -> tensor<i32, #tile.encoding<L1>>
// CHECK-NEXT: tile.empty : tensor<4x8x16xbf16, #tile.encoding<L12, layout = [0, 2, 1]>>
%e = tile.empty : tensor<4x8x16xbf16, #tile.encoding<L12, layout = [0, 2, 1]>>
// CHECK-NEXT: tile.empty : tensor<4x8xbf16, #tile.encoding<layout = [1, 0]>>
%g = tile.empty : tensor<4x8xbf16, #tile.encoding<layout = [1, 0]>>
// CHECK-NEXT: tile.empty {test.hint = "a"} : tensor<3xf16>
%f = tile.empty {test.hint = "a"} : tensor<3xf16>

// -----

// A fill value has the element type of the tile.
// CHECK: tile.fill 1.000000e+00 : bf16 : tensor<16xbf16, #tile.encoding<L1>>
%a = tile.fill 1.0 : bf16 : tensor<16xbf16, #tile.encoding<L1>>
// CHECK-NEXT: tile.fill -7 : i32 : tensor<i32>
%b = tile.fill -7 : i32 : tensor<i32>
// CHECK-NEXT: tile.fill true {test.hint = "a"} : tensor<2x2xi1>
%c = tile.fill true {test.hint = "a"} : tensor<2x2xi1>

// -----

// A mask knows the place of its tile, and how much of the tile counts.
%i, %t = "test.op"() : () -> (index, tensor<16x64xf32, #tile.encoding<L1>>)
// CHECK: tile.mask %t[%i, -1] bounds [100, 64] fill 0.000000e+00 : f32 : tensor<16x64xf32, #tile.encoding<L1>>
%m = tile.mask %t[%i, -1] bounds [100, 64] fill 0.0 : f32
    : tensor<16x64xf32, #tile.encoding<L1>>
// CHECK-NEXT: tile.mask %t[0, %i] bounds [100, 64] valid [7, 64] fill 0x7fc00000 : f32 {test.hint = "a"} : tensor<16x64xf32, #tile.encoding<L1>>
%n = tile.mask %t[0, %i] bounds [100, 64] valid [7, 64] fill 0x7fc00000 : f32 {test.hint = "a"}
    : tensor<16x64xf32, #tile.encoding<L1>>

// -----

// A window moves on by as many slices as follow it, all of them at most.
%w, %n = "test.op"() : () -> (tensor<4x64xf32, #tile.encoding<L2>>, tensor<2x64xf32, #tile.encoding<L2>>)
// CHECK: tile.roll %w, %n axis 0 : tensor<4x64xf32, #tile.encoding<L2>>, tensor<2x64xf32, #tile.encoding<L2>>
%r = tile.roll %w, %n axis 0
    : tensor<4x64xf32, #tile.encoding<L2>>, tensor<2x64xf32, #tile.encoding<L2>>
// CHECK-NEXT: tile.roll %w, %w axis 1 {test.hint = "a"} : tensor<4x64xf32, #tile.encoding<L2>>, tensor<4x64xf32, #tile.encoding<L2>>
%s = tile.roll %w, %w axis 1 {test.hint = "a"}
    : tensor<4x64xf32, #tile.encoding<L2>>, tensor<4x64xf32, #tile.encoding<L2>>
