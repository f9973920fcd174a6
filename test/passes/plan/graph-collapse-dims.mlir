// RUN: tlf-opt %s --target npu -p "graph-collapse-dims" --split-input-file | filecheck %s

!image = tensor<1x64x8x56xf16, #tile.encoding<L2>>
!sums = tensor<1x64x8x56xf32, #tile.encoding<L2>>
!filters = tensor<64x64x1x1xf16, #tile.encoding<L2>>
!shifts = tensor<64x1x1xf32, #tile.encoding<L2>>

// 448 pixels are 7 passes of 64 columns, 8 rows of 56 are 8. Padding and masks count
// elements; what has neither axis stays as it is.
// CHECK-LABEL: func.func @rows(
// CHECK:         [[X:%.*]] = graph.reshape {{%.*}} -> tensor<1x64x392x1xf16, #tile.encoding<L2>>
// CHECK:         [[I:%.*]] = affine.apply affine_map<(d0) -> ((d0 * 56))>
// CHECK:         [[Y:%.*]] = graph.group ins({{%.*}} = [[X]], {{.*}} = [[I]] : {{.*}}) -> (tensor<1x64x448x1xf16, #tile.encoding<L2>>)
// CHECK:           graph.conv2d {{%.*}}, {{%.*}} padding [56, 0, 0, 0]
// CHECK:           graph.add {{.*}}tensor<64x1x1xf32
// CHECK:           tile.mask {{%.*}}[0, 0, {{%.*}}, 0] bounds [1, 64, 3136, 1] fill 0.0
// CHECK:         graph.reshape [[Y]] {{.*}} -> tensor<1x64x8x56xf16, #tile.encoding<L2>>
func.func @rows(%x: tensor<1x64x56x56xf16>, %w: !filters, %b: !shifts, %i: index) -> tensor<1x64x56x56xf16> {
  %all = tile.empty : tensor<1x64x56x56xf16>
  %t = tile.slice %x[0, 0, %i, 0] : tensor<1x64x56x56xf16> -> tensor<1x64x7x56xf16, #tile.encoding<L2>>
  %y = graph.group ins(%0 = %t, %1 = %w, %2 = %b, %3 = %i : tensor<1x64x7x56xf16, #tile.encoding<L2>>, !filters, !shifts, index) -> (!image) {
    %4 = graph.conv2d %0, %1 padding [1, 0, 0, 0] : (tensor<1x64x7x56xf16, #tile.encoding<L2>>, !filters) -> !sums
    %5 = graph.add %4, %2 : (!sums, !shifts) -> !sums
    %6 = graph.cast %5 : (!sums) -> !image
    %7 = tile.mask %6[0, 0, %3, 0] bounds [1, 64, 56, 56] fill 0.0 : f16 : !image
    graph.yield %7 : !image
  }
  %z = tile.deslice %y into %all[0, 0, %i, 0] : !image into tensor<1x64x56x56xf16>
  func.return %z : tensor<1x64x56x56xf16>
}

// Windows see neighbours along both axes.
// CHECK-LABEL: func.func @windows(
// CHECK-NOT:     graph.reshape
func.func @windows(%x: tensor<1x64x8x56xf16>, %w: tensor<64x64x3x3xf16, #tile.encoding<L2>>) -> tensor<1x64x8x56xf32> {
  %all = tile.empty : tensor<1x64x8x56xf32>
  %t = tile.slice %x[0, 0, 0, 0] : tensor<1x64x8x56xf16> -> !image
  %y = graph.group ins(%0 = %t, %1 = %w : !image, tensor<64x64x3x3xf16, #tile.encoding<L2>>) -> (!sums) {
    %4 = graph.conv2d %0, %1 padding [1, 1, 1, 1] : (!image, tensor<64x64x3x3xf16, #tile.encoding<L2>>) -> !sums
    graph.yield %4 : !sums
  }
  %z = tile.deslice %y into %all[0, 0, 0, 0] : !sums into tensor<1x64x8x56xf32>
  func.return %z : tensor<1x64x8x56xf32>
}

// -----

// Rows of 128 columns fill passes of 64.
// CHECK-LABEL: func.func @full(
// CHECK-NOT:     graph.reshape
!image = tensor<1x64x8x128xf16, #tile.encoding<L2>>
!sums = tensor<1x64x8x128xf32, #tile.encoding<L2>>
!filters = tensor<64x64x1x1xf16, #tile.encoding<L2>>
func.func @full(%x: tensor<1x64x8x128xf16>, %w: !filters) -> tensor<1x64x8x128xf32> {
  %all = tile.empty : tensor<1x64x8x128xf32>
  %t = tile.slice %x[0, 0, 0, 0] : tensor<1x64x8x128xf16> -> !image
  %y = graph.group ins(%0 = %t, %1 = %w : !image, !filters) -> (!sums) {
    %4 = graph.conv2d %0, %1 : (!image, !filters) -> !sums
    graph.yield %4 : !sums
  }
  %z = tile.deslice %y into %all[0, 0, 0, 0] : !sums into tensor<1x64x8x128xf32>
  func.return %z : tensor<1x64x8x128xf32>
}

// -----

// What is cut out of longer rows does not lie row by row.
// CHECK-LABEL: func.func @parts(
// CHECK-NOT:     graph.reshape
!image = tensor<1x64x8x56xf16, #tile.encoding<L2>>
!sums = tensor<1x64x8x56xf32, #tile.encoding<L2>>
!filters = tensor<64x64x1x1xf16, #tile.encoding<L2>>
func.func @parts(%x: tensor<1x64x8x60xf16>, %w: !filters) -> tensor<1x64x8x56xf32> {
  %all = tile.empty : tensor<1x64x8x56xf32>
  %t = tile.slice %x[0, 0, 0, 0] : tensor<1x64x8x60xf16> -> tensor<1x64x8x60xf16, #tile.encoding<L2>>
  %s = tile.slice %t[0, 0, 0, 2] : tensor<1x64x8x60xf16, #tile.encoding<L2>> -> !image
  %y = graph.group ins(%0 = %s, %1 = %w : !image, !filters) -> (!sums) {
    %4 = graph.conv2d %0, %1 : (!image, !filters) -> !sums
    graph.yield %4 : !sums
  }
  %z = tile.deslice %y into %all[0, 0, 0, 0] : !sums into tensor<1x64x8x56xf32>
  func.return %z : tensor<1x64x8x56xf32>
}

// -----

// Rows of a ring that rolls along them are not whole.
// CHECK-LABEL: func.func @rolled(
// CHECK-NOT:     graph.reshape
!window = tensor<1x64x8x56xf16, #tile.encoding<L2>>
!sums = tensor<1x64x8x56xf32, #tile.encoding<L2>>
!filters = tensor<64x64x1x1xf16, #tile.encoding<L2>>
func.func @rolled(%x: tensor<1x64x8x560xf16>, %w: !filters) -> tensor<1x64x8x560xf32> {
  %all = tile.empty : tensor<1x64x8x560xf32>
  %first = tile.slice %x[0, 0, 0, 0] : tensor<1x64x8x560xf16> -> !window
  %r:2 = tile.while (%i = 0 to 504 step 56) sequential mapping(loop) carry(%a = %all : tensor<1x64x8x560xf32>, %c = %first : !window) {
    %y = graph.group ins(%0 = %c, %1 = %w : !window, !filters) -> (!sums) {
      %4 = graph.conv2d %0, %1 : (!window, !filters) -> !sums
      graph.yield %4 : !sums
    }
    %z = tile.deslice %y into %a[0, 0, 0, %i] : !sums into tensor<1x64x8x560xf32>
    %t = tile.slice %x[0, 0, 0, %i] : tensor<1x64x8x560xf16> -> !window
    %n = tile.roll %c, %t axis 3 : !window, !window
    tile.yield %z, %n : tensor<1x64x8x560xf32>, !window
  }
  func.return %r#0 : tensor<1x64x8x560xf32>
}
