// RUN: tlf-opt %s --split-input-file --verify-diagnostics

// Options in braces would be ignored, so they are refused.
func.func @f(%x: tensor<4x8xf32>, %w: tensor<8x4xf32>) -> tensor<4x4xf32> {
  // expected-error@+1 {{graph.matmul: unknown attribute `precision`, expected options as keywords before the types}}
  %y = graph.matmul %x, %w {precision = "tf32"} : (tensor<4x8xf32>, tensor<8x4xf32>) -> tensor<4x4xf32>
  func.return %y : tensor<4x4xf32>
}

// -----

// Attributes with the prefix of a dialect belong to someone else.
func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> {
  %y = graph.exp %x {test.note} : tensor<4xf32>
  func.return %y : tensor<4xf32>
}

// -----

// So would be what a function says of its arguments and results by a name that is not known.
// expected-error@+1 {{unknown attribute `tlf.parmeter` of argument `w`, expected one of `tlf.layout`, `tlf.parameter`, `tlf.physical_axes`, `tlf.range`, did you mean `tlf.parameter`?}}
func.func @f(%x: tensor<4xf32>, %w: tensor<4xf32> {tlf.parmeter}) {
  func.return
}

// -----

// expected-error@+1 {{unknown attribute `tlf.note` of argument 0, expected one of `tlf.layout`, `tlf.parameter`, `tlf.physical_axes`, `tlf.range`}}
"func.func"() <{
  function_type = (tensor<4xf32>) -> (), sym_name = "f", arg_attrs = [{tlf.note = 1}],
  sym_visibility = "private"}> ({}) : () -> ()

// -----

// expected-error@+1 {{unknown attribute `tlf.parameter` of result 1, expected one of `tlf.layout`, `tlf.physical_axes`}}
func.func @f(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32> {tlf.parameter}) {
  func.return %x, %x : tensor<4xf32>, tensor<4xf32>
}

// -----

func.func @f(%x: tensor<4xf32> {test.note, tlf.parameter, tlf.range = [0.5, 1.5]})
    -> (tensor<4xf32> {test.note, tlf.layout = "any"}) {
  func.return %x : tensor<4xf32>
}

// -----

// expected-error@+1 {{expected `tlf.physical_axes` of argument 0 to order 2 axes, each once, as in array<i64: 0, 2, 3, 1>, got array<i64: 1, 1>}}
func.func @f(%x: tensor<4x8xf32> {tlf.physical_axes = array<i64: 1, 1>}) {
  func.return
}

// -----

// expected-error@+1 {{expected `tlf.physical_axes` of result 0 to order 1 axes, each once, as in array<i64: 0, 2, 3, 1>, got "any"}}
func.func @f(%x: tensor<4xf32>) -> (tensor<4xf32> {tlf.physical_axes = "any"}) {
  func.return %x : tensor<4xf32>
}

// -----

// expected-error@+1 {{expected `tlf.results` to be a number of the 1 arguments, got 2 : i64}}
func.func @f(%x: memref<4xf32, "L3">) attributes {tlf.results = 2 : i64} {
  func.return
}

// -----

// expected-error@+1 {{expected `tlf.results` to be a number of the 1 arguments, got -1 : i64}}
func.func @f(%x: memref<4xf32, "L3">) attributes {tlf.results = -1 : i64} {
  func.return
}

// -----

// expected-error@+1 {{expected `tlf.results` to be a number of the 1 arguments, got "all"}}
func.func @f(%x: memref<4xf32, "L3">) attributes {tlf.results = "all"} {
  func.return
}
