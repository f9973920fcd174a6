// RUN: not tlf-opt %s -t "triton{parts=half}" 2>&1 | filecheck %s --check-prefix=PARTS
// RUN: not tlf-opt %s -t triton 2>&1 | filecheck %s --check-prefix=MANY
// RUN: not tlf-opt %s -t "triton{function=h}" 2>&1 | filecheck %s --check-prefix=NAME
// RUN: not tlf-opt %s -t "triton{function=strided}" 2>&1 | filecheck %s --check-prefix=STRIDED
// RUN: not tlf-opt %s -t "triton{function=early}" 2>&1 | filecheck %s --check-prefix=EARLY

// PARTS: error: triton: expected parts of all, source, plan, got half
// MANY: error: triton: expected one host function, got strided, early
// NAME: error: triton: expected a function h, got strided, early
// STRIDED: error: expected a contiguous buffer, got memref<4xf32, strided<[2]>, "L3">
// EARLY: error: the host does not support mem.load

func.func @strided(%x: memref<4xf32, strided<[2]>, "L3">) attributes {tlf.results = 0 : i64} {
  func.return
}

func.func @early(%x: memref<4xf32, "L3">) attributes {tlf.results = 0 : i64} {
  %v = mem.load %x[0] size [4] : memref<4xf32, "L3"> -> tensor<4xf32>
  func.return
}
