// RUN: tlf-opt %root/examples/bottleneck.mlir --target npu-tiny -p "graph-pipeline,graph-group{level=L2}" | filecheck %s

// The block is three groups: each convolution with its normalisation and activation,
// the last with the skip as well. Normalisation is part of the weights, which are
// computed before.

// CHECK-LABEL: func.func @bottleneck(%x: {{.*}}, %w1: {{.*}}, %w2: {{.*}}, %w3:
// CHECK-NOT:   graph.batch_norm
// CHECK:       [[A:%.*]] = graph.group ins([[X:%.*]] = %x, [[W:%.*]] = %prepared{{[_0-9]*}},
// CHECK:         graph.conv2d [[X]], [[W]] : ({{.*}}) -> tensor<2x16x30x28xf32>
// CHECK-NOT:     graph.conv2d
// CHECK:         graph.relu
// CHECK-NEXT:    graph.yield
// CHECK:       [[B:%.*]] = graph.group ins([[Y:%.*]] = [[A]], [[V:%.*]] = %prepared{{[_0-9]*}},
// CHECK:         graph.conv2d [[Y]], [[V]] padding [1, 1, 1, 1] :
// CHECK-NOT:     graph.conv2d
// CHECK:         graph.relu
// CHECK-NEXT:    graph.yield
// CHECK:       [[C:%.*]] = graph.group ins([[Z:%.*]] = [[B]], [[U:%.*]] = %prepared{{[_0-9]*}}, {{.*}}, [[S:%.*]] = %x :
// CHECK:         graph.conv2d [[Z]], [[U]] : ({{.*}}) -> tensor<2x64x30x28xf32>
// CHECK-NOT:     graph.conv2d
// CHECK:         [[T:%.*]] = graph.add {{%.*}}, [[S]]
// CHECK-NEXT:    graph.relu [[T]]
// CHECK-NEXT:    graph.yield
// CHECK-NOT:   graph.group
// CHECK:       func.return [[C]]
