// RUN: tlf-opt %s --target h200 -p triton-pipeline -t "triton{parts=source}" | filecheck %s

// Functions that a GPU approximates as exactly as 16 bits can tell, one of them by pairs of
// bf16, and the exact ones; quotients by numbers are products; exponentials have a base of 2; pairs
// are rounded to 16 bits.

// CHECK:      [[B:v[0-9]+]] = tl.load({{.*}}# %b
// CHECK-NEXT: tanh_approx_x2([[B]])
// CHECK-NEXT: tl.store
// CHECK-NEXT: to_bf16x2([[B]].to(tl.float32) * 0.05)
// CHECK:      def tanh_approx_x2(x):
// CHECK:      [[H:v[0-9]+]] = tl.load({{.*}}# %h
// CHECK-NEXT: tanh_approx([[H]])
// CHECK-NEXT: tl.store
// CHECK-NEXT: expm1_approx([[H]])
// CHECK:      [[W:v[0-9]+]] = tl.load({{.*}}# %w
// CHECK-NEXT: tanh_f32([[W]])
// CHECK-NEXT: tl.store
// CHECK-NEXT: tanh_approx([[W]])
// CHECK-NEXT: tl.store
// CHECK-NEXT: tl.div_rn([[W]], 20.0)
// CHECK-NEXT: tl.store
// CHECK-NEXT: tl.exp2([[W]] * 1.4426950408889634)
// CHECK-NEXT: tl.store
// CHECK-NEXT: to_bf16x2([[W]])
// CHECK-NEXT: tl.store
// CHECK-NEXT: to_f16x2([[W]])
// CHECK-NEXT: tl.store
// CHECK-NEXT: expm1_f32([[W]])
// CHECK:      def tanh_approx(x):
// CHECK:        "tanh.approx.f32 $0, $1;"
// CHECK:      def expm1_f32(x):
func.func @f(%b: tensor<64x64xbf16>, %h: tensor<64x64xf16>, %w: tensor<64x64xf32>)
    -> (tensor<64x64xbf16>, tensor<64x64xf16>, tensor<64x64xf32>, tensor<64x64xf32>, tensor<64x64xbf16>, tensor<64x64xf32>, tensor<64x64xf32>, tensor<64x64xbf16>, tensor<64x64xf16>, tensor<64x64xf16>, tensor<64x64xf32>) {
  %k = graph.constant dense<20.0> : tensor<64x64xbf16>
  %c = graph.constant dense<20.0> : tensor<64x64xf32>
  %0 = graph.tanh %b : tensor<64x64xbf16>
  %1 = graph.tanh %h : tensor<64x64xf16>
  %2 = graph.tanh %w : tensor<64x64xf32>
  %3 = graph.tanh %w fastmath<afn> : tensor<64x64xf32>
  %4 = graph.div %b, %k : (tensor<64x64xbf16>, tensor<64x64xbf16>) -> tensor<64x64xbf16>
  %5 = graph.div %w, %c : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %6 = graph.exp %w : tensor<64x64xf32>
  %7 = graph.cast %w : (tensor<64x64xf32>) -> tensor<64x64xbf16>
  %8 = graph.cast %w : (tensor<64x64xf32>) -> tensor<64x64xf16>
  %9 = graph.expm1 %h : tensor<64x64xf16>
  %10 = graph.expm1 %w : tensor<64x64xf32>
  func.return %0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10 : tensor<64x64xbf16>, tensor<64x64xf16>, tensor<64x64xf32>, tensor<64x64xf32>, tensor<64x64xbf16>, tensor<64x64xf32>, tensor<64x64xf32>, tensor<64x64xbf16>, tensor<64x64xf16>, tensor<64x64xf16>, tensor<64x64xf32>
}
