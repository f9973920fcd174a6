// RUN: TLF_ROUNDTRIP

%x, %b = "test.op"() : () -> (tensor<16x64xf32>, tensor<64xi8>)
// CHECK: %y = mem.scan ins(%x : tensor<16x64xf32>) dim 1 domain [16, 64] maps [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>] {
%y = mem.scan ins(%x : tensor<16x64xf32>) dim 1 domain [16, 64]
    maps [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>] {
^bb0(%a: f32, %acc: f32):
  %z = arith.addf %a, %acc : f32
  mem.yield %z : f32
} -> tensor<16x64xf32>
// CHECK: mem.scan ins(%b : tensor<64xi8>) dim 0 reverse domain [64, 4] maps [affine_map<(d0, d1) -> (d0)>, affine_map<(d0, d1) -> (d0, d1)>] attributes {test.hint = "a"} {
%w = mem.scan ins(%b : tensor<64xi8>) dim 0 reverse domain [64, 4]
    maps [affine_map<(d0, d1) -> (d0)>, affine_map<(d0, d1) -> (d0, d1)>]
    attributes {test.hint = "a"} {
^bb0(%a: i8, %acc: i8):
  %z = arith.maxsi %acc, %a : i8
  mem.yield %z : i8
} -> tensor<64x4xi8>
