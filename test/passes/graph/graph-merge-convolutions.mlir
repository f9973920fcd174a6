// RUN: tlf-opt %s --target h200 -p "graph-merge-convolutions,tidy" | filecheck %s
// RUN: tlf-opt %s --target npu -p graph-merge-convolutions | filecheck %s --check-prefix=NPU

// NPU-NOT: "graph-merge-convolutions"

// The residues of a transposed convolution: all filters get the two taps of one.
// CHECK-LABEL: func.func @residues
// CHECK-SAME:    #graph.remark<passed "graph-merge-convolutions" "2 convolutions of the same images became one"
// CHECK-DAG:     [[V:%.*]] = graph.pad %v low [0, 0, 0, 0] high [0, 0, 0, 1] fill 0.000000e+00 : (tensor<4x8x1x1xf32>) -> tensor<4x8x1x2xf32>
// CHECK:         [[F:%.*]] = graph.concat [[V]], %w axis 0 : (tensor<4x8x1x2xf32>, tensor<4x8x1x2xf32>) -> tensor<8x8x1x2xf32>
// CHECK-NEXT:    [[C:%.*]] = graph.conv2d %x, [[F]] padding [0, 0, 0, 1] precision "tf32" : (tensor<2x8x5x5xf32>, tensor<8x8x1x2xf32>) -> tensor<2x8x5x5xf32>
// CHECK-NEXT:    [[S:%.*]] = graph.reshape [[C]] : (tensor<2x8x5x5xf32>) -> tensor<2x2x4x5x5xf32>
// CHECK-NEXT:    %y = graph.transpose [[S]] permutation [0, 2, 3, 4, 1]
// CHECK-NEXT:    func.return %y
func.func @residues(%x: tensor<2x8x5x5xf32>, %v: tensor<4x8x1x1xf32> {tlf.parameter},
                    %w: tensor<4x8x1x2xf32> {tlf.parameter}) -> tensor<2x4x5x5x2xf32> {
  %0 = graph.conv2d %x, %v precision "tf32" : (tensor<2x8x5x5xf32>, tensor<4x8x1x1xf32>) -> tensor<2x4x5x5xf32>
  %1 = graph.conv2d %x, %w padding [0, 0, 0, 1] precision "tf32" : (tensor<2x8x5x5xf32>, tensor<4x8x1x2xf32>) -> tensor<2x4x5x5xf32>
  %2 = graph.reshape %0 : (tensor<2x4x5x5xf32>) -> tensor<2x4x5x5x1xf32>
  %3 = graph.reshape %1 : (tensor<2x4x5x5xf32>) -> tensor<2x4x5x5x1xf32>
  %y = graph.concat %2, %3 axis 4 : (tensor<2x4x5x5x1xf32>, tensor<2x4x5x5x1xf32>) -> tensor<2x4x5x5x2xf32>
  func.return %y : tensor<2x4x5x5x2xf32>
}

// The last residue is combined with the windows before: no filter gets more taps.
// There is one window more, and the first and the last result are dropped.
// CHECK-LABEL: func.func @rotated
// CHECK:         [[F:%.*]] = graph.concat %w, %v axis 0
// CHECK-NEXT:    [[C:%.*]] = graph.conv2d %x, [[F]] padding [0, 1, 0, 1] : (tensor<2x256x64x64xf32>, tensor<128x256x1x2xf32>) -> tensor<2x128x64x65xf32>
// CHECK:         graph.transpose {{.*}} permutation [0, 2, 3, 4, 1]
// CHECK-NEXT:    [[R:%.*]] = graph.reshape {{.*}} -> tensor<2x64x64x130xf32>
// CHECK-NEXT:    [[S:%.*]] = graph.slice [[R]] offsets [0, 0, 0, 1] strides [1, 1, 1, 1] : (tensor<2x64x64x130xf32>) -> tensor<2x64x64x128xf32>
// CHECK-NEXT:    %y = graph.reshape [[S]] : (tensor<2x64x64x128xf32>) -> tensor<2x64x64x64x2xf32>
func.func @rotated(%x: tensor<2x256x64x64xf32>, %v: tensor<64x256x1x2xf32> {tlf.parameter},
                   %w: tensor<64x256x1x2xf32> {tlf.parameter}) -> tensor<2x64x64x64x2xf32> {
  %0 = graph.conv2d %x, %v padding [0, 1, 0, 0] : (tensor<2x256x64x64xf32>, tensor<64x256x1x2xf32>) -> tensor<2x64x64x64xf32>
  %1 = graph.conv2d %x, %w padding [0, 0, 0, 1] : (tensor<2x256x64x64xf32>, tensor<64x256x1x2xf32>) -> tensor<2x64x64x64xf32>
  %2 = graph.reshape %0 : (tensor<2x64x64x64xf32>) -> tensor<2x64x64x64x1xf32>
  %3 = graph.reshape %1 : (tensor<2x64x64x64xf32>) -> tensor<2x64x64x64x1xf32>
  %y = graph.concat %2, %3 axis 4 : (tensor<2x64x64x64x1xf32>, tensor<2x64x64x64x1xf32>) -> tensor<2x64x64x64x2xf32>
  func.return %y : tensor<2x64x64x64x2xf32>
}

// Zeros at most taps would take longer than to combine the results.
// CHECK-LABEL: func.func @slower
// CHECK-SAME:    #graph.remark<missed "graph-merge-convolutions" "2 convolutions are not merged: one takes {{.*}} us, all and combining them {{.*}} us" at "%y">
// CHECK-NEXT:    graph.conv2d %x, %v
// CHECK:         graph.conv2d %x, %w
// CHECK:         %y = graph.concat
func.func @slower(%x: tensor<1x512x16x16xf32>, %v: tensor<512x512x1x1xf32> {tlf.parameter},
                  %w: tensor<512x512x3x3xf32> {tlf.parameter}) -> tensor<1x512x16x16x2xf32> {
  %a = graph.conv2d %x, %v : (tensor<1x512x16x16xf32>, tensor<512x512x1x1xf32>) -> tensor<1x512x16x16xf32>
  %ar = graph.reshape %a : (tensor<1x512x16x16xf32>) -> tensor<1x512x16x16x1xf32>
  %b = graph.conv2d %x, %w padding [1, 1, 1, 1] : (tensor<1x512x16x16xf32>, tensor<512x512x3x3xf32>) -> tensor<1x512x16x16xf32>
  %br = graph.reshape %b : (tensor<1x512x16x16xf32>) -> tensor<1x512x16x16x1xf32>
  %y = graph.concat %ar, %br axis 4 : (tensor<1x512x16x16x1xf32>, tensor<1x512x16x16x1xf32>) -> tensor<1x512x16x16x2xf32>
  func.return %y : tensor<1x512x16x16x2xf32>
}

// Kept: other images, filters that vary, groups of channels, other strides, a result
// with another user, and channels that are concatenated, which is done in place.
// CHECK-LABEL: func.func @kept
// CHECK-NOT:     axis 0
// CHECK-COUNT-5: graph.concat {{.*}} axis 4
// CHECK-NOT:     axis 0
// CHECK:         graph.concat {{.*}} axis 1
func.func @kept(%x: tensor<2x4x6x6xf32>, %z: tensor<2x4x6x6xf32>, %u: tensor<4x4x1x1xf32>,
                %v: tensor<4x4x1x1xf32> {tlf.parameter}, %w: tensor<4x4x1x1xf32> {tlf.parameter},
                %g: tensor<4x2x1x1xf32> {tlf.parameter}, %h: tensor<4x2x1x1xf32> {tlf.parameter})
    -> (tensor<2x4x6x6x2xf32>, tensor<2x4x6x6x2xf32>, tensor<2x4x6x6x2xf32>, tensor<2x4x6x6x2xf32>, tensor<2x4x6x6x2xf32>,
        tensor<2x4x6x6xf32>, tensor<2x8x6x6xf32>) {
  %a0 = graph.conv2d %x, %v : (tensor<2x4x6x6xf32>, tensor<4x4x1x1xf32>) -> tensor<2x4x6x6xf32>
  %a0r = graph.reshape %a0 : (tensor<2x4x6x6xf32>) -> tensor<2x4x6x6x1xf32>
  %b0 = graph.conv2d %z, %w : (tensor<2x4x6x6xf32>, tensor<4x4x1x1xf32>) -> tensor<2x4x6x6xf32>
  %b0r = graph.reshape %b0 : (tensor<2x4x6x6xf32>) -> tensor<2x4x6x6x1xf32>
  %c0 = graph.concat %a0r, %b0r axis 4 : (tensor<2x4x6x6x1xf32>, tensor<2x4x6x6x1xf32>) -> tensor<2x4x6x6x2xf32>
  %a1 = graph.conv2d %x, %u : (tensor<2x4x6x6xf32>, tensor<4x4x1x1xf32>) -> tensor<2x4x6x6xf32>
  %a1r = graph.reshape %a1 : (tensor<2x4x6x6xf32>) -> tensor<2x4x6x6x1xf32>
  %b1 = graph.conv2d %x, %w : (tensor<2x4x6x6xf32>, tensor<4x4x1x1xf32>) -> tensor<2x4x6x6xf32>
  %b1r = graph.reshape %b1 : (tensor<2x4x6x6xf32>) -> tensor<2x4x6x6x1xf32>
  %c1 = graph.concat %a1r, %b1r axis 4 : (tensor<2x4x6x6x1xf32>, tensor<2x4x6x6x1xf32>) -> tensor<2x4x6x6x2xf32>
  %a2 = graph.conv2d %x, %g groups 2 : (tensor<2x4x6x6xf32>, tensor<4x2x1x1xf32>) -> tensor<2x4x6x6xf32>
  %a2r = graph.reshape %a2 : (tensor<2x4x6x6xf32>) -> tensor<2x4x6x6x1xf32>
  %b2 = graph.conv2d %x, %h groups 2 : (tensor<2x4x6x6xf32>, tensor<4x2x1x1xf32>) -> tensor<2x4x6x6xf32>
  %b2r = graph.reshape %b2 : (tensor<2x4x6x6xf32>) -> tensor<2x4x6x6x1xf32>
  %c2 = graph.concat %a2r, %b2r axis 4 : (tensor<2x4x6x6x1xf32>, tensor<2x4x6x6x1xf32>) -> tensor<2x4x6x6x2xf32>
  %a3 = graph.conv2d %x, %v strides [2, 2] padding [3, 3, 3, 3] : (tensor<2x4x6x6xf32>, tensor<4x4x1x1xf32>) -> tensor<2x4x6x6xf32>
  %a3r = graph.reshape %a3 : (tensor<2x4x6x6xf32>) -> tensor<2x4x6x6x1xf32>
  %b3 = graph.conv2d %x, %w : (tensor<2x4x6x6xf32>, tensor<4x4x1x1xf32>) -> tensor<2x4x6x6xf32>
  %b3r = graph.reshape %b3 : (tensor<2x4x6x6xf32>) -> tensor<2x4x6x6x1xf32>
  %c3 = graph.concat %a3r, %b3r axis 4 : (tensor<2x4x6x6x1xf32>, tensor<2x4x6x6x1xf32>) -> tensor<2x4x6x6x2xf32>
  %a4 = graph.conv2d %x, %v : (tensor<2x4x6x6xf32>, tensor<4x4x1x1xf32>) -> tensor<2x4x6x6xf32>
  %a4r = graph.reshape %a4 : (tensor<2x4x6x6xf32>) -> tensor<2x4x6x6x1xf32>
  %b4 = graph.conv2d %x, %w : (tensor<2x4x6x6xf32>, tensor<4x4x1x1xf32>) -> tensor<2x4x6x6xf32>
  %b4r = graph.reshape %b4 : (tensor<2x4x6x6xf32>) -> tensor<2x4x6x6x1xf32>
  %c4 = graph.concat %a4r, %b4r axis 4 : (tensor<2x4x6x6x1xf32>, tensor<2x4x6x6x1xf32>) -> tensor<2x4x6x6x2xf32>
  %a5 = graph.conv2d %x, %v : (tensor<2x4x6x6xf32>, tensor<4x4x1x1xf32>) -> tensor<2x4x6x6xf32>
  %b5 = graph.conv2d %x, %w : (tensor<2x4x6x6xf32>, tensor<4x4x1x1xf32>) -> tensor<2x4x6x6xf32>
  %c5 = graph.concat %a5, %b5 axis 1 : (tensor<2x4x6x6xf32>, tensor<2x4x6x6xf32>) -> tensor<2x8x6x6xf32>
  func.return %c0, %c1, %c2, %c3, %c4, %b4, %c5 : tensor<2x4x6x6x2xf32>, tensor<2x4x6x6x2xf32>, tensor<2x4x6x6x2xf32>, tensor<2x4x6x6x2xf32>, tensor<2x4x6x6x2xf32>, tensor<2x4x6x6xf32>, tensor<2x8x6x6xf32>
}
