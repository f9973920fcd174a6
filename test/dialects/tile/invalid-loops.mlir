// RUN: tlf-opt %s --split-input-file --verify-diagnostics

// expected-error@+1 {{expected 1 lower bounds, one per step, got 2}}
"tile.while"() <{static_lower = array<i64: 0, 0>, static_upper = array<i64: 4>, steps = array<i64: 1>, kind = #tile.kind<sequential>, mapping = #tile.mapping<loop>, operandSegmentSizes = array<i32: 0, 0, 0>}> ({
^bb0(%i: index):
  tile.yield
}) : () -> ()

// -----

// expected-error@+1 {{expected 1 upper bounds, one per step, got 0}}
"tile.while"() <{static_lower = array<i64: 0>, static_upper = array<i64>, steps = array<i64: 1>, kind = #tile.kind<sequential>, mapping = #tile.mapping<loop>, operandSegmentSizes = array<i32: 0, 0, 0>}> ({
^bb0(%i: index):
  tile.yield
}) : () -> ()

// -----

// expected-error@+1 {{expected 1 dynamic lower bounds, got 0}}
"tile.while"() <{static_lower = array<i64: -9223372036854775808>, static_upper = array<i64: 4>, steps = array<i64: 1>, kind = #tile.kind<sequential>, mapping = #tile.mapping<loop>, operandSegmentSizes = array<i32: 0, 0, 0>}> ({
^bb0(%i: index):
  tile.yield
}) : () -> ()

// -----

%n = "test.op"() : () -> index
// expected-error@+1 {{expected 0 dynamic upper bounds, got 1}}
"tile.while"(%n) <{static_lower = array<i64: 0>, static_upper = array<i64: 4>, steps = array<i64: 1>, kind = #tile.kind<sequential>, mapping = #tile.mapping<loop>, operandSegmentSizes = array<i32: 0, 1, 0>}> ({
^bb0(%i: index):
  tile.yield
}) : (index) -> ()

// -----

// expected-error@+1 {{expected positive steps, got [4, 0]}}
tile.while (%i = 0 to 8 step 4, %j = 0 to 8 step 0) sequential {
}

// -----

// expected-error@+1 {{expected an order of 2 loops, each once, got [0, 0]}}
tile.while (%i = 0 to 8 step 4, %j = 0 to 8 step 2) parallel order(0, 0) {
}

// -----

%z = "test.op"() : () -> tensor<4xf32>
// expected-error@+1 {{expected body arguments (index, tensor<4xf32>), got (index, tensor<5xf32>)}}
%0 = "tile.while"(%z) <{static_lower = array<i64: 0>, static_upper = array<i64: 4>, steps = array<i64: 1>, kind = #tile.kind<sequential>, mapping = #tile.mapping<loop>, operandSegmentSizes = array<i32: 0, 0, 1>}> ({
^bb0(%i: index, %a: tensor<5xf32>):
  tile.yield %a : tensor<5xf32>
}) : (tensor<4xf32>) -> tensor<4xf32>

// -----

%z = "test.op"() : () -> tensor<4xf32>
// expected-error@+1 {{expected results (tensor<4xf32>), got (tensor<5xf32>)}}
%0 = "tile.while"(%z) <{static_lower = array<i64: 0>, static_upper = array<i64: 4>, steps = array<i64: 1>, kind = #tile.kind<sequential>, mapping = #tile.mapping<loop>, operandSegmentSizes = array<i32: 0, 0, 1>}> ({
^bb0(%i: index, %a: tensor<4xf32>):
  tile.yield %a : tensor<4xf32>
}) : (tensor<4xf32>) -> tensor<5xf32>

// -----

%z, %y = "test.op"() : () -> (tensor<4xf32>, tensor<4xf16>)
// expected-error@+1 {{expected yielded values (tensor<4xf32>), got (tensor<4xf16>)}}
%0 = tile.while (%i = 0 to 8 step 4) sequential carry(%a = %z : tensor<4xf32>) {
  tile.yield %y : tensor<4xf16>
}

// -----

// A destination of a parallel loop is not read,
%e = "test.op"() : () -> tensor<8xf32>
// expected-error@+1 {{expected a destination of a parallel loop to be only written, got a use in tile.slice}}
%0 = tile.while (%i = 0 to 8 step 4) parallel into(%o = %e : tensor<8xf32>) {
  %t = tile.slice %o[%i] : tensor<8xf32> -> tensor<4xf32, #tile.encoding<L1>>
  %n = tile.deslice %t into %o[%i] : tensor<4xf32, #tile.encoding<L1>> into tensor<8xf32>
  tile.yield %n : tensor<8xf32>
}

// -----

// not put into another,
%e = "test.op"() : () -> tensor<8xf32>
// expected-error@+1 {{expected a destination of a parallel loop to be only written, got a use in tile.deslice}}
%0, %1 = tile.while (%i = 0 to 8 step 8) parallel
    into(%o = %e : tensor<8xf32>, %p = %e : tensor<8xf32>) {
  %n = tile.deslice %o into %p[%i] : tensor<8xf32> into tensor<8xf32>
  tile.yield %o, %n : tensor<8xf32>, tensor<8xf32>
}

// -----

// not swapped with another,
%e = "test.op"() : () -> tensor<8xf32>
// expected-error@+1 {{expected a destination of a parallel loop to be only written, got a use in tile.yield}}
%0, %1 = tile.while (%i = 0 to 8 step 8) parallel
    into(%o = %e : tensor<8xf32>, %p = %e : tensor<8xf32>) {
  tile.yield %p, %o : tensor<8xf32>, tensor<8xf32>
}

// -----

// and not read by a sequential loop inside that carries it.
%e = "test.op"() : () -> tensor<8xf32>
// expected-error@+1 {{expected a destination of a parallel loop to be only written, got a use in tile.while}}
%0 = tile.while (%i = 0 to 8 step 4) parallel into(%o = %e : tensor<8xf32>) {
  %1 = tile.while (%j = 0 to 8 step 4) sequential carry(%p = %o : tensor<8xf32>) {
    %t = tile.slice %p[%j] : tensor<8xf32> -> tensor<4xf32, #tile.encoding<L1>>
    tile.yield %p : tensor<8xf32>
  }
  tile.yield %1 : tensor<8xf32>
}

// -----

// expected-error@+1 {{expected at least 1 warp, got 0}}
tile.while (%i = 0 to 4 step 1) parallel mapping(grid) warps(0) {
  tile.yield
}

// -----

// expected-error@+1 {{expected 1 positive unroll factors, got [2, 2]}}
tile.while (%i = 0 to 4 step 1) parallel mapping(grid) unroll(2, 2) {
  tile.yield
}
