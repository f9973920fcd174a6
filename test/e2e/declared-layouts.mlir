// Arguments and results that lie as they are declared, kept apart from their shapes.
//
// RUN: tlf-run %s --target npu-tiny --check --dump-dir %t -p "graph-pipeline,graph-group{level=L2},graph-assign-layouts,graph-select-tile-sizes{level=L2},dce,graph-mark-in-place,convert-graph-to-tile,graph-group{level=L1},graph-select-tile-sizes{level=L1},dce,convert-graph-to-tile,tidy,convert-tile-to-mem,tidy,mem-fold-fills,mem-pipeline,mem-split-maps,mem-plan,convert-mem-to-npu,tidy" | filecheck %s
// RUN: filecheck %s --check-prefix=TEXT --input-file %t/program.npu
//
// TEXT: .input x L3 0 f32 1x6x9x7 order=0,2,3,1
// TEXT: .output y L3 {{[0-9]+}} f32 1x6x9x7 order=0,2,3,1
// CHECK: error of y {{.*}}: ok
func.func @f(%x: tensor<1x6x9x7xf32> {tlf.layout = array<i64: 0, 2, 3, 1>},
             %w: tensor<6x6x3x3xf32>)
    -> (tensor<1x6x9x7xf32> {tlf.layout = array<i64: 0, 2, 3, 1>}) {
  %y = graph.conv2d %x, %w padding [1, 1, 1, 1]
      : (tensor<1x6x9x7xf32>, tensor<6x6x3x3xf32>) -> tensor<1x6x9x7xf32>
  func.return %y : tensor<1x6x9x7xf32>
}
