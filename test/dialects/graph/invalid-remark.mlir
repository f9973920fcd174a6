// RUN: tlf-opt %s --split-input-file --verify-diagnostics

// expected-error@+1 {{expected passed or missed}}
"test.op"() {remark = #graph.remark<done "graph-a" "text">} : () -> ()
