// RUN: not tlf-opt %s --target npu -t npu 2>&1 | filecheck %s

// CHECK: error: expected one npu.program in the module, got none
builtin.module {}
