// RUN: tlf-opt %s --target npu-tiny | filecheck %s
// RUN: tlf-opt %s --target %root/dialects/target/presets/npu-tiny.toml | filecheck %s
// RUN: not tlf-opt %s --target nothing 2>&1 | filecheck %s --check-prefix=UNKNOWN
// RUN: not tlf-opt %s --target H200 2>&1 | filecheck %s --check-prefix=SIMILAR
// RUN: not tlf-opt %s --target h200 -p npu-pipeline 2>&1 | filecheck %s --check-prefix=BACKEND
// RUN: tlf-opt %s --target npu-tiny --l2 512K | filecheck %s --check-prefix=SIZE
// RUN: tlf-opt %s --target npu-tiny:L2=512K | filecheck %s --check-prefix=SIZE
// RUN: not tlf-opt %s --l2 512K 2>&1 | filecheck %s --check-prefix=ALONE
// RUN: not tlf-opt %s --target bm1684x-like --l2 512K 2>&1 | filecheck %s --check-prefix=NO-L2
// RUN: not tlf-run %s --target npu-tiny --l2 much 2>&1 | filecheck %s --check-prefix=MUCH
// RUN: not tlf-run %s --target reference --l2 1M 2>&1 | filecheck %s --check-prefix=REFERENCE

// CHECK: builtin.module attributes {tlf.target = {{.*}}name = "npu-tiny"
// UNKNOWN: tlf-opt: error: expected a target ({{.*}}) or a `.toml` file, got `nothing`
// SIMILAR: tlf-opt: error: {{.*}}, got `H200`, did you mean `h200`?
// BACKEND: error: expected a target of the backend npu, got h200, which is of triton
// SIZE: capacity = 524288 : i64, {{.*}}kind = "buffer", latency = 50 : i64, name = "L2"
// ALONE: tlf-opt: error: expected `--target` with `--l2`
// NO-L2: tlf-opt: error: expected a level among L1, L3 of bm1684x-like, got L2
// MUCH: tlf-run: error: expected a size such as 512K, got `much`
// REFERENCE: tlf-run: error: expected a target with levels for `--l2`, got reference
func.func @f() {
  func.return
}
