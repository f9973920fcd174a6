// RUN: tlf-opt %s --target npu -p "graph-pipeline,graph-group{level=L2},graph-partition{level=L2 max-contractions=1}" | filecheck %s

// What reads parts of a result cuts them by itself, so that all of it stays near.
// CHECK-LABEL: func.func @parts(
// CHECK:         [[ALL:%.*]] = graph.group {{.*}} plan #graph.plan<{{.*}}, retain [0]> -> (tensor<4x64x192xf16>) {
// CHECK:         [[ONE:%.*]] = graph.group ins([[IN:%.*]] = [[ALL]] : {{.*}}, retain [0], resident [0]>
// CHECK-NEXT:      [[A:%.*]] = graph.slice [[IN]] offsets [0, 0, 0]
// CHECK-NEXT:      [[B:%.*]] = graph.slice [[IN]] offsets [0, 0, 64]
// CHECK-NEXT:      graph.matmul [[A]], [[B]]
// CHECK:         graph.group ins([[IN2:%.*]] = [[ALL]], [[O:%.*]] = [[ONE]] : {{.*}}, resident [0, 1]>
// CHECK-NEXT:      [[C:%.*]] = graph.slice [[IN2]] offsets [0, 0, 128]
// CHECK-NEXT:      graph.matmul [[O]], [[C]]
!wide = tensor<4x64x192xf16>
!part = tensor<4x64x64xf16>
func.func @parts(%x: !part, %w: tensor<64x192xf16>) -> !part {
  %0 = graph.matmul %x, %w : (!part, tensor<64x192xf16>) -> !wide
  %1 = graph.slice %0 offsets [0, 0, 0] strides [1, 1, 1] : (!wide) -> !part
  %2 = graph.slice %0 offsets [0, 0, 64] strides [1, 1, 1] : (!wide) -> !part
  %3 = graph.slice %0 offsets [0, 0, 128] strides [1, 1, 1] : (!wide) -> !part
  %4 = graph.matmul %1, %2 : (!part, !part) -> !part
  %5 = graph.matmul %4, %3 : (!part, !part) -> !part
  func.return %5 : !part
}

// Part of an argument lies where it is, and steps are not without gaps.
// CHECK-LABEL: func.func @given(
// CHECK-DAG:     graph.slice %x offsets
// CHECK-DAG:     graph.slice %{{.*}} strides [1, 2, 1]
func.func @given(%x: !part) -> (tensor<4x32x64xf16>, tensor<4x32x64xf16>, !part) {
  %0 = graph.slice %x offsets [0, 32, 0] strides [1, 1, 1]
      : (!part) -> tensor<4x32x64xf16>
  %1 = graph.exp %0 : tensor<4x32x64xf16>
  %2 = graph.tanh %x : !part
  %3 = graph.slice %2 offsets [0, 0, 0] strides [1, 2, 1]
      : (!part) -> tensor<4x32x64xf16>
  %4 = graph.exp %3 : tensor<4x32x64xf16>
  func.return %1, %4, %2 : tensor<4x32x64xf16>, tensor<4x32x64xf16>, !part
}

// A part may be all that a group makes.
// CHECK-LABEL: func.func @alone(
// CHECK:         graph.group {{.*}} plan #graph.plan<L2, tile [64], mapping loop>
// CHECK-NEXT:      graph.slice
func.func @alone(%x: tensor<96xf16>) -> tensor<64xf16> {
  %0 = graph.group ins(%1 = %x : tensor<96xf16>) -> (tensor<64xf16>) {
    %2 = graph.slice %1 offsets [32] strides [1] : (tensor<96xf16>) -> tensor<64xf16>
    graph.yield %2 : tensor<64xf16>
  }
  %3 = graph.exp %0 : tensor<64xf16>
  func.return %3 : tensor<64xf16>
}
