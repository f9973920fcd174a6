// RUN: not tlf-opt %s -p "graph-decompose{keep=softmix}" 2>&1 | filecheck %s

// CHECK: graph-decompose: expected operations of graph to keep, got softmix
func.func private @f()
