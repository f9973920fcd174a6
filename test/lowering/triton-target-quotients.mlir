// RUN: tlf-opt %s --split-input-file --target h200 -p triton-pipeline -t "triton{parts=source}" | filecheck %s

// Quotients and square roots are the nearest numbers, also where what a function gave decides
// between their operands. To 16 bits the quick ones are rounded.

// CHECK:      def exact_0
// CHECK:      [[H:v[0-9]+]] = tl.load({{.*}}# %h
// CHECK-NEXT: = to_f16x2([[H]].to(tl.float32) / [[H]].to(tl.float32))
// CHECK:      def exact_1
// CHECK:      [[X:v[0-9]+]] = tl.load({{.*}}# %x
// CHECK-NEXT: [[Y:v[0-9]+]] = tl.load({{.*}}# %y
// CHECK-NEXT: [[R:v[0-9]+]] = tl.load({{.*}}# %r
// CHECK-NEXT: [[Q:v[0-9]+]] = tl.div_rn([[X]], [[Y]])
// CHECK-NEXT: libdevice.trunc([[Q]])
// CHECK:      [[ROOT:v[0-9]+]] = tl.sqrt_rn([[X]])
// CHECK:      = tl.div_rn([[Y]], [[ROOT]])
// CHECK:      [[ROW:v[0-9]+]] = [[R]][:, None]
// CHECK-NEXT: = tl.div_rn([[X]], [[ROW]])
// CHECK:      [[CHOSEN:v[0-9]+]] = tl.where
// CHECK-NEXT: = tl.div_rn([[CHOSEN]], [[Y]])
func.func @exact(%x: tensor<64x64xf32>, %y: tensor<64x64xf32>, %r: tensor<64x1xf32>, %h: tensor<64x64xf16>)
    -> (tensor<64x64xf32>, tensor<64x64xf32>, tensor<64x64xf32>, tensor<64x64xf32>, tensor<64x64xf16>, tensor<64x64xf32>) {
  %0 = graph.div %x, %y : tensor<64x64xf32>
  %1 = graph.trunc %0 : tensor<64x64xf32>
  %2 = graph.sqrt %x : tensor<64x64xf32>
  %3 = graph.div %y, %2 : tensor<64x64xf32>
  %4 = graph.div %x, %r : (tensor<64x64xf32>, tensor<64x1xf32>) -> tensor<64x64xf32>
  %5 = graph.div %h, %h : tensor<64x64xf16>
  %6 = graph.exp %x : tensor<64x64xf32>
  %7 = graph.compare %6, %y <lt> : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xi1>
  %8 = graph.select %7, %x, %y : (tensor<64x64xi1>, tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %9 = graph.div %8, %y : tensor<64x64xf32>
  func.return %1, %2, %3, %4, %5, %9 : tensor<64x64xf32>, tensor<64x64xf32>, tensor<64x64xf32>, tensor<64x64xf32>, tensor<64x64xf16>, tensor<64x64xf32>
}

// -----

// Quotients of what functions gave need not be nearer than these.

// CHECK:     def of_functions_0
// CHECK-NOT: div_rn
// CHECK:     1.0 / {{v[0-9]+}}
// CHECK-NOT: div_rn
// CHECK:     def of_functions_1
// CHECK-NOT: div_rn
// CHECK:     {{v[0-9]+}} / {{v[0-9]+}}
func.func @of_functions(%x: tensor<64x64xf32>, %y: tensor<64x64xbf16>) -> (tensor<64x64xf32>, tensor<64x64xbf16>) {
  %0 = graph.softmax %x axis 1 : (tensor<64x64xf32>) -> tensor<64x64xf32>
  %1 = graph.silu %y : tensor<64x64xbf16>
  func.return %0, %1 : tensor<64x64xf32>, tensor<64x64xbf16>
}

// -----

// CHECK:     def relaxed_0
// CHECK-NOT: _rn(
// CHECK:     tl.sqrt(
// CHECK-NOT: _rn(
// CHECK:     {{v[0-9]+}} / {{v[0-9]+}}
module attributes {tlf.numerics = "relaxed"} {
  func.func @relaxed(%x: tensor<64x64xf32>, %y: tensor<64x64xf32>) -> (tensor<64x64xf32>, tensor<64x64xf32>) {
    %0 = graph.sqrt %x : tensor<64x64xf32>
    %1 = graph.div %x, %y : tensor<64x64xf32>
    func.return %0, %1 : tensor<64x64xf32>, tensor<64x64xf32>
  }
}
