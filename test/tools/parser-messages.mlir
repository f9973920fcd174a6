// RUN: tlf-opt %s --split-input-file --verify-diagnostics

// What xDSL's parser says has what was expected and what it got.

func.func @f(%x: tensor<4xf32>) {
  // expected-error@+1 {{expected `:`, got `tensor`}}
  %y = graph.relu %x tensor<4xf32>
  func.return
}

// -----

// expected-error@+1 {{expected `>` after builtin parameter list, got `)`}}
func.func @f(%x: tensor<4xf32) {
  func.return
}

// -----

func.func @f(%x: tensor<4xf32>) {
  // expected-error@+1 {{expected an operand, got `:`}}
  %y = graph.relu : tensor<4xf32>
  func.return
}

// -----

func.func @f(%x: tensor<4xf32>) {
  // expected-error@+1 {{expected an attribute, got `}`}}
  %y = "test.op"(%x) {a = } : (tensor<4xf32>) -> tensor<4xf32>
  func.return
}

// -----

// A keyword at the wrong place: what the operation takes, in order.

func.func @f(%x: tensor<1x2x9x9xf32>, %w: tensor<4x2x3x3xf32>) {
  // expected-error@+1 {{expected `:`, got `strides`: graph.conv2d takes `init`, `strides`, `padding`, `dilation`, `groups`, `acc`, `precision` in this order}}
  %y = graph.conv2d %x, %w padding [1, 1, 1, 1] strides [2, 2]
      : (tensor<1x2x9x9xf32>, tensor<4x2x3x3xf32>) -> tensor<1x4x5x5xf32>
  func.return
}

// -----

func.func @f(%x: tensor<4xf32>) {
  // expected-error@+1 {{expected `kernel`, got `window`: graph.max_pool2d takes `init`, `kernel`, `strides`, `padding`, `dilation`, `acc` in this order}}
  %y = graph.max_pool2d %x window [2, 2] : (tensor<4xf32>) -> tensor<4xf32>
  func.return
}

// -----

// What is no keyword at the wrong place: an example of the operation.

func.func @f(%x: tensor<4x8xf32>) {
  // expected-error@+1 {{expected an operand, got `max`: it is written as `%y = graph.reduce %x <sum> axes [1] keepdims acc f32 : (tensor<4x8xbf16>) -> tensor<4x1xbf16>`}}
  %y = graph.reduce max %x axes [1] : (tensor<4x8xf32>) -> tensor<4xf32>
  func.return
}

// -----

func.func @f(%x: tensor<4x8xf32>, %w: tensor<8xf32>) {
  // expected-error@+1 {{expected `epsilon`, got `,`: it is written as `%y = graph.layer_norm %x weight %w bias %b epsilon 1.0e-05 : }}
  %y = graph.layer_norm %x, %w : (tensor<4x8xf32>, tensor<8xf32>) -> tensor<4x8xf32>
  func.return
}

// -----

// Operations without an example, and longer ones, have none.

func.func @f(%x: tensor<4xf32>) {
  // expected-error@+1 {{expected `:`, got `to`}}
  %y = tensor.cast %x to tensor<?xf32>
  func.return
}

// -----

// A word in angle brackets.

func.func @f(%x: tensor<4xf32>) {
  // expected-error@+1 {{expected `<erf>` or `<tanh>`, got `:`}}
  %y = graph.gelu %x : tensor<4xf32>
  func.return
}

// -----

func.func @f(%x: tensor<4xf32>) {
  // expected-error@+1 {{expected `sum`, `max`, `min`, or `prod`, got `mean`}}
  %y = graph.reduce %x <mean> axes [0] : (tensor<4xf32>) -> tensor<f32>
  func.return
}

// -----

// Operations that there are not.

func.func @f(%x: tensor<4xf32>) {
  // expected-error@+1 {{unknown operation `graph.rleu`, did you mean `graph.relu`?}}
  %y = graph.rleu %x : tensor<4xf32>
  func.return
}

// -----

func.func @f(%x: tensor<4xf32>) {
  // expected-error@+1 {{unknown operation `grph.relu`: there is no dialect `grph`}}
  %y = grph.relu %x : tensor<4xf32>
  func.return
}

// -----

func.func @f(%x: tensor<4xf32>) {
  %y = graph.cast %x : (tensor<4xf32>) -> tensor<4xf16>
  // expected-error@+1 {{expected an operation, got `to`}}
  to %y
  func.return
}

// -----

// expected-error@+1 {{expected a size with `x` or an element type, such as `f64`, `f32`, `f16`, `bf16`, `i64`, `i32`, `i8`, `i1`, got `f23`}}
func.func @element(%x: tensor<4x4xf23>) -> tensor<4x4xf23> {
  func.return %x : tensor<4x4xf23>
}
