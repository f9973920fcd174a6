// RUN: tlf-opt %s --target npu -p graph-annotate-roofline | filecheck %s
// RUN: tlf-opt %s --target npu -t analysis | filecheck %s --check-prefix=TABLE
// RUN: tlf-opt %s --target npu -t "analysis{format=json}" | filecheck %s --check-prefix=JSON
// RUN: not tlf-opt %s -p graph-annotate-roofline 2>&1 | filecheck %s --check-prefix=NONE
// RUN: not tlf-opt %s --target npu -t "analysis{format=csv}" 2>&1 | filecheck %s --check-prefix=CSV

// NONE: error: expected a module with a target description, got none: pass `--target`
// CSV: error: analysis: expected a format of table, json, got csv

// The array of `npu` does 2 * 64 * 64 operations a cycle in bf16 and a quarter of that in
// f32, its vector engine 256, and its outermost memory moves 64 bytes a cycle at 1 GHz.

// CHECK-LABEL: func.func @products
// CHECK-SAME: bytes = 2103296 : i64, class = "compute"
// CHECK-SAME: flops = 268959744 : i64
func.func @products(%a: tensor<512x512xbf16>, %w: tensor<512x512xbf16>,
                    %x: tensor<256x512xf32>, %y: tensor<512x2xf32>)
    -> (tensor<512x512xbf16>, tensor<256x2xf32>) {
  // 2 * 512^3 operations, 3 * 512^2 * 2 bytes: 32768 cycles against 24576.
  // CHECK: graph.matmul {{.*}}bytes = 1572864 : i64, class = "compute", floor_us = 3.276800e+01 : f64, flops = 268435456 : i64, intensity = 170.666
  %0 = graph.matmul %a, %w
      : (tensor<512x512xbf16>, tensor<512x512xbf16>) -> tensor<512x512xbf16>
  // The same work in f32 would take four times as long; this has little of it.
  // CHECK: graph.matmul {{.*}}class = "memory", floor_us = 8.288000e+00 : f64, flops = 524288
  %1 = graph.matmul %x, %y
      : (tensor<256x512xf32>, tensor<512x2xf32>) -> tensor<256x2xf32>
  func.return %0, %1 : tensor<512x512xbf16>, tensor<256x2xf32>
}

// CHECK-LABEL: func.func @others
func.func @others(%x: tensor<64x32xf32>, %b: tensor<32xf32>)
    -> (tensor<64xf32>, tensor<32x64xf32>) {
  // CHECK: graph.add {{.*}}bytes = 16512 : i64, class = "memory", floor_us = 2.580000e-01 : f64, flops = 2048
  %0 = graph.add %x, %b : (tensor<64x32xf32>, tensor<32xf32>) -> tensor<64x32xf32>
  // An operand that is used twice is read once.
  // CHECK: graph.mul {{.*}}bytes = 16384 : i64
  %1 = graph.mul %0, %0 : tensor<64x32xf32>
  // CHECK: graph.reduce {{.*}}bytes = 8448 : i64, class = "memory", {{.*}}flops = 2048
  %2 = graph.reduce %1 <sum> axes [1] : (tensor<64x32xf32>) -> tensor<64xf32>
  // CHECK: graph.reshape {{.*}}bytes = 0 : i64, class = "movement"
  %3 = graph.reshape %1 : (tensor<64x32xf32>) -> tensor<2048xf32>
  // A composite does the work of its steps: maxima, differences, exponentials, sums and
  // products of all elements, and one quotient for each row.
  // CHECK: graph.softmax {{.*}}bytes = 16384 : i64, class = "memory", {{.*}}flops = 10241
  %4 = graph.softmax %3 axis 0 : (tensor<2048xf32>) -> tensor<2048xf32>
  // CHECK: graph.reshape
  %5 = graph.reshape %4 : (tensor<2048xf32>) -> tensor<64x32xf32>
  // CHECK: graph.transpose {{.*}}bytes = 16384 : i64, class = "movement", floor_us = 2.560000e-01 : f64, flops = 0
  %6 = graph.transpose %5 permutation [1, 0]
      : (tensor<64x32xf32>) -> tensor<32x64xf32> loc("encoder.0")
  func.return %2, %6 : tensor<64xf32>, tensor<32x64xf32>
}

// TABLE:      operation  class               flops         bytes  flops/byte    floor us  part
// TABLE-NEXT: matmul     compute       268,435,456     1,572,864      170.67      32.768
// TABLE:      transpose  movement                0        16,384        0.00       0.256  encoder.0
// TABLE:      compute    compute       268,435,456     1,572,864      170.67      32.768
// TABLE-NEXT: memory     memory            540,673       588,160        0.92       9.190
// TABLE-NEXT: movement   movement                0        16,384        0.00       0.256
// TABLE-NEXT: all        compute       268,976,129     2,177,408      123.53      42.214

// JSON: "name": "graph.matmul",
// JSON-NEXT: "part": null,
// JSON-NEXT: "class": "compute",
// JSON-NEXT: "flops": 268435456,
// JSON: "part": "encoder.0"
// JSON: "totals": {
