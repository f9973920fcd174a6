// RUN: tlf-opt %s --split-input-file --verify-diagnostics

// expected-error@+1 {{expected a function with `triton.kernel`, got @absent}}
triton.launch @absent() grid [1] warps 4 stages 3 : ()

// -----

func.func @plain() {
  func.return
}
// expected-error@+1 {{expected a function with `triton.kernel`, got @plain}}
triton.launch @plain() grid [1] warps 4 stages 3 : ()

// -----

func.func @kernel(%x: memref<4xf32, "L3">) attributes {triton.kernel} {
  func.return
}
// expected-error@+1 {{expected arguments of types (memref<4xf32, "L3">), got ()}}
triton.launch @kernel() grid [1] warps 4 stages 3 : ()

// -----

func.func @kernel() attributes {triton.kernel} {
  func.return
}
// expected-error@+1 {{expected 1 to 3 positive grid sizes, got [0]}}
triton.launch @kernel() grid [0] warps 4 stages 3 : ()

// -----

func.func @kernel() attributes {triton.kernel} {
  func.return
}
// expected-error@+1 {{expected fewer than 2**31 programs, got 2147483648}}
triton.launch @kernel() grid [2147483648] warps 4 stages 3 : ()

// -----

func.func @kernel() attributes {triton.kernel} {
  func.return
}
// expected-error@+1 {{expected a power of two of at most 32 warps, got 3}}
triton.launch @kernel() grid [1] warps 3 stages 3 : ()

// -----

func.func @kernel() attributes {triton.kernel} {
  func.return
}
// expected-error@+1 {{expected at least 1 stage, got 0}}
triton.launch @kernel() grid [1] warps 4 stages 0 : ()
