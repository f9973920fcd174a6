// RUN: tlf-opt %s -p "graph-promote-intermediates,tidy" --split-input-file | filecheck %s

// Sums and products of 16-bit floats are rounded once, when they leave the group;
// functions need be no more exact than before.
// CHECK-LABEL: func.func @scores
// CHECK:         graph.group ins([[X:%.*]] = %x, [[B:%.*]] = %b
// CHECK-DAG:       [[C:%.*]] = graph.constant dense<1.250000e-01> : tensor<f32>
// CHECK-DAG:       [[BW:%.*]] = graph.cast [[B]] : (tensor<64xbf16>) -> tensor<64xf32>
// CHECK-DAG:       [[S:%.*]] = graph.mul [[X]], [[C]] : (tensor<8x64xf32>, tensor<f32>) -> tensor<8x64xf32>
// CHECK:           [[A:%.*]] = graph.add [[S]], [[BW]] : (tensor<8x64xf32>, tensor<64xf32>) -> tensor<8x64xf32>
// CHECK-NEXT:      [[T:%.*]] = graph.tanh [[A]] fastmath<afn> : tensor<8x64xf32>
// CHECK-NEXT:      [[M:%.*]] = graph.add [[A]], [[T]]
// CHECK-NEXT:      [[R:%.*]] = graph.cast [[M]] : (tensor<8x64xf32>) -> tensor<8x64xbf16>
// CHECK-NEXT:      graph.yield [[R]]
module attributes {tlf.numerics = "relaxed"} {
  func.func @scores(%x: tensor<8x64xf32>, %b: tensor<64xbf16>) -> tensor<8x64xbf16> {
    %y = graph.group ins(%1 = %x, %2 = %b : tensor<8x64xf32>, tensor<64xbf16>) -> (tensor<8x64xbf16>) {
      %c = graph.constant dense<1.250000e-01> : tensor<bf16>
      %3 = graph.cast %1 : (tensor<8x64xf32>) -> tensor<8x64xbf16>
      %4 = graph.mul %3, %c : (tensor<8x64xbf16>, tensor<bf16>) -> tensor<8x64xbf16>
      %5 = graph.add %4, %2 : (tensor<8x64xbf16>, tensor<64xbf16>) -> tensor<8x64xbf16>
      %6 = graph.tanh %5 : tensor<8x64xbf16>
      %7 = graph.add %5, %6 : (tensor<8x64xbf16>, tensor<8x64xbf16>) -> tensor<8x64xbf16>
      graph.yield %7 : tensor<8x64xbf16>
    }
    func.return %y : tensor<8x64xbf16>
  }
}

// -----

// Nothing happens where numerics are strict.
// CHECK-LABEL: func.func @strict
// CHECK:         graph.add {{.*}} (tensor<8xbf16>, tensor<8xbf16>) -> tensor<8xbf16>
func.func @strict(%x: tensor<8xbf16>) -> tensor<8xbf16> {
  %y = graph.group ins(%1 = %x : tensor<8xbf16>) -> (tensor<8xbf16>) {
    %2 = graph.add %1, %1 : (tensor<8xbf16>, tensor<8xbf16>) -> tensor<8xbf16>
    graph.yield %2 : tensor<8xbf16>
  }
  func.return %y : tensor<8xbf16>
}

// -----

// Nor what a plan says how to tile.
// CHECK-LABEL: func.func @planned
// CHECK:         graph.add {{.*}} (tensor<8xbf16>, tensor<8xbf16>) -> tensor<8xbf16>
module attributes {tlf.numerics = "relaxed"} {
  func.func @planned(%x: tensor<8xbf16>) -> tensor<8xbf16> {
    %y = graph.group ins(%1 = %x : tensor<8xbf16>) plan #graph.plan<L1, tile [8], mapping grid> -> (tensor<8xbf16>) {
      %2 = graph.add %1, %1 : (tensor<8xbf16>, tensor<8xbf16>) -> tensor<8xbf16>
      graph.yield %2 : tensor<8xbf16>
    }
    func.return %y : tensor<8xbf16>
  }
}
