// RUN: tlf-opt %s -p "graph-merge-matmuls,tidy" | filecheck %s

// Queries, keys and values with their biases become one product; other rows stay.
// CHECK-LABEL: func.func @attention
// CHECK-SAME:    #graph.remark<passed "graph-merge-matmuls" "3 products of one tensor became one" at "%q0", "%k0", "%v0">
// CHECK:         [[W:%.*]] = graph.concat %wq, %{{.*}}, %wv axis 1
// CHECK-NEXT:    [[P:%.*]] = graph.contract %x, [[W]]
// CHECK-SAME:      -> tensor<6x16xf32>
// CHECK-NEXT:    [[B:%.*]] = graph.concat %bq, %bk, %bv axis 0
// CHECK-NEXT:    [[S:%.*]] = graph.add [[P]], [[B]]
// CHECK-NEXT:    %q = graph.slice [[S]] offsets [0, 0]
// CHECK-NEXT:    %k = graph.slice [[S]] offsets [0, 8]
// CHECK-NEXT:    %v = graph.slice [[S]] offsets [0, 12]
// CHECK-NEXT:    func.return
func.func @attention(
    %x: tensor<6x10xf32>, %wq: tensor<10x8xf32> {tlf.parameter},
    %wk: tensor<4x10xf32> {tlf.parameter}, %wv: tensor<10x4xf32> {tlf.parameter},
    %bq: tensor<8xf32> {tlf.parameter}, %bk: tensor<4xf32> {tlf.parameter},
    %bv: tensor<4xf32> {tlf.parameter})
    -> (tensor<6x8xf32>, tensor<6x4xf32>, tensor<6x4xf32>) {
  %wkt = graph.transpose %wk permutation [1, 0] : (tensor<4x10xf32>) -> tensor<10x4xf32>
  %q0 = graph.matmul %x, %wq : (tensor<6x10xf32>, tensor<10x8xf32>) -> tensor<6x8xf32>
  %q = graph.add %q0, %bq : (tensor<6x8xf32>, tensor<8xf32>) -> tensor<6x8xf32>
  %k0 = graph.matmul %x, %wkt : (tensor<6x10xf32>, tensor<10x4xf32>) -> tensor<6x4xf32>
  %k = graph.add %k0, %bk : (tensor<6x4xf32>, tensor<4xf32>) -> tensor<6x4xf32>
  %v0 = graph.matmul %x, %wv : (tensor<6x10xf32>, tensor<10x4xf32>) -> tensor<6x4xf32>
  %v = graph.add %v0, %bv : (tensor<6x4xf32>, tensor<4xf32>) -> tensor<6x4xf32>
  func.return %q, %k, %v : tensor<6x8xf32>, tensor<6x4xf32>, tensor<6x4xf32>
}

// Steps that differ stay behind the slices; what all share is used as it is.
// CHECK-LABEL: func.func @steps
// CHECK:         [[P:%.*]] = graph.contract
// CHECK-NEXT:    [[M:%.*]] = graph.mul [[P]], %{{.*}} : (tensor<6x16xf32>, tensor<f32>)
// CHECK-NEXT:    [[A:%.*]] = graph.slice [[M]] offsets [0, 0]
// CHECK-NEXT:    [[B:%.*]] = graph.slice [[M]] offsets [0, 8]
// CHECK-NEXT:    [[T:%.*]] = graph.transpose [[A]]
// CHECK-NEXT:    [[U:%.*]] = graph.reduce [[B]]
// CHECK-NEXT:    func.return [[T]], [[U]]
func.func @steps(
    %x: tensor<6x10xf32>, %v: tensor<10x8xf32> {tlf.parameter},
    %w: tensor<10x8xf32> {tlf.parameter}) -> (tensor<8x6xf32>, tensor<6xf32>) {
  %two = graph.constant dense<2.0> : tensor<f32>
  %0 = graph.matmul %x, %v : (tensor<6x10xf32>, tensor<10x8xf32>) -> tensor<6x8xf32>
  %1 = graph.matmul %x, %w : (tensor<6x10xf32>, tensor<10x8xf32>) -> tensor<6x8xf32>
  %2 = graph.mul %0, %two : (tensor<6x8xf32>, tensor<f32>) -> tensor<6x8xf32>
  %3 = graph.mul %1, %two : (tensor<6x8xf32>, tensor<f32>) -> tensor<6x8xf32>
  %4 = graph.transpose %2 permutation [1, 0] : (tensor<6x8xf32>) -> tensor<8x6xf32>
  %5 = graph.reduce %3 <sum> axes [1] : (tensor<6x8xf32>) -> tensor<6xf32>
  func.return %4, %5 : tensor<8x6xf32>, tensor<6xf32>
}

// Weights that are computed at every call, other tensors, other types stay apart.
// CHECK-LABEL: func.func @apart
// CHECK-NOT:     graph.concat
func.func @apart(
    %x: tensor<6x10xf32>, %y: tensor<6x10xf32>, %v: tensor<10x8xf32> {tlf.parameter},
    %w: tensor<10x8xf32>) -> (tensor<6x8xf32>, tensor<6x8xf32>, tensor<6x8xf32>) {
  %0 = graph.matmul %x, %v : (tensor<6x10xf32>, tensor<10x8xf32>) -> tensor<6x8xf32>
  %1 = graph.matmul %x, %w : (tensor<6x10xf32>, tensor<10x8xf32>) -> tensor<6x8xf32>
  %2 = graph.matmul %y, %v : (tensor<6x10xf32>, tensor<10x8xf32>) -> tensor<6x8xf32>
  func.return %0, %1, %2 : tensor<6x8xf32>, tensor<6x8xf32>, tensor<6x8xf32>
}

// A gate and what it gates each run with what follows them, which is worth more.
// CHECK-LABEL: func.func @gated
// CHECK-SAME:    #graph.remark<missed "graph-merge-matmuls" "2 products of one tensor are not merged: merging them saves 240 bytes of reading it, and costs 768 between them and their users" at "%a", "%b">
// CHECK-NOT:     graph.concat
func.func @gated(
    %x: tensor<6x10xf32>, %v: tensor<10x8xf32> {tlf.parameter},
    %w: tensor<10x8xf32> {tlf.parameter}) -> tensor<6x8xf32> {
  %a = graph.matmul %x, %v : (tensor<6x10xf32>, tensor<10x8xf32>) -> tensor<6x8xf32>
  %b = graph.matmul %x, %w : (tensor<6x10xf32>, tensor<10x8xf32>) -> tensor<6x8xf32>
  %c = graph.silu %a : tensor<6x8xf32>
  %d = graph.mul %c, %b : (tensor<6x8xf32>, tensor<6x8xf32>) -> tensor<6x8xf32>
  func.return %d : tensor<6x8xf32>
}

// Products of what a merged product became read a part of it: nothing is computed twice.
// CHECK-LABEL: func.func @again
// CHECK-NOT:     graph.matmul
// CHECK:         [[P:%.*]] = graph.contract %x,
// CHECK:         %a = graph.slice [[P]] offsets [0, 0]
// CHECK:         %b = graph.slice [[P]] offsets [0, 8]
// CHECK:         graph.contract %a,
// CHECK-NOT:     graph.contract
// CHECK:         func.return %b,
func.func @again(
    %x: tensor<6x10xf32>, %v: tensor<10x8xf32> {tlf.parameter},
    %w: tensor<10x8xf32> {tlf.parameter}, %s: tensor<8x4xf32> {tlf.parameter},
    %t: tensor<8x4xf32> {tlf.parameter})
    -> (tensor<6x8xf32>, tensor<6x4xf32>, tensor<6x4xf32>) {
  %a = graph.matmul %x, %v : (tensor<6x10xf32>, tensor<10x8xf32>) -> tensor<6x8xf32>
  %b = graph.matmul %x, %w : (tensor<6x10xf32>, tensor<10x8xf32>) -> tensor<6x8xf32>
  %c = graph.matmul %a, %s : (tensor<6x8xf32>, tensor<8x4xf32>) -> tensor<6x4xf32>
  %d = graph.matmul %a, %t : (tensor<6x8xf32>, tensor<8x4xf32>) -> tensor<6x4xf32>
  func.return %b, %c, %d : tensor<6x8xf32>, tensor<6x4xf32>, tensor<6x4xf32>
}

// What follows stays apart where it makes other types.
// CHECK-LABEL: func.func @types
// CHECK:         [[P:%.*]] = graph.contract %x,
// CHECK-NEXT:    [[A:%.*]] = graph.slice [[P]] offsets [0, 0]
// CHECK-NEXT:    [[B:%.*]] = graph.slice [[P]] offsets [0, 8]
// CHECK-NEXT:    graph.cast [[A]] : (tensor<6x8xf32>) -> tensor<6x8xf16>
// CHECK-NEXT:    graph.cast [[B]] : (tensor<6x8xf32>) -> tensor<6x8xbf16>
func.func @types(
    %x: tensor<6x40xf32>, %v: tensor<40x8xf32> {tlf.parameter},
    %w: tensor<40x8xf32> {tlf.parameter}) -> (tensor<6x8xf16>, tensor<6x8xbf16>) {
  %0 = graph.matmul %x, %v : (tensor<6x40xf32>, tensor<40x8xf32>) -> tensor<6x8xf32>
  %1 = graph.matmul %x, %w : (tensor<6x40xf32>, tensor<40x8xf32>) -> tensor<6x8xf32>
  %2 = graph.cast %0 : (tensor<6x8xf32>) -> tensor<6x8xf16>
  %3 = graph.cast %1 : (tensor<6x8xf32>) -> tensor<6x8xbf16>
  func.return %2, %3 : tensor<6x8xf16>, tensor<6x8xbf16>
}

// What single rows add has no axis of rows to be joined along, and follows each slice.
// CHECK-LABEL: func.func @rows
// CHECK:         [[W:%.*]] = graph.concat %w, %u axis 0
// CHECK-NEXT:    [[P:%.*]] = graph.contract [[W]], %x
// CHECK-NOT:     graph.concat
// CHECK-DAG:     graph.add %{{.*}}, %b : (tensor<1x5xf32>, tensor<5xf32>)
// CHECK-DAG:     graph.add %{{.*}}, %c : (tensor<1x5xf32>, tensor<5xf32>)
// CHECK:         func.return
func.func @rows(
    %x: tensor<64x5xf32>, %w: tensor<1x64xf32> {tlf.parameter},
    %u: tensor<1x64xf32> {tlf.parameter}, %b: tensor<5xf32> {tlf.parameter},
    %c: tensor<5xf32> {tlf.parameter}) -> (tensor<1x5xf32>, tensor<1x5xf32>) {
  %p = graph.matmul %w, %x : (tensor<1x64xf32>, tensor<64x5xf32>) -> tensor<1x5xf32>
  %q = graph.matmul %u, %x : (tensor<1x64xf32>, tensor<64x5xf32>) -> tensor<1x5xf32>
  %r = graph.add %p, %b : (tensor<1x5xf32>, tensor<5xf32>) -> tensor<1x5xf32>
  %s = graph.add %q, %c : (tensor<1x5xf32>, tensor<5xf32>) -> tensor<1x5xf32>
  func.return %r, %s : tensor<1x5xf32>, tensor<1x5xf32>
}

// A number and a row of one element have different axes.
// CHECK-LABEL: func.func @numbers
// CHECK:         graph.add %{{.*}}, %b : (tensor<4x1xf32>, tensor<f32>)
func.func @numbers(
    %x: tensor<4x64xf32>, %w: tensor<64x1xf32> {tlf.parameter},
    %u: tensor<64x1xf32> {tlf.parameter}, %b: tensor<f32> {tlf.parameter},
    %c: tensor<1x1xf32> {tlf.parameter}) -> (tensor<4x1xf32>, tensor<4x1xf32>) {
  %p = graph.matmul %x, %w : (tensor<4x64xf32>, tensor<64x1xf32>) -> tensor<4x1xf32>
  %q = graph.matmul %x, %u : (tensor<4x64xf32>, tensor<64x1xf32>) -> tensor<4x1xf32>
  %r = graph.add %p, %b : (tensor<4x1xf32>, tensor<f32>) -> tensor<4x1xf32>
  %s = graph.add %q, %c : (tensor<4x1xf32>, tensor<1x1xf32>) -> tensor<4x1xf32>
  func.return %r, %s : tensor<4x1xf32>, tensor<4x1xf32>
}
