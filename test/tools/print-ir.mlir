// RUN: tlf-opt %s -p "canonicalize,dce" --print-ir-after-all 2>&1 >/dev/null | filecheck %s --check-prefix=ALL
// RUN: tlf-opt %s -p "canonicalize,dce" --print-ir-after-change 2>&1 >/dev/null | filecheck %s --check-prefix=CHANGE
// RUN: tlf-opt %s -p "canonicalize,dce" --print-ir-after dce 2>&1 >/dev/null | filecheck %s --check-prefix=ONE
// RUN: tlf-opt %s -p "canonicalize,dce" --print-ir-after=dce --timing 2>/dev/null | filecheck %s --check-prefix=STDOUT
// RUN: tlf-opt %s -p "canonicalize,dce" --timing 2>&1 >/dev/null | filecheck %s --check-prefix=TIMING

// ALL:     IR after canonicalize
// ALL:     func.func @unused
// ALL-NOT: arith.constant
// ALL:     IR after dce
// ALL:     func.func @unused

// CHANGE:     IR after canonicalize
// CHANGE-NOT: IR after dce

// ONE-NOT: IR after canonicalize
// ONE:     IR after dce

// The program alone goes to stdout.
// STDOUT-NOT: IR after
// STDOUT-NOT: seconds
// STDOUT:     func.func @unused

// TIMING:      seconds share step
// TIMING-DAG:  {{[0-9.]+}} {{.*}}% canonicalize
// TIMING-DAG:  {{[0-9.]+}} {{.*}}% dce
// TIMING:      100.0% total
func.func @unused() {
  %0 = arith.constant 3 : i32
  func.return
}
