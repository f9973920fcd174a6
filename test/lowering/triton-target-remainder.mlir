// RUN: tlf-opt %s --target h200 -p triton-pipeline -t "triton{parts=source}" | filecheck %s

// Remainders keep denormal numbers: those of f32, and of bf16, which has as small ones, are
// computed in f64; those of f16 are none in f32, and f64 has a function of its own.

// CHECK-DAG:  fmod_wide({{v[0-9]+}}, {{v[0-9]+}}){{$}}
// CHECK-DAG:  fmod_wide({{v[0-9]+}}, tl.full([], 3.5, tl.float32))
// CHECK-DAG:  to_f16x2(libdevice.fmod({{v[0-9]+}}.to(tl.float32), {{v[0-9]+}}.to(tl.float32)))
// CHECK-DAG:  libdevice.fmod({{v[0-9]+}}, {{v[0-9]+}}){{$}}
// CHECK-DAG:  def fmod_wide(x, y):
func.func @f(%w: tensor<64x64xf32>, %b: tensor<64x64xbf16>, %h: tensor<64x64xf16>, %d: tensor<64x64xf64>)
    -> (tensor<64x64xf32>, tensor<64x64xbf16>, tensor<64x64xf16>, tensor<64x64xf64>) {
  %c = graph.constant dense<3.5> : tensor<64x64xf32>
  %0 = graph.rem %w, %c : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %1 = graph.rem %b, %b : (tensor<64x64xbf16>, tensor<64x64xbf16>) -> tensor<64x64xbf16>
  %2 = graph.rem %h, %h : (tensor<64x64xf16>, tensor<64x64xf16>) -> tensor<64x64xf16>
  %3 = graph.rem %d, %d : (tensor<64x64xf64>, tensor<64x64xf64>) -> tensor<64x64xf64>
  func.return %0, %1, %2, %3 : tensor<64x64xf32>, tensor<64x64xbf16>, tensor<64x64xf16>, tensor<64x64xf64>
}
