// RUN: tlf-opt %s --target h200 -p triton-pipeline -t "triton{parts=plan}" | filecheck %s
// RUN: tlf-opt %s --target h200 -p triton-pipeline -t "triton{parts=plan function=scaled_prepare}" | filecheck %s --check-prefix=PREPARE
// RUN: tlf-opt %s --target h200 -p "graph-normalize-layouts,graph-pipeline,graph-group,graph-select-tile-sizes,graph-mark-in-place,convert-graph-to-tile,tidy,convert-tile-to-mem" -o %t
// RUN: tlf-run %t --target h200 --check | filecheck %s --check-prefix=RUNS

// Arguments and results have the shapes of the caller's tensors, and their strides.
// CHECK:      "version": 5
// CHECK:      "buffers": [
// CHECK:      "name": "x",
// CHECK-NEXT: "kind": "argument",
// CHECK-NEXT: "dtype": "f32",
// CHECK-NEXT: "shape": [
// CHECK-NEXT:  2,
// CHECK-NEXT:  4,
// CHECK-NEXT:  8
// CHECK-NEXT: ],
// CHECK-NEXT: "strides": [
// CHECK-NEXT:  32,
// CHECK-NEXT:  1,
// CHECK-NEXT:  4
// CHECK-NEXT: ]
// CHECK:      "name": "w",
// CHECK:      "shape": [
// CHECK-NEXT:  8,
// CHECK-NEXT:  16
// CHECK-NEXT: ],
// CHECK-NEXT: "strides": [
// CHECK-NEXT:  1,
// CHECK-NEXT:  8
// CHECK-NEXT: ]
// CHECK:      "kind": "argument",
// CHECK:      "shape": [
// CHECK-NEXT:  16,
// CHECK-NEXT:  8
// CHECK-NEXT: ]
// CHECK-NEXT: }
// CHECK:      "name": "y",
// CHECK-NEXT: "kind": "result",
// CHECK:      "shape": [
// CHECK-NEXT:  2,
// CHECK-NEXT:  4,
// CHECK-NEXT:  16
// CHECK-NEXT: ],
// CHECK-NEXT: "strides": [
// CHECK-NEXT:  64,
// CHECK-NEXT:  1,
// CHECK-NEXT:  4
// CHECK-NEXT: ]

// So have those of a preparation.
// PREPARE:      "name": "w",
// PREPARE:      "strides": [
// PREPARE-NEXT:  1,
// PREPARE-NEXT:  8
// PREPARE-NEXT: ]
// PREPARE:      "kind": "result",
// PREPARE-NOT:  "strides"

// Programs at lower levels are called as those of whole tensors are.
// RUNS: result y {{ *}} 2x4x16 float32
// RUNS: error of y {{.*}}: ok
func.func @scaled(%x: tensor<2x4x8xf32> {tlf.layout = array<i64: 0, 2, 1>},
                  %w: tensor<8x16xf32> {tlf.parameter, tlf.layout = array<i64: 1, 0>})
    -> (tensor<2x4x16xf32> {tlf.layout = array<i64: 0, 2, 1>}) {
  %v = graph.exp %w : tensor<8x16xf32>
  %y = graph.matmul %x, %v
      : (tensor<2x4x8xf32>, tensor<8x16xf32>) -> tensor<2x4x16xf32>
  func.return %y : tensor<2x4x16xf32>
}
