// RUN: not tlf-opt %s -p graph-simplify 2>&1 | filecheck %s

// CHECK: error: graph-simplify: expected tlf.numerics of "strict" or "relaxed", got "fast"
module attributes {tlf.numerics = "fast"} {
}
