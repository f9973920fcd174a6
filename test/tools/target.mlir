// RUN: tlf-opt %s --target npu-tiny | filecheck %s
// RUN: tlf-opt %s --target %root/dialects/target/presets/npu-tiny.toml | filecheck %s
// RUN: not tlf-opt %s --target nothing 2>&1 | filecheck %s --check-prefix=UNKNOWN

// CHECK: builtin.module attributes {tlf.target = {{.*}}name = "npu-tiny"
// UNKNOWN: tlf-opt: error: expected a target ({{.*}}) or a `.toml` file, got `nothing`
func.func @f() {
  func.return
}
