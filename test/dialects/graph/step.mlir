// RUN: TLF_ROUNDTRIP

// CHECK: step = #graph.step<0 initial "-inf" combine "max">
"test.op"() {step = #graph.step<0 initial "-inf" combine "max">} : () -> ()
// CHECK: step = #graph.step<12 initial "0" combine "sum" correction "exp(r0 - r0')" finalise "exp(r0 - r0')">
"test.op"() {step = #graph.step<12 initial "0" combine "sum" correction "exp(r0 - r0')" finalise "exp(r0 - r0')">} : () -> ()
// CHECK: step = #graph.step<3>
"test.op"() {step = #graph.step<3>} : () -> ()
