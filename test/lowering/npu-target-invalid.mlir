// RUN: not tlf-opt %s --target npu -t npu 2>&1 | filecheck %s

// CHECK: error: the npu has no instruction for test.op
npu.program @other semaphores 0 {
  "test.op"() : () -> ()
  npu.halt
}
