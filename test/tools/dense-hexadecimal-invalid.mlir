// RUN: tlf-opt %s --split-input-file --verify-diagnostics

// expected-error@+1 {{expected the bits of f16, got 0x12345}}
%a = graph.constant dense<0x12345> : tensor<f16>
