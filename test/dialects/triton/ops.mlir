// RUN: TLF_ROUNDTRIP

// A kernel takes buffers and indices of host loops.
func.func @kernel(%x: memref<64xf32, "L3">, %i: index) attributes {triton.kernel} {
  func.return
}

// CHECK-LABEL: func.func @host
func.func @host(%x: memref<64xf32, "L3">, %i: index) {
  // CHECK: triton.launch @kernel(%x, %i) grid [4, 2] warps 8 stages 3 : (memref<64xf32, "L3">, index)
  triton.launch @kernel(%x, %i) grid [4, 2] warps 8 stages 3 : (memref<64xf32, "L3">, index)
  // CHECK: triton.launch @empty() grid [1] warps 4 stages 1 : ()
  triton.launch @empty() grid [1] warps 4 stages 1 : ()
  func.return
}

func.func @empty() attributes {triton.kernel} {
  func.return
}
