// RUN: tlf-opt %s --split-input-file --verify-diagnostics

// expected-error@+1 {{expected a memory level such as L1, got fast}}
"test.op"() {plan = #graph.plan<fast, tile [2]>} : () -> ()

// -----

// expected-error@+1 {{expected sizes of at least 1, got 0}}
"test.op"() {plan = #graph.plan<L1, tile [2], reduce [0]>} : () -> ()

// -----

// expected-error@+1 {{expected a mapping among grid, persistent, core, loop, unroll, host, got threads}}
"test.op"() {plan = #graph.plan<L1, tile [2], mapping threads>} : () -> ()

// -----

// expected-error@+1 {{expected an order of 2 loops, got [0, 0]}}
"test.op"() {plan = #graph.plan<L1, tile [2, 2], order [0, 0]>} : () -> ()

// -----

// expected-error@+1 {{expected at least 1 stage, got 0}}
"test.op"() {plan = #graph.plan<L1, tile [2], stages 0>} : () -> ()

// -----

// expected-error@+1 {{expected at least 1 reduce stage, got 0}}
"test.op"() {plan = #graph.plan<L1, tile [2], reduce [2], reduce_stages 0>} : () -> ()

// -----

// expected-error@+1 {{expected a power of two of warps, got 3}}
"test.op"() {plan = #graph.plan<L1, tile [2], mapping grid, warps 3>} : () -> ()

// -----

// expected-error@+1 {{expected 2 unroll factors, got 1}}
"test.op"() {plan = #graph.plan<L1, tile [2, 4], mapping grid, unroll [2]>} : () -> ()

// -----

// expected-error@+1 {{expected unroll factors of at least 1, got [0]}}
"test.op"() {plan = #graph.plan<L1, tile [2], mapping grid, unroll [0]>} : () -> ()

// -----

// expected-error@+1 {{expected tile, reduce, mapping, order, stages, reduce_stages, warps, unroll, sliding, prefetch_distance, recompute, retain, resident or reload, got tiles}}
"test.op"() {plan = #graph.plan<L1, tiles [2]>} : () -> ()

// -----

// expected-error@+1 {{expected to reload operands that are resident, [0], got [1]}}
"test.op"() {plan = #graph.plan<L1, tile [2], resident [0], reload [1]>} : () -> ()

// -----

// expected-error@+1 {{expected a prefetch distance of 0 or 1, got 2}}
"test.op"() {plan = #graph.plan<L2, tile [2], sliding [0], prefetch_distance 2>} : () -> ()

// -----

// expected-error@+1 {{expected sliding tiles for a prefetch distance, got 1}}
"test.op"() {plan = #graph.plan<L2, tile [2], prefetch_distance 1>} : () -> ()
