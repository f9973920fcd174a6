// RUN: tlf-opt %s --split-input-file --target npu:L2=128K -p "graph-relax-io-layouts,graph-decompose,graph-group{level=L2},graph-assign-layouts" | filecheck %s
// RUN: tlf-opt %s --split-input-file --target npu:L2=128K -p "graph-decompose,graph-group{level=L2},graph-assign-layouts" | filecheck %s --check-prefix=FIXED

// An image that is cut lies with its channels last, so that a tile is one run. The
// plan is chosen for that. Weights, which are moved whole, stay as they are.
// CHECK-LABEL: func.func @image(
// CHECK-SAME:    %x: tensor<1x64x50x54xf16, #tile.encoding<layout = [0, 2, 3, 1]>> {tlf.layout = "any"}, %w: tensor<64x64x1x1xf16> {tlf.layout = "any"})
// CHECK-SAME:    -> (tensor<1x64x50x54xf16, #tile.encoding<layout = [0, 2, 3, 1]>>
// CHECK-SAME:    #graph.remark<passed "graph-assign-layouts" "the axes of x are stored in the order 0, 2, 3, 1"
// CHECK:         graph.group ins({{.*}} plan #graph.plan<L2, tile [1, 64, {{[0-9]+}}, {{[0-9]+}}]
// CHECK:           graph.conv2d %{{.*}} (tensor<1x64x50x54xf16, #tile.encoding<layout = [0, 2, 3, 1]>>, tensor<64x64x1x1xf16>) -> tensor<1x64x50x54xf32>
// CHECK:           graph.yield %{{.*}} : tensor<1x64x50x54xf16, #tile.encoding<layout = [0, 2, 3, 1]>>
// FIXED-LABEL: func.func @image(
// FIXED-NOT:   layout
func.func @image(%x: tensor<1x64x50x54xf16>, %w: tensor<64x64x1x1xf16>)
    -> tensor<1x64x50x54xf16> {
  %0 = graph.conv2d %x, %w
      : (tensor<1x64x50x54xf16>, tensor<64x64x1x1xf16>) -> tensor<1x64x50x54xf16>
  %y = graph.relu %0 : tensor<1x64x50x54xf16>
  func.return %y : tensor<1x64x50x54xf16>
}

// -----

// What a function declares is kept, also what is worse. What others than groups use
// stays in row-major order.
// CHECK-LABEL: func.func @declared(
// CHECK-SAME:    %x: tensor<8x64x80xf16, #tile.encoding<layout = [2, 1, 0]>>
// CHECK-SAME:    %z: tensor<8x64xf16> {tlf.layout = array<i64: 1, 0>}
// CHECK-SAME:    (tensor<8x64x80xf16, #tile.encoding<layout = [1, 0, 2]>> {{.*}}, tensor<512xf16>
// CHECK-SAME:    #graph.remark<missed "graph-assign-layouts" "z does not have the declared layout: operations outside of groups use it"
// FIXED-LABEL: func.func @declared(
// FIXED-SAME:    %x: tensor<8x64x80xf16, #tile.encoding<layout = [2, 1, 0]>>
// FIXED-SAME:    (tensor<8x64x80xf16, #tile.encoding<layout = [1, 0, 2]>> {{.*}}, tensor<512xf16>
func.func @declared(%x: tensor<8x64x80xf16> {tlf.layout = array<i64: 2, 1, 0>},
                    %z: tensor<8x64xf16> {tlf.layout = array<i64: 1, 0>})
    -> (tensor<8x64x80xf16> {tlf.layout = array<i64: 1, 0, 2>}, tensor<512xf16>) {
  %0 = graph.exp %x : tensor<8x64x80xf16>
  %1 = graph.reshape %z : (tensor<8x64xf16>) -> tensor<512xf16>
  func.return %0, %1 : tensor<8x64x80xf16>, tensor<512xf16>
}

// -----

// Where one end of a program is declared, the other one follows what is best with
// that.
// CHECK-LABEL: func.func @half(
// FIXED-LABEL: func.func @half(
// FIXED-SAME:    %x: tensor<1x64x50x54xf16, #tile.encoding<layout = [0, 2, 3, 1]>> {tlf.layout = "any"}
// FIXED-SAME:    %w: tensor<64x64x1x1xf16> {tlf.parameter})
func.func @half(%x: tensor<1x64x50x54xf16> {tlf.layout = "any"},
                %w: tensor<64x64x1x1xf16> {tlf.parameter})
    -> (tensor<1x64x50x54xf16> {tlf.layout = array<i64: 0, 2, 3, 1>}) {
  %y = graph.conv2d %x, %w
      : (tensor<1x64x50x54xf16>, tensor<64x64x1x1xf16>) -> tensor<1x64x50x54xf16>
  func.return %y : tensor<1x64x50x54xf16>
}

// -----

// Weights that are moved in narrow parts are put in order once.
// FIXED-LABEL: func.func @weights(
// FIXED-SAME:    %w: tensor<256x4096xf16, #tile.encoding<layout = [1, 0]>> {tlf.parameter})
func.func @weights(%x: tensor<8x256xf16>, %w: tensor<256x4096xf16> {tlf.parameter})
    -> tensor<8x4096xf16> {
  %y = graph.matmul %x, %w
      : (tensor<8x256xf16>, tensor<256x4096xf16>) -> tensor<8x4096xf16>
  func.return %y : tensor<8x4096xf16>
}
