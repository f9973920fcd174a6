// RUN: tlf-opt %s --split-input-file --verify-diagnostics

// expected-error@+1 {{expected two different levels, got L2 twice}}
npu.dma L2[0](4):f32 from L2[64](4):f32 shape [16]

// -----

// expected-error@+1 {{expected one element type, got bf16 and f32}}
npu.dma L2[0](4):f32 from L3[64](2):bf16 shape [16]

// -----

// expected-error@+1 {{expected 1 strides, one per dimension, got 2}}
npu.dma L2[0](64, 4):f32 from L3[64](4):f32 shape [16]

// -----

// expected-error@+1 {{expected 1 bounds, one per dimension, got 2}}
npu.dma L2[0](4):f32 from L3[64](4):f32 shape [16] inside [0, 0] to [4, 4]

// -----

// expected-error@+1 {{expected an address to read, got a number}}
npu.dma L2[0](4):f32 from 2.0 shape [16]

// -----

// expected-error@+1 {{expected 2 inputs, got 1}}
npu.dma L2[0](4):f32 from L3[64](0):f32 shape [16] gather [4, 9]

// -----

// expected-error@+1 {{expected an address of indices, got a number}}
npu.dma L2[0](4):f32 from L3[64](0):f32, 2.0 shape [16] gather [4, 9]

// -----

// expected-error@+1 {{expected indices of i32 or i64, got f32}}
npu.dma L2[0](4):f32 from L3[64](0):f32, L2[0](4):f32 shape [16] gather [4, 9]

// -----

// expected-error@+1 {{expected indices in L3 or L2, got L1}}
npu.dma L2[0](4):f32 from L3[64](0):f32, L1[0](4):i32 shape [16] gather [4, 9]

// -----

// expected-error@+1 {{expected one of `gather` and `scatter`, got both}}
npu.dma L2[0](4):f32 from L3[64](0):f32, L2[0](4):i32 shape [16] gather [4, 9]
    scatter [4, 9]

// -----

// expected-error@+1 {{expected a step and a bound of at least 0, got [4, -1]}}
npu.dma L2[0](4):f32 from L3[64](0):f32, L2[0](4):i32 shape [16] gather [4, -1]

// -----

// expected-error@+1 {{expected `scatter` before `accumulate`}}
npu.dma L2[0](4):f32 from L3[64](0):f32, L2[0](4):i32 shape [16] gather [4, 9]
    accumulate

// -----

// expected-error@+1 {{expected no `inside` of a scatter}}
npu.dma L3[0](0):f32 from L2[64](4):f32, L2[0](4):i32 shape [16] inside [0] to [4]
    scatter [4, 9]

// -----

// expected-error@+1 {{expected 1 inputs, got 2}}
npu.vector "exp" L1[0](4):f32 from L1[64](4):f32, L1[64](4):f32 shape [16]

// -----

// expected-error@+1 {{expected one of abs, acos, acosh, add, and}}
npu.vector "gelu" L1[0](4):f32 from L1[64](4):f32 shape [16]

// -----

// expected-error@+1 {{expected addresses in L1, where the vector engine works, got L2}}
npu.vector "exp" L1[0](4):f32 from L2[64](4):f32 shape [16]

// -----

// expected-error@+1 {{expected at most 5 dimensions, got 6}}
npu.vector "exp" L1[0](4, 4, 4, 4, 4, 4):f32 from L1[64](4, 4, 4, 4, 4, 4):f32 shape [1, 1, 1, 1, 1, 1]

// -----

// expected-error@+1 {{expected an element type of bf16, f16, f32, i1, i32, i64, i8, got f64}}
npu.vector "exp" L1[0](8):f64 from L1[64](8):f64 shape [16]

// -----

// expected-error@+1 {{expected one of max, min, prod, sum, got mean}}
npu.reduce "mean" L1[0](0):f32 from L1[64](4):f32 shape [16] axes [0]

// -----

// expected-error@+1 {{expected axes below 1, got [1]}}
npu.reduce "sum" L1[0](0):f32 from L1[64](4):f32 shape [16] axes [1]

// -----

// expected-error@+1 {{expected strides of 0 along the axes in what is written, got [4]}}
npu.reduce "sum" L1[0](4):f32 from L1[64](4):f32 shape [16] axes [0]

// -----

// expected-error@+1 {{expected at most 3 dimensions per role, got [2, 2, 2, 2]}}
npu.matmul L1[0](4, 4, 4, 4):f32 from L1[0](4, 4, 4, 4):f32, L1[0]():f32
    batch [] m [2, 2, 2, 2] n [] k []

// -----

// expected-error@+1 {{expected addresses in L1, where the matrix engine works, got L2}}
npu.matmul L1[0](4):f32 from L2[0](4):f32, L1[0]():f32 batch [] m [2] n [] k []

// -----

// expected-error@+1 {{expected 3 strides, one per dimension, got 2}}
npu.matmul L1[0](4, 4):f32 from L1[0](4):f32, L1[0](4):f32 batch [2] m [2] n [2] k []

// -----

// expected-error@+1 {{expected a semaphore below 1, got 1}}
npu.program @p semaphores 1 {
  npu.signal "vector" 1
  npu.halt
}

// -----

// expected-error@+1 {{expected a program that ends in `npu.halt`}}
npu.program @p semaphores 1 {
  "test.termop"() : () -> ()
}

// -----

npu.program @p semaphores 0 {
  // expected-error@+1 {{expected an address of at least 0, got -4}}
  npu.input "x" in "L3" at -4 : tensor<4xf32>
  npu.halt
}

// -----

// expected-error@+1 {{expected 1 bases, one per dynamic address, got 0}}
"npu.vector"() <{operation = "copy", shape = array<i64: 4>, operandSegmentSizes = array<i32: 0, 0>,
    accesses = [#npu.access<"L1", 0 : i64, array<i64: 4>, f32, true>, #npu.access<"L1", 64 : i64, array<i64: 4>, f32, false>]}> : () -> ()

// -----

// expected-error@+1 {{expected an address to write}}
"npu.vector"() <{operation = "copy", shape = array<i64: 4>, operandSegmentSizes = array<i32: 0, 0>,
    accesses = [1.0, #npu.access<"L1", 64 : i64, array<i64: 4>, f32, false>]}> : () -> ()

// -----

%i = "test.op"() : () -> index
// expected-error@+1 {{expected `accumulate` before its condition}}
npu.matmul L1[0]():f32 from L1[0]():f32, L1[0]():f32 batch [] m [] n [] k [] if %i

// -----

%i = "test.op"() : () -> index
// expected-error@+1 {{expected `accumulate` before its condition}}
npu.reduce "sum" L1[0](0):f32 from L1[64](4):f32 shape [16] axes [0] if %i

// -----

// expected-error@+1 {{expected the number of the core, an index, got i32}}
"npu.cores"() <{count = 4 : i64}> ({
^bb0(%c: i32):
}) : () -> ()

// -----

// expected-error@+1 {{expected at least 1 core, got 0}}
npu.cores %c of 0 {
}

// -----

npu.cores %c of 4 {
  // expected-error@+1 {{expected no `npu.cores` in another}}
  npu.cores %d of 4 {
  }
}

// -----

// expected-error@+1 {{expected elements of f32, i32 or i64 to accumulate, got f16}}
npu.dma L3[0](0):f16 from L2[64](2):f16, L2[0](4):i32 shape [16] scatter [2, 9]
    accumulate
