// RUN: tlf-opt %s --split-input-file --target h200 -p "convert-graph-to-tile,tidy,convert-tile-to-mem,tidy,convert-mem-to-triton" | filecheck %s --check-prefix=MEM
// RUN: tlf-opt %s --split-input-file --target h200 -p "convert-graph-to-tile,tidy,convert-tile-to-mem,tidy,convert-mem-to-triton" -t "triton" | filecheck %s

// Both factors of a product are copied by descriptors, with zeros out of bounds. A batch
// is a dim of the box with one element.
// MEM:   mem.load %x{{.*}} {triton.descriptor}
// MEM:   mem.load %w{{.*}} {triton.descriptor}
// CHECK: def batched_0(p0, p1, p2, d0, d1):
// CHECK:   # d0: boxes of [1, 64, 32] elements of p0
// CHECK:   # d1: boxes of [32, 64] elements of p1
// CHECK:     v1 = d0.load([i0, i1, k0])
// CHECK-NEXT: v2 = d1.load([k0, i2])
// CHECK-NEXT: v3 = tl.reshape(v1, [64, 32])
// CHECK-NEXT: v4 = tl.dot(v3, v2, acc=c0
// CHECK: "descriptors": [
// CHECK: "argument": "p0",
// CHECK-NEXT: "dtype": "bf16",
// CHECK-NEXT: "offset": 0,
// CHECK-NEXT: "shape": [
// CHECK-NEXT:  3,
// CHECK-NEXT:  70,
// CHECK-NEXT:  200
// CHECK-NEXT: ],
// CHECK-NEXT: "strides": [
// CHECK-NEXT:  14000,
// CHECK-NEXT:  200,
// CHECK-NEXT:  1
// CHECK-NEXT: ],
// CHECK-NEXT: "box": [
// CHECK-NEXT:  1,
// CHECK-NEXT:  64,
// CHECK-NEXT:  32
// CHECK-NEXT: ]
func.func @batched(%x: tensor<3x70x200xbf16>, %w: tensor<200x80xbf16>) -> tensor<3x70x80xf32> {
  %y = graph.group ins(%a = %x, %b = %w : tensor<3x70x200xbf16>, tensor<200x80xbf16>)
      plan #graph.plan<L1, tile [1, 64, 64], reduce [32], mapping grid> -> (tensor<3x70x80xf32>) {
    %p = graph.matmul %a, %b : (tensor<3x70x200xbf16>, tensor<200x80xbf16>) -> tensor<3x70x80xf32>
    graph.yield %p : tensor<3x70x80xf32>
  }
  func.return %y : tensor<3x70x80xf32>
}

// -----

// Rows of 35 elements of 2 bytes are not aligned.
// MEM-NOT: triton.descriptor
// CHECK: def unaligned_0(p0, p1, p2):
func.func @unaligned(%x: tensor<64x35xf16>, %w: tensor<35x64xf16>) -> tensor<64x64xf32> {
  %y = graph.group ins(%a = %x, %b = %w : tensor<64x35xf16>, tensor<35x64xf16>)
      plan #graph.plan<L1, tile [64, 64], reduce [16], mapping grid> -> (tensor<64x64xf32>) {
    %p = graph.matmul %a, %b : (tensor<64x35xf16>, tensor<35x64xf16>) -> tensor<64x64xf32>
    graph.yield %p : tensor<64x64xf32>
  }
  func.return %y : tensor<64x64xf32>
}

// -----

// Factors of f32 go through registers.
// MEM-NOT: triton.descriptor
// CHECK: def full_0(p0, p1, p2):
func.func @full(%x: tensor<64x64xf32>, %w: tensor<64x64xf32>) -> tensor<64x64xf32> {
  %y = graph.group ins(%a = %x, %b = %w : tensor<64x64xf32>, tensor<64x64xf32>)
      plan #graph.plan<L1, tile [64, 64], reduce [16], mapping grid> -> (tensor<64x64xf32>) {
    %p = graph.matmul %a, %b : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
    graph.yield %p : tensor<64x64xf32>
  }
  func.return %y : tensor<64x64xf32>
}

// -----

// MEM: func.func @rounded_0
// MEM: triton.descriptor
// With tf32 they are read from shared memory if they are consecutive along the depth.
// CHECK: def rounded_0(p0, p1, p2, d0, d1):
func.func @rounded(%x: tensor<64x64xf32>, %w: tensor<64x64xf32>) -> tensor<64x64xf32> {
  %y = graph.group ins(%a = %x, %b = %w : tensor<64x64xf32>, tensor<64x64xf32>)
      plan #graph.plan<L1, tile [64, 64], reduce [16], mapping grid> -> (tensor<64x64xf32>) {
    %p = graph.contract %a, %b maps [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (n, k)>, affine_map<(m, n, k) -> (m, n)>] precision "tf32"
        : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
    graph.yield %p : tensor<64x64xf32>
  }
  func.return %y : tensor<64x64xf32>
}

// -----

// Coordinates have 32 bits, also where offsets have 64.
// CHECK: def wide_0(p0, p1, p2, d0, d1):
// CHECK:     pid0 = tl.program_id(0).to(tl.int64)
// CHECK:     = d0.load([(i0).to(tl.int32), ({{.*}}).to(tl.int32)])
// CHECK:     = d1.load([({{.*}}).to(tl.int32), (i1).to(tl.int32)])
func.func @wide(%x: tensor<65536x64xf16>, %w: tensor<64x65536xf16>) -> tensor<65536x65536xf32> {
  %y = graph.group ins(%a = %x, %b = %w : tensor<65536x64xf16>, tensor<64x65536xf16>)
      plan #graph.plan<L1, tile [64, 64], reduce [16], mapping grid> -> (tensor<65536x65536xf32>) {
    %p = graph.matmul %a, %b : (tensor<65536x64xf16>, tensor<64x65536xf16>) -> tensor<65536x65536xf32>
    graph.yield %p : tensor<65536x65536xf32>
  }
  func.return %y : tensor<65536x65536xf32>
}
