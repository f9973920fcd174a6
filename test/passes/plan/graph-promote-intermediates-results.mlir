// RUN: tlf-opt %s --target h200 -p "graph-promote-intermediates,tidy,graph-select-tile-sizes" --split-input-file | filecheck %s

// A result that is summed up along an axis of its own comes with tiles of the sums only
// as far as these read it: so they read it as it is rounded.
// CHECK-LABEL: func.func @weights
// CHECK:         graph.mul {{.*}} -> tensor<16x48xf32>
// CHECK-NEXT:    [[RESULT:%.*]] = graph.cast {{.*}} -> tensor<16x48xbf16>
// CHECK-NEXT:    [[READ:%.*]] = graph.cast [[RESULT]] : (tensor<16x48xbf16>) -> tensor<16x48xf32>
// CHECK-NEXT:    [[SUMS:%.*]] = graph.reduce [[READ]]
// CHECK-NEXT:    graph.yield [[SUMS]], [[RESULT]]
module attributes {tlf.numerics = "relaxed"} {
  func.func @weights(%w: tensor<16x48xbf16>, %g: tensor<16x1xbf16>) -> (tensor<48xf32>, tensor<16x48xbf16>) {
    %y, %z = graph.group ins(%1 = %w, %2 = %g : tensor<16x48xbf16>, tensor<16x1xbf16>) -> (tensor<48xf32>, tensor<16x48xbf16>) {
      %3 = graph.mul %1, %2 : (tensor<16x48xbf16>, tensor<16x1xbf16>) -> tensor<16x48xbf16>
      %4 = graph.cast %3 : (tensor<16x48xbf16>) -> tensor<16x48xf32>
      %5 = graph.reduce %4 <sum> axes [0] : (tensor<16x48xf32>) -> tensor<48xf32>
      graph.yield %5, %3 : tensor<48xf32>, tensor<16x48xbf16>
    }
    func.return %y, %z : tensor<48xf32>, tensor<16x48xbf16>
  }
}

// -----

// Where the tiles of a result follow those of the first one, it is read as it was.
// CHECK-LABEL: func.func @rows
// CHECK:         [[WIDE:%.*]] = graph.add {{.*}} -> tensor<16x48xf32>
// CHECK-NEXT:    [[RESULT:%.*]] = graph.cast [[WIDE]] : (tensor<16x48xf32>) -> tensor<16x48xbf16>
// CHECK-NEXT:    graph.mul [[WIDE]]
// CHECK-NEXT:    [[FIRST:%.*]] = graph.cast {{.*}} -> tensor<16x48xbf16>
// CHECK-NEXT:    graph.yield [[FIRST]], [[RESULT]]
module attributes {tlf.numerics = "relaxed"} {
  func.func @rows(%w: tensor<16x48xbf16>, %g: tensor<16x1xbf16>) -> (tensor<16x48xbf16>, tensor<16x48xbf16>) {
    %y, %z = graph.group ins(%1 = %w, %2 = %g : tensor<16x48xbf16>, tensor<16x1xbf16>) -> (tensor<16x48xbf16>, tensor<16x48xbf16>) {
      %3 = graph.add %1, %2 : (tensor<16x48xbf16>, tensor<16x1xbf16>) -> tensor<16x48xbf16>
      %4 = graph.mul %3, %2 : (tensor<16x48xbf16>, tensor<16x1xbf16>) -> tensor<16x48xbf16>
      graph.yield %4, %3 : tensor<16x48xbf16>, tensor<16x48xbf16>
    }
    func.return %y, %z : tensor<16x48xbf16>, tensor<16x48xbf16>
  }
}
