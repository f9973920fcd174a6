// RUN: tlf-run %s --entry exp --check | filecheck %s --check-prefix=NPU
// RUN: %python -m tlf.tools.tlf_run %s --entry exp --check | filecheck %s --check-prefix=NPU
// RUN: tlf-run %s --entry exp --target reference | filecheck %s --check-prefix=REFERENCE
// RUN: tlf-run %s --entry exp --target %root/dialects/target/presets/npu-tiny.toml --check | filecheck %s --check-prefix=FILE
// RUN: tlf-run %s --entry exp -p npu-pipeline --target npu-tiny --check | filecheck %s --check-prefix=PASSES
// RUN: cat %s | tlf-run - --entry two --check | filecheck %s --check-prefix=TWO
// RUN: tlf-run %s --entry exp --timing | filecheck %s --check-prefix=TIMING
// RUN: tlf-run %s --entry exp --timing --no-groups | filecheck %s --check-prefix=QUIET
// RUN: not tlf-run %s --entry exp --timing --target triton 2>&1 | filecheck %s --check-prefix=TRITON
// RUN: not tlf-run %s --entry exp --timing --check 2>&1 | filecheck %s --check-prefix=BOTH
// RUN: tlf-run --help | filecheck %s --check-prefix=HELP

// NPU:      program {{ *.*tlf-run.mlir}} on npu
// NPU-NEXT: cycles {{ *[0-9,]+$}}
// NPU-NEXT: time {{ *[0-9.,]+}} us at 1 GHz
// NPU-NEXT: lower bound {{ *[0-9,]+}} cycles
// NPU-NEXT: roofline bound {{ *[0-9,]+}} cycles; gap {{[0-9.]+}}x
// NPU-NEXT: instructions {{ *[0-9,]+$}}
// NPU-NEXT: busy {{ *}}vector {{[0-9.]+}}%, dma_l3_l2 {{.*}}
// NPU-NEXT: stalled {{ *}}dma_l3_l2 for {{.*}}
// NPU-NEXT: L3 bytes {{ *}}1,204 read, 1,204 written; peak use {{[0-9,]+}}; 1.00x of the compulsory bytes, {{[0-9.]+}}x on the bus
// NPU:      group 0 {{ *}}%y: lower bound {{[0-9,]+}} cycles, predicted {{[0-9,]+}}, simulated [[CYCLES:[0-9,]+]]; gap {{[0-9.]+}}x
// NPU-NEXT: groups {{ *}}lower bound {{[0-9,]+}} cycles, predicted {{[0-9,]+}}, simulated [[CYCLES]]; gap {{[0-9.]+}}x
// NPU-NEXT: recomputed {{ *}}0.0% of products, 0.0% of other elements, by the plans of groups
// NPU-NEXT: result y {{ *}}7x43 float32
// NPU-NEXT: error of y {{ *.*}} relative (at most 1e-05), {{.*}} at most in one element: ok
// NPU-NEXT: compiled and run in {{ *[0-9.]+}} s

// Without data there is no result, and no peak.

// TIMING:      cycles {{ *[0-9,]+$}}
// TIMING:      L3 bytes {{ *}}1,204 read, 1,204 written; 1.00x of the compulsory bytes
// TIMING-NOT:  result
// TIMING:      groups {{ *}}lower bound
// TIMING:      compiled and timed in {{ *[0-9.]+}} s
// QUIET:       cycles
// QUIET-NOT:   group
// TRITON:      tlf-run: error: expected a target of the backend npu for the time of a run
// BOTH:        tlf-run: error: expected no `--check` and no `--input` with `--timing`

// REFERENCE:      program {{ *.*}} on reference
// REFERENCE-NEXT: result y {{ *}}7x43 float32
// REFERENCE-NOT:  error
// REFERENCE-NEXT: compiled and run in

// FILE: program {{ *.*}} on {{.*}}npu-tiny.toml
// FILE: error of y {{.*}}: ok
// PASSES: program {{ *.*}} on npu-tiny
// PASSES: error of y {{.*}}: ok
func.func @exp(%x: tensor<7x43xf32>) -> tensor<7x43xf32> {
  %y = graph.exp %x : tensor<7x43xf32>
  func.return %y : tensor<7x43xf32>
}

// Results have the names of the values that are returned, numbered where those are
// alike. Integers must be equal.

// TWO: result s {{ *}}() bfloat16
// TWO: result n_1 {{ *}}3 int32
// TWO: result n_2 {{ *}}3 int32
// TWO: error of s {{ *.*}} relative (at most 0.01), {{.*}}: ok
// TWO: error of n_1 {{ *}}0.0e+00 relative (at most 0), {{.*}}: ok
// TWO: error of n_2
func.func @two(%x: tensor<5xbf16>, %n: tensor<3xi32>)
    -> (tensor<bf16>, tensor<3xi32>, tensor<3xi32>) {
  %s = graph.mean %x axes [0] : (tensor<5xbf16>) -> tensor<bf16>
  %n_1 = graph.add %n, %n : (tensor<3xi32>, tensor<3xi32>) -> tensor<3xi32>
  %n_2 = graph.relu %n_1 : tensor<3xi32>
  func.return %s, %n_1, %n_2 : tensor<bf16>, tensor<3xi32>, tensor<3xi32>
}

// HELP: usage: tlf-run
