// RUN: tlf-opt %s --target h200 -p "graph-select-tile-sizes{strategy=largest}" | filecheck %s

// A product gets the preferred tile of rows, columns and depth; other axes are batches.
// The loops are the grid of a kernel.
// CHECK-LABEL: func.func @matmul
// CHECK:         plan #graph.plan<L1, tile [1, 64, 64], reduce [32], mapping grid>
func.func @matmul(%x: tensor<5x100x300xf32>, %w: tensor<5x300x200xf32>) -> tensor<5x100x200xf32> {
  %y = graph.group ins(%a = %x, %b = %w : tensor<5x100x300xf32>, tensor<5x300x200xf32>) -> (tensor<5x100x200xf32>) {
    %0 = graph.matmul %a, %b : (tensor<5x100x300xf32>, tensor<5x300x200xf32>) -> tensor<5x100x200xf32>
    graph.yield %0 : tensor<5x100x200xf32>
  }
  func.return %y : tensor<5x100x200xf32>
}

// Small axes are rounded up to a power of two, and to what a product needs at least; an
// axis of extent 1 stays.
// CHECK-LABEL: func.func @narrow
// CHECK:         plan #graph.plan<L1, tile [1, 32], reduce [16], mapping grid>
func.func @narrow(%x: tensor<1x5xf32>, %w: tensor<5x20xf32>) -> tensor<1x20xf32> {
  %y = graph.group ins(%a = %x, %b = %w : tensor<1x5xf32>, tensor<5x20xf32>) -> (tensor<1x20xf32>) {
    %0 = graph.matmul %a, %b : (tensor<1x5xf32>, tensor<5x20xf32>) -> tensor<1x20xf32>
    graph.yield %0 : tensor<1x20xf32>
  }
  func.return %y : tensor<1x20xf32>
}

// Rows and columns are those of the product, however its epilogue turns them.
// CHECK-LABEL: func.func @turned
// CHECK:         plan #graph.plan<L1, tile [64, 1, 64], reduce [32], mapping grid>
func.func @turned(%x: tensor<5x100x300xf32>, %w: tensor<5x300x200xf32>) -> tensor<200x5x100xf32> {
  %y = graph.group ins(%a = %x, %b = %w : tensor<5x100x300xf32>, tensor<5x300x200xf32>) -> (tensor<200x5x100xf32>) {
    %0 = graph.matmul %a, %b : (tensor<5x100x300xf32>, tensor<5x300x200xf32>) -> tensor<5x100x200xf32>
    %1 = graph.transpose %0 permutation [2, 0, 1] : (tensor<5x100x200xf32>) -> tensor<200x5x100xf32>
    graph.yield %1 : tensor<200x5x100xf32>
  }
  func.return %y : tensor<200x5x100xf32>
}

// Other tiles have about 2048 elements.
// CHECK-LABEL: func.func @chain
// CHECK:         plan #graph.plan<L1, tile [2, 512], mapping grid>
func.func @chain(%x: tensor<100x300xf32>) -> tensor<100x300xf32> {
  %y = graph.group ins(%a = %x : tensor<100x300xf32>) -> (tensor<100x300xf32>) {
    %0 = graph.exp %a : tensor<100x300xf32>
    graph.yield %0 : tensor<100x300xf32>
  }
  func.return %y : tensor<100x300xf32>
}

// Rows of a softmax stay whole, rounded up.
// CHECK-LABEL: func.func @rows
// CHECK:         plan #graph.plan<L1, tile [1, 4096], {{.*}}mapping grid>
func.func @rows(%x: tensor<100x3000xf32>) -> tensor<100x3000xf32> {
  %y = graph.group ins(%a = %x : tensor<100x3000xf32>) -> (tensor<100x3000xf32>) {
    %0 = graph.reduce %a <max> axes [1] keepdims : (tensor<100x3000xf32>) -> tensor<100x1xf32>
    %1 = graph.sub %a, %0 : (tensor<100x3000xf32>, tensor<100x1xf32>) -> tensor<100x3000xf32>
    graph.yield %1 : tensor<100x3000xf32>
  }
  func.return %y : tensor<100x3000xf32>
}

// Preferred tiles depend on the element type.
// CHECK-LABEL: func.func @half
// CHECK:         plan #graph.plan<L1, tile [128, 256], reduce [64], mapping grid>
func.func @half(%x: tensor<4096x512xbf16>, %w: tensor<512x4096xbf16>) -> tensor<4096x4096xf32> {
  %y = graph.group ins(%a = %x, %b = %w : tensor<4096x512xbf16>, tensor<512x4096xbf16>) -> (tensor<4096x4096xf32>) {
    %0 = graph.matmul %a, %b : (tensor<4096x512xbf16>, tensor<512x4096xbf16>) -> tensor<4096x4096xf32>
    graph.yield %0 : tensor<4096x4096xf32>
  }
  func.return %y : tensor<4096x4096xf32>
}

// They shrink where there would be too few of them for all of the chip.
// CHECK-LABEL: func.func @few
// CHECK:         plan #graph.plan<L1, tile [64, 64], reduce [64], mapping grid>
func.func @few(%x: tensor<256x512xbf16>, %w: tensor<512x512xbf16>) -> tensor<256x512xf32> {
  %y = graph.group ins(%a = %x, %b = %w : tensor<256x512xbf16>, tensor<512x512xbf16>) -> (tensor<256x512xf32>) {
    %0 = graph.matmul %a, %b : (tensor<256x512xbf16>, tensor<512x512xbf16>) -> tensor<256x512xf32>
    graph.yield %0 : tensor<256x512xf32>
  }
  func.return %y : tensor<256x512xf32>
}
