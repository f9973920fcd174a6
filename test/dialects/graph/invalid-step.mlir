// RUN: tlf-opt %s --split-input-file --verify-diagnostics

// expected-error@+1 {{expected integer literal, got `initial`}}
"test.op"() {step = #graph.step<initial "0">} : () -> ()

// -----

// expected-error@+1 {{expected `>`, got `first`}}
"test.op"() {step = #graph.step<0 first "0">} : () -> ()
