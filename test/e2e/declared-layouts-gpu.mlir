// Arguments and results of kernels that lie as they are declared, kept apart from their
// shapes. Layouts of the command line come on top.
//
// RUN: tlf-run %s --target h200 --check --layout r=1,2,0 --layout z=1,0 --dump-dir %t | filecheck %s
// RUN: filecheck %s --check-prefix=TEXT --input-file %t/program.triton.py
// RUN: %python -c "import numpy as np; z = np.load('%t/z.npy'); print(z.shape, z.flags.f_contiguous)" | filecheck %s --check-prefix=ARRAY
//
// TEXT:      "name": "x",
// TEXT:      "strides": [
// TEXT-NEXT:  378,
// TEXT-NEXT:  1,
// TEXT-NEXT:  42,
// TEXT-NEXT:  6
// TEXT:      "name": "r",
// TEXT:      "strides": [
// TEXT-NEXT:  1,
// TEXT-NEXT:  14,
// TEXT-NEXT:  2
// TEXT:      "name": "z",
// TEXT:      "strides": [
// TEXT-NEXT:  1,
// TEXT-NEXT:  6
// CHECK: result y {{ *}} 1x6x9x7 float32
// CHECK: error of y {{.*}}: ok
// CHECK: error of z {{.*}}: ok
// ARRAY: (6, 7) True
func.func @f(%x: tensor<1x6x9x7xf32> {tlf.layout = array<i64: 0, 2, 3, 1>},
             %w: tensor<6x6x3x3xf32>, %r: tensor<2x6x7xf32>)
    -> (tensor<1x6x9x7xf32> {tlf.layout = array<i64: 0, 2, 3, 1>}, tensor<6x7xf32>) {
  %y = graph.conv2d %x, %w padding [1, 1, 1, 1]
      : (tensor<1x6x9x7xf32>, tensor<6x6x3x3xf32>) -> tensor<1x6x9x7xf32>
  %z = graph.reduce %r <sum> axes [0] : (tensor<2x6x7xf32>) -> tensor<6x7xf32>
  func.return %y, %z : tensor<1x6x9x7xf32>, tensor<6x7xf32>
}
