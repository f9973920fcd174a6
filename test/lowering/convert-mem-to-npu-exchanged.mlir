// RUN: tlf-opt %s --split-input-file --target bm1684x-like -p "mem-plan,convert-mem-to-npu,tidy" | filecheck %s

// The array has 64 rows and 128 columns. 128 rows of a product would need two passes; as
// columns of the transposed product they need one.
// CHECK-LABEL: npu.program @exchanged
// CHECK: npu.matmul L1[0](4, 32):f32 from L1[4096](4, 32):f32, L1[4608](4, 64):f32
// CHECK-SAME: batch [] m [8] n [128] k [16]
func.func @exchanged() attributes {tlf.results = 0 : i64} {
  %c = mem.alloc : memref<128x8xf32, "L1">
  %b = mem.alloc : memref<16x8xf32, "L1">
  %a = mem.alloc : memref<128x16xf32, "L1">
  mem.contract ins(%a, %b : memref<128x16xf32, "L1">, memref<16x8xf32, "L1">)
      outs(%c : memref<128x8xf32, "L1">) domain [128, 8, 16]
      maps [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>,
            affine_map<(m, n, k) -> (m, n)>]
  func.return
}

// -----

// CHECK-LABEL: npu.program @as_it_is
// CHECK: npu.matmul
// CHECK-SAME: batch [] m [8] n [128] k [16]
func.func @as_it_is() attributes {tlf.results = 0 : i64} {
  %c = mem.alloc : memref<8x128xf32, "L1">
  %b = mem.alloc : memref<16x128xf32, "L1">
  %a = mem.alloc : memref<8x16xf32, "L1">
  mem.contract ins(%a, %b : memref<8x16xf32, "L1">, memref<16x128xf32, "L1">)
      outs(%c : memref<8x128xf32, "L1">) domain [8, 128, 16]
      maps [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>,
            affine_map<(m, n, k) -> (m, n)>]
  func.return
}
