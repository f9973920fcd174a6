// RUN: tlf-opt %s -p "graph-hoist-scales,tidy" | filecheck %s
// RUN: tlf-opt %s -p "graph-decompose,graph-hoist-scales,tidy" | filecheck %s --check-prefix=ROWS

// The weight and the bias of the queries take the scale of the scores.
// CHECK-LABEL: func.func @scores
// CHECK-SAME:    #graph.remark<passed "graph-hoist-scales" "the scale of the result moves into the operands of matmul" at "%y">
// CHECK:         [[W:%.*]] = graph.mul %w,
// CHECK:         graph.matmul %x, [[W]]
// CHECK:         [[B:%.*]] = graph.mul %b,
// CHECK:         graph.add {{%.*}}, [[B]]
// CHECK:         [[Y:%.*]] = graph.matmul
// CHECK-NEXT:    func.return [[Y]]
func.func @scores(
    %x: tensor<6x8xf16>, %w: tensor<8x4xf16> {tlf.parameter},
    %b: tensor<4xf16> {tlf.parameter}, %k: tensor<9x4xf16>) -> tensor<6x9xf16> {
  %0 = graph.matmul %x, %w : (tensor<6x8xf16>, tensor<8x4xf16>) -> tensor<6x4xf16>
  %q = graph.add %0, %b : (tensor<6x4xf16>, tensor<4xf16>) -> tensor<6x4xf16>
  %t = graph.transpose %k permutation [1, 0] : (tensor<9x4xf16>) -> tensor<4x9xf16>
  %s = graph.matmul %q, %t : (tensor<6x4xf16>, tensor<4x9xf16>) -> tensor<6x9xf16>
  %c = graph.constant dense<0.5> : tensor<f16>
  %y = graph.mul %s, %c : (tensor<6x9xf16>, tensor<f16>) -> tensor<6x9xf16>
  func.return %y : tensor<6x9xf16>
}

// A weight of 16 bits would be rounded.
// CHECK-LABEL: func.func @third
// CHECK-SAME:    #graph.remark<missed "graph-hoist-scales" "matmul is scaled afterwards: its operands would be rounded otherwise" at "%y">
// CHECK:         [[S:%.*]] = graph.matmul %x, %w
// CHECK:         graph.mul [[S]],
func.func @third(%x: tensor<6x8xbf16>, %w: tensor<8x4xbf16> {tlf.parameter})
    -> tensor<6x4xbf16> {
  %s = graph.matmul %x, %w : (tensor<6x8xbf16>, tensor<8x4xbf16>) -> tensor<6x4xbf16>
  %c = graph.constant dense<0.3333> : tensor<bf16>
  %y = graph.mul %s, %c : (tensor<6x4xbf16>, tensor<bf16>) -> tensor<6x4xbf16>
  func.return %y : tensor<6x4xbf16>
}

// One of 32 bits is as exact as the sum.
// CHECK-LABEL: func.func @quotient
// CHECK:         [[W:%.*]] = graph.div %w,
// CHECK-NEXT:    [[Y:%.*]] = graph.matmul %x, [[W]]
// CHECK-NEXT:    func.return [[Y]]
func.func @quotient(%x: tensor<6x8xf32>, %w: tensor<8x4xf32> {tlf.parameter})
    -> tensor<6x4xf32> {
  %s = graph.matmul %x, %w : (tensor<6x8xf32>, tensor<8x4xf32>) -> tensor<6x4xf32>
  %c = graph.constant dense<3.0> : tensor<f32>
  %y = graph.div %s, %c : (tensor<6x4xf32>, tensor<f32>) -> tensor<6x4xf32>
  func.return %y : tensor<6x4xf32>
}

// Arguments that are no weights would need an operation more.
// CHECK-LABEL: func.func @arguments
// CHECK:         [[S:%.*]] = graph.matmul %x, %w
// CHECK:         graph.mul [[S]],
func.func @arguments(%x: tensor<6x8xf32>, %w: tensor<8x9xf32>) -> tensor<6x9xf32> {
  %s = graph.matmul %x, %w : (tensor<6x8xf32>, tensor<8x9xf32>) -> tensor<6x9xf32>
  %c = graph.constant dense<0.5> : tensor<f32>
  %y = graph.mul %s, %c : (tensor<6x9xf32>, tensor<f32>) -> tensor<6x9xf32>
  func.return %y : tensor<6x9xf32>
}

// Rows are divided by their sums behind the product: exponentials of at most 0 are at
// most 1, which is finite in 16 bits.
// ROWS-LABEL: func.func @softmax
// ROWS-SAME:    #graph.remark<passed "graph-hoist-scales" "a scale of an operand is hoisted to the result of matmul" at "%y">
// ROWS:         [[E:%.*]] = graph.exp
// ROWS:         [[D:%.*]] = graph.div
// ROWS-NEXT:    [[N:%.*]] = graph.cast [[E]] : (tensor<6x9xf32>) -> tensor<6x9xf16>
// ROWS-NEXT:    [[P:%.*]] = graph.matmul [[N]], %v : (tensor<6x9xf16>, tensor<9x4xf16>) -> tensor<6x4xf32>
// ROWS-NEXT:    [[S:%.*]] = graph.mul [[P]], [[D]] : (tensor<6x4xf32>, tensor<6x1xf32>)
// ROWS-NEXT:    graph.cast [[S]] : (tensor<6x4xf32>) -> tensor<6x4xf16>
// ROWS-NEXT:    func.return
func.func @softmax(%s: tensor<6x9xf16>, %v: tensor<9x4xf16>) -> tensor<6x4xf16> {
  %p = graph.softmax %s axis 1 : (tensor<6x9xf16>) -> tensor<6x9xf16>
  %y = graph.matmul %p, %v : (tensor<6x9xf16>, tensor<9x4xf16>) -> tensor<6x4xf16>
  func.return %y : tensor<6x4xf16>
}

// What is left has to stay finite: a square of 16 bits may not.
// CHECK-LABEL: func.func @square
// CHECK:         graph.div
// CHECK:         graph.matmul
// CHECK-NEXT:    func.return
func.func @square(%x: tensor<6x9xf32>, %n: tensor<6x1xf32>, %v: tensor<9x4xf16>)
    -> tensor<6x4xf16> {
  %0 = graph.mul %x, %x : (tensor<6x9xf32>, tensor<6x9xf32>) -> tensor<6x9xf32>
  %1 = graph.div %0, %n : (tensor<6x9xf32>, tensor<6x1xf32>) -> tensor<6x9xf32>
  %p = graph.cast %1 : (tensor<6x9xf32>) -> tensor<6x9xf16>
  %y = graph.matmul %p, %v : (tensor<6x9xf16>, tensor<9x4xf16>) -> tensor<6x4xf16>
  func.return %y : tensor<6x4xf16>
}

// The contraction writes the axes of the factor in the order that they have.
// CHECK-LABEL: func.func @permuted
// CHECK:         [[P:%.*]] = graph.contract %x, %v {{.*}} -> tensor<2x4x5xf32>
// CHECK-NEXT:    [[N:%.*]] = graph.reshape %n : (tensor<2x5x1xf32>) -> tensor<2x1x5xf32>
// CHECK-NEXT:    [[Q:%.*]] = graph.div [[P]], [[N]] : (tensor<2x4x5xf32>, tensor<2x1x5xf32>)
// CHECK-NEXT:    graph.transpose [[Q]] permutation [2, 1, 0] : (tensor<2x4x5xf32>) -> tensor<5x4x2xf32>
func.func @permuted(
    %x: tensor<2x5x9xf32>, %n: tensor<2x5x1xf32>, %v: tensor<2x9x4xf32>)
    -> tensor<5x4x2xf32> {
  %p = graph.div %x, %n
      : (tensor<2x5x9xf32>, tensor<2x5x1xf32>) -> tensor<2x5x9xf32>
  %y = graph.contract %p, %v maps [
      affine_map<(b, m, k, n) -> (b, m, k)>, affine_map<(b, m, k, n) -> (b, k, n)>,
      affine_map<(b, m, k, n) -> (m, n, b)>]
      : (tensor<2x5x9xf32>, tensor<2x9x4xf32>) -> tensor<5x4x2xf32>
  func.return %y : tensor<5x4x2xf32>
}

// A factor along an axis that is summed over stays.
// CHECK-LABEL: func.func @columns
// CHECK:         [[P:%.*]] = graph.mul %x, %n
// CHECK-NEXT:    graph.matmul [[P]], %v
func.func @columns(%x: tensor<6x9xf32>, %n: tensor<9xf32>, %v: tensor<9x4xf32>)
    -> tensor<6x4xf32> {
  %p = graph.mul %x, %n : (tensor<6x9xf32>, tensor<9xf32>) -> tensor<6x9xf32>
  %y = graph.matmul %p, %v : (tensor<6x9xf32>, tensor<9x4xf32>) -> tensor<6x4xf32>
  func.return %y : tensor<6x4xf32>
}

// Products of the same rows take it together, not where something else reads these.
// CHECK-LABEL: func.func @shared
// CHECK-DAG:     [[P:%.*]] = graph.matmul %x, %v
// CHECK-DAG:     [[Q:%.*]] = graph.matmul %x, %w
// CHECK-DAG:     [[Y:%.*]] = graph.div [[P]], %n
// CHECK-DAG:     [[Z:%.*]] = graph.div [[Q]], %n
// CHECK:         func.return [[Y]], [[Z]]
func.func @shared(%x: tensor<6x9xf32>, %n: tensor<6x1xf32>, %v: tensor<9x4xf32>,
    %w: tensor<9x3xf32>) -> (tensor<6x4xf32>, tensor<6x3xf32>) {
  %p = graph.div %x, %n : (tensor<6x9xf32>, tensor<6x1xf32>) -> tensor<6x9xf32>
  %y = graph.matmul %p, %v : (tensor<6x9xf32>, tensor<9x4xf32>) -> tensor<6x4xf32>
  %z = graph.matmul %p, %w : (tensor<6x9xf32>, tensor<9x3xf32>) -> tensor<6x3xf32>
  func.return %y, %z : tensor<6x4xf32>, tensor<6x3xf32>
}

// CHECK-LABEL: func.func @kept
// CHECK:         [[P:%.*]] = graph.div %x, %n
// CHECK-DAG:     graph.matmul [[P]], %v
// CHECK-DAG:     graph.reduce [[P]]
func.func @kept(%x: tensor<6x9xf32>, %n: tensor<6x1xf32>, %v: tensor<9x4xf32>)
    -> (tensor<6x4xf32>, tensor<6xf32>) {
  %p = graph.div %x, %n : (tensor<6x9xf32>, tensor<6x1xf32>) -> tensor<6x9xf32>
  %y = graph.matmul %p, %v : (tensor<6x9xf32>, tensor<9x4xf32>) -> tensor<6x4xf32>
  %z = graph.reduce %p <max> axes [1] : (tensor<6x9xf32>) -> tensor<6xf32>
  func.return %y, %z : tensor<6x4xf32>, tensor<6xf32>
}

// A product of rows with themselves has two factors, and takes neither.
// CHECK-LABEL: func.func @twice
// CHECK:         [[P:%.*]] = graph.div %x, %n
// CHECK-NEXT:    graph.contract [[P]], [[P]]
func.func @twice(%x: tensor<6x9xf32>, %n: tensor<6x1xf32>) -> tensor<6x6xf32> {
  %p = graph.div %x, %n : (tensor<6x9xf32>, tensor<6x1xf32>) -> tensor<6x9xf32>
  %y = graph.contract %p, %p maps [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (n, k)>, affine_map<(m, n, k) -> (m, n)>] : (tensor<6x9xf32>, tensor<6x9xf32>) -> tensor<6x6xf32>
  func.return %y : tensor<6x6xf32>
}

// A factor that nothing is saved without stays.
// CHECK-LABEL: func.func @wide
// CHECK:         [[P:%.*]] = graph.mul %x, %n
// CHECK-NEXT:    graph.matmul [[P]], %v
func.func @wide(%x: tensor<6x9xf32>, %n: tensor<6x1xf32>, %v: tensor<9x20xf32>)
    -> tensor<6x20xf32> {
  %p = graph.mul %x, %n : (tensor<6x9xf32>, tensor<6x1xf32>) -> tensor<6x9xf32>
  %y = graph.matmul %p, %v : (tensor<6x9xf32>, tensor<9x20xf32>) -> tensor<6x20xf32>
  func.return %y : tensor<6x20xf32>
}

// Exponents take the scale of scores of 16 bits, which the greatest of a row is left without.
// ROWS-LABEL: func.func @exponents
// ROWS-SAME:    "the scale of the scores is hoisted into its exponent"
// ROWS:         [[W:%.*]] = graph.cast %s : {{.*}} -> tensor<6x9xf32>
// ROWS:         [[M:%.*]] = graph.reduce [[W]] <max>
// ROWS:         [[D:%.*]] = graph.sub [[W]], [[M]]
// ROWS:         [[C:%.*]] = graph.constant dense<0.360673755> : tensor<f32>
// ROWS:         [[X:%.*]] = graph.mul [[D]], [[C]]
// ROWS:         graph.exp2 [[X]]
func.func @exponents(%s: tensor<6x9xbf16>) -> tensor<6x9xbf16> {
  %c = graph.constant dense<0.25> : tensor<bf16>
  %t = graph.mul %s, %c : (tensor<6x9xbf16>, tensor<bf16>) -> tensor<6x9xbf16>
  %y = graph.softmax %t axis 1 : (tensor<6x9xbf16>) -> tensor<6x9xbf16>
  func.return %y : tensor<6x9xbf16>
}

// A few keys and longer heads: what is multiplied with values needs no sum of keys then.
// CHECK-LABEL: func.func @few
// ROWS-LABEL: func.func @few
// ROWS:         [[Y:%.*]] = graph.matmul
// ROWS-NEXT:    graph.mul [[Y]], {{%.*}} : (tensor<64x32xf32>, tensor<64x1xf32>)
func.func @few(%x: tensor<64x16xf32>, %v: tensor<16x32xf32>) -> tensor<64x32xf32> {
  %p = graph.softmax %x axis 1 : (tensor<64x16xf32>) -> tensor<64x16xf32>
  %y = graph.matmul %p, %v : (tensor<64x16xf32>, tensor<16x32xf32>) -> tensor<64x32xf32>
  func.return %y : tensor<64x32xf32>
}

// Exponentials of a log-softmax are quotients; those of no distance from a maximum stay,
// whose sum may be 0.
// ROWS-LABEL: func.func @logarithms
// ROWS-SAME:    "it takes the logarithm in its exponent as a divisor"
// ROWS:         [[E:%.*]] = graph.exp
// ROWS-NEXT:    [[S:%.*]] = graph.reduce [[E]] <sum>
// ROWS-NEXT:    [[Y:%.*]] = graph.div [[E]], [[S]]
// ROWS-NEXT:    func.return [[Y]]
func.func @logarithms(%s: tensor<6x9xf32>) -> tensor<6x9xf32> {
  %m = graph.reduce %s <max> axes [1] keepdims : (tensor<6x9xf32>) -> tensor<6x1xf32>
  %d = graph.sub %s, %m : (tensor<6x9xf32>, tensor<6x1xf32>) -> tensor<6x9xf32>
  %e = graph.exp %d : tensor<6x9xf32>
  %k = graph.reduce %e <sum> axes [1] keepdims : (tensor<6x9xf32>) -> tensor<6x1xf32>
  %l = graph.log %k : tensor<6x1xf32>
  %u = graph.sub %d, %l : (tensor<6x9xf32>, tensor<6x1xf32>) -> tensor<6x9xf32>
  %y = graph.exp %u : tensor<6x9xf32>
  func.return %y : tensor<6x9xf32>
}

// ROWS-LABEL: func.func @unlimited
// ROWS:         graph.log
// ROWS-NEXT:    graph.sub
// ROWS-NEXT:    graph.exp
// ROWS-NEXT:    func.return
func.func @unlimited(%s: tensor<6x9xf32>) -> tensor<6x9xf32> {
  %e = graph.exp %s : tensor<6x9xf32>
  %k = graph.reduce %e <sum> axes [1] keepdims : (tensor<6x9xf32>) -> tensor<6x1xf32>
  %l = graph.log %k : tensor<6x1xf32>
  %u = graph.sub %s, %l : (tensor<6x9xf32>, tensor<6x1xf32>) -> tensor<6x9xf32>
  %y = graph.exp %u : tensor<6x9xf32>
  func.return %y : tensor<6x9xf32>
}

// Queries that are a slice of a merged projection take the scale in their columns of the weight and the bias.
// CHECK-LABEL: func.func @merged
// CHECK:         [[F:%.*]] = graph.constant dense<[5.000000e-01, 5.000000e-01, 1.000000e+00, 1.000000e+00, 1.000000e+00, 1.000000e+00]> : tensor<6xf16>
// CHECK:         [[W:%.*]] = graph.mul %w, [[F]] : (tensor<8x6xf16>, tensor<6xf16>)
// CHECK:         graph.matmul %x, [[W]]
// CHECK:         [[B:%.*]] = graph.mul %b, [[F]] : (tensor<6xf16>, tensor<6xf16>)
// CHECK:         graph.add {{%.*}}, [[B]]
// CHECK:         [[Y:%.*]] = graph.matmul
// CHECK-NEXT:    func.return [[Y]], %v
func.func @merged(
    %x: tensor<5x8xf16>, %w: tensor<8x6xf16> {tlf.parameter},
    %b: tensor<6xf16> {tlf.parameter}) -> (tensor<5x5xf16>, tensor<5x2xf16>) {
  %0 = graph.matmul %x, %w : (tensor<5x8xf16>, tensor<8x6xf16>) -> tensor<5x6xf16>
  %1 = graph.add %0, %b : (tensor<5x6xf16>, tensor<6xf16>) -> tensor<5x6xf16>
  %q = graph.slice %1 offsets [0, 0] strides [1, 1] : (tensor<5x6xf16>) -> tensor<5x2xf16>
  %k = graph.slice %1 offsets [0, 2] strides [1, 1] : (tensor<5x6xf16>) -> tensor<5x2xf16>
  %v = graph.slice %1 offsets [0, 4] strides [1, 1] : (tensor<5x6xf16>) -> tensor<5x2xf16>
  %t = graph.transpose %k permutation [1, 0] : (tensor<5x2xf16>) -> tensor<2x5xf16>
  %s = graph.matmul %q, %t : (tensor<5x2xf16>, tensor<2x5xf16>) -> tensor<5x5xf16>
  %c = graph.constant dense<0.5> : tensor<f16>
  %y = graph.mul %s, %c : (tensor<5x5xf16>, tensor<f16>) -> tensor<5x5xf16>
  func.return %y, %v : tensor<5x5xf16>, tensor<5x2xf16>
}

// Some columns of the queries and of the keys are also read as they are.
// CHECK-LABEL: func.func @overlapping
// CHECK:         graph.matmul %x, %w
// CHECK:         [[S:%.*]] = graph.matmul
// CHECK:         graph.mul [[S]],
func.func @overlapping(%x: tensor<5x8xf16>, %w: tensor<8x6xf16> {tlf.parameter})
    -> (tensor<5x5xf16>, tensor<5x4xf16>) {
  %1 = graph.matmul %x, %w : (tensor<5x8xf16>, tensor<8x6xf16>) -> tensor<5x6xf16>
  %r = graph.reshape %1 : (tensor<5x6xf16>) -> tensor<1x5x6xf16>
  %2 = graph.reshape %r : (tensor<1x5x6xf16>) -> tensor<5x6xf16>
  %q = graph.slice %2 offsets [0, 0] strides [1, 1] : (tensor<5x6xf16>) -> tensor<5x2xf16>
  %v = graph.slice %2 offsets [0, 1] strides [1, 1] : (tensor<5x6xf16>) -> tensor<5x4xf16>
  %k = graph.slice %2 offsets [0, 4] strides [1, 1] : (tensor<5x6xf16>) -> tensor<5x2xf16>
  %t = graph.transpose %k permutation [1, 0] : (tensor<5x2xf16>) -> tensor<2x5xf16>
  %s = graph.matmul %q, %t : (tensor<5x2xf16>, tensor<2x5xf16>) -> tensor<5x5xf16>
  %c = graph.constant dense<0.5> : tensor<f16>
  %y = graph.mul %s, %c : (tensor<5x5xf16>, tensor<f16>) -> tensor<5x5xf16>
  func.return %y, %v : tensor<5x5xf16>, tensor<5x4xf16>
}

// A weight of 16 bits would be rounded, although the scores are f32.
// CHECK-LABEL: func.func @wide_scores
// CHECK-SAME:    #graph.remark<missed "graph-hoist-scales" "matmul is scaled afterwards: its operands would be rounded otherwise" at "%y">
// CHECK:         graph.matmul %x, %w
func.func @wide_scores(
    %x: tensor<6x8xbf16>, %w: tensor<8x4xbf16> {tlf.parameter}, %k: tensor<4x6xf32>)
    -> tensor<6x6xf32> {
  %0 = graph.matmul %x, %w : (tensor<6x8xbf16>, tensor<8x4xbf16>) -> tensor<6x4xbf16>
  %1 = graph.cast %0 : (tensor<6x4xbf16>) -> tensor<6x4xf32>
  %s = graph.matmul %1, %k : (tensor<6x4xf32>, tensor<4x6xf32>) -> tensor<6x6xf32>
  %c = graph.constant dense<0.3> : tensor<f32>
  %y = graph.mul %s, %c : (tensor<6x6xf32>, tensor<f32>) -> tensor<6x6xf32>
  func.return %y : tensor<6x6xf32>
}

// A weight is scaled before it is repeated for a batch.
// CHECK-LABEL: func.func @repeated
// CHECK:         [[W:%.*]] = graph.mul %w, {{%.*}} : (tensor<8x4xf16>, tensor<f16>)
// CHECK-NEXT:    [[B:%.*]] = graph.broadcast [[W]]
// CHECK-NEXT:    [[Y:%.*]] = graph.matmul %x, [[B]]
// CHECK-NEXT:    func.return [[Y]]
func.func @repeated(%x: tensor<3x6x8xf16>, %w: tensor<8x4xf16> {tlf.parameter})
    -> tensor<3x6x4xf16> {
  %b = graph.broadcast %w : (tensor<8x4xf16>) -> tensor<3x8x4xf16>
  %s = graph.matmul %x, %b : (tensor<3x6x8xf16>, tensor<3x8x4xf16>) -> tensor<3x6x4xf16>
  %c = graph.constant dense<0.5> : tensor<f16>
  %y = graph.mul %s, %c : (tensor<3x6x4xf16>, tensor<f16>) -> tensor<3x6x4xf16>
  func.return %y : tensor<3x6x4xf16>
}
