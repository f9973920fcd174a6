// RUN: not tlf-opt %s --split-input-file --target npu-tiny -p convert-tile-to-mem 2>&1 | filecheck %s

// CHECK: error: tile.while: expected a writable destination: arguments are read-only
func.func @read_only(%x: tensor<8xf32>) -> tensor<8xf32> {
  %e = tile.empty : tensor<8xf32>
  %z = tile.while () parallel into(%o = %x : tensor<8xf32>) {
    tile.yield %o : tensor<8xf32>
  }
  %y = tile.while () parallel into(%o = %e : tensor<8xf32>) {
    tile.yield %o : tensor<8xf32>
  }
  func.return %y : tensor<8xf32>
}

// -----

// CHECK: error: tile.while: expected a destination that is not used after the loop
func.func @used(%x: tensor<8xf32>) -> tensor<8xf32> {
  %e = tile.empty : tensor<8xf32>
  %t = tile.slice %x[0] : tensor<8xf32> -> tensor<8xf32, #tile.encoding<L1>>
  %y = tile.while () parallel into(%o = %e : tensor<8xf32>) {
    %d = tile.deslice %t into %o[0] : tensor<8xf32, #tile.encoding<L1>> into tensor<8xf32>
    tile.yield %d : tensor<8xf32>
  }
  %u = tile.slice %e[0] : tensor<8xf32> -> tensor<8xf32, #tile.encoding<L1>>
  func.return %y : tensor<8xf32>
}

// -----

// CHECK: error: tile.while: expected an iteration to read only its own tile of the destination
func.func @elsewhere(%x: tensor<8xf32>) -> tensor<8xf32> {
  %e = tile.empty : tensor<8xf32>
  %y = tile.while (%i = 0 to 8 step 4) parallel into(%o = %e : tensor<8xf32>) {
    %t = tile.slice %e[0] : tensor<8xf32> -> tensor<4xf32, #tile.encoding<L1>>
    %d = tile.deslice %t into %o[%i] : tensor<4xf32, #tile.encoding<L1>> into tensor<8xf32>
    tile.yield %d : tensor<8xf32>
  }
  func.return %y : tensor<8xf32>
}

// -----

// CHECK: error: func.func: expected one block that returns
func.func @endless() {
  "test.termop"() : () -> ()
}

// -----

// CHECK: error: func.return: expected to return tensors, got index
func.func @number(%n: index) -> index {
  func.return %n : index
}

// -----

// CHECK: error: func.return: expected a returned value that tiles are inserted into
func.func @argument(%x: tensor<8xf32>) -> tensor<8xf32> {
  func.return %x : tensor<8xf32>
}

// -----

// CHECK: error: func.return: expected every value to be returned once
func.func @twice() -> (tensor<8xf32>, tensor<8xf32>) {
  %e = tile.empty : tensor<8xf32>
  func.return %e, %e : tensor<8xf32>, tensor<8xf32>
}

// -----

// CHECK: error: graph.softmax: expected an operation on tiles: run `graph-decompose`, `graph-group` and `convert-graph-to-tile` first
func.func @whole(%x: tensor<8xf32>) {
  %0 = graph.softmax %x axis 0 : (tensor<8xf32>) -> tensor<8xf32>
  func.return
}

// -----

// CHECK: error: func.call: expected overwritten operands that are not used after the call
func.func private @neg(%x: tensor<8xf32>) -> tensor<8xf32> {
  %y = tile.while () parallel into(%o = %x : tensor<8xf32>) {
    %t = tile.slice %x[0] : tensor<8xf32> -> tensor<8xf32, #tile.encoding<L1>>
    %d = tile.deslice %t into %o[0] : tensor<8xf32, #tile.encoding<L1>> into tensor<8xf32>
    tile.yield %d : tensor<8xf32>
  }
  func.return %y : tensor<8xf32>
}
func.func @argument(%x: tensor<8xf32>) -> tensor<8xf32> {
  %e = tile.empty : tensor<8xf32>
  %y = tile.while () parallel into(%o = %e : tensor<8xf32>) {
    %t = tile.slice %x[0] : tensor<8xf32> -> tensor<8xf32, #tile.encoding<L1>>
    %d = tile.deslice %t into %o[0] : tensor<8xf32, #tile.encoding<L1>> into tensor<8xf32>
    tile.yield %d : tensor<8xf32>
  }
  %a = func.call @neg(%x) {tlf.in_place = #graph.in_place<0>} : (tensor<8xf32>) -> tensor<8xf32>
  func.return %y : tensor<8xf32>
}
