// RUN: TLF_ROUNDTRIP
// RUN: tlf-opt %s --split-input-file | tlf-opt --split-input-file | filecheck %s

// A parallel nest writes into destinations; every optional part is there.
%e, %f = "test.op"() : () -> (tensor<100x64xf32>, tensor<7xi32>)
// CHECK: [[R:%.*]], [[S:%.*]] = tile.while (%i = 0 to 100 step 16, %j = -4 to 64 step 32) parallel mapping(grid) order(1, 0) stages(3) warps(8) unroll(1, 2) into([[O:%.*]] = %e : tensor<100x64xf32>, [[P:%.*]] = %f : tensor<7xi32>) attributes {test.hint = "a"} {
// CHECK-NEXT: tile.yield [[O]], [[P]] : tensor<100x64xf32>, tensor<7xi32>
%r, %s = tile.while (%i = 0 to 100 step 16, %j = -4 to 64 step 32) parallel
    mapping(grid) order(1, 0) stages(3) warps(8) unroll(1, 2)
    into(%o = %e : tensor<100x64xf32>, %p = %f : tensor<7xi32>)
    attributes {test.hint = "a"} {
  tile.yield %o, %p : tensor<100x64xf32>, tensor<7xi32>
}

// -----

// A sequential nest carries tiles; bounds may be values. Loops are mapped to `loop`
// unless told otherwise.
%n, %z = "test.op"() : () -> (index, tensor<16xf32, #tile.encoding<L1>>)
// CHECK: tile.while (%k = %n to 512 step 64, %l = 0 to %n step 8) sequential mapping(loop) carry([[A:%.*]] = %z : tensor<16xf32, #tile.encoding<L1>>) {
// CHECK-NEXT: graph.exp [[A]] : tensor<16xf32, #tile.encoding<L1>>
%y = tile.while (%k = %n to 512 step 64, %l = 0 to %n step 8) sequential
    carry(%a = %z : tensor<16xf32, #tile.encoding<L1>>) {
  %b = graph.exp %a : tensor<16xf32, #tile.encoding<L1>>
  tile.yield %b : tensor<16xf32, #tile.encoding<L1>>
}

// -----

// A nest of no loops runs once; one that carries nothing needs no yield.
%e = "test.op"() : () -> tensor<4xf32>
// CHECK: tile.while () parallel mapping(core) into(%o = %e : tensor<4xf32>) {
%0 = tile.while () parallel mapping(core) into(%o = %e : tensor<4xf32>) {
  tile.yield %o : tensor<4xf32>
}
// CHECK: tile.while (%{{.*}} = 0 to 4 step 1) sequential mapping(unroll) {
// CHECK-NEXT: }
tile.while (%i = 0 to 4 step 1) sequential mapping(unroll) {
}
// CHECK: tile.while (%{{.*}} = 0 to 4 step 1) parallel mapping(host) {
tile.while (%i = 0 to 4 step 1) parallel mapping(host) {
  tile.yield
}

// -----

// A destination is handed on to a parallel nest inside.
%x, %e = "test.op"() : () -> (tensor<8x8xf32>, tensor<8x8xf32>)
// CHECK: tile.while (%i = 0 to 8 step 4) parallel mapping(loop) into([[O:%.*]] = %e : tensor<8x8xf32>) {
// CHECK-NEXT: [[N:%.*]] = tile.while (%j = 0 to 8 step 2) parallel mapping(loop) into([[P:%.*]] = [[O]] : tensor<8x8xf32>) {
// CHECK: [[D:%.*]] = tile.deslice %{{.*}} into [[P]][%i, %j]
// CHECK-NEXT: tile.yield [[D]]
// CHECK: tile.yield [[N]]
%0 = tile.while (%i = 0 to 8 step 4) parallel into(%o = %e : tensor<8x8xf32>) {
  %1 = tile.while (%j = 0 to 8 step 2) parallel into(%p = %o : tensor<8x8xf32>) {
    %t = tile.slice %x[%i, %j]
        : tensor<8x8xf32> -> tensor<4x2xf32, #tile.encoding<L2>>
    %d = tile.deslice %t into %p[%i, %j]
        : tensor<4x2xf32, #tile.encoding<L2>> into tensor<8x8xf32>
    tile.yield %d : tensor<8x8xf32>
  }
  tile.yield %1 : tensor<8x8xf32>
}

// -----

// The attributes stand for themselves, too.
// CHECK: "test.op"() {a = #tile.encoding<L3>, b = #tile.encoding<L1, layout = [1, 0]>, c = #tile.kind<sequential>, d = #tile.mapping<unroll>}
"test.op"() {a = #tile.encoding<L3>, b = #tile.encoding<L1, layout = [1, 0]>, c = #tile.kind<sequential>, d = #tile.mapping<unroll>} : () -> ()
